//! How many connections there are, in all and of each address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::config::ListenerConfig;
use super::stats::Refusal;

#[derive(Debug)]
pub(super) struct Caps {
    max: usize,
    max_per_peer: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    all: usize,
    /// As many entries as there are connections, at most.
    by_peer: HashMap<IpAddr, usize>,
}

/// A place among the connections; dropping it frees it.
#[derive(Debug)]
pub(super) struct Place {
    caps: Arc<Caps>,
    peer: IpAddr,
}

impl Caps {
    pub(super) fn new(config: &ListenerConfig) -> Arc<Self> {
        Arc::new(Self {
            max: config.max_connections,
            max_per_peer: config.max_connections_per_peer,
            open: Mutex::default(),
        })
    }

    pub(super) fn take(self: &Arc<Self>, peer: IpAddr) -> Result<Place, Refusal> {
        let peer = network(peer);
        let mut open = self.lock();
        if open.all >= self.max {
            return Err(Refusal::MaxConnections);
        }
        let of_peer = open.by_peer.entry(peer).or_default();
        if *of_peer >= self.max_per_peer {
            return Err(Refusal::MaxConnectionsPerPeer);
        }
        *of_peer += 1;
        open.all += 1;
        Ok(Place {
            caps: Arc::clone(self),
            peer,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.caps.lock();
        open.all -= 1;
        if let Some(of_peer) = open.by_peer.get_mut(&self.peer) {
            *of_peer -= 1;
            if *of_peer == 0 {
                open.by_peer.remove(&self.peer);
            }
        }
    }
}

/// One host of IPv6 commands a whole /64.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_caps_hold_and_places_come_back() {
        let config = ListenerConfig {
            max_connections: 3,
            max_connections_per_peer: 2,
            ..ListenerConfig::default()
        };
        let caps = Caps::new(&config);
        let take = |peer: &str| caps.take(peer.parse().unwrap());
        let (first, _second) = (take("192.0.2.1").unwrap(), take("::ffff:192.0.2.1").unwrap());
        assert_eq!(take("192.0.2.1").unwrap_err(), Refusal::MaxConnectionsPerPeer);
        let _third = take("2001:db8::1").unwrap();
        assert_eq!(take("2001:db8:1::1").unwrap_err(), Refusal::MaxConnections);
        drop(first);
        let _fourth = take("2001:db8::2").unwrap();
        assert_eq!(caps.lock().by_peer.len(), 2);
    }
}
