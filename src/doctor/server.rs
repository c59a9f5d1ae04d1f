//! The server, as anybody reaches it: `/readyz`, without a certificate.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper_util::rt::TokioIo;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use url::Url;

use super::report::Outcome;
use crate::errors::one_line;

/// What connecting and asking may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How much of the answer is read, bytes.
const MAX_ANSWER: usize = 64 * 1024;

/// Asks the server under an endpoint whether it is ready.
pub(super) async fn probe(endpoint: &str, roots: &Roots) -> Outcome {
    let url = match Url::parse(endpoint) {
        Ok(url) => url,
        Err(error) => return Outcome::broken(format!("{endpoint} is no URL: {error}"), REPUBLISH),
    };
    let origin = url.origin().ascii_serialization();
    match tokio::time::timeout(TIMEOUT, ask(&url, roots)).await {
        Ok(Ok((StatusCode::OK, _))) => Outcome::good(format!("{origin} is ready")),
        Ok(Ok((code, words))) => Outcome::broken(
            format!("{origin} is not ready: {code}: {words}"),
            "wait while it starts; /readyz?verbose and its log say what is missing",
        ),
        Ok(Err(Failure::UnknownCa)) if roots.are_given => Outcome::broken(
            format!("the certificate of {origin} does not verify under --endpoint-ca-file"),
            "give the CA of the server's --tls-cert-file",
        ),
        Ok(Err(Failure::UnknownCa)) => Outcome::not_visible(format!(
            "the certificate of {origin} is of a CA that is not known here: give it with --endpoint-ca-file"
        )),
        Ok(Err(failure)) => Outcome::broken(format!("{origin}: {}", one_line(&failure)), failure.fix()),
        Err(_) => Outcome::broken(
            format!("{origin} did not answer within {} seconds", TIMEOUT.as_secs()),
            START,
        ),
    }
}

const START: &str = "start kcp-ephemeral serve, and let the network through to --external-url";
const REPUBLISH: &str = "remove the entry, and let the server publish its own";

/// What certificates of servers are verified with.
pub(super) struct Roots {
    store: Arc<RootCertStore>,
    /// Whether the user said that it is these.
    are_given: bool,
}

impl Roots {
    /// These CAs (DER) alone, which the user gave.
    pub(super) fn only(cas: impl IntoIterator<Item = CertificateDer<'static>>) -> Self {
        Self {
            store: store(cas),
            are_given: true,
        }
    }

    /// These CAs (DER), and those of the system.
    pub(super) fn and_system(cas: impl IntoIterator<Item = CertificateDer<'static>>) -> Self {
        Self {
            store: store(cas.into_iter().chain(rustls_native_certs::load_native_certs().certs)),
            are_given: false,
        }
    }
}

fn store(cas: impl IntoIterator<Item = CertificateDer<'static>>) -> Arc<RootCertStore> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(cas);
    Arc::new(store)
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("its certificate is of an unknown CA")]
    UnknownCa,
    #[error("its certificate cannot be used")]
    Certificate(#[source] rustls::Error),
    #[error("it cannot be reached")]
    Unreachable(#[source] io::Error),
    #[error("it is no server of this kind")]
    Protocol(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Failure {
    const fn fix(&self) -> &'static str {
        match self {
            Self::Certificate(_) | Self::UnknownCa => {
                "give the server a serving certificate (--tls-cert-file) that is valid now and names the host of \
                 --external-url"
            }
            Self::Unreachable(_) => START,
            Self::Protocol(_) => REPUBLISH,
        }
    }

    fn of_handshake(error: io::Error) -> Self {
        let of_tls = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>());
        match of_tls.cloned() {
            Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => Self::UnknownCa,
            Some(error @ rustls::Error::InvalidCertificate(_)) => Self::Certificate(error),
            Some(error) => Self::Protocol(error.into()),
            None => Self::Unreachable(error),
        }
    }

    fn of_http(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Protocol(error.into())
    }
}

async fn ask(url: &Url, roots: &Roots) -> Result<(StatusCode, String), Failure> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = url.port_or_known_default().unwrap_or(443);
    let stream = TcpStream::connect((host.as_str(), port)).await;
    let stream = stream.map_err(Failure::Unreachable)?;
    let name = ServerName::try_from(host).map_err(Failure::of_http)?;
    let config = ClientConfig::builder()
        .with_root_certificates(Arc::clone(&roots.store))
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    let stream = connector.connect(name, stream).await.map_err(Failure::of_handshake)?;

    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(Failure::of_http)?;
    let request = Request::get("/readyz")
        .header(header::HOST, url.authority())
        .body(Empty::<Bytes>::new())
        .map_err(Failure::of_http)?;
    let exchange = async {
        let answer = sender.send_request(request).await.map_err(Failure::of_http)?;
        let code = answer.status();
        let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
        let text = body.map_err(Failure::Protocol)?.to_bytes();
        let words = String::from_utf8_lossy(&text).lines().collect::<Vec<_>>().join(" ");
        Ok((code, words.chars().filter(|c| !c.is_control()).take(500).collect()))
    };
    // The connection is driven beside the exchange, and ends with it.
    tokio::select! {
        answer = exchange => answer,
        Err(error) = connection => Err(Failure::of_http(error)),
    }
}
