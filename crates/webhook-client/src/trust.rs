//! Whose certificates a webhook may have: the nomination's CA bundle or, where it has none, the system's trust store.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::{PemObject as _, SectionKind};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use sha2::{Digest as _, Sha256};
use x509_parser::parse_x509_certificate;

use crate::error::EndpointProblem;

/// Why a `caBundle` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CaBundleInvalid {
    /// Not base64.
    #[error("it is not base64")]
    Base64(#[source] base64::DecodeError),
    /// It holds a damaged PEM block.
    #[error("it is not PEM")]
    Pem(#[source] rustls_pki_types::pem::Error),
    /// It holds no certificate at all; blocks of other types do not count.
    #[error("it holds no certificate")]
    NoCertificate,
    /// One of its certificates is none, or cannot be a trust anchor.
    #[error("its certificate {number} is unusable")]
    Certificate {
        /// Which, counted from 1.
        number: usize,
        /// What is wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The verifiers of all endpoints, each made once for all who trust the same certificates.
#[derive(Debug)]
pub(crate) struct TrustStore {
    algorithms: WebPkiSupportedAlgorithms,
    system: OnceLock<Arc<Verifier>>,
    bundles: Mutex<HashMap<[u8; 32], Weak<Verifier>>>,
}

impl TrustStore {
    pub(crate) fn new(algorithms: WebPkiSupportedAlgorithms) -> Self {
        Self {
            algorithms,
            system: OnceLock::new(),
            bundles: Mutex::default(),
        }
    }

    /// The verifier for the text of a `caBundle`. Only the lack of a text means the system's trust store.
    pub(crate) fn verifier(&self, ca_bundle: Option<&str>, now: SystemTime) -> Result<Arc<Verifier>, EndpointProblem> {
        let verifier = match ca_bundle {
            None | Some("") => return Ok(self.system()),
            Some(text) => self.bundle(text)?,
        };
        let now = since_epoch(now);
        if verifier.bundle.iter().all(|certificate| certificate.not_after < now) {
            return Err(EndpointProblem::CaBundleExpired);
        }
        Ok(verifier)
    }

    fn system(&self) -> Arc<Verifier> {
        let load = || {
            let found = rustls_native_certs::load_native_certs();
            for error in found.errors {
                tracing::warn!(%error, "a part of the system's trust store cannot be read");
            }
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(found.certs);
            Arc::new(Verifier {
                roots,
                bundle: Vec::new(),
                algorithms: self.algorithms,
            })
        };
        Arc::clone(self.system.get_or_init(load))
    }

    fn bundle(&self, text: &str) -> Result<Arc<Verifier>, CaBundleInvalid> {
        let key = Sha256::digest(text).into();
        let mut bundles = self.bundles.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(verifier) = bundles.get(&key).and_then(Weak::upgrade) {
            return Ok(verifier);
        }
        let verifier = Arc::new(Verifier::parse(text, self.algorithms)?);
        // Paid for by the growth: forgotten bundles are at most as many as live ones.
        if bundles.len() == bundles.capacity() {
            bundles.retain(|_, verifier| verifier.strong_count() > 0);
        }
        bundles.insert(key, Arc::downgrade(&verifier));
        Ok(verifier)
    }
}

/// Verifies the certificates of webhooks as Go's `crypto/x509` does for Kubernetes' own webhooks, where webpki alone
/// is stricter or looser:
///
/// * A certificate that is in the bundle itself is trusted as it is. webpki refuses what
///   `openssl req -x509` makes by default, a self-signed server certificate that calls itself a CA.
/// * A CA of the bundle counts only within its own validity. webpki does not look at that of trust anchors.
pub(crate) struct Verifier {
    roots: RootCertStore,
    /// What `roots` was made of; empty for the system's trust store, whose upkeep is the system's.
    bundle: Vec<BundleCertificate>,
    algorithms: WebPkiSupportedAlgorithms,
}

struct BundleCertificate {
    der: CertificateDer<'static>,
    /// Since the epoch, as in `not_after`.
    not_before: Duration,
    not_after: Duration,
    may_serve: bool,
}

impl Verifier {
    fn parse(text: &str, algorithms: WebPkiSupportedAlgorithms) -> Result<Self, CaBundleInvalid> {
        let pem = decode_base64(text).map_err(CaBundleInvalid::Base64)?;
        let mut roots = RootCertStore::empty();
        let mut bundle = Vec::new();
        for block in <(SectionKind, Vec<u8>)>::pem_slice_iter(&pem) {
            let (kind, der) = block.map_err(CaBundleInvalid::Pem)?;
            if kind != SectionKind::Certificate {
                continue;
            }
            let unusable = |source| CaBundleInvalid::Certificate {
                number: bundle.len() + 1,
                source,
            };
            let der = CertificateDer::from(der);
            let certificate = BundleCertificate::parse(&der).map_err(unusable)?;
            roots.add(der).map_err(|error| unusable(error.into()))?;
            bundle.push(certificate);
        }
        if bundle.is_empty() {
            return Err(CaBundleInvalid::NoCertificate);
        }
        Ok(Self {
            roots,
            bundle,
            algorithms,
        })
    }

    /// The trust anchors that are valid now: nearly always all.
    fn roots_at(&self, now: Duration) -> Cow<'_, RootCertStore> {
        if self
            .bundle
            .iter()
            .all(|certificate| certificate.is_valid_at(now).is_ok())
        {
            return Cow::Borrowed(&self.roots);
        }
        let pairs = self.bundle.iter().zip(&self.roots.roots);
        let valid = pairs.filter(|(certificate, _)| certificate.is_valid_at(now).is_ok());
        Cow::Owned(RootCertStore {
            roots: valid.map(|(_, anchor)| anchor.clone()).collect(),
        })
    }
}

impl BundleCertificate {
    fn parse(der: &CertificateDer<'_>) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let (_, certificate) = parse_x509_certificate(der).map_err(|error| error.to_string())?;
        let seconds = |time: x509_parser::time::ASN1Time| Duration::from_secs(time.timestamp().try_into().unwrap_or(0));
        let usage = certificate.extended_key_usage()?;
        Ok(Self {
            der: der.clone().into_owned(),
            not_before: seconds(certificate.validity().not_before),
            not_after: seconds(certificate.validity().not_after),
            may_serve: usage.is_none_or(|usage| usage.value.server_auth || usage.value.any),
        })
    }

    fn is_valid_at(&self, now: Duration) -> Result<(), CertificateError> {
        if now < self.not_before {
            Err(CertificateError::NotValidYet)
        } else if now > self.not_after {
            Err(CertificateError::Expired)
        } else {
            Ok(())
        }
    }

    fn may_serve_at(&self, now: Duration) -> Result<(), CertificateError> {
        self.is_valid_at(now)?;
        self.may_serve.then_some(()).ok_or(CertificateError::InvalidPurpose)
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let presented = ParsedCertificate::try_from(end_entity)?;
        let since_epoch = Duration::from_secs(now.as_secs());
        match self.bundle.iter().find(|certificate| certificate.der == *end_entity) {
            Some(trusted) => trusted.may_serve_at(since_epoch)?,
            None => verify_server_cert_signed_by_trust_anchor(
                &presented,
                &self.roots_at(since_epoch),
                intermediates,
                now,
                self.algorithms.all,
            )?,
        }
        verify_server_name(&presented, server_name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier")
            .field("roots", &self.roots.len())
            .finish_non_exhaustive()
    }
}

/// As Go's `encoding/json` decodes `[]byte`: the standard alphabet with padding; line breaks are skipped.
fn decode_base64(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    const LIKE_GO: GeneralPurpose = GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
    );
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    LIKE_GO.decode(text)
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests;
