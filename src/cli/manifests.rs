//! The flags of `manifests`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::UserName;

/// What to print.
#[derive(Debug, Subcommand)]
pub(crate) enum ManifestsCommand {
    /// The server's rights in every workspace: for the logical cluster system:admin of each shard.
    Shard(UserArgs),
    /// The export of EphemeralWebhook and the server's rights there: for the workspace of that export.
    Platform(UserArgs),
    /// The binding that gives a provider the kind EphemeralWebhook: for a provider's workspace.
    Provider(ProviderArgs),
    /// What nominates a webhook: for the workspace of the provider's export, applied as it says.
    Nomination(NominationArgs),
}

/// Under which name kcp knows the server.
#[derive(Args, Debug)]
pub(crate) struct UserArgs {
    /// The name in the certificate with which `serve` reaches kcp.
    #[arg(long, default_value = "kcp-ephemeral", value_name = "NAME")]
    pub(crate) user: UserName,
}

/// Options of `manifests provider`.
#[derive(Args, Debug)]
pub(crate) struct ProviderArgs {
    /// The workspace of the export of EphemeralWebhook.
    #[arg(long, value_name = "PATH")]
    pub(crate) export_path: String,
    /// Print the server's rights on APIExportEndpointSlices too, for installations that do not grant them everywhere.
    #[arg(long)]
    pub(crate) rbac: bool,
    #[command(flatten)]
    pub(crate) user: UserArgs,
}

/// Options of `manifests nomination`.
#[derive(Args, Debug)]
pub(crate) struct NominationArgs {
    /// The name of the APIExport.
    #[arg(long, value_name = "NAME")]
    pub(crate) export: String,
    /// The API group of the resource.
    #[arg(long)]
    pub(crate) group: String,
    /// The plural name of the resource.
    #[arg(long)]
    pub(crate) resource: String,
    /// Where the webhook is: an https URL.
    #[arg(long)]
    pub(crate) url: String,
    /// The authority of the webhook's serving certificate, PEM; without it the system's trust store counts.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
}
