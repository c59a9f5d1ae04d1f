//! What follows custom resources beyond what the vectors have: lists, deprecated versions, documents without their
//! bodies. The answers are those that Kubernetes' handlers were seen to give.

use ephemeral_testing::client::request;
use http::Method;
use serde_json::{Value, json};

use crate::support::Dev;
use crate::support::resources::{Provider, Resource};

const PATH: &str = "/clusters/consumer/apis/cases.example.org/v1/namespaces/demo/samples";
const QUESTION: &str = r#"{"apiVersion": "cases.example.org/v1", "kind": "Sample", "spec": {"color": "red"}}"#;

/// A server with one resource, with further fields of its version, and who provides it.
async fn served(further: Value) -> (Dev, Provider) {
    let text = json!({"type": "string"});
    let spec = json!({"type": "object", "properties": {"color": text, "size": text}});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let provider = Provider::echoing().await;
    let resource = Resource {
        further,
        ..Resource::sample(schema)
    };
    provider.nominate("provider", &resource);
    let manifests = provider.directory().to_str().expect("a path").to_owned();
    let dev = Dev::start(&["--manifests", &manifests, "--no-sample-webhook"]).await;
    (dev, provider)
}

#[tokio::test]
async fn a_list_is_judged_by_its_options_as_one_of_custom_resources_is() {
    let further = json!({"selectableFields": [{"jsonPath": ".spec.color"}]});
    let (dev, _provider) = served(further).await;
    let client = dev.client("user");
    for query in [
        "labelSelector=a%3Db,c+in+(d)&fieldSelector=metadata.name%3Dx&limit=500&resourceVersion=0",
        "fieldSelector=spec.color%3Dred,metadata.namespace!%3Dy",
    ] {
        let answer = client.get(&format!("{PATH}?{query}")).await.expect("an answer");
        assert_eq!(
            (answer.status.as_u16(), &answer.json::<Value>()["items"]),
            (200, &json!([])),
            "{query}"
        );
    }
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    for (query, headers, message) in [
        (
            "labelSelector=a+b",
            &[][..],
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
        ),
        (
            "fieldSelector=spec.size%3D1",
            &[],
            "field label not supported: spec.size",
        ),
        (
            "resourceVersion=x",
            &[],
            "invalid resource version: resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid \
             syntax",
        ),
        (
            "continue=x",
            &[],
            "invalid continue token: continue key is not valid: illegal base64 data at input byte 0",
        ),
        (
            "timeout=x",
            &[],
            "invalid timeout specified in the request URL - time: invalid duration \"x\"",
        ),
        (
            "includeObject=x",
            &table,
            "Unable to convert to Table as requested: includeObject: Invalid value: \"x\": must be 'Metadata', 'Object', \
             'None', or empty",
        ),
    ] {
        let asked = request(Method::GET, &format!("{PATH}?{query}"), headers, "").expect("a request");
        let answer = client.send(asked).await.expect("an answer");
        let body = answer.json::<Value>();
        assert_eq!(
            (answer.status.as_u16(), &body["reason"]),
            (400, &json!("BadRequest")),
            "{query}: {body}"
        );
        assert_eq!(body["message"], message, "{query}");
    }
}

#[tokio::test]
async fn a_table_that_cannot_be_made_is_refused_after_the_object_and_before_anybody_is_asked() {
    let (dev, provider) = served(Value::Null).await;
    let client = dev.client("user");
    let path = format!("{PATH}?includeObject=x");
    for (body, status) in [(QUESTION, 400), (&*QUESTION.replace("\"red\"", "1"), 422)] {
        let headers = [
            ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io"),
            ("content-type", "application/json"),
        ];
        let answer = client.post(&path, &headers, body.to_owned()).await.expect("an answer");
        assert_eq!(answer.status, status, "{}", answer.text());
    }
    assert!(provider.webhook.recorded().is_empty());
}

#[tokio::test]
async fn whoever_uses_a_deprecated_version_is_warned() {
    let further = json!({"deprecated": true, "deprecationWarning": "v1 is going away"});
    let (dev, _provider) = served(further).await;
    let client = dev.client("user");
    for (method, body) in [
        (Method::POST, QUESTION),
        (Method::POST, "{"),
        (Method::GET, ""),
        (Method::DELETE, ""),
    ] {
        let asked = request(method.clone(), PATH, &[], body).expect("a request");
        let answer = client.send(asked).await.expect("an answer");
        assert_eq!(
            answer.header_values("warning"),
            [r#"299 - "v1 is going away""#],
            "{method}: {}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn lists_and_openapi_are_had_without_their_bodies_and_discovery_is_not() {
    let (dev, _provider) = served(Value::Null).await;
    let client = dev.client("user");
    for (path, status) in [
        ("/openapi/v2", 200),
        ("/openapi/v3", 200),
        ("/openapi/v3/apis/cases.example.org/v1", 200),
        ("/apis/cases.example.org/v1/namespaces/demo/samples", 200),
        ("/apis", 405),
        ("/apis/cases.example.org/v1", 405),
    ] {
        let path = format!("/clusters/consumer{path}");
        let whole = client.get(&path).await.expect("an answer");
        let asked = request(Method::HEAD, &path, &[], "").expect("a request");
        let answer = client.send(asked).await.expect("an answer");
        assert_eq!(answer.status, status, "{path}");
        assert!(answer.body.is_empty(), "{path}");
        if status == 200 {
            for header in ["etag", "content-type", "vary"] {
                assert_eq!(answer.header_values(header), whole.header_values(header), "{path}");
            }
            assert_eq!(
                answer.header_values("content-length"),
                [whole.body.len().to_string()],
                "{path}"
            );
        }
    }
}
