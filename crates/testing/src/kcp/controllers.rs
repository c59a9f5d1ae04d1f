//! kcp's controllers, as far as anything here depends on them: they run to the end after every write.

use serde_json::{Value, json};

use super::rbac::SYSTEM_ADMIN;
use super::resource::{self, Resource};
use super::store::{Change, Key, Write};
use super::world::{World, apis_key, text};

/// More rounds than any chain of controllers is long.
const ROUNDS: usize = 5;

/// Runs all controllers.
pub(super) fn run(world: &mut World) {
    for _ in 0..ROUNDS {
        let before: Vec<_> = world.shards.iter().map(|shard| shard.store.revision()).collect();
        exports(world);
        if world.bindings_follow {
            bindings(world);
        }
        slices(world);
        if world.shards.iter().map(|shard| shard.store.revision()).eq(before) {
            return;
        }
    }
}

/// Each APIExport gets an identity and the slice that has its name.
fn exports(world: &mut World) {
    for (shard, key, _) in world.all("apiexports") {
        let status = json!({"identityHash": identity_hash(&key)});
        set_status(world, shard, &key, &status);
        let slice = apis_key(&key.cluster, "apiexportendpointslices", &key.name);
        let path = world
            .workspaces
            .get(&key.cluster)
            .map(|workspace| workspace.path.clone());
        let spec = json!({"spec": {"export": {"path": path, "name": key.name}}});
        let write = Write {
            manager: "kcp".to_owned(),
            subresource: "",
            change: Change::Create(spec),
        };
        // It exists but for the first time.
        let _ = world.write_alone(shard, &slice, &own("apiexportendpointslices"), write);
    }
}

fn identity_hash(export: &Key) -> String {
    format!("identity-of-{}-{}", export.cluster, export.name)
}

/// The export that a reference names, and its logical cluster. An empty path is the own workspace.
fn referred(world: &World, own: &str, reference: &Value) -> Option<(String, Value)> {
    let path = text(&reference["path"]);
    let cluster = world.cluster(if path.is_empty() { own } else { path })?;
    let export = world.apis(cluster, "apiexports", text(&reference["name"]))?;
    Some((cluster.to_owned(), export.clone()))
}

/// Each APIBinding says what it is bound to. Virtual resources have no storage versions.
fn bindings(world: &mut World) {
    for (shard, key, binding) in world.all("apibindings") {
        let export = referred(world, &key.cluster, &binding["spec"]["reference"]["export"]);
        let status = export.and_then(|(cluster, export)| bound(world, &cluster, &export, &binding));
        let status = match status {
            Some(status) => status,
            // What was bound once stays bound when the export goes.
            None if binding["status"]["phase"] == "Bound" => continue,
            None => json!({"phase": "Binding"}),
        };
        set_status(world, shard, &key, &status);
    }
}

fn bound(world: &World, cluster: &str, export: &Value, binding: &Value) -> Option<Value> {
    let mut resources = Vec::new();
    for resource in export["spec"]["resources"].as_array().into_iter().flatten() {
        let schema = world.apis(cluster, "apiresourceschemas", text(&resource["schema"]))?;
        let is_virtual = resource["storage"].get("virtual").is_some();
        let versions = schema["spec"]["versions"].as_array().into_iter().flatten();
        let stored: Vec<_> = versions
            .filter(|version| version["storage"] == true)
            .map(|v| &v["name"])
            .collect();
        resources.push(json!({
            "group": schema["spec"]["group"],
            "resource": schema["spec"]["names"]["plural"],
            "schema": {
                "name": schema["metadata"]["name"],
                "UID": schema["metadata"]["uid"],
                "identityHash": export["status"]["identityHash"],
            },
            "storageVersions": if is_virtual { json!([]) } else { json!(stored) },
        }));
    }
    let claims = binding["spec"]["permissionClaims"].as_array().into_iter().flatten();
    let accepted: Vec<_> = claims.filter(|claim| claim["state"] == "Accepted").collect();
    Some(json!({
        "phase": "Bound",
        "apiExportClusterName": cluster,
        "boundResources": resources,
        "exportPermissionClaims": export["spec"].get("permissionClaims").cloned().unwrap_or(json!([])),
        "appliedPermissionClaims": accepted,
    }))
}

/// Every slice gets the virtual-workspace URL of every shard on which somebody is bound to its export, by server-side
/// apply under the shard's name.
fn slices(world: &mut World) {
    for (shard, key, slice) in world.all("apiexportendpointslices") {
        let Some((cluster, export)) = referred(world, &key.cluster, &slice["spec"]["export"]) else {
            continue;
        };
        let export = text(&export["metadata"]["name"]).to_owned();
        for at in 0..world.shards.len() {
            let of = &world.shards[at];
            let url = format!("{}/services/apiexport/{cluster}/{export}", of.url);
            let manager = of.name.clone();
            let consumers = !world.bound_clusters(at, &cluster, &export).is_empty();
            let endpoints = slice["status"]["endpoints"].as_array().into_iter().flatten();
            let listed = endpoints.into_iter().any(|endpoint| endpoint["url"] == *url);
            if consumers == listed {
                continue;
            }
            let entry = json!({"url": url});
            let status = if consumers {
                json!({"endpoints": [entry]})
            } else {
                json!({})
            };
            let write = Write {
                manager,
                subresource: "status",
                change: Change::Apply {
                    config: json!({"status": status}),
                    force: true,
                },
            };
            let written = world.write_alone(shard, &key, &own("apiexportendpointslices"), write);
            written.expect("the slice is there");
        }
    }
}

fn set_status(world: &mut World, shard: usize, key: &Key, status: &Value) {
    debug_assert_ne!(key.cluster, SYSTEM_ADMIN, "nothing is exported from there");
    let write = Write {
        manager: "kcp".to_owned(),
        subresource: "status",
        change: Change::Merge(json!({"status": status})),
    };
    let written = world.write_alone(shard, key, &own(&key.plural), write);
    written.expect("the object is there");
}

/// One of kcp's own resources.
pub(super) fn own(plural: &str) -> Resource {
    let mut resources = resource::own().into_iter();
    resources
        .find(|resource| resource.plural == plural)
        .expect("one of kcp's own")
}
