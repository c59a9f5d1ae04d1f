use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ephemeral_testing::pki::{Authority, Identity};
use ephemeral_webhook_client::{
    AddressPolicy, Answer, Call, CallError, Endpoint, EndpointProblem, EndpointSpec, Options, Resolve, ResolveError,
    WebhookClient,
};
use futures::future::BoxFuture;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Longer than anything that is expected to happen takes.
pub(crate) const LONG: Duration = Duration::from_secs(30);
/// Long enough for a machine that is busy, short enough to wait for.
pub(crate) const SHORT: Duration = Duration::from_millis(500);

/// An authority, and a client that allows loopback.
pub(crate) struct Setup {
    pub(crate) ca: Authority,
    pub(crate) client: WebhookClient,
}

impl Setup {
    pub(crate) fn new() -> Self {
        Self::with(options())
    }

    pub(crate) fn with(options: Options) -> Self {
        Self {
            ca: Authority::new("webhooks"),
            client: WebhookClient::new(options).unwrap(),
        }
    }

    pub(crate) fn identity(&self) -> Identity {
        self.ca.server(&["localhost", "127.0.0.1", "webhook.example.com"])
    }

    pub(crate) fn endpoint(&self, url: &str) -> Endpoint {
        self.limited(url, 100)
    }

    pub(crate) fn limited(&self, url: &str, max_in_flight: u32) -> Endpoint {
        self.judge(url, max_in_flight).unwrap()
    }

    pub(crate) fn judge(&self, url: &str, max_in_flight: u32) -> Result<Endpoint, EndpointProblem> {
        self.make("provider", url, max_in_flight)
    }

    /// The webhook of another provider.
    pub(crate) fn of(&self, cluster: &str, url: &str) -> Endpoint {
        self.make(cluster, url, 100).unwrap()
    }

    fn make(&self, cluster: &str, url: &str, max_in_flight: u32) -> Result<Endpoint, EndpointProblem> {
        let ca_bundle = STANDARD.encode(self.ca.cert_pem());
        let spec = EndpointSpec {
            cluster,
            url,
            ca_bundle: Some(&ca_bundle),
            max_in_flight: NonZeroU32::new(max_in_flight).unwrap(),
        };
        self.client.endpoint(&spec, SystemTime::now())
    }
}

pub(crate) fn options() -> Options {
    Options {
        policy: AddressPolicy {
            allow_loopback: true,
            ..AddressPolicy::default()
        },
        ..Options::default()
    }
}

pub(crate) fn call(within: Duration) -> Call {
    Call {
        body: "{}".into(),
        consumer: "consumer".into(),
        deadline: Instant::now() + within,
        traceparent: None,
    }
}

pub(crate) async fn ask(endpoint: &Endpoint) -> Result<Answer, CallError> {
    endpoint.call(call(LONG)).await
}

/// A name server whose answers are written down; each name's last answer stays.
#[derive(Default)]
pub(crate) struct Names {
    answers: HashMap<&'static str, Vec<Vec<IpAddr>>>,
    asked: AtomicUsize,
}

impl Names {
    pub(crate) fn with(mut self, name: &'static str, answers: &[&[&str]]) -> Self {
        let parse = |answer: &&[&str]| answer.iter().map(|address| address.parse().unwrap()).collect();
        self.answers.insert(name, answers.iter().map(parse).collect());
        self
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, ResolveError>> {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst);
        let answer = self
            .answers
            .get(name)
            .map(|answers| answers[asked.min(answers.len() - 1)].clone());
        Box::pin(async { answer.ok_or_else(ResolveError::not_found) })
    }
}

/// A TLS server that does with each connection what a test says.
pub(crate) async fn server<F, W>(identity: &Identity, alpn: &[&str], serve: F) -> SocketAddr
where
    F: Fn(TlsStream<TcpStream>, usize) -> W + Send + Sync + 'static,
    W: Future<Output = ()> + Send,
{
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(identity.chain(), identity.key())
        .unwrap();
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    tokio::spawn(async move {
        for number in 0.. {
            let (tcp, _) = listener.accept().await.unwrap();
            let (acceptor, serve) = (acceptor.clone(), Arc::clone(&serve));
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(tcp).await {
                    serve(stream, number).await;
                }
            });
        }
    });
    address
}

/// Reads one HTTP/1.1 request with the body `{}`; `false` when the connection is closed instead.
pub(crate) async fn read_request(stream: &mut TlsStream<TcpStream>) -> bool {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n{}") {
        match stream.read_u8().await {
            Ok(byte) => request.push(byte),
            Err(_) => return false,
        }
    }
    true
}

pub(crate) async fn write(stream: &mut TlsStream<TcpStream>, text: &str) -> bool {
    stream.write_all(text.as_bytes()).await.is_ok() && stream.flush().await.is_ok()
}

pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]";
