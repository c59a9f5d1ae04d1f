//! What the client and the webhook share of TLS: the crypto provider, named and not the process's default.

use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use crate::pki::Authority;

/// The application protocols that a side offers, in order of preference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Http {
    /// HTTP/1.1 alone.
    #[default]
    One,
    /// HTTP/2 alone.
    Two,
    /// Either, HTTP/2 preferred.
    Both,
}

impl Http {
    pub(crate) fn alpn(self) -> Vec<Vec<u8>> {
        let (one, two) = (b"http/1.1".to_vec(), b"h2".to_vec());
        match self {
            Self::One => vec![one],
            Self::Two => vec![two],
            Self::Both => vec![two, one],
        }
    }
}

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

pub(crate) fn roots(authority: &Authority) -> RootCertStore {
    roots_from_pem(&authority.cert_pem())
}

pub(crate) fn roots_from_pem(pem: &str) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots.add(certificate.expect("PEM")).expect("a certificate");
    }
    roots
}
