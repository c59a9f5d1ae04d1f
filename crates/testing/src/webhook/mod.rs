//! A TLS webhook for tests that records what it is asked and answers, or fails to answer, as it is told.
//!
//! It is built on hyper and tokio-rustls alone, so that it can misbehave where a proper webhook cannot.

mod recorded;
mod reply;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use rustls_pki_types::CertificateDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

pub use self::recorded::Recorded;
pub use self::reply::{End, Reply, Script};
use crate::pki::{Authority, Identity};
pub use crate::tls::Http;
use crate::tls::{provider, roots};

/// Whether the webhook asks for a client certificate.
#[derive(Clone, Copy)]
pub enum ClientAuth<'a> {
    /// It does not ask.
    None,
    /// It asks and accepts a connection without one.
    Optional(&'a Authority),
    /// It requires one.
    Required(&'a Authority),
}

/// What happens to a connection before HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Handshake {
    /// TLS as it should be.
    #[default]
    Complete,
    /// The connection stays open and nothing is sent.
    Hang,
    /// The connection is closed at once.
    Close,
}

/// A webhook yet to be started.
pub struct Builder<'a> {
    identity: Identity,
    client_auth: ClientAuth<'a>,
    http: Http,
    handshake: Handshake,
}

impl<'a> Builder<'a> {
    /// Whether to ask for a client certificate; by default it does not.
    #[must_use]
    pub fn client_auth(mut self, client_auth: ClientAuth<'a>) -> Self {
        self.client_auth = client_auth;
        self
    }

    /// The protocols to offer; by default both.
    #[must_use]
    pub fn http(mut self, http: Http) -> Self {
        self.http = http;
        self
    }

    /// What happens before HTTP; by default TLS.
    #[must_use]
    pub fn handshake(mut self, handshake: Handshake) -> Self {
        self.handshake = handshake;
        self
    }

    /// Starts the webhook on a free port of 127.0.0.1 with what decides about each answer.
    pub async fn start(self, answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Webhook {
        let tls = TlsAcceptor::from(Arc::new(self.tls()));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound listener");
        let state = Arc::new(State {
            answer: RwLock::new(Arc::new(answer)),
            recorded: Mutex::default(),
            connections: AtomicUsize::new(0),
        });
        let accepting = tokio::spawn(accept(listener, tls, self.handshake, Arc::clone(&state)));
        Webhook {
            address,
            state,
            accepting,
        }
    }

    fn tls(&self) -> ServerConfig {
        let verifier =
            |authority: &Authority| WebPkiClientVerifier::builder_with_provider(Arc::new(roots(authority)), provider());
        let verifier = match self.client_auth {
            ClientAuth::None => Ok(WebPkiClientVerifier::no_client_auth()),
            ClientAuth::Optional(authority) => verifier(authority).allow_unauthenticated().build(),
            ClientAuth::Required(authority) => verifier(authority).build(),
        };
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .expect("the provider has TLS 1.2 and 1.3")
            .with_client_cert_verifier(verifier.expect("there is a root"))
            .with_single_cert(self.identity.chain(), self.identity.key())
            .expect("the key fits");
        config.alpn_protocols = self.http.alpn();
        config
    }
}

/// A webhook that runs until it is dropped.
pub struct Webhook {
    address: SocketAddr,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

impl Webhook {
    /// A webhook with this server certificate.
    pub fn builder(identity: Identity) -> Builder<'static> {
        let (http, handshake) = (Http::Both, Handshake::Complete);
        Builder {
            identity,
            client_auth: ClientAuth::None,
            http,
            handshake,
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `https://localhost:<port><path>`.
    pub fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }

    /// Answers otherwise from now on.
    pub fn set(&self, answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) {
        *self.state.answer.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(answer);
    }

