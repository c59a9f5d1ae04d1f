//! One CA bundle, and what verifies under it.

use std::ops::Range;
use std::time::Duration;

use rustls_pki_types::{CertificateDer, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert};
use x509_parser::certificate::X509Certificate;

use crate::certificates::{CertificateError, certificates_from_pem, earliest_not_after};

/// The certificates of one CA bundle.
#[derive(Clone, Debug)]
pub struct Anchors {
    anchors: Vec<Anchor>,
    not_after: UnixTime,
}

#[derive(Clone, Debug)]
struct Anchor {
    anchor: TrustAnchor<'static>,
    validity: Range<u64>,
}

/// A chain that does not end at a CA of the bundle, or not now, or not for a client.
#[derive(Debug, thiserror::Error)]
#[error("the client certificate is not trusted")]
pub struct Untrusted(#[from] pub(super) webpki::Error);

impl Anchors {
    /// Reads a PEM bundle; one certificate that cannot be read spoils it, as in kube-apiserver.
    pub fn from_pem(pem: &[u8]) -> Result<Self, CertificateError> {
        let certificates = certificates_from_pem(pem)?;
        let not_after = earliest_not_after(&certificates)?;
        let anchors = certificates.iter().enumerate().map(|(index, certificate)| {
            let malformed = |reason| CertificateError::Malformed { index, reason };
            let anchor = anchor_from_trusted_cert(certificate).map_err(|error| malformed(error.to_string()))?;
            let validity = validity(certificate).ok_or_else(|| malformed("its validity".to_owned()))?;
            Ok(Anchor {
                anchor: anchor.to_owned(),
                validity,
            })
        });
        Ok(Self {
            anchors: anchors.collect::<Result<_, _>>()?,
            not_after,
        })
    }

    /// When the first certificate of the bundle expires.
    pub fn not_after(&self) -> UnixTime {
        self.not_after
    }

    /// Whether `chain`, the certificate itself first, verifies for a client at `now`.
    ///
    /// A CA certificate that has expired counts no longer, as in Go; webpki alone would not ask.
    pub fn verify(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> Result<(), Untrusted> {
        let valid = |anchor: &&Anchor| anchor.validity.contains(&now.as_secs());
        let anchors: Vec<_> = self
            .anchors
            .iter()
            .filter(valid)
            .map(|anchor| anchor.anchor.clone())
            .collect();
        verify(chain, &anchors, now)
    }

    /// Whether `chain` verifies under the bundle at all, whatever the time is for the CA.
    pub(super) fn verify_at_any_time(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> Result<(), Untrusted> {
        let anchors: Vec<_> = self.anchors.iter().map(|anchor| anchor.anchor.clone()).collect();
        verify(chain, &anchors, now)
    }

    /// The moments at which a certificate of the bundle begins or ceases to be valid.
    pub(super) fn boundaries(&self) -> impl Iterator<Item = u64> + '_ {
        self.anchors
            .iter()
            .flat_map(|anchor| [anchor.validity.start, anchor.validity.end])
    }
}

fn verify(chain: &[CertificateDer<'_>], anchors: &[TrustAnchor<'_>], now: UnixTime) -> Result<(), Untrusted> {
    let [leaf, intermediates @ ..] = chain else {
        return Err(webpki::Error::UnknownIssuer.into());
    };
    EndEntityCert::try_from(leaf)?.verify_for_usage(
        webpki::ALL_VERIFICATION_ALGS,
        anchors,
        intermediates,
        now,
        KeyUsage::client_auth(),
        None,
        None,
    )?;
    Ok(())
}

/// The seconds in which a certificate is valid, or nothing if it cannot be read.
pub(super) fn validity(certificate: &CertificateDer<'_>) -> Option<Range<u64>> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    Some(validity_of(&certificate))
}

/// The last second counts (RFC 5280, 4.1.2.5).
pub(super) fn validity_of(certificate: &X509Certificate<'_>) -> Range<u64> {
    let seconds = |time: i64| u64::try_from(time).unwrap_or_default();
    let validity = certificate.validity();
    seconds(validity.not_before.timestamp())..seconds(validity.not_after.timestamp()).saturating_add(1)
}

/// A moment from its seconds.
pub(super) fn at(seconds: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}
