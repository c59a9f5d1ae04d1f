//! The wire form, against golden files that a webhook in any language can be tested with.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use ephemeral_review::{
    CreateOptions, Export, GroupVersionKind, GroupVersionResource, Request, Response, ReviewRequest, ReviewResponse,
    ReviewVersion, Status, StatusCause, StatusDetails, UserInfo, Verdict,
};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Map, Value, json};

const REQUEST: &str = include_str!("golden/request.json");
const REQUEST_LEAST: &str = include_str!("golden/request-least.json");
const RESPONSE_ALLOWED: &str = include_str!("golden/response-allowed.json");
const RESPONSE_DENIED: &str = include_str!("golden/response-denied.json");

fn user_info() -> UserInfo {
    UserInfo {
        username: "alice".to_owned(),
        uid: "42".to_owned(),
        groups: vec!["team-a".to_owned(), "system:authenticated".to_owned()],
        extra: BTreeMap::from([(
            "authentication.kcp.io/scopes".to_owned(),
            vec!["cluster:202rflx5btegbqb3".to_owned()],
        )]),
    }
}

fn request<O, U>(object: O, user_info: U) -> ReviewRequest<O, U> {
    let mut options = CreateOptions::default();
    options.dry_run.push("All".to_owned());
    options.field_manager.push_str("kubectl-create");
    options.field_validation.push_str("Strict");
    let (group, version) = ("s3.example.com".to_owned(), "v1alpha1".to_owned());
    let request = Request {
        uid: "7f2c9a3e-6d1b-4e0a-9b57-2f1f5d0c8a11".to_owned(),
        cluster: "202rflx5btegbqb3".to_owned(),
        export: Export::new("2hq8vkhcmqzy3ukb", "s3.example.com"),
        resource: GroupVersionResource {
            group: group.clone(),
            version: version.clone(),
            resource: "bucketinfos".to_owned(),
        },
        kind: GroupVersionKind {
            group,
            version,
            kind: "BucketInfo".to_owned(),
        },
        namespace: "default".to_owned(),
        name: "photos".to_owned(),
        user_info,
        dry_run: true,
        options,
        object,
    };
    ReviewRequest::new(ReviewVersion::ApisKcpIoV1Alpha1, request)
}

fn object() -> Value {
    json!({"apiVersion": "s3.example.com/v1alpha1", "kind": "BucketInfo", "spec": {"bucketName": "photos"}})
}

/// Writes as the golden file has it, fields in its order, and reads back to the same.
#[track_caller]
fn assert_golden<T: Serialize>(value: &T, golden: &str) {
    assert_eq!(serde_json::to_string_pretty(value).unwrap() + "\n", golden);
}

#[test]
fn a_server_writes_what_it_holds_without_a_copy() {
    assert_golden(&request(&object(), &user_info()), REQUEST);
}

#[test]
fn a_request_reads_back() {
    let read: ReviewRequest<Value> = serde_json::from_str(REQUEST).unwrap();
    assert_eq!(read, request(object(), user_info()));
}

#[test]
fn what_is_empty_is_left_out_and_what_is_left_out_is_empty() {
    let least: ReviewRequest<Map<String, Value>> = serde_json::from_str(REQUEST_LEAST).unwrap();
    assert_golden(&least, REQUEST_LEAST);
    assert_eq!(
        (least.request.namespace.as_str(), least.request.name.as_str()),
        ("", "")
    );
    let mut without: Value = serde_json::from_str(REQUEST_LEAST).unwrap();
    for absent in ["dryRun", "options"] {
        without["request"].as_object_mut().unwrap().remove(absent);
    }
    without["request"]["userInfo"] = json!({});
    assert_eq!(serde_json::from_value::<ReviewRequest<_>>(without).unwrap(), least);
}

#[test]
fn an_allowed_answer_reads_and_writes() {
    let mut answered = object();
    answered["status"] = json!({"objectCount": 3});
    let response = Response {
        uid: "7f2c9a3e-6d1b-4e0a-9b57-2f1f5d0c8a11".to_owned(),
        verdict: Verdict::Allowed { object: Some(answered) },
        warnings: vec!["the bucket is public".to_owned()],
    };
    let review = ReviewResponse::new(ReviewVersion::ApisKcpIoV1Alpha1, response);
    assert_golden(&review, RESPONSE_ALLOWED);
    assert_eq!(
        serde_json::from_str::<ReviewResponse<Value>>(RESPONSE_ALLOWED).unwrap(),
        review
    );
}