    /// All requests whose body has arrived, oldest first.
    pub fn recorded(&self) -> Vec<Recorded> {
        self.state
            .recorded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The connections that were accepted so far.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

type Answer = dyn Fn(&Recorded) -> Reply + Send + Sync;

struct State {
    answer: RwLock<Arc<Answer>>,
    recorded: Mutex<Vec<Recorded>>,
    connections: AtomicUsize,
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, handshake: Handshake, state: Arc<State>) {
    // The set aborts its connections when this task is aborted.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let Ok((tcp, _)) = listener.accept().await else {
            continue;
        };
        let connection = state.connections.fetch_add(1, Ordering::SeqCst);
        let (tls, state) = (tls.clone(), Arc::clone(&state));
        match handshake {
            Handshake::Complete => connections.spawn(async move {
                // A torn connection is what some tests are about.
                let _ = serve(tcp, tls, connection, state).await;
            }),
            Handshake::Hang => connections.spawn(async move {
                let _open = tcp;
                std::future::pending::<()>().await;
            }),
            Handshake::Close => continue,
        };
    }
}

async fn serve(tcp: TcpStream, tls: TlsAcceptor, connection: usize, state: Arc<State>) -> anyhow::Result<()> {
    tcp.set_nodelay(true)?;
    let stream = tls.accept(tcp).await?;
    let certificates = stream
        .get_ref()
        .1
        .peer_certificates()
        .map(<[CertificateDer<'_>]>::to_vec);
    let certificates: Vec<_> = certificates
        .unwrap_or_default()
        .into_iter()
        .map(CertificateDer::into_owned)
        .collect();
    let service = service_fn(move |request| answer(request, connection, certificates.clone(), Arc::clone(&state)));
    let serving = auto::Builder::new(TokioExecutor::new());
    serving
        .serve_connection(TokioIo::new(stream), service)
        .await
        .map_err(anyhow::Error::from_boxed)
}

async fn answer(
    request: Request<Incoming>,
    connection: usize,
    certificates: Vec<CertificateDer<'static>>,
    state: Arc<State>,
) -> io::Result<Response<Script>> {
    let (parts, body) = request.into_parts();
    let body: Bytes = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let recorded = Recorded {
        method: parts.method,
        uri: parts.uri,
        version: parts.version,
        headers: parts.headers,
        body,
        certificates,
        connection,
    };
    state
        .recorded
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(recorded.clone());
    let answer = Arc::clone(&state.answer.read().unwrap_or_else(PoisonError::into_inner));
    answer(&recorded).play().await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::StatusCode;
    use serde_json::{Value, json};
    use tokio::time::timeout;

    use super::*;
    use crate::client::Client;

    const SOON: Duration = Duration::from_millis(200);

    fn review(object: &str) -> String {
        format!(
            r#"{{"apiVersion":"apis.kcp.io/v1alpha1","kind":"EphemeralReview","request":{{"uid":"u1","object":{object}}}}}"#
        )
    }

    #[tokio::test]
    async fn the_echo_returns_the_object_byte_for_byte_on_both_protocols() {
        let ca = Authority::new("servers");
        let webhook = Webhook::builder(ca.server(&["localhost"])).start(Reply::echo).await;
        let deep = format!(r#"{{ "spec": {}1.50{} }}"#, "[".repeat(3000), "]".repeat(3000));
        for (http, version) in [(Http::One, http::Version::HTTP_11), (Http::Two, http::Version::HTTP_2)] {
            let client = Client::new(webhook.address(), &ca).http(http);
            let answer = client.post_json("/x?y", review(&deep)).await.unwrap();
            assert_eq!((answer.status, answer.version), (StatusCode::OK, version));
            assert_eq!(
                crate::json::raw(&answer.body, &["response", "object"]),
                Some(deep.as_bytes())
            );
            assert_eq!(
                crate::json::raw(&answer.body, &["response", "uid"]),
                Some(br#""u1""#.as_slice())
            );
        }
        let recorded = webhook.recorded();
        assert_eq!(
            recorded.iter().map(|request| request.connection).collect::<Vec<_>>(),
            [0, 1]
        );
        assert_eq!(recorded[0].uri.path_and_query().unwrap(), "/x?y");
        assert_eq!(recorded[0].headers["content-type"], "application/json");
    }

    #[tokio::test]
    async fn client_certificates_are_asked_for_as_told() {
        let (servers, clients) = (
            Authority::new("servers"),
            Authority::new("clients").intermediate("below"),
        );
        let kcp = clients.client("kcp", &["a", "b"]);
        let cases: [(ClientAuth<'_>, bool, Option<usize>); 5] = [
            (ClientAuth::None, true, Some(0)),
            (ClientAuth::Optional(&clients), true, Some(2)),
            (ClientAuth::Optional(&clients), false, Some(0)),
            (ClientAuth::Required(&clients), true, Some(2)),
            (ClientAuth::Required(&clients), false, None),
        ];
        for (case, (client_auth, presented, seen)) in cases.into_iter().enumerate() {
            let webhook = Webhook::builder(servers.server(&["localhost"])).client_auth(client_auth);
            let webhook = webhook.start(Reply::echo).await;
            let client = if presented {
                Client::with_certificate(webhook.address(), &servers, &kcp)
            } else {
                Client::new(webhook.address(), &servers)
            };
            let answer = client.post_json("/", review("{}")).await;
            assert_eq!(answer.is_ok(), seen.is_some(), "case {case}: {answer:?}");
            assert_eq!(
                webhook.recorded().first().map(|request| request.certificates.len()),
                seen,
                "case {case}"
            );
        }
    }

    #[tokio::test]
    async fn it_misbehaves_as_told() {
        let ca = Authority::new("servers");
        let webhook = Webhook::builder(ca.server(&["localhost"]))
            .start(|_| Reply::Close)
            .await;
        let client = Client::new(webhook.address(), &ca);
        assert!(client.post_json("/", "{}").await.is_err());

        webhook.set(|_| Reply::Hang);
        assert!(timeout(SOON, client.post_json("/", "{}")).await.is_err());

        webhook.set(|_| Reply::script(StatusCode::OK, Script::new("{").end(End::Hang)));
        assert!(timeout(SOON, client.post_json("/", "{}")).await.is_err());

        webhook.set(|_| Reply::script(StatusCode::OK, Script::new("{").end(End::Close)));
        assert!(client.post_json("/", "{}").await.is_err());

        webhook.set(|_| Reply::script(StatusCode::OK, Script::spaces(200_000)));
        assert_eq!(client.post_json("/", "{}").await.unwrap().body.len(), 200_000);

        webhook.set(|_| Reply::script(StatusCode::OK, Script::drip("[1,2]", 2, Duration::from_millis(1))));
        assert_eq!(
            client.post_json("/", "{}").await.unwrap().json::<Value>(),
            json!([1, 2])
        );

        webhook.set(|request| Reply::respond(request, json!({"uid": "other", "allowed": true})));
        let answer: Value = client.post_json("/", review("{}")).await.unwrap().json();
        assert_eq!(answer["response"], json!({"uid": "other", "allowed": true}));

        webhook.set(|request| Reply::with_status(request, json!({"n": 1})));
        let answer: Value = client.post_json("/", review(r#"{"spec":{}}"#)).await.unwrap().json();
        assert_eq!(answer["response"]["object"], json!({"spec": {}, "status": {"n": 1}}));
    }

    #[tokio::test]
    async fn the_handshake_fails_as_told() {
        let ca = Authority::new("servers");
        for (handshake, hangs) in [(Handshake::Hang, true), (Handshake::Close, false)] {
            let webhook = Webhook::builder(ca.server(&["localhost"]))
                .handshake(handshake)
                .start(Reply::echo)
                .await;
            let client = Client::new(webhook.address(), &ca);
            let outcome = timeout(SOON, client.stream()).await;
            assert_eq!(outcome.is_err(), hangs);
            assert!(!outcome.is_ok_and(|stream| stream.is_ok()));
            assert_eq!(webhook.connections(), 1);
        }
    }
}
