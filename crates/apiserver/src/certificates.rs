//! Certificates and CA bundles in files, read again when they change.
//!
//! Kubernetes and cert-manager replace such files in more than one way: written in place, renamed over, or by swapping
//! the symbolic link `..data` of a mounted Secret. What all have in common is that the content differs afterwards, so
//! the content is compared every few seconds, which a watch of one inode would get wrong.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use rustls::crypto::CryptoProvider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::identity::Anchors;

/// How often the files are compared. A rotation is in effect within twice this time.
pub const RELOAD_INTERVAL: Duration = Duration::from_secs(2);

/// Largest file that is read, bytes; a CA bundle of a whole trust store is a few hundred KiB.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Why files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("reading {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file is larger than a certificate can be.
    #[error("{} is larger than {MAX_FILE_BYTES} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// A file is not PEM, or holds no certificate or key.
    #[error("{what} is not valid PEM")]
    Pem {
        /// What the file was to hold.
        what: &'static str,
        /// Where the text breaks.
        source: rustls_pki_types::pem::Error,
    },
    /// A file holds no certificate.
    #[error("there is no certificate in it")]
    NoCertificate,
    /// A certificate that cannot be read.
    #[error("certificate {} cannot be read: {reason}", index + 1)]
    Malformed {
        /// Its place in the file, from 0.
        index: usize,
        /// Why.
        reason: String,
    },
    /// The private key is not the certificate's, or of a kind that is not supported.
    #[error("the private key does not fit the certificate")]
    KeyMismatch(#[source] rustls::Error),
}

/// A value made from the contents of files, which follows them as they change.
///
/// What cannot be used is logged and keeps the value as it was: a half-written file, or a certificate whose key comes
/// a moment later, must not take the server down.
pub struct Watched<T> {
    name: &'static str,
    files: Vec<PathBuf>,
    parse: Parse<T>,
    current: ArcSwap<T>,
    generation: AtomicU64,
    problem: ArcSwapOption<String>,
    /// What the files held when they were last looked at; nothing after they could not be read.
    seen: Mutex<Option<Fingerprint>>,
}

type Fingerprint = [u8; 32];

type Parse<T> = Box<dyn Fn(&[Vec<u8>]) -> Result<T, CertificateError> + Send + Sync>;

impl<T> Watched<T> {
    /// Reads `files` and makes the value; `name` stands for it in logs, metrics and at `readyz?verbose`.
    pub fn load(
        name: &'static str,
        files: Vec<PathBuf>,
        parse: impl Fn(&[Vec<u8>]) -> Result<T, CertificateError> + Send + Sync + 'static,
    ) -> Result<Self, CertificateError> {
        let contents = read(&files)?;
        let current = parse(&contents)?;
        Ok(Self {
            name,
            files,
            parse: Box::new(parse),
            current: ArcSwap::from_pointee(current),
            generation: AtomicU64::new(0),
            problem: ArcSwapOption::empty(),
            seen: Mutex::new(Some(fingerprint(&contents))),
        })
    }

    /// The value of now.
    pub fn current(&self) -> Guard<Arc<T>> {
        self.current.load()
    }

    /// How often the value was replaced. What is derived from the value is good as long as this stays the same.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// What it is.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Why the files as they are now are not in effect; for the operator.
    pub fn problem(&self) -> Option<Arc<String>> {
        self.problem.load_full()
    }

    /// Compares the files every [`RELOAD_INTERVAL`], until `stop`.
    pub async fn follow(&self, stop: CancellationToken)
    where
        T: Send + Sync,
    {
        while stop
            .run_until_cancelled(tokio::time::sleep(RELOAD_INTERVAL))
            .await
            .is_some()
        {
            // The files are few, small and in the page cache: reading them here blocks no longer than parsing them.
            self.reload();
        }
    }

    /// Compares the files once, and reads them if they changed.
    pub fn reload(&self) {
        let contents = read(&self.files);
        let fingerprint = contents.as_ref().ok().map(|contents| fingerprint(contents));
        {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if fingerprint.is_some() && *seen == fingerprint {
                return;
            }
            *seen = fingerprint;
        }
        match contents.and_then(|contents| (self.parse)(&contents)) {
            Ok(value) => self.replace(value),
            Err(error) => self.keep(&error),
        }
    }

