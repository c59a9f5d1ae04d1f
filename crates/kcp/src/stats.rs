//! What was asked of kcp, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts what was asked of kcp since the start; for metrics, and for tests that count writes.
#[derive(Debug, Default)]
pub struct Stats {
    pub(crate) lists: Counter,
    pub(crate) watches: Counter,
    pub(crate) slice_reads: Counter,
    pub(crate) slice_writes: Counter,
    pub(crate) status_writes: Counter,
    pub(crate) binding_reads: Counter,
    pub(crate) lease_writes: Counter,
    pub(crate) failures: Counter,
}

/// The numbers of [`Stats`] at one time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    /// Lists of a kind that were begun, and begun anew.
    pub lists: u64,
    /// Watches that were begun.
    pub watches: u64,
    /// Reads of an APIExportEndpointSlice.
    pub slice_reads: u64,
    /// Attempts to write the status of an APIExportEndpointSlice.
    pub slice_writes: u64,
    /// Attempts to write the status of an EphemeralWebhook.
    pub status_writes: u64,
    /// Reads of a provider's APIBindings.
    pub binding_reads: u64,
    /// Attempts to write the Lease.
    pub lease_writes: u64,
    /// Of all these, those that failed otherwise than by a conflict.
    pub failures: u64,
}

impl Stats {
    /// The numbers now.
    pub fn counts(&self) -> Counts {
        Counts {
            lists: self.lists.get(),
            watches: self.watches.get(),
            slice_reads: self.slice_reads.get(),
            slice_writes: self.slice_writes.get(),
            status_writes: self.status_writes.get(),
            binding_reads: self.binding_reads.get(),
            lease_writes: self.lease_writes.get(),
            failures: self.failures.get(),
        }
    }
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn increment(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
