//! The open connections to one webhook.
//!
//! A call that finds none opens one itself, within its own deadline, so that no call suffers from another's
//! handshake. A pool belongs to one generation of one nomination; dropped, it closes what is idle, and calls that are
//! under way keep their connections to their end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::MAX_ANSWER;
use crate::blame::blame;
use crate::connection::{About, Connection, Exclusive, Multiplexed, Protocol, SendError};
use crate::error::CallError;

/// The HTTP/1.1 connections that are kept for later: as many as a webhook has calls in flight by default.
const MAX_IDLE: usize = 100;
/// How long a connection without a call is kept. Short, because an HTTP/1.1 server that closes one just when a call
/// is sent on it leaves the call's fate unknown.
const MAX_IDLE_TIME: Duration = Duration::from_secs(30);
/// How long before the end of what `Keep-Alive: timeout=` promises a connection is no longer used.
const KEEP_ALIVE_MARGIN: Duration = Duration::from_secs(1);
/// How often idle connections are looked at while there are any.
const SWEEP: Duration = Duration::from_secs(5);
/// What a call lets the webhook send, in bytes: the largest answer, and as much again for how it is framed.
const PER_CALL: u64 = 2 * MAX_ANSWER as u64;
/// How long a call over HTTP/2 that was given up must have heard nothing for its connection to be taken for dead.
const SILENCE: Duration = Duration::from_secs(1);

pub(crate) struct Pool {
    state: Mutex<State>,
    /// Places for idle connections, shared with all other pools: descriptors are everyone's.
    idle_places: Arc<Semaphore>,
}

#[derive(Default)]
struct State {
    /// The most recently used last.
    idle: Vec<Idle>,
    shared: Vec<Shared>,
    /// The protocol that the webhook chose last.
    protocol: Option<Protocol>,
    is_swept: bool,
}

struct Idle {
    connection: Exclusive,
    until: Instant,
    _place: OwnedSemaphorePermit,
}

struct Shared {
    connection: Arc<Multiplexed>,
    calls: usize,
    /// Held while there are no calls.
    idle: Option<IdleSince>,
}

struct IdleSince {
    since: Instant,
    _place: OwnedSemaphorePermit,
}

/// A connection for one call. Unless [`finish`](Self::finish) gives it back it is dropped, and with it the call.
pub(crate) struct Lease {
    connection: Option<Connection>,
    pool: Weak<Pool>,
    /// Whether the connection was opened for this call.
    pub(crate) is_fresh: bool,
    taken: Instant,
    received_before: u64,
}

impl Pool {
    pub(crate) fn new(idle_places: Arc<Semaphore>) -> Self {
        Self {
            state: Mutex::default(),
            idle_places,
        }
    }

    /// A connection that is open already.
    pub(crate) async fn take(self: &Arc<Self>) -> Option<Lease> {
        while let Some((connection, is_idle)) = self.pick() {
            let mut lease = self.lease(connection, false);
            let is_ready = match lease.connection.as_mut().expect(HELD) {
                Connection::Exclusive(connection) => connection.is_ready().await,
                Connection::Multiplexed(connection) => !is_idle || connection.is_ready().await,
            };
            if is_ready {
                return Some(lease);
            }
            lease.discard();
        }
        None
    }

    /// Takes in a connection that was opened for a call.
    pub(crate) fn insert(self: &Arc<Self>, connection: Connection) -> Lease {
        connection.about().traffic.expect(PER_CALL);
        let mut state = self.lock();
        match &connection {
            Connection::Exclusive(_) => state.protocol = Some(Protocol::Http1),
            Connection::Multiplexed(connection) => {
                state.protocol = Some(Protocol::Http2);
                state.shared.push(Shared {
                    connection: Arc::clone(connection),
                    calls: 1,
                    idle: None,
                });
            }
        }
        self.keep_swept(&mut state);
        drop(state);
        self.lease(connection, true)
    }

    /// The protocol that the webhook chose last.
    pub(crate) fn protocol(&self) -> Option<Protocol> {
        self.lock().protocol
    }

    /// An open connection, and whether it carries no other call.
    fn pick(&self) -> Option<(Connection, bool)> {
        let mut state = self.lock();
        state.sweep(Instant::now());
        if let Some(shared) = state.shared.iter_mut().find(|shared| shared.has_room()) {
            shared.calls += 1;
            shared.expect();
            let is_idle = shared.idle.take().is_some();
            return Some((Connection::Multiplexed(Arc::clone(&shared.connection)), is_idle));
        }
        let connection = state.idle.pop()?.connection;
        connection.about.traffic.expect(PER_CALL);
        Some((Connection::Exclusive(connection), true))
    }

    fn lease(self: &Arc<Self>, connection: Connection, is_fresh: bool) -> Lease {
        Lease {
            received_before: connection.about().traffic.received(),
            connection: Some(connection),
            pool: Arc::downgrade(self),
            is_fresh,
            taken: Instant::now(),
        }
    }

