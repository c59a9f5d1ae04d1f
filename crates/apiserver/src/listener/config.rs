use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};

/// Largest header list, bytes, as kube-apiserver's `MaxHeaderBytes`: a user may be in hundreds of groups, each a header.
pub(super) const MAX_HEADER_BYTES: usize = 1024 * 1024;

/// hyper answers what is beyond its limits with empty bodies, so its limits are twice those that [`super::request`]
/// judges with a body.
const HYPER_HEADER_BYTES: usize = 2 * MAX_HEADER_BYTES;

/// As many headers as a `HeaderMap` can hold (three quarters of its 32,768 places); hyper asserts that it has room for
/// what this allows. It allocates 64 bytes for each of them for each request of HTTP/1.1, without touching them: some
/// 25 µs and no resident memory.
const HYPER_HEADERS: usize = 24_576;

/// Limits of the secure port.
#[derive(Clone, Debug)]
pub struct ListenerConfig {
    /// Connections in all; more are closed at once.
    pub max_connections: usize,
    /// Connections of one address. Shards and front-proxies come from few, often from behind one balancer.
    pub max_connections_per_peer: usize,
    /// How long a TLS handshake may take.
    pub handshake_timeout: Duration,
    /// How long the headers of a request on HTTP/1.1 may take, counted from the end of the request before.
    pub header_timeout: Duration,
    /// How long a connection without a request stays open, and how long an answer may wait to be read.
    pub idle_timeout: Duration,
    /// How long a connection that is told to end may stay open without a request.
    pub goodbye: Duration,
    /// Requests at once on one connection of HTTP/2.
    pub max_concurrent_streams: u32,
    /// How long after the shutdown began new connections are still accepted, so that balancers see `readyz` fail first.
    pub shutdown_delay: Duration,
    /// How long requests under way may take after that; then their connections are closed.
    pub drain_timeout: Duration,
}

impl Default for ListenerConfig {
    fn default() -> Self {
        Self {
            max_connections: 8192,
            max_connections_per_peer: 4096,
            handshake_timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(32),
            idle_timeout: Duration::from_secs(90),
            goodbye: Duration::from_secs(5),
            max_concurrent_streams: 250,
            shutdown_delay: Duration::ZERO,
            drain_timeout: Duration::from_secs(35),
        }
    }
}

impl ListenerConfig {
    pub(super) fn http1(&self) -> http1::Builder {
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(self.header_timeout)
            .max_buf_size(HYPER_HEADER_BYTES)
            .max_headers(HYPER_HEADERS);
        builder
    }

    pub(super) fn http2(&self) -> http2::Builder<TokioExecutor> {
        const KIB: u32 = 1024;
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .max_header_list_size(u32::try_from(HYPER_HEADER_BYTES).expect("2 MiB"))
            .max_concurrent_streams(self.max_concurrent_streams)
            // What a stream may send before somebody reads it: nearly every body as a whole, and little enough for
            // callers that are still to be authorized. A connection has room for many such streams, since one that
            // waits must not stop the others.
            .initial_stream_window_size(128 * KIB)
            .initial_connection_window_size(8 * 1024 * KIB)
            // CVE-2023-44487: streams that are reset before they are looked at, or that break the protocol.
            .max_pending_accept_reset_streams(100)
            .max_local_error_reset_streams(100)
            .keep_alive_interval(Duration::from_secs(30))
            .keep_alive_timeout(Duration::from_secs(20));
        builder
    }
}
