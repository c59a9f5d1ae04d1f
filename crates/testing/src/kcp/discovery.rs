//! Discovery and OpenAPI of a logical cluster, enough for kubectl.

use std::collections::BTreeSet;

use http::{HeaderValue, Response, StatusCode};
use serde_json::{Value, json};

use super::Shared;
use super::failure::Failure;
use super::forward;
use super::resource::{Resource, Storage};
use super::scope::Scope;
use super::server::{self, Body, Call};

const VERBS: [&str; 7] = ["create", "delete", "get", "list", "patch", "update", "watch"];

/// Serves a discovery document.
pub(super) async fn serve(
    shared: &Shared,
    scope: &Scope,
    call: &Call,
    segments: &[&str],
) -> Result<Response<Body>, Failure> {
    let cluster = scope.cluster().ok_or_else(Failure::no_resource)?;
    let resources = shared.world().resources(cluster);
    let in_version = |group: &str, version: &str| -> Vec<Resource> {
        let fits = |resource: &&Resource| resource.group == group && resource.version == version;
        resources.iter().filter(fits).cloned().collect()
    };
    let document = match segments {
        ["api"] => json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}),
        ["apis"] => {
            let groups: BTreeSet<_> = resources.iter().map(|resource| resource.group.as_str()).collect();
            let groups = groups.into_iter().filter(|group| !group.is_empty());
            let groups: Vec<_> = groups.map(|group| api_group(group, &resources)).collect();
            json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        }
        ["apis", group] if resources.iter().any(|resource| resource.group == *group) => {
            let mut document = api_group(group, &resources);
            document["kind"] = "APIGroup".into();
            document["apiVersion"] = "v1".into();
            document
        }
        ["api", version] => return Ok(resource_list(shared, scope, version, in_version("", version)).await),
        ["apis", group, version] if !in_version(group, version).is_empty() => {
            let group_version = format!("{group}/{version}");
            return Ok(resource_list(shared, scope, &group_version, in_version(group, version)).await);
        }
        ["openapi", "v3"] => paths(&resources),
        ["openapi", "v3", "api", version] => openapi(&in_version("", version)),
        ["openapi", "v3", "apis", group, version] => openapi(&in_version(group, version)),
        _ => return Err(Failure::no_resource()),
    };
    debug_assert_eq!(call.method, http::Method::GET);
    Ok(server::json(StatusCode::OK, &document))
}

fn api_group(group: &str, resources: &[Resource]) -> Value {
    let versions: BTreeSet<_> = resources
        .iter()
        .filter(|r| r.group == group)
        .map(|r| r.version.as_str())
        .collect();
    let versions: Vec<_> = versions
        .into_iter()
        .map(|version| json!({"groupVersion": format!("{group}/{version}"), "version": version}))
        .collect();
    json!({"name": group, "versions": versions, "preferredVersion": versions.first()})
}

/// The verbs of a virtual resource are what its endpoint says; one that cannot say is left out, with a warning.
async fn resource_list(
    shared: &Shared,
    scope: &Scope,
    group_version: &str,
    resources: Vec<Resource>,
) -> Response<Body> {
    let mut listed = Vec::new();
    let mut missing = Vec::new();
    for resource in resources {
        let verbs = match resource.storage {
            Storage::Shard => json!(VERBS),
            Storage::Review => json!(["create"]),
            Storage::Virtual => {
                let Some(verbs) = forward::verbs(shared, scope, &resource).await else {
                    missing.push(resource.plural);
                    continue;
                };
                verbs
            }
        };
        listed.push(json!({
            "name": resource.plural, "singularName": resource.kind.to_lowercase(), "kind": resource.kind,
            "namespaced": resource.namespaced, "verbs": verbs,
        }));
        if resource.storage == Storage::Shard && resource.has_status() {
            listed.push(json!({
                "name": format!("{}/status", resource.plural), "singularName": "", "kind": resource.kind,
                "namespaced": resource.namespaced, "verbs": ["get", "patch", "update"],
            }));
        }
    }
    let list = json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": listed,
    });
    let mut response = server::json(StatusCode::OK, &list);
    if !missing.is_empty() {
        let warning = format!(
            "299 - \"Some resources are temporarily unavailable: {}.\"",
            missing.join(", ")
        );
        let warning = HeaderValue::from_str(&warning).expect("names");
        response.headers_mut().insert(http::header::WARNING, warning);
    }
    response
}

fn paths(resources: &[Resource]) -> Value {
    let versions: BTreeSet<_> = resources.iter().map(path_of).collect();
    let paths: serde_json::Map<_, _> = versions
        .into_iter()
        .map(|path| {
            (
                path.clone(),
                json!({"serverRelativeURL": format!("/openapi/v3/{path}")}),
            )
        })
        .collect();
    json!({"paths": paths})
}

fn path_of(resource: &Resource) -> String {
    match resource.group.as_str() {
        "" => format!("api/{}", resource.version),
        group => format!("apis/{group}/{}", resource.version),
    }
}

/// kcp documents a virtual resource as it documents a stored one, with PATCH, whatever its endpoint serves.
fn openapi(resources: &[Resource]) -> Value {
    let mut document = json!({
        "openapi": "3.0.0", "info": {"title": "kcp", "version": "v1"}, "paths": {}, "components": {"schemas": {}},
    });
    for resource in resources {
        let kind = json!({"group": resource.group, "version": resource.version, "kind": resource.kind});
        let namespace = if resource.namespaced {
            "namespaces/{namespace}/"
        } else {
            ""
        };
        let path = format!("/{}/{namespace}{}/{{name}}", path_of(resource), resource.plural);
        let parameters: Vec<_> = ["dryRun", "fieldManager", "fieldValidation"]
            .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string"}}))
            .into();
        document["paths"][path] = json!({"patch": {
            "parameters": parameters, "responses": {}, "x-kubernetes-action": "patch", "x-kubernetes-group-version-kind": kind,
        }});
        let mut schema = resource.schema.clone();
        schema["x-kubernetes-group-version-kind"] = json!([kind]);
        let name = format!("{}.{}.{}", resource.group, resource.version, resource.kind);
        document["components"]["schemas"][name] = schema;
    }
    document
}
