//! The flags that say where webhooks may be.

use std::net::SocketAddr;

use clap::Args;
use ephemeral_webhook_client::{AddressPolicy, Allow};
use ipnet::IpNet;

/// Where webhooks may be.
#[derive(Args, Clone, Debug, Default)]
#[expect(clippy::struct_field_names, reason = "they are the names of flags")]
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

impl AddressArgs {
    /// The policy that the flags ask for, of a server that listens on `own_listeners`.
    pub(crate) fn policy(self, own_listeners: Vec<SocketAddr>) -> AddressPolicy {
        let Self {
            webhook_allow_cidr,
            webhook_deny_cidr,
            webhook_allow_port,
        } = self;
        AddressPolicy {
            allow: webhook_allow_cidr,
            deny: webhook_deny_cidr,
            extra_ports: webhook_allow_port,
            allow_loopback: false,
            own_listeners,
        }
    }
}
