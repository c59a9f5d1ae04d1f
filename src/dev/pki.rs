//! The PKI of `dev`: made once, kept in the directory, renewed leaf by leaf when it is about to expire.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls_pki_types::pem::{self, PemObject as _};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use time::{Duration, OffsetDateTime};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::secure_port::Pair;

const CA_LIFETIME: Duration = Duration::days(3650);
const LEAF_LIFETIME: Duration = Duration::days(365);
/// A leaf that expires sooner than this is issued anew at start.
const RENEW_BEFORE: Duration = Duration::days(30);

/// The files of the PKI, `<directory>/<name>.{crt,key}`.
#[derive(Debug)]
pub(crate) struct Pki {
    directory: PathBuf,
}

/// Which certificate, from which CA, for whom.
struct Leaf {
    name: &'static str,
    issuer: &'static str,
    common_name: &'static str,
    organization: Option<&'static str>,
    purpose: ExtendedKeyUsagePurpose,
}

/// The authority of everything that connects to this server, and of this server.
pub(crate) const CA: &str = "ca";
/// The authority of the certificate that webhooks see. One of its own, so that a webhook which trusts it trusts nothing
/// else of this installation (proposal, section 1a).
pub(crate) const WEBHOOK_CLIENT_CA: &str = "webhook-client-ca";

/// The name in the shard's certificate.
pub(crate) const SHARD_NAMES: [&str; 2] = ["kcp-shard-0", "kcp-shard-1"];
/// The name in the front-proxy's certificate.
pub(crate) const FRONT_PROXY_NAME: &str = "kcp-front-proxy";

const LEAVES: [Leaf; 6] = [
    Leaf {
        name: "server",
        issuer: CA,
        common_name: "kcp-ephemeral",
        organization: None,
        purpose: ExtendedKeyUsagePurpose::ServerAuth,
    },
    Leaf {
        name: "sample-webhook",
        issuer: CA,
        common_name: "sample-webhook",
        organization: None,
        purpose: ExtendedKeyUsagePurpose::ServerAuth,
    },
    Leaf {
        name: "shard",
        issuer: CA,
        common_name: SHARD_NAMES[0],
        organization: Some("system:masters"),
        purpose: ExtendedKeyUsagePurpose::ClientAuth,
    },
    Leaf {
        name: "front-proxy",
        issuer: CA,
        common_name: FRONT_PROXY_NAME,
        organization: None,
        purpose: ExtendedKeyUsagePurpose::ClientAuth,
    },
    Leaf {
        name: "user",
        issuer: CA,
        common_name: "developer",
        organization: Some("developers"),
        purpose: ExtendedKeyUsagePurpose::ClientAuth,
    },
    Leaf {
        name: "webhook-client",
        issuer: WEBHOOK_CLIENT_CA,
        common_name: "kcp-ephemeral",
        organization: None,
        purpose: ExtendedKeyUsagePurpose::ClientAuth,
    },
];

impl Pki {
    /// Opens the PKI in a directory and makes what is missing, does not fit its CA, or is about to expire.
    pub(crate) fn open(directory: PathBuf) -> Result<Self> {
        fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let pki = Self { directory };
        for ca in [CA, WEBHOOK_CLIENT_CA] {
            pki.ensure_ca(ca)?;
        }
        for leaf in &LEAVES {
            pki.ensure_leaf(leaf)?;
        }
        Ok(pki)
    }

    /// The files of one certificate.
    pub(crate) fn pair(&self, name: &str) -> Pair {
        Pair {
            cert: self.directory.join(format!("{name}.crt")),
            key: self.directory.join(format!("{name}.key")),
        }
    }

    fn ensure_ca(&self, name: &str) -> Result<()> {
        let pair = self.pair(name);
        match (pair.cert.exists(), pair.key.exists()) {
            (true, true) if pair.lives_until()? > OffsetDateTime::now_utc() + RENEW_BEFORE => return Ok(()),
            (true, true) | (false, false) => {}
            // Half a CA is somebody's mistake; to replace it would make every certificate that it issued worthless.
            _ => bail!(
                "{} and {} belong together, but one is missing: put it back, or delete {} to have a new PKI made",
                pair.cert.display(),
                pair.key.display(),
                self.directory.display()
            ),
        }
        let mut params = params(&format!("kcp-ephemeral dev {name}"), None, CA_LIFETIME);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        let cert = params.self_signed(&key)?;
        pair.write(&cert.pem(), &key)
    }

