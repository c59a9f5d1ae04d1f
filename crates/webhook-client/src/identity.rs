//! The certificate that this server shows to webhooks.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::crypto::aws_lc_rs;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// A client certificate with its chain and key, which are known to fit.
#[derive(Clone)]
pub struct ClientIdentity {
    key: Arc<CertifiedKey>,
    key_der: Arc<PrivateKeyDer<'static>>,
}

/// Why a certificate and key are no identity.
#[derive(Debug, thiserror::Error)]
pub enum IdentityInvalid {
    /// A file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The certificate is not PEM.
    #[error("the certificate is not PEM")]
    Certificate(#[source] rustls_pki_types::pem::Error),
    /// There is no certificate.
    #[error("there is no certificate")]
    NoCertificate,
    /// The key is not PEM, or there is none.
    #[error("the key is not PEM")]
    Key(#[source] rustls_pki_types::pem::Error),
    /// The key cannot be used, or is not the certificate's.
    #[error("the key does not fit the certificate")]
    Pair(#[source] rustls::Error),
}

impl ClientIdentity {
    /// Takes a certificate chain, the certificate itself first, and its key, both PEM.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, IdentityInvalid> {
        let chain: Vec<_> = CertificateDer::pem_slice_iter(certificates)
            .collect::<Result<_, _>>()
            .map_err(IdentityInvalid::Certificate)?;
        if chain.is_empty() {
            return Err(IdentityInvalid::NoCertificate);
        }
        let key_der = PrivateKeyDer::from_pem_slice(key).map_err(IdentityInvalid::Key)?;
        let key = CertifiedKey::from_der(chain, key_der.clone_key(), &aws_lc_rs::default_provider());
        Ok(Self {
            key: Arc::new(key.map_err(IdentityInvalid::Pair)?),
            key_der: Arc::new(key_der),
        })
    }

    /// Reads the two from files. Blocks for as long as that takes.
    pub fn load(certificates: &Path, key: &Path) -> Result<Self, IdentityInvalid> {
        let read = |path: &Path| {
            std::fs::read(path).map_err(|source| IdentityInvalid::Read {
                path: path.to_owned(),
                source,
            })
        };
        Self::from_pem(&read(certificates)?, &read(key)?)
    }

    /// The chain, the certificate itself first.
    pub fn chain(&self) -> &[CertificateDer<'static>] {
        &self.key.cert
    }
}

impl PartialEq for ClientIdentity {
    fn eq(&self, other: &Self) -> bool {
        self.key.cert == other.key.cert && self.key_der == other.key_der
    }
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientIdentity").finish_non_exhaustive()
    }
}

tokio::task_local! {
    /// Set when the server asks for a certificate in the handshake that the current task is polling.
    static ASKED: Arc<AtomicBool>;
}

/// Shows the identity to every server that asks, whichever authorities it names: a webhook verifies the certificate
/// by the `clientCABundle` that its provider was given, and a hint that is wrong must not make it invisible.
///
/// One of these belongs to one TLS session cache, since rustls resumes a session only with the resolver it began with.
#[derive(Debug)]
pub(crate) struct Present(pub(crate) Option<Arc<ClientIdentity>>);

impl ResolvesClientCert for Present {
    fn resolve(&self, _root_hint_subjects: &[&[u8]], _sigschemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        // Without a value nobody wants to know.
        let _ = ASKED.try_with(|asked| asked.store(true, Ordering::Relaxed));
        self.0.as_ref().map(|identity| Arc::clone(&identity.key))
    }

    fn has_certs(&self) -> bool {
        self.0.is_some()
    }
}

/// Runs a handshake and says whether the server asked for a certificate in it.
pub(crate) async fn noting_requests<T>(handshake: impl Future<Output = T>) -> (T, bool) {
    let asked = Arc::new(AtomicBool::new(false));
    let output = ASKED.scope(Arc::clone(&asked), handshake).await;
    (output, asked.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (String, String) {
        let certified = rcgen::generate_simple_self_signed(["kcp".to_owned()]).unwrap();
        (certified.cert.pem(), certified.signing_key.serialize_pem())
    }

    #[test]
    fn a_pair_that_fits_is_an_identity_equal_to_itself_alone() {
        let (certificate, key) = pair();
        let load = || ClientIdentity::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap();
        assert_eq!(load(), load());
        assert_eq!(load().chain().len(), 1);
        let (certificate, key) = pair();
        assert_ne!(
            load(),
            ClientIdentity::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap()
        );
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let (certificate, key) = pair();
        let (_, other) = pair();
        for (certificate, key, expected) in [
            (certificate.as_str(), other.as_str(), "Pair"),
            (key.as_str(), key.as_str(), "NoCertificate"),
            ("", key.as_str(), "NoCertificate"),
            (certificate.as_str(), certificate.as_str(), "Key"),
            (certificate.as_str(), "", "Key"),
            ("-----BEGIN CERTIFICATE-----\n", key.as_str(), "Certificate"),
        ] {
            let error = ClientIdentity::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap_err();
            assert!(format!("{error:?}").starts_with(expected), "{expected}: {error:?}");
        }
        let nowhere = Path::new("/nonexistent/tls.crt");
        let error = ClientIdentity::load(nowhere, nowhere).unwrap_err();
        assert!(matches!(error, IdentityInvalid::Read { .. }));
    }
}
