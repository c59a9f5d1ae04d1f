use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// The PEM files of a webhook: its certificate and key, and the authorities of its clients.
///
/// They are read again while the server runs; see [`Limits::reload_interval`](crate::Limits::reload_interval).
#[derive(Clone, Debug)]
pub struct TlsFiles {
    certificate: PathBuf,
    key: PathBuf,
    client_cas: Vec<PathBuf>,
}

impl TlsFiles {
    /// The serving certificate chain, the certificate itself first, and its private key. It serves nobody until a
    /// [`client_ca`](Self::client_ca) is added.
    pub fn new(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self {
            certificate: certificate.into(),
            key: key.into(),
            client_cas: Vec::new(),
        }
    }

    /// Accepts client certificates that verify under an authority in this file, which may hold several. It is the
    /// `status.clientCABundle` of the nomination. Of more than one file all count.
    #[must_use]
    pub fn client_ca(mut self, file: impl Into<PathBuf>) -> Self {
        self.client_cas.push(file.into());
        self
    }

    /// Reads all files. It blocks.
    pub(crate) fn read(&self) -> Result<TlsText, TlsError> {
        let read = |path: &Path| {
            fs::read(path)
                .map_err(|source| TlsError::Read {
                    file: path.to_owned(),
                    source,
                })
                .map(|text| PemFile {
                    file: path.to_owned(),
                    text,
                })
        };
        Ok(TlsText {
            certificate: read(&self.certificate)?,
            key: read(&self.key)?,
            client_cas: self
                .client_cas
                .iter()
                .map(|path| read(path))
                .collect::<Result<_, _>>()?,
        })
    }
}

/// A client certificate that was verified, as an extension of the request; without it a review is 401.
///
/// [`Server`](crate::Server) sets it on what came with a certificate. An axum server of another kind sets it where it
/// has verified the certificate itself, on its own responsibility:
///
/// ```
/// # async fn doc() {
/// use axum::{Extension, Router};
/// use ephemeral_webhook::{Answer, Denied, Export, Review, VerifiedClient, Webhook};
///
/// async fn answer(_: Review<serde_json::Value>) -> Result<Answer<u32>, Denied> {
///     Ok(Answer::new(1))
/// }
///
/// let webhook = Webhook::new([Export::new("2hq8vkhcmqzy3ukb", "s3.example.com")], answer);
/// // This server's listener refuses every connection without a certificate of kcp's.
/// let app: Router = Router::new().merge(webhook.route("/ephemeral").layer(Extension(VerifiedClient::asserted())));
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct VerifiedClient {
    chain: Arc<[CertificateDer<'static>]>,
}

impl VerifiedClient {
    /// The word of an existing server that the connection came with a client certificate which it has verified.
    pub fn asserted() -> Self {
        Self::new(Vec::new())
    }

    pub(crate) fn new(chain: Vec<CertificateDer<'static>>) -> Self {
        Self { chain: chain.into() }
    }

    /// The certificate chain as it was presented, the client's own first; empty where it was only asserted.
    pub fn chain(&self) -> &[CertificateDer<'static>] {
        &self.chain
    }
}

/// Why the TLS files cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {file}", file = file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not PEM, or does not hold what it should.
    #[error("{file} does not hold PEM of the right kind", file = file.display())]
    Pem {
        /// The file.
        file: PathBuf,
        /// Why.
        source: pem::Error,
    },
    /// A file with client authorities holds something that is no authority.
    #[error("{file} holds a certificate that cannot be an authority", file = file.display())]
    Authority {
        /// The file.
        file: PathBuf,
        /// Why.
        source: rustls::Error,
    },
    /// There is no authority for client certificates.
    #[error("no authority for client certificates")]
    NoAuthority(#[source] VerifierBuilderError),
    /// Certificate and key cannot be used together.
    #[error("the serving certificate and its key cannot be used")]
    Certificate(#[source] rustls::Error),
}

/// What the files hold.
#[derive(PartialEq, Eq)]
pub(crate) struct TlsText {
    certificate: PemFile,
    key: PemFile,
    client_cas: Vec<PemFile>,
}

#[derive(PartialEq, Eq)]
struct PemFile {
    file: PathBuf,
    text: Vec<u8>,
}

impl TlsText {
    pub(crate) fn config(&self) -> Result<ServerConfig, TlsError> {
        let mut roots = RootCertStore::empty();
        for file in &self.client_cas {
            for authority in file.certificates()? {
                let refused = |source| TlsError::Authority {
                    file: file.file.clone(),
                    source,
                };
                roots.add(authority).map_err(refused)?;
            }
        }
        let provider: Arc<CryptoProvider> = Arc::new(aws_lc_rs::default_provider());
        // Without a certificate the handshake completes, for health probes; each review then is 401.
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .allow_unauthenticated()
            .build()
            .map_err(TlsError::NoAuthority)?;
        let key = PrivateKeyDer::from_pem_slice(&self.key.text).map_err(|source| self.key.pem_error(source))?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Certificate)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(self.certificate.certificates()?, key)
            .map_err(TlsError::Certificate)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

impl PemFile {
    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.text).collect();
        match certificates {
            Ok(certificates) if certificates.is_empty() => Err(self.pem_error(pem::Error::NoItemsFound)),
            certificates => certificates.map_err(|source| self.pem_error(source)),
        }
    }

    fn pem_error(&self, source: pem::Error) -> TlsError {
        TlsError::Pem {
            file: self.file.clone(),
            source,
        }
    }
}
