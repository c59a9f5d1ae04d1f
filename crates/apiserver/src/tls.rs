//! TLS of the secure port.
//!
//! Client certificates are asked for and never demanded. The handshake checks one thing about them: that the client
//! holds the private key. Whether a certificate is trusted, and as what, is judged for each request ([`crate::identity`]),
//! so that a wrong or expired one is answered with a 401 and a body, and one that expires on a long-lived connection
//! does not stay in use. A resumed TLS session brings the certificate of the session that it resumes, which is judged
//! in the same way.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::server::ResolvesServerCert;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, PeerMisbehaved, ServerConfig, SignatureScheme,
};
use rustls_pki_types::{CertificateDer, SubjectPublicKeyInfoDer, UnixTime};
use webpki::RawPublicKeyEntity;

/// The protocols that are spoken, in order of preference.
const ALPN: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The configuration of the secure port: TLS 1.2 and 1.3, HTTP/2 preferred, client certificates as this module says.
pub fn server_config(
    certificate: Arc<dyn ResolvesServerCert>,
    provider: Arc<CryptoProvider>,
) -> Result<ServerConfig, Error> {
    let verifier = ProofOfPossession {
        algorithms: provider.signature_verification_algorithms,
    };
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(Arc::new(verifier))
        .with_cert_resolver(certificate);
    config.alpn_protocols = ALPN.map(<[u8]>::to_vec).to_vec();
    Ok(config)
}

/// Accepts every certificate whose private key the client has.
#[derive(Debug)]
struct ProofOfPossession {
    algorithms: WebPkiSupportedAlgorithms,
}

impl ClientCertVerifier for ProofOfPossession {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    /// No hints: Go's clients send no certificate at all if its issuer is not among them, and the answer would be that
    /// of a connection without one.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = public_key(certificate)?;
        let key = RawPublicKeyEntity::try_from(&key).map_err(|_| bad_encoding())?;
        let scheme = self
            .algorithms
            .mapping
            .iter()
            .find(|(scheme, _)| *scheme == signature.scheme);
        let (_, candidates) = scheme.ok_or(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme)?;
        // In TLS 1.2 a scheme leaves the curve open, so each algorithm that it may stand for is tried.
        if candidates
            .iter()
            .any(|algorithm| key.verify_signature(*algorithm, message, signature.signature()).is_ok())
        {
            Ok(HandshakeSignatureValid::assertion())
        } else {
            Err(CertificateError::BadSignature.into())
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature_with_raw_key(message, &public_key(certificate)?, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The key alone, since webpki reads no certificate of X.509 version 1, which `openssl x509 -req` makes by default in
/// older releases: it is answered with a 401 like every other that is not trusted.
fn public_key(certificate: &CertificateDer<'_>) -> Result<SubjectPublicKeyInfoDer<'static>, Error> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).map_err(|_| bad_encoding())?;
    Ok(SubjectPublicKeyInfoDer::from(certificate.public_key().raw.to_vec()))
}

fn bad_encoding() -> Error {
    CertificateError::BadEncoding.into()
}
