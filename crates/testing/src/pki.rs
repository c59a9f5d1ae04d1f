//! Certificate authorities and the certificates they issue, made in memory.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

const HOUR: Duration = Duration::from_hours(1);

/// A certificate authority.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// The certificates between this authority and its root, its own first; empty for a root.
    intermediates: Vec<String>,
}

impl Authority {
    /// A root authority.
    pub fn new(common_name: &str) -> Self {
        Self::valid(common_name, Validity::Current)
    }

    /// A root authority whose own certificate is valid at another time.
    pub fn valid(common_name: &str, validity: Validity) -> Self {
        let issuer = CertifiedIssuer::self_signed(authority_params(common_name, validity), key_pair());
        Self {
            issuer: issuer.expect("the parameters are complete"),
            intermediates: Vec::new(),
        }
    }

    /// An authority below this one. What it issues carries its certificate in the chain.
    #[must_use]
    pub fn intermediate(&self, common_name: &str) -> Self {
        let issuer = CertifiedIssuer::signed_by(
            authority_params(common_name, Validity::Current),
            key_pair(),
            &self.issuer,
        )
        .expect("the parameters are complete");
        let intermediates = std::iter::once(issuer.pem())
            .chain(self.intermediates.iter().cloned())
            .collect();
        Self { issuer, intermediates }
    }

    /// Issues what `leaf` describes.
    pub fn issue(&self, leaf: &Leaf) -> Identity {
        let key = key_pair();
        let certificate = leaf
            .params()
            .signed_by(&key, &self.issuer)
            .expect("the parameters are complete");
        let cert_pem = std::iter::once(certificate.pem())
            .chain(self.intermediates.iter().cloned())
            .collect();
        Identity {
            cert_pem,
            key_pem: key.serialize_pem(),
        }
    }

    /// A server certificate for DNS names and IP addresses.
    pub fn server(&self, names: &[&str]) -> Identity {
        self.issue(&Leaf::server(names))
    }

    /// A client certificate with a common name (the user) and organisations (the groups).
    pub fn client(&self, common_name: &str, organizations: &[&str]) -> Identity {
        self.issue(&Leaf::client(common_name, organizations))
    }

    /// This authority's certificate as PEM.
    pub fn cert_pem(&self) -> String {
        self.issuer.pem()
    }

    /// This authority's certificate as DER.
    pub fn cert_der(&self) -> CertificateDer<'static> {
        self.issuer.der().clone()
    }

    /// This authority's certificate and key, for a program that is to issue with them.
    pub fn identity(&self) -> Identity {
        Identity {
            cert_pem: self.cert_pem(),
            key_pem: self.issuer.key().serialize_pem(),
        }
    }

    /// Writes this authority's certificate to `dir/name.crt`.
    pub fn write(&self, dir: &Path, name: &str) -> PathBuf {
        write(dir, name, "crt", &self.cert_pem())
    }
}

/// What a certificate that is not an authority's says.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The common name of the subject; empty for none.
    pub common_name: String,
    /// The organisations of the subject, at most two.
    pub organizations: Vec<String>,
    /// The DNS names and IP addresses.
    pub names: Vec<String>,
    /// What the certificate may be used for.
    pub usages: Vec<ExtendedKeyUsagePurpose>,
    /// When it is valid.
    pub validity: Validity,
}

impl Leaf {
    /// A server certificate for DNS names and IP addresses.
    pub fn server(names: &[&str]) -> Self {
        Self {
            common_name: String::new(),
            organizations: Vec::new(),
            names: owned(names),
            usages: vec![ExtendedKeyUsagePurpose::ServerAuth],
            validity: Validity::Current,
        }
    }

    /// A client certificate with a common name (the user) and organisations (the groups).
    pub fn client(common_name: &str, organizations: &[&str]) -> Self {
        Self {
            common_name: common_name.to_owned(),
            organizations: owned(organizations),
            names: Vec::new(),
            usages: vec![ExtendedKeyUsagePurpose::ClientAuth],
            validity: Validity::Current,
        }
    }

    /// The same, valid at another time.
    #[must_use]
    pub fn validity(mut self, validity: Validity) -> Self {
        self.validity = validity;
        self
    }

    fn params(&self) -> CertificateParams {
        let mut params = CertificateParams::new(self.names.clone()).expect("the names are valid");
        params.distinguished_name = rcgen::DistinguishedName::new();
        // rcgen keeps one value for each attribute type; the second name of the same attribute makes room for two.
        let attributes = [DnType::OrganizationName, DnType::CustomDnType(vec![2, 5, 4, 10])];
        assert!(
            self.organizations.len() <= attributes.len(),
            "at most two organisations"
        );
        for (attribute, organization) in attributes.into_iter().zip(&self.organizations) {
            params.distinguished_name.push(attribute, organization.as_str());
        }
        if !self.common_name.is_empty() {
            params
                .distinguished_name
                .push(DnType::CommonName, self.common_name.as_str());
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages.clone_from(&self.usages);
        params.use_authority_key_identifier_extension = true;
        let (not_before, not_after) = self.validity.window();
        params.not_before = not_before.into();
        params.not_after = not_after.into();
        params
    }
}

/// When a certificate is valid, seen from now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// Since an hour ago, for a day.
    Current,
    /// Since an hour ago, and for this long from now.
    For(Duration),
    /// Until an hour ago.
    Expired,
    /// From an hour ahead.
    NotYet,
}

impl Validity {
    fn window(self) -> (SystemTime, SystemTime) {
        let now = SystemTime::now();
        match self {
            Self::Current => (now - HOUR, now + 24 * HOUR),
            Self::For(time) => (now - HOUR, now + time),
            Self::Expired => (now - 24 * HOUR, now - HOUR),
            Self::NotYet => (now + HOUR, now + 24 * HOUR),
        }
    }
}

/// A certificate chain and its key.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The chain as PEM, the certificate itself first.
    pub cert_pem: String,
    /// The private key as PKCS #8 PEM.
    pub key_pem: String,
}

impl Identity {
    /// The chain as DER, the certificate itself first.
    pub fn chain(&self) -> Vec<CertificateDer<'static>> {
        CertificateDer::pem_slice_iter(self.cert_pem.as_bytes())
            .map(|cert| cert.expect("PEM of our own"))
            .collect()
    }

    /// The private key as DER.
    pub fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from_pem_slice(self.key_pem.as_bytes()).expect("PEM of our own")
    }

    /// Writes `dir/name.crt` and `dir/name.key`, the names that `dev` uses, and returns both paths.
    pub fn write(&self, dir: &Path, name: &str) -> (PathBuf, PathBuf) {
        (
            write(dir, name, "crt", &self.cert_pem),
            write(dir, name, "key", &self.key_pem),
        )
    }
}

fn authority_params(common_name: &str, validity: Validity) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let (not_before, not_after) = validity.window();
    params.not_before = not_before.into();
    params.not_after = not_after.into();
    params
}

fn key_pair() -> KeyPair {
    KeyPair::generate().expect("the default algorithm is supported")
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn write(dir: &Path, name: &str, extension: &str, text: &str) -> PathBuf {
    let path = dir.join(format!("{name}.{extension}"));
    std::fs::write(&path, text).expect("the directory is writable");
    path
}
