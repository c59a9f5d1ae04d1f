//! Virtual resources: what a shard does with a request for a resource that it does not store.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::Shared;
use super::endpoints::{self, Target};
use super::failure::Failure;
use super::rbac::User;
use super::resource::{APIS, Resource};
use super::scope::{Scope, View};
use super::server::{self, Body, Call};
use super::world::{World, text};
use crate::client::{Answer, Client};

const HOPS: &str = "x-kcp-virtual-resource-hops";
/// Where kcp itself gives up.
const MAX_HOPS: u32 = 4;
const WARRANT: &str = "authorization.kcp.io/warrant";

/// What is not forwarded: the credentials, what belongs to the connection, and what a reverse proxy of Go's strips.
const STRIPPED: &[&str] = &[
    "authorization",
    "connection",
    "content-length",
    "forwarded",
    "host",
    "te",
    "transfer-encoding",
    "upgrade",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
];

/// Go's `url.PathEscape`.
const PATH_SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// Sends a consumer's request to the endpoint of the resource and returns the answer.
pub(super) async fn request(
    shared: &Shared,
    scope: &Scope,
    resource: &Resource,
    call: &Call,
    rest: &str,
) -> Result<Response<Body>, Failure> {
    let qualified = format!("{}.{}", resource.plural, resource.group);
    let hops = hops(&call.headers);
    if hops >= MAX_HOPS {
        return Err(Failure::internal(&format!(
            "request for {qualified} has been forwarded {hops} times without being served: the virtual workspace advertised \
             for it delegates it back to this shard"
        )));
    }
    let target = {
        let world = shared.world();
        let cluster = scope.cluster().ok_or_else(Failure::method_not_allowed)?;
        let endpoint = endpoint(&world, scope.shard, cluster, resource)?;
        // A version of the path with the query, as `r.URL` has it.
        let path = if call.query.is_empty() {
            rest.to_owned()
        } else {
            format!("{rest}?{}", call.query)
        };
        endpoints::target(&endpoint, cluster, &path)
    };
    let target = target.map_err(|error| Failure::internal(&format!("error serving resource: {error}")))?;
    let mut headers = call.headers.clone();
    let stamped: Vec<HeaderName> = headers.keys().filter(|name| is_stripped(name)).cloned().collect();
    for name in stamped {
        headers.remove(name);
    }
    headers.insert(HOPS, HeaderValue::from(hops + 1));
    stamp(&mut headers, &user(scope, &call.user));
    match send(
        shared,
        scope.shard,
        &target,
        call.method.clone(),
        headers,
        call.body.clone(),
    )
    .await
    {
        Ok(answer) => Ok(pass_on(answer)),
        // An empty 502, as Go's reverse proxy answers when it reaches nobody.
        Err(_) => Ok(server::bytes(StatusCode::BAD_GATEWAY, "text/plain", "")),
    }
}

/// The verbs that the endpoint of a resource advertises, asked as the shard itself.
pub(super) async fn verbs(shared: &Shared, scope: &Scope, resource: &Resource) -> Option<Value> {
    let path = format!("/apis/{}/{}", resource.group, resource.version);
    let target = {
        let world = shared.world();
        let endpoint = endpoint(&world, scope.shard, scope.cluster()?, resource).ok()?;
        endpoints::target(&endpoint, "%2A", &path).ok()?
    };
    let mut headers = HeaderMap::new();
    headers.insert(http::header::ACCEPT, HeaderValue::from_static("application/json, */*"));
    let answer = send(shared, scope.shard, &target, Method::GET, headers, bytes::Bytes::new())
        .await
        .ok()?;
    let list: Value = serde_json::from_slice(&answer.body)
        .ok()
        .filter(|_| answer.status.is_success())?;
    let mut resources = list["resources"].as_array().into_iter().flatten();
    resources
        .find(|found| text(&found["name"]) == resource.plural)
        .map(|found| found["verbs"].clone())
}

