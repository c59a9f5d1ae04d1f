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
    platform: Arc<Platform>,
}

struct Platform {
    resolver: Arc<dyn Resolve>,
    hosts: Vec<WebhookHost>,
    known: Mutex<Known>,
    resolving: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Clone)]
struct Known {
    /// The addresses of each host, in their order.
    addresses: Vec<Vec<IpAddr>>,
    at: Option<Instant>,
}

impl Surroundings {
    pub(crate) fn new(resolver: Arc<dyn Resolve>, hosts: Vec<WebhookHost>) -> Self {
        let literal = |host: &WebhookHost| match host {
            WebhookHost::Address(address) => vec![*address],
            WebhookHost::Localhost | WebhookHost::Name(_) => Vec::new(),
        };
        let known = Known {
            addresses: hosts.iter().map(literal).collect(),
            at: None,
        };
        let platform = Arc::new(Platform {
            resolver,
            hosts,
            known: Mutex::new(known),
            resolving: Arc::default(),
        });
        Self { platform }
    }

    /// The addresses without asking a name server.
    pub(crate) fn known(&self) -> io::Result<OurAddresses> {
        let host = if_addrs::get_if_addrs()?;
        Ok(OurAddresses {
            host: host.iter().map(if_addrs::Interface::ip).collect(),
            platform: self.platform.known().addresses.concat(),
        })
    }

    /// The addresses as they are now.
    pub(crate) async fn current(&self) -> io::Result<OurAddresses> {
        self.refresh().await;
        self.known()
    }

    async fn refresh(&self) {
        let known = self.platform.known();
        if known.is_fresh() {
            return;
        }
        match Arc::clone(&self.platform.resolving).try_lock_owned() {
            Ok(turn) => {
                let platform = Arc::clone(&self.platform);
                // A task, so that it comes to an end also where the call that needs it does not wait so long.
                let resolving = tokio::spawn(async move {
                    platform.resolve().await;
                    drop(turn);
                });
                // It fails only with the runtime.
                let _ = resolving.await;
            }
            // Another call asks already; what was known a moment ago will do, where anything was.
            Err(_) if known.at.is_some() => {}
            Err(_) => drop(self.platform.resolving.lock().await),
        }
    }
}

impl Platform {
    async fn resolve(&self) {
        let mut known = self.known();
        if known.is_fresh() {
            return;
        }
        let answers = futures::future::join_all(self.hosts.iter().map(|host| self.resolve_host(host))).await;
        for (known, answer) in known.addresses.iter_mut().zip(answers) {
            if let Some(addresses) = answer {
                *known = addresses;
            }
        }
        known.at = Some(Instant::now());
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }

    async fn resolve_host(&self, host: &WebhookHost) -> Option<Vec<IpAddr>> {
        let WebhookHost::Name(name) = host else { return None };
        timeout(PATIENCE, self.resolver.resolve(name)).await.ok()?.ok()
    }

    fn known(&self) -> Known {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Known {
    fn is_fresh(&self) -> bool {
        self.at.is_some_and(|at| at.elapsed() < FRESH)
    }
}

#[cfg(test)]
mod tests {
    use futures::future::BoxFuture;

    use super::*;
    use crate::resolve::ResolveError;

    /// Answers each question with the next answer; `None` never comes.
    struct Script(Mutex<Vec<Option<Result<IpAddr, ()>>>>);

    impl Resolve for Script {
        fn resolve<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, ResolveError>> {
            let next = self.0.lock().unwrap().remove(0);
            Box::pin(async move {
                match next {
                    Some(answer) => answer
                        .map(|address| vec![address])
                        .map_err(|()| ResolveError::not_found()),
                    None => std::future::pending().await,
                }
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn addresses_are_followed_and_outlive_a_name_server_that_fails_or_hangs() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let (one, two) = (address("1.1.1.1"), address("2.2.2.2"));
        let script = vec![Some(Ok(one)), Some(Ok(two)), Some(Err(())), None, Some(Ok(one))];
        let hosts = vec![
            WebhookHost::Name("kcp.example.com".into()),
            WebhookHost::Address(address("3.3.3.3")),
        ];
        let surroundings = Surroundings::new(Arc::new(Script(Mutex::new(script))), hosts);
        for expected in [one, two, two, two, one] {
            for _ in 0..2 {
                let current = surroundings.current().await.unwrap();
                assert_eq!(current.platform, [expected, address("3.3.3.3")]);
                assert!(current.host.iter().any(IpAddr::is_loopback));
            }
            tokio::time::advance(FRESH).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_gives_up_does_not_stop_the_resolving() {
        let two = "2.2.2.2".parse().unwrap();
        let script = Script(Mutex::new(vec![None, Some(Ok(two))]));
        let surroundings = Surroundings::new(Arc::new(script), vec![WebhookHost::Name("kcp.example.com".into())]);
        assert!(timeout(PATIENCE / 2, surroundings.current()).await.is_err());
        assert!(surroundings.current().await.unwrap().platform.is_empty());
        tokio::time::advance(FRESH).await;
        assert_eq!(surroundings.current().await.unwrap().platform, [two]);
    }
}
