//! A small kcp within the process, without sockets, so that tests can let time pass.
//!
//! It serves the few requests that this crate sends, as kcp answers them; what it does not know is 404.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use futures::stream::{self, Stream, StreamExt};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::EXPORT;
use crate::base::Base;
use crate::credentials::Credentials;

/// The logical cluster of the platform's workspace.
pub(crate) const PLATFORM: &str = "platform";

/// The host that answers, the plural name, the logical cluster and the name.
type Key = (String, String, String, String);
type AnswerBody = UnsyncBoxBody<Bytes, Infallible>;
type Pieces = mpsc::UnboundedReceiver<Bytes>;

/// Shared by all who speak to it.
#[derive(Clone, Default)]
pub(crate) struct Kcp(Arc<Mutex<State>>);

#[derive(Default)]
pub(crate) struct State {
    version: u64,
    objects: BTreeMap<Key, Value>,
    watches: Vec<Watch>,
    /// Hosts that do not answer.
    pub(crate) down: BTreeSet<String>,
    /// Hosts and plural names that are not served (yet): listed as empty, without a version.
    pub(crate) unserved: BTreeSet<(String, String)>,
    /// Methods and plural names that are forbidden.
    pub(crate) forbidden: BTreeSet<(Method, String)>,
    /// Methods and paths of all requests but watches.
    pub(crate) requests: Vec<(Method, String)>,
}

struct Watch {
    host: String,
    plural: String,
    pieces: mpsc::UnboundedSender<Bytes>,
}

impl Kcp {
    /// With the platform's slice, which has a virtual workspace on each of these shards.
    pub(crate) fn with_shards(shards: &[&str]) -> Self {
        let kcp = Self::default();
        kcp.publish_shards(shards);
        kcp
    }

    pub(crate) fn publish_shards(&self, shards: &[&str]) {
        let endpoints: Vec<_> = shards.iter().map(|shard| json!({"url": url_of(shard)})).collect();
        self.put(
            "base",
            "apiexportendpointslices",
            json!({"metadata": metadata(PLATFORM, EXPORT), "spec": {"export": {"name": EXPORT}},
                "status": {"endpoints": endpoints}}),
        );
    }

    pub(crate) fn base(&self) -> Base {
        let kcp = self.clone();
        let connect = move |url: &Uri| {
            let (kcp, url) = (kcp.clone(), url.clone());
            let service = tower::service_fn(move |request| {
                let answer = kcp.clone().answer(url.clone(), request);
                async { Ok::<_, Infallible>(answer.await) }
            });
            Ok(Client::new(service, "default"))
        };
        Base::new(
            &Uri::from_static("https://base/"),
            Arc::new(Credentials::fixed(Arc::new(connect))),
        )
        .unwrap()
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Stores an object and tells those who watch.
    pub(crate) fn put(&self, host: &str, plural: &str, object: Value) -> Value {
        self.state().put(host, plural, object)
    }

    pub(crate) fn get(&self, host: &str, plural: &str, cluster: &str, name: &str) -> Option<Value> {
        self.state().objects.get(&key(host, plural, cluster, name)).cloned()
    }

    pub(crate) fn delete(&self, host: &str, plural: &str, cluster: &str, name: &str) {
        let mut state = self.state();
        let mut object = state.objects.remove(&key(host, plural, cluster, name)).unwrap();
        object["metadata"]["resourceVersion"] = state.next_version();
        state.tell(host, plural, "DELETED", &object);
    }

    /// Sends a line to those who watch.
    pub(crate) fn say(&self, host: &str, plural: &str, event: &str, object: &Value) {
        self.state().tell(host, plural, event, object);
    }

    /// Breaks every watch off.
    pub(crate) fn drop_watches(&self) {
        self.state().watches.clear();
    }

    async fn answer(self, url: Uri, request: Request<Body>) -> Response<AnswerBody> {
        let (parts, body) = request.into_parts();
        let text = body.collect().await.unwrap().to_bytes();
        let body = serde_json::from_slice(&text).unwrap_or_default();
        let query = parts.uri.query().unwrap_or_default();
        let asked = Asked {
            host: url.host().unwrap().to_owned(),
            method: parts.method,
            path: parts.uri.path().to_owned(),
            query: url::form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
            body,
        };
        let mut state = self.state();
        let answer = state.answer(&asked, &parts.uri);
        match answer {
            Answer::Stream(pieces) => response(StatusCode::OK, pieces_of(pieces)),
            Answer::Value(code, value) => {
                let text = Bytes::from(value.to_string());
                response(code, stream::iter([text]).boxed())
            }
        }
    }
}

struct Asked {
    host: String,
    method: Method,
    path: String,
    query: BTreeMap<String, String>,
    body: Value,
}

enum Answer {
    Value(StatusCode, Value),
    Stream(Pieces),
}

impl Answer {
    fn code(code: u16) -> Self {
        let status = json!({"kind": "Status", "code": code, "message": "scripted"});
        Self::Value(StatusCode::from_u16(code).unwrap(), status)
    }

