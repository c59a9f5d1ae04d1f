//! Everything that the shards know together: their stores, the logical clusters, and what was asked of them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::controllers;
use super::endpoints::Labels;
use super::failure::Failure;
use super::rbac::{self, Question, SYSTEM_ADMIN};
use super::resource::{self, APIS, Resource, Storage};
use super::store::{Key, Store, Write};

/// A shard.
pub(super) struct Shard {
    pub(super) name: String,
    pub(super) labels: Labels,
    /// Where it and its virtual workspaces are reached.
    pub(super) url: String,
    pub(super) store: Store,
}

/// A logical cluster.
pub(super) struct Workspace {
    pub(super) path: String,
    pub(super) shard: usize,
}

/// A write that somebody asked for through the API, whether or not it changed anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Who.
    pub user: String,
    /// The field manager.
    pub manager: String,
    /// `create`, `update`, `patch` or `delete`.
    pub verb: String,
    /// The logical cluster.
    pub cluster: String,
    /// The resource, with the subresource after a slash.
    pub resource: String,
    /// The name.
    pub name: String,
}

/// What a test's policy decides; `None` leaves it to RBAC.
pub(super) type Policy = dyn Fn(&Question) -> Option<bool> + Send + Sync;

/// The state of the installation.
pub(super) struct World {
    pub(super) shards: Vec<Shard>,
    pub(super) workspaces: BTreeMap<String, Workspace>,
    pub(super) policy: Box<Policy>,
    pub(super) asked: Vec<Asked>,
    pub(super) reviews: Vec<Question>,
    /// Whether the controllers of APIBindings follow their exports.
    pub(super) bindings_follow: bool,
    uids: u64,
}

impl World {
    pub(super) fn new(shards: Vec<Shard>) -> Self {
        Self {
            shards,
            workspaces: BTreeMap::new(),
            policy: Box::new(|_| None),
            asked: Vec::new(),
            reviews: Vec::new(),
            bindings_follow: true,
            uids: 0,
        }
    }

    /// The logical cluster of a name or a path.
    pub(super) fn cluster(&self, name_or_path: &str) -> Option<&str> {
        let mut workspaces = self.workspaces.iter();
        let found = workspaces.find(|(name, workspace)| *name == name_or_path || workspace.path == name_or_path);
        found.map(|(name, _)| name.as_str())
    }

    pub(super) fn shard_of(&self, cluster: &str) -> Option<usize> {
        self.workspaces.get(cluster).map(|workspace| workspace.shard)
    }

    pub(super) fn store_of(&self, cluster: &str) -> Option<&Store> {
        self.shard_of(cluster).map(|shard| &self.shards[shard].store)
    }

    /// One of kcp's own objects.
    pub(super) fn apis(&self, cluster: &str, plural: &str, name: &str) -> Option<&Value> {
        self.store_of(cluster)?.get(&apis_key(cluster, plural, name))
    }

    /// Every object of a kind of kcp's own, with its shard.
    pub(super) fn all(&self, plural: &str) -> Vec<(usize, Key, Value)> {
        let shards = self.shards.iter().enumerate();
        let objects =
            shards.flat_map(|(at, shard)| shard.store.of(APIS, plural).map(move |(key, object)| (at, key, object)));
        objects
            .map(|(at, key, object)| (at, key.clone(), object.clone()))
            .collect()
    }

    /// The resources of a logical cluster.
    pub(super) fn resources(&self, cluster: &str) -> Vec<Resource> {
        let mut resources = resource::own();
        for binding in self.bindings(cluster) {
            let provider = text(&binding["status"]["apiExportClusterName"]);
            for bound in binding["status"]["boundResources"].as_array().into_iter().flatten() {
                let stored = bound["storageVersions"]
                    .as_array()
                    .is_some_and(|versions| !versions.is_empty());
                let storage = if stored { Storage::Shard } else { Storage::Virtual };
                let schema = self.apis(provider, "apiresourceschemas", text(&bound["schema"]["name"]));
                resources.extend(
                    schema
                        .into_iter()
                        .flat_map(|schema| resource::of_schema(schema, storage)),
                );
            }
        }
        resources
    }

    pub(super) fn resource(&self, cluster: &str, group: &str, version: &str, plural: &str) -> Option<Resource> {
        let mut resources = self.resources(cluster).into_iter();
        resources.find(|r| r.group == group && r.version == version && r.plural == plural)
    }

