//! Discovery one document at a time: `/api`, `/apis`, `/apis/<group>`, `/apis/<group>/<version>`.
//!
//! The types are those of `metav1`, their fields in Go's order.

use ephemeral_index::Scope;
use serde::Serialize;

use super::catalog::{Catalog, Group, GroupVersion};
use super::{VERBS, arcs};
use crate::respond::Document;

/// `/api`.
pub(super) fn legacy_group(legacy: &Catalog, server_address: Option<&str>) -> Document {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct ApiVersions<'a> {
        kind: &'static str,
        versions: Vec<&'a str>,
        #[serde(rename = "serverAddressByClientCIDRs")]
        server_addresses: Vec<ServerAddress<'a>>,
    }
    let versions = legacy.groups.iter().flat_map(|group| &group.versions);
    Document::new(&ApiVersions {
        kind: "APIVersions",
        versions: versions.map(|version| &*version.name).collect(),
        server_addresses: ServerAddress::list(server_address),
    })
}

/// `/apis`.
pub(super) fn groups(catalog: &Catalog, server_address: Option<&str>) -> Document {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct ApiGroupList<'a> {
        kind: &'static str,
        api_version: &'static str,
        groups: Vec<ApiGroup<'a>>,
    }
    let groups = catalog
        .groups
        .iter()
        .map(|group| ApiGroup::new(group, None, server_address))
        .collect();
    Document::new(&ApiGroupList {
        kind: "APIGroupList",
        api_version: "v1",
        groups,
    })
}

/// `/apis/<group>`.
pub(super) fn group(group: &Group) -> Document {
    Document::new(&ApiGroup::new(
        group,
        Some(Type {
            kind: "APIGroup",
            api_version: "v1",
        }),
        None,
    ))
}

/// `/apis/<group>/<version>`. The status subresource is not there: nothing is stored that it could be a part of.
pub(super) fn resources(group: &Group, version: &GroupVersion) -> Document {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct ApiResourceList<'a> {
        kind: &'static str,
        api_version: &'static str,
        group_version: String,
        resources: Vec<ApiResource<'a>>,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct ApiResource<'a> {
        name: &'a str,
        singular_name: &'a str,
        namespaced: bool,
        kind: &'a str,
        verbs: [&'static str; 1],
        #[serde(skip_serializing_if = "Vec::is_empty")]
        short_names: Vec<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        categories: Vec<&'a str>,
    }
    let resources = version.resources.iter().map(|resource| {
        let names = &resource.schema.names;
        ApiResource {
            name: &names.plural,
            singular_name: &names.singular,
            namespaced: resource.schema.scope == Scope::Namespaced,
            kind: &names.kind,
            verbs: VERBS,
            short_names: arcs(&names.short_names),
            categories: arcs(&names.categories),
        }
    });
    Document::new(&ApiResourceList {
        kind: "APIResourceList",
        api_version: "v1",
        group_version: group_version(&group.name, &version.name),
        resources: resources.collect(),
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Type {
    kind: &'static str,
    api_version: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ApiGroup<'a> {
    /// Not in a list.
    #[serde(flatten)]
    own_type: Option<Type>,
    name: &'a str,
    versions: Vec<GroupVersionForDiscovery<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preferred_version: Option<GroupVersionForDiscovery<'a>>,
    #[serde(rename = "serverAddressByClientCIDRs", skip_serializing_if = "Vec::is_empty")]
    server_addresses: Vec<ServerAddress<'a>>,
}

impl<'a> ApiGroup<'a> {
    fn new(group: &'a Group, own_type: Option<Type>, server_address: Option<&'a str>) -> Self {
        let version = |version: &'a GroupVersion| GroupVersionForDiscovery {
            group_version: group_version(&group.name, &version.name),
            version: &version.name,
        };
        Self {
            own_type,
            name: &group.name,
            versions: group.versions.iter().map(version).collect(),
            preferred_version: group.preferred().map(version),
            server_addresses: ServerAddress::list(server_address),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupVersionForDiscovery<'a> {
    group_version: String,
    version: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerAddress<'a> {
    #[serde(rename = "clientCIDR")]
    client_cidr: &'static str,
    server_address: &'a str,
}

impl<'a> ServerAddress<'a> {
    /// One address for everybody, if it is known.
    fn list(server_address: Option<&'a str>) -> Vec<Self> {
        server_address
            .map(|server_address| Self {
                client_cidr: "0.0.0.0/0",
                server_address,
            })
            .into_iter()
            .collect()
    }
}

fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}
