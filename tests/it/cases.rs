//! Small inputs from fault reports of servers of this kind, each with what must happen; the folders under `tests/cases`
//! hold them, and their README the format.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ephemeral_testing::client::{Answer, request};
use ephemeral_testing::webhook::{Recorded, Reply};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::resources::{Provider, Resource};
use crate::support::{Dev, root};

const PATH: &str = "/clusters/consumer/apis/cases.example.org/v1/namespaces/demo/samples";

/// One case: a folder, a provider with its schema, a server.
struct Case {
    folder: PathBuf,
    provider: Provider,
    dev: Dev,
}

/// One line of `expect.json`.
struct Expectation {
    input: String,
    query: String,
    status: std::ops::RangeInclusive<u16>,
    calls: Option<usize>,
    sees: Option<String>,
}

impl Case {
    /// A case whose webhook echoes.
    async fn new(name: &str) -> Self {
        Self::with_schema(name, "schema.yaml", Reply::echo).await
    }

    async fn with_schema(
        name: &str,
        schema: &str,
        answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let folder = root().join("tests/cases").join(name);
        let text = fs::read(folder.join(schema)).expect("a schema");
        let mut resource = Resource::sample(yaml(&text));
        if name == "val-status-stripped" {
            resource.subresources = json!({"status": {}});
        }
        let provider = Provider::answering(answer).await;
        provider.nominate("provider", &resource);
        let manifests = provider.directory().to_str().expect("a path").to_owned();
        let dev = Dev::start(&["--manifests", &manifests, "--no-sample-webhook"]).await;
        Self { folder, provider, dev }
    }

    /// Runs every expectation whose input is one file that is sent as it stands.
    async fn run(&self) {
        for expectation in self.expectations() {
            if self.folder.join(&expectation.input).exists() {
                self.check(&expectation).await;
            }
        }
    }

    async fn check(&self, expectation: &Expectation) -> Answer {
        let before = self.provider.webhook.recorded().len();
        let answer = self.send(&expectation.input, &expectation.query).await;
        let recorded = self.provider.webhook.recorded();
        let about = format!("{} ?{}", expectation.input, expectation.query);
        let status = answer.status.as_u16();
        assert!(
            expectation.status.contains(&status),
            "{about}: {status} {}",
            answer.text()
        );
        if status >= 400 {
            let body: Value = answer.json();
            assert_eq!(
                (&body["kind"], &body["code"]),
                (&json!("Status"), &json!(status)),
                "{about}: {body}"
            );
        }
        let calls = recorded.len() - before;
        // What must not be served must not be asked either, and what is served is asked once.
        let expected = expectation.calls.unwrap_or(usize::from(status == 201));
        assert_eq!(calls, expected, "{about}: calls of the webhook");
        if let Some(sees) = &expectation.sees {
            sees_what_it_must(sees, recorded.last().expect("a call"), &about);
        }
        answer
    }

    async fn send(&self, input: &str, query: &str) -> Answer {
        let body = fs::read(self.folder.join(input)).expect("an input");
        let media = if Path::new(input)
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            "application/yaml"
        } else {
            "application/json"
        };
        let path = if query.is_empty() {
            PATH.to_owned()
        } else {
            format!("{PATH}?{query}")
        };
        let headers = [("content-type", media)];
        self.dev
            .client("user")
            .post(&path, &headers, body)
            .await
            .expect("an answer")
    }

    fn expectations(&self) -> Vec<Expectation> {
        let text = fs::read(self.folder.join("expect.json")).expect("expectations");
        let lines: Vec<Value> = serde_json::from_slice(&text).expect("JSON");
        let expectation = |line: &Value| {
            let number = |value: &Value| u16::try_from(value.as_u64().expect("a number")).expect("a status");
            let status = match &line["status"] {
                Value::Array(range) => number(&range[0])..=number(&range[1]),
                one => number(one)..=number(one),
            };
            Expectation {
                input: line["input"].as_str().expect("an input").to_owned(),
                query: line["query"].as_str().unwrap_or_default().to_owned(),
                status,
                calls: line["webhookCalls"]
                    .as_u64()
                    .map(|calls| usize::try_from(calls).expect("few")),
                sees: line["webhookSees"].as_str().map(str::to_owned),
            }
        };
        lines.iter().map(expectation).collect()
    }
}

