//! Places for work that would hold up the threads which serve connections: large bodies and costly rules.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// Places for heavy work, and how many of them one webhook and one provider may hold.
///
/// Whoever finds no place waits, first in the row of the webhook, then in the provider's, then in the row for the places:
/// each is served in the order of arrival, and no more of a webhook's or provider's requests stand in the next row than
/// there are processors. So a provider whose rules are as costly as rules may be has its own consumers wait, and however
/// many webhooks it nominates, at most that many of its requests come before another provider's.
#[derive(Debug)]
pub struct Heavy {
    places: Arc<Semaphore>,
    webhooks: Shares,
    providers: Shares,
}

/// A place; it is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    _permits: [OwnedSemaphorePermit; 3],
}

impl Heavy {
    /// As much work for one webhook, and for one provider, as there are processors, and twice as much in all: one can
    /// keep the machine busy when nobody else wants it, and cannot take every place.
    pub fn new(processors: usize) -> Self {
        let share = processors.max(1);
        Self {
            places: Arc::new(Semaphore::new(2 * share)),
            webhooks: Shares::new(share),
            providers: Shares::new(share),
        }
    }

    /// Waits for a place for a request to a webhook, by name, of a provider's logical cluster.
    pub(crate) async fn enter(&self, provider: &str, webhook: &str) -> Result<Place, AcquireError> {
        let of_webhook = self
            .webhooks
            .of(&format!("{provider}/{webhook}"))
            .acquire_owned()
            .await?;
        let of_provider = self.providers.of(provider).acquire_owned().await?;
        let place = Arc::clone(&self.places).acquire_owned().await?;
        Ok(Place {
            _permits: [place, of_provider, of_webhook],
        })
    }
}

/// The share that each of many has.
#[derive(Debug)]
struct Shares {
    size: usize,
    /// The shares of those that hold places or wait for them.
    shares: Mutex<HashMap<Box<str>, Weak<Semaphore>>>,
}

impl Shares {
    fn new(size: usize) -> Self {
        Self {
            size,
            shares: Mutex::default(),
        }
    }

    fn of(&self, whose: &str) -> Arc<Semaphore> {
        // The map is whole after every statement.
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = shares.get(whose).and_then(Weak::upgrade) {
            return share;
        }
        // Those that nobody holds or waits for go whenever one comes: never more are left than requests are under way.
        shares.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Semaphore::new(self.size));
        shares.insert(whose.into(), Arc::downgrade(&share));
        share
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use futures::poll;

    use super::*;

    #[tokio::test]
    async fn one_webhook_leaves_places_to_others() {
        let heavy = Heavy::new(2);
        let first = heavy.enter("p", "a").await.unwrap();
        let _second = heavy.enter("p", "a").await.unwrap();
        let mut third = Box::pin(heavy.enter("p", "a"));
        let mut fourth = Box::pin(heavy.enter("p", "a"));
        assert!(poll!(&mut third).is_pending() && poll!(&mut fourth).is_pending());
        let other = poll!(Box::pin(heavy.enter("q", "b")));
        assert!(
            matches!(other, Poll::Ready(Ok(_))),
            "another webhook waits for none of them"
        );
        drop(first);
        let third = poll!(&mut third);
        assert!(third.is_ready());
        assert!(poll!(&mut fourth).is_pending());
    }

    #[tokio::test]
    async fn places_are_limited_in_all_and_forgotten_when_free() {
        let heavy = Heavy::new(1);
        let held = (
            heavy.enter("p", "a").await.unwrap(),
            heavy.enter("q", "b").await.unwrap(),
        );
        let mut waiting = Box::pin(heavy.enter("r", "c"));
        assert!(poll!(&mut waiting).is_pending());
        drop(held);
        assert!(poll!(&mut waiting).is_ready());
        drop(waiting);
        drop(heavy.enter("r", "d").await.unwrap());
        let shares = heavy.webhooks.shares.lock().unwrap();
        assert_eq!(shares.keys().map(|key| &**key).collect::<Vec<_>>(), ["r/d"]);
    }

    #[tokio::test]
    async fn many_webhooks_of_one_provider_leave_places_to_others() {
        let heavy = Heavy::new(2);
        let names: Vec<_> = (0..50).map(|number| format!("hostile-{number}")).collect();
        let mut hostile: Vec<_> = names.iter().map(|name| Box::pin(heavy.enter("p", name))).collect();
        let mut held = Vec::new();
        for waiting in &mut hostile {
            if let Poll::Ready(place) = poll!(waiting) {
                held.push(place.unwrap());
            }
        }
        assert_eq!(held.len(), 2);
        let quiet = poll!(Box::pin(heavy.enter("q", "quiet")));
        assert!(
            matches!(quiet, Poll::Ready(Ok(_))),
            "another provider waits for none of them"
        );
    }

    #[tokio::test]
    async fn a_quiet_provider_has_its_turn_after_those_that_came_before() {
        let heavy = Heavy::new(1);
        let first = heavy.enter("p", "a").await.unwrap();
        let second = heavy.enter("q", "b").await.unwrap();
        let mut again = Box::pin(heavy.enter("p", "c"));
        let mut third = Box::pin(heavy.enter("r", "d"));
        assert!(poll!(&mut again).is_pending() && poll!(&mut third).is_pending());
        let mut quiet = Box::pin(heavy.enter("s", "e"));
        assert!(poll!(&mut quiet).is_pending());
        drop(first);
        // The second request of the first provider only now gets into the row, behind the quiet one.
        assert!(poll!(&mut again).is_pending());
        let third = poll!(&mut third);
        assert!(third.is_ready() && poll!(&mut quiet).is_pending());
        drop(second);
        assert!(poll!(&mut again).is_pending() && poll!(&mut quiet).is_ready());
    }
}
