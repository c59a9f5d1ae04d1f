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

#[cfg(test)]
mod tests {
    use ephemeral_testing::pki::{Authority, Identity};
    use rustls::crypto::aws_lc_rs;
    use rustls::sign::{CertifiedKey, SingleCertAndKey};
    use rustls::version::{TLS12, TLS13};
    use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
    use rustls_pki_types::ServerName;
    use tokio_rustls::{TlsAcceptor, TlsConnector};

    use super::*;

    /// A handshake in memory; the certificate that the server got to see.
    async fn handshake(
        version: &'static SupportedProtocolVersion,
        certificate: CertificateDer<'static>,
        key: &Identity,
    ) -> std::io::Result<Option<CertificateDer<'static>>> {
        let ca = Authority::new("ca");
        let provider = Arc::new(aws_lc_rs::default_provider());
        let server = ca.server(&["localhost"]);
        let server = CertifiedKey::from_der(server.chain(), server.key(), &provider).unwrap();
        let server = server_config(Arc::new(SingleCertAndKey::from(server)), Arc::clone(&provider)).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(ca.cert_der()).unwrap();
        let key = provider.key_provider.load_private_key(key.key()).unwrap();
        let client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_client_cert_resolver(Arc::new(SingleCertAndKey::from(CertifiedKey::new(
                vec![certificate],
                key,
            ))));

        let (here, there) = tokio::io::duplex(64 * 1024);
        let name = ServerName::try_from("localhost").unwrap();
        let connecting = TlsConnector::from(Arc::new(client)).connect(name, here);
        let (accepted, _) = tokio::join!(TlsAcceptor::from(Arc::new(server)).accept(there), connecting);
        let accepted = accepted?;
        Ok(accepted
            .get_ref()
            .1
            .peer_certificates()
            .map(|chain| chain[0].clone().into_owned()))
    }

    /// The certificate as one of X.509 version 1 would be: without version and extensions. Its issuer's signature no
    /// longer holds, which is no business of the handshake.
    fn of_version_1(certificate: &CertificateDer<'_>) -> CertificateDer<'static> {
        let (whole, _) = element(certificate);
        let (signed, signature) = element(whole);
        let mut rest = signed;
        let mut kept = Vec::new();
        while !rest.is_empty() {
            let (_, after) = element(rest);
            let one = &rest[..rest.len() - after.len()];
            if !matches!(one[0], 0xa0 | 0xa3) {
                kept.extend_from_slice(one);
            }
            rest = after;
        }
        let mut content = sequence(&kept);
        content.extend_from_slice(signature);
        sequence(&content).into()
    }

    /// The content of the first DER element, and what comes after it.
    fn element(der: &[u8]) -> (&[u8], &[u8]) {
        let (length, header) = match der[1] {
            0x81 => (usize::from(der[2]), 3),
            0x82 => (usize::from(u16::from_be_bytes([der[2], der[3]])), 4),
            short => (usize::from(short), 2),
        };
        der[header..].split_at(length)
    }

    fn sequence(content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&[0x30, 0x82], &length[..], content].concat()
    }

    #[tokio::test]
    async fn a_certificate_of_any_kind_is_taken_if_its_key_is_there() {
        let untrusted = Authority::new("other").client("ada", &[]);
        let old = of_version_1(&untrusted.chain()[0]);
        assert!(webpki::EndEntityCert::try_from(&old).is_err(), "it is of version 1");
        for version in [&TLS12, &TLS13] {
            for certificate in [untrusted.chain()[0].clone(), old.clone()] {
                let seen = handshake(version, certificate.clone(), &untrusted).await.unwrap();
                assert_eq!(seen, Some(certificate), "{version:?}");
            }
        }
    }

    #[tokio::test]
    async fn a_certificate_without_its_key_is_not_taken() {
        let ca = Authority::new("ca");
        let (stolen, own) = (ca.client("shard-0", &[]), ca.client("ada", &[]));
        for version in [&TLS12, &TLS13] {
            for certificate in [stolen.chain()[0].clone(), of_version_1(&stolen.chain()[0])] {
                assert!(handshake(version, certificate, &own).await.is_err(), "{version:?}");
            }
        }
    }
}