#[test]
fn a_denial_reads_and_writes() {
    let mut status = Status::failure(404, "NotFound", r#"buckets.s3.example.com "photos" not found"#);
    let cause = StatusCause {
        reason: "FieldValueNotFound".to_owned(),
        message: "no such bucket".to_owned(),
        field: "spec.bucketName".to_owned(),
    };
    status.details = Some(StatusDetails {
        name: "photos".to_owned(),
        group: "s3.example.com".to_owned(),
        kind: "buckets".to_owned(),
        uid: "1".to_owned(),
        causes: vec![cause],
        retry_after_seconds: 5,
    });
    let response = Response {
        uid: "7f2c9a3e-6d1b-4e0a-9b57-2f1f5d0c8a11".to_owned(),
        verdict: Verdict::<Value>::Denied {
            status: Box::new(status),
        },
        warnings: Vec::new(),
    };
    let review = ReviewResponse::new(ReviewVersion::EphemeralContribKcpIoV1Alpha1, response);
    assert_golden(&review, RESPONSE_DENIED);
    assert_eq!(
        serde_json::from_str::<ReviewResponse<Value>>(RESPONSE_DENIED).unwrap(),
        review
    );
}

fn response(json: &Value) -> Result<Response<Value>, String> {
    serde_json::from_value(json.clone()).map_err(|error| error.to_string())
}

#[test]
fn answers_are_read_leniently_where_it_does_no_harm() {
    let uid = "u".to_owned();
    let denied = |status: Status| Response {
        uid: uid.clone(),
        verdict: Verdict::Denied {
            status: Box::new(status),
        },
        warnings: Vec::new(),
    };
    let allowed = |object| Response {
        uid: uid.clone(),
        verdict: Verdict::Allowed { object },
        warnings: Vec::new(),
    };
    let sealed = Status {
        code: 200,
        message: "sealed".to_owned(),
        ..Status::default()
    };
    let cases = [
        (json!({"uid": "u", "allowed": false}), denied(Status::default())),
        (
            json!({"uid": "u", "allowed": false, "status": null, "warnings": null}),
            denied(Status::default()),
        ),
        (
            json!({"uid": "u", "allowed": false, "object": {}, "status": {"code": 200, "message": "sealed"}}),
            denied(sealed.clone()),
        ),
        (
            json!({"uid": "u", "allowed": false, "status": {
                "metadata": {}, "code": 200, "message": "sealed", "reason": null, "details": null,
            }}),
            denied(sealed),
        ),
        (json!({"uid": "u", "allowed": true}), allowed(None)),
        (
            json!({"uid": "u", "allowed": true, "object": null, "more": 1}),
            allowed(None),
        ),
        (
            json!({"uid": "u", "allowed": true, "object": {}, "status": {"code": 404}}),
            allowed(Some(json!({}))),
        ),
    ];
    for (json, expected) in cases {
        assert_eq!(response(&json), Ok(expected), "{json}");
    }
}

#[test]
fn what_is_no_review_is_refused() {
    let responses = [
        json!({"allowed": true, "object": {}}),
        json!({"uid": null, "allowed": true, "object": {}}),
        json!({"uid": "u", "object": {}}),
        json!({"uid": "u", "allowed": "true", "object": {}}),
        json!({"uid": "u", "allowed": null, "object": {}}),
        json!({"uid": "u", "allowed": true, "object": {}, "warnings": [1]}),
        json!({"uid": "u", "allowed": false, "status": "no"}),
        json!({"uid": "u", "allowed": false, "status": {"code": "404"}}),
        // What derived decoders take for structs, and Go does not.
        json!(["u", true, {}, null, []]),
        json!({"uid": "u", "allowed": false, "status": ["v1", "Status", "Failure", "no", "NotFound", null, 404]}),
        json!({"uid": "u", "allowed": false, "status": {"details": ["name", "", "", "", [], 0]}}),
        json!({"uid": "u", "allowed": false, "status": {"details": {"causes": [["reason", "message", "field"]]}}}),
    ];
    for json in responses {
        assert!(response(&json).is_err(), "{json}");
    }
    let list = json!(["apis.kcp.io/v1alpha1", "EphemeralReview", {"uid": "u", "allowed": true, "object": {}}]);
    assert!(serde_json::from_value::<ReviewResponse<Value>>(list).is_err());
    assert_refused::<ReviewResponse<Value>>(RESPONSE_ALLOWED, "response");
    assert_refused::<ReviewRequest<IgnoredAny>>(REQUEST, "request");
}

/// Asserts that the document is read, and that it is not without its envelope.
#[track_caller]
fn assert_refused<T: DeserializeOwned>(good: &str, content: &str) {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut review: Value = serde_json::from_str(good).unwrap();
        change(&mut review);
        serde_json::from_value::<T>(review).is_err()
    };
    assert!(!refused(&|_| {}));
    for field in ["apiVersion", "kind", content] {
        assert!(
            refused(&|review| drop(review.as_object_mut().unwrap().remove(field))),
            "without {field}"
        );
        assert!(refused(&|review| review[field] = Value::Null), "{field} null");
        assert!(refused(&|review| review[field] = "other".into()), "another {field}");
    }
    let twice = good.replacen("\"kind\"", "\"kind\": \"EphemeralReview\", \"kind\"", 1);
    assert!(serde_json::from_str::<T>(&twice).is_err(), "kind twice");
}

#[test]
fn a_review_is_read_around_an_object_that_is_nested_too_deep() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let json = REQUEST_LEAST.replace("\"object\": {}", &format!("\"object\": {deep}"));
    assert!(serde_json::from_str::<ReviewRequest<Value>>(&json).is_err());
    let read: ReviewRequest<IgnoredAny> = serde_json::from_str(&json).unwrap();
    assert_eq!(read.request.uid, "u");
}
