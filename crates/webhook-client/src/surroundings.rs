//! What is around this server and must not be called by default: its host and kcp.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::guard::OurAddresses;
use crate::resolve::Resolve;
use crate::url::WebhookHost;

/// How long the addresses of kcp's names are taken as known.
const FRESH: Duration = Duration::from_secs(30);
/// How long their names may take to resolve. What was known before stays known where it takes longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The hosts of kcp's base URL and the external URL, and the interfaces of this host.
pub(crate) struct Surroundings {
    resolver: Arc<dyn Resolve>,
    hosts: Vec<WebhookHost>,
    known: Mutex<Known>,
    resolving: tokio::sync::Mutex<()>,
}

#[derive(Clone, Default)]
struct Known {
    /// The addresses of each host, in their order.
    platform: Vec<Vec<IpAddr>>,
    at: Option<Instant>,
}

impl Surroundings {
    pub(crate) fn new(resolver: Arc<dyn Resolve>, hosts: Vec<WebhookHost>) -> Self {
        let platform = hosts
            .iter()
            .map(|host| match host {
                WebhookHost::Address(address) => vec![*address],
                WebhookHost::Localhost | WebhookHost::Name(_) => Vec::new(),
            })
            .collect();
        let known = Mutex::new(Known { platform, at: None });
        Self {
            resolver,
            hosts,
            known,
            resolving: tokio::sync::Mutex::new(()),
        }
    }

    /// The addresses without asking a name server.
    pub(crate) fn known(&self) -> io::Result<OurAddresses> {
        let host = if_addrs::get_if_addrs()?;
        Ok(OurAddresses {
            host: host.iter().map(if_addrs::Interface::ip).collect(),
            platform: self.load().platform.concat(),
        })
    }

    /// The addresses as they are now.
    pub(crate) async fn current(&self) -> io::Result<OurAddresses> {
        self.refresh().await;
        self.known()
    }

    async fn refresh(&self) {
        let is_fresh = |known: &Known| known.at.is_some_and(|at| at.elapsed() < FRESH);
        let known = self.load();
        if is_fresh(&known) {
            return;
        }
        let _turn = match self.resolving.try_lock() {
            Ok(turn) => turn,
            // Another call asks already, and what was known a moment ago will do.
            Err(_) if known.at.is_some() => return,
            Err(_) => self.resolving.lock().await,
        };
        let mut known = self.load();
        if is_fresh(&known) {
            return;
        }
        let answers = futures::future::join_all(self.hosts.iter().map(|host| self.resolve(host))).await;
        for (known, answer) in known.platform.iter_mut().zip(answers) {
            if let Some(addresses) = answer {
                *known = addresses;
            }
        }
        known.at = Some(Instant::now());
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    async fn resolve(&self, host: &WebhookHost) -> Option<Vec<IpAddr>> {
        let WebhookHost::Name(name) = host else { return None };
        timeout(PATIENCE, self.resolver.resolve(name)).await.ok()?.ok()
    }

    fn load(&self) -> Known {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
