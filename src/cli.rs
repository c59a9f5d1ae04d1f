//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ephemeral_webhook_client::Allow;
use ipnet::IpNet;

/// Ephemeral resources for kcp: custom resources that are questions, answered by the provider's webhook.
#[derive(Debug, Parser)]
#[command(name = "kcp-ephemeral", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) logging: LoggingArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve an ephemeral resource on this machine, without kcp: PKI, sample webhook and kubeconfig included.
    Dev(DevArgs),
}

/// How to log; the log goes to standard error.
#[derive(Args, Debug)]
pub(crate) struct LoggingArgs {
    /// What to log: a level, or directives such as `info,ephemeral_index=debug`.
    #[arg(
        long,
        global = true,
        env = "KCP_EPHEMERAL_LOG",
        default_value = "info",
        help_heading = "Logging"
    )]
    pub(crate) log_level: String,
    /// Form of the log lines.
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text, help_heading = "Logging")]
    pub(crate) log_format: LogFormat,
}

/// Form of the log lines.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Options of `dev`.
#[derive(Args, Debug)]
pub(crate) struct DevArgs {
    /// Directory for the PKI, the kubeconfig, the sample manifests and the sample buckets; made if it is not there.
    #[arg(long, default_value = ".kcp-ephemeral")]
    pub(crate) dir: PathBuf,
    /// Port on 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 8443)]
    pub(crate) port: u16,
    /// Serve the manifests of this directory instead of the sample ones.
    #[arg(long, value_name = "DIR")]
    pub(crate) manifests: Option<PathBuf>,
    /// Do not start the sample webhook.
    #[arg(long)]
    pub(crate) no_sample_webhook: bool,
    /// Let the sample webhook count in the S3-compatible store that the variables `AWS_ENDPOINT`, `AWS_REGION`,
    /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_ALLOW_HTTP` describe, instead of in folders.
    #[arg(long)]
    pub(crate) s3_buckets: bool,
    #[command(flatten)]
    pub(crate) addresses: AddressArgs,
}

/// Where webhooks may be.
#[derive(Args, Clone, Debug, Default)]
#[allow(clippy::struct_field_names, reason = "the flags are named so")]
pub(crate) struct AddressArgs {
    /// Let webhooks be at these addresses although they are special-purpose, this host's, or kcp's; with CLUSTER=, only
    /// the webhooks of that provider's logical cluster. May be repeated.
    #[arg(long, value_name = "[CLUSTER=]CIDR", help_heading = "Webhook addresses")]
    pub(crate) webhook_allow_cidr: Vec<Allow>,
    /// Refuse webhooks at these addresses, whatever is allowed. May be repeated.
    #[arg(long, value_name = "CIDR", help_heading = "Webhook addresses")]
    pub(crate) webhook_deny_cidr: Vec<IpNet>,
    /// Let webhooks be at this port too; 443 and 8443 always may. May be repeated.
    #[arg(long, value_name = "PORT", help_heading = "Webhook addresses")]
    pub(crate) webhook_allow_port: Vec<u16>,
}
