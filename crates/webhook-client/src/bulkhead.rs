//! The bulkhead of one webhook: how many calls may be in flight, and how many of them for one consumer.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places for the calls of one webhook. There is no queue: whoever finds no place is told so at once.
///
/// One consumer holds at most a quarter (rounded up) of the places, so that no consumer alone can keep the others out.
#[derive(Debug)]
pub(crate) struct Bulkhead {
    places: u32,
    share: u32,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    total: u32,
    /// Consumers with at least one place: never more entries than places.
    by_consumer: HashMap<Arc<str>, u32>,
}

/// Why there is no place.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Full {
    /// Every place of the webhook is taken.
    #[error("every place of the webhook is taken")]
    Webhook,
    /// The consumer holds all that one consumer may.
    #[error("the consumer holds its whole share of the webhook's places")]
    Share,
}

/// A place; it is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    bulkhead: &'a Bulkhead,
    consumer: Arc<str>,
}

impl Bulkhead {
    pub(crate) fn new(places: NonZeroU32) -> Self {
        Self {
            places: places.get(),
            share: places.get().div_ceil(4),
            taken: Mutex::default(),
        }
    }

    pub(crate) fn enter(&self, consumer: Arc<str>) -> Result<Place<'_>, Full> {
        let mut taken = self.lock();
        if taken.by_consumer.get(&consumer).is_some_and(|&held| held >= self.share) {
            return Err(Full::Share);
        }
        if taken.total >= self.places {
            return Err(Full::Webhook);
        }
        taken.total += 1;
        *taken.by_consumer.entry(Arc::clone(&consumer)).or_default() += 1;
        drop(taken);
        Ok(Place {
            bulkhead: self,
            consumer,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        // The counts are changed by code that cannot panic in between.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.bulkhead.lock();
        taken.total -= 1;
        if let Some(held) = taken.by_consumer.get_mut(&self.consumer) {
            *held -= 1;
            if *held == 0 {
                taken.by_consumer.remove(&self.consumer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulkhead(places: u32) -> Bulkhead {
        Bulkhead::new(NonZeroU32::new(places).unwrap())
    }

    fn fill<'a>(bulkhead: &'a Bulkhead, consumer: &str) -> (Vec<Place<'a>>, Full) {
        let mut places = Vec::new();
        loop {
            match bulkhead.enter(consumer.into()) {
                Ok(place) => places.push(place),
                Err(full) => return (places, full),
            }
        }
    }

    #[test]
    fn one_consumer_gets_a_quarter_rounded_up() {
        for (places, share) in [(2, 1), (4, 1), (5, 2), (100, 25), (101, 26), (8192, 2048)] {
            let (held, full) = fill(&bulkhead(places), "a").into_counts();
            assert_eq!((held, full), (share, Full::Share), "{places}");
        }
        let (held, full) = fill(&bulkhead(1), "a").into_counts();
        assert_eq!((held, full), (1, Full::Share));
    }

    trait IntoCounts {
        fn into_counts(self) -> (usize, Full);
    }

    impl IntoCounts for (Vec<Place<'_>>, Full) {
        fn into_counts(self) -> (usize, Full) {
            (self.0.len(), self.1)
        }
    }

    #[test]
    fn a_flood_from_one_consumer_leaves_room_for_another() {
        let bulkhead = bulkhead(100);
        let _flood = fill(&bulkhead, "flood");
        assert_eq!(fill(&bulkhead, "calm").into_counts(), (25, Full::Share));
    }

    #[test]
    fn the_places_are_a_limit_for_all_together() {
        let bulkhead = bulkhead(6);
        let held: Vec<_> = ["a", "b", "c"].map(|consumer| fill(&bulkhead, consumer).0).into();
        assert_eq!(held.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 2]);
        assert_eq!(bulkhead.enter("d".into()).unwrap_err(), Full::Webhook);
    }

    #[test]
    fn a_dropped_place_is_free_and_forgotten() {
        let bulkhead = bulkhead(4);
        for consumer in 0..1000 {
            let _place = bulkhead.enter(consumer.to_string().into()).unwrap();
        }
        let taken = bulkhead.lock();
        assert_eq!((taken.total, taken.by_consumer.len()), (0, 0));
    }
}
