//! Objects, sources and an endpoint factory that counts, for all tests of the index.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "helpers of tests, and not every test uses all of them"
)]

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

use ephemeral_index::kinds::{Kind, Object, ShardSelection, WebhookStatus};
use ephemeral_index::{
    EndpointFactory, EndpointInput, EndpointProblem, Event, Index, Nomination, ObjectRef, Publisher, SliceReading,
    Snapshot, Source, Update,
};
use serde_json::{Value, json};

pub(crate) const NOW: &str = "2026-06-01T00:00:00Z";

/// A handle that says what it was made of, and as which one.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    pub(crate) number: usize,
    pub(crate) url: String,
}

/// Makes handles and counts; the URL says how it goes.
#[derive(Clone, Default)]
pub(crate) struct Factory {
    pub(crate) made: Rc<Cell<usize>>,
    pub(crate) clock_is_past_expiry: Rc<Cell<bool>>,
}

impl EndpointFactory for Factory {
    type Handle = Handle;

    fn make(&self, endpoint: &EndpointInput<'_>) -> Result<Handle, EndpointProblem> {
        self.made.set(self.made.get() + 1);
        match (endpoint.url, endpoint.ca_bundle) {
            (url, _) if !url.starts_with("https://") => Err(EndpointProblem::UrlInvalid),
            (url, _) if url.contains("//127.0.0.1") => Err(EndpointProblem::UrlRefused),
            (_, Some("hollow")) => Err(EndpointProblem::CaBundleInvalid),
            (_, Some("expiring")) if self.clock_is_past_expiry.get() => Err(EndpointProblem::CaBundleExpired),
            (url, _) => Ok(Handle {
                number: self.made.get(),
                url: url.to_owned(),
            }),
        }
    }
}

/// An index under test.
pub(crate) struct World {
    pub(crate) index: Index<Factory>,
    pub(crate) factory: Factory,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with_publisher(Some(publisher()))
    }

    pub(crate) fn with_publisher(publisher: Option<Publisher>) -> Self {
        let factory = Factory::default();
        Self {
            index: Index::new(factory.clone(), publisher),
            factory,
        }
    }

    /// One that has been told that `shard("a")` is all there is and was read to its end.
    pub(crate) fn complete() -> Self {
        let mut world = Self::new();
        world.apply([Event::Sources([shard("a")].into()), Event::Complete(shard("a"))]);
        world
    }

    pub(crate) fn apply(&mut self, events: impl IntoIterator<Item = Event>) -> Update<Handle> {
        self.index.apply(events)
    }

    pub(crate) fn snapshot(&mut self) -> Arc<Snapshot<Handle>> {
        self.apply([]).snapshot
    }

    /// The status that an EphemeralWebhook should have.
    pub(crate) fn status(&self, cluster: &str, name: &str) -> WebhookStatus {
        self.index
            .statuses()
            .find(|status| &*status.meta().cluster == cluster && &*status.meta().name == name)
            .and_then(|status| status.to_write(NOW, None))
            .expect("a status that is to be written")
    }

    /// `status` and `reason` of a condition of an EphemeralWebhook.
    pub(crate) fn condition(&self, name: &str, condition: &str) -> (&'static str, String) {
        let status = self.status("c", name);
        let condition = status
            .conditions
            .iter()
            .find(|found| &*found.condition_type == condition)
            .expect("the condition");
        (condition.status.as_str(), condition.reason.to_string())
    }
}

pub(crate) fn publisher() -> Publisher {
    Publisher {
        name: "kcp-ephemeral".into(),
        external_url: "https://vw.example.org:6443".into(),
        shards: ShardSelection::MatchAll,
    }
}

pub(crate) fn shard(name: &str) -> Source {
    Source::Shard(name.into())
}

pub(crate) fn object(value: Value) -> Object {
    Object::decode(serde_json::from_value(value).unwrap(), None).unwrap()
}

pub(crate) fn apply(source: &Source, value: Value) -> Event {
    Event::Apply(source.clone(), Box::new(object(value)))
}

pub(crate) fn delete(source: &Source, kind: Kind, cluster: &str, name: &str) -> Event {
    let object = ObjectRef {
        kind,
        cluster: cluster.into(),
        name: name.into(),
    };
    Event::Delete(source.clone(), object)
}

pub(crate) fn slice_found(value: Value) -> Event {
    let Object::Slice(slice) = object(value) else {
        panic!("not a slice")
    };
    Event::Slice {
        cluster: slice.meta.cluster.clone(),
        name: slice.meta.name.clone(),
        reading: SliceReading::Found(Box::new(slice)),
    }
}

fn metadata(cluster: &str, name: &str) -> Value {
    json!({
        "name": name, "uid": format!("{cluster}/{name}"), "resourceVersion": "1", "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z", "annotations": {"kcp.io/cluster": cluster},
    })
}

