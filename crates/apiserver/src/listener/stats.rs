use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of the secure port, for metrics.
#[derive(Debug, Default)]
pub struct Stats {
    pub(super) open: AtomicU64,
    pub(super) accepted: AtomicU64,
    pub(super) panics: AtomicU64,
    refused: [AtomicU64; Refusal::ALL.len()],
}

/// Why a connection ended before its first request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refusal {
    /// There are as many connections as may be.
    MaxConnections,
    /// There are as many connections of this address as may be.
    MaxConnectionsPerPeer,
    /// The handshake failed.
    Handshake,
    /// The handshake took too long.
    HandshakeTimeout,
    /// The system could not accept it; most often for want of descriptors.
    Accept,
}

impl Refusal {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::MaxConnections,
        Self::MaxConnectionsPerPeer,
        Self::Handshake,
        Self::HandshakeTimeout,
        Self::Accept,
    ];

    /// The value of a metric's label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MaxConnections => "max_connections",
            Self::MaxConnectionsPerPeer => "max_connections_per_peer",
            Self::Handshake => "handshake",
            Self::HandshakeTimeout => "handshake_timeout",
            Self::Accept => "accept",
        }
    }
}

impl Stats {
    /// Connections that are open.
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Connections that were accepted since the start.
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Requests that ended in a panic since the start.
    pub fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// Connections that were refused for `reason` since the start.
    pub fn refused(&self, reason: Refusal) -> u64 {
        self.refused[reason as usize].load(Ordering::Relaxed)
    }

    pub(super) fn refuse(&self, reason: Refusal) {
        self.refused[reason as usize].fetch_add(1, Ordering::Relaxed);
    }
}
