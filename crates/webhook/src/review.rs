use std::collections::BTreeMap;
use std::sync::Arc;

use ephemeral_review::{CreateOptions, Export, GroupVersionKind, GroupVersionResource, Request};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{Caller, Denied};

/// One question of one consumer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Review<Spec> {
    /// Identifies this one call; good for logs.
    pub uid: String,
    /// Who asks.
    pub caller: Caller,
    /// The export through which the question came; one of those that the webhook serves.
    pub export: Export,
    /// The resource that is asked for.
    pub resource: GroupVersionResource,
    /// The kind of the object.
    pub kind: GroupVersionKind,
    /// The namespace; none for a cluster-scoped resource.
    pub namespace: Option<String>,
    /// The name of the object; none where the consumer gave none, since a question needs none.
    pub name: Option<String>,
    /// The labels of the object.
    pub labels: BTreeMap<String, String>,
    /// The annotations of the object.
    pub annotations: BTreeMap<String, String>,
    /// Whether the consumer asked for a dry run: the answer then must have no side effect.
    pub dry_run: bool,
    /// The options of the create.
    pub options: CreateOptions,
    /// The question. An object without a spec is read as one with an empty spec.
    pub spec: Spec,
    object: Arc<Map<String, Value>>,
}

impl<Spec> Review<Spec> {
    /// The consumer's logical cluster, by name.
    pub fn cluster(&self) -> &str {
        self.caller.cluster()
    }

    /// The whole object as it was submitted, pruned and defaulted.
    pub fn object(&self) -> &Map<String, Value> {
        &self.object
    }

    pub(crate) fn shared_object(&self) -> Arc<Map<String, Value>> {
        Arc::clone(&self.object)
    }
}

impl<Spec: DeserializeOwned> Review<Spec> {
    /// Reads the object of a request. What does not fit the types here is denied as invalid: the webhook is stricter
    /// than the schema, and the consumer learns which field it is.
    pub(crate) fn new(request: Request<Map<String, Value>>) -> Result<Self, Denied> {
        let Request {
            uid,
            cluster,
            export,
            resource,
            kind,
            namespace,
            name,
            user_info,
            dry_run,
            options,
            object,
        } = request;
        let spec = member(&object, "spec")?;
        let Metadata { labels, annotations } = member(&object, "metadata")?;
        Ok(Self {
            uid,
            caller: Caller::new(cluster, user_info),
            export,
            resource,
            kind,
            namespace: Some(namespace).filter(|namespace| !namespace.is_empty()),
            name: Some(name).filter(|name| !name.is_empty()),
            labels: labels.unwrap_or_default(),
            annotations: annotations.unwrap_or_default(),
            dry_run,
            options,
            spec,
            object: Arc::new(object),
        })
    }
}

/// Reads a member of the object, an absent one as if it were empty.
fn member<T: DeserializeOwned>(object: &Map<String, Value>, name: &str) -> Result<T, Denied> {
    let read = match object.get(name) {
        Some(value) => T::deserialize(value),
        None => T::deserialize(Value::Object(Map::new())),
    };
    read.map_err(|error| Denied::invalid(name, error))
}

#[derive(Deserialize)]
struct Metadata {
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
}
