//! A create whose webhook answers with what it is told to: one resource, nominated as by an operator's manifests.

use std::sync::Arc;

use bytes::Bytes;
use ephemeral_apiserver::Webhook;
use ephemeral_apiserver::create::{Create, Heavy, Means};
use ephemeral_apiserver::flow::{Flow, FlowConfig};
use ephemeral_apiserver::identity::{Caller, Via};
use ephemeral_apiserver::warning::Warnings;
use ephemeral_apiserver::webhook::{Call, CallError, Handle, Snapshot};
use ephemeral_index::{EndpointFactory, EndpointInput, EndpointProblem, Event, Index, Source, manifests};
use futures::future::{BoxFuture, FutureExt as _};
use http::Request;
use http_body_util::Full;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::time::Instant;

/// Stands in an answer for the uid of its review, which is new each time.
pub(crate) const UID: &str = "00000000-0000-4000-8000-000000000000";

/// What is asked.
const QUESTION: &str = r#"{"apiVersion": "a.example.org/v1", "kind": "A", "metadata": {"name": "n", "labels": {"a": "b"}},
    "spec": {"x": [1, 2.0], "s": ["a"]}}"#;

const MANIFESTS: &str = r#"
apiVersion: apis.kcp.io/v1alpha1
kind: APIResourceSchema
metadata: {name: v1.as.a.example.org, annotations: {kcp.io/cluster: provider}}
spec:
  group: a.example.org
  names: {kind: A, listKind: AList, plural: as, singular: a}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      type: object
      required: [status]
      properties:
        spec:
          type: object
          properties:
            x: {x-kubernetes-preserve-unknown-fields: true}
            s: {type: array, x-kubernetes-list-type: set, items: {type: string, maxLength: 9}}
        status:
          type: object
          properties:
            n: {type: integer, default: 3}
            at: {type: string, format: date-time}
            e: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
            p: {x-kubernetes-int-or-string: true}
            m: {type: object, additionalProperties: {type: string, enum: [a, b], nullable: true}}
          x-kubernetes-validations: [{rule: "!has(self.n) || self.n < 1000"}]
---
apiVersion: apis.kcp.io/v1alpha2
kind: APIExport
metadata: {name: a.example.org, annotations: {kcp.io/cluster: provider}}
spec:
  resources:
  - {group: a.example.org, name: as, schema: v1.as.a.example.org, storage: {virtual: {reference: {kind: APIExportEndpointSlice, name: a.example.org.ephemeral, apiGroup: apis.kcp.io}}}}
---
apiVersion: ephemeral.contrib.kcp.io/v1alpha1
kind: EphemeralWebhook
metadata: {name: as.a.example.org, annotations: {kcp.io/cluster: provider}}
spec: {export: a.example.org, group: a.example.org, resource: as, url: "https://webhook.example.org/as"}
"#;

/// All that a create needs besides the answer.
pub struct Server {
    runtime: Runtime,
    snapshot: Arc<Snapshot>,
    means: Means,
    caller: Caller,
    webhook: Arc<Canned>,
}

impl Server {
    /// A server with one resource.
    pub fn new() -> Self {
        let webhook = Arc::new(Canned::default());
        let mut index = Index::new(Factory(Arc::clone(&webhook)), None);
        let objects = manifests::parse(MANIFESTS).expect("manifests");
        let sources = Event::Sources([Source::Manifests].into());
        let read = manifests::events(objects);
        let snapshot = index.apply(std::iter::once(sources).chain(read)).snapshot;
        let flow = FlowConfig {
            rate: None,
            ..FlowConfig::default()
        };
        Self {
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .expect("a runtime"),
            snapshot,
            means: Means {
                flow: Arc::new(Flow::new(flow)),
                heavy: Arc::new(Heavy::new(1)),
            },
            caller: Caller {
                user: Arc::default(),
                via: Via::Direct,
            },
            webhook,
        }
    }

    /// Asks, and has the webhook answer with `answer`; the object that the consumer gets, if it gets one.
    pub fn create(&self, answer: &[u8]) -> Option<structural_schema::Map> {
        self.webhook.answer_with(answer);
        let exports = self.snapshot.exports().next().expect("an export");
        let nomination = exports.resources.first().expect("a nomination");
        let create = Create {
            caller: &self.caller,
            consumer: "consumer",
            nomination,
            resource: Arc::clone(nomination.schema.as_ref().expect("a schema")),
            version: "v1",
            namespace: None,
            received: Instant::now(),
            trace_parent: None,
        };
        let request = Request::post("/").header("content-type", "application/json");
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        let body = Full::new(Bytes::from_static(QUESTION.as_bytes()));
        let mut warnings = Warnings::new();
        let created = create.run(&self.means, &parts, body, &mut warnings);
        let created = self.runtime.block_on(created);
        warnings.write(&mut http::HeaderMap::new());
        match created {
            Ok(answered) => Some(answered.object),
            Err(fault) => {
                assert!(!fault.to_string().is_empty(), "a refusal without words");
                None
            }
        }
    }
}

/// Makes every endpoint the one webhook.
struct Factory(Arc<Canned>);

impl EndpointFactory for Factory {
    type Handle = Handle;

    fn make(&self, _: &EndpointInput<'_>) -> Result<Handle, EndpointProblem> {
        Ok(Arc::clone(&self.0) as Handle)
    }
}

/// A webhook that gives the answer that it was told to.
#[derive(Default)]
struct Canned(std::sync::Mutex<Vec<u8>>);

impl Canned {
    fn answer_with(&self, answer: &[u8]) {
        *self.0.lock().expect("no call panics") = answer.to_vec();
    }
}

impl Webhook for Canned {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Bytes, CallError>> {
        let review: Value = serde_json::from_slice(&call.body).expect("a review is JSON");
        let uid = review["request"]["uid"].as_str().expect("a review has a uid");
        let answer = self.0.lock().expect("no call panics");
        let answer = replace(&answer, UID.as_bytes(), uid.as_bytes());
        async { Ok(Bytes::from(answer)) }.boxed()
    }
}

/// Puts one text in the place of another of the same length.
fn replace(within: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut replaced = within.to_vec();
    let mut at = 0;
    while at + from.len() <= replaced.len() {
        if replaced[at..].starts_with(from) {
            replaced[at..at + to.len()].copy_from_slice(to);
        }
        at += 1;
    }
    replaced
}
