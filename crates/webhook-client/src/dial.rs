//! From a webhook's URL to a connection: resolve, check, connect, shake hands.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::error::{CallError, Phase};
use crate::guard::{AddressPolicy, CheckedAddress, Refusal};
use crate::identity::noting_requests;
use crate::progress::{Progress, Timing};
use crate::resolve::{Resolve, ResolveError};
use crate::socket::Socket;
use crate::surroundings::Surroundings;
use crate::url::{WebhookHost, WebhookUrl};

/// How long an address is given before the next one is tried beside it (RFC 8305, "Connection Attempt Delay").
const STAGGER: Duration = Duration::from_millis(250);
/// How many of a name's addresses are tried.
const MAX_ADDRESSES: usize = 16;

/// Opens connections, to addresses alone that the policy lets pass.
pub(crate) struct Dialer {
    policy: AddressPolicy,
    surroundings: Surroundings,
    resolver: Arc<dyn Resolve>,
}

/// A TLS connection, and whether a client certificate was asked for in this very handshake.
pub(crate) struct Dialed {
    pub(crate) stream: TlsStream<Socket>,
    pub(crate) certificate_requested: bool,
}

impl Dialer {
    pub(crate) fn new(policy: AddressPolicy, surroundings: Surroundings, resolver: Arc<dyn Resolve>) -> Self {
        Self {
            policy,
            surroundings,
            resolver,
        }
    }

    /// Judges what a URL says by itself, before anything is resolved.
    pub(crate) fn check_url(&self, cluster: &str, url: &WebhookUrl) -> Result<(), Refusal> {
        let addresses = match &url.host {
            WebhookHost::Name(_) => return self.policy.check_port(url.port),
            WebhookHost::Address(address) => vec![*address],
            WebhookHost::Localhost => LOCALHOST.to_vec(),
        };
        // Where the interfaces cannot be listed, connecting will be refused as long as that lasts.
        let ours = self.surroundings.known().unwrap_or_default();
        let judged = addresses
            .iter()
            .map(|&address| self.policy.check(cluster, SocketAddr::new(address, url.port), &ours));
        judged.reduce(Result::or).unwrap_or(Err(Refusal::Denied)).map(|_| ())
    }

    pub(crate) async fn dial(
        &self,
        cluster: &str,
        url: &WebhookUrl,
        tls: &TlsConnector,
        progress: &Progress,
    ) -> Result<Dialed, CallError> {
        let started = Instant::now();
        progress.enter(Phase::Resolve);
        let addresses = self.checked_addresses(cluster, url).await?;
        let resolved = Instant::now();

        progress.enter(Phase::Connect);
        let tcp = connect(&addresses).await?;
        tcp.set_nodelay(true).map_err(CallError::Connect)?;
        let connected = Instant::now();

        progress.enter(Phase::Tls);
        let handshake = tls.connect(url.server_name.clone(), Socket::new(tcp));
        let (stream, certificate_requested) = noting_requests(handshake).await;
        progress.connected(Timing {
            resolve: resolved - started,
            connect: connected - resolved,
            tls: connected.elapsed(),
        });
        Ok(Dialed {
            stream: stream.map_err(CallError::Tls)?,
            certificate_requested,
        })
    }

    /// The addresses of the host, all of which passed: one bad address among good ones is an attempt to have the
    /// check see the one and the connection go to the other.
    async fn checked_addresses(&self, cluster: &str, url: &WebhookUrl) -> Result<Vec<CheckedAddress>, CallError> {
        let (addresses, ours) = tokio::join!(self.addresses(&url.host), self.surroundings.current());
        let (addresses, ours) = (addresses?, ours.map_err(CallError::Local)?);
        let check = |address: IpAddr| {
            let checked = self.policy.check(cluster, SocketAddr::new(address, url.port), &ours);
            checked.map_err(|refusal| CallError::AddressRefused { address, refusal })
        };
        if url.host == WebhookHost::Localhost {
            // Nobody but this host decides what these are, so those that are allowed do.
            let (passed, refused): (Vec<_>, Vec<_>) = addresses.into_iter().map(check).partition(Result::is_ok);
            return if passed.is_empty() { refused } else { passed }.into_iter().collect();
        }
        addresses.into_iter().map(check).collect()
    }