/// The URL that this shard uses for a resource of a logical cluster.
fn endpoint(world: &World, shard: usize, cluster: &str, resource: &Resource) -> Result<String, Failure> {
    let unresolved = |error: String| Failure::internal(&format!("error resolving resource: {error}"));
    let binds = |binding: &&Value| {
        let bound = binding["status"]["boundResources"].as_array().into_iter().flatten();
        bound
            .into_iter()
            .any(|bound| text(&bound["group"]) == resource.group && text(&bound["resource"]) == resource.plural)
    };
    let binding = world.bindings(cluster).find(binds).ok_or_else(Failure::no_resource)?;
    let name = text(&binding["spec"]["reference"]["export"]["name"]);
    // kcp looks for the export by the path of the reference, not by what the status says.
    let path = text(&binding["spec"]["reference"]["export"]["path"]);
    let provider = world.cluster(if path.is_empty() { cluster } else { path });
    let export = provider.and_then(|provider| {
        world
            .apis(provider, "apiexports", name)
            .map(|export| (provider, export))
    });
    let (provider, export) = export.ok_or_else(|| unresolved(format!("apiexports.{APIS} {name:?} not found")))?;
    let mut resources = export["spec"]["resources"].as_array().into_iter().flatten();
    let listed = resources.find(|r| text(&r["group"]) == resource.group && text(&r["name"]) == resource.plural);
    let reference = listed.map_or(&Value::Null, |resource| &resource["storage"]["virtual"]["reference"]);
    if text(&reference["kind"]) != "APIExportEndpointSlice" {
        return Err(unresolved(format!(
            "no matches for kind {:?} in group {:?}",
            reference["kind"], reference["apiGroup"]
        )));
    }
    let slice = text(&reference["name"]);
    let found = world.apis(provider, "apiexportendpointslices", slice);
    let found = found.ok_or_else(|| unresolved(format!("apiexportendpointslices.{APIS} {slice:?} not found")))?;
    let Some(entries) = found["status"]["endpoints"].as_array() else {
        return Err(Failure::internal(&format!(
            "error resolving resource {}.{}; please contact APIExport owner to resolve",
            resource.plural, resource.group
        )));
    };
    let shard = &world.shards[shard];
    endpoints::pick(&shard.url, &shard.labels, entries).map_err(unresolved)
}

fn hops(headers: &HeaderMap) -> u32 {
    let Some(text) = headers.get(HOPS) else { return 0 };
    text.to_str()
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(MAX_HOPS)
}

fn is_stripped(name: &HeaderName) -> bool {
    STRIPPED.contains(&name.as_str())
        || name.as_str().starts_with("x-remote-")
        || name.as_str().starts_with("impersonate-")
}

/// Who a request is of. Through the virtual workspace of an export it also carries a warrant, which is JSON.
fn user(scope: &Scope, user: &User) -> User {
    let View::Export { cluster, .. } = &scope.view else {
        return user.clone();
    };
    let warrant = json!({
        "user": "system:serviceaccount:default:rest", "groups": ["system:kcp:admin"],
        "extra": {"authentication.kcp.io/cluster-name": [cluster]},
    });
    let mut user = user.clone();
    user.extra.insert(WARRANT.to_owned(), vec![warrant.to_string()]);
    user
}

fn stamp(headers: &mut HeaderMap, user: &User) {
    let value = |text: &str| HeaderValue::from_str(text).expect("a header's text");
    headers.insert("x-remote-user", value(&user.name));
    for group in &user.groups {
        headers.append("x-remote-group", value(group));
    }
    for (key, values) in &user.extra {
        let name = format!("x-remote-extra-{}", utf8_percent_encode(key, PATH_SEGMENT)).to_lowercase();
        let name = HeaderName::try_from(name).expect("an escaped name");
        for text in values {
            headers.append(&name, value(text));
        }
    }
}

async fn send(
    shared: &Shared,
    number: usize,
    target: &Target,
    method: Method,
    headers: HeaderMap,
    body: bytes::Bytes,
) -> anyhow::Result<Answer> {
    let (host, port) = target.authority.rsplit_once(':').unwrap_or((&target.authority, "443"));
    let address = match host {
        "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        host => host.parse()?,
    };
    let client = Client::trusting(SocketAddr::new(address, port.parse()?), &shared.serving_ca)
        .with_identity(&shared.shard_identities[number])
        .host(host);
    let mut request = Request::builder()
        .method(method)
        .uri(&target.path_and_query)
        .body(body)?;
    *request.headers_mut() = headers;
    client.send(request).await
}

fn pass_on(answer: Answer) -> Response<Body> {
    let mut response = Response::new(Full::new(answer.body).boxed_unsync());
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    for name in ["connection", "transfer-encoding", "content-length"] {
        response.headers_mut().remove(name);
    }
    response
}
