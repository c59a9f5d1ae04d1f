//! Which addresses a webhook may have. Providers choose the URLs that this server calls, from inside the operator's
//! network; without this module that is server-side request forgery as a service.

mod ranges;

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use ipnet::IpNet;

/// The ports that a webhook may have without a word of the operator's.
pub const DEFAULT_PORTS: [u16; 2] = [443, 8443];

/// What the operator allows and forbids, and what is never allowed.
#[derive(Clone, Debug, Default)]
pub struct AddressPolicy {
    /// Opens what is refused otherwise, except the server's own listeners.
    pub allow: Vec<Allow>,
    /// Refused whatever is allowed.
    pub deny: Vec<IpNet>,
    /// Ports beside [`DEFAULT_PORTS`].
    pub extra_ports: Vec<u16>,
    /// Loopback addresses are allowed on any port: for a server that runs alone on a developer's machine.
    pub allow_loopback: bool,
    /// The sockets that the server itself listens on: address and port together are refused always, or a provider
    /// could make the server call itself. An unspecified address stands for all of this host's.
    pub own_listeners: Vec<SocketAddr>,
}

/// One range that the operator opens, for one provider's logical cluster or for all.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Allow {
    /// The provider's logical cluster; `None` for all.
    pub cluster: Option<String>,
    /// The range.
    pub net: IpNet,
}

/// Not `[CLUSTER=]CIDR`.
#[derive(Debug, thiserror::Error)]
#[error("not of the form [CLUSTER=]CIDR")]
pub struct AllowInvalid(#[source] Option<ipnet::AddrParseError>);

impl FromStr for Allow {
    type Err = AllowInvalid;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (cluster, net) = match text.split_once('=') {
            Some(("", _)) => return Err(AllowInvalid(None)),
            Some((cluster, net)) => (Some(cluster.to_owned()), net),
            None => (None, text),
        };
        let net = net.parse().map_err(|error| AllowInvalid(Some(error)))?;
        Ok(Self { cluster, net })
    }
}

/// Addresses that are refused unless an [`Allow`] names them, though they may be public.
#[derive(Clone, Debug, Default)]
pub struct OurAddresses {
    /// This host's own.
    pub host: Vec<IpAddr>,
    /// Those of kcp's base URL and of the external URL.
    pub platform: Vec<IpAddr>,
}

/// Why an address is refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The server itself listens there.
    #[error("it is a listener of this server")]
    OwnListener,
    /// The operator denies it.
    #[error("the operator denies it")]
    Denied,
    /// Neither a default port nor one that the operator allows.
    #[error("the port is not allowed")]
    Port,
    /// It, or an IPv4 address within it, is in a special-purpose range.
    #[error("it is special-purpose ({0})")]
    SpecialPurpose(&'static str),
    /// It is an address of this host.
    #[error("it is an address of this host")]
    Host,
    /// It is an address of kcp or of this server's external URL.
    #[error("it is an address of the platform")]
    Platform,
}

/// An address that the guard let pass. Sockets are opened to nothing else.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CheckedAddress(SocketAddr);

impl CheckedAddress {
    /// The address itself.
    pub fn get(self) -> SocketAddr {
        self.0
    }
}

impl AddressPolicy {
    /// Judges an address for a nomination of a provider's logical cluster.
    ///
    /// An address that carries others within it, as NAT64 does, passes only if each of them does.
    pub fn check(&self, cluster: &str, target: SocketAddr, ours: &OurAddresses) -> Result<CheckedAddress, Refusal> {
        let outer = target.ip();
        let forms = || std::iter::once(outer).chain(ranges::embedded(outer).into_iter().map(IpAddr::V4));

        if forms().any(|ip| self.is_own_listener(ip, target.port(), ours)) {
            return Err(Refusal::OwnListener);
        }
        if forms().any(|ip| self.deny.iter().any(|net| net.contains(&ip))) {
            return Err(Refusal::Denied);
        }
        if self.allow_loopback && outer.is_loopback() {
            return Ok(CheckedAddress(target));
        }
        if !self.allows_port(target.port()) {
            return Err(Refusal::Port);
        }
        forms().try_for_each(|ip| self.check_form(cluster, ip, ours))?;
        Ok(CheckedAddress(target))
    }

    /// Judges a port before the address is known.
    pub(crate) fn check_port(&self, port: u16) -> Result<(), Refusal> {
        if self.allows_port(port) || (self.allow_loopback && port != 0) {
            Ok(())
        } else {
            Err(Refusal::Port)
        }
    }

    fn check_form(&self, cluster: &str, ip: IpAddr, ours: &OurAddresses) -> Result<(), Refusal> {
        let names = |allow: &Allow| allow.net.contains(&ip) && allow.cluster.as_deref().is_none_or(|c| c == cluster);
        if self.allow.iter().any(names) {
            return Ok(());
        }
        if let Some(range) = ranges::special_purpose(ip) {
            return Err(Refusal::SpecialPurpose(range));
        }
        if ours.host.contains(&ip) {
            return Err(Refusal::Host);
        }
        if ours.platform.contains(&ip) {
            return Err(Refusal::Platform);
        }
        Ok(())
    }

    fn allows_port(&self, port: u16) -> bool {
        port != 0 && (DEFAULT_PORTS.contains(&port) || self.extra_ports.contains(&port))
    }

    fn is_own_listener(&self, ip: IpAddr, port: u16, ours: &OurAddresses) -> bool {
        // The unspecified address as a target means this host too.
        let is_host = ip.is_loopback() || ip.is_unspecified() || ours.host.contains(&ip);
        self.own_listeners.iter().any(|listener| {
            let same = listener.ip() == ip
                || (listener.ip().is_unspecified() && is_host)
                || (listener.ip().is_loopback() && ip.is_unspecified());
            same && listener.port() == port
        })
    }
}

#[cfg(test)]
mod tests;