    /// The APIBindings of a logical cluster.
    pub(super) fn bindings(&self, cluster: &str) -> impl Iterator<Item = &Value> {
        let bindings = self
            .store_of(cluster)
            .into_iter()
            .flat_map(|store| store.of(APIS, "apibindings"));
        bindings
            .filter(move |(key, _)| key.cluster == cluster)
            .map(|(_, binding)| binding)
    }

    /// The binding of a logical cluster to an export.
    pub(super) fn binding_to(&self, cluster: &str, provider: &str, export: &str) -> Option<&Value> {
        self.bindings(cluster).find(|binding| {
            text(&binding["status"]["apiExportClusterName"]) == provider
                && text(&binding["spec"]["reference"]["export"]["name"]) == export
        })
    }

    /// The logical clusters of a shard that are bound to an export.
    pub(super) fn bound_clusters(&self, shard: usize, provider: &str, export: &str) -> Vec<&str> {
        let clusters = self.workspaces.iter().filter(|(_, workspace)| workspace.shard == shard);
        let clusters = clusters.map(|(name, _)| name.as_str());
        clusters
            .filter(|cluster| self.binding_to(cluster, provider, export).is_some())
            .collect()
    }

    /// Whether somebody may, by the test's policy or by RBAC. Rights to the content of an export are those in its own
    /// workspace, on whatever shard its virtual workspace is asked.
    pub(super) fn allows(&self, shard: usize, question: &Question) -> bool {
        let shard = self.shard_of(&question.cluster).unwrap_or(shard);
        (self.policy)(question).unwrap_or_else(|| rbac::allowed(&self.shards[shard].store, question))
    }

    /// Carries out a write, then lets the controllers do their work.
    pub(super) fn write(
        &mut self,
        shard: usize,
        key: &Key,
        resource: &Resource,
        write: Write,
    ) -> Result<Value, Failure> {
        self.write_alone(shard, key, resource, write)?;
        controllers::run(self);
        let written = self.shards[shard].store.get(key);
        Ok(written.cloned().unwrap_or_default())
    }

    /// Carries out a write of a controller.
    pub(super) fn write_alone(
        &mut self,
        shard: usize,
        key: &Key,
        resource: &Resource,
        mut write: Write,
    ) -> Result<Value, Failure> {
        self.uids += 1;
        let uid = format!("00000000-0000-4000-8000-{:012}", self.uids);
        if let (super::store::Change::Create(object), "apiexports") = (&mut write.change, key.plural.as_str())
            && let Some(workspace) = self.workspaces.get(&key.cluster)
        {
            object["metadata"]["annotations"]["kcp.io/path"] = workspace.path.clone().into();
        }
        self.shards[shard].store.write(key, resource, write, &uid)
    }

    pub(super) fn delete(&mut self, shard: usize, key: &Key) -> bool {
        let deleted = self.shards[shard].store.delete(key).is_some();
        controllers::run(self);
        deleted
    }

    /// Moves a logical cluster to another shard: there it appears before it is gone here.
    pub(super) fn move_workspace(&mut self, cluster: &str, to: usize) {
        let workspace = self.workspaces.get_mut(cluster).expect("a logical cluster");
        let from = std::mem::replace(&mut workspace.shard, to);
        for (key, stored) in self.shards[from].store.of_cluster(cluster) {
            self.shards[to].store.take_in(key.clone(), stored);
            self.shards[from].store.delete(&key);
        }
        controllers::run(self);
    }

    /// The store of a cluster at a shard that was asked directly.
    pub(super) fn is_at(&self, cluster: &str, shard: usize) -> bool {
        cluster == SYSTEM_ADMIN || self.shard_of(cluster) == Some(shard)
    }
}

/// The key of one of kcp's own objects.
pub(super) fn apis_key(cluster: &str, plural: &str, name: &str) -> Key {
    Key {
        group: APIS.to_owned(),
        plural: plural.to_owned(),
        cluster: cluster.to_owned(),
        namespace: String::new(),
        name: name.to_owned(),
    }
}

/// A string, empty where there is none.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A list as the API returns it.
pub(super) fn list(resource: &Resource, revision: u64, items: &[Value]) -> Value {
    json!({
        "apiVersion": resource.api_version(),
        "kind": format!("{}List", resource.kind),
        "metadata": {"resourceVersion": revision.to_string()},
        "items": items,
    })
}
