//! Discovery in one document: `APIGroupDiscoveryList`, versions `v2` and `v2beta1`, which differ in nothing else.

use ephemeral_index::Scope;
use http::HeaderValue;
use serde::Serialize;

use super::catalog::{Catalog, Group, GroupVersion, Resource};
use super::{VERBS, arcs};
use crate::negotiate::DiscoveryVersion;
use crate::respond::{Document, etag};

/// The list in both versions, with the tag that clients cache it under.
#[derive(Debug)]
pub(super) struct Aggregated {
    v2: Document,
    v2beta1: Document,
    pub(super) etag: HeaderValue,
}

impl Aggregated {
    pub(super) fn new(catalog: &Catalog) -> Self {
        let v2 = document(catalog, "apidiscovery.k8s.io/v2");
        // As Kubernetes, one tag for all forms: `Vary: Accept` keeps them apart.
        let etag = etag(v2.json());
        Self {
            v2,
            v2beta1: document(catalog, "apidiscovery.k8s.io/v2beta1"),
            etag,
        }
    }

    pub(super) fn version(&self, version: DiscoveryVersion) -> &Document {
        match version {
            DiscoveryVersion::V2 => &self.v2,
            DiscoveryVersion::V2beta1 => &self.v2beta1,
        }
    }
}

fn document(catalog: &Catalog, api_version: &'static str) -> Document {
    Document::new(&GroupDiscoveryList {
        kind: "APIGroupDiscoveryList",
        api_version,
        metadata: Empty {},
        items: catalog.groups.iter().map(GroupDiscovery::new).collect(),
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupDiscoveryList<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: Empty,
    items: Vec<GroupDiscovery<'a>>,
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
struct GroupDiscovery<'a> {
    metadata: Metadata<'a>,
    versions: Vec<VersionDiscovery<'a>>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
}

#[derive(Serialize)]
struct VersionDiscovery<'a> {
    version: &'a str,
    resources: Vec<ResourceDiscovery<'a>>,
    freshness: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceDiscovery<'a> {
    resource: &'a str,
    response_kind: GroupVersionKind<'a>,
    scope: &'static str,
    singular_resource: &'a str,
    verbs: [&'static str; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    short_names: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    categories: Vec<&'a str>,
}

#[derive(Serialize)]
struct GroupVersionKind<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

impl<'a> GroupDiscovery<'a> {
    fn new(group: &'a Group) -> Self {
        Self {
            metadata: Metadata { name: &group.name },
            versions: group
                .versions
                .iter()
                .map(|version| VersionDiscovery::new(group, version))
                .collect(),
        }
    }
}

impl<'a> VersionDiscovery<'a> {
    fn new(group: &'a Group, version: &'a GroupVersion) -> Self {
        let resource = |resource: &'a Resource| {
            let names = &resource.schema.names;
            ResourceDiscovery {
                resource: &names.plural,
                response_kind: GroupVersionKind {
                    group: &group.name,
                    version: &version.name,
                    kind: &names.kind,
                },
                scope: match resource.schema.scope {
                    Scope::Namespaced => "Namespaced",
                    Scope::Cluster => "Cluster",
                },
                singular_resource: &names.singular,
                verbs: VERBS,
                short_names: arcs(&names.short_names),
                categories: arcs(&names.categories),
            }
        };
        Self {
            version: &version.name,
            resources: version.resources.iter().map(resource).collect(),
            freshness: "Current",
        }
    }
}
