//! Objects: create, read, change, delete and watch.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Response, StatusCode};
use http_body_util::{BodyExt as _, StreamBody};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::failure::Failure;
use super::rbac::{Question, User};
use super::resource::{Resource, Storage};
use super::scope::{Scope, View};
use super::server::{self, Body, Call};
use super::store::{Change, Key, Write};
use super::watch::{self, Watch};
use super::world::{self, Asked, World, text};
use super::{Shared, forward};

/// A watch without `timeoutSeconds`; the API server takes some 30 to 60 minutes.
const WATCH: Duration = Duration::from_mins(30);

/// A request for objects, taken apart.
struct Target {
    scope: Scope,
    resource: Resource,
    key: Key,
    subresource: &'static str,
    query: BTreeMap<String, String>,
}

/// Serves a request for objects. `rest` is the path below the logical cluster as it was sent.
pub(super) async fn serve(
    shared: Arc<Shared>,
    scope: Scope,
    call: &Call,
    (group, version): (&str, &str),
    path: &[&str],
    rest: &str,
) -> Result<Response<Body>, Failure> {
    let target = target(&shared, scope, call, (group, version), path)?;
    let verb = verb(&call.method, &target);
    let resource = match target.subresource {
        "" => target.resource.plural.clone(),
        subresource => format!("{}/{subresource}", target.resource.plural),
    };
    authorize(&shared.world(), &target, &call.user, verb, &resource)?;
    match target.resource.storage {
        Storage::Virtual => return forward::request(&shared, &target.scope, &target.resource, call, rest).await,
        Storage::Review => return review(&shared, &target, call),
        Storage::Shard => {}
    }
    match verb {
        "get" => get(&shared, &target),
        "list" => Ok(list(&shared, &target)),
        "watch" => watch(shared, target),
        _ => {
            shared.world().asked.push(Asked {
                user: call.user.name.clone(),
                manager: manager(&target, call),
                verb: verb.to_owned(),
                cluster: target.key.cluster.clone(),
                resource,
                name: target.key.name.clone(),
            });
            let answer = if verb == "delete" {
                delete(&shared, &target)
            } else {
                write(&shared, &target, call)
            };
            shared.changed();
            answer
        }
    }
}

fn target(
    shared: &Shared,
    scope: Scope,
    call: &Call,
    (group, version): (&str, &str),
    path: &[&str],
) -> Result<Target, Failure> {
    let (namespace, path) = match path {
        ["namespaces", namespace, path @ ..] if !path.is_empty() && *path != ["status"] => (*namespace, path),
        path => ("", path),
    };
    let (plural, name, subresource) = match path {
        [plural] => (*plural, "", ""),
        [plural, name] => (*plural, *name, ""),
        [plural, name, "status"] => (*plural, *name, "status"),
        _ => return Err(Failure::no_resource()),
    };
    let decode = |segment: &str| percent_decode_str(segment).decode_utf8_lossy().into_owned();
    let resource = scope.resource(&shared.world(), group, version, plural);
    let resource = resource.ok_or_else(Failure::no_resource)?;
    if subresource == "status" && resource.storage == Storage::Shard && !resource.has_status() {
        return Err(Failure::no_resource());
    }
    let key = Key {
        group: resource.group.clone(),
        plural: resource.plural.clone(),
        cluster: scope.cluster().unwrap_or("*").to_owned(),
        namespace: decode(namespace),
        name: decode(name),
    };
    let query = call.query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode(name), decode(&value.replace('+', " ")))
    });
    Ok(Target {
        scope,
        resource,
        key,
        subresource,
        query: query.collect(),
    })
}

fn verb(method: &Method, target: &Target) -> &'static str {
    let watches = target
        .query
        .get("watch")
        .is_some_and(|value| value == "true" || value == "1");
    match *method {
        Method::GET | Method::HEAD if watches => "watch",
        Method::GET | Method::HEAD if target.key.name.is_empty() => "list",
        Method::GET | Method::HEAD => "get",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        _ => "delete",
    }
}

fn authorize(world: &World, target: &Target, user: &User, verb: &str, resource: &str) -> Result<(), Failure> {
    let question = target.scope.question(user, verb, resource, &target.key);
    if world.allows(target.scope.shard, &question) {
        return Ok(());
    }
    Err(Failure::forbidden(format!(
        "{}.{} is forbidden: User {:?} cannot {verb} resource {resource:?} in API group {:?} at the cluster scope: access denied",
        target.resource.plural, target.resource.group, user.name, question.group
    )))
}

