//! What `dev` serves when it is told nothing else: the sample provider, its webhook over folders of files, a bucket.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bucketinfo::Buckets;
use ephemeral_index::manifests::DEFAULT_CLUSTER;
use ephemeral_webhook::{Export, Server, TlsFiles};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::pki::{CA, Pki, WEBHOOK_CLIENT_CA};

/// The nomination, written at each start since the webhook takes a free port. A person may edit the other manifests.
const NOMINATION: &str = "ephemeralwebhook.yaml";

/// The sample's APIExport.
const EXPORT: &str = "s3.example.com";

/// The sample webhook, running.
#[derive(Debug)]
pub(crate) struct SampleWebhook {
    address: SocketAddr,
    serving: JoinHandle<Result<()>>,
}

impl SampleWebhook {
    /// Starts the webhook on a free port.
    pub(crate) async fn start(buckets: Buckets, pki: &Pki, stop: CancellationToken) -> Result<Self> {
        let pair = pki.pair("sample-webhook");
        let tls = TlsFiles::new(pair.cert, pair.key).client_ca(pki.pair(WEBHOOK_CLIENT_CA).cert);
        let server = Server::builder(tls)
            .bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .context("cannot start the sample webhook")?;
        let address = server.local_addr();
        let exports = [Export::new(DEFAULT_CLUSTER, EXPORT)];
        let route = bucketinfo::webhook(buckets, exports.into()).route(bucketinfo::PATH);
        let serving = tokio::spawn(async move { Ok(server.serve(route, stop.cancelled_owned()).await?) });
        Ok(Self { address, serving })
    }

    /// Waits for its end.
    pub(crate) async fn end(self) -> Result<()> {
        self.serving.await?
    }
}

/// Writes the manifests that are not there yet, and the nomination of the webhook where there is one.
pub(crate) fn write_manifests(directory: &Path, webhook: Option<&SampleWebhook>, pki: &Pki) -> Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    for (name, content) in bucketinfo::MANIFESTS {
        let path = directory.join(name);
        match webhook {
            Some(webhook) if name == NOMINATION => write(&path, &nomination(content, webhook.address, pki)?)?,
            None if name == NOMINATION && path.exists() => {
                fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            }
            None if name == NOMINATION => {}
            _ if path.exists() => {}
            _ => write(&path, content)?,
        }
    }
    Ok(())
}

/// The sample's nomination with the address of its webhook and the authority of its certificate.
fn nomination(manifest: &str, webhook: SocketAddr, pki: &Pki) -> Result<String> {
    let ca = pki.pair(CA).cert;
    let ca = fs::read(&ca).with_context(|| format!("cannot read {}", ca.display()))?;
    let line = |line: &str| match line.trim_start().split(':').next() {
        Some("url") => format!("  url: https://{webhook}{}", bucketinfo::PATH),
        Some("caBundle") => format!("  caBundle: {}", BASE64_STANDARD.encode(&ca)),
        _ => line.to_owned(),
    };
    let lines: Vec<String> = manifest.lines().map(line).collect();
    Ok(format!(
        "# Written at each start: the sample webhook takes a free port.\n{}\n",
        lines.join("\n")
    ))
}

/// Where the sample webhook counts: in the S3-compatible store that `AWS_*` variables describe, or in folders, which are
/// made with one bucket in them.
pub(crate) fn buckets(directory: &Path, s3: bool) -> Result<Buckets> {
    if s3 {
        Ok(Buckets::s3_from_env())
    } else {
        make_buckets(directory).map(Buckets::Folders)
    }
}

/// Makes the folder of buckets, with one bucket in it, unless it is there.
fn make_buckets(directory: &Path) -> Result<PathBuf> {
    let buckets = directory.join("buckets");
    if !buckets.exists() {
        let photos = buckets.join("photos");
        fs::create_dir_all(photos.join("2026")).with_context(|| format!("cannot make {}", photos.display()))?;
        for (name, content) in [
            ("README.txt", "three objects"),
            ("2026/beach.jpg", "sand"),
            ("2026/mountain.jpg", "rock"),
        ] {
            write(&photos.join(name), content)?;
        }
    }
    Ok(buckets)
}

fn write(path: &Path, content: &str) -> Result<()> {
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}
