//! Requests as shards of a real kcp sent them, one of each kind: `tests/data/shard-requests.json`.

use ephemeral_testing::client::{Answer, request};
use ephemeral_testing::webhook::Reply;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::Dev;
use crate::support::resources::{Provider, Resource};

const GROUP: &str = "storage.example.io";

/// A request as it arrived.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Recorded {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
    client_certificate_subject: String,
}

impl Recorded {
    fn all() -> Vec<Self> {
        serde_json::from_str(include_str!("../data/shard-requests.json")).expect("a list of requests")
    }

    /// Sends it to an export that is named like its group.
    async fn send(&self, dev: &Dev) -> Answer {
        assert!(self.client_certificate_subject.contains("kcp-shard-"));
        let path = self.path.replace("PROVIDER/EXPORT", &format!("provider/{GROUP}"));
        let headers = self.headers.iter().filter(|(name, _)| name != "Content-Length");
        let headers: Vec<_> = headers.map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let method = self.method.parse().expect("a method");
        let request = request(method, &path, &headers, self.body.clone()).expect("a request");
        dev.client("shard").send(request).await.expect("an answer")
    }

    /// The values of a header.
    fn values(&self, name: &str) -> Vec<&str> {
        let headers = self
            .headers
            .iter()
            .filter(|(header, _)| header.eq_ignore_ascii_case(name));
        headers.map(|(_, value)| value.as_str()).collect()
    }

    /// The logical cluster of the consumer.
    fn cluster(&self) -> &str {
        let rest = self.path.split("/clusters/").nth(1).expect("a logical cluster");
        rest.split('/').next().expect("a name")
    }

    fn names_an_object(&self) -> bool {
        self.path
            .split('?')
            .next()
            .is_some_and(|path| path.ends_with("/bucketinfos/photos"))
    }
}

fn bucketinfos() -> Resource {
    Resource {
        group: GROUP.into(),
        version: "v1alpha1".into(),
        scope: "Namespaced".into(),
        names: json!({
            "kind": "BucketInfo", "listKind": "BucketInfoList", "plural": "bucketinfos", "singular": "bucketinfo",
        }),
        schema: json!({"type": "object", "properties": {
            "spec": {"type": "object", "required": ["bucket"], "properties": {
                "bucket": {"type": "string", "minLength": 3},
                "region": {"type": "string", "default": "eu-west-1"},
            }},
            "status": {"type": "object", "properties": {"objects": {"type": "integer"}}},
        }}),
        subresources: json!({"status": {}}),
        printer_columns: Value::Null,
        further: Value::Null,
    }
}

#[tokio::test]
async fn each_gets_what_kcp_expects() {
    let provider = Provider::answering(|review| Reply::with_status(review, json!({"objects": 3}))).await;
    provider.nominate("provider", &bucketinfos());
    let manifests = provider.directory().to_str().expect("a path").to_owned();
    let dev = Dev::start(&["--manifests", &manifests, "--no-sample-webhook"]).await;
    for recorded in Recorded::all() {
        let asked_before = provider.webhook.recorded().len();
        let answer = recorded.send(&dev).await;
        let what = format!("{} {}: {}", recorded.method, recorded.path, answer.text());
        let body: Value = answer.json();
        let creates = recorded.method == "POST";
        assert_eq!(
            provider.webhook.recorded().len() - asked_before,
            usize::from(creates),
            "{what}"
        );
        match recorded.method.as_str() {
            "GET" if recorded.cluster() == "%2A" => {
                assert_eq!(answer.status, 200, "{what}");
                assert_eq!(body["resources"].as_array().map(Vec::len), Some(1), "{what}");
                assert_eq!(body["resources"][0]["verbs"], json!(["create"]), "{what}");
            }
            _ if recorded.names_an_object() => {
                assert_eq!(answer.status, 404, "{what}");
                assert_eq!(
                    body["message"], "the server could not find the requested resource",
                    "{what}"
                );
            }
            "GET" => {
                assert_eq!(answer.status, 200, "{what}");
                assert_eq!((&body["kind"], &body["rows"]), (&json!("Table"), &json!([])), "{what}");
            }
            "POST" => {
                assert_eq!(answer.status, 201, "{what}");
                assert_eq!(body["status"]["objects"], 3, "{what}");
                let review = provider.webhook.recorded().pop().expect("a review").json();
                the_caller_arrives_whole(&recorded, &review["request"]);
            }
            method => panic!("{method} was not recorded"),
        }
    }
}

/// Name, groups in their order, and every extra with its values as they were: a warrant is JSON with commas in it.
fn the_caller_arrives_whole(recorded: &Recorded, request: &Value) {
    let user = &request["userInfo"];
    assert_eq!(request["cluster"], recorded.cluster());
    assert_eq!(json!([user["username"]]), json!(recorded.values("x-remote-user")));
    assert_eq!(user["groups"], json!(recorded.values("x-remote-group")));
    let known = [
        (
            "Authentication.kcp.io%2fcluster-Name",
            "authentication.kcp.io/cluster-name",
        ),
        ("Authentication.kcp.io%2fscopes", "authentication.kcp.io/scopes"),
        (
            "Authentication.kubernetes.io%2fcredential-Id",
            "authentication.kubernetes.io/credential-id",
        ),
        ("Authorization.kcp.io%2fwarrant", "authorization.kcp.io/warrant"),
    ];
    let sent = known.map(|(header, extra)| (extra, recorded.values(&format!("X-Remote-Extra-{header}"))));
    let sent: serde_json::Map<String, Value> = sent
        .into_iter()
        .filter(|(_, values)| !values.is_empty())
        .map(|(extra, values)| (extra.to_owned(), json!(values)))
        .collect();
    let extra = user.get("extra").cloned().unwrap_or_else(|| json!({}));
    assert_eq!(extra, Value::Object(sent));
}
