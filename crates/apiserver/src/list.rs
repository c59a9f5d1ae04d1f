//! The list of objects of a resource, of which there are none.

use ephemeral_index::{ResourceSchema, Version};
use serde::Serialize;
use structural_schema::{Map, Value};

/// `metav1.ListMeta`.
#[derive(Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListMeta {
    #[serde(skip_serializing_if = "str::is_empty")]
    resource_version: &'static str,
}

impl ListMeta {
    /// Of a list of nothing. What never changes has one version; clients refuse 0 and none.
    pub(crate) const EMPTY: Self = Self { resource_version: "1" };
}

/// The list as an object, with the keys that a list of custom resources has.
pub(crate) fn empty(schema: &ResourceSchema, version: &Version) -> Value {
    let metadata: Map = [("continue", ""), ("resourceVersion", ListMeta::EMPTY.resource_version)]
        .into_iter()
        .collect();
    let list: Map = [
        ("apiVersion", Value::from(format!("{}/{}", schema.group, version.name))),
        ("items", Value::from(Vec::new())),
        ("kind", Value::from(&*schema.names.list_kind)),
        ("metadata", metadata.into()),
    ]
    .into_iter()
    .collect();
    list.into()
}
