//! The flags of `dev`.

use std::path::PathBuf;

use clap::Args;

use super::AddressArgs;

/// Options of `dev`.
#[derive(Args, Debug)]
pub(crate) struct DevArgs {
    /// Directory for the PKI, the kubeconfig, the sample manifests and the sample buckets; made if it is not there.
    #[arg(long, default_value = ".kcp-ephemeral")]
    pub(crate) dir: PathBuf,
    /// Port on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 8443)]
    pub(crate) port: u16,
    /// Serve the manifests of this directory, its `.yaml`, `.yml` and `.json` files and not its subdirectories, instead
    /// of the sample ones. The sample webhook is not started then.
    #[arg(long, value_name = "DIR")]
    pub(crate) manifests: Option<PathBuf>,
    /// Do not start the sample webhook, and nominate none.
    #[arg(long)]
    pub(crate) no_sample_webhook: bool,
    /// Let the sample webhook count in the S3-compatible store that `AWS_ENDPOINT`, `AWS_REGION`,
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_ALLOW_HTTP` describe, instead of in folders. Without a key,
    /// the credentials of the cloud's instance are asked for at its metadata address.
    #[arg(long)]
    pub(crate) s3_buckets: bool,
    #[command(flatten)]
    pub(crate) addresses: AddressArgs,
}
