//! The accept loop, and the life of a connection.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::caps::{Caps, Place};
use super::config::ListenerConfig;
use super::connection::Connection;
use super::linger::Linger;
use super::request::{Service, answer};
use super::stats::{Refusal, Stats};
use super::worded::Worded;

/// How long accepting rests after the system refused: long enough not to spin while there are no descriptors, short
/// enough not to be noticed once there are.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);

/// Serves `service` on `listener` until `shutdown`, then drains: no new connections, GOAWAY or `Connection: close` on
/// those there are, and the requests under way answered, all within the times of `config`.
pub async fn serve<S: Service>(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    service: Arc<S>,
    config: ListenerConfig,
    stats: Arc<Stats>,
    shutdown: CancellationToken,
) {
    let tasks = TaskTracker::new();
    let server = Arc::new(Server {
        acceptor: TlsAcceptor::from(tls),
        http1: config.http1(),
        http2: config.http2(),
        caps: Caps::new(&config),
        config,
        service,
        stats,
        drain: CancellationToken::new(),
        abort: CancellationToken::new(),
    });

    let stop = async {
        shutdown.cancelled().await;
        sleep(server.config.shutdown_delay).await;
    };
    accept_until(stop, &listener, &server, &tasks).await;
    // Who has connected already is served, also from the queue of the system.
    while let Some(Ok((stream, peer))) = listener.accept().now_or_never() {
        server.spawn(stream, peer, &tasks);
    }
    drop(listener);

    server.drain.cancel();
    tasks.close();
    if timeout(server.config.drain_timeout, tasks.wait()).await.is_err() {
        tracing::warn!(
            connections = tasks.len(),
            "requests did not end in time and are aborted"
        );
        server.abort.cancel();
        tasks.wait().await;
    }
}

async fn accept_until<S: Service>(
    stop: impl Future<Output = ()>,
    listener: &TcpListener,
    server: &Arc<Server<S>>,
    tasks: &TaskTracker,
) {
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => server.spawn(stream, peer, tasks),
            // The peer is gone before it was accepted; the next one may be there already.
            Err(error) if is_of_the_peer(&error) => {}
            Err(error) => {
                server.stats.refuse(Refusal::Accept);
                tracing::warn!(%error, "accepting connections");
                tokio::select! {
                    () = &mut stop => return,
                    () = sleep(ACCEPT_BACKOFF) => {}
                }
            }
        }
    }
}

fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

struct Server<S> {
    acceptor: TlsAcceptor,
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
    caps: Arc<Caps>,
    config: ListenerConfig,
    service: Arc<S>,
    stats: Arc<Stats>,
    /// No more requests.
    drain: CancellationToken,
    /// No more time.
    abort: CancellationToken,
}

impl<S: Service> Server<S> {
    fn spawn(self: &Arc<Self>, stream: TcpStream, peer: SocketAddr, tasks: &TaskTracker) {
        self.stats.accepted.fetch_add(1, Ordering::Relaxed);
        match self.caps.take(peer.ip()) {
            Ok(place) => {
                let server = Arc::clone(self);
                tasks.spawn(async move {
                    let abort = server.abort.clone();
                    abort.run_until_cancelled(server.connection(stream, peer, place)).await;
                });
            }
            Err(reason) => {
                tracing::debug!(%peer, reason = reason.as_str(), "connection refused");
                self.stats.refuse(reason);
            }
        }
    }

    /// A connection from its handshake to its end.
    async fn connection(&self, stream: TcpStream, peer: SocketAddr, _place: Place) {
        let _open = OpenConnection::new(&self.stats);
        // Answers are written whole; waiting for more to send (Nagle) would only add latency.
        _ = stream.set_nodelay(true);
        let handshake = timeout(self.config.handshake_timeout, self.acceptor.accept(Linger::new(stream)));
        let goodbye = async {
            self.drain.cancelled().await;
            sleep(self.config.goodbye).await;
        };
        let handshake = tokio::select! {
            handshake = handshake => handshake,
            () = goodbye => return self.stats.refuse(Refusal::HandshakeTimeout),
        };
        let stream = match handshake {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                tracing::debug!(%peer, %error, "TLS handshake");
                return self.stats.refuse(Refusal::Handshake);
            }
            Err(_) => return self.stats.refuse(Refusal::HandshakeTimeout),
        };
        let (_, session) = stream.get_ref();
        let certificates = session
            .peer_certificates()
            .unwrap_or_default()
            .iter()
            .map(|cert| cert.clone().into_owned());
        let connection = Arc::new(Connection::new(peer, certificates.collect()));
        if let Err(error) = self.http(stream, &connection).await {
            tracing::debug!(%peer, %error, "connection");
        }
    }

    /// What ALPN chose, each in a box of its own size; without it HTTP/1.1, whose first bytes are waited for no longer than its headers.
    async fn http(&self, stream: TlsStream<Linger<TcpStream>>, connection: &Arc<Connection>) -> hyper::Result<()> {
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let service = service_fn(|request| {
            let (service, stats) = (Arc::clone(&self.service), Arc::clone(&self.stats));
            let connection = Arc::clone(connection);
            async move { Ok::<_, std::convert::Infallible>(answer(&*service, request, connection, &stats).await) }
        });
        if is_http2 {
            let http = Box::pin(self.http2.serve_connection(TokioIo::new(stream), service));
            self.until_end(http, http2::Connection::graceful_shutdown, connection)
                .await
        } else {
            let io = TokioIo::new(Worded::new(stream));
            let http = Box::pin(self.http1.serve_connection(io, service));
            self.until_end(http, http1::Connection::graceful_shutdown, connection)
                .await
        }
    }

    /// Runs a connection; says goodbye when the server drains or nothing has been asked for a while, and hangs up on
    /// a peer that does not take the last answer.
    async fn until_end<C>(
        &self,
        mut http: Pin<Box<C>>,
        say_goodbye: impl Fn(Pin<&mut C>),
        connection: &Connection,
    ) -> hyper::Result<()>
    where
        C: Future<Output = hyper::Result<()>>,
    {
        tokio::select! {
            end = &mut http => return end,
            () = self.drain.cancelled() => {}
            () = idle(connection, self.config.idle_timeout) => {}
        }
        say_goodbye(http.as_mut());
        let silent = async {
            tokio::select! {
                () = idle(connection, self.config.idle_timeout + self.config.goodbye) => {}
                () = self.ended_and_idle(connection) => {}
            }
        };
        tokio::select! {
            end = &mut http => end,
            // A request that crossed the goodbye is still answered.
            () = silent => Ok(()),
        }
    }

    /// Waits until the server ends and the connection had the time to say goodbye and did not use it: no request crossed
    /// the goodbye, and none is being answered.
    async fn ended_and_idle(&self, connection: &Connection) {
        self.drain.cancelled().await;
        sleep(self.config.goodbye).await;
        idle(connection, self.config.goodbye).await;
    }
}

/// Waits until nothing has been asked for `limit`.
async fn idle(connection: &Connection, limit: Duration) {
    loop {
        match connection.idle_for() {
            Some(idle) if idle >= limit => return,
            Some(idle) => sleep(limit.saturating_sub(idle)).await,
            None => sleep(limit).await,
        }
    }
}

/// Counts one open connection until it is dropped.
struct OpenConnection(Arc<Stats>);

impl OpenConnection {
    fn new(stats: &Arc<Stats>) -> Self {
        stats.open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(stats))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
