//! The parts of ObjectMeta that are read.

use std::sync::Arc;

use structural_schema::Value;

use super::fields::Fields;
use crate::problem::FieldInvalid;

/// What identifies an object and its age.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ObjectMeta {
    /// The logical cluster, from the annotation `kcp.io/cluster`.
    pub cluster: Arc<str>,
    /// The name.
    pub name: Arc<str>,
    /// The uid; empty in manifests.
    pub uid: Arc<str>,
    /// The resource version; empty in manifests. Means something only within one shard.
    pub resource_version: Arc<str>,
    /// Counts changes of the spec; 0 in manifests.
    pub generation: i64,
    /// RFC 3339 in UTC, so that text order is time order; `None` in most manifests, which counts as oldest.
    pub creation_timestamp: Option<Arc<str>>,
    /// The path of the workspace, from the annotation `kcp.io/path`; not every object has it.
    pub path: Option<Arc<str>>,
}

impl ObjectMeta {
    pub(super) fn decode(metadata: Fields<'_>, default_cluster: Option<&str>) -> Result<Self, FieldInvalid> {
        let annotations = metadata.at("annotations");
        let text = |key| Arc::from(metadata.str(key).unwrap_or_default());
        let cluster = annotations
            .str("kcp.io/cluster")
            .filter(|cluster| !cluster.is_empty())
            .or(default_cluster)
            .ok_or(FieldInvalid {
                field: "metadata.annotations[kcp.io/cluster]",
                must: "the name of a logical cluster",
            })?;
        Ok(Self {
            cluster: cluster.into(),
            name: metadata.required("name", "metadata.name")?.into(),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            generation: metadata.get("generation").and_then(Value::as_int).unwrap_or_default(),
            creation_timestamp: metadata.str("creationTimestamp").map(Arc::from),
            path: annotations.str("kcp.io/path").map(Arc::from),
        })
    }
}
