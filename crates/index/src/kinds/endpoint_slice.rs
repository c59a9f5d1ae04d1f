//! APIExportEndpointSlice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use structural_schema::Value;

use super::fields::Fields;
use super::meta::ObjectMeta;

/// An APIExportEndpointSlice: the URLs under which an APIExport is served.
#[derive(Clone, Debug, PartialEq)]
pub struct APIExportEndpointSlice {
    /// Metadata.
    pub meta: ObjectMeta,
    /// The path or logical cluster of the export's workspace; empty for the slice's own.
    pub export_path: Arc<str>,
    /// The name of the export.
    pub export: Arc<str>,
    /// `status.endpoints`, those that have a URL.
    pub endpoints: Vec<Endpoint>,
}

/// One entry of `status.endpoints`.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    /// The URL, the key of the list.
    pub url: Arc<str>,
    /// The shards that the URL serves; kcp's own entries leave it out and are matched by prefix.
    pub shards: Option<ShardSelection>,
    /// The field managers that own the entry.
    pub managers: BTreeSet<Arc<str>>,
}

/// Which shards an endpoint serves.
#[derive(Clone, Debug, PartialEq)]
pub enum ShardSelection {
    /// Every shard.
    MatchAll,
    /// The shards whose labels match, a `LabelSelector`.
    Selector(Value),
}

impl APIExportEndpointSlice {
    pub(super) fn decode(meta: ObjectMeta, value: &Value) -> Self {
        let object = Fields::of(value);
        let export = object.at("spec").at("export");
        let owners = owners_of_urls(object.at("metadata"));
        Self {
            meta,
            export_path: export.str("path").unwrap_or_default().into(),
            export: export.str("name").unwrap_or_default().into(),
            endpoints: object
                .at("status")
                .items("endpoints")
                .filter_map(|endpoint| Endpoint::decode(Fields::of(endpoint), &owners))
                .collect(),
        }
    }
}

impl Endpoint {
    fn decode(endpoint: Fields<'_>, owners: &BTreeMap<String, BTreeSet<Arc<str>>>) -> Option<Self> {
        let url = endpoint.str("url")?;
        let shards = endpoint.at("shards");
        Some(Self {
            url: url.into(),
            shards: match shards.get("selector") {
                Some(selector) => Some(ShardSelection::Selector(selector.clone())),
                None => shards.bool("matchAll").then_some(ShardSelection::MatchAll),
            },
            managers: owners.get(url).cloned().unwrap_or_default(),
        })
    }
}

/// The managers of each URL, by `metadata.managedFields`: there an item of a list keyed by `url` is the field
/// `k:{"url":"…"}`.
fn owners_of_urls(metadata: Fields<'_>) -> BTreeMap<String, BTreeSet<Arc<str>>> {
    #[derive(Deserialize)]
    struct Key {
        url: String,
    }
    let mut owners = BTreeMap::<_, BTreeSet<Arc<str>>>::new();
    for entry in metadata.items("managedFields").map(Fields::of) {
        let Some(manager) = entry.str("manager") else { continue };
        let endpoints = entry.at("fieldsV1").at("f:status").at("f:endpoints");
        for (field, _) in endpoints.entries() {
            let key = field.strip_prefix("k:").map(serde_json::from_str::<Key>);
            if let Some(Ok(key)) = key {
                owners.entry(key.url).or_default().insert(manager.into());
            }
        }
    }
    owners
}
