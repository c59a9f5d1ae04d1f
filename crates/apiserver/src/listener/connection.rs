use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use rustls_pki_types::{CertificateDer, UnixTime};
use tokio::time::Instant;

use crate::identity::{Peer, Trust, Verdict};

/// What is known about the connection of a request.
#[derive(Debug)]
pub struct Connection {
    peer_address: SocketAddr,
    certificates: Vec<CertificateDer<'static>>,
    verdict: ArcSwapOption<Verdict>,
    activity: Mutex<Activity>,
}

#[derive(Debug)]
struct Activity {
    requests: usize,
    last: Instant,
}

impl Connection {
    pub(super) fn new(peer_address: SocketAddr, certificates: Vec<CertificateDer<'static>>) -> Self {
        Self {
            peer_address,
            certificates,
            verdict: ArcSwapOption::empty(),
            activity: Mutex::new(Activity {
                requests: 0,
                last: Instant::now(),
            }),
        }
    }

    /// Where it comes from.
    pub fn peer_address(&self) -> SocketAddr {
        self.peer_address
    }

    /// What it is at `now`. The verdict of an earlier request is used as long as nothing could have changed it.
    pub fn peer(&self, trust: &Trust, now: UnixTime) -> Peer {
        if let Some(verdict) = &*self.verdict.load()
            && trust.still_holds(verdict, now)
        {
            return verdict.peer.clone();
        }
        let verdict = trust.judge(&self.certificates, now);
        let peer = verdict.peer.clone();
        self.verdict.store(Some(Arc::new(verdict)));
        peer
    }

    pub(super) fn begin_request(self: &Arc<Self>) -> ActiveRequest {
        self.update(|activity| activity.requests += 1);
        ActiveRequest(Arc::clone(self))
    }

    /// How long nothing has been asked, if nothing is being answered.
    pub(super) fn idle_for(&self) -> Option<Duration> {
        let activity = self.activity.lock().unwrap_or_else(PoisonError::into_inner);
        (activity.requests == 0).then(|| activity.last.elapsed())
    }

    fn update(&self, change: impl FnOnce(&mut Activity)) {
        let mut activity = self.activity.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut activity);
        activity.last = Instant::now();
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct ActiveRequest(Arc<Connection>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.update(|activity| activity.requests -= 1);
    }
}
