//! The fold of what happens into the snapshot, and what the operator is told of it.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use ephemeral_apiserver::health::{Health, Task};
use ephemeral_apiserver::webhook::Snapshot;
use ephemeral_index::{Event, Index, Origin, Subject};
use ephemeral_kcp::Work;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::directory::Nominated;
use crate::webhooks::Webhooks;

/// The snapshot, and the words that go with it.
pub(crate) struct Nominations {
    snapshot: Arc<ArcSwap<Snapshot>>,
    words: Arc<ArcSwap<Words>>,
    directory: Option<Nominated>,
    /// Held until the first read is complete.
    starting: Option<Task>,
}

/// What is listed at `readyz?verbose`. Everybody may read that, so that problems of providers' nominations are not
/// among it: those are in their conditions.
#[derive(Default)]
struct Words {
    sources: Vec<String>,
    manifests: Vec<String>,
}

impl Nominations {
    /// Nothing was read yet. `readyz` fails until every source was read once, or is given up on.
    pub(crate) fn new(directory: Option<Nominated>, health: &Health) -> Self {
        let words = Arc::new(ArcSwap::from_pointee(Words::default()));
        health.problems({
            let words = Arc::clone(&words);
            move || {
                let words = words.load();
                words.sources.iter().chain(&words.manifests).cloned().collect()
            }
        });
        Self {
            snapshot: Arc::default(),
            words,
            directory,
            starting: Some(health.task("nominations")),
        }
    }

    /// What requests are answered from.
    pub(crate) fn snapshot(&self) -> Arc<ArcSwap<Snapshot>> {
        Arc::clone(&self.snapshot)
    }

    /// Folds what comes through `events` into the index until `stop`. Schemas compile there, so it has a thread of its
    /// own, where it holds up no request.
    pub(crate) async fn follow(
        mut self,
        index: Index<Webhooks>,
        events: mpsc::Receiver<Vec<Event>>,
        publisher: Option<mpsc::Sender<Work>>,
        resync: Duration,
        stop: CancellationToken,
    ) {
        let folding = spawn_blocking(move || {
            let swap = |index: &Index<Webhooks>, snapshot| self.show(index, snapshot);
            Handle::current().block_on(ephemeral_kcp::fold(index, events, publisher, resync, swap, stop));
        });
        if let Err(error) = folding.await {
            warn!(%error, "nominations are not followed any longer");
        }
    }

    /// Lets requests see a snapshot, and the operator what there is to say about it.
    pub(crate) fn show(&mut self, index: &Index<Webhooks>, snapshot: Arc<Snapshot>) {
        let known = self.words.load();
        let awaited = index.awaited().map(|source| format!("{source}: was not read yet"));
        let away = index.unanswering().map(|source| format!("{source}: does not answer"));
        let words = Words {
            sources: awaited.chain(away).collect(),
            manifests: self.manifests(&snapshot),
        };
        for problem in words
            .manifests
            .iter()
            .filter(|problem| !known.manifests.contains(problem))
        {
            warn!(
                problem,
                "something is wrong with a nomination of the manifests directory"
            );
        }
        self.words.store(Arc::new(words));
        if snapshot.is_complete() && self.starting.take().is_some() {
            info!(nominations = snapshot.len(), "everything was read once");
        }
        self.snapshot.store(snapshot);
    }

    /// What is wrong with the nominations of the manifests directory.
    fn manifests(&self, snapshot: &Snapshot) -> Vec<String> {
        let Some(directory) = &self.directory else {
            return Vec::new();
        };
        let nominated = directory.load();
        // kcp prunes the inline form, so that it comes from a directory alone.
        let own = |subject: &Subject| matches!(subject.origin, Origin::Inline(_)) || nominated.contains(subject);
        let problems = snapshot.problems().filter(|(subject, _)| own(subject));
        let mut problems: Vec<_> = problems
            .map(|(subject, problem)| format!("{subject}: {}: {}", problem.reason(), problem.message()))
            .collect();
        problems.sort();
        problems
    }
}
