use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{Method, Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use rustls_pki_types::CertificateDer;
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use crate::tls::TlsText;
use crate::{TlsError, TlsFiles, VerifiedClient};

/// How much and how long the server takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The connections at one time; more wait to be accepted. Default 1024.
    pub max_connections: usize,
    /// The requests of one HTTP/2 connection at one time. Default 128.
    pub max_streams: u32,
    /// The size of a request's header, in bytes, at least 8192. Default 64 KiB.
    pub max_header_bytes: u32,
    /// The time for the TLS handshake. Default 10 seconds.
    pub handshake_timeout: Duration,
    /// The time for which a connection may be idle, or in the middle of a header. Without a client certificate it is
    /// all the time that a connection has. Default one minute.
    pub idle_timeout: Duration,
    /// The time that requests have to finish once the server stops. Default 30 seconds, the longest `timeoutSeconds`.
    pub stop_timeout: Duration,
    /// How often the TLS files are looked at for changes. Default one second.
    pub reload_interval: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_connections: 1024,
            max_streams: 128,
            max_header_bytes: 64 * 1024,
            handshake_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(1),
            stop_timeout: Duration::from_secs(30),
            reload_interval: Duration::from_secs(1),
        }
    }
}

/// A server yet to be bound.
#[derive(Clone, Debug)]
pub struct ServerBuilder {
    tls: TlsFiles,
    limits: Limits,
}

impl ServerBuilder {
    /// Other limits than the default ones.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Reads the TLS files and listens at an address; port 0 takes a free one.
    pub async fn bind(self, address: impl ToSocketAddrs) -> Result<Server, ServerError> {
        let listener = TcpListener::bind(address).await.map_err(ServerError::Listen)?;
        self.listener(listener).await
    }

    /// Reads the TLS files and serves a listener that is already bound. One of the standard library becomes tokio's by
    /// `set_nonblocking(true)` and [`TcpListener::from_std`].
    pub async fn listener(self, listener: TcpListener) -> Result<Server, ServerError> {
        let address = listener.local_addr().map_err(ServerError::Listen)?;
        let text = read(self.tls.clone()).await?;
        let config = watch::Sender::new(Arc::new(text.config()?));
        Ok(Server {
            listener,
            address,
            tls: self.tls,
            text,
            config,
            limits: self.limits,
        })
    }
}

/// A TLS server for webhooks: it asks for a client certificate, speaks HTTP/1.1 and HTTP/2, reads changed certificates
/// again and stops gracefully.
///
/// `GET /healthz` answers `ok`, also without a client certificate, so that a kubelet can probe it.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    tls: TlsFiles,
    text: TlsText,
    config: watch::Sender<Arc<ServerConfig>>,
    limits: Limits,
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address cannot be listened at.
    #[error("cannot listen")]
    Listen(#[source] io::Error),
    /// The TLS files cannot be used.
    #[error("cannot serve TLS")]
    Tls(#[from] TlsError),
}

impl Server {
    /// A server with these certificates.
    pub fn builder(tls: TlsFiles) -> ServerBuilder {
        ServerBuilder {
            tls,
            limits: Limits::default(),
        }
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves `router` until `stop` completes: then accepts no more, lets requests finish for
    /// [`Limits::stop_timeout`], and returns. Dropping the future ends everything at once.
    pub async fn serve(self, router: Router, stop: impl Future<Output = ()> + Send) -> Result<(), ServerError> {
        let Self {
            listener,
            tls,
            text,
            config,
            limits,
            ..
        } = self;
        let (stopping, ending) = (CancellationToken::new(), CancellationToken::new());
        let _end = ending.clone().drop_guard();
        let connections = TaskTracker::new();
        let connection = Connection {
            router,
            config: config.subscribe(),
            limits: Arc::new(limits.clone()),
            stopping: stopping.clone(),
        };
        tokio::select! {
            () = stop => {}
            () = accept(&listener, connection, &connections, &ending) => {}
            () = reload(tls, text, &config, limits.reload_interval) => {}
        }
        drop(listener);
        stopping.cancel();
        connections.close();
        if timeout(limits.stop_timeout, connections.wait()).await.is_err() {
            tracing::warn!(
                connections = connections.len(),
                "stopped before all requests had finished"
            );
        }
        Ok(())
    }
}

/// Accepts connections for ever, each served in a task of its own: a slow handshake is nobody else's business.
async fn accept(listener: &TcpListener, connection: Connection, tasks: &TaskTracker, ending: &CancellationToken) {
    let places = Arc::new(Semaphore::new(connection.limits.max_connections));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                let serving = connection.clone().serve(stream, place);
                let ending = ending.clone();
                tasks.spawn(async move { ending.run_until_cancelled(serving).await });
            }
            Err(error) => {
                // Most often the process has no file descriptor left, which passes.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Reads the files again and again, and keeps what it has when they cannot be used.
async fn reload(tls: TlsFiles, mut seen: TlsText, config: &watch::Sender<Arc<ServerConfig>>, interval: Duration) {
    loop {
        tokio::time::sleep(interval).await;
        let text = match read(tls.clone()).await {
            Ok(text) if text == seen => continue,
            Ok(text) => text,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "keeping the TLS files read before"
                );
                continue;
            }
        };
        match text.config() {
            Ok(new) => {
                config.send_replace(Arc::new(new));
                tracing::info!("read the TLS files again");
            }
            // A certificate and its key change one after the other: the next look finds both.
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "keeping the TLS files read before"
                );
            }
        }
        seen = text;
    }
}

