//! Does what the ledger says, one thing at a time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use ephemeral_index::{Event, NominationStatus};
use tokio::sync::{OnceCell, mpsc};

use super::ledger::Key;
use super::slices::{self, Done, Slices};
use super::statuses::{self, Attempt};
use super::{ObjectKey, PublishConfig, claims};
use crate::EXPORT;
use crate::base::{Base, BaseError, RequestError};

/// One thing to do.
#[derive(Debug)]
pub(super) enum Job {
    /// Read a slice, or write to it.
    Slice(slices::Job),
    /// Write a status.
    Status {
        status: Box<NominationStatus>,
        client_ca: Option<Arc<str>>,
    },
    /// Find out whether the claims of a logical cluster are accepted.
    Claims {
        cluster: Arc<str>,
        /// Whether something seems to be missing. Where nothing does, they are, or it does not matter.
        asked: bool,
    },
}

/// What came of it; an error was logged already.
pub(super) enum Outcome {
    Slice(Result<Done, Failed>),
    Status(Result<Attempt, Failed>),
    /// Whether the claims are refused.
    Claims(Result<bool, Failed>),
}

/// Something that is to be tried again.
#[derive(Debug)]
pub(super) struct Failed;

/// Asks kcp, and tells what was read.
pub(super) struct Worker {
    config: PublishConfig,
    events: mpsc::Sender<Vec<Event>>,
    /// The logical cluster of this project's export.
    platform: OnceCell<Arc<str>>,
    /// The virtual workspaces of the shards, by URL.
    shards: Mutex<HashMap<Arc<str>, Base>>,
}

impl Worker {
    pub(super) fn new(config: PublishConfig, events: mpsc::Sender<Vec<Event>>) -> Self {
        Self {
            config,
            events,
            platform: OnceCell::new(),
            shards: Mutex::default(),
        }
    }

    pub(super) async fn perform(self: Arc<Self>, key: Key, job: Job) -> (Key, Outcome) {
        let outcome = match job {
            Job::Slice(job) => Outcome::Slice(self.slice(job).await.map_err(|error| self.fail(&key, &error))),
            Job::Status { status, client_ca } => {
                let written = self.status(&status, client_ca.as_ref()).await;
                Outcome::Status(written.map_err(|error| self.fail(&key, &error)))
            }
            Job::Claims { cluster, asked } => {
                let refused = self.claims(&cluster, asked).await;
                Outcome::Claims(refused.map_err(|error| self.fail(&key, &error)))
            }
        };
        (key, outcome)
    }

    fn fail(&self, key: &Key, error: &Error) -> Failed {
        self.config.stats.failures.increment();
        tracing::warn!(%key, error = error as &dyn std::error::Error, "publishing failed and is tried again");
        Failed
    }

    async fn slice(&self, job: slices::Job) -> Result<Done, Error> {
        let ObjectKey { cluster, name } = job.key.clone();
        let slices = Slices {
            base: &self.config.base,
            publisher: &self.config.publisher,
            stats: &self.config.stats,
        };
        let mut done = slices.perform(job).await?;
        if let Some(reading) = done.reading.take() {
            self.tell(Event::Slice { cluster, name, reading }).await;
        }
        Ok(done)
    }

    async fn status(&self, status: &NominationStatus, client_ca: Option<&Arc<str>>) -> Result<Attempt, Error> {
        let shard = self.shard(status.shard())?;
        statuses::write(&shard, status, client_ca, &self.config.stats).await?;
        Ok(Attempt::at(status, client_ca))
    }

    async fn claims(&self, cluster: &Arc<str>, asked: bool) -> Result<bool, Error> {
        let accepted = !asked || self.are_accepted(cluster).await?;
        let cluster = cluster.clone();
        self.tell(Event::Claims { cluster, accepted }).await;
        Ok(!accepted)
    }

    async fn are_accepted(&self, cluster: &str) -> Result<bool, Error> {
        let platform = self.platform.get_or_try_init(|| self.find_platform()).await?;
        self.config.stats.binding_reads.increment();
        let bindings = claims::read(&self.config.base.cluster(cluster)).await?;
        // Without a binding there is nothing to accept.
        Ok(bindings.accept(platform).unwrap_or(true))
    }

    /// The logical cluster of this project's export is that of its slice.
    async fn find_platform(&self) -> Result<Arc<str>, Error> {
        let key = ObjectKey {
            cluster: self.config.workspace.clone(),
            name: EXPORT.into(),
        };
        let text = self
            .config
            .base
            .cluster(&key.cluster)
            .get_bytes(&slices::path(&key))
            .await?;
        Ok(slices::decode(&key, &text)?.meta.cluster)
    }

    fn shard(&self, url: &Arc<str>) -> Result<Base, BaseError> {
        let mut shards = self.shards.lock().unwrap_or_else(PoisonError::into_inner);
        match shards.entry(url.clone()) {
            Entry::Occupied(known) => Ok(known.get().clone()),
            Entry::Vacant(new) => Ok(new.insert(self.config.base.at(url)?).clone()),
        }
    }

    async fn tell(&self, event: Event) {
        // Where nobody listens any more, everything ends.
        let _ = self.events.send(vec![event]).await;
    }
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Base(#[from] BaseError),
}