/// The phrases of `webhookSees`.
fn sees_what_it_must(phrase: &str, recorded: &Recorded, about: &str) {
    let request = &recorded.json()["request"];
    for part in phrase.split(" and ") {
        let holds = match part.split_once(" == ") {
            Some(("spec", value)) => request["object"]["spec"] == serde_json::from_str::<Value>(value).expect("JSON"),
            Some(("metadata.namespace", value)) => request["object"]["metadata"]["namespace"] == value,
            Some(("request.namespace", value)) => request["namespace"] == value,
            Some(("request.dryRun", value)) => request["dryRun"] == (value == "true"),
            None if part == "no status" => request["object"].get("status").is_none(),
            None if part.starts_with('"') => String::from_utf8_lossy(&recorded.body).contains(part),
            _ => panic!("{about}: nobody knows how to check {part:?}"),
        };
        assert!(holds, "{about}: the webhook does not see {part:?}: {request}");
    }
}

fn yaml(text: &[u8]) -> Value {
    let value = structural_schema::yaml::decode(text).expect("YAML").value;
    let mut json = Vec::new();
    structural_schema::json::encode(&value, &mut json);
    serde_json::from_slice(&json).expect("JSON")
}

/// The answer of a case, with what it must repeat of the question filled in.
fn filled(template: &str, recorded: &Recorded) -> Reply {
    let review = recorded.json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let body = template
        .replace("{{review}}", &text(&review["apiVersion"]))
        .replace("{{uid}}", &text(&review["request"]["uid"]))
        .replace("{{ns}}", &text(&review["request"]["namespace"]))
        .replace("{{name}}", &text(&review["request"]["name"]));
    Reply::body(StatusCode::OK, body)
}

macro_rules! cases {
    ($($name:ident: $folder:literal;)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                Case::new($folder).await.run().await;
            }
        )*
    };
}

cases! {
    whole_numbers_survive: "val-big-int";
    escaped_names_are_reached: "val-cel-names";
    int_or_string_takes_just_these: "val-int-or-string";
    metadata_of_a_wrong_type_is_refused: "val-label-number";
    list_items_do_not_repeat: "val-list-dup";
    length_is_in_characters: "val-maxlength-chars";
    null_makes_room_for_a_default: "val-null-default";
    a_status_is_not_the_clients: "val-status-stripped";
    the_path_decides: "in-path-vs-body";
    dry_run_is_passed_on: "cli-dry-run";
}

#[tokio::test]
async fn unknown_fields_are_refused_named_or_dropped() {
    let case = Case::new("val-unknown-field").await;
    case.run().await;
    let strict = case.send("object.json", "fieldValidation=Strict").await;
    assert!(strict.text().contains("spec.qq"), "{}", strict.text());
    for (query, warned) in [
        ("fieldValidation=Warn", true),
        ("", true),
        ("fieldValidation=Ignore", false),
    ] {
        let answer = case.send("object.json", query).await;
        let warnings = answer.header_values("warning");
        assert_eq!(
            warnings.iter().any(|warning| warning.contains("spec.qq")),
            warned,
            "{query}: {warnings:?}"
        );
    }
}

#[tokio::test]
async fn warnings_are_legal_headers() {
    let case = Case::new("val-warning-chars").await;
    case.run().await;
    let answer = case.send("object.json", "fieldValidation=Warn").await;
    assert!(!answer.headers.contains_key("x-injected"), "{:?}", answer.headers);
    let total: usize = answer
        .headers
        .get_all("warning")
        .iter()
        .map(http::HeaderValue::len)
        .sum();
    assert!((1..8 * 1024).contains(&total), "{total} bytes of warnings");
}

#[tokio::test]
async fn a_pattern_that_does_not_compile_is_named_and_refuses_its_resource_alone() {
    for schema in ["schema-backref.yaml", "schema-broken.yaml", "schema-lookahead.yaml"] {
        let case = Case::with_schema("val-pattern-unsupported", schema, Reply::echo).await;
        let mut other = Resource::sample(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}));
        other.group = "other.example.org".into();
        case.provider.nominate("provider", &other);
        case.run().await;
        let readyz = case.dev.anonymous().get("/readyz?verbose").await.expect("an answer");
        assert_eq!(readyz.status, 200);
        assert!(
            readyz.text().contains("samples.cases.example.org"),
            "{schema}: {}",
            readyz.text()
        );
        let object = json!({"apiVersion": "other.example.org/v1", "kind": "Sample"});
        let path = PATH.replace("cases.example.org", "other.example.org");
        let deadline = std::time::Instant::now() + crate::support::PATIENCE;
        loop {
            let answer = case
                .dev
                .client("user")
                .post_json(&path, object.to_string())
                .await
                .expect("an answer");
            if answer.status == 201 {
                break;
            }
            assert!(std::time::Instant::now() < deadline, "{}", answer.text());
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }
}

