//! Follows kcp: the shards that this project's APIExport has a virtual workspace on, and what is in each of those.

mod lines;
mod reflect;
mod shard;
mod wire;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use ephemeral_index::kinds::{APIExportEndpointSlice, Kind, Object};
use ephemeral_index::{Event, Source};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::EXPORT;
use crate::base::Base;
use crate::stats::Stats;
use reflect::{Collection, Seen, reflect};

/// What to follow.
#[derive(Clone, Debug)]
pub struct FollowConfig {
    /// kcp's base URL.
    pub base: Base,
    /// The workspace of this project's APIExport, by path or by logical cluster.
    pub workspace: Arc<str>,
    /// The sources beside kcp's shards that somebody else reads.
    pub others: BTreeSet<Source>,
    /// How long a shard may fail to answer before it counts as away; 30 seconds is a good value.
    pub grace: Duration,
    /// Where lists and watches are counted.
    pub stats: Arc<Stats>,
}

/// Follows kcp and tells what it finds, until `stop` or until nobody listens.
///
/// A shard is named by the URL of its virtual workspace. All of them, with the `others`, are told as
/// [`Event::Sources`] once the export's own APIExportEndpointSlice was read, and whenever that changes.
pub async fn follow(config: FollowConfig, events: mpsc::Sender<Vec<Event>>, stop: CancellationToken) {
    let (teller, mut seen) = mpsc::channel(16);
    let collection = Collection {
        cluster: config.base.cluster(&config.workspace),
        kind: Kind::APIExportEndpointSlice,
        stats: config.stats.clone(),
    };
    let _reader = AbortOnDropHandle::new(tokio::spawn(reflect(collection, teller)));
    let mut follower = Follower {
        config,
        events,
        shards: HashMap::new(),
        told: false,
    };
    loop {
        let news = tokio::select! {
            () = stop.cancelled() => return,
            () = follower.events.closed() => return,
            news = seen.recv() => news,
        };
        let Some((_, news)) = news else { return };
        follower.take(news).await;
    }
}

struct Follower {
    config: FollowConfig,
    events: mpsc::Sender<Vec<Event>>,
    shards: HashMap<Arc<str>, AbortOnDropHandle<()>>,
    /// Whether the sources were told once.
    told: bool,
}

impl Follower {
    async fn take(&mut self, seen: Seen) {
        match seen {
            Seen::Listed(objects) => match objects.iter().find_map(own_slice) {
                Some(slice) => self.follow_slice(slice).await,
                None => self.miss_slice(),
            },
            Seen::Applied(object) => {
                if let Some(slice) = own_slice(&object) {
                    self.follow_slice(slice).await;
                }
            }
            Seen::Deleted(object) if &*object.name == EXPORT => self.miss_slice(),
            Seen::Deleted(_) | Seen::Answered => {}
            Seen::Failed(failure) => {
                self.config.stats.failures.increment();
                let error: &dyn std::error::Error = &failure;
                tracing::warn!(
                    workspace = &*self.config.workspace,
                    error,
                    "the APIExportEndpointSlices of the export's workspace cannot be read"
                );
            }
        }
    }

    /// kcp makes the slice anew; until then the shards that are known are all that is known.
    fn miss_slice(&self) {
        tracing::warn!(
            workspace = &*self.config.workspace,
            slice = EXPORT,
            "there is no such APIExportEndpointSlice; has 'manifests platform' been applied?"
        );
    }

    /// Begins with the shards that are new, and ends with those that are gone.
    async fn follow_slice(&mut self, slice: &APIExportEndpointSlice) {
        // An entry that says which shards it serves is somebody else's virtual workspace.
        let urls: BTreeSet<Arc<str>> = slice
            .endpoints
            .iter()
            .filter(|endpoint| endpoint.shards.is_none())
            .map(|endpoint| endpoint.url.clone())
            .collect();
        let gone: Vec<_> = self.shards.extract_if(|url, _| !urls.contains(url)).collect();
        let new: Vec<_> = urls
            .iter()
            .filter(|url| !self.shards.contains_key(*url))
            .cloned()
            .collect();
        if self.told && gone.is_empty() && new.is_empty() {
            return;
        }
        let shards = urls.into_iter().map(Source::Shard);
        let mut told = vec![Event::Sources(shards.chain(self.config.others.clone()).collect())];
        for (url, reader) in gone {
            tracing::info!(shard = &*url, "is gone");
            reader.abort();
            // It fails with nothing but that; after it nothing more is told.
            let _ = reader.await;
            told.push(Event::Removed(Source::Shard(url)));
        }
        self.told = true;
        let unusable: Vec<_> = new.into_iter().filter_map(|url| self.begin(url)).collect();
        told.extend(unusable.into_iter().map(Event::Away));
        // Where nobody listens any more, the loop ends.
        let _ = self.events.send(told).await;
    }

    /// Begins to read a shard; gives back what cannot be read at all.
    fn begin(&mut self, url: Arc<str>) -> Option<Source> {
        match self.config.base.at(&url) {
            Ok(workspace) => {
                tracing::info!(shard = &*url, "is followed");
                let FollowConfig { grace, stats, .. } = &self.config;
                let reading = shard::read(url.clone(), workspace, *grace, stats.clone(), self.events.clone());
                self.shards.insert(url, AbortOnDropHandle::new(tokio::spawn(reading)));
                None
            }
            Err(error) => {
                tracing::error!(
                    shard = &*url,
                    error = &error as &dyn std::error::Error,
                    "cannot be followed"
                );
                Some(Source::Shard(url))
            }
        }
    }
}

/// The slice that kcp keeps for the export, where an object is that.
fn own_slice(object: &Object) -> Option<&APIExportEndpointSlice> {
    match object {
        Object::Slice(slice) if &*slice.meta.name == EXPORT => Some(slice),
        _ => None,
    }
}
