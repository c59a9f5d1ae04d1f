//! The sockets: TLS, client certificates, tokens, and the ways in which connections break.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinHandle};
use tokio_rustls::TlsAcceptor;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::Shared;
use super::api::{self, Entry};
use super::failure::Failure;
use super::rbac::User;
use crate::pki::{Authority, Identity};
use crate::tls::{provider, roots};

/// The body of an answer; that of a watch has no end.
pub(super) type Body = UnsyncBoxBody<Bytes, std::convert::Infallible>;

/// A request of somebody who is known.
pub(super) struct Call {
    pub(super) user: User,
    pub(super) method: Method,
    /// As it was sent.
    pub(super) path: String,
    pub(super) query: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// A listener that can go away and come back under the same address.
pub(super) struct Listener {
    pub(super) address: SocketAddr,
    door: Arc<Door>,
    accepting: JoinHandle<()>,
}

#[derive(Default)]
struct Door {
    away: AtomicBool,
    connections: Mutex<Vec<AbortHandle>>,
}

impl Listener {
    /// Binds a free port.
    pub(super) async fn bind() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener");
        (listener, address)
    }

    /// Serves on a port.
    pub(super) fn serve(listener: TcpListener, tls: Arc<ServerConfig>, entry: Entry, shared: Arc<Shared>) -> Self {
        let address = listener.local_addr().expect("a bound listener");
        let door = Arc::<Door>::default();
        let accepting = tokio::spawn(accept(
            listener,
            TlsAcceptor::from(tls),
            entry,
            shared,
            Arc::clone(&door),
        ));
        Self {
            address,
            door,
            accepting,
        }
    }

    /// Breaks all connections.
    pub(super) fn drop_connections(&self) {
        let mut connections = self.door.connections.lock().unwrap_or_else(PoisonError::into_inner);
        for connection in connections.drain(..) {
            connection.abort();
        }
    }

    /// Answers nobody any longer, or again.
    pub(super) fn set_away(&self, away: bool) {
        self.door.away.store(away, Ordering::SeqCst);
        if away {
            self.drop_connections();
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.accepting.abort();
        self.drop_connections();
    }
}

/// TLS that asks for a client certificate and does without.
pub(super) fn tls(identity: &Identity, clients: &Authority) -> Arc<ServerConfig> {
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(clients)), provider());
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .expect("the provider has TLS 1.2 and 1.3")
        .with_client_cert_verifier(verifier.allow_unauthenticated().build().expect("there is a root"))
        .with_single_cert(identity.chain(), identity.key())
        .expect("the key fits");
    config.alpn_protocols = crate::tls::Http::Both.alpn();
    Arc::new(config)
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, entry: Entry, shared: Arc<Shared>, door: Arc<Door>) {
    loop {
        let Ok((tcp, _)) = listener.accept().await else {
            continue;
        };
        if door.away.load(Ordering::SeqCst) {
            continue;
        }
        let (tls, shared) = (tls.clone(), Arc::clone(&shared));
        let connection = tokio::spawn(async move {
            // Torn connections are what some tests are about.
            let _ = connection(tcp, tls, entry, shared).await;
        });
        let mut connections = door.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.retain(|connection| !connection.is_finished());
        connections.push(connection.abort_handle());
    }
}

async fn connection(tcp: TcpStream, tls: TlsAcceptor, entry: Entry, shared: Arc<Shared>) -> anyhow::Result<()> {
    tcp.set_nodelay(true)?;
    let stream = tls.accept(tcp).await?;
    let certificate = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
    let user = certificate.and_then(|certificate| subject(certificate));
    let service = service_fn(move |request| answer(request, user.clone(), entry, Arc::clone(&shared)));
    auto::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), service)
        .await
        .map_err(anyhow::Error::from_boxed)
}

/// The user of a client certificate: the common name, and the organisations as groups.
fn subject(certificate: &[u8]) -> Option<User> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().next()?.as_str().ok()?;
    let groups = subject.iter_organization().filter_map(|group| group.as_str().ok());
    Some(User {
        name: name.to_owned(),
        groups: groups.chain(["system:authenticated"]).map(str::to_owned).collect(),
        ..User::default()
    })
}

async fn answer(
    request: Request<Incoming>,
    certificate: Option<User>,
    entry: Entry,
    shared: Arc<Shared>,
) -> Result<Response<Body>, hyper::Error> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let bearer = parts
        .headers
        .get(http::header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let user = match bearer.and_then(|value| value.strip_prefix("Bearer ")) {
        Some(token) => shared.user_of_token(token),
        None => certificate,
    };
    let Some(user) = user else {
        return Ok(failure(&Failure::unauthorized()));
    };
    let call = Call {
        user,
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        headers: parts.headers,
        body,
    };
    Ok(api::serve(shared, entry, call)
        .await
        .unwrap_or_else(|error| failure(&error)))
}

/// An answer of JSON.
pub(super) fn json(code: StatusCode, body: &Value) -> Response<Body> {
    bytes(code, "application/json", body.to_string())
}

/// An answer of any type.
pub(super) fn bytes(code: StatusCode, content_type: &str, body: impl Into<Bytes>) -> Response<Body> {
    let response = Response::builder()
        .status(code)
        .header(http::header::CONTENT_TYPE, content_type);
    let body = Full::new(body.into()).boxed_unsync();
    response.body(body).expect("the parts are valid")
}

fn failure(failure: &Failure) -> Response<Body> {
    json(failure.code, &failure.status())
}
