//! The one task that owns the index.

use std::sync::Arc;
use std::time::Duration;

use ephemeral_index::{EndpointFactory, Event, Index, Snapshot};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::publish::Work;

/// How often everything is looked at, whatever changed, unless the operator says otherwise.
pub const RESYNC: Duration = Duration::from_mins(1);
/// Batches of events that are folded in at once.
const BATCHES: usize = 64;

/// Folds events into an index until `stop`, or until nobody sends any more.
///
/// Each `resync`, endpoints are judged anew, and everything is told to the publisher, which forgets what is gone and
/// looks at each slice.
///
/// `swap` is given the index and its snapshot after each batch. Work goes to the publisher, if there is one: a
/// [`publish`](crate::publish()) on the other end takes it in at any time, so this never waits for kcp.
pub async fn fold<F: EndpointFactory>(
    mut index: Index<F>,
    mut events: mpsc::Receiver<Vec<Event>>,
    publisher: Option<mpsc::Sender<Work>>,
    resync: Duration,
    mut swap: impl FnMut(&Index<F>, Arc<Snapshot<F::Handle>>),
    stop: CancellationToken,
) {
    let mut batches = Vec::with_capacity(BATCHES);
    let mut resync = tokio::time::interval(resync);
    resync.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let work = tokio::select! {
            () = stop.cancelled() => return,
            received = events.recv_many(&mut batches, BATCHES) => {
                if received == 0 {
                    return;
                }
                let update = index.apply(batches.drain(..).flatten());
                swap(&index, update.snapshot);
                Work::Changed { statuses: update.statuses, slices: update.slices }
            }
            _ = resync.tick() => {
                let update = index.apply([Event::JudgeEndpoints]);
                swap(&index, update.snapshot);
                Work::All { statuses: index.statuses().collect(), slices: index.slices().collect() }
            }
        };
        if let Some(publisher) = &publisher
            && !work.is_empty()
            && publisher.send(work).await.is_err()
        {
            // It ended, as it does when everything stops.
            return;
        }
    }
}
