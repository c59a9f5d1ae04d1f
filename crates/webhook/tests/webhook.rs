//! A webhook of the SDK over real TLS, as kcp's server and everyone else meets it.

mod support;

use std::collections::BTreeMap;
use std::time::Duration;

use ephemeral_testing::client::{Client, Http};
use ephemeral_testing::pki::{Authority, Leaf, Validity};
use ephemeral_webhook::{Answer, Denied, Review, VerifiedClient, Webhook};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use support::{Provider, VERSIONS, export, review};

#[derive(Deserialize)]
struct Spec {
    q: String,
    n: Option<i64>,
}

#[derive(Serialize)]
struct Status {
    length: usize,
    caller: String,
}

/// A webhook that does what the question tells it.
async fn answer(review: Review<Spec>) -> Result<Answer<Status>, Denied> {
    let status = Status {
        length: review.spec.q.len(),
        caller: review.caller.to_string(),
    };
    match review.spec.q.as_str() {
        "missing" => Err(Denied::not_found("buckets.s3.example.com", "missing").warn("look elsewhere")),
        "panic" => panic!("asked to"),
        "huge" => Ok(Answer::new(Status {
            caller: "x".repeat(4 << 20),
            ..status
        })),
        "warn" => Ok(Answer::new(status).warn("first").warn("second")),
        "labels" => Ok(Answer::new(status).labels(BTreeMap::from([("a".to_owned(), "b".to_owned())]))),
        "spec" => Answer::new(status).spec(&json!({"q": "changed"})),
        "context" => {
            assert_eq!(review.cluster(), "consumer");
            assert_eq!(
                (review.namespace.as_deref(), review.name.as_deref()),
                (Some("default"), None)
            );
            assert_eq!(
                (review.resource.resource.as_str(), review.kind.kind.as_str()),
                ("samples", "Sample")
            );
            assert_eq!(review.options.field_manager, "kubectl-create");
            assert_eq!((review.labels["team"].as_str(), review.dry_run), ("blue", true));
            assert_eq!(review.spec.n, Some(i64::MAX));
            Ok(status.into())
        }
        _ => Ok(status.into()),
    }
}

fn webhook() -> Webhook {
    Webhook::new([export()], answer)
}

#[tokio::test]
async fn both_versions_are_answered_in_kind_over_both_protocols() {
    let provider = Provider::start(webhook()).await;
    for http in [Http::One, Http::Two] {
        for version in VERSIONS {
            let answer = provider
                .client()
                .http(http)
                .post_json("/ephemeral", review(version, "abc").to_string())
                .await;
            let answer = answer.unwrap();
            assert_eq!(
                (answer.status, answer.header_values("content-type")),
                (StatusCode::OK, vec!["application/json"])
            );
            let expected = json!({
                "apiVersion": version, "kind": "EphemeralReview",
                "response": {"uid": "u1", "allowed": true, "object": {
                    "apiVersion": "cases.example.org/v1", "kind": "Sample",
                    "spec": {"q": "abc", "n": i64::MAX, "unknown": [1]},
                    "status": {"length": 3, "caller": "\"alice\" of logical cluster \"consumer\""},
                }},
            });
            assert_eq!(answer.json::<Value>(), expected);
        }
    }
}

#[tokio::test]
async fn the_function_sees_the_whole_question() {
    let provider = Provider::start(webhook()).await;
    assert_eq!(provider.ask("context").await["allowed"], true);
}

#[tokio::test]
async fn answers_carry_what_the_function_adds() {
    let provider = Provider::start(webhook()).await;
    assert_eq!(provider.ask("warn").await["warnings"], json!(["first", "second"]));
    assert_eq!(
        provider.ask("labels").await["object"]["metadata"],
        json!({"labels": {"a": "b"}})
    );
    assert_eq!(provider.ask("spec").await["object"]["spec"], json!({"q": "changed"}));
}

#[tokio::test]
async fn denials_are_answers() {
    let provider = Provider::start(webhook()).await;
    let denied = provider.ask("missing").await;
    assert_eq!(denied["allowed"], false);
    assert_eq!(denied["warnings"], json!(["look elsewhere"]));
    assert_eq!(denied["status"]["code"], 404);
    assert_eq!(
        denied["status"]["message"],
        r#"buckets.s3.example.com "missing" not found"#
    );
    assert_eq!(denied.get("object"), None);

    let too_large = provider.ask("huge").await;
    assert_eq!(
        (&too_large["allowed"], &too_large["status"]["code"]),
        (&json!(false), &json!(500))
    );
}

