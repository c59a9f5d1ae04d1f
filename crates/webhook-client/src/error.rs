//! What can go wrong, when a webhook is nominated and when it is called.

use std::io;
use std::net::IpAddr;

use http::StatusCode;

use crate::bulkhead::Full;
use crate::guard::Refusal;
use crate::resolve::ResolveError;
use crate::trust::CaBundleInvalid;
use crate::url::UrlInvalid;

/// Why a nominated endpoint can never be called as it is.
///
/// The kind may be told to the provider; the text is for the operator's log.
#[derive(Debug, thiserror::Error)]
pub enum EndpointProblem {
    /// The URL is not one that a webhook can have.
    #[error("the URL is invalid")]
    UrlInvalid(#[from] UrlInvalid),
    /// The URL names an address or port that the policy refuses.
    #[error("the URL is refused")]
    UrlRefused(#[from] Refusal),
    /// The CA bundle cannot be used.
    #[error("the CA bundle is invalid")]
    CaBundleInvalid(#[from] CaBundleInvalid),
    /// Every certificate of the CA bundle has expired.
    #[error("every certificate of the CA bundle has expired")]
    CaBundleExpired,
}

/// Why a call brought no answer.
///
/// The text is for the operator's log only: told to a consumer or provider, it would make this server a port scanner
/// (CVE-2020-8561).
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// There is no place in the bulkhead.
    #[error("too many calls in flight")]
    Full(#[from] Full),
    /// The name has no address, or nobody could say.
    #[error("cannot resolve the name")]
    Resolve(#[from] ResolveError),
    /// The name resolves to an address that the policy refuses; that there are others beside it does not matter.
    #[error("the address {address} is refused")]
    AddressRefused {
        /// The address.
        address: IpAddr,
        /// Why.
        #[source]
        refusal: Refusal,
    },
    /// No address could be connected to. The error is the last one's.
    #[error("cannot connect")]
    Connect(#[source] io::Error),
    /// The TLS handshake failed.
    #[error("the TLS handshake failed")]
    Tls(#[source] io::Error),
    /// The deadline passed.
    #[error("timed out while {0}")]
    TimedOut(Phase),
    /// The connection broke after the request was, or may have been, sent.
    #[error("the connection broke")]
    Broken(#[source] hyper::Error),
    /// What came is not HTTP, or its header is larger than the limits.
    #[error("the answer is not acceptable as HTTP")]
    Malformed(#[source] hyper::Error),
    /// The HTTP status is not 200.
    #[error("the HTTP status is {0}")]
    Status(StatusCode),
    /// The answer is larger than [`MAX_ANSWER`](crate::MAX_ANSWER), or more was sent beside it than any answer needs.
    #[error("the answer is too large")]
    TooLarge,
    /// This host lacks something, such as descriptors, to make the call. Not the webhook's fault.
    #[error("this host cannot make the call")]
    Local(#[source] io::Error),
    /// There is no room for the answer.
    #[error("there is no room for the answer")]
    NoRoom(#[from] ephemeral_shares::Full),
}

/// What a failed call means for the request that needed it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Failure {
    /// Not tried: the bulkhead, or the consumer's share of it, is full.
    Full,
    /// The webhook was not reached or did not answer in time. This alone is what `failurePolicy: Ignore` ignores.
    Unreachable,
    /// The webhook answered, but not with an answer. Never ignored.
    BadAnswer,
    /// This host is at fault, or has no room for the answer. Never ignored.
    Local,
}

impl CallError {
    /// What the error means for the request.
    pub fn failure(&self) -> Failure {
        match self {
            Self::Full(_) => Failure::Full,
            Self::Resolve(_)
            | Self::AddressRefused { .. }
            | Self::Connect(_)
            | Self::Tls(_)
            | Self::TimedOut(_)
            | Self::Broken(_) => Failure::Unreachable,
            Self::Malformed(_) | Self::Status(_) | Self::TooLarge => Failure::BadAnswer,
            Self::Local(_) | Self::NoRoom(_) => Failure::Local,
        }
    }

    /// A short, stable name for logs and metric labels.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Full(Full::Webhook) => "full",
            Self::Full(Full::Share) => "share_full",
            Self::Resolve(_) => "resolve",
            Self::AddressRefused { .. } => "address_refused",
            Self::Connect(_) => "connect",
            Self::Tls(_) => "tls",
            Self::TimedOut(_) => "timed_out",
            Self::Broken(_) => "broken",
            Self::Malformed(_) => "malformed",
            Self::Status(_) => "status",
            Self::TooLarge => "too_large",
            Self::Local(_) => "local",
            Self::NoRoom(_) => "no_room",
        }
    }
}

/// The steps of a call, for saying where one ran out of time.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Phase {
    /// The name is being resolved, or a connection is being waited for.
    #[default]
    Resolve,
    /// A TCP connection is being opened.
    Connect,
    /// The TLS handshake is under way.
    Tls,
    /// The request is being sent and the header of the answer awaited.
    Answer,
    /// The body of the answer is being read.
    Body,
}

impl Phase {
    /// A short, stable name for logs and metric labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Resolve => "resolve",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Answer => "answer",
            Self::Body => "body",
        }
    }
}

impl std::fmt::Display for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Resolve => "resolving the name",
            Self::Connect => "connecting",
            Self::Tls => "shaking hands",
            Self::Answer => "waiting for the answer",
            Self::Body => "reading the answer",
        })
    }
}
