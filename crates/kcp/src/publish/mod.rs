//! Publishes: endpoints into slices, conditions into EphemeralWebhooks. One replica does, the one that holds the Lease.

mod claims;
mod jobs;
mod lease;
mod ledger;
mod schedule;
mod slices;
mod statuses;

use std::sync::Arc;
use std::time::Duration;

use ephemeral_index::{Event, NominationStatus, Publisher, SliceIntent};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::base::Base;
use crate::stats::Stats;
use jobs::{Outcome, Worker};
use lease::Election;
use ledger::{Key, Ledger};

/// What is asked of kcp at the same time, at most.
const CONCURRENCY: usize = 16;

/// Who publishes, and where.
#[derive(Clone, Debug)]
pub struct PublishConfig {
    /// kcp's base URL.
    pub base: Base,
    /// The workspace of this project's APIExport, by path or by logical cluster; the Lease is there.
    pub workspace: Arc<str>,
    /// The same as the index has. Its name is the field manager, and that of the Lease.
    pub publisher: Publisher,
    /// Tells this replica from all others.
    pub identity: Arc<str>,
    /// base64 of PEM: the CA of the client certificate that webhooks are called with, for `status.clientCABundle`.
    pub client_ca_bundle: watch::Receiver<Option<Arc<str>>>,
    /// How often a slice is looked at where all is well: the period of the [`fold`](crate::fold()).
    pub resync: Duration,
    /// Where reads and writes are counted.
    pub stats: Arc<Stats>,
}

/// What there is to publish.
#[derive(Clone, Debug)]
pub enum Work {
    /// What changed.
    Changed {
        /// The status of each EphemeralWebhook that may have to be written.
        statuses: Vec<NominationStatus>,
        /// Slices that are to be read or written.
        slices: Vec<SliceIntent>,
    },
    /// Everything that there is: what is not mentioned is gone.
    All {
        /// The status of every EphemeralWebhook.
        statuses: Vec<NominationStatus>,
        /// Every slice.
        slices: Vec<SliceIntent>,
    },
}

impl Work {
    /// Whether it says nothing.
    pub const fn is_empty(&self) -> bool {
        match self {
            Self::Changed { statuses, slices } => statuses.is_empty() && slices.is_empty(),
            // That there is nothing says much.
            Self::All { .. } => false,
        }
    }
}

/// An object of a logical cluster.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
struct ObjectKey {
    cluster: Arc<str>,
    name: Arc<str>,
}

/// Publishes until `stop`, or until no more work can come, and tells what it read as events.
///
/// Work is taken in at any time, whatever kcp does: whoever sends it may also be the one who takes the events.
pub async fn publish(
    config: PublishConfig,
    mut work: mpsc::Receiver<Work>,
    events: mpsc::Sender<Vec<Event>>,
    stop: CancellationToken,
) {
    let (leads, mut leading) = watch::channel(false);
    let candidacy = CancellationToken::new();
    let election = Election::new(
        config.base.cluster(&config.workspace),
        config.publisher.name.clone(),
        config.identity.clone(),
        config.stats.clone(),
    );
    let election = AbortOnDropHandle::new(tokio::spawn(election.run(leads, candidacy.clone())));

    let mut client_ca = config.client_ca_bundle.clone();
    let mut ledger = Ledger::new(client_ca.borrow_and_update().clone(), config.resync);
    let worker = Arc::new(Worker::new(config, events));
    let mut tasks: JoinSet<(Key, Outcome)> = JoinSet::new();
    loop {
        while tasks.len() < CONCURRENCY
            && let Some((key, job)) = ledger.next_job(Instant::now())
        {
            tasks.spawn(worker.clone().perform(key, job));
        }
        let due = ledger.next_due().filter(|_| tasks.len() < CONCURRENCY);
        tokio::select! {
            () = stop.cancelled() => break,
            received = work.recv() => match received {
                Some(work) => ledger.take(work, Instant::now()),
                None => break,
            },
            Some(done) = tasks.join_next() => {
                // What was aborted is forgotten already.
                if let Ok((key, outcome)) = done {
                    ledger.finish(key, outcome, Instant::now());
                }
            }
            Ok(()) = leading.changed() => {
                let leads = *leading.borrow_and_update();
                if !leads {
                    tasks.abort_all();
                }
                ledger.lead(leads, Instant::now());
            }
            Ok(()) = client_ca.changed() => {
                ledger.set_client_ca(client_ca.borrow_and_update().clone(), Instant::now());
            }
            () = sleep_until(due) => {}
        }
    }
    // Nobody else begins before nothing is under way here.
    tasks.shutdown().await;
    candidacy.cancel();
    // It fails with nothing that matters any more.
    let _ = election.await;
}

async fn sleep_until(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when).await,
        None => std::future::pending().await,
    }
}
