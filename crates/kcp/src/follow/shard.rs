//! One shard: what its virtual workspace has of each kind, and whether it answers at all.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ephemeral_index::kinds::Kind;
use ephemeral_index::{Event, Source};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::reflect::{Collection, Failure, Seen, reflect};
use crate::base::Base;
use crate::stats::Stats;

/// What is read of a shard.
const KINDS: [Kind; 3] = [Kind::EphemeralWebhook, Kind::APIExport, Kind::APIResourceSchema];
/// What was seen and not yet told.
const BACKLOG: usize = 64;

/// Reads a shard until nobody listens.
///
/// `grace` is how long it may fail to answer before it counts as away.
pub(super) async fn read(
    shard: Arc<str>,
    workspace: Base,
    grace: Duration,
    stats: Arc<Stats>,
    events: mpsc::Sender<Vec<Event>>,
) {
    let (teller, mut seen) = mpsc::channel(BACKLOG);
    let mut readers = JoinSet::new();
    for kind in KINDS {
        let collection = Collection {
            cluster: workspace.cluster("*"),
            kind,
            stats: stats.clone(),
        };
        readers.spawn(reflect(collection, teller.clone()));
    }
    let mut shard = Shard::new(shard, grace, stats);
    loop {
        let told = tokio::select! {
            Some((kind, news)) = seen.recv() => shard.take(kind, news),
            () = sleep_until(shard.missed_at()) => shard.miss(),
        };
        if !told.is_empty() && events.send(told).await.is_err() {
            return;
        }
    }
}

async fn sleep_until(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when).await,
        None => std::future::pending().await,
    }
}

/// What is known about a shard.
struct Shard {
    source: Source,
    grace: Duration,
    stats: Arc<Stats>,
    /// The kinds that were listed once.
    listed: BTreeSet<Kind>,
    /// The kinds that could not be read lately, and since when there have been any.
    failing: BTreeSet<Kind>,
    failing_since: Option<Instant>,
    /// Why the last one could not be, for the operator.
    last_failure: Option<Failure>,
    away: bool,
    complete: bool,
}

impl Shard {
    fn new(name: Arc<str>, grace: Duration, stats: Arc<Stats>) -> Self {
        Self {
            source: Source::Shard(name),
            grace,
            stats,
            listed: BTreeSet::new(),
            failing: BTreeSet::new(),
            failing_since: None,
            last_failure: None,
            away: false,
            complete: false,
        }
    }

    /// When it counts as away, if it goes on like this.
    fn missed_at(&self) -> Option<Instant> {
        let since = self.failing_since.filter(|_| !self.away)?;
        Some(since + self.grace)
    }

    fn miss(&mut self) -> Vec<Event> {
        let error = self
            .last_failure
            .as_ref()
            .map(|failure| failure as &dyn std::error::Error);
        tracing::warn!(source = %self.source, error, "cannot be read; what is known of it stays");
        self.away = true;
        vec![Event::Away(self.source.clone())]
    }

    fn take(&mut self, kind: Kind, seen: Seen) -> Vec<Event> {
        let source = || self.source.clone();
        let mut events = Vec::new();
        match seen {
            Seen::Failed(failure) => {
                self.fail(kind, failure);
                return events;
            }
            Seen::Answered => {}
            Seen::Applied(object) => events.push(Event::Apply(source(), object)),
            Seen::Deleted(object) => events.push(Event::Delete(source(), object)),
            Seen::Listed(objects) => {
                let source = source();
                self.listed.insert(kind);
                events.push(Event::Reset { source, kind, objects });
            }
        }
        self.failing.remove(&kind);
        if !self.failing.is_empty() {
            // What one kind tells does not bring the shard back, but the index takes it so.
            if self.away && !events.is_empty() {
                events.push(Event::Away(self.source.clone()));
            }
            return events;
        }
        self.failing_since = None;
        self.last_failure = None;
        let returned = std::mem::take(&mut self.away);
        if returned {
            tracing::info!(source = %self.source, "answers again");
        }
        if self.listed.len() == KINDS.len() && (returned || !self.complete) {
            self.complete = true;
            events.push(Event::Complete(self.source.clone()));
        }
        events
    }

    fn fail(&mut self, kind: Kind, failure: Failure) {
        self.stats.failures.increment();
        tracing::debug!(source = %self.source, %kind, error = &failure as &dyn std::error::Error, "cannot be read");
        self.last_failure = Some(failure);
        self.failing.insert(kind);
        self.failing_since.get_or_insert_with(Instant::now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard() -> Shard {
        Shard::new("a".into(), Duration::from_secs(30), Arc::default())
    }

    fn names(events: &[Event]) -> Vec<&'static str> {
        events
            .iter()
            .map(|event| match event {
                Event::Reset { .. } => "reset",
                Event::Complete(_) => "complete",
                Event::Away(_) => "away",
                _ => "other",
            })
            .collect()
    }

    #[tokio::test]
    async fn complete_once_all_kinds_were_listed_and_again_after_a_return() {
        let mut shard = shard();
        let list = || Seen::Listed(Vec::new());
        assert_eq!(names(&shard.take(Kind::APIExport, list())), ["reset"]);
        assert_eq!(names(&shard.take(Kind::EphemeralWebhook, list())), ["reset"]);
        assert_eq!(
            names(&shard.take(Kind::APIResourceSchema, list())),
            ["reset", "complete"]
        );
        assert_eq!(names(&shard.take(Kind::APIResourceSchema, list())), ["reset"]);

        for kind in KINDS {
            assert!(shard.take(kind, Seen::Failed(Failure::NotServed)).is_empty());
        }
        assert!(shard.missed_at().is_some());
        assert_eq!(names(&shard.miss()), ["away"]);
        assert!(shard.missed_at().is_none(), "told once");
        assert_eq!(names(&shard.take(Kind::APIExport, list())), ["reset", "away"]);
        assert!(shard.take(Kind::EphemeralWebhook, Seen::Answered).is_empty());
        assert_eq!(
            names(&shard.take(Kind::APIResourceSchema, Seen::Answered)),
            ["complete"]
        );
        assert!(shard.missed_at().is_none());
    }
}
