//! Watches: what a client does not know yet, as it happens, with bookmarks, and a 410 when the past is gone.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, Stream};
use http_body::Frame;
use serde_json::{Value, json};
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, timeout, timeout_at};

use super::Shared;
use super::failure::Failure;
use super::resource::Resource;
use super::scope::Scope;
use super::store::Key;

/// How often an idle watch sends a bookmark.
const BOOKMARK: Duration = Duration::from_millis(500);

/// A watch.
pub(super) struct Watch {
    pub(super) shared: Arc<Shared>,
    pub(super) scope: Scope,
    pub(super) resource: Resource,
    /// Of one namespace and of one name; empty for all.
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) bookmarks: bool,
    pub(super) until: Instant,
    /// The revision up to which everything was told.
    revision: u64,
    /// What the client knows, by resource version.
    known: BTreeMap<Key, Value>,
    changes: Receiver<u64>,
    ended: bool,
}

/// What a watch is of.
pub(super) struct Options {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) revision: u64,
    pub(super) bookmarks: bool,
    pub(super) timeout: Duration,
}

impl Watch {
    /// A watch from a revision on; from 0 it tells everything that there is first.
    pub(super) fn new(shared: Arc<Shared>, scope: Scope, resource: Resource, options: Options) -> Self {
        let changes = shared.changes();
        let mut watch = Self {
            shared,
            scope,
            resource,
            namespace: options.namespace,
            name: options.name,
            bookmarks: options.bookmarks,
            until: Instant::now() + options.timeout,
            revision: options.revision,
            known: BTreeMap::new(),
            changes,
            ended: false,
        };
        if options.revision > 0 {
            watch.known = watch.before();
        }
        watch
    }

    /// Its events, a line each.
    pub(super) fn into_stream(self) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send {
        stream::unfold(self, |mut watch| async move {
            let lines = watch.next().await?;
            let text: String = lines
                .iter()
                .flat_map(|line| [line.to_string(), "\n".to_owned()])
                .collect();
            Some((Ok(Frame::data(Bytes::from(text))), watch))
        })
    }

    async fn next(&mut self) -> Option<Vec<Value>> {
        while !self.ended && Instant::now() < self.until {
            self.changes.borrow_and_update();
            match self.news() {
                Err(failure) => {
                    self.ended = true;
                    return Some(vec![json!({"type": "ERROR", "object": failure.status()})]);
                }
                Ok(news) if !news.is_empty() => return Some(news),
                Ok(_) => {}
            }
            let wait = async { timeout(BOOKMARK, self.changes.changed()).await };
            match timeout_at(self.until, wait).await {
                Ok(Err(_idle)) if self.bookmarks && self.is_served() => return Some(vec![self.bookmark()]),
                Ok(Ok(Err(_closed))) => return None,
                _ => {}
            }
        }
        None
    }

    fn is_served(&self) -> bool {
        self.scope.serves(&self.shared.world(), &self.resource)
    }

    fn bookmark(&self) -> Value {
        json!({"type": "BOOKMARK", "object": {
            "apiVersion": self.resource.api_version(), "kind": self.resource.kind,
            "metadata": {"resourceVersion": self.revision.to_string()},
        }})
    }

    /// What is seen now.
    fn now(&self) -> BTreeMap<Key, Value> {
        let world = self.shared.world();
        let objects = world.shards[self.scope.shard]
            .store
            .of(&self.resource.group, &self.resource.plural);
        let wanted = objects.filter(|(key, _)| self.wants(key) && self.scope.sees(&world, key));
        wanted.map(|(key, object)| (key.clone(), object.clone())).collect()
    }

    fn wants(&self, key: &Key) -> bool {
        (self.namespace.is_empty() || self.namespace == key.namespace)
            && (self.name.is_empty() || self.name == key.name)
    }

    /// What the client saw at its revision: what has not changed since, and what was deleted since.
    fn before(&self) -> BTreeMap<Key, Value> {
        let mut before = self.now();
        before.retain(|_, object| version(object) <= self.revision);
        let world = self.shared.world();
        let events = world.shards[self.scope.shard].store.since(self.revision);
        for event in events.into_iter().flatten() {
            let of_this = event.key.group == self.resource.group && event.key.plural == self.resource.plural;
            if of_this && event.kind != "ADDED" && self.wants(&event.key) && self.scope.sees(&world, &event.key) {
                let mut last = event.object.clone();
                // Which version the client saw is not known; that it is not the one of now is.
                last["metadata"]["resourceVersion"] = Value::Null;
                before.entry(event.key.clone()).or_insert(last);
            }
        }
        before
    }

    fn news(&mut self) -> Result<Vec<Value>, Failure> {
        let now = self.now();
        let revision = {
            let world = self.shared.world();
            let store = &world.shards[self.scope.shard].store;
            if self.revision > 0 {
                store.since(self.revision)?;
            }
            store.revision()
        };
        self.revision = revision;
        let mut news = Vec::new();
        for (key, object) in &self.known {
            if !now.contains_key(key) {
                news.push(json!({"type": "DELETED", "object": gone(object, revision)}));
            }
        }
        for (key, object) in &now {
            let kind = match self.known.get(key) {
                None => "ADDED",
                Some(known) if known["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"] => {
                    "MODIFIED"
                }
                Some(_) => continue,
            };
            news.push(json!({"type": kind, "object": object}));
        }
        self.known = now;
        Ok(news)
    }
}

fn version(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str();
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// An object as its deletion tells it.
fn gone(last: &Value, revision: u64) -> Value {
    let mut object = last.clone();
    object["metadata"]["resourceVersion"] = revision.to_string().into();
    object
}