    fn replace(&self, value: T) {
        self.current.store(Arc::new(value));
        self.generation.fetch_add(1, Ordering::Release);
        self.problem.store(None);
        tracing::info!(name = self.name, "reloaded");
    }

    fn keep(&self, error: &CertificateError) {
        let problem = with_sources(error);
        if self.problem.load().as_deref() != Some(&problem) {
            tracing::warn!(
                name = self.name,
                problem,
                "cannot be reloaded, what was read before stays in effect"
            );
            self.problem.store(Some(Arc::new(problem)));
        }
    }
}

impl<T> fmt::Debug for Watched<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched")
            .field("name", &self.name)
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

fn read(files: &[PathBuf]) -> Result<Vec<Vec<u8>>, CertificateError> {
    files.iter().map(|path| read_file(path)).collect()
}

fn read_file(path: &Path) -> Result<Vec<u8>, CertificateError> {
    let failed = |source| CertificateError::Read {
        path: path.to_owned(),
        source,
    };
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > MAX_FILE_BYTES {
        return Err(CertificateError::TooLarge { path: path.to_owned() });
    }
    std::fs::read(path).map_err(failed)
}

fn fingerprint(contents: &[Vec<u8>]) -> Fingerprint {
    let mut hash = Sha256::new();
    for content in contents {
        hash.update(Sha256::digest(content));
    }
    hash.finalize().into()
}

/// An error with what caused it, in one line.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}

/// All certificates of a PEM file, at least one.
pub fn certificates_from_pem(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let failed = |source| CertificateError::Pem {
        what: "the certificate file",
        source,
    };
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    if certificates.is_empty() {
        Err(CertificateError::NoCertificate)
    } else {
        Ok(certificates)
    }
}

/// The certificate that the server presents, with its key.
#[derive(Debug)]
pub struct ServerCertificate {
    key: Arc<CertifiedKey>,
    not_after: UnixTime,
}

impl ServerCertificate {
    /// Reads a chain and its key, both PEM, and checks that they fit.
    pub fn from_pem(certificate: &[u8], key: &[u8], provider: &CryptoProvider) -> Result<Self, CertificateError> {
        let chain = certificates_from_pem(certificate)?;
        let not_after = earliest_not_after(&chain)?;
        let failed = |source| CertificateError::Pem {
            what: "the private key file",
            source,
        };
        let key = PrivateKeyDer::from_pem_slice(key).map_err(failed)?;
        let key = CertifiedKey::from_der(chain, key, provider).map_err(CertificateError::KeyMismatch)?;
        Ok(Self {
            key: Arc::new(key),
            not_after,
        })
    }

    /// When the first certificate of the chain expires.
    pub fn not_after(&self) -> UnixTime {
        self.not_after
    }
}

/// The serving certificate and its key in two files.
pub type WatchedServerCertificate = Watched<ServerCertificate>;

impl WatchedServerCertificate {
    /// Reads both files.
    pub fn server(certificate: PathBuf, key: PathBuf, provider: Arc<CryptoProvider>) -> Result<Self, CertificateError> {
        Self::load("serving-cert", vec![certificate, key], move |files| {
            ServerCertificate::from_pem(&files[0], &files[1], &provider)
        })
    }
}

impl ResolvesServerCert for WatchedServerCertificate {
    /// One certificate, whatever name the client asks for: shards are told one URL.
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current().key))
    }
}

/// The certificates of one kind of client's CA, in one file.
pub type WatchedAnchors = Watched<Anchors>;

impl WatchedAnchors {
    /// Reads the file.
    pub fn anchors(name: &'static str, file: PathBuf) -> Result<Self, CertificateError> {
        Self::load(name, vec![file], |files| Anchors::from_pem(&files[0]))
    }
}

