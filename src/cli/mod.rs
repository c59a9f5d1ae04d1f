//! The command line.

mod addresses;
mod dev;
mod doctor;
mod manifests;
mod serve;
mod values;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::logging::LogLevel;

pub(crate) use addresses::AddressArgs;
pub(crate) use dev::DevArgs;
pub(crate) use doctor::{DoctorArgs, OutputFormat, ProviderViewArgs, ResourceName};
pub(crate) use manifests::{ManifestsCommand, NominationArgs, ProviderArgs};
pub(crate) use serve::{
    AuthorizationArgs, ClientCaArgs, KcpArgs, LimitArgs, PublisherArgs, SecureServingArgs, ServeArgs, WebhookClientArgs,
};
pub(crate) use values::{Bytes, Duration, ExternalUrl, Period, UserName};

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
    /// Serve the ephemeral resources of a kcp installation: the virtual workspace.
    Serve(Box<ServeArgs>),
    /// Print what to apply with kubectl.
    #[command(subcommand)]
    Manifests(ManifestsCommand),
    /// Follow a resource hop by hop, from the consumer's binding to the webhook, and say what mends it.
    ///
    /// Prints a line for each hop: ✓ as it should be, ✗ broken, with the fix, – not visible with these credentials.
    /// Exits with 0 when no hop is broken, 1 when one is, 2 for wrong use.
    Doctor(Box<DoctorArgs>),
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
    pub(crate) log_level: LogLevel,
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

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
