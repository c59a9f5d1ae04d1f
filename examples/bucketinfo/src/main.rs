//! Serves the sample webhook over the folders of a directory, or an S3-compatible store.

use std::path::PathBuf;

use anyhow::Context as _;
use bucketinfo::Buckets;
use clap::Parser;
use ephemeral_webhook::{Exports, Server, TlsFiles, stop_signal};

/// The sample webhook: counts the objects of a bucket.
#[derive(Parser)]
struct Arguments {
    /// The directory whose folders are the buckets; without it an S3-compatible store, described by AWS_* variables.
    #[arg(long)]
    buckets: Option<PathBuf>,
    /// The exports to serve: CLUSTER/EXPORT, several separated by commas.
    #[arg(long)]
    exports: Exports,
    /// Where to listen.
    #[arg(long, default_value = "0.0.0.0:8443")]
    listen: String,
    /// The serving certificate.
    #[arg(long)]
    tls_cert_file: PathBuf,
    /// Its private key.
    #[arg(long)]
    tls_private_key_file: PathBuf,
    /// The authorities of kcp's client certificate: status.clientCABundle of the nomination.
    #[arg(long)]
    client_ca_file: PathBuf,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Arguments {
        buckets,
        exports,
        listen,
        tls_cert_file,
        tls_private_key_file,
        client_ca_file,
    } = Arguments::parse();
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let buckets = buckets.map_or_else(Buckets::s3_from_env, Buckets::Folders);
    let tls = TlsFiles::new(tls_cert_file, tls_private_key_file).client_ca(client_ca_file);
    let server = Server::builder(tls).bind(&listen).await.with_context(|| listen)?;
    tracing::info!(address = %server.local_addr(), "serving");
    let webhook = bucketinfo::webhook(buckets, exports);
    Ok(server.serve(webhook.route(bucketinfo::PATH), stop_signal()).await?)
}
