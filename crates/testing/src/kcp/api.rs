//! Which part of kcp a path leads to.

use std::sync::Arc;

use http::{Response, StatusCode};
use percent_encoding::percent_decode_str;
use serde_json::json;

use super::Shared;
use super::failure::Failure;
use super::rbac::SYSTEM_ADMIN;
use super::scope::{Scope, View};
use super::server::{self, Body, Call};
use super::{discovery, objects};

/// Through which door a request came.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entry {
    /// The front-proxy: every logical cluster, by name or path.
    Front,
    /// One shard: its own logical clusters by name, and its virtual workspaces.
    Shard(usize),
}

/// Serves a request.
pub(super) async fn serve(shared: Arc<Shared>, entry: Entry, call: Call) -> Result<Response<Body>, Failure> {
    if matches!(call.path.as_str(), "/livez" | "/readyz" | "/healthz") {
        return Ok(server::bytes(StatusCode::OK, "text/plain", "ok"));
    }
    let (scope, rest) = looked_at(&shared, entry, &call.path)?;
    if matches!(entry, Entry::Front) && shared.is_away(scope.shard) {
        return Ok(server::bytes(StatusCode::BAD_GATEWAY, "text/plain", ""));
    }
    let segments: Vec<&str> = rest.split('/').filter(|segment| !segment.is_empty()).collect();
    match segments.as_slice() {
        ["version"] => Ok(server::json(
            StatusCode::OK,
            &json!({"major": "1", "minor": "37", "gitVersion": "v1.37.0+kcp"}),
        )),
        ["api" | "apis"] | ["api" | "apis", _] | ["apis", _, _] | ["openapi", ..] => {
            discovery::serve(&shared, &scope, &call, &segments).await
        }
        ["api", version, path @ ..] => objects::serve(shared.clone(), scope, &call, ("", version), path, rest).await,
        ["apis", group, version, path @ ..] => {
            objects::serve(shared.clone(), scope, &call, (group, version), path, rest).await
        }
        _ => Err(Failure::no_resource()),
    }
}

/// What a path looks at, and the rest of the path.
fn looked_at<'a>(kcp: &Shared, entry: Entry, path: &'a str) -> Result<(Scope, &'a str), Failure> {
    let world = kcp.world();
    if let Some(rest) = path.strip_prefix("/clusters/") {
        let (name, rest) = first(rest);
        let name = decode(name);
        let denied = || Failure::forbidden("access denied: LogicalCluster not found");
        let shard = match entry {
            Entry::Shard(at) if world.is_at(&name, at) => at,
            Entry::Shard(_) => return Err(denied()),
            Entry::Front => world
                .cluster(&name)
                .and_then(|name| world.shard_of(name))
                .ok_or_else(denied)?,
        };
        let cluster = world.cluster(&name).unwrap_or(SYSTEM_ADMIN).to_owned();
        return Ok((
            Scope {
                shard,
                view: View::Workspace { cluster },
            },
            rest,
        ));
    }
    let (Some(rest), Entry::Shard(shard)) = (path.strip_prefix("/services/apiexport/"), entry) else {
        return Err(Failure::no_resource());
    };
    let (provider, rest) = first(rest);
    let (export, rest) = first(&rest[rest.len().min(1)..]);
    let rest = rest.strip_prefix("/clusters/").ok_or_else(Failure::no_resource)?;
    let (cluster, rest) = first(rest);
    let cluster = decode(cluster);
    if world.apis(provider, "apiexports", export).is_none() {
        return Err(Failure::no_resource());
    }
    let view = View::Export {
        provider: provider.to_owned(),
        export: export.to_owned(),
        cluster: (cluster != "*").then_some(cluster),
    };
    Ok((Scope { shard, view }, rest))
}

/// The first segment, and the rest with its slash.
fn first(path: &str) -> (&str, &str) {
    path.find('/').map_or((path, ""), |slash| path.split_at(slash))
}

fn decode(segment: &str) -> String {
    percent_decode_str(segment).decode_utf8_lossy().into_owned()
}
