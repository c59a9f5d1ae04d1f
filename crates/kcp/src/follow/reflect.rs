//! List and watch of one kind.
//!
//! By hand and not by kube's watcher: that one decodes with `serde_json`, whose limit of 128 levels would let one deep
//! object of one provider stop the reading of a whole shard. It also would wait for ever where a virtual workspace
//! answers for a resource that the shard does not serve (yet): with an empty list without version, and a watch in
//! which nothing ever happens.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use ephemeral_index::ObjectRef;
use ephemeral_index::kinds::{Kind, Object};
use rand::Rng;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::lines::Lines;
use super::wire::{self, Line};
use crate::backoff::Backoff;
use crate::base::{Cluster, RequestError};
use crate::request::value;
use crate::stats::Stats;

/// Objects in one page of a list, as many as kubectl asks for.
const PAGE: u32 = 500;
/// How long a watch may last, seconds. Short enough that a dead connection, or a watch in which nothing can happen, is
/// noticed within a minute; kcp sends a bookmark before it ends a watch.
const WATCH: std::ops::RangeInclusive<u64> = 45..=60;
/// How much longer than that kcp may take to end it.
const WATCH_GRACE: Duration = Duration::from_secs(10);
/// A watch that ends sooner was broken rather than ended.
const BRIEF: Duration = Duration::from_secs(1);
/// The longest pause after failures.
const MAX_PAUSE: Duration = Duration::from_secs(15);

/// What is read.
pub(super) struct Collection {
    pub(super) cluster: Cluster,
    pub(super) kind: Kind,
    pub(super) stats: Arc<Stats>,
}

/// What was seen.
pub(super) enum Seen {
    /// These objects and no others.
    Listed(Vec<Object>),
    Applied(Box<Object>),
    Deleted(ObjectRef),
    /// It answers.
    Answered,
    /// It does not.
    Failed(Failure),
}

/// Why nothing was seen.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error("kcp's answer cannot be decoded")]
    Decode(#[from] serde_json::Error),
    #[error("the resource is not served on this shard yet")]
    NotServed,
    #[error("kcp ended the watch with code {0}")]
    Watch(u16),
}

impl Failure {
    /// Whether the version is too old to go on from.
    fn is_expired(&self) -> bool {
        match self {
            Self::Request(error) => error.is_gone(),
            Self::Watch(code) => *code == 410,
            Self::Decode(_) | Self::NotServed => false,
        }
    }

    /// Whether the version may still be good: nothing was said about it.
    const fn keeps_version(&self) -> bool {
        matches!(
            self,
            Self::Request(RequestError::Transport(_) | RequestError::TimedOut | RequestError::Body(_))
        )
    }
}

/// Reads until nobody listens.
pub(super) async fn reflect(collection: Collection, seen: mpsc::Sender<(Kind, Seen)>) {
    let mut reflector = Reflector {
        collection,
        seen,
        version: None,
        backoff: Backoff::up_to(MAX_PAUSE),
    };
    while !reflector.seen.is_closed() {
        let began = Instant::now();
        let step = match reflector.version.clone() {
            None => reflector.list().await,
            Some(version) => reflector.watch(&version).await,
        };
        match step {
            Ok(Ended::Well) => continue,
            Ok(Ended::Silent) if began.elapsed() >= BRIEF => continue,
            Ok(Ended::Silent) => {}
            Err(failure) => {
                if !failure.keeps_version() {
                    reflector.version = None;
                }
                if !failure.is_expired() {
                    reflector.tell(Seen::Failed(failure)).await;
                }
            }
        }
        tokio::time::sleep(reflector.backoff.delay()).await;
    }
}

struct Reflector {
    collection: Collection,
    seen: mpsc::Sender<(Kind, Seen)>,
    /// The version up to which everything was seen.
    version: Option<String>,
    backoff: Backoff,
}

/// How a list or a watch ended that did not fail.
enum Ended {
    Well,
    /// Without a word. Then it may be one in which nothing can happen, and only a list tells.
    Silent,
}

impl Reflector {
    async fn list(&mut self) -> Result<Ended, Failure> {
        self.collection.stats.lists.increment();
        let path = path(self.collection.kind);
        let mut objects = Vec::new();
        let mut next = String::new();
        loop {
            let query = if next.is_empty() {
                format!("{path}?limit={PAGE}")
            } else {
                format!("{path}?limit={PAGE}&continue={}", value(&next))
            };
            let text = self.collection.cluster.get_bytes(&query).await?;
            let page = wire::page(self.collection.kind, &text)?;
            if page.version.is_empty() {
                return Err(Failure::NotServed);
            }
            objects.extend(page.objects);
            next = page.next;
            if next.is_empty() {
                self.version = Some(page.version);
                break;
            }
        }
        self.tell(Seen::Listed(objects)).await;
        Ok(Ended::Well)
    }

    async fn watch(&mut self, version: &str) -> Result<Ended, Failure> {
        self.collection.stats.watches.increment();
        let seconds = rand::rng().random_range(WATCH);
        let path = format!(
            "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={}",
            path(self.collection.kind),
            value(version)
        );
        let deadline = Instant::now() + Duration::from_secs(seconds) + WATCH_GRACE;
        let stream = self.collection.cluster.stream(&path).await?;
        self.tell(Seen::Answered).await;
        let mut stream = pin!(stream);
        let mut lines = Lines::new(&mut stream);
        let mut silent = true;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = timeout(left, lines.next()).await else {
                return Err(RequestError::TimedOut.into());
            };
            let Some(text) = line? else { break };
            self.take(wire::line(self.collection.kind, &text)?).await?;
            silent = false;
            self.backoff.reset();
        }
        if silent {
            self.version = None;
            return Ok(Ended::Silent);
        }
        Ok(Ended::Well)
    }

    async fn take(&mut self, line: Line) -> Result<(), Failure> {
        let (version, seen) = match line {
            Line::Error(code) => return Err(Failure::Watch(code)),
            Line::Version(version) => (version, None),
            Line::Applied(object) => {
                let version = object.meta().resource_version.to_string();
                (version, Some(Seen::Applied(Box::new(object))))
            }
            Line::Deleted(object) => {
                let version = object.meta().resource_version.to_string();
                (version, Some(Seen::Deleted(ObjectRef::from(&object))))
            }
        };
        if let Some(seen) = seen {
            self.tell(seen).await;
        }
        if !version.is_empty() {
            self.version = Some(version);
        }
        Ok(())
    }

    async fn tell(&self, seen: Seen) {
        // Where nobody listens any more, the loop ends.
        let _ = self.seen.send((self.collection.kind, seen)).await;
    }
}

const fn path(kind: Kind) -> &'static str {
    match kind {
        Kind::APIExport => "/apis/apis.kcp.io/v1alpha2/apiexports",
        Kind::APIResourceSchema => "/apis/apis.kcp.io/v1alpha1/apiresourceschemas",
        Kind::APIExportEndpointSlice => "/apis/apis.kcp.io/v1alpha1/apiexportendpointslices",
        Kind::EphemeralWebhook => "/apis/ephemeral.contrib.kcp.io/v1alpha1/ephemeralwebhooks",
    }
}