fn get(shared: &Shared, target: &Target) -> Result<Response<Body>, Failure> {
    let world = shared.world();
    let seen = target.scope.sees(&world, &target.key);
    let object = world.shards[target.scope.shard].store.get(&target.key).filter(|_| seen);
    let qualified = format!("{}.{}", target.key.plural, target.key.group);
    let object = object.ok_or_else(|| Failure::not_found(&qualified, &target.key.name))?;
    Ok(server::json(StatusCode::OK, object))
}

fn list(shared: &Shared, target: &Target) -> Response<Body> {
    let world = shared.world();
    if !target.scope.serves(&world, &target.resource) {
        let (api_version, kind) = (target.resource.api_version(), format!("{}List", target.resource.kind));
        return server::json(
            StatusCode::OK,
            &json!({"apiVersion": api_version, "kind": kind, "items": []}),
        );
    }
    let store = &world.shards[target.scope.shard].store;
    let (namespace, name) = (&target.key.namespace, selected_name(target));
    let items = store.of(&target.key.group, &target.key.plural).filter(|(key, _)| {
        (namespace.is_empty() || key.namespace == *namespace)
            && name.as_ref().is_none_or(|name| key.name == *name)
            && target.scope.sees(&world, key)
    });
    let page = Page::asked_for(&target.query, store.revision());
    let (items, next) = page.cut(items);
    let mut list = world::list(&target.resource, page.revision, &items);
    list["metadata"]["continue"] = next.into();
    server::json(StatusCode::OK, &list)
}

/// A part of a list, all of whose pages are of the revision of the first.
struct Page {
    revision: u64,
    after: Option<[String; 3]>,
    limit: usize,
}

impl Page {
    fn asked_for(query: &BTreeMap<String, String>, revision: u64) -> Self {
        let mut token = query.get("continue").into_iter().flat_map(|token| token.split('/'));
        let first = token.next().and_then(|revision| revision.parse().ok());
        let after: Vec<_> = token.map(str::to_owned).collect();
        let limit = query.get("limit").and_then(|limit| limit.parse().ok());
        Self {
            revision: first.unwrap_or(revision),
            after: after.try_into().ok(),
            limit: limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX),
        }
    }

    /// The items of this page, and the token of the next.
    fn cut<'a>(&self, items: impl Iterator<Item = (&'a Key, &'a Value)>) -> (Vec<Value>, String) {
        let place = |key: &Key| [key.cluster.clone(), key.namespace.clone(), key.name.clone()];
        let after = |key: &Key| self.after.as_ref().is_none_or(|after| place(key) > *after);
        let mut items = items.filter(|(key, _)| after(key)).peekable();
        let mut page = Vec::new();
        let mut next = String::new();
        while page.len() < self.limit
            && let Some((key, object)) = items.next()
        {
            page.push(object.clone());
            if page.len() == self.limit && items.peek().is_some() {
                next = format!("{}/{}", self.revision, place(key).join("/"));
            }
        }
        (page, next)
    }
}

/// The only field selector that every resource has.
fn selected_name(target: &Target) -> Option<String> {
    let selector = target.query.get("fieldSelector")?;
    selector
        .strip_prefix("metadata.name=")
        .map(|name| name.trim_start_matches('=').to_owned())
}

fn watch(shared: Arc<Shared>, target: Target) -> Result<Response<Body>, Failure> {
    let number = |name: &str| target.query.get(name).and_then(|value| value.parse::<u64>().ok());
    if target
        .query
        .get("sendInitialEvents")
        .is_some_and(|value| value == "true")
    {
        return Err(Failure::bad_request(
            "sendInitialEvents is not served: the feature WatchList is off",
        ));
    }
    let options = watch::Options {
        namespace: target.key.namespace.clone(),
        name: selected_name(&target).unwrap_or_else(|| target.key.name.clone()),
        revision: number("resourceVersion").unwrap_or_default(),
        bookmarks: target
            .query
            .get("allowWatchBookmarks")
            .is_some_and(|value| value == "true" || value == "1"),
        timeout: number("timeoutSeconds").map_or(WATCH, Duration::from_secs),
    };
    let watch = Watch::new(shared, target.scope, target.resource, options);
    let response = Response::builder().header(http::header::CONTENT_TYPE, "application/json");
    let body = StreamBody::new(watch.into_stream()).boxed_unsync();
    Ok(response.body(body).expect("the parts are valid"))
}

