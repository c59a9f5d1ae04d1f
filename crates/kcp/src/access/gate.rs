//! How many questions are under way, in all and for each home.
//!
//! Whose share of the gate a question takes must be something that its asker can neither choose nor multiply. The
//! logical cluster in the path is text that a provider wrote: with it as the key one could use up a stranger's share,
//! or have a new one with each request. What counts is the home of the caller, see [`Question::home`].
//!
//! [`Question::home`]: super::Question::home

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::question::Fingerprint;

/// Most homes whose limits are remembered; of more, the least recently used start anew.
const MAX_HOMES: u64 = 10_000;
/// How long a home that asks nothing is remembered. A full bucket needs less.
const IDLE: Duration = Duration::from_mins(1);

/// The limits.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Questions to kcp under way in all.
    pub in_flight: usize,
    /// Questions under way for one home; of what all may have, a part.
    pub in_flight_per_home: usize,
    /// Questions of one home that may wait for a place; more are turned away, since each holds up a request.
    pub waiting_per_home: usize,
    /// Questions a second of one home.
    pub rate_per_home: NonZeroU32,
    /// Questions at once of one home that has asked nothing for a while.
    pub burst_per_home: NonZeroU32,
}

impl Default for Limits {
    /// 128 in all, 32 for a home and 96 more waiting, 200 a second and 400 at once.
    fn default() -> Self {
        const RATE: (NonZeroU32, NonZeroU32) = (NonZeroU32::new(200).unwrap(), NonZeroU32::new(400).unwrap());
        Self {
            in_flight: 128,
            in_flight_per_home: 32,
            waiting_per_home: 96,
            rate_per_home: RATE.0,
            burst_per_home: RATE.1,
        }
    }
}

/// Where every question passes.
pub(super) struct Gate {
    limits: Limits,
    places: Semaphore,
    homes: Cache<Fingerprint, Arc<Home>>,
}

/// What one home has of the gate.
pub(super) struct Home {
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
            // The default policy turns newcomers away, who then would have no limits at all.
            homes: Cache::builder()
                .max_capacity(MAX_HOMES)
                .eviction_policy(EvictionPolicy::lru())
                .time_to_idle(IDLE)
                .build(),
        }
    }

    /// What a home has of the gate.
    pub(super) fn home(&self, home: Fingerprint) -> Arc<Home> {
        self.homes.get_with(home, || {
            let limits = &self.limits;
            let quota = Quota::per_second(limits.rate_per_home).allow_burst(limits.burst_per_home);
            Arc::new(Home {
                queue: Semaphore::new(limits.in_flight_per_home.saturating_add(limits.waiting_per_home)),
                places: Semaphore::new(limits.in_flight_per_home),
                rate: RateLimiter::direct(quota),
            })
        })
    }

    /// Waits for a place, first for one of the home's; nothing where too many of its questions wait already.
    pub(super) async fn enter<'a>(&'a self, home: &'a Home) -> Option<Pass<'a>> {
        let waiting = home.queue.try_acquire().ok()?;
        let own = home.places.acquire().await.ok()?;
        home.rate.until_ready().await;
        let place = self.places.acquire().await.ok()?;
        Some(Pass([waiting, own, place]))
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn of(name: &str) -> Fingerprint {
        let mut home = Fingerprint::default();
        home[..name.len()].copy_from_slice(name.as_bytes());
        home
    }

    fn gate() -> Gate {
        Gate::new(Limits {
            in_flight: 3,
            in_flight_per_home: 2,
            waiting_per_home: 1,
            ..Limits::default()
        })
    }

    #[test]
    fn a_home_leaves_room_for_others() {
        let gate = gate();
        let (a, b) = (gate.home(of("a")), gate.home(of("b")));
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
        let homes = ["a", "b", "c", "d"].map(|name| gate.home(of(name)));
        let mut passes: Vec<_> = homes.iter().map(|home| Box::pin(gate.enter(home))).collect();
        let taken: Vec<_> = passes.iter_mut().map(|pass| pass.as_mut().now_or_never()).collect();
        assert_eq!(taken.iter().filter(|pass| pass.is_some()).count(), 3);
    }

    #[test]
    fn a_home_that_is_known_keeps_its_limits() {
        let gate = gate();
        assert!(Arc::ptr_eq(&gate.home(of("a")), &gate.home(of("a"))));
        assert!(!Arc::ptr_eq(&gate.home(of("a")), &gate.home(of("b"))));
    }
}
