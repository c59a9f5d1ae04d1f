//! How many questions are under way, in all and for each consumer.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use moka::sync::Cache;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Most consumers whose limits are remembered; of more, the least recently used start anew.
const MAX_CONSUMERS: u64 = 10_000;
/// How long a consumer that asks nothing is remembered. A full bucket needs less.
const IDLE: Duration = Duration::from_mins(1);

/// The limits.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Questions to kcp under way in all.
    pub in_flight: usize,
    /// Questions under way for one consumer; of what all may have, a part.
    pub in_flight_per_consumer: usize,
    /// Questions of one consumer that may wait for a place; more are turned away, since each holds up a request.
    pub waiting_per_consumer: usize,
    /// Questions a second of one consumer.
    pub rate_per_consumer: NonZeroU32,
    /// Questions at once of one consumer that has asked nothing for a while.
    pub burst_per_consumer: NonZeroU32,
}

impl Default for Limits {
    /// 128 in all, 32 for a consumer and 96 more waiting, 200 a second and 400 at once.
    fn default() -> Self {
        const RATE: (NonZeroU32, NonZeroU32) = (NonZeroU32::new(200).unwrap(), NonZeroU32::new(400).unwrap());
        Self {
            in_flight: 128,
            in_flight_per_consumer: 32,
            waiting_per_consumer: 96,
            rate_per_consumer: RATE.0,
            burst_per_consumer: RATE.1,
        }
    }
}

/// Where every question passes.
pub(super) struct Gate {
    limits: Limits,
    places: Semaphore,
    consumers: Cache<Arc<str>, Arc<Consumer>>,
}

/// What one logical cluster has of the gate.
pub(super) struct Consumer {
    queue: Semaphore,
    places: Semaphore,
    rate: DefaultDirectRateLimiter,
}

/// A question under way; dropping it makes room.
#[must_use]
pub(super) struct Pass<'a>(#[allow(dead_code, reason = "held for their drop")] [SemaphorePermit<'a>; 3]);

impl Gate {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            places: Semaphore::new(limits.in_flight),
            limits,
            consumers: Cache::builder().max_capacity(MAX_CONSUMERS).time_to_idle(IDLE).build(),
        }
    }

    /// What a logical cluster has of the gate.
    pub(super) fn consumer(&self, cluster: &str) -> Arc<Consumer> {
        if let Some(consumer) = self.consumers.get(cluster) {
            return consumer;
        }
        self.consumers.get_with(cluster.into(), || {
            let limits = &self.limits;
            let quota = Quota::per_second(limits.rate_per_consumer).allow_burst(limits.burst_per_consumer);
            Arc::new(Consumer {
                queue: Semaphore::new(
                    limits
                        .in_flight_per_consumer
                        .saturating_add(limits.waiting_per_consumer),
                ),
                places: Semaphore::new(limits.in_flight_per_consumer),
                rate: RateLimiter::direct(quota),
            })
        })
    }

    /// Waits for a place, first for one of the consumer's; nothing where too many of its questions wait already.
    pub(super) async fn enter<'a>(&'a self, consumer: &'a Consumer) -> Option<Pass<'a>> {
        let waiting = consumer.queue.try_acquire().ok()?;
        let own = consumer.places.acquire().await.ok()?;
        consumer.rate.until_ready().await;
        let place = self.places.acquire().await.ok()?;
        Some(Pass([waiting, own, place]))
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn gate() -> Gate {
        Gate::new(Limits {
            in_flight: 3,
            in_flight_per_consumer: 2,
            waiting_per_consumer: 1,
            ..Limits::default()
        })
    }

    #[test]
    fn a_consumer_leaves_room_for_others() {
        let gate = gate();
        let (a, b) = (gate.consumer("a"), gate.consumer("b"));
        let first = gate.enter(&a).now_or_never().flatten();
        let second = gate.enter(&a).now_or_never().flatten();
        assert!(first.is_some() && second.is_some());
        let mut third = Box::pin(gate.enter(&a));
        assert!(third.as_mut().now_or_never().is_none(), "waits");
        assert!(matches!(gate.enter(&a).now_or_never(), Some(None)), "is turned away");
        let other = gate.enter(&b).now_or_never().flatten();
        assert!(other.is_some());
        drop(first);
        assert!(third.now_or_never().flatten().is_some());
    }

    #[test]
    fn all_together_are_bounded() {
        let gate = gate();
        let consumers = ["a", "b", "c", "d"].map(|name| gate.consumer(name));
        let mut passes: Vec<_> = consumers
            .iter()
            .map(|consumer| Box::pin(gate.enter(consumer)))
            .collect();
        let taken: Vec<_> = passes.iter_mut().map(|pass| pass.as_mut().now_or_never()).collect();
        assert_eq!(taken.iter().filter(|pass| pass.is_some()).count(), 3);
    }

    #[test]
    fn a_consumer_that_is_known_keeps_its_limits() {
        let gate = gate();
        assert!(Arc::ptr_eq(&gate.consumer("a"), &gate.consumer("a")));
        assert!(!Arc::ptr_eq(&gate.consumer("a"), &gate.consumer("b")));
    }
}
