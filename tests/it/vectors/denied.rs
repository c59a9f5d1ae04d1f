//! What callers were told whom kcp denies: asked as a shard asks for them, on a kcp where they have no role.

use ephemeral_testing::client::Answer;
use http::{Method, Request};

use crate::support::installation::{GROUP, Installation};
use crate::support::vectors::{Case, Category};

/// The recorded resources, in the place of which there is one here.
const RESOURCES: [&str; 3] = ["rvclusters", "rvs", "subjectaccessreviews"];
const GROUPS: [&str; 2] = ["vec.example.com", "authorization.k8s.io"];

/// Why a case of a denied caller is not asked.
fn skipped(case: &Case) -> Option<&'static str> {
    match &*case.name {
        "no-rbac-ssar-create" => Some("everyone may ask about themselves; here RBAC decides on every create"),
        "no-rbac-unknown-resource" | "no-access-unknown-resource" => {
            Some("what is unknown is 404: there is no nomination to be authorized for")
        }
        "no-access-discovery" => Some("a shard asks for discovery on its own behalf"),
        _ => None,
    }
}

#[tokio::test]
async fn callers_are_denied_in_the_recorded_words() {
    let Some(Category { cases, .. }) = Category::read("review-verbs") else {
        crate::support::skipped("no vectors of the category review-verbs");
        return;
    };
    let installation = Installation::start().await;
    let consumer = &installation.consumers[1];
    installation.create_until(consumer, 201).await;
    let mut asked = 0;
    for case in cases.iter().filter(|case| case.caller.starts_with("user-")) {
        if skipped(case).is_some() {
            continue;
        }
        let answer = ask(&installation, consumer, case).await;
        let expected = &case.response;
        assert_eq!(answer.status, expected.status, "{}: {}", case.name, answer.text());
        for (name, value) in &expected.headers {
            assert_eq!(answer.header_values(name), [value], "{}: {name}", case.name);
        }
        assert_eq!(
            answer.header_values("content-type").first().copied(),
            expected.content_type.as_deref(),
            "{}",
            case.name
        );
        // A body in YAML was kept as a text; where its lines break depends on the length of names.
        if let Some(yaml) = expected.body.as_str() {
            assert_eq!(unfolded(&answer.text()), unfolded(&transposed(yaml)), "{}", case.name);
        } else {
            let body: serde_json::Value = answer.json();
            let expected = transposed(&expected.body.to_string());
            assert_eq!(body.to_string(), expected, "{}", case.name);
        }
        asked += 1;
    }
    assert!(asked > 8, "{asked} cases of denied callers");
}

async fn ask(installation: &Installation, consumer: &str, case: &Case) -> Answer {
    let user = match &*case.caller {
        "user-without-workspace-access" => "mallory",
        _ => "alice",
    };
    let endpoint = format!(
        "/services/ephemeral/{}/{GROUP}/clusters/{consumer}",
        installation.provider
    );
    let path = transposed(&case.request.path).replace("/v1/", "/v1alpha1/");
    let mut request = Request::builder()
        .method(Method::from_bytes(case.request.method.as_bytes()).expect("a method"))
        .uri(format!("{endpoint}{path}"))
        .header("x-remote-user", user)
        .header("x-remote-group", "system:authenticated");
    for (name, value) in &case.request.headers {
        request = request.header(name, value);
    }
    let request = request.body(case.request.body().into()).expect("a request");
    let shard = installation.server().with_identity(installation.kcp.shard_identity(1));
    shard.send(request).await.expect("an answer")
}

/// A text with the names of the resource that is here.
fn transposed(text: &str) -> String {
    let mut text = text.to_owned();
    for resource in RESOURCES {
        text = text.replace(resource, "bucketinfos");
    }
    for group in GROUPS {
        text = text.replace(group, GROUP);
    }
    text
}

fn unfolded(yaml: &str) -> String {
    yaml.replace("\n  ", " ")
}
