//! What a real API server answered to creates, asked of this server over HTTPS with an echoing webhook.
//!
//! `CREATE_VECTORS` names another folder of the same format to run instead of the copies in `tests/vectors/create`.

mod compare;
mod denied;
mod differences;
mod reviews;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ephemeral_testing::client::{Answer, Connection};
use http::{Method, Request};

use crate::support::Dev;
use crate::support::resources::{Provider, Resource};
use crate::support::vectors::{Case, Category, Schema};
use compare::compare;
use differences::{Expected, expected};

#[tokio::test]
async fn schema_validation() {
    replay("schema-validation").await;
}

#[tokio::test]
async fn pruning() {
    replay("pruning").await;
}

#[tokio::test]
async fn defaulting() {
    replay("defaulting").await;
}

#[tokio::test]
async fn metadata() {
    replay("metadata").await;
}

#[tokio::test]
async fn typemeta_and_body() {
    replay("typemeta-and-body").await;
}

#[tokio::test]
async fn field_validation() {
    replay("field-validation").await;
}

#[tokio::test]
async fn query_options() {
    replay("query-options").await;
}

#[tokio::test]
async fn negotiation() {
    replay("negotiation").await;
}

#[tokio::test]
async fn review_verbs() {
    replay("review-verbs").await;
}

#[tokio::test]
async fn cel() {
    replay("cel").await;
}

/// Runs all cases of a category and fails with everything that differs.
async fn replay(category: &str) {
    let Some(Category { schemas, cases }) = Category::read(category) else {
        crate::support::skipped(&format!("no vectors of the category {category}"));
        return;
    };
    let provider = Provider::echoing().await;
    let exports = Exports::nominate(&provider, &schemas);
    let manifests = provider.directory().to_str().expect("a path");
    let dev = Dev::start(&["--manifests", manifests, "--no-sample-webhook"]).await;

    let mut report = String::new();
    for case in &cases {
        let (reason, expected) = expected(case);
        if matches!(expected, Expected::Skipped) {
            continue;
        }
        let answer = match ask(&dev, exports.base(case), case).await {
            Ok(answer) => answer,
            Err(error) => {
                let _ = writeln!(report, "\n{}: no answer: {error:#}", case.name);
                continue;
            }
        };
        let faults = compare(case, &expected, &answer);
        if !faults.is_empty() {
            let _ = writeln!(report, "\n{} ({reason}):\n  {}", case.name, faults.join("\n  "));
        }
    }
    if !report.is_empty() {
        let (_, log) = dev.end("-TERM").await;
        panic!(
            "{} cases of {category}, these differ:{report}
log:
{log}",
            cases.len()
        );
    }
}

/// Where the resources of a category are served, by the id of a schema.
struct Exports(BTreeMap<String, String>);

impl Exports {
    /// The resources of one group and version share an export, as on the recorded server, unless two of them share a
    /// name: then each is a provider's own. The built-in reviews have an export too.
    fn nominate(provider: &Provider, schemas: &BTreeMap<String, Schema>) -> Self {
        let resources: BTreeMap<_, _> = schemas.iter().map(|(id, schema)| (id, schema.resource())).collect();
        let names: BTreeSet<_> = resources.values().map(Resource::full_name).collect();
        let together = names.len() == resources.len();
        let mut bases = BTreeMap::new();
        let mut exports: BTreeMap<(String, String), Vec<Resource>> = BTreeMap::new();
        for (id, resource) in resources {
            let cluster = if together {
                "provider".to_owned()
            } else {
                format!("provider-{id}")
            };
            let export = resource.group.clone();
            bases.insert(id.clone(), base(&cluster, &export));
            exports.entry((cluster, export)).or_default().push(resource);
        }
        for ((cluster, export), resources) in &exports {
            provider.nominate_export(cluster, export, resources);
        }
        provider.nominate_export("reviews", "reviews", &reviews::resources());
        Self(bases)
    }

    fn base(&self, case: &Case) -> String {
        match &case.schema {
            Some(id) => self.0[id].clone(),
            None => base("reviews", "reviews"),
        }
    }
}

fn base(cluster: &str, export: &str) -> String {
    format!("/services/ephemeral/{cluster}/{export}/clusters/consumer")
}

async fn ask(dev: &Dev, base: String, case: &Case) -> anyhow::Result<Answer> {
    let client = match &*case.caller {
        "anonymous" | "bad-token" => dev.anonymous(),
        _ => dev.client("user"),
    };
    let mut connection: Connection = client.connect().await?;
    let query = if case.request.query.is_empty() {
        String::new()
    } else {
        format!("?{}", case.request.query)
    };
    let mut request = Request::builder()
        .method(Method::from_bytes(case.request.method.as_bytes())?)
        .uri(format!("{base}{}{query}", case.request.path));
    for (name, value) in &case.request.headers {
        request = request.header(name, value);
    }
    if case.caller == "bad-token" {
        request = request.header("authorization", "Bearer nobody");
    }
    connection.send(request.body(case.request.body().into())?).await
}