async fn read(tls: TlsFiles) -> Result<TlsText, TlsError> {
    let file = tokio::task::spawn_blocking(move || tls.read());
    file.await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

/// What every connection needs.
#[derive(Clone)]
struct Connection {
    router: Router,
    config: watch::Receiver<Arc<ServerConfig>>,
    limits: Arc<Limits>,
    stopping: CancellationToken,
}

impl Connection {
    /// Serves one connection to its end. It is closed, after the requests on it, when the server stops and when the TLS
    /// files change: an authority that is gone must not live on in a connection.
    async fn serve(mut self, stream: TcpStream, _place: OwnedSemaphorePermit) {
        let config = Arc::clone(&self.config.borrow_and_update());
        let stream = match timeout(self.limits.handshake_timeout, TlsAcceptor::from(config).accept(stream)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return tracing::debug!(%error, "the TLS handshake failed"),
            Err(_) => return tracing::debug!("the TLS handshake took too long"),
        };
        let client = stream
            .get_ref()
            .1
            .peer_certificates()
            .map(|chain| VerifiedClient::new(chain.iter().cloned().map(CertificateDer::into_owned).collect()));
        let is_anonymous = client.is_none();
        let router = self.router;
        let service = service_fn(move |request| answer(router.clone(), client.clone(), request));
        let http = http(&self.limits);
        let mut serving = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service));
        let served = tokio::select! {
            served = &mut serving => served,
            () = tokio::time::sleep(self.limits.idle_timeout), if is_anonymous => return,
            () = self.stopping.cancelled() => { serving.as_mut().graceful_shutdown(); serving.await }
            Ok(()) = self.config.changed() => { serving.as_mut().graceful_shutdown(); serving.await }
        };
        if let Err(error) = served {
            tracing::debug!(%error, "the connection broke");
        }
    }
}

fn http(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle_timeout)
        .max_buf_size(usize::try_from(limits.max_header_bytes).unwrap_or(usize::MAX).max(8192));
    http.http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(limits.idle_timeout)
        .keep_alive_timeout(limits.handshake_timeout)
        .max_concurrent_streams(limits.max_streams)
        .max_header_list_size(limits.max_header_bytes.max(8192));
    http
}

async fn answer(
    router: Router,
    client: Option<VerifiedClient>,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, std::convert::Infallible> {
    if request.method() == Method::GET && request.uri().path() == "/healthz" {
        return Ok(Response::new(Body::from("ok")));
    }
    if let Some(client) = client {
        request.extensions_mut().insert(client);
    }
    router.oneshot(request.map(Body::new)).await
}