    fn put_back(self: &Arc<Self>, connection: Exclusive, keep_alive: Option<Duration>) {
        connection.about.traffic.expect(0);
        let keep = keep_alive.map_or(MAX_IDLE_TIME, |promised| promised.saturating_sub(KEEP_ALIVE_MARGIN));
        let mut state = self.lock();
        if let Some(place) = self.idle_place().filter(|_| state.idle.len() < MAX_IDLE) {
            state.idle.push(Idle {
                connection,
                until: Instant::now() + keep.min(MAX_IDLE_TIME),
                _place: place,
            });
            self.keep_swept(&mut state);
        }
    }

    /// Notes that a call over HTTP/2 is over.
    fn release(&self, connection: &Arc<Multiplexed>, is_dead: bool) {
        let mut state = self.lock();
        let Some(index) = state
            .shared
            .iter()
            .position(|shared| Arc::ptr_eq(&shared.connection, connection))
        else {
            return;
        };
        let shared = &mut state.shared[index];
        shared.calls -= 1;
        shared.expect();
        if shared.calls == 0 {
            shared.idle = self.idle_place().map(|place| IdleSince {
                since: Instant::now(),
                _place: place,
            });
        }
        if is_dead || (shared.calls == 0 && shared.idle.is_none()) {
            state.shared.swap_remove(index);
        }
    }

    fn idle_place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.idle_places).try_acquire_owned().ok()
    }

    /// Sees to it that idle connections are closed in time, by a task that ends when there are none.
    fn keep_swept(self: &Arc<Self>, state: &mut State) {
        if std::mem::replace(&mut state.is_swept, true) {
            return;
        }
        let pool = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SWEEP).await;
                let Some(pool) = pool.upgrade() else { return };
                let mut state = pool.lock();
                state.sweep(Instant::now());
                if state.idle.is_empty() && state.shared.is_empty() {
                    state.is_swept = false;
                    return;
                }
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change is whole before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn sweep(&mut self, now: Instant) {
        self.idle
            .retain(|idle| idle.until > now && !idle.connection.is_closed());
        self.shared.retain(|shared| {
            let is_expired = |idle: &IdleSince| now.duration_since(idle.since) >= MAX_IDLE_TIME;
            !shared.idle.as_ref().is_some_and(is_expired) && !shared.connection.is_closed()
        });
    }
}

impl Shared {
    fn has_room(&self) -> bool {
        self.calls < self.connection.capacity()
    }

    /// Lets the webhook answer the calls that there are. Called with the pool locked, for each change of their number.
    fn expect(&self) {
        let calls = u64::try_from(self.calls).unwrap_or(u64::MAX);
        self.connection.about.traffic.expect(calls.saturating_mul(PER_CALL));
    }
}

impl Connection {
    fn about(&self) -> &About {
        match self {
            Self::Exclusive(connection) => &connection.about,
            Self::Multiplexed(connection) => &connection.about,
        }
    }
}

impl Lease {
    pub(crate) fn protocol(&self) -> Protocol {
        match self.connection() {
            Connection::Exclusive(_) => Protocol::Http1,
            Connection::Multiplexed(_) => Protocol::Http2,
        }
    }

    /// Why a call on this connection failed.
    pub(crate) fn blame(&self, error: hyper::Error) -> CallError {
        blame(error, self.protocol(), &self.about().traffic)
    }

    pub(crate) fn about(&self) -> &About {
        self.connection().about()
    }

    pub(crate) async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, SendError> {
        match self.connection.as_mut().expect(HELD) {
            Connection::Exclusive(connection) => connection.send(request).await,
            Connection::Multiplexed(connection) => connection.send(request).await,
        }
    }

    /// Gives the connection back after the whole answer was read.
    pub(crate) fn finish(mut self, keep_alive: Option<Duration>) {
        let connection = self.connection.take();
        match (connection, self.pool.upgrade()) {
            (Some(Connection::Exclusive(connection)), Some(pool)) => pool.put_back(connection, keep_alive),
            (Some(Connection::Multiplexed(connection)), Some(pool)) => pool.release(&connection, false),
            _ => {}
        }
    }

    /// Gives the connection up, for all calls to come.
    fn discard(mut self) {
        self.give_up(true);
    }

    fn give_up(&mut self, is_dead: bool) {
        match self.connection.take() {
            // The only way to cancel over HTTP/1.1.
            Some(Connection::Exclusive(connection)) => connection.close(),
            Some(Connection::Multiplexed(connection)) => {
                if let Some(pool) = self.pool.upgrade() {
                    pool.release(&connection, is_dead);
                }
            }
            None => {}
        }
    }

    fn connection(&self) -> &Connection {
        self.connection.as_ref().expect(HELD)
    }

    /// Whether nothing was heard for so long that the connection leads nowhere.
    fn is_silent(&self) -> bool {
        let received = self
            .connection
            .as_ref()
            .map(|connection| connection.about().traffic.received());
        received == Some(self.received_before) && self.taken.elapsed() >= SILENCE
    }
}

const HELD: &str = "a lease holds its connection until it is finished or dropped";

impl Drop for Lease {
    fn drop(&mut self) {
        self.give_up(self.is_silent());
    }
}
