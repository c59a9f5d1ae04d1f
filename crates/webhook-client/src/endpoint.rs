//! The webhook of one nomination, ready to be called.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use ephemeral_shares::Party;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderValue, Method, Request, Response, StatusCode, Version};
use http_body_util::Full;
use hyper::body::Incoming;
use rustls::{HandshakeKind, client::Resumption};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;

use crate::answer;
use crate::bulkhead::Bulkhead;
use crate::client::Common;
use crate::connection::{Connection, Protocol, SendError};
use crate::error::{CallError, EndpointProblem, Phase};
use crate::identity::{ClientIdentity, Present};
use crate::pool::{Lease, Pool};
use crate::progress::{Progress, Timing};
use crate::trust::Verifier;
use crate::url::WebhookUrl;

/// What a nomination says of its webhook.
#[derive(Clone, Copy, Debug)]
pub struct EndpointSpec<'a> {
    /// The provider's logical cluster, for address rules that name it.
    pub cluster: &'a str,
    /// The URL as the provider wrote it.
    pub url: &'a str,
    /// The text of `caBundle`, base64 of PEM. Only where it is absent or empty does the system's trust store count.
    pub ca_bundle: Option<&'a str>,
    /// The calls that may be in flight at once.
    pub max_in_flight: NonZeroU32,
}

/// One call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The JSON to send.
    pub body: Bytes,
    /// Whoever is to get a fair share of the webhook.
    pub consumer: Arc<str>,
    /// When everything must be over, from name resolution to the last byte.
    pub deadline: Instant,
    /// The W3C `traceparent` to pass on.
    pub traceparent: Option<HeaderValue>,
}

/// What the webhook answered with status 200.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The body, at most [`MAX_ANSWER`](crate::MAX_ANSWER) bytes; not looked at.
    pub body: Bytes,
    /// Whether the webhook asked for a client certificate when the TLS session of this connection began.
    pub client_certificate_requested: bool,
    /// The protocol.
    pub protocol: Protocol,
    /// How long it took to connect; `None` where the connection was open.
    pub connected: Option<Timing>,
}

/// The webhook of one generation of one nomination, with its own connections, TLS sessions and bulkhead.
///
/// Nothing is opened before the first call. Dropped, it closes its idle connections.
pub struct Endpoint {
    common: Arc<Common>,
    cluster: Box<str>,
    url: WebhookUrl,
    verifier: Arc<Verifier>,
    bulkhead: Bulkhead,
    /// Whose share the answers take.
    answers: Party,
    /// Made when first called, and anew when the client identity has changed.
    session: Mutex<Option<Arc<Session>>>,
}

/// What was opened with one client identity: another identity must not travel on its connections, nor be resumed by
/// its TLS sessions.
struct Session {
    identity: Option<Arc<ClientIdentity>>,
    tls: TlsConnector,
    pool: Arc<Pool>,
    /// Held by the call that opens a connection while others may hope to share it.
    opening: tokio::sync::Mutex<()>,
    /// Whether the webhook asked for a certificate in the last full handshake: in a resumed one it cannot.
    certificate_requested: AtomicBool,
}

/// How long a call waits for the connection that another call is opening before it opens one itself. Over HTTP/2 one
/// connection will do for all, but a handshake that hangs must not hold up more than its own call.
const PATIENCE: Duration = Duration::from_millis(250);
/// The TLS sessions that are kept for resumption.
const TLS_SESSIONS: usize = 8;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const AGENT: HeaderValue = HeaderValue::from_static(concat!("kcp-ephemeral/", env!("CARGO_PKG_VERSION")));

impl Endpoint {
    pub(crate) fn new(common: Arc<Common>, spec: &EndpointSpec<'_>, verifier: Arc<Verifier>, url: WebhookUrl) -> Self {
        Self {
            answers: common.answers.party(spec.cluster),
            common,
            cluster: spec.cluster.into(),
            url,
            verifier,
            bulkhead: Bulkhead::new(spec.max_in_flight),
            session: Mutex::default(),
        }
    }

    /// Calls the webhook once. Dropping the future cancels the call and frees its place.
    pub async fn call(&self, call: Call) -> Result<Answer, CallError> {
        let _place = self.bulkhead.enter(&call.consumer)?;
        let progress = Progress::default();
        timeout_at(call.deadline, self.exchange(&call, &progress))
            .await
            .unwrap_or_else(|_| Err(CallError::TimedOut(progress.phase())))
    }

