//! One request: what holds for every one of them, whatever the service does.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::FutureExt;
use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderValue, TRANSFER_ENCODING};
use http::uri::Authority;
use http::{HeaderMap, Method, Request, Response, Uri, Version};
use http_body::Body;
use http_body_util::Full;
use hyper::body::Incoming;

use super::config::MAX_HEADER_BYTES;
use super::connection::Connection;
use super::stats::Stats;
use crate::body::AnswerBody;
use crate::fault::{ClientFault, Fault, PlatformFault};

/// Answers requests.
pub trait Service: Send + Sync + 'static {
    /// Answers one. The future is dropped when the caller is gone.
    fn call(
        &self,
        request: Request<Incoming>,
        connection: Arc<Connection>,
    ) -> impl Future<Output = Response<AnswerBody>> + Send;
}

impl<F, R> Service for F
where
    F: Fn(Request<Incoming>, Arc<Connection>) -> R + Send + Sync + 'static,
    R: Future<Output = Response<AnswerBody>> + Send,
{
    fn call(
        &self,
        request: Request<Incoming>,
        connection: Arc<Connection>,
    ) -> impl Future<Output = Response<AnswerBody>> + Send {
        self(request, connection)
    }
}

/// Answers one request by `service`: 431 for headers that are too large, 500 if it panics.
pub(super) async fn answer<S: Service>(
    service: &S,
    request: Request<Incoming>,
    connection: Arc<Connection>,
    stats: &Stats,
) -> Response<AnswerBody> {
    let _active = connection.begin_request();
    let is_head = request.method() == Method::HEAD;
    let response = if header_bytes(request.uri(), request.headers()) > MAX_HEADER_BYTES {
        respond(&ClientFault::HeadersTooLarge.into())
    } else if let Some(why) = ambiguity(request.version(), request.headers()) {
        let mut response = respond(&ClientFault::BadRequest(why.into()).into());
        // Where its body ends is anybody's guess.
        response
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
        response
    } else {
        // What a panic leaves behind is dropped with the future; all that requests share is unwind-safe by itself.
        let call = async { service.call(request, Arc::clone(&connection)).await };
        AssertUnwindSafe(call).catch_unwind().await.unwrap_or_else(|_| {
            // The panic hook has logged where.
            stats.panics.fetch_add(1, Ordering::Relaxed);
            respond(
                &PlatformFault::Internal("this request caused apiserver to panic. Look in the logs for details".into())
                    .into(),
            )
        })
    };
    if is_head { without_body(response) } else { response }
}

/// What of a request on HTTP/1.1 another parser on its way may have read otherwise, and hyper lets pass. The words are
/// those of Go's `net/http`.
fn ambiguity(version: Version, headers: &HeaderMap) -> Option<&'static str> {
    if version > Version::HTTP_11 {
        return None;
    }
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) if version == Version::HTTP_11 => return Some("missing required Host header"),
        (Some(_), Some(_)) => return Some("too many Host headers"),
        (Some(host), None) if !host.is_empty() && Authority::try_from(host.as_bytes()).is_err() => {
            return Some("malformed Host header");
        }
        _ => {}
    }
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => None,
        (Some(only), None) if only.as_bytes().eq_ignore_ascii_case(b"chunked") => None,
        _ => Some("unsupported transfer encoding"),
    }
}

/// The size of a header list as it stands on the wire of HTTP/1.1, the path included.
pub(crate) fn header_bytes(uri: &Uri, headers: &HeaderMap) -> usize {
    const SEPARATORS: usize = ": \r\n".len();
    let path = uri.path_and_query().map_or(0, |path| path.as_str().len());
    let fields = |headers: &HeaderMap| {
        headers
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len() + SEPARATORS)
            .sum::<usize>()
    };
    path + fields(headers)
}

/// A fault as JSON: nothing is known yet about what the client can read.
fn respond(fault: &Fault) -> Response<AnswerBody> {
    let status = fault.status();
    let mut response = Response::new(Full::from(status.to_json()).into());
    *response.status_mut() = http::StatusCode::from_u16(status.code).expect("a code of our own table");
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// HEAD is answered as GET without the body; hyper leaves it out on HTTP/1.1 alone.
fn without_body(mut response: Response<AnswerBody>) -> Response<AnswerBody> {
    // An answer without a body, such as 304, says nothing of the one that there would be.
    if let Some(length) = response.body().size_hint().exact().filter(|length| *length > 0) {
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    *response.body_mut() = AnswerBody::default();
    response
}
