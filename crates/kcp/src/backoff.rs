//! When to try again.

use std::time::Duration;

use rand::Rng;

/// Delays that double from one second to a minute, each drawn from the upper half of what it may be, so that many who
/// failed together do not come back together.
#[derive(Clone, Debug)]
pub(crate) struct Backoff {
    next: Duration,
    max: Duration,
}

impl Backoff {
    const FIRST: Duration = Duration::from_secs(1);

    pub(crate) const fn up_to(max: Duration) -> Self {
        Self { next: Self::FIRST, max }
    }

    /// The delay before the next attempt.
    pub(crate) fn delay(&mut self) -> Duration {
        let delay = self.next.min(self.max);
        self.next = (delay * 2).min(self.max);
        jittered(delay)
    }

    pub(crate) const fn reset(&mut self) {
        self.next = Self::FIRST;
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::up_to(Duration::from_mins(1))
    }
}

/// Something between half of a duration and all of it.
pub(crate) fn jittered(duration: Duration) -> Duration {
    duration.mul_f64(rand::rng().random_range(0.5..=1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_their_maximum() {
        let mut backoff = Backoff::up_to(Duration::from_secs(10));
        for expected in [1, 2, 4, 8, 10, 10] {
            let delay = backoff.delay();
            let expected = Duration::from_secs(expected);
            assert!(delay <= expected && delay >= expected / 2, "{delay:?} of {expected:?}");
        }
        backoff.reset();
        assert!(backoff.delay() <= Duration::from_secs(1));
    }
}