    fn found(object: Option<&Value>) -> Self {
        object.map_or_else(|| Self::code(404), |object| Self::Value(StatusCode::OK, object.clone()))
    }
}

impl State {
    fn answer(&mut self, asked: &Asked, uri: &Uri) -> Answer {
        if self.down.contains(&asked.host) {
            return Answer::code(503);
        }
        let watch = asked.query.contains_key("watch");
        if !watch {
            self.requests.push((asked.method.clone(), uri.to_string()));
        }
        let parts: Vec<_> = asked.path.split('/').skip(1).collect();
        let (cluster, rest) = match &parts[..] {
            ["clusters", cluster, "apis", _, _, "namespaces", _, rest @ ..]
            | ["clusters", cluster, "apis", _, _, rest @ ..] => (*cluster, rest),
            _ => return Answer::code(404),
        };
        let plural = rest[0];
        if self.forbidden.contains(&(asked.method.clone(), plural.to_owned())) {
            return Answer::code(403);
        }
        let at = |name: &str| key(&asked.host, plural, cluster, name);
        match (asked.method.as_str(), &rest[1..]) {
            ("GET", []) if watch => self.watch(asked, plural),
            ("GET", []) => self.list(asked, plural, cluster),
            ("GET", [name]) => Answer::found(self.objects.get(&at(name))),
            ("POST", []) => {
                let mut object = asked.body.clone();
                let name = object["metadata"]["name"].as_str().unwrap().to_owned();
                if self.objects.contains_key(&at(&name)) {
                    return Answer::code(409);
                }
                annotate(&mut object, cluster);
                Answer::Value(StatusCode::CREATED, self.put(&asked.host, plural, object))
            }
            ("PUT", [name]) => self.replace(asked, plural, &at(name), asked.body.clone()),
            ("PATCH", [name, "status"]) => {
                let Some(mut object) = self.objects.get(&at(name)).cloned() else {
                    return Answer::code(404);
                };
                if let Some(manager) = asked.query.get("fieldManager") {
                    if !asked.query.contains_key("force") && conflicts(&object, manager, &asked.body) {
                        return Answer::code(409);
                    }
                    apply(&mut object, manager, &asked.body);
                } else {
                    object["status"] = asked.body["status"].clone();
                    object["metadata"]["resourceVersion"] = asked.body["metadata"]["resourceVersion"].clone();
                }
                if asked.query.contains_key("dryRun") {
                    return Answer::Value(StatusCode::OK, object);
                }
                self.replace(asked, plural, &at(name), object)
            }
            _ => Answer::code(404),
        }
    }

    fn replace(&mut self, asked: &Asked, plural: &str, key: &Key, object: Value) -> Answer {
        let Some(before) = self.objects.get(key) else {
            return Answer::code(404);
        };
        if before["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"] {
            return Answer::code(409);
        }
        Answer::Value(StatusCode::OK, self.put(&asked.host, plural, object))
    }

