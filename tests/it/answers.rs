//! What a consumer is told for everything that a webhook may do: the table of answers, asked over HTTPS.

use std::time::{Duration, Instant};

use ephemeral_testing::client::{Answer, request};
use ephemeral_testing::webhook::{Recorded, Reply};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::Dev;
use crate::support::resources::{Provider, Resource};

const PATH: &str = "/clusters/consumer/apis/cases.example.org/v1/namespaces/demo/samples";

/// A running server, and the webhook that it asks.
struct Setup {
    provider: Provider,
    dev: Dev,
}

impl Setup {
    async fn new(spec: Value, answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Self {
        let provider = Provider::answering(answer).await;
        let schema = json!({
            "type": "object",
            "properties": {
                "spec": {"type": "object", "properties": {"q": {"type": "string"}, "d": {"type": "string", "default": "x"},
                    "m": {"type": "object", "additionalProperties": {"type": "string"}}}},
                "status": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}},
            },
        });
        provider.nominate_with("provider", &Resource::sample(schema), &spec);
        let manifests = provider.directory().to_str().expect("a path").to_owned();
        let dev = Dev::start(&["--manifests", &manifests, "--no-sample-webhook"]).await;
        Self { provider, dev }
    }

    async fn ask(&self, query: &str) -> Answer {
        let object = json!({
            "apiVersion": "cases.example.org/v1",
            "kind": "Sample",
            "metadata": {"name": "one", "labels": {"ours": "l"}, "annotations": {"ours": "a"}, "finalizers": ["x.example.org/f"]},
            "spec": {"q": "a"},
            "status": {"n": "not ours to say"},
        });
        self.dev
            .client("user")
            .post_json(&format!("{PATH}{query}"), object.to_string())
            .await
            .expect("an answer")
    }
}

type Answering = Box<dyn Fn(&Recorded) -> Reply + Send + Sync>;
type Change = fn(&mut Value);

/// The object that was asked about with a status, changed.
fn answered(recorded: &Recorded, change: impl FnOnce(&mut Value)) -> Reply {
    let mut object = recorded.json()["request"]["object"].clone();
    object["status"] = json!({"n": 1});
    change(&mut object);
    Reply::allow(recorded, &object)
}

/// Fails with a status, and tells nothing of where the webhook is.
fn refused(answer: &Answer, code: u16, reason: &str) -> Value {
    assert_eq!(answer.status, code, "{}", answer.text());
    let body: Value = answer.json();
    assert_eq!(
        (&body["kind"], &body["status"]),
        (&json!("Status"), &json!("Failure")),
        "{body}"
    );
    assert_eq!(
        (&body["code"], &body["reason"]),
        (&json!(code), &json!(reason)),
        "{body}"
    );
    for secret in ["127.0.0.1", "localhost", "https:", "refused (os"] {
        assert!(!answer.text().contains(secret), "{body}");
    }
    assert_eq!(answer.headers.contains_key("retry-after"), code == 429, "{body}");
    body
}