/// Who a write is of: the field manager, or else the first part of the user agent.
fn manager(target: &Target, call: &Call) -> String {
    let agent = call
        .headers
        .get(http::header::USER_AGENT)
        .and_then(|agent| agent.to_str().ok());
    let agent = agent.and_then(|agent| agent.split('/').next()).unwrap_or("unknown");
    target
        .query
        .get("fieldManager")
        .map_or(agent, String::as_str)
        .to_owned()
}

fn write(shared: &Shared, target: &Target, call: &Call) -> Result<Response<Body>, Failure> {
    let body: Value = serde_json::from_slice(&call.body).map_err(|error| Failure::bad_request(error.to_string()))?;
    let mut key = target.key.clone();
    let content_type = call
        .headers
        .get(http::header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let is_virtual = matches!(target.scope.view, View::Export { .. });
    let change = match (&call.method, content_type.unwrap_or_default()) {
        (&Method::POST, _) => {
            text(&body["metadata"]["name"]).clone_into(&mut key.name);
            let prefix = text(&body["metadata"]["generateName"]);
            if key.name.is_empty() && !prefix.is_empty() {
                key.name = format!("{prefix}{}", shared.world().asked.len());
            }
            Change::Create(body)
        }
        (&Method::PUT, _) => Change::Update(body),
        // A virtual workspace carries out an apply as an update.
        (_, "application/apply-patch+yaml") if is_virtual => Change::Merge(body),
        (_, "application/apply-patch+yaml") => Change::Apply {
            config: body,
            force: target.query.get("force").is_some_and(|force| force == "true"),
        },
        (_, "application/merge-patch+json" | "application/strategic-merge-patch+json") => Change::Merge(body),
        _ => return Err(Failure::unsupported_media_type()),
    };
    let creates = matches!(change, Change::Create(_));
    let mut world = shared.world();
    let visible = creates || !is_virtual || target.scope.sees(&world, &key);
    if key.name.is_empty() || key.cluster == "*" || (key.namespace.is_empty() && target.resource.namespaced) {
        return Err(Failure::method_not_allowed());
    }
    if !visible {
        return Err(Failure::not_found(&key.plural, &key.name));
    }
    let write = Write {
        manager: manager(target, call),
        subresource: target.subresource,
        change,
    };
    let at = target.scope.shard;
    if target.query.contains_key("dryRun") {
        let mut store = world.shards[at].store.clone();
        let object = store.write(&key, &target.resource, write, "00000000-0000-4000-8000-000000000000")?;
        return Ok(server::json(StatusCode::OK, &object));
    }
    let object = world.write(at, &key, &target.resource, write)?;
    Ok(server::json(
        if creates { StatusCode::CREATED } else { StatusCode::OK },
        &object,
    ))
}

fn delete(shared: &Shared, target: &Target) -> Result<Response<Body>, Failure> {
    let mut world = shared.world();
    if !world.delete(target.scope.shard, &target.key) {
        let qualified = format!("{}.{}", target.key.plural, target.key.group);
        return Err(Failure::not_found(&qualified, &target.key.name));
    }
    Ok(server::json(
        StatusCode::OK,
        &json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}),
    ))
}

/// A SubjectAccessReview: the same decision that kcp makes about requests.
fn review(shared: &Shared, target: &Target, call: &Call) -> Result<Response<Body>, Failure> {
    let mut review: Value =
        serde_json::from_slice(&call.body).map_err(|error| Failure::bad_request(error.to_string()))?;
    let (spec, mut world) = (&review["spec"], shared.world());
    let strings = |value: &Value| {
        value
            .as_array()
            .into_iter()
            .flatten()
            .map(|item| text(item).to_owned())
            .collect()
    };
    let asked = &spec["resourceAttributes"];
    let resource = match text(&asked["subresource"]) {
        "" => text(&asked["resource"]).to_owned(),
        subresource => format!("{}/{subresource}", text(&asked["resource"])),
    };
    let extra = spec["extra"].as_object().into_iter().flatten();
    let question = Question {
        user: User {
            name: text(&spec["user"]).to_owned(),
            groups: strings(&spec["groups"]),
            extra: extra
                .map(|(name, values)| (name.to_lowercase(), strings(values)))
                .collect(),
        },
        cluster: target.key.cluster.clone(),
        verb: text(&asked["verb"]).to_owned(),
        group: text(&asked["group"]).to_owned(),
        resource,
        namespace: text(&asked["namespace"]).to_owned(),
        name: text(&asked["name"]).to_owned(),
    };
    let allowed = world.allows(target.scope.shard, &question);
    world.reviews.push(question);
    review["status"] = json!({"allowed": allowed});
    Ok(server::json(StatusCode::CREATED, &review))
}