    fn list(&self, asked: &Asked, plural: &str, cluster: &str) -> Answer {
        if self.unserved.contains(&(asked.host.clone(), plural.to_owned())) {
            return Answer::Value(StatusCode::OK, json!({"metadata": {}, "items": null}));
        }
        let objects: Vec<_> = self.listed(&asked.host, plural, cluster).collect();
        let from = asked.query.get("continue").map_or(0, |from| from.parse().unwrap());
        // Pages of two, so that there are several.
        let page: Vec<_> = objects.iter().skip(from).take(2).collect();
        let next = (objects.len() > from + 2).then(|| (from + 2).to_string());
        let metadata = json!({"resourceVersion": self.version.to_string(), "continue": next.unwrap_or_default()});
        Answer::Value(StatusCode::OK, json!({"metadata": metadata, "items": page}))
    }

    fn listed<'a>(&'a self, host: &'a str, plural: &'a str, cluster: &'a str) -> impl Iterator<Item = &'a Value> {
        let objects = self.objects.iter();
        objects
            .filter(move |(key, _)| key.0 == host && key.1 == plural && (cluster == "*" || key.2 == cluster))
            .map(|(_, object)| object)
    }

    /// A watch that has everything since the version that is asked for, where that can still be told from objects.
    fn watch(&mut self, asked: &Asked, plural: &str) -> Answer {
        let (pieces, receiver) = mpsc::unbounded_channel();
        let since: u64 = asked.query["resourceVersion"].parse().unwrap();
        let version = |object: &Value| object["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>();
        for object in self.listed(&asked.host, plural, "*") {
            if version(object).unwrap() > since {
                pieces.send(line("MODIFIED", object)).unwrap();
            }
        }
        let (host, plural) = (asked.host.clone(), plural.to_owned());
        self.watches.push(Watch { host, plural, pieces });
        Answer::Stream(receiver)
    }

    fn put(&mut self, host: &str, plural: &str, mut object: Value) -> Value {
        object["metadata"]["resourceVersion"] = self.next_version();
        let cluster = object["metadata"]["annotations"]["kcp.io/cluster"].as_str().unwrap();
        let name = object["metadata"]["name"].as_str().unwrap();
        let key = key(host, plural, cluster, name);
        self.tell(host, plural, "MODIFIED", &object);
        self.objects.insert(key, object.clone());
        object
    }

    fn next_version(&mut self) -> Value {
        self.version += 1;
        self.version.to_string().into()
    }

    fn tell(&mut self, host: &str, plural: &str, event: &str, object: &Value) {
        self.watches.retain(|watch| {
            watch.host != host || watch.plural != plural || watch.pieces.send(line(event, object)).is_ok()
        });
    }
}

/// Whether an entry that is to be applied is another manager's too, who has it otherwise.
fn conflicts(object: &Value, manager: &str, applied: &Value) -> bool {
    let entries = |object: &Value| object["status"]["endpoints"].as_array().cloned().unwrap_or_default();
    let managers = object["metadata"]["managedFields"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    entries(applied).iter().any(|wanted| {
        let differs = |entry: &Value| entry["url"] == wanted["url"] && entry["shards"] != wanted["shards"];
        let field = format!("k:{}", json!({"url": wanted["url"]}));
        let owns =
            |one: &Value| one["manager"] != manager && !one["fieldsV1"]["f:status"]["f:endpoints"][&field].is_null();
        entries(object).iter().any(differs) && managers.iter().any(owns)
    })
}

/// Server-side apply of `status.endpoints`, an entry for each URL.
fn apply(object: &mut Value, manager: &str, applied: &Value) {
    let fields = |entry: &Value| format!("k:{}", json!({"url": entry["url"]}));
    let empty = Vec::new();
    let wanted = applied["status"]["endpoints"].as_array().unwrap_or(&empty);
    let owned = |entry: &Value, managers: &Value| {
        let managers = managers.as_array().unwrap_or(&empty);
        let of = |one: &&Value| !one["fieldsV1"]["f:status"]["f:endpoints"][fields(entry)].is_null();
        managers
            .iter()
            .filter(of)
            .map(|one| one["manager"].clone())
            .collect::<Vec<_>>()
    };
    let managers = object["metadata"]["managedFields"].clone();
    let mut entries = object["status"]["endpoints"].as_array().cloned().unwrap_or_default();
    entries.retain(|entry| {
        let replaced = wanted.iter().any(|wanted| wanted["url"] == entry["url"]);
        !replaced && owned(entry, &managers) != [json!(manager)]
    });
    entries.extend(wanted.iter().cloned());
    let mut kept: Vec<_> = managers.as_array().cloned().unwrap_or_default();
    kept.retain(|one| one["manager"] != manager);
    let own: serde_json::Map<_, _> = wanted.iter().map(|entry| (fields(entry), json!({".": {}}))).collect();
    kept.push(json!({"manager": manager, "fieldsV1": {"f:status": {"f:endpoints": own}}}));
    object["status"]["endpoints"] = entries.into();
    object["metadata"]["managedFields"] = kept.into();
}

fn response(code: StatusCode, pieces: impl Stream<Item = Bytes> + Send + 'static) -> Response<AnswerBody> {
    let frames = pieces.map(|piece| Ok(http_body::Frame::data(piece)));
    let body = StreamBody::new(frames).boxed_unsync();
    Response::builder().status(code).body(body).unwrap()
}

fn pieces_of(pieces: Pieces) -> stream::BoxStream<'static, Bytes> {
    stream::unfold(pieces, |mut pieces| async move { Some((pieces.recv().await?, pieces)) }).boxed()
}

fn line(event: &str, object: &Value) -> Bytes {
    format!("{}\n", json!({"type": event, "object": object})).into()
}

fn key(host: &str, plural: &str, cluster: &str, name: &str) -> Key {
    (host.to_owned(), plural.to_owned(), cluster.to_owned(), name.to_owned())
}

fn annotate(object: &mut Value, cluster: &str) {
    object["metadata"]["annotations"] = json!({"kcp.io/cluster": cluster});
}

pub(crate) fn url_of(shard: &str) -> String {
    format!("https://{shard}/services/apiexport/{PLATFORM}/{EXPORT}")
}

pub(crate) fn metadata(cluster: &str, name: &str) -> Value {
    json!({"name": name, "uid": format!("{cluster}/{name}"), "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z", "annotations": {"kcp.io/cluster": cluster}})
}

/// A provider's logical cluster on a shard: schema, export, webhook, and the slice of its own.
pub(crate) fn nominate(kcp: &Kcp, shard: &str, cluster: &str) {
    let schema = "v1.things.g.io";
    kcp.put(
        shard,
        "apiresourceschemas",
        json!({"metadata": metadata(cluster, schema), "spec": {"group": "g.io",
            "names": {"kind": "Thing", "plural": "things"}, "scope": "Namespaced",
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"type": "object"}}]}}),
    );
    let storage = json!({"virtual": {"reference":
        {"apiGroup": "apis.kcp.io", "kind": "APIExportEndpointSlice", "name": "e.ephemeral"}}});
    kcp.put(
        shard,
        "apiexports",
        json!({"metadata": metadata(cluster, "e"), "spec": {"resources": [
            {"name": "things", "group": "g.io", "schema": schema, "storage": storage}]}}),
    );
    kcp.put(
        shard,
        "ephemeralwebhooks",
        json!({"metadata": metadata(cluster, "w"), "spec":
            {"export": "e", "group": "g.io", "resource": "things", "url": "https://w.example.org/"}}),
    );
    kcp.put(
        "base",
        "apiexportendpointslices",
        json!({"metadata": metadata(cluster, "e.ephemeral"), "spec": {"export": {"name": "e"}},
            "status": {"endpoints": [{"url": "https://kcp.example.org/e"}]}}),
    );
}
