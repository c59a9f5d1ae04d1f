//! A small HTTPS client for tests: a client certificate or none, any header, HTTP/1.1 or HTTP/2.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::ServerName;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::pki::{Authority, Identity};
pub use crate::tls::Http;
use crate::tls::{provider, roots_from_pem};

/// How to reach one server. Every connection is new; nothing is pooled, retried or followed.
#[derive(Clone)]
pub struct Client {
    address: SocketAddr,
    host: String,
    http: Http,
    roots: RootCertStore,
    tls: Arc<ClientConfig>,
}

impl Client {
    /// A client of the server at `address`, named `localhost`, whose certificate verifies under `authority`. It has no
    /// certificate and speaks HTTP/1.1.
    pub fn new(address: SocketAddr, authority: &Authority) -> Self {
        Self::trusting(address, &authority.cert_pem())
    }

    /// The same for an authority of which there is only the certificate, PEM.
    pub fn trusting(address: SocketAddr, authority: &str) -> Self {
        let roots = roots_from_pem(authority);
        let tls = builder(roots.clone()).with_no_client_auth();
        Self {
            address,
            host: "localhost".to_owned(),
            http: Http::One,
            roots,
            tls: Arc::new(tls),
        }
        .http(Http::One)
    }

    /// The same with a client certificate.
    pub fn with_certificate(address: SocketAddr, authority: &Authority, identity: &Identity) -> Self {
        Self::new(address, authority).with_identity(identity)
    }

    /// The same with a client certificate.
    #[must_use]
    pub fn with_identity(self, identity: &Identity) -> Self {
        let tls = builder(self.roots.clone()).with_client_auth_cert(identity.chain(), identity.key());
        Self {
            tls: Arc::new(tls.expect("the key fits")),
            ..self
        }
        .http(self.http)
    }

    /// The same with other protocols.
    #[must_use]
    pub fn http(mut self, http: Http) -> Self {
        Arc::make_mut(&mut self.tls).alpn_protocols = http.alpn();
        self.http = http;
        self
    }

    /// The same for a server of another name.
    #[must_use]
    pub fn host(mut self, host: &str) -> Self {
        host.clone_into(&mut self.host);
        self
    }

    /// Sends a GET.
    pub async fn get(&self, path: &str) -> anyhow::Result<Answer> {
        self.send(request(Method::GET, path, &[], Bytes::new())?).await
    }

    /// Sends a POST with `Content-Type: application/json`.
    pub async fn post_json(&self, path: &str, body: impl Into<Bytes>) -> anyhow::Result<Answer> {
        self.post(path, &[("content-type", "application/json")], body).await
    }

    /// Sends a POST with these headers; a header may repeat.
    pub async fn post(&self, path: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> anyhow::Result<Answer> {
        self.send(request(Method::POST, path, headers, body.into())?).await
    }

    /// Sends any request on a connection of its own. The URI is a path; scheme and authority are filled in.
    pub async fn send(&self, request: Request<Bytes>) -> anyhow::Result<Answer> {
        self.connect().await?.send(request).await
    }

    /// Opens a connection, to send more than one request on it.
    pub async fn connect(&self) -> anyhow::Result<Connection> {
        let stream = self.stream().await?;
        let two = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let io = TokioIo::new(stream);
        let sender = if two {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
            tokio::spawn(connection);
            Sender::Two(sender)
        } else {
            let (sender, connection) = http1::handshake(io).await?;
            tokio::spawn(connection);
            Sender::One(sender)
        };
        Ok(Connection {
            host: self.host.clone(),
            sender,
        })
    }

    /// Opens a TLS connection and leaves the rest to the caller, for what no client would send.
    pub async fn stream(&self) -> anyhow::Result<TlsStream<TcpStream>> {
        let tcp = TcpStream::connect(self.address).await.context("connecting")?;
        tcp.set_nodelay(true)?;
        let name = ServerName::try_from(self.host.clone())?;
        TlsConnector::from(Arc::clone(&self.tls))
            .connect(name, tcp)
            .await
            .context("TLS handshake")
    }
}

/// A connection that is open.
pub struct Connection {
    host: String,
    sender: Sender,
}

enum Sender {
    One(http1::SendRequest<Full<Bytes>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

impl Connection {
    /// Another sender of requests on the same connection; HTTP/1.1 has none.
    pub fn another(&self) -> Option<Self> {
        let Sender::Two(sender) = &self.sender else { return None };
        Some(Self {
            host: self.host.clone(),
            sender: Sender::Two(sender.clone()),
        })
    }

    /// Sends a request and reads the whole answer.
    pub async fn send(&mut self, request: Request<Bytes>) -> anyhow::Result<Answer> {
        let (mut parts, body) = request.into_parts();
        let body = Full::new(body);
        let response = match &mut self.sender {
            Sender::One(sender) => {
                if !parts.headers.contains_key(http::header::HOST) {
                    parts.headers.insert(http::header::HOST, self.host.parse()?);
                }
                sender.ready().await?;
                sender.send_request(Request::from_parts(parts, body)).await?
            }
            Sender::Two(sender) => {
                let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
                parts.uri = format!("https://{}{path}", self.host).parse()?;
                parts.version = Version::HTTP_2;
                sender.ready().await?;
                sender.send_request(Request::from_parts(parts, body)).await?
            }
        };
        Answer::read(response).await
    }
}

/// What a server answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: StatusCode,
    /// The protocol that was spoken.
    pub version: Version,
    /// All headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

impl Answer {
    async fn read(response: Response<hyper::body::Incoming>) -> anyhow::Result<Self> {
        let (parts, body) = response.into_parts();
        let body = body.collect().await.context("reading the answer's body")?.to_bytes();
        Ok(Self {
            status: parts.status,
            version: parts.version,
            headers: parts.headers,
            body,
        })
    }

    /// The body as JSON; panics with the body if it is not.
    pub fn json<T: DeserializeOwned>(&self) -> T {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The values of a header, in order, those that are text.
    pub fn header_values(&self, name: &str) -> Vec<&str> {
        self.headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .collect()
    }
}

/// A request with these headers; a header may repeat.
pub fn request(
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> anyhow::Result<Request<Bytes>> {
    let request = Request::builder().method(method).uri(path);
    let request = headers
        .iter()
        .fold(request, |request, (name, value)| request.header(*name, *value));
    Ok(request.body(body.into())?)
}

fn builder(roots: RootCertStore) -> rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert> {
    ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .expect("the provider has TLS 1.2 and 1.3")
        .with_root_certificates(roots)
}
