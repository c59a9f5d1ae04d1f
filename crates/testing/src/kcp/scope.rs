//! What a request sees: a workspace, or the virtual workspace of an APIExport on one shard.

use super::controllers;
use super::rbac::{Question, User};
use super::resource::{self, APIS, Resource, Storage};
use super::store::Key;
use super::world::{World, text};

/// Where a request went.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub(super) shard: usize,
    pub(super) view: View,
}

/// Through what it looks at the shard.
#[derive(Clone, Debug)]
pub(super) enum View {
    /// `/clusters/<cluster>`.
    Workspace { cluster: String },
    /// `/services/apiexport/<provider>/<export>/clusters/<cluster>`, or `*` for all.
    Export {
        provider: String,
        export: String,
        cluster: Option<String>,
    },
}

impl Scope {
    /// The one logical cluster that is written to.
    pub(super) fn cluster(&self) -> Option<&str> {
        match &self.view {
            View::Workspace { cluster } => Some(cluster),
            View::Export { cluster, .. } => cluster.as_deref(),
        }
    }

    /// A resource that is served here.
    ///
    /// A virtual workspace of an APIExport has what the export stores, what it claims, and the bindings to it.
    pub(super) fn resource(&self, world: &World, group: &str, version: &str, plural: &str) -> Option<Resource> {
        let fits = |r: &Resource| r.group == group && r.version == version && r.plural == plural;
        let View::Export { provider, export, .. } = &self.view else {
            return world.resource(self.cluster()?, group, version, plural);
        };
        let object = world.apis(provider, "apiexports", export)?;
        if (group, plural) == (APIS, "apibindings") {
            return Some(controllers::own(plural)).filter(fits);
        }
        let mut claims = object["spec"]["permissionClaims"].as_array().into_iter().flatten();
        if claims.any(|claim| text(&claim["group"]) == group && text(&claim["resource"]) == plural) {
            return resource::own().into_iter().find(fits);
        }
        let resources = object["spec"]["resources"].as_array().into_iter().flatten();
        let stored = resources.filter(|resource| resource["storage"].get("virtual").is_none());
        let schemas =
            stored.filter_map(|resource| world.apis(provider, "apiresourceschemas", text(&resource["schema"])));
        schemas
            .flat_map(|schema| resource::of_schema(schema, Storage::Shard))
            .find(fits)
    }

    /// Whether the shard serves a resource that it has a path for.
    ///
    /// What an export stores, a shard serves from the first binding on. Until then its virtual workspace answers with a
    /// list that has no metadata, and a watch in which nothing ever happens.
    pub(super) fn serves(&self, world: &World, resource: &Resource) -> bool {
        match &self.view {
            View::Workspace { .. } => true,
            View::Export { provider, export, .. } => {
                resource.group == APIS || !world.bound_clusters(self.shard, provider, export).is_empty()
            }
        }
    }

    /// Whether an object is seen here.
    pub(super) fn sees(&self, world: &World, key: &Key) -> bool {
        let View::Export {
            provider,
            export,
            cluster,
        } = &self.view
        else {
            return self.cluster() == Some(&key.cluster);
        };
        if cluster.as_ref().is_some_and(|cluster| *cluster != key.cluster) || !world.is_at(&key.cluster, self.shard) {
            return false;
        }
        let Some(binding) = world.binding_to(&key.cluster, provider, export) else {
            return false;
        };
        if key.group != APIS {
            return true;
        }
        if key.plural == "apibindings" {
            return text(&binding["metadata"]["name"]) == key.name;
        }
        let mut accepted = binding["status"]["appliedPermissionClaims"]
            .as_array()
            .into_iter()
            .flatten();
        accepted.any(|claim| text(&claim["group"]) == key.group && text(&claim["resource"]) == key.plural)
    }

    /// What has to be allowed. For a virtual workspace that is the verb on the content of its export.
    pub(super) fn question(&self, user: &User, verb: &str, resource: &str, key: &Key) -> Question {
        let (cluster, group, resource, name) = match &self.view {
            View::Workspace { cluster } => (cluster, key.group.as_str(), resource, key.name.as_str()),
            View::Export { provider, export, .. } => (provider, APIS, "apiexports/content", export.as_str()),
        };
        Question {
            user: user.clone(),
            cluster: cluster.clone(),
            verb: verb.to_owned(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            namespace: key.namespace.clone(),
            name: name.to_owned(),
        }
    }
}
