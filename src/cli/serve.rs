//! The flags of `serve`.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{ArgGroup, Args};

use super::{AddressArgs, Bytes, Duration, ExternalUrl, Period};
use crate::serve::ShardSelector;

/// Options of `serve`.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) kcp: KcpArgs,
    #[command(flatten)]
    pub(crate) publisher: PublisherArgs,
    /// Nominations of the operator's own: a directory of APIExports, APIResourceSchemas and EphemeralWebhooks as YAML,
    /// each with the annotation kcp.io/cluster. They win over those in kcp.
    #[arg(long, value_name = "DIR")]
    pub(crate) manifests: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) serving: SecureServingArgs,
    #[command(flatten)]
    pub(crate) clients: ClientCaArgs,
    #[command(flatten)]
    pub(crate) authorization: AuthorizationArgs,
    #[command(flatten)]
    pub(crate) webhook_client: WebhookClientArgs,
    #[command(flatten)]
    pub(crate) addresses: AddressArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// How kcp is reached.
#[derive(Args, Debug)]
#[command(next_help_heading = "kcp")]
pub(crate) struct KcpArgs {
    /// Credentials for kcp, and its base URL; a workspace in the URL is cut off.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: PathBuf,
    /// The context of the kubeconfig; its current one if not given.
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// The workspace of the export of EphemeralWebhook.
    #[arg(long, value_name = "PATH")]
    pub(crate) export_workspace: String,
    /// How often everything is looked at although nothing was heard of a change: published entries, CA bundles that
    /// expire, what calls meet; at least 1s.
    #[arg(long, value_name = "TIME", default_value = "1m")]
    pub(crate) resync_period: Period,
}

/// What is published.
#[derive(Args, Debug)]
#[command(next_help_heading = "Publishing")]
pub(crate) struct PublisherArgs {
    /// The URL under which shards reach this server itself, past any front-proxy.
    #[arg(long, value_name = "URL")]
    pub(crate) external_url: ExternalUrl,
    /// The shards that are to come here, a label selector over their labels; all of them if not given.
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) shard_selector: Option<ShardSelector>,
    /// The field manager of published entries and the name of the Lease: one for each installation. Where several
    /// publish for the same providers, the one whose endpoint an EphemeralWebhook's status names writes its conditions,
    /// and all should show webhooks certificates of one authority.
    #[arg(long, value_name = "NAME", default_value = "kcp-ephemeral")]
    pub(crate) publisher_name: String,
}

/// The secure port.
#[derive(Args, Debug)]
#[command(next_help_heading = "Secure serving")]
pub(crate) struct SecureServingArgs {
    /// The port; 0 takes a free one.
    #[arg(long, value_name = "PORT", default_value_t = 6443)]
    pub(crate) secure_port: u16,
    /// The address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0")]
    pub(crate) bind_address: IpAddr,
    /// The serving certificate with its chain, PEM; read again when it changes.
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_cert_file: PathBuf,
    /// Its private key, PEM.
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_private_key_file: PathBuf,
}

/// Who may connect as what.
#[derive(Args, Debug)]
#[command(next_help_heading = "Clients")]
#[command(group = ArgGroup::new("a client CA").multiple(true).required(true).args([
    "shard_client_ca_file", "requestheader_client_ca_file", "client_ca_file",
]))]
pub(crate) struct ClientCaArgs {
    /// The authority of shards' client certificates, PEM.
    #[arg(long, value_name = "FILE", requires = "shard_client_names")]
    pub(crate) shard_client_ca_file: Option<PathBuf>,
    /// The common names in them, each whole.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "shard_client_ca_file")]
    pub(crate) shard_client_names: Vec<String>,
    /// The authority of front-proxies' client certificates, PEM.
    #[arg(long, value_name = "FILE", requires = "requestheader_allowed_names")]
    pub(crate) requestheader_client_ca_file: Option<PathBuf>,
    /// The common names in them, each whole.
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        requires = "requestheader_client_ca_file"
    )]
    pub(crate) requestheader_allowed_names: Vec<String>,
    /// The authority of users' client certificates, PEM.
    #[arg(long, value_name = "FILE")]
    pub(crate) client_ca_file: Option<PathBuf>,
}

/// How permissions are asked for.
#[derive(Args, Debug)]
#[command(next_help_heading = "Authorization")]
#[expect(clippy::struct_field_names, reason = "they are the names of flags")]
pub(crate) struct AuthorizationArgs {
    /// Credentials with which permissions and bindings are asked for; those of --kubeconfig if not given.
    #[arg(long, value_name = "FILE")]
    pub(crate) authorization_kubeconfig: Option<PathBuf>,
    /// How long kcp's yes holds.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) authorization_webhook_cache_authorized_ttl: Duration,
    /// How long kcp's no holds.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) authorization_webhook_cache_unauthorized_ttl: Duration,
    /// How long a consumer's binding holds.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub(crate) authorization_binding_cache_ttl: Duration,
}

/// What webhooks are shown.
#[derive(Args, Debug)]
#[command(next_help_heading = "Webhooks")]
#[expect(clippy::struct_field_names, reason = "they are the names of flags")]
pub(crate) struct WebhookClientArgs {
    /// The client certificate that is shown to webhooks, with its chain, PEM; read again when it changes.
    #[arg(long, value_name = "FILE")]
    pub(crate) webhook_client_cert_file: PathBuf,
    /// Its private key, PEM.
    #[arg(long, value_name = "FILE")]
    pub(crate) webhook_client_key_file: PathBuf,
    /// Its authority, PEM, which providers are told: one of its own, that lets nobody in here.
    #[arg(long, value_name = "FILE")]
    pub(crate) webhook_client_ca_file: PathBuf,
}

/// How much is under way at once, and how often.
#[derive(Args, Debug)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitArgs {
    /// Calls that one webhook may have in flight, whatever its nomination wishes.
    #[arg(long, value_name = "CALLS", default_value = "8192")]
    pub(crate) webhook_max_in_flight: NonZeroU32,
    /// Requests under way in all; one consumer gets a quarter at most.
    #[arg(long, value_name = "REQUESTS", default_value_t = 8192)]
    pub(crate) max_requests_in_flight: usize,
    /// Memory of requests and answers under way in all, and as much again for answers of webhooks while they arrive; one
    /// consumer, or one provider, gets a quarter at most.
    #[arg(long, value_name = "BYTES", default_value = "256Mi")]
    pub(crate) max_bytes_in_flight: Bytes,
    /// Creates a second that one consumer may send to one webhook.
    #[arg(long, value_name = "CREATES", default_value = "100")]
    pub(crate) consumer_rate: NonZeroU32,
    /// Creates at once that one consumer may send to one webhook.
    #[arg(long, value_name = "CREATES", default_value = "200")]
    pub(crate) consumer_burst: NonZeroU32,
}