#[tokio::test]
async fn an_answer_is_the_webhooks_spec_and_status_with_the_requests_metadata() {
    let setup = Setup::new(json!({}), |recorded| {
        answered(recorded, |object| {
            object["spec"]["q"] = json!("theirs");
            object["unknown"] = json!(1);
            object["metadata"] = json!({"name": "one", "labels": {"theirs": "l"}, "uid": "u", "resourceVersion": "7",
                "generation": 3, "creationTimestamp": "2001-02-03T04:05:06Z", "finalizers": ["theirs.example.org/f"]});
        })
    })
    .await;
    let answer = setup.ask("").await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(
        answer.json::<Value>(),
        json!({
            "apiVersion": "cases.example.org/v1",
            "kind": "Sample",
            "metadata": {"name": "one", "namespace": "demo", "labels": {"theirs": "l"}, "annotations": {"ours": "a"},
                "finalizers": ["x.example.org/f"]},
            "spec": {"q": "theirs", "d": "x"},
            "status": {"n": 1},
        })
    );
    let review = setup.provider.webhook.recorded()[0].json();
    let request = &review["request"];
    assert_eq!(
        (&review["apiVersion"], &review["kind"]),
        (&json!("apis.kcp.io/v1alpha1"), &json!("EphemeralReview"))
    );
    assert_eq!(request["cluster"], "consumer");
    assert_eq!(
        request["export"],
        json!({"cluster": "provider", "name": "cases.example.org"})
    );
    assert_eq!(
        request["resource"],
        json!({"group": "cases.example.org", "version": "v1", "resource": "samples"})
    );
    assert_eq!(
        request["kind"],
        json!({"group": "cases.example.org", "version": "v1", "kind": "Sample"})
    );
    assert_eq!(
        (&request["namespace"], &request["name"]),
        (&json!("demo"), &json!("one"))
    );
    assert_eq!(
        request["userInfo"],
        json!({"username": "developer", "groups": ["developers"]})
    );
    assert!(request["object"].get("status").is_none(), "{request}");
}

#[tokio::test]
async fn the_trace_context_goes_on_to_the_webhook_and_the_callers_own_headers_do_not() {
    let setup = Setup::new(json!({}), Reply::echo).await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let headers = [
        ("traceparent", trace),
        ("x-remote-user", "mallory"),
        ("impersonate-user", "mallory"),
        ("cookie", "c"),
    ];
    let object = json!({"apiVersion": "cases.example.org/v1", "kind": "Sample"});
    let answer = setup
        .dev
        .client("user")
        .post(PATH, &headers, object.to_string())
        .await
        .expect("an answer");
    assert_eq!(answer.status, 201, "{}", answer.text());
    let recorded = &setup.provider.webhook.recorded()[0];
    assert_eq!(recorded.headers["traceparent"], trace);
    assert!(
        ["x-remote-user", "impersonate-user", "cookie"]
            .iter()
            .all(|name| !recorded.headers.contains_key(*name))
    );
    assert_eq!(recorded.json()["request"]["userInfo"]["username"], "developer");
}

#[tokio::test]
async fn a_nomination_chooses_the_version_of_the_review_and_whose_spec_comes_back() {
    let spec = json!({"specOwnership": "User", "reviewVersions": ["ephemeral.contrib.kcp.io/v1alpha1"]});
    let setup = Setup::new(spec, |recorded| {
        answered(recorded, |object| object["spec"]["q"] = json!("theirs"))
    })
    .await;
    let answer = setup.ask("").await;
    let object: Value = answer.json();
    assert_eq!(
        (&object["spec"]["q"], &object["status"]["n"]),
        (&json!("a"), &json!(1)),
        "{object}"
    );
    assert_eq!(
        setup.provider.webhook.recorded()[0].json()["apiVersion"],
        "ephemeral.contrib.kcp.io/v1alpha1"
    );
}

