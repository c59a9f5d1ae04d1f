//! One connection to a webhook, over HTTP/1.1 or HTTP/2.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{TrySendError, http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::task::AbortHandle;
use tokio_rustls::client::TlsStream;

use crate::blame::blame;
use crate::error::CallError;
use crate::socket::{Socket, Traffic};

/// The calls that one HTTP/2 connection carries at once: what RFC 9113 wants every server to allow at least.
const MAX_STREAMS: usize = 100;
/// The header of an answer, in bytes.
const MAX_HEADER: usize = 64 * 1024;
/// What an answer's bytes are read into at most, over HTTP/1.1; a header must fit.
const READ_BUFFER: usize = 2 * MAX_HEADER;
/// How much of one answer a webhook may send ahead over HTTP/2, and of all answers on one connection.
const STREAM_WINDOW: u32 = 1024 * 1024;
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;
/// How long a connection that has carried an answer may take to be ready for the next call. Only the switch between
/// two tasks is waited for; where the webhook answered before it had read the whole request, it is never ready.
const SETTLE: Duration = Duration::from_millis(100);
/// How often a call gives way to the task of an idle connection that has something to read.
const MAX_YIELDS: usize = 50;
/// How often a new connection is looked at for settings.
const LOOK: Duration = Duration::from_millis(1);

type Body = Full<Bytes>;
type Http2 = http2::Connection<TokioIo<TlsStream<Socket>>, Body, TokioExecutor>;

/// The protocols, as ALPN names them.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Protocol {
    /// `http/1.1`, also where the webhook chose nothing.
    Http1,
    /// `h2`.
    Http2,
}

/// A connection that carries one call at a time.
pub(crate) struct Exclusive {
    sender: http1::SendRequest<Body>,
    driver: AbortHandle,
    pub(crate) about: About,
}

/// A connection that carries many.
pub(crate) struct Multiplexed {
    sender: http2::SendRequest<Body>,
    /// What the webhook said with `SETTINGS_MAX_CONCURRENT_STREAMS`.
    max_streams: Arc<AtomicUsize>,
    pub(crate) about: About,
}

/// What stays the same for the life of a connection, and what its socket knows.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub(crate) traffic: Arc<Traffic>,
    /// Whether the webhook asked for a client certificate when the TLS session began.
    pub(crate) certificate_requested: bool,
}

pub(crate) enum Connection {
    Exclusive(Exclusive),
    Multiplexed(Arc<Multiplexed>),
}

/// Why there is no response.
pub(crate) enum SendError {
    /// Not a byte of the request was sent.
    Unsent(hyper::Error),
    Sent(hyper::Error),
}

impl<T> From<TrySendError<T>> for SendError {
    fn from(mut error: TrySendError<T>) -> Self {
        if error.take_message().is_some() {
            Self::Unsent(error.into_error())
        } else {
            Self::Sent(error.into_error())
        }
    }
}

impl Connection {
    /// Speaks HTTP over a TLS connection, in the protocol that was negotiated.
    pub(crate) async fn start(stream: TlsStream<Socket>, certificate_requested: bool) -> Result<Self, CallError> {
        let (socket, tls) = stream.get_ref();
        let about = About {
            traffic: socket.traffic(),
            certificate_requested,
        };
        let traffic = Arc::clone(&about.traffic);
        if tls.alpn_protocol() == Some(b"h2") {
            let connection = Multiplexed::start(stream, about).await;
            let connection = connection.map_err(|error| blame(error, Protocol::Http2, &traffic))?;
            Ok(Self::Multiplexed(Arc::new(connection)))
        } else {
            let connection = Exclusive::start(stream, about).await;
            let connection = connection.map_err(|error| blame(error, Protocol::Http1, &traffic))?;
            Ok(Self::Exclusive(connection))
        }
    }
}

impl Exclusive {
    async fn start(stream: TlsStream<Socket>, about: About) -> hyper::Result<Self> {
        let (sender, connection) = http1::Builder::new()
            .max_buf_size(READ_BUFFER)
            .max_header_size(MAX_HEADER)
            .handshake(TokioIo::new(stream))
            .await?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to a webhook ended");
            }
        });
        Ok(Self {
            sender,
            driver: driver.abort_handle(),
            about,
        })
    }

    pub(crate) async fn send(&mut self, request: Request<Body>) -> Result<Response<Incoming>, SendError> {
        Ok(self.sender.try_send_request(request).await?)
    }

    /// Whether it is ready for a call: still open, with nothing left of the last one. Whatever a webhook says between
    /// two calls, it is on its way to close the connection.
    pub(crate) async fn is_ready(&mut self) -> bool {
        let ready = tokio::time::timeout(SETTLE, self.sender.ready()).await;
        matches!(ready, Ok(Ok(()))) && !self.about.traffic.has_unread()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Closes it whatever is under way.
    pub(crate) fn close(self) {
        self.driver.abort();
    }
}

impl Multiplexed {
    async fn start(stream: TlsStream<Socket>, about: About) -> hyper::Result<Self> {
        let (sender, mut connection) = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            // Until the webhook says how many it allows.
            .initial_max_send_streams(0)
            // As a number of bytes it is far below 2³².
            .max_header_list_size(u32::try_from(MAX_HEADER).unwrap_or(u32::MAX))
            .handshake(TokioIo::new(stream))
            .await?;
        settings_received(&mut connection).await?;
        let max_streams = Arc::new(AtomicUsize::new(connection.current_max_send_streams()));
        let told = Arc::clone(&max_streams);
        tokio::spawn(async move {
            let ended = std::future::poll_fn(|cx| {
                let ended = Pin::new(&mut connection).poll(cx);
                told.store(connection.current_max_send_streams(), Ordering::Relaxed);
                ended
            });
            if let Err(error) = ended.await {
                tracing::debug!(%error, "a connection to a webhook ended");
            }
        });
        Ok(Self {
            sender,
            max_streams,
            about,
        })
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Result<Response<Incoming>, SendError> {
        Ok(self.sender.clone().try_send_request(request).await?)
    }

    /// Whether it is still open, for the first call after a while: what was received meanwhile, such as GOAWAY, is read
    /// by the connection's own task, which may not have been woken yet.
    pub(crate) async fn is_ready(&self) -> bool {
        for _ in 0..MAX_YIELDS {
            if self.is_closed() || !self.about.traffic.has_unread() {
                break;
            }
            tokio::task::yield_now().await;
        }
        !self.is_closed()
    }

    /// How many calls it carries at once.
    pub(crate) fn capacity(&self) -> usize {
        self.max_streams.load(Ordering::Relaxed).min(MAX_STREAMS)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }
}

/// Waits for the webhook's first SETTINGS, which it sends unasked as soon as the handshake is over. A call that is
/// sent before may turn out to be one more than it allows at once.
async fn settings_received(connection: &mut Http2) -> hyper::Result<()> {
    let mut look = tokio::time::interval(LOOK);
    std::future::poll_fn(|cx| {
        if let Poll::Ready(ended) = Pin::new(&mut *connection).poll(cx) {
            return Poll::Ready(ended);
        }
        if connection.current_max_send_streams() > 0 {
            return Poll::Ready(Ok(()));
        }
        // hyper tells of new settings to those who ask, and wakes nobody.
        while look.poll_tick(cx).is_ready() {}
        Poll::Pending
    })
    .await
}
