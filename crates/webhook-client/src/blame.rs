//! What an error of HTTP says about the webhook.

use std::error::Error;
use std::io;

use crate::connection::Protocol;
use crate::error::CallError;
use crate::socket::Traffic;

/// Tells a connection that broke from a webhook that does not keep to the protocol or to our limits.
pub(crate) fn blame(error: hyper::Error, protocol: Protocol, traffic: &Traffic) -> CallError {
    let violates = |error| match protocol {
        Protocol::Http1 => violates_http1(error),
        Protocol::Http2 => violates_http2(error),
    };
    // h2 keeps the text of an error of the socket only, so the socket itself is asked.
    if traffic.is_flooded() {
        CallError::TooLarge
    } else if error.is_parse() || std::iter::successors(Some(&error as _), |&error| Error::source(error)).any(violates)
    {
        CallError::Malformed(error)
    } else {
        CallError::Broken(error)
    }
}

/// How hyper's decoder of bodies says so. rustls uses the same kinds for what happens below HTTP.
fn violates_http1(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref().is_some_and(|error: &io::Error| {
        let is_tls = error
            .get_ref()
            .is_some_and(<dyn Error + Send + Sync>::is::<rustls::Error>);
        matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) && !is_tls
    })
}

/// What our side ended the stream or connection for.
fn violates_http2(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref().is_some_and(h2::Error::is_library)
}