/// An EphemeralWebhook for a resource of export `e` in group `g.io`.
pub(crate) fn webhook(cluster: &str, name: &str, resource: &str) -> Value {
    json!({
        "apiVersion": "ephemeral.contrib.kcp.io/v1alpha1", "kind": "EphemeralWebhook",
        "metadata": metadata(cluster, name),
        "spec": {"export": "e", "group": "g.io", "resource": resource, "url": format!("https://{name}.example.org/")},
    })
}

/// An APIExport `name` of resources in group `g.io`, each with the schema `v1.<resource>.g.io` and the slice
/// `<name>.ephemeral`.
pub(crate) fn export(cluster: &str, name: &str, resources: &[&str]) -> Value {
    let resources: Vec<_> = resources
        .iter()
        .map(|resource| {
            json!({
                "name": resource, "group": "g.io", "schema": format!("v1.{resource}.g.io"),
                "storage": {"virtual": {
                    "reference": {
                        "apiGroup": "apis.kcp.io", "kind": "APIExportEndpointSlice", "name": format!("{name}.ephemeral"),
                    },
                    "identityHash": "x",
                }},
            })
        })
        .collect();
    json!({
        "apiVersion": "apis.kcp.io/v1alpha2", "kind": "APIExport",
        "metadata": metadata(cluster, name), "spec": {"resources": resources},
    })
}

/// The APIResourceSchema `<version>.<resource>.g.io`.
pub(crate) fn schema(cluster: &str, version: &str, resource: &str) -> Value {
    json!({
        "apiVersion": "apis.kcp.io/v1alpha1", "kind": "APIResourceSchema",
        "metadata": metadata(cluster, &format!("{version}.{resource}.g.io")),
        "spec": {
            "group": "g.io", "scope": "Namespaced", "names": {"kind": "Thing", "plural": resource},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"type": "object", "description": format!("{version} of {resource}"), "properties": {
                    "spec": {"type": "object", "properties": {"q": {"type": "string"}}},
                }},
            }],
        },
    })
}

/// The slice `<export>.ephemeral`, with these entries of `status.endpoints`.
pub(crate) fn slice(cluster: &str, export: &str, endpoints: &Value) -> Value {
    json!({
        "apiVersion": "apis.kcp.io/v1alpha1", "kind": "APIExportEndpointSlice",
        "metadata": metadata(cluster, &format!("{export}.ephemeral")),
        "spec": {"export": {"path": "", "name": export}},
        "status": {"endpoints": endpoints},
    })
}

/// Gives the entries of a slice to a field manager.
pub(crate) fn owned(mut slice: Value, manager: &str) -> Value {
    let keys: serde_json::Map<_, _> = slice["status"]["endpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|endpoint| {
            (
                format!("k:{}", json!({"url": endpoint["url"]})),
                json!({".": {}, "f:url": {}}),
            )
        })
        .collect();
    slice["metadata"]["managedFields"] = json!([{
        "manager": manager, "operation": "Apply", "subresource": "status",
        "fieldsV1": {"f:status": {"f:endpoints": keys}},
    }]);
    slice
}

/// Everything that a working nomination of `things` needs, in logical cluster `cluster`.
pub(crate) fn nomination(source: &Source, cluster: &str) -> Vec<Event> {
    vec![
        apply(source, schema(cluster, "v1", "things")),
        apply(source, export(cluster, "e", &["things"])),
        apply(source, webhook(cluster, "w", "things")),
    ]
}

pub(crate) fn find<'a>(snapshot: &'a Snapshot<Handle>, cluster: &str, resource: &str) -> &'a Nomination<Handle> {
    snapshot
        .find(cluster, "e")
        .and_then(|export| export.nomination("g.io", resource))
        .expect("a nomination")
}

/// All that a snapshot says, in a fixed order; handles by what they were made of.
pub(crate) fn render(snapshot: &Snapshot<Handle>) -> String {
    let mut lines = BTreeSet::new();
    for export in snapshot.exports() {
        for nomination in &export.resources {
            let state = nomination
                .state
                .as_ref()
                .map(|usable| (&usable.handle.url, usable.timeout));
            let schema = nomination.schema.as_ref().map(|schema| &schema.name);
            lines.insert(format!(
                "{}/{}/{}.{} by {}: {schema:?} {state:?}",
                export.cluster, export.name, nomination.resource, nomination.group, nomination.webhook_name
            ));
            if let Ok(schema) = &nomination.schema {
                let known = snapshot.schema(&export.cluster, &schema.name).expect("the schema");
                assert!(Arc::ptr_eq(known, schema), "one schema in two forms");
            }
        }
    }
    for (subject, problem) in snapshot.problems() {
        lines.insert(format!("{subject}: {}", problem.reason()));
    }
    let mut text = format!("{} nominations, complete: {}\n", snapshot.len(), snapshot.is_complete());
    for line in lines {
        writeln!(text, "{line}").unwrap();
    }
    text
}