#[tokio::test]
async fn awkward_bodies_are_refused_and_the_server_stays() {
    let case = Case::new("dos-body-shape").await;
    case.run().await;
    let strange = case.send("body-surrogate.json", "").await;
    assert!([201, 400].contains(&strange.status.as_u16()), "{}", strange.text());
    let seen = case.provider.webhook.recorded();
    assert!(seen.iter().all(|recorded| std::str::from_utf8(&recorded.body).is_ok()));
}

#[tokio::test]
async fn an_answer_that_is_nested_deep_is_answered_somehow_and_the_server_stays() {
    let folder = root().join("tests/cases/dos-body-shape");
    let template = Arc::new(fs::read_to_string(folder.join("answer-deep.json")).expect("an answer"));
    let case = Case::with_schema("dos-body-shape", "schema.yaml", move |recorded| {
        filled(&template, recorded)
    })
    .await;
    let object = json!({"apiVersion": "cases.example.org/v1", "kind": "Sample", "metadata": {"name": "one"}});
    for _ in 0..2 {
        let answer = case
            .dev
            .client("user")
            .post_json(PATH, object.to_string())
            .await
            .expect("an answer");
        assert!(
            answer.status == 201 || answer.status.is_server_error(),
            "{}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn media_types_that_are_not_known_are_refused_as_json() {
    let case = Case::new("in-media-types").await;
    let object = fs::read(case.folder.join("object.json")).expect("an object");
    let lines = fs::read_to_string(case.folder.join("requests.tsv")).expect("requests");
    for line in lines.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<_> = line.split('\t').collect();
        let [content_type, accept, status] = columns[..] else {
            panic!("{line:?}")
        };
        let mut headers = vec![("accept", accept)];
        if content_type != "(none)" {
            headers.push(("content-type", content_type));
        }
        let answer = case
            .dev
            .client("user")
            .post(PATH, &headers, object.clone())
            .await
            .expect("an answer");
        assert_eq!(answer.status.as_u16().to_string(), status, "{line}: {}", answer.text());
        if answer.status != 201 {
            is_a_status(&answer, line);
        }
    }
    let client = case.dev.client("user");
    let huge = "x".repeat(3 * 1024 * 1024 + 1);
    let others = [
        case.dev.anonymous().get(PATH).await,
        client
            .get("/clusters/consumer/apis/nowhere.example.org/v1/things")
            .await,
        client
            .send(request(Method::PUT, PATH, &[], "{}").expect("a request"))
            .await,
        client.post_json(PATH, huge).await,
        client
            .send(request(Method::GET, PATH, &[("x-long", &"x".repeat(1024 * 1024 + 1))], "").expect("a request"))
            .await,
    ];
    for (answer, code) in others.into_iter().zip([401, 404, 405, 413, 431]) {
        let answer = answer.expect("an answer");
        assert_eq!(answer.status, code, "{}", answer.text());
        is_a_status(&answer, &code.to_string());
    }
}

fn is_a_status(answer: &Answer, about: &str) {
    assert_eq!(answer.header_values("content-type"), ["application/json"], "{about}");
    let body: Value = answer.json();
    assert_eq!(
        (&body["apiVersion"], &body["kind"]),
        (&json!("v1"), &json!("Status")),
        "{about}: {body}"
    );
    assert_eq!(body["code"], answer.status.as_u16(), "{about}: {body}");
}

/// Runs the answers of a case whose webhook answers from templates.
async fn answers(folder: &str) {
    let files = root().join("tests/cases").join(folder);
    let case = Case::with_schema(folder, "schema.yaml", Reply::echo).await;
    for expectation in case.expectations() {
        let template = Arc::new(fs::read_to_string(files.join(&expectation.input)).expect("an answer"));
        case.provider.webhook.set(move |recorded| filled(&template, recorded));
        let answer = case.send("object.json", "").await;
        let about = format!("{folder}/{}: {}", expectation.input, answer.text());
        assert!(expectation.status.contains(&answer.status.as_u16()), "{about}");
        if answer.status != 201 {
            is_a_status(&answer, &about);
        }
    }
}

#[tokio::test]
async fn what_is_no_review_is_refused() {
    answers("wh-envelope").await;
    answers("wh-uid-missing").await;
    answers("wh-answer-metadata").await;
}

#[tokio::test]
async fn a_denial_with_the_code_of_a_success_is_a_failure() {
    let folder = root().join("tests/cases/wh-deny-code-200");
    let template = fs::read_to_string(folder.join("answer.json")).expect("an answer");
    let case = Case::with_schema("wh-deny-code-200", "schema.yaml", move |recorded| {
        filled(&template, recorded)
    })
    .await;
    let answer = case.send("object.json", "").await;
    assert!(answer.status.is_client_error(), "{}", answer.text());
    let body: Value = answer.json();
    assert_eq!(
        (&body["status"], &body["code"]),
        (&json!("Failure"), &json!(answer.status.as_u16()))
    );
    assert!(
        body["message"]
            .as_str()
            .is_some_and(|message| message.contains("bucket is sealed")),
        "{body}"
    );
}

#[tokio::test]
async fn the_status_of_a_webhook_is_not_passed_on() {
    let folder = root().join("tests/cases/wh-http-vs-body");
    let template = Arc::new(fs::read_to_string(folder.join("answer.json")).expect("an answer"));
    let case = Case::new("wh-http-vs-body").await;
    let codes = fs::read_to_string(folder.join("http-status.txt")).expect("codes");
    for code in codes.lines() {
        let code: StatusCode = code.parse().expect("a status code");
        let template = Arc::clone(&template);
        case.provider
            .webhook
            .set(move |_| Reply::body(code, (*template).clone()));
        let answer = case.send("object.json", "").await;
        assert_eq!(answer.status, 503, "{code}: {}", answer.text());
    }
}

#[tokio::test]
async fn extra_keys_are_decoded_once() {
    let folder = root().join("tests/cases/id-extra-keys");
    let provider = Provider::echoing().await;
    provider.nominate(
        "provider",
        &Resource::sample(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
    );
    let manifests = provider.directory().to_str().expect("a path").to_owned();
    let dev = Dev::start(&["--manifests", &manifests, "--no-sample-webhook"]).await;
    let lines = fs::read_to_string(folder.join("headers.txt")).expect("headers");
    let headers: Vec<_> = lines.lines().filter_map(|line| line.split_once(": ")).collect();
    let object = json!({"apiVersion": "cases.example.org/v1", "kind": "Sample"});
    let answer = dev
        .client("shard")
        .post(PATH, &headers, object.to_string())
        .await
        .expect("an answer");
    assert_eq!(answer.status, 201, "{}", answer.text());
    let expected: Value =
        serde_json::from_slice(&fs::read(folder.join("userinfo.json")).expect("a file")).expect("JSON");
    assert_eq!(provider.webhook.recorded()[0].json()["request"]["userInfo"], expected);
}

#[tokio::test]
async fn a_ca_bundle_that_cannot_be_used_is_never_replaced_by_the_systems() {
    let folder = root().join("tests/cases/tls-cabundle-unusable");
    let provider = Provider::echoing().await;
    let resource = |group: &str| {
        let mut resource = Resource::sample(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}));
        resource.group = group.to_owned();
        resource
    };
    let bundles = ["double", "hollow", "space", "words", "wrongtype"];
    for name in bundles {
        let bundle = fs::read_to_string(folder.join(format!("cabundle-{name}.txt"))).expect("a bundle");
        provider.nominate_with(
            "provider",
            &resource(&format!("{name}.example.org")),
            &json!({"caBundle": bundle}),
        );
    }
    provider.nominate("provider", &resource("good.example.org"));
    let manifests = provider.directory().to_str().expect("a path").to_owned();
    let dev = Dev::start(&["--manifests", &manifests, "--no-sample-webhook"]).await;
    for (name, code) in bundles.map(|name| (name, 503)).into_iter().chain([("good", 201)]) {
        let group = format!("{name}.example.org");
        let object = json!({"apiVersion": format!("{group}/v1"), "kind": "Sample"});
        let path = PATH.replace("cases.example.org", &group);
        let answer = dev
            .client("user")
            .post_json(&path, object.to_string())
            .await
            .expect("an answer");
        assert_eq!(answer.status, code, "{name}: {}", answer.text());
    }
    assert_eq!(provider.webhook.recorded().len(), 1, "nobody else is asked");
    let readyz = dev.anonymous().get("/readyz?verbose").await.expect("an answer").text();
    assert!(
        bundles
            .iter()
            .all(|name| readyz.contains(&format!("samples.{name}.example.org"))),
        "{readyz}"
    );
}

/// A body that is wrong in more places than anybody reads, and a message for each, would be a cheap way to fill memory.
#[tokio::test]
async fn an_answer_to_many_mistakes_is_bounded() {
    let case = Case::new("dos-body-shape").await;
    let labels: serde_json::Map<_, _> = (0..100_000).map(|n| (format!("-{n}"), json!("a b"))).collect();
    let object = json!({"apiVersion": "cases.example.org/v1", "kind": "Sample", "metadata": {"labels": labels}});
    let client = case.dev.client("user");
    let answer = client.post_json(PATH, object.to_string()).await.expect("an answer");
    assert_eq!(answer.status, 422);
    assert!(answer.body.len() < 16 << 20, "{} bytes", answer.body.len());
    assert_eq!(case.provider.webhook.recorded().len(), 0);
}
