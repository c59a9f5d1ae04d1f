//! The flags of `doctor`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};

/// Options of `doctor`.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) consumer: ConsumerArgs,
    #[command(flatten)]
    pub(crate) provider: ProviderViewArgs,
    /// The resource to follow, such as bucketinfos.s3.example.com.
    #[arg(long, value_name = "PLURAL.GROUP", required_unless_present = "orphans")]
    pub(crate) resource: Option<ResourceName>,
    /// What verifies the server's certificate; by default the CA of the kubeconfig, then the system's trust store.
    #[arg(long, value_name = "FILE")]
    pub(crate) endpoint_ca_file: Option<PathBuf>,
    /// Send this object as a dry run; without it the webhook is judged by the nomination's conditions.
    #[arg(short = 'f', long = "filename", value_name = "FILE", requires = "resource")]
    pub(crate) object: Option<PathBuf>,
    /// The namespace of the object, where it names none.
    #[arg(short, long, default_value = "default")]
    pub(crate) namespace: String,
    /// Look for endpoint entries that nothing nominates any longer, in the provider's workspace.
    #[arg(long, conflicts_with_all = ["resource", "object"])]
    pub(crate) orphans: bool,
    /// Form of the report.
    #[arg(short, long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) output: OutputFormat,
}

/// Where the consumer is.
#[derive(Args, Debug)]
#[command(next_help_heading = "Consumer")]
pub(crate) struct ConsumerArgs {
    /// The kubeconfig of the consumer; by default $KUBECONFIG, then ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; by default the current one.
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// The consumer's workspace, path or logical cluster; by default that in the kubeconfig's URL.
    #[arg(long, value_name = "PATH", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) workspace: Option<String>,
}

/// Whose eyes the provider's side is seen with.
#[derive(Args, Debug)]
#[command(next_help_heading = "Provider")]
#[expect(clippy::struct_field_names, reason = "they are the names of the flags")]
pub(crate) struct ProviderViewArgs {
    /// A kubeconfig that sees the provider's workspace; by default the consumer's, which seldom does.
    #[arg(long, value_name = "FILE")]
    pub(crate) provider_kubeconfig: Option<PathBuf>,
    /// The context of the provider's kubeconfig; by default the current one.
    #[arg(long, value_name = "NAME", requires = "provider_kubeconfig")]
    pub(crate) provider_context: Option<String>,
    /// The provider's workspace, path or logical cluster; by default the one that the binding is bound to.
    #[arg(long, value_name = "PATH", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) provider_workspace: Option<String>,
}

/// Form of a report.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people.
    Text,
    /// One JSON object.
    Json,
}

/// A resource of an API group.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ResourceName {
    /// The plural name.
    pub(crate) plural: String,
    /// The API group.
    pub(crate) group: String,
}

/// Not a resource of an API group.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("not a resource such as bucketinfos.s3.example.com")]
pub(crate) struct ResourceNameInvalid;

impl FromStr for ResourceName {
    type Err = ResourceNameInvalid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (plural, group) = text.split_once('.').ok_or(ResourceNameInvalid)?;
        let named =
            |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
        if named(plural) && named(group) {
            Ok(Self {
                plural: plural.to_owned(),
                group: group.to_owned(),
            })
        } else {
            Err(ResourceNameInvalid)
        }
    }
}

impl std::fmt::Display for ResourceName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.plural, self.group)
    }
}