    async fn exchange(&self, call: &Call, progress: &Progress) -> Result<Answer, CallError> {
        let (lease, response) = self.ask(call, progress).await?;
        if response.status() != StatusCode::OK {
            return Err(CallError::Status(response.status()));
        }
        progress.enter(Phase::Body);
        let keep_alive = answer::keep_alive(response.headers());
        let answer = Answer {
            client_certificate_requested: lease.about().certificate_requested,
            protocol: lease.protocol(),
            connected: progress.timing(),
            body: answer::read(response.into_body(), &self.answers, |error| lease.blame(error)).await?,
        };
        lease.finish(keep_alive);
        Ok(answer)
    }

    /// Sends the request and waits for the header of the answer.
    ///
    /// A connection that turns out to be closed before a byte of the request was sent, as idle ones may, is no
    /// answer: the next one is tried. After that first byte the webhook may have acted, and it is not asked again.
    async fn ask(&self, call: &Call, progress: &Progress) -> Result<(Lease, Response<Incoming>), CallError> {
        let session = self.session();
        loop {
            let mut lease = self.connection(&session, progress).await?;
            progress.enter(Phase::Answer);
            match lease.send(self.request(call, lease.protocol())).await {
                Ok(response) => return Ok((lease, response)),
                Err(SendError::Unsent(_)) if !lease.is_fresh => {}
                Err(SendError::Unsent(error) | SendError::Sent(error)) => return Err(lease.blame(error)),
            }
        }
    }

    async fn connection(&self, session: &Session, progress: &Progress) -> Result<Lease, CallError> {
        if let Some(lease) = session.pool.take().await {
            return Ok(lease);
        }
        let _opening = match session.pool.protocol() {
            Some(Protocol::Http1) => None,
            Some(Protocol::Http2) | None => {
                let turn = timeout(PATIENCE, session.opening.lock()).await.ok();
                if let Some(lease) = session.pool.take().await {
                    return Ok(lease);
                }
                turn
            }
        };
        let dialed = self
            .common
            .dialer
            .dial(&self.cluster, &self.url, &session.tls, progress)
            .await?;
        let is_resumed = dialed.stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed);
        let requested = if is_resumed {
            session.certificate_requested.load(Ordering::Relaxed)
        } else {
            session
                .certificate_requested
                .store(dialed.certificate_requested, Ordering::Relaxed);
            dialed.certificate_requested
        };
        let connection = Connection::start(dialed.stream, requested).await?;
        Ok(session.pool.insert(connection))
    }

    fn request(&self, call: &Call, protocol: Protocol) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(call.body.clone()));
        *request.method_mut() = Method::POST;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT, JSON);
        headers.insert(USER_AGENT, AGENT);
        if let Some(traceparent) = &call.traceparent {
            headers.insert("traceparent", traceparent.clone());
        }
        match protocol {
            Protocol::Http1 => {
                headers.insert(HOST, self.url.host_header.clone());
                *request.uri_mut() = self.url.origin.clone();
            }
            Protocol::Http2 => {
                *request.uri_mut() = self.url.absolute.clone();
                *request.version_mut() = Version::HTTP_2;
            }
        }
        request
    }

    fn session(&self) -> Arc<Session> {
        let identity = self.common.identity.load_full();
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        match &*session {
            Some(session) if is_same(session.identity.as_ref(), identity.as_ref()) => Arc::clone(session),
            _ => Arc::clone(session.insert(Arc::new(self.begin(identity)))),
        }
    }

    fn begin(&self, identity: Option<Arc<ClientIdentity>>) -> Session {
        let mut config = self.common.tls_config(Arc::clone(&self.verifier));
        config.client_auth_cert_resolver = Arc::new(Present(identity.clone()));
        config.resumption = Resumption::in_memory_sessions(TLS_SESSIONS);
        Session {
            identity,
            tls: TlsConnector::from(Arc::new(config)),
            pool: Arc::new(Pool::new(Arc::clone(&self.common.idle_places))),
            opening: tokio::sync::Mutex::default(),
            certificate_requested: AtomicBool::new(false),
        }
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("cluster", &self.cluster)
            .finish_non_exhaustive()
    }
}

/// Judges the parts of a nomination.
pub(crate) fn parse(common: &Arc<Common>, spec: &EndpointSpec<'_>) -> Result<WebhookUrl, EndpointProblem> {
    let url = WebhookUrl::parse(spec.url)?;
    common.dialer.check_url(spec.cluster, &url)?;
    Ok(url)
}

fn is_same(one: Option<&Arc<ClientIdentity>>, other: Option<&Arc<ClientIdentity>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (None, None) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten thousand of them are a few megabytes.
    #[test]
    fn an_endpoint_is_small_until_it_is_called() {
        assert!(size_of::<Endpoint>() <= 512, "{}", size_of::<Endpoint>());
    }
}
