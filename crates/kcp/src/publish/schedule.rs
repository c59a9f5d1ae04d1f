//! When what is due.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use tokio::time::Instant;

/// Keys, each with the time at which it is due.
pub(super) struct Schedule<K> {
    order: BTreeSet<(Instant, K)>,
    times: HashMap<K, Instant>,
}

impl<K> Default for Schedule<K> {
    fn default() -> Self {
        Self {
            order: BTreeSet::new(),
            times: HashMap::new(),
        }
    }
}

impl<K: Clone + Eq + Hash + Ord> Schedule<K> {
    /// Makes a key due at `when`, whenever it was due before.
    pub(super) fn set(&mut self, key: K, when: Instant) {
        if let Some(before) = self.times.insert(key.clone(), when) {
            self.order.remove(&(before, key.clone()));
        }
        self.order.insert((when, key));
    }

    /// Makes a key due at `when` or before.
    pub(super) fn hasten(&mut self, key: K, when: Instant) {
        if self.times.get(&key).is_none_or(|before| *before > when) {
            self.set(key, when);
        }
    }

    pub(super) fn remove(&mut self, key: &K) {
        if let Some(when) = self.times.remove(key) {
            self.order.remove(&(when, key.clone()));
        }
    }

    pub(super) fn clear(&mut self) {
        self.order.clear();
        self.times.clear();
    }

    /// When the first one is due.
    pub(super) fn next(&self) -> Option<Instant> {
        self.order.first().map(|(when, _)| *when)
    }

    /// Takes the first one, if it is due.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<K> {
        self.next().filter(|when| *when <= now)?;
        let (_, key) = self.order.pop_first()?;
        self.times.remove(&key);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_key_is_due_once_at_its_time() {
        let now = Instant::now();
        let later = now + Duration::from_secs(1);
        let mut schedule = Schedule::default();
        schedule.set("a", later);
        schedule.set("b", now);
        schedule.hasten("b", later);
        assert_eq!(schedule.next(), Some(now));
        assert_eq!(schedule.take_due(now), Some("b"));
        assert_eq!(schedule.take_due(now), None);
        schedule.hasten("a", now);
        assert_eq!(schedule.take_due(now), Some("a"));
        assert_eq!(schedule.next(), None);
        schedule.set("c", now);
        schedule.remove(&"c");
        assert_eq!(schedule.take_due(later), None);
    }
}