/// When the first of `chain` expires.
pub(crate) fn earliest_not_after(chain: &[CertificateDer<'_>]) -> Result<UnixTime, CertificateError> {
    let mut earliest = u64::MAX;
    for (index, certificate) in chain.iter().enumerate() {
        let (_, certificate) =
            x509_parser::parse_x509_certificate(certificate).map_err(|error| CertificateError::Malformed {
                index,
                reason: error.to_string(),
            })?;
        let not_after = certificate.validity().not_after.timestamp();
        earliest = earliest.min(u64::try_from(not_after).unwrap_or_default());
    }
    Ok(UnixTime::since_unix_epoch(Duration::from_secs(earliest)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ephemeral_testing::pki::{Authority, Validity};
    use rustls::crypto::aws_lc_rs;

    use super::*;

    fn provider() -> Arc<CryptoProvider> {
        Arc::new(aws_lc_rs::default_provider())
    }

    #[test]
    fn a_pair_that_does_not_fit_keeps_the_old_one_until_it_does() {
        let dir = tempfile::tempdir().unwrap();
        let ca = Authority::new("ca");
        let (cert, key) = ca.server(&["localhost"]).write(dir.path(), "server");
        let watched = WatchedServerCertificate::server(cert.clone(), key.clone(), provider()).unwrap();
        let served = || watched.current().key.cert[0].clone();
        let (old, new) = (served(), ca.server(&["localhost"]));

        fs::write(&cert, &new.cert_pem).unwrap();
        let generation = watched.generation();
        watched.reload();
        assert_eq!((served(), watched.generation()), (old, generation));
        let problem = watched.problem().expect("the key is still the old one");
        assert!(problem.contains("does not fit"), "{problem}");

        fs::write(&key, &new.key_pem).unwrap();
        watched.reload();
        assert_eq!((served(), watched.problem()), (new.chain()[0].clone(), None));
        assert_eq!(watched.generation(), generation + 1);
        watched.reload();
        assert_eq!(watched.generation(), generation + 1, "the same content is no change");
    }

    #[cfg(unix)]
    #[test]
    fn a_swapped_symlink_is_a_change() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("..data");
        for version in ["v1", "v2"] {
            fs::create_dir(dir.path().join(version)).unwrap();
            Authority::new(version).write(&dir.path().join(version), "ca");
        }
        symlink("v1", &data).unwrap();
        symlink("..data/ca.crt", dir.path().join("ca.crt")).unwrap();
        let watched = WatchedAnchors::anchors("client-ca", dir.path().join("ca.crt")).unwrap();
        let before = watched.generation();

        symlink("v2", dir.path().join("..data_tmp")).unwrap();
        fs::rename(dir.path().join("..data_tmp"), &data).unwrap();
        watched.reload();
        assert_eq!(watched.generation(), before + 1);
    }

    #[test]
    fn a_file_that_is_gone_or_broken_is_a_problem_and_no_change() {
        let dir = tempfile::tempdir().unwrap();
        let path = Authority::new("ca").write(dir.path(), "ca");
        let good = fs::read(&path).unwrap();
        let watched = WatchedAnchors::anchors("client-ca", path.clone()).unwrap();
        fs::remove_file(&path).unwrap();
        watched.reload();
        assert!(watched.problem().unwrap().starts_with("reading "));
        for broken in [
            "",
            "no PEM",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ] {
            fs::write(&path, broken).unwrap();
            watched.reload();
            assert!(watched.problem().is_some(), "{broken:?}");
            assert!(
                WatchedAnchors::anchors("client-ca", path.clone()).is_err(),
                "{broken:?}"
            );
        }
        fs::write(&path, good).unwrap();
        watched.reload();
        assert_eq!(watched.problem(), None);
    }

    #[test]
    fn the_earliest_end_of_a_chain_counts() {
        let ca = Authority::new("ca");
        let leaf = ephemeral_testing::pki::Leaf::server(&["localhost"]).validity(Validity::Expired);
        let expired = ca.issue(&leaf);
        let certificate =
            ServerCertificate::from_pem(expired.cert_pem.as_bytes(), expired.key_pem.as_bytes(), &provider()).unwrap();
        assert!(certificate.not_after() < UnixTime::now());
    }
}
