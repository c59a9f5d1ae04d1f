//! Where a call is, and how long its steps took.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::error::Phase;

/// How long it took to open the connection of a call.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Timing {
    /// From the name to addresses.
    pub resolve: Duration,
    /// To a TCP connection.
    pub connect: Duration,
    /// To the end of the TLS handshake.
    pub tls: Duration,
}

/// What a call has done so far; read when its deadline passes.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    phase: AtomicU8,
    timing: Mutex<Option<Timing>>,
}

const PHASES: [Phase; 5] = [Phase::Resolve, Phase::Connect, Phase::Tls, Phase::Answer, Phase::Body];

impl Progress {
    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    pub(crate) fn phase(&self) -> Phase {
        let phase = usize::from(self.phase.load(Ordering::Relaxed));
        PHASES.get(phase).copied().unwrap_or_default()
    }

    pub(crate) fn connected(&self, timing: Timing) {
        *self.timing.lock().unwrap_or_else(PoisonError::into_inner) = Some(timing);
    }

    /// `None` where an open connection was used.
    pub(crate) fn timing(&self) -> Option<Timing> {
        *self.timing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phase_entered_last_is_the_phase() {
        let progress = Progress::default();
        assert_eq!(progress.phase(), Phase::Resolve);
        for phase in PHASES {
            progress.enter(phase);
            assert_eq!(progress.phase(), phase);
        }
    }
}
