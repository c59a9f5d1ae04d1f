//! Places for work that would hold up the threads which serve connections: large bodies and costly rules.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

/// Places for heavy work, and how many of them the requests to one webhook may hold.
///
/// Whoever finds no place waits. Each webhook waits for its own share first, so that a provider whose rules are as
/// costly as rules may be has its own consumers wait, and not those of others.
#[derive(Debug)]
pub struct Heavy {
    places: Arc<Semaphore>,
    share: usize,
    /// The shares of the webhooks that hold places or wait for them.
    shares: Mutex<HashMap<Box<str>, Weak<Semaphore>>>,
}

/// A place; it is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    _place: OwnedSemaphorePermit,
    _of_share: OwnedSemaphorePermit,
}

impl Heavy {
    /// As much work for one webhook as there are processors, and twice as much in all: one webhook can keep the machine
    /// busy when nobody else wants it, and cannot take every place.
    pub fn new(processors: usize) -> Self {
        let share = processors.max(1);
        Self {
            places: Arc::new(Semaphore::new(2 * share)),
            share,
            shares: Mutex::default(),
        }
    }

    /// Waits for a place for a request to a webhook.
    pub(crate) async fn enter(&self, webhook: &str) -> Result<Place, AcquireError> {
        let of_share = self.share_of(webhook).acquire_owned().await?;
        let place = Arc::clone(&self.places).acquire_owned().await?;
        Ok(Place {
            _place: place,
            _of_share: of_share,
        })
    }

    fn share_of(&self, webhook: &str) -> Arc<Semaphore> {
        // The map is whole after every statement.
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = shares.get(webhook).and_then(Weak::upgrade) {
            return share;
        }
        // Those that nobody holds or waits for go whenever one comes: never more are left than requests are under way.
        shares.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(Semaphore::new(self.share));
        shares.insert(webhook.into(), Arc::downgrade(&share));
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
        let first = heavy.enter("a").await.unwrap();
        let _second = heavy.enter("a").await.unwrap();
        let mut third = Box::pin(heavy.enter("a"));
        let mut fourth = Box::pin(heavy.enter("a"));
        assert!(poll!(&mut third).is_pending() && poll!(&mut fourth).is_pending());
        let other = poll!(Box::pin(heavy.enter("b")));
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
        let held = (heavy.enter("a").await.unwrap(), heavy.enter("b").await.unwrap());
        let mut waiting = Box::pin(heavy.enter("c"));
        assert!(poll!(&mut waiting).is_pending());
        drop(held);
        assert!(poll!(&mut waiting).is_ready());
        drop(waiting);
        drop(heavy.enter("d").await.unwrap());
        let shares = heavy.shares.lock().unwrap();
        assert_eq!(shares.keys().map(|key| &**key).collect::<Vec<_>>(), ["d"]);
    }
}
