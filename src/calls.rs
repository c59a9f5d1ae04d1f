//! What creates meet at webhooks, told to their providers rarely and in one word.
//!
//! Each change of that word is a write of a status, so a webhook that fails every second call must not cause one for
//! every second call. The calls of some time are judged together, and a webhook is judged at most once in that time.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use ephemeral_index::{Calls, Event};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

/// How often it is looked whether there is anything to tell.
const LOOK: Duration = Duration::from_secs(1);

/// What the calls of one handle met since they were last judged.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    answered: AtomicU32,
    /// Of those, the ones in whose TLS session no client certificate was asked for.
    unasked: AtomicU32,
    failed: AtomicU32,
}

impl Tally {
    /// A call brought an answer.
    pub(crate) fn answered(&self, certificate_requested: bool) {
        self.answered.fetch_add(1, Ordering::Relaxed);
        if !certificate_requested {
            self.unasked.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A call brought none.
    pub(crate) fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// What most calls met, and begins anew; nothing where there were none.
    fn take(&self) -> Option<Calls> {
        let take = |count: &AtomicU32| count.swap(0, Ordering::Relaxed);
        match (take(&self.answered), take(&self.unasked), take(&self.failed)) {
            (0, _, 0) => None,
            (answered, _, failed) if failed > answered => Some(Calls::Failing),
            (_, 0, _) => Some(Calls::Succeeding),
            _ => Some(Calls::ClientCertificateNotRequested),
        }
    }
}

/// The tallies of all handles that there are.
#[derive(Debug, Default)]
pub(crate) struct Observed(Mutex<Vec<Entry>>);

#[derive(Debug)]
struct Entry {
    cluster: Arc<str>,
    webhook: Arc<str>,
    tally: Weak<Tally>,
    /// What was told last, and when it was judged.
    judged: Option<(Calls, Instant)>,
}

impl Observed {
    /// The tally of a handle that was just made for an EphemeralWebhook.
    pub(crate) fn begin(&self, cluster: &str, webhook: &str) -> Arc<Tally> {
        let tally = Arc::<Tally>::default();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Entry {
            cluster: cluster.into(),
            webhook: webhook.into(),
            tally: Arc::downgrade(&tally),
            judged: None,
        });
        tally
    }

    /// Tells what changed, of each webhook at most once in `pause`, until `stop`.
    pub(crate) async fn tell(
        self: Arc<Self>,
        pause: Duration,
        events: mpsc::Sender<Vec<Event>>,
        stop: CancellationToken,
    ) {
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while stop.run_until_cancelled(look.tick()).await.is_some() {
            let news = self.news(pause, Instant::now());
            if !news.is_empty() && events.send(news).await.is_err() {
                return;
            }
        }
    }

    fn news(&self, pause: Duration, now: Instant) -> Vec<Event> {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.tally.strong_count() > 0);
        entries.iter_mut().filter_map(|entry| entry.news(pause, now)).collect()
    }
}

impl Entry {
    fn news(&mut self, pause: Duration, now: Instant) -> Option<Event> {
        if self.judged.is_some_and(|(_, at)| now < at + pause) {
            return None;
        }
        let calls = self.tally.upgrade()?.take()?;
        let before = self.judged.replace((calls, now));
        let is_news = before.is_none_or(|(before, _)| before != calls);
        is_news.then(|| Event::Calls {
            cluster: Arc::clone(&self.cluster),
            webhook: Arc::clone(&self.webhook),
            calls,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_mins(1);

    fn told(observed: &Observed, now: Instant) -> Vec<Calls> {
        let news = observed.news(PAUSE, now);
        let calls = news.into_iter().map(|event| match event {
            Event::Calls { calls, .. } => calls,
            other => panic!("{other:?}"),
        });
        calls.collect()
    }

    #[test]
    fn what_most_calls_met_is_told_once_and_then_rarely() {
        let (observed, start) = (Observed::default(), Instant::now());
        let tally = observed.begin("c", "w");
        assert!(told(&observed, start).is_empty(), "nobody called");
        tally.failed();
        assert_eq!(told(&observed, start), [Calls::Failing], "the first one at once");
        let mut tellings = 0;
        for second in 0..600 {
            // Flaps with every call.
            if second % 2 == 0 {
                tally.answered(true);
            } else {
                tally.failed();
            }
            tellings += told(&observed, start + Duration::from_secs(second)).len();
        }
        assert!(tellings <= 10, "{tellings} in ten minutes");
        let later = start + Duration::from_hours(1);
        told(&observed, later);
        tally.answered(true);
        tally.answered(false);
        tally.failed();
        assert_eq!(told(&observed, later + PAUSE), [Calls::ClientCertificateNotRequested]);
        tally.answered(false);
        assert!(told(&observed, later + 2 * PAUSE).is_empty(), "known already");
        tally.answered(true);
        assert_eq!(told(&observed, later + 3 * PAUSE), [Calls::Succeeding]);
    }

    #[test]
    fn handles_that_are_gone_are_forgotten() {
        let observed = Observed::default();
        for _ in 0..10 {
            observed.begin("c", "w").failed();
        }
        assert!(told(&observed, Instant::now()).is_empty());
        assert!(observed.0.lock().unwrap().is_empty());
    }
}