    async fn addresses(&self, host: &WebhookHost) -> Result<Vec<IpAddr>, CallError> {
        let name = match host {
            WebhookHost::Address(address) => return Ok(vec![*address]),
            WebhookHost::Localhost => return Ok(LOCALHOST.to_vec()),
            WebhookHost::Name(name) => name,
        };
        let addresses = self.resolver.resolve(name).await?;
        if addresses.is_empty() {
            return Err(ResolveError::not_found().into());
        }
        Ok(addresses)
    }
}

const LOCALHOST: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// Connects to whichever address answers first. They are tried one after the other, the next as soon as one fails or
/// takes long, so that an address that swallows packets costs little.
async fn connect(addresses: &[CheckedAddress]) -> Result<TcpStream, CallError> {
    let mut rest = alternating(addresses).into_iter().take(MAX_ADDRESSES).peekable();
    let mut attempts = FuturesUnordered::new();
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        if let Some(address) = rest.next() {
            attempts.push(TcpStream::connect(address.get()));
        }
        tokio::select! {
            attempt = attempts.next() => match attempt {
                Some(Ok(tcp)) => return Ok(tcp),
                Some(Err(error)) if is_exhaustion(&error) => return Err(CallError::Local(error)),
                Some(Err(error)) => failed = error,
                None => return Err(CallError::Connect(failed)),
            },
            () = sleep(STAGGER), if rest.peek().is_some() => {}
        }
    }
}

/// IPv6 and IPv4 in turn (RFC 8305, "Sorting Addresses"), else in the resolver's order.
fn alternating(addresses: &[CheckedAddress]) -> Vec<CheckedAddress> {
    let (six, four): (Vec<_>, Vec<_>) = addresses.iter().partition(|address| address.get().is_ipv6());
    let longer = six.len().max(four.len());
    (0..longer)
        .flat_map(|i| [six.get(i), four.get(i)])
        .flatten()
        .copied()
        .collect()
}

/// Whether this host, and not the network or the peer, is why there is no connection.
fn is_exhaustion(error: &io::Error) -> bool {
    // EMFILE, ENFILE, ENOBUFS, ENOMEM on every Linux; std has no kinds for the first three.
    const CODES: [i32; 4] = [24, 23, 105, 12];
    error.raw_os_error().is_some_and(|code| CODES.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::OurAddresses;

    fn checked(addresses: &[&str]) -> Vec<CheckedAddress> {
        let policy = AddressPolicy {
            allow_loopback: true,
            ..AddressPolicy::default()
        };
        let check = |text: &&str| policy.check("p", text.parse().unwrap(), &OurAddresses::default());
        addresses.iter().map(check).collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn families_alternate() {
        let addresses = checked(&["1.1.1.1:443", "1.1.1.2:443", "1.1.1.3:443", "[2606::1]:443"]);
        let ordered: Vec<_> = alternating(&addresses)
            .into_iter()
            .map(|it| it.get().to_string())
            .collect();
        assert_eq!(ordered, ["[2606::1]:443", "1.1.1.1:443", "1.1.1.2:443", "1.1.1.3:443"]);
    }

    #[tokio::test]
    async fn an_address_that_refuses_is_passed_over() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let open = listener.local_addr().unwrap();
        let closed = {
            let listener = std::net::TcpListener::bind("127.0.0.2:0").unwrap();
            listener.local_addr().unwrap()
        };
        let addresses = checked(&[&closed.to_string(), &open.to_string()]);
        assert_eq!(connect(&addresses).await.unwrap().peer_addr().unwrap(), open);
        let error = connect(&addresses[..1]).await.unwrap_err();
        assert!(matches!(error, CallError::Connect(_)), "{error:?}");
    }
}