    fn ensure_leaf(&self, leaf: &Leaf) -> Result<()> {
        let (pair, ca) = (self.pair(leaf.name), self.pair(leaf.issuer));
        if pair.cert.exists() && pair.key.exists() && pair.is_good(&ca)? {
            return Ok(());
        }
        let mut params = params(leaf.common_name, leaf.organization, LEAF_LIFETIME);
        params.extended_key_usages = vec![leaf.purpose.clone()];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        if leaf.purpose == ExtendedKeyUsagePurpose::ServerAuth {
            let names = ["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
            params.subject_alt_names = CertificateParams::new(names)?.subject_alt_names;
        }
        let ca_key = KeyPair::from_pem(&read(&ca.key)?).with_context(|| unusable(&ca.key))?;
        let issuer = Issuer::from_ca_cert_pem(&read(&ca.cert)?, ca_key).with_context(|| unusable(&ca.cert))?;
        let key = KeyPair::generate()?;
        let cert = params.signed_by(&key, &issuer)?;
        pair.write(&cert.pem(), &key)
    }
}

impl Pair {
    fn write(&self, cert: &str, key: &KeyPair) -> Result<()> {
        write_private(&self.key, key.serialize_pem().as_bytes())?;
        fs::write(&self.cert, cert).with_context(|| format!("cannot write {}", self.cert.display()))
    }

    fn lives_until(&self) -> Result<OffsetDateTime> {
        let der = certificate(&self.cert)?;
        let (_, cert) = X509Certificate::from_der(&der).with_context(|| unusable(&self.cert))?;
        Ok(cert.validity().not_after.to_datetime())
    }

    /// Whether the certificate is the CA's, has its key, and lives a while.
    fn is_good(&self, ca: &Self) -> Result<bool> {
        let der = certificate(&self.cert)?;
        let (_, cert) = X509Certificate::from_der(&der).with_context(|| unusable(&self.cert))?;
        let ca_der = certificate(&ca.cert)?;
        let (_, ca_cert) = X509Certificate::from_der(&ca_der).with_context(|| unusable(&ca.cert))?;
        let key = read(&self.key)?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).with_context(|| unusable(&self.key))?;
        let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&key).with_context(|| unusable(&self.key))?;
        let fits = rustls::sign::CertifiedKey::new(vec![der.clone()], key)
            .keys_match()
            .is_ok();
        let issued = cert.verify_signature(Some(ca_cert.public_key())).is_ok();
        Ok(fits && issued && self.lives_until()? > OffsetDateTime::now_utc() + RENEW_BEFORE)
    }
}

fn params(common_name: &str, organization: Option<&str>, lifetime: Duration) -> CertificateParams {
    let mut params = CertificateParams::default();
    let mut name = DistinguishedName::new();
    if let Some(organization) = organization {
        name.push(DnType::OrganizationName, organization);
    }
    name.push(DnType::CommonName, common_name);
    params.distinguished_name = name;
    let now = OffsetDateTime::now_utc();
    // An hour back, for clocks in virtual machines that lag behind.
    params.not_before = now - Duration::HOUR;
    params.not_after = now + lifetime;
    params
}

fn certificate(path: &Path) -> Result<CertificateDer<'static>> {
    match CertificateDer::from_pem_slice(read(path)?.as_bytes()) {
        Err(pem::Error::NoItemsFound) => bail!("{}: there is no PEM certificate in it", unusable(path)),
        read => read.with_context(|| unusable(path)),
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn unusable(path: &Path) -> String {
    format!(
        "cannot use {}; delete its directory to have a new PKI made",
        path.display()
    )
}

/// Writes a file that only its owner may read.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options.open(path).and_then(|mut file| file.write_all(content));
    written.with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_start_keeps_every_file() {
        let dir = tempfile::tempdir().unwrap();
        let content = || {
            let mut files: Vec<_> = fs::read_dir(dir.path())
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .collect();
            files.sort();
            files
                .into_iter()
                .map(|path| (path.clone(), fs::read(path).unwrap()))
                .collect::<Vec<_>>()
        };
        Pki::open(dir.path().to_owned()).unwrap();
        let first = content();
        Pki::open(dir.path().to_owned()).unwrap();
        assert_eq!(content(), first);
        assert_eq!(first.len(), 2 * (LEAVES.len() + 2));
    }

    #[test]
    fn a_leaf_that_does_not_fit_is_made_anew_and_half_a_ca_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let pki = Pki::open(dir.path().to_owned()).unwrap();
        fs::copy(pki.pair("shard").key, pki.pair("user").key).unwrap();
        Pki::open(dir.path().to_owned()).unwrap();
        assert!(pki.pair("user").is_good(&pki.pair(CA)).unwrap());
        fs::remove_file(pki.pair(CA).key).unwrap();
        let error = Pki::open(dir.path().to_owned()).unwrap_err().to_string();
        assert!(error.contains("belong together"), "{error}");
    }
}
