//! A bounded quantity, of which each party may take at most its share: places of a webhook, requests or bytes under
//! way. There is no queue: whoever finds nothing left is told so at once.
//!
//! ```
//! use ephemeral_shares::{Full, Shares};
//!
//! let places = Shares::new(4, 1);
//! let first = places.party("a").take(1)?;
//! assert_eq!(places.party("a").take(1).unwrap_err(), Full::Share);
//! assert!(places.party("b").take(1).is_ok());
//! drop(first);
//! assert_eq!(places.taken(), 0);
//! # Ok::<(), Full>(())
//! ```

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A bounded quantity.
///
/// Taking and giving back are two atomic additions; a lock is held for as long as it takes to find a party by its name.
#[derive(Debug)]
pub struct Shares {
    most: usize,
    share: usize,
    taken: AtomicUsize,
    /// Those that somebody holds: never more entries than there are parties at the moment.
    parties: Mutex<HashMap<Arc<str>, Weak<Account>>>,
}

/// Why nothing more can be taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Full {
    /// All of it is taken.
    #[error("all of it is taken")]
    Whole,
    /// The party holds all that one party may.
    #[error("the party holds its whole share")]
    Share,
}

/// One of those that take. Copies are the same party, and so are those of the same name.
#[derive(Clone, Debug)]
pub struct Party(Arc<Account>);

#[derive(Debug)]
struct Account {
    shares: Arc<Shares>,
    name: Arc<str>,
    taken: AtomicUsize,
}

/// What was taken; it is given back when this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Taken {
    party: Party,
    amount: usize,
}

impl Shares {
    /// `most` in all, and `share` of it for each party.
    pub fn new(most: usize, share: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            share: share.min(most),
            taken: AtomicUsize::new(0),
            parties: Mutex::default(),
        })
    }

    /// What one party may take.
    pub fn share(&self) -> usize {
        self.share
    }

    /// What all together hold at the moment.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// The party of this name.
    pub fn party(self: &Arc<Self>, name: &str) -> Party {
        let mut parties = self.lock();
        if let Some(account) = parties.get(name).and_then(Weak::upgrade) {
            return Party(account);
        }
        let name: Arc<str> = name.into();
        let account = Arc::new(Account {
            shares: Arc::clone(self),
            name: Arc::clone(&name),
            taken: AtomicUsize::new(0),
        });
        parties.insert(name, Arc::downgrade(&account));
        Party(account)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Weak<Account>>> {
        // The map is whole after every statement.
        self.parties.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Party {
    /// Takes so much, or nothing.
    pub fn take(&self, amount: usize) -> Result<Taken, Full> {
        self.0.add(amount)?;
        Ok(Taken {
            party: self.clone(),
            amount,
        })
    }
}

impl Account {
    fn add(&self, amount: usize) -> Result<(), Full> {
        add(&self.taken, amount, self.shares.share).ok_or(Full::Share)?;
        add(&self.shares.taken, amount, self.shares.most).ok_or_else(|| {
            self.taken.fetch_sub(amount, Ordering::Relaxed);
            Full::Whole
        })
    }

    fn subtract(&self, amount: usize) {
        self.taken.fetch_sub(amount, Ordering::Relaxed);
        self.shares.taken.fetch_sub(amount, Ordering::Relaxed);
    }
}

/// Counters alone: nothing else is read because of them, so that no order is asked for.
fn add(counter: &AtomicUsize, amount: usize, most: usize) -> Option<()> {
    let more = |taken: usize| taken.checked_add(amount).filter(|sum| *sum <= most);
    let added = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    added.ok().map(drop)
}

impl Drop for Account {
    fn drop(&mut self) {
        let mut parties = self.shares.lock();
        // Another of the same name may have come meanwhile.
        if parties.get(&self.name).is_some_and(|party| party.strong_count() == 0) {
            parties.remove(&self.name);
        }
    }
}

impl Taken {
    /// How much it is.
    pub fn amount(&self) -> usize {
        self.amount
    }

    /// Takes more, or gives some back. What cannot be taken changes nothing.
    pub fn resize(&mut self, amount: usize) -> Result<(), Full> {
        match amount.checked_sub(self.amount) {
            Some(more) => self.party.0.add(more)?,
            None => self.party.0.subtract(self.amount - amount),
        }
        self.amount = amount;
        Ok(())
    }

    /// Takes a part of it off, at most all of it, to be given back by itself.
    pub fn split(&mut self, amount: usize) -> Self {
        let amount = amount.min(self.amount);
        self.amount -= amount;
        Self {
            party: self.party.clone(),
            amount,
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.party.0.subtract(self.amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_party_leaves_the_rest_to_others() {
        let shares = Shares::new(10, 4);
        let (a, b, c) = (shares.party("a"), shares.party("b"), shares.party("c"));
        let held = (a.take(3).unwrap(), shares.party("a").take(1).unwrap());
        assert_eq!(a.take(1).unwrap_err(), Full::Share);
        let _b = b.take(4).unwrap();
        assert_eq!(c.take(3).unwrap_err(), Full::Whole);
        let _c = c.take(2).unwrap();
        assert_eq!(shares.taken(), 10);
        drop(held);
        assert_eq!(shares.taken(), 6);
        // What was refused took nothing of the party's share.
        assert!(c.take(2).is_ok());
    }

    #[test]
    fn what_is_resized_stays_within_the_bounds() {
        let shares = Shares::new(10, 8);
        let mut taken = shares.party("a").take(2).unwrap();
        taken.resize(8).unwrap();
        assert_eq!(taken.resize(9).unwrap_err(), Full::Share);
        assert_eq!((taken.amount(), shares.taken()), (8, 8));
        let mut other = shares.party("b").take(2).unwrap();
        assert_eq!(other.resize(3).unwrap_err(), Full::Whole);
        taken.resize(1).unwrap();
        other.resize(8).unwrap();
        assert_eq!(shares.taken(), 9);
        assert_eq!(taken.resize(usize::MAX).unwrap_err(), Full::Share);
    }

    #[test]
    fn a_part_is_given_back_by_itself() {
        let shares = Shares::new(10, 10);
        let mut whole = shares.party("a").take(10).unwrap();
        let part = whole.split(4);
        assert_eq!((whole.amount(), part.amount(), shares.taken()), (6, 4, 10));
        drop(part);
        assert_eq!(shares.taken(), 6);
        let rest = whole.split(100);
        assert_eq!((whole.amount(), rest.amount()), (0, 6));
        drop((whole, rest));
        assert_eq!(shares.taken(), 0);
    }

    #[test]
    fn a_party_is_forgotten_when_nobody_holds_it() {
        let shares = Shares::new(1, 1);
        for name in 0..1000 {
            drop(shares.party(&name.to_string()).take(1).unwrap());
        }
        assert!(shares.lock().is_empty());
    }

    #[test]
    fn many_at_once_never_take_more_than_there_is() {
        let shares = Shares::new(64, 16);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let shares = &shares;
                scope.spawn(move || {
                    for turn in 0..5_000 {
                        let party = shares.party(["a", "b", "c", "d", "e"][(thread + turn) % 5]);
                        let taken = party.take(1 + turn % 7);
                        assert!(shares.taken() <= 64);
                        if let Ok(mut taken) = taken {
                            let _ = taken.resize(turn % 11);
                            drop(taken.split(2));
                        }
                    }
                });
            }
        });
        assert_eq!((shares.taken(), shares.lock().len()), (0, 0));
    }
}