#[tokio::test]
async fn a_denial_is_the_webhooks_status_and_always_a_failure() {
    let setup = Setup::new(json!({}), Reply::echo).await;
    let cases = [
        (
            json!({"code": 404, "reason": "NotFound", "message": "no such bucket"}),
            404,
            "NotFound",
            "no such bucket",
        ),
        (json!({"code": 409, "message": "busy"}), 409, "Conflict", "busy"),
        (
            json!({"code": 200, "status": "Success", "message": "sealed"}),
            403,
            "Forbidden",
            "sealed",
        ),
        (
            json!({"code": 302, "reason": "Found", "message": "elsewhere"}),
            403,
            "Forbidden",
            "elsewhere",
        ),
        (json!({"message": "no"}), 403, "Forbidden", "no"),
        (
            json!({}),
            403,
            "Forbidden",
            "samples.cases.example.org \"one\" was denied by its webhook",
        ),
        (
            json!({"code": 503, "message": "later", "details": {"retryAfterSeconds": 5}}),
            503,
            "ServiceUnavailable",
            "later",
        ),
    ];
    for (status, code, reason, message) in cases {
        setup.provider.webhook.set({
            let status = status.clone();
            move |recorded| Reply::deny(recorded, &status)
        });
        let body = refused(&setup.ask("").await, code, reason);
        assert_eq!(body["message"], message, "{status}");
    }
    for cut in [&br"smile \ud83d"[..], b"smile \xff"] {
        setup.provider.webhook.set(move |recorded| {
            let review = recorded.json();
            let (version, uid) = (&review["apiVersion"], &review["request"]["uid"]);
            let head = format!(
                r#"{{"apiVersion":{version},"kind":"EphemeralReview","response":{{"uid":{uid},"allowed":false,"status":{{"code":404,"message":""#
            );
            let body = [head.as_bytes(), cut, br#""}}}"#].concat();
            Reply::body(StatusCode::OK, body)
        });
        let body = refused(&setup.ask("").await, 404, "NotFound");
        assert_eq!(body["message"], "smile \u{fffd}", "{cut:?}");
    }
    for code in [429, 503] {
        setup
            .provider
            .webhook
            .set(move |recorded| Reply::deny(recorded, &json!({"code": code, "details": {"retryAfterSeconds": 7}})));
        let answer = setup.ask("").await;
        assert_eq!(
            answer.json::<Value>()["details"],
            json!({"retryAfterSeconds": 7}),
            "{code}"
        );
        assert!(
            answer.header_values("retry-after").is_empty(),
            "clients would ask again by themselves"
        );
    }
    setup.provider.webhook.set(|recorded| {
        Reply::deny(
            recorded,
            &json!({"code": 422, "reason": "Invalid", "message": "m", "details": {"name": "one",
            "kind": "Sample", "causes": [{"field": "spec.q", "message": "bad", "reason": "FieldValueInvalid"}]}}),
        )
    });
    let body = refused(&setup.ask("").await, 422, "Invalid");
    assert_eq!(body["details"]["causes"][0]["field"], "spec.q", "{body}");
}

#[tokio::test]
async fn what_is_no_review_of_this_request_is_503_and_never_ignored() {
    let setup = Setup::new(json!({"failurePolicy": "Ignore"}), Reply::echo).await;
    let changed = |change: Change| -> Answering {
        Box::new(move |recorded| {
            let review = recorded.json();
            let mut answer = json!({"apiVersion": review["apiVersion"], "kind": "EphemeralReview", "response": {
                "uid": review["request"]["uid"], "allowed": true, "object": review["request"]["object"]}});
            change(&mut answer);
            Reply::json(StatusCode::OK, &answer)
        })
    };
    let cases: Vec<(&str, Answering)> = vec![
        ("not 200", Box::new(|_| Reply::body(StatusCode::FORBIDDEN, "{}"))),
        (
            "redirect",
            Box::new(|_| Reply::body(StatusCode::FOUND, "").header(http::header::LOCATION, "https://example.org")),
        ),
        ("not JSON", Box::new(|_| Reply::body(StatusCode::OK, "<html>"))),
        (
            "larger than 3 MiB",
            Box::new(|_| Reply::body(StatusCode::OK, vec![b' '; 3 * 1024 * 1024 + 1])),
        ),
        (
            "another uid",
            changed(|answer| answer["response"]["uid"] = json!("other")),
        ),
        (
            "no uid",
            changed(|answer| _ = answer["response"].as_object_mut().unwrap().remove("uid")),
        ),
        (
            "another version",
            changed(|answer| answer["apiVersion"] = json!("ephemeral.contrib.kcp.io/v1alpha1")),
        ),
        (
            "another kind",
            changed(|answer| answer["kind"] = json!("AdmissionReview")),
        ),
        (
            "no verdict",
            changed(|answer| _ = answer["response"].as_object_mut().unwrap().remove("allowed")),
        ),
    ];
    for (what, answering) in cases {
        setup.provider.webhook.set(answering);
        let answer = setup.ask("").await;
        assert_eq!(answer.status, 503, "{what}: {}", answer.text());
        refused(&answer, 503, "ServiceUnavailable");
    }
}

#[tokio::test]
async fn an_answer_that_breaks_the_contract_is_500_and_never_ignored() {
    let setup = Setup::new(json!({"failurePolicy": "Ignore"}), Reply::echo).await;
    let cases: [(&str, Change); 7] = [
        ("another kind", |object| object["kind"] = json!("Other")),
        ("another version", |object| {
            object["apiVersion"] = json!("cases.example.org/v2");
        }),
        ("another name", |object| object["metadata"]["name"] = json!("two")),
        ("another namespace", |object| {
            object["metadata"]["namespace"] = json!("kube-system");
        }),
        ("an invalid status", |object| object["status"] = json!({"n": "many"})),
        ("a status that lacks something", |object| object["status"] = json!({})),
        ("an invalid label", |object| {
            object["metadata"]["labels"] = json!({"a": "not a label!"});
        }),
    ];
    for (what, change) in cases {
        setup.provider.webhook.set(move |recorded| answered(recorded, change));
        let answer = setup.ask("").await;
        assert_eq!(answer.status, 500, "{what}: {}", answer.text());
        refused(&answer, 500, "InternalError");
    }
    setup
        .provider
        .webhook
        .set(|recorded| Reply::respond(recorded, json!({"allowed": true})));
    refused(&setup.ask("").await, 500, "InternalError");
}

#[tokio::test]
async fn the_log_says_how_an_answer_is_wrong_without_its_content() {
    let setup = Setup::new(json!({}), |recorded| {
        answered(recorded, |object| object["status"] = json!({"n": "secret"}))
    })
    .await;
    refused(&setup.ask("").await, 500, "InternalError");
    setup.provider.webhook.set(|recorded| {
        let long = "k".repeat(100_000);
        answered(recorded, move |object| {
            object["spec"]["m"] = json!({"secret-key": 1, long.clone(): 2});
        })
    });
    refused(&setup.ask("").await, 500, "InternalError");
    setup.provider.webhook.set(|recorded| {
        let review = recorded.json();
        Reply::json(
            StatusCode::OK,
            &json!({"apiVersion": review["apiVersion"], "kind": "EphemeralReview",
            "response": {"uid": "other", "allowed": true}}),
        )
    });
    refused(&setup.ask("").await, 503, "ServiceUnavailable");
    let (_, log) = setup.dev.end("-TERM").await;
    assert!(log.contains("status.n") && log.contains("another uid"), "{log}");
    assert!(!log.contains("secret"), "{log}");
    assert!(log.lines().all(|line| line.len() < 10_000), "{log}");
}

#[tokio::test]
async fn no_answer_is_503_or_what_the_provider_chose() {
    let setup = Setup::new(json!({}), |_| Reply::Close).await;
    refused(&setup.ask("").await, 503, "ServiceUnavailable");

    let setup = Setup::new(json!({"failurePolicy": "Ignore"}), |_| Reply::Close).await;
    let answer = setup.ask("").await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let object: Value = answer.json();
    assert_eq!(object["spec"], json!({"q": "a", "d": "x"}), "pruned and defaulted");
    assert!(object.get("status").is_none(), "{object}");
    let warnings = answer.header_values("warning");
    assert!(
        warnings.iter().any(|warning| warning.contains("could not be answered")),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn a_webhook_that_hangs_costs_its_timeout_or_the_clients() {
    let setup = Setup::new(json!({"timeoutSeconds": 2}), |_| Reply::Hang).await;
    for (query, at_least, less_than) in [("", 2000, 10_000), ("?timeout=300ms", 300, 1900)] {
        let begun = Instant::now();
        refused(&setup.ask(query).await, 503, "ServiceUnavailable");
        let taken = begun.elapsed();
        let bounds = Duration::from_millis(at_least)..Duration::from_millis(less_than);
        assert!(bounds.contains(&taken), "{query}: {taken:?}");
    }
}

#[tokio::test]
async fn a_consumer_that_holds_its_share_of_the_bulkhead_gets_429() {
    let setup = Setup::new(json!({"maxInFlight": 4, "timeoutSeconds": 5}), |_| Reply::Hang).await;
    let ask = || setup.ask("?timeout=2s");
    let (first, second) = tokio::join!(ask(), ask());
    let mut codes = [first.status.as_u16(), second.status.as_u16()];
    codes.sort_unstable();
    assert_eq!(codes, [429, 503], "a quarter of four is one");
    let refused_one = if first.status == 429 { first } else { second };
    let body = refused(&refused_one, 429, "TooManyRequests");
    assert_eq!(body["details"]["retryAfterSeconds"], 1, "{body}");
}

#[tokio::test]
async fn warnings_of_a_webhook_reach_the_consumer_as_headers() {
    let setup = Setup::new(json!({}), |recorded| {
        let object = recorded.json()["request"]["object"].clone();
        Reply::respond(
            recorded,
            json!({"allowed": true, "object": object, "warnings": ["slow \"today\"", "a\r\nX-Bad: 1"]}),
        )
    })
    .await;
    let answer = setup.ask("").await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(
        answer.header_values("warning").last(),
        Some(&r#"299 - "slow \"today\"""#)
    );
    assert!(!answer.headers.contains_key("x-bad"));
}

#[tokio::test]
async fn only_create_and_list_are_served_and_the_rest_is_worded_as_reviews_are() {
    let setup = Setup::new(json!({}), Reply::echo).await;
    let client = setup.dev.client("user");
    let named = format!("{PATH}/one");
    let missing = "the server could not find the requested resource";
    let not_allowed = "the server does not allow this method on the requested resource";
    for (method, path, code, reason, message) in [
        (Method::PUT, PATH, 405, "MethodNotAllowed", not_allowed),
        (Method::PATCH, PATH, 405, "MethodNotAllowed", not_allowed),
        (Method::DELETE, PATH, 405, "MethodNotAllowed", not_allowed),
        (
            Method::GET,
            &format!("{PATH}?watch=true"),
            405,
            "MethodNotAllowed",
            not_allowed,
        ),
        (Method::GET, &named, 404, "NotFound", missing),
        (Method::PUT, &named, 404, "NotFound", missing),
        (Method::PATCH, &named, 404, "NotFound", missing),
        (Method::DELETE, &named, 404, "NotFound", missing),
        (Method::POST, &named, 404, "NotFound", missing),
        (Method::POST, &format!("{named}/status"), 404, "NotFound", missing),
        (
            Method::POST,
            &PATH.replace("samples", "others"),
            404,
            "NotFound",
            missing,
        ),
        (Method::POST, &PATH.replace("/v1/", "/v2/"), 404, "NotFound", missing),
        (
            Method::POST,
            &PATH.replace("/namespaces/demo", ""),
            404,
            "NotFound",
            missing,
        ),
    ] {
        let answer = client
            .send(request(method.clone(), path, &[], "{}").expect("a request"))
            .await
            .expect("an answer");
        assert_eq!(answer.status, code, "{method} {path}: {}", answer.text());
        let body = refused(&answer, code, reason);
        assert_eq!(
            (&body["message"], &body["details"]),
            (&json!(message), &json!({})),
            "{method} {path}"
        );
    }
    let list: Value = client.get(PATH).await.expect("an answer").json();
    assert_eq!(
        (&list["kind"], &list["items"]),
        (&json!("SampleList"), &json!([])),
        "{list}"
    );
    let wildcard =
        "/services/ephemeral/provider/cases.example.org/clusters/*/apis/cases.example.org/v1/namespaces/demo/samples";
    let answer = setup
        .dev
        .client("shard")
        .post(wildcard, &[("x-remote-user", "ada")], "{}")
        .await
        .expect("an answer");
    refused(&answer, 400, "BadRequest");
    assert!(setup.provider.webhook.recorded().is_empty());
}

/// Answers that kube-apiserver's handler of custom resources was seen to give to objects that few would send.
#[tokio::test]
async fn odd_objects_are_answered_as_custom_resources_are() {
    let provider = Provider::echoing().await;
    let schema = json!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"set": {"type": "array", "items": {"type": "number"}, "x-kubernetes-list-type": "set"}},
    });
    provider.nominate_with("provider", &Resource::sample(schema), &json!({}));
    let manifests = provider.directory().to_str().expect("a path").to_owned();
    let dev = Dev::start(&["--manifests", &manifests, "--no-sample-webhook"]).await;
    let no_list = "*unstructured.Unstructured is not a list: no Items field in this object";
    let no_control = "yaml: control characters are not allowed";
    for (field, accept, code, message) in [
        (r#""items":[]"#, "application/json", 500, no_list),
        (r#""items":[{"a":1}]"#, "application/yaml", 500, no_list),
        (r#""items":{}"#, "application/json", 201, ""),
        (r#""a":"\u007f""#, "application/json", 201, ""),
        (r#""a":"\u007f""#, "application/yaml", 500, no_control),
        (r#""\u0080":1"#, "application/yaml", 500, no_control),
        // Two when they are judged, one number when they are written.
        (r#""set":[1,1.0]"#, "application/json", 201, ""),
        (r#""set":[1,1]"#, "application/json", 422, "set[1]: Duplicate value: 1"),
    ] {
        let body =
            format!(r#"{{"apiVersion":"cases.example.org/v1","kind":"Sample","metadata":{{"name":"n"}},{field}}}"#);
        let headers = [("content-type", "application/json"), ("accept", accept)];
        let answer = dev.client("user").post(PATH, &headers, body).await.expect("an answer");
        assert_eq!(answer.status, code, "{field}: {}", answer.text());
        assert_eq!(answer.header_values("content-type"), [accept], "{field}");
        assert!(answer.text().contains(message), "{field}: {}", answer.text());
    }
    let protobuf = [("content-type", "application/vnd.kubernetes.protobuf")];
    for (query, code) in [("", 415), ("?dryRun=x", 422)] {
        let answer = dev
            .client("user")
            .post(&format!("{PATH}{query}"), &protobuf, "k8s")
            .await;
        assert_eq!(answer.expect("an answer").status, code, "{query}");
    }
}

/// The words of a strict decoder, as kube-apiserver's handler of custom resources has them.
#[tokio::test]
async fn strict_errors_name_the_kind_and_version_of_the_body() {
    let setup = Setup::new(json!({}), Reply::echo).await;
    for (body, message) in [
        (
            r#"{"apiVersion":"cases.example.org/v1","kind":"Sample","a":1}"#,
            r#"Sample in version "v1" cannot be handled as a Sample: strict decoding error: unknown field "a""#,
        ),
        (
            r#"{"apiVersion":"x/v2","kind":"Pod","metadata":{"a":1},"b":1,"b":2}"#,
            "Pod in version \"v2\" cannot be handled as a Pod: strict decoding error: duplicate field \"b\", unknown \
             field \"metadata.a\"",
        ),
        (
            r#"{"kind":"Sample","metadata":{"a":1}}"#,
            "Object 'apiVersion' is missing in 'object has no apiVersion field'",
        ),
        (
            r#"{"apiVersion":"x/","kind":"Sample","metadata":{"a":1}}"#,
            "Object 'apiVersion' is missing in 'object has no apiVersion field'",
        ),
        (
            r#"{"apiVersion":"/v1","kind":"Sample"}"#,
            "the API version in the data (v1) does not match the expected API version (cases.example.org/v1)",
        ),
    ] {
        let path = format!("{PATH}?fieldValidation=Strict");
        let answer = setup.dev.client("user").post_json(&path, body.to_owned()).await;
        let answer = refused(&answer.expect("an answer"), 400, "BadRequest");
        assert_eq!(answer["message"], message, "{body}");
    }
}
