//! How often one consumer may ask one webhook.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use crate::fault::ClientFault;

/// Most pairs of consumer and webhook whose rate is remembered; of more, the least recently used start anew.
const MAX_BUCKETS: u64 = 100_000;

/// A token bucket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rate {
    /// Tokens that come back each second.
    pub per_second: NonZeroU32,
    /// Tokens of a full bucket.
    pub burst: NonZeroU32,
}

impl Default for Rate {
    /// 100 a second, 200 at once.
    fn default() -> Self {
        const DEFAULT: (NonZeroU32, NonZeroU32) = (NonZeroU32::new(100).unwrap(), NonZeroU32::new(200).unwrap());
        Self {
            per_second: DEFAULT.0,
            burst: DEFAULT.1,
        }
    }
}

/// One bucket for each consumer and webhook.
#[derive(Debug)]
pub(super) struct Buckets {
    quota: Quota,
    by_key: Cache<String, Arc<DefaultDirectRateLimiter>>,
    clock: DefaultClock,
}

impl Buckets {
    pub(super) fn new(rate: Rate) -> Self {
        // An untouched bucket is full again after this time, and then no different from a new one.
        let refill = Duration::from_secs(u64::from(rate.burst.get().div_ceil(rate.per_second.get())) + 1);
        let by_key = Cache::builder()
            .max_capacity(MAX_BUCKETS)
            .eviction_policy(EvictionPolicy::lru())
            .time_to_idle(refill)
            .build();
        Self {
            quota: Quota::per_second(rate.per_second).allow_burst(rate.burst),
            by_key,
            clock: DefaultClock::default(),
        }
    }

    pub(super) fn take(&self, consumer: &str, webhook: &str) -> Result<(), ClientFault> {
        // The name of a logical cluster has no slash, so two pairs never make one key.
        let key = format!("{consumer}/{webhook}");
        let bucket = self
            .by_key
            .get_with(key, || Arc::new(DefaultDirectRateLimiter::direct(self.quota)));
        bucket.check().map_err(|until| ClientFault::TooManyRequests {
            message: "too many requests of this workspace to this resource, please try again later",
            retry_after: whole_seconds(until.wait_time_from(self.clock.now())),
        })
    }
}

/// Rounded up, and at least one: `Retry-After` has no fractions.
fn whole_seconds(wait: Duration) -> u32 {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    u32::try_from(seconds).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_one_consumers_for_one_webhook() {
        let buckets = Buckets::new(Rate {
            per_second: NonZeroU32::MIN,
            burst: NonZeroU32::new(2).unwrap(),
        });
        for consumer in ["a", "b"] {
            for webhook in ["one", "two"] {
                assert!(
                    (0..2).all(|_| buckets.take(consumer, webhook).is_ok()),
                    "{consumer} {webhook}"
                );
                match buckets.take(consumer, webhook) {
                    Err(ClientFault::TooManyRequests { retry_after: 1, .. }) => {}
                    other => panic!("{consumer} {webhook}: {other:?}"),
                }
            }
        }
    }

    #[test]
    fn waits_are_rounded_up() {
        let rows = [(0, 1), (1, 1), (1_000, 1), (1_001, 2), (2_500, 3)];
        for (millis, seconds) in rows {
            assert_eq!(whole_seconds(Duration::from_millis(millis)), seconds, "{millis}");
        }
    }
}
