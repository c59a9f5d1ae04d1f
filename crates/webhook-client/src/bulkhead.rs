//! The bulkhead of one webhook: how many calls may be in flight, and how many of them for one consumer.

use std::num::NonZeroU32;
use std::sync::Arc;

use ephemeral_shares::{self as shares, Shares, Taken};

/// Places for the calls of one webhook. There is no queue: whoever finds no place is told so at once.
///
/// One consumer holds at most a quarter (rounded up) of the places, so that no consumer alone can keep the others out.
#[derive(Debug)]
pub(crate) struct Bulkhead {
    places: Arc<Shares>,
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
pub(crate) struct Place(#[allow(dead_code, reason = "held for its drop")] Taken);

impl Bulkhead {
    pub(crate) fn new(places: NonZeroU32) -> Self {
        let number = |places: u32| usize::try_from(places).unwrap_or(usize::MAX);
        Self {
            places: Shares::new(number(places.get()), number(places.get().div_ceil(4))),
        }
    }

    pub(crate) fn enter(&self, consumer: &str) -> Result<Place, Full> {
        let taken = self.places.party(consumer).take(1);
        taken.map(Place).map_err(|full| match full {
            shares::Full::Whole => Full::Webhook,
            shares::Full::Share => Full::Share,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulkhead(places: u32) -> Bulkhead {
        Bulkhead::new(NonZeroU32::new(places).unwrap())
    }

    fn fill(bulkhead: &Bulkhead, consumer: &str) -> (Vec<Place>, Full) {
        let mut places = Vec::new();
        loop {
            match bulkhead.enter(consumer) {
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

    impl IntoCounts for (Vec<Place>, Full) {
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
        assert_eq!(bulkhead.enter("d").unwrap_err(), Full::Webhook);
    }

    #[test]
    fn a_dropped_place_is_free() {
        let bulkhead = bulkhead(4);
        for consumer in 0..1000 {
            let _place = bulkhead.enter(&consumer.to_string()).unwrap();
        }
        assert_eq!(bulkhead.places.taken(), 0);
    }
}