#[tokio::test]
async fn an_object_that_does_not_fit_is_denied_as_invalid() {
    let provider = Provider::start(webhook()).await;
    let deep = format!(
        r#"{{"spec": {{"q": "", "x": {}1{}}}}}"#,
        "[".repeat(3000),
        "]".repeat(3000)
    );
    let objects = [
        r#"{"spec": {"q": 7}}"#,
        "{}",
        r#""text""#,
        r#"{"metadata": [], "spec": {"q": ""}}"#,
        &deep,
    ];
    for object in objects {
        let body = review(VERSIONS[0], "")
            .to_string()
            .replace(r#""object":{"#, &format!(r#""object":{object},"x":{{"#));
        let answer = provider.client().post_json("/ephemeral", body).await.unwrap();
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
        let response = &answer.json::<Value>()["response"];
        assert_eq!(
            (&response["uid"], &response["allowed"]),
            (&json!("u1"), &json!(false)),
            "{object:.40}"
        );
        assert_eq!(
            (&response["status"]["code"], &response["status"]["reason"]),
            (&json!(422), &json!("Invalid"))
        );
    }
}

#[tokio::test]
async fn a_review_for_an_export_that_is_not_served_is_denied() {
    let provider = Provider::start(webhook()).await;
    for (cluster, name) in [
        ("provider", "other.example.com"),
        ("elsewhere", "s3.example.com"),
        ("", ""),
    ] {
        let mut review = review(VERSIONS[1], "panic");
        review["request"]["export"] = json!({"cluster": cluster, "name": name});
        let answer = provider
            .client()
            .post_json("/ephemeral", review.to_string())
            .await
            .unwrap();
        let answer: Value = answer.json();
        assert_eq!(answer["apiVersion"], VERSIONS[1]);
        assert_eq!(answer["response"]["status"]["code"], 403, "{cluster}/{name}");
        assert_eq!(answer["response"]["status"]["reason"], "Forbidden");
    }
}

#[tokio::test]
async fn what_is_no_review_is_refused() {
    let provider = Provider::start(webhook()).await;
    let good = review(VERSIONS[0], "abc").to_string();
    let json = "application/json";
    let cases: [(&str, &str, String, StatusCode); 14] = [
        (
            "as it should be",
            "Application/JSON; charset=utf-8",
            good.clone(),
            StatusCode::OK,
        ),
        (
            "another type",
            "application/yaml",
            good.clone(),
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ),
        (
            "a longer type",
            "application/json-patch+json",
            good.clone(),
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ),
        ("no type", "", good.clone(), StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("nothing", json, String::new(), StatusCode::BAD_REQUEST),
        ("no JSON", json, "{".to_owned(), StatusCode::BAD_REQUEST),
        ("bytes after", json, good.clone() + "{}", StatusCode::BAD_REQUEST),
        (
            "no request",
            json,
            good.replace(r#""request""#, r#""question""#),
            StatusCode::BAD_REQUEST,
        ),
        (
            "no uid",
            json,
            good.replace(r#""uid""#, r#""id""#),
            StatusCode::BAD_REQUEST,
        ),
        (
            "no export",
            json,
            good.replace(r#""export""#, r#""import""#),
            StatusCode::BAD_REQUEST,
        ),
        (
            "two exports",
            json,
            good.replace(r#""cluster":"consumer""#, r#""cluster":"a","cluster":"b""#),
            StatusCode::BAD_REQUEST,
        ),
        (
            "another kind",
            json,
            good.replace("EphemeralReview", "AdmissionReview"),
            StatusCode::BAD_REQUEST,
        ),
        (
            "another version",
            json,
            good.replace(VERSIONS[0], "apis.kcp.io/v2"),
            StatusCode::BAD_REQUEST,
        ),
        (
            "too large",
            json,
            good + &" ".repeat(4 << 20),
            StatusCode::PAYLOAD_TOO_LARGE,
        ),
    ];
    for (about, media_type, body, status) in cases {
        let headers: &[(&str, &str)] = if media_type.is_empty() {
            &[]
        } else {
            &[("content-type", media_type)]
        };
        let answer = provider
            .client()
            .http(Http::Two)
            .post("/ephemeral", headers, body)
            .await
            .unwrap();
        assert_eq!(answer.status, status, "{about}: {}", answer.text());
    }
    let unknown = review("apis.kcp.io/v2", "abc").to_string();
    let answer = provider.client().post_json("/ephemeral", unknown).await.unwrap();
    assert!(
        answer
            .text()
            .contains("expected apis.kcp.io/v1alpha1 or ephemeral.contrib.kcp.io/v1alpha1")
    );
    assert_eq!(
        provider.client().get("/ephemeral").await.unwrap().status,
        StatusCode::METHOD_NOT_ALLOWED
    );
    assert_eq!(
        provider.client().get("/other").await.unwrap().status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn a_large_review_within_the_contract_is_answered() {
    let provider = Provider::start(webhook()).await;
    assert_eq!(provider.ask(&"x".repeat((2 << 20) + (1 << 19))).await["allowed"], true);
}

#[tokio::test]
async fn a_panic_is_one_failed_review() {
    let provider = Provider::start(webhook()).await;
    for http in [Http::One, Http::Two] {
        let mut connection = provider.client().http(http).connect().await.unwrap();
        for (question, status) in [("panic", StatusCode::INTERNAL_SERVER_ERROR), ("abc", StatusCode::OK)] {
            let body = review(VERSIONS[0], question).to_string();
            let headers = [("content-type", "application/json")];
            let request = ephemeral_testing::client::request(http::Method::POST, "/ephemeral", &headers, body);
            assert_eq!(
                connection.send(request.unwrap()).await.unwrap().status,
                status,
                "{question}"
            );
        }
    }
}

#[tokio::test]
async fn only_clients_with_a_valid_certificate_are_answered() {
    let provider = Provider::start(webhook()).await;
    let body = || review(VERSIONS[0], "abc").to_string();
    let anonymous = Client::new(provider.address, &provider.servers);
    for http in [Http::One, Http::Two] {
        let client = anonymous.clone().http(http);
        assert_eq!(
            client.post_json("/ephemeral", body()).await.unwrap().status,
            StatusCode::UNAUTHORIZED
        );
        assert_eq!(client.get("/healthz").await.unwrap().text(), "ok");
    }

    let other = Authority::new("clients");
    let bad = [
        ("another authority of the same name", other.client("kcp", &[])),
        (
            "expired",
            provider
                .clients
                .issue(&Leaf::client("kcp", &[]).validity(Validity::Expired)),
        ),
        (
            "not yet valid",
            provider
                .clients
                .issue(&Leaf::client("kcp", &[]).validity(Validity::NotYet)),
        ),
        ("for servers", provider.clients.server(&["kcp"])),
    ];
    for (about, identity) in bad {
        let client = Client::with_certificate(provider.address, &provider.servers, &identity);
        assert!(client.post_json("/ephemeral", body()).await.is_err(), "{about}");
    }
    let below = provider.clients.intermediate("below").client("kcp", &[]);
    let client = Client::with_certificate(provider.address, &provider.servers, &below);
    assert_eq!(
        client.post_json("/ephemeral", body()).await.unwrap().status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn an_existing_axum_server_vouches_for_its_clients() {
    use tower::ServiceExt as _;

    let request = || {
        http::Request::post("/mine/ephemeral")
            .header("content-type", "application/json")
            .body(axum::body::Body::from(review(VERSIONS[0], "abc").to_string()))
            .unwrap()
    };
    let app = axum::Router::new().nest("/mine", webhook().route("/ephemeral"));
    assert_eq!(
        app.clone().oneshot(request()).await.unwrap().status(),
        StatusCode::UNAUTHORIZED
    );
    let app = app.layer(axum::Extension(VerifiedClient::asserted()));
    assert_eq!(app.oneshot(request()).await.unwrap().status(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_takes_too_long_is_given_up() {
    use tower::ServiceExt as _;

    async fn never(_: Review<Value>) -> Result<Answer<()>, Denied> {
        std::future::pending().await
    }
    let app = Webhook::new([export()], never)
        .route("/")
        .layer(axum::Extension(VerifiedClient::asserted()));
    let request = http::Request::post("/").header("content-type", "application/json");
    let request = request
        .body(axum::body::Body::from(review(VERSIONS[0], "abc").to_string()))
        .unwrap();
    let started = tokio::time::Instant::now();
    assert_eq!(
        app.oneshot(request).await.unwrap().status(),
        StatusCode::SERVICE_UNAVAILABLE
    );
    assert!(started.elapsed() >= Duration::from_secs(30));
}
