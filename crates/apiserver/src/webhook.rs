//! The webhook as the create sees it: a body out, a body back, or the one thing that went wrong.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::HeaderValue;
use tokio::time::Instant;

/// The handle that a nomination in the snapshot carries.
pub type Handle = Arc<dyn Webhook>;

/// The snapshot that requests are answered from.
pub type Snapshot = ephemeral_index::Snapshot<Handle>;

/// One webhook of one nomination, with its connections, its bulkhead and its TLS settings.
pub trait Webhook: Send + Sync + 'static {
    /// Sends one review and waits for the answer: one attempt, never retried once a byte was sent. The memory of answers
    /// is bounded by whoever makes the calls.
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Bytes, CallError>>;
}

/// One call.
#[derive(Debug)]
pub struct Call {
    /// The encoded `EphemeralReview`.
    pub body: Bytes,
    /// The consumer's logical cluster, the unit in which the bulkhead is fair.
    pub consumer: Arc<str>,
    /// When everything from name resolution to the last byte must be over.
    pub deadline: Instant,
    /// W3C trace context to pass on.
    pub trace_parent: Option<HeaderValue>,
}

/// Why a call brought no body, as far as the answer to the consumer depends on it.
///
/// What exactly happened is in the operator's log and in metrics, written by the implementation; it must not reach
/// consumers (CVE-2020-8561).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CallError {
    /// The bulkhead of the webhook, or the consumer's share of it, is full.
    Full,
    /// No answer: name, address, connection, TLS, or time. The failure policy decides.
    Unreachable,
    /// An answer came that is none: not 200, or larger than 3 MiB. Never ignored.
    BadAnswer,
    /// This host lacks something for the call, such as descriptors or room for the answer. Never ignored.
    Overloaded,
}
