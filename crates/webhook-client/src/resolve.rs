//! From a name to addresses, as the system has them and without blocking a thread.

use std::error::Error;
use std::fs::Metadata;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::{Name, RecordType};
use hickory_resolver::{Hosts, ResolverBuilder, TokioResolver};

/// Resolves names. The one implementation outside of tests is [`SystemResolver`].
pub trait Resolve: Send + Sync + 'static {
    /// All addresses of a name, IPv4 and IPv6; an error where there is none.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, ResolveError>>;
}

/// Why a name has no addresses.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct ResolveError {
    reason: &'static str,
    #[source]
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl ResolveError {
    /// The name does not exist, or has no address.
    pub fn not_found() -> Self {
        Self {
            reason: "there is no such name",
            source: None,
        }
    }

    fn failed(reason: &'static str, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            reason,
            source: Some(source.into()),
        }
    }
}

/// `/etc/hosts` first, then the name servers of `/etc/resolv.conf`.
///
/// `getaddrinfo` would occupy a thread for as long as a provider's name servers please, and cannot be told to leave
/// out search domains without also losing `/etc/hosts`, where a name with a trailing dot is never found. Both files
/// are read again when they change.
///
/// Search domains apply to single-label names only: with them, `webhook.example.com` could mean a name below a domain
/// that the provider does not know of.
#[derive(Debug, Default)]
pub struct SystemResolver {
    system: Mutex<Option<(Stamp, Arc<System>)>>,
}

const HOSTS: &str = "/etc/hosts";
const RESOLV_CONF: &str = "/etc/resolv.conf";

/// How long an address is remembered at most, however long its record says. Only new connections ask.
const MAX_POSITIVE_TTL: Duration = Duration::from_secs(30);
/// How long the absence of a name is remembered at most: a name that was just made must come to life soon.
const MAX_NEGATIVE_TTL: Duration = Duration::from_secs(5);
/// How many queries may wait for one name server's TCP connection: a provider whose own name servers never answer
/// must not fill it for others.
const MAX_ACTIVE_QUERIES: usize = 4096;

/// What the two files looked like when they were read.
type Stamp = [Option<(SystemTime, u64)>; 2];

#[derive(Debug)]
struct System {
    hosts: Hosts,
    dns: Result<TokioResolver, String>,
}

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, ResolveError>> {
        Box::pin(async move { self.system().resolve(name).await })
    }
}

impl SystemResolver {
    fn system(&self) -> Arc<System> {
        let stamp = [HOSTS, RESOLV_CONF].map(|path| std::fs::metadata(path).ok().and_then(|file| stamp(&file)));
        let mut system = self.system.lock().unwrap_or_else(PoisonError::into_inner);
        match &*system {
            Some((read, system)) if *read == stamp => Arc::clone(system),
            _ => Arc::clone(&system.insert((stamp, Arc::new(System::read()))).1),
        }
    }
}

fn stamp(file: &Metadata) -> Option<(SystemTime, u64)> {
    Some((file.modified().ok()?, file.len()))
}

impl System {
    fn read() -> Self {
        Self {
            hosts: Hosts::from_system().unwrap_or_default(),
            dns: Self::dns(TokioResolver::builder_tokio()),
        }
    }

    fn dns(builder: Result<ResolverBuilder<TokioRuntimeProvider>, NetError>) -> Result<TokioResolver, String> {
        let build = |mut builder: ResolverBuilder<_>| {
            let options = builder.options_mut();
            options.positive_max_ttl = Some(MAX_POSITIVE_TTL);
            options.negative_max_ttl = Some(MAX_NEGATIVE_TTL);
            options.max_active_requests = MAX_ACTIVE_QUERIES;
            builder.build()
        };
        builder.and_then(build).map_err(|error| error.to_string())
    }

    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError> {
        let mut query: Name = name
            .parse()
            .map_err(|error| ResolveError::failed("it is no name", error))?;
        query.set_fqdn(name.contains('.'));

        let listed = listed(&self.hosts, &query);
        if !listed.is_empty() {
            return Ok(listed);
        }
        let dns = self.dns.as_ref();
        let dns = dns.map_err(|error| ResolveError::failed("there is no name server", error.as_str()))?;
        let found = dns.lookup_ip(query).await;
        let found = found.map_err(|error| ResolveError::failed("the name servers have no address", error))?;
        let addresses: Vec<_> = found.iter().collect();
        if addresses.is_empty() {
            return Err(ResolveError::not_found());
        }
        Ok(addresses)
    }
}

/// What `/etc/hosts` says of a name. Where it says anything, DNS is not asked, as with getaddrinfo.
fn listed(hosts: &Hosts, name: &Name) -> Vec<IpAddr> {
    [RecordType::A, RecordType::AAAA]
        .into_iter()
        .filter_map(|kind| hosts.lookup_static_host(&Query::query(name.clone(), kind)))
        .flat_map(|found| {
            found
                .answers()
                .iter()
                .filter_map(|record| record.data.ip_addr())
                .collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use hickory_resolver::config::{NameServerConfig, ResolverConfig};
    use hickory_resolver::proto::op::{Message, ResponseCode};
    use hickory_resolver::proto::rr::{RData, Record};

    use super::*;

    fn system(hosts: &str) -> System {
        let mut parsed = Hosts::default();
        parsed.read_hosts_conf(hosts.as_bytes()).unwrap();
        System {
            hosts: parsed,
            dns: Err("none in this test".to_owned()),
        }
    }

    #[tokio::test]
    async fn hosts_are_found_with_and_without_dots_in_their_names() {
        let system = system("10.0.0.1 webhook webhook.example.com\n::5 webhook.example.com # six\n10.0.0.2 Upper\n");
        for (name, addresses) in [
            ("webhook", vec!["10.0.0.1"]),
            ("webhook.example.com", vec!["10.0.0.1", "::5"]),
            ("upper", vec!["10.0.0.2"]),
        ] {
            let expected: Vec<IpAddr> = addresses.into_iter().map(|address| address.parse().unwrap()).collect();
            assert_eq!(system.resolve(name).await.unwrap(), expected, "{name}");
        }
    }

    /// A name server that knows `*.known.` and writes down what it is asked.
    async fn name_server() -> (u16, Arc<Mutex<Vec<String>>>) {
        let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let port = socket.local_addr().unwrap().port();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&asked);
        tokio::spawn(async move {
            let mut buffer = [0; 1500];
            loop {
                let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
                let question = Message::from_vec(&buffer[..length]).unwrap();
                let query = question.queries[0].clone();
                let name = query.name().to_string().to_lowercase();
                let mut answer = Message::response(question.metadata.id, question.metadata.op_code);
                answer.metadata.recursion_available = true;
                answer.add_query(query.clone());
                if !name.ends_with(".known.") {
                    answer.metadata.response_code = ResponseCode::NXDomain;
                } else if query.query_type() == RecordType::A {
                    let address = RData::A(std::net::Ipv4Addr::new(10, 1, 2, 3).into());
                    answer.add_answer(Record::from_rdata(query.name().clone(), 3600, address));
                }
                log.lock().unwrap().push(name);
                socket.send_to(&answer.to_vec().unwrap(), from).await.unwrap();
            }
        });
        (port, asked)
    }

    #[tokio::test]
    async fn search_domains_are_tried_for_single_labels_alone() {
        let (port, asked) = name_server().await;
        let mut server = NameServerConfig::udp(std::net::Ipv4Addr::LOCALHOST.into());
        server
            .connections
            .iter_mut()
            .for_each(|connection| connection.port = port);
        let search = vec!["search.known.".parse().unwrap()];
        let config = ResolverConfig::from_parts(None, search, vec![server]);
        let system = System {
            hosts: Hosts::default(),
            dns: System::dns(Ok(TokioResolver::builder_with_config(
                config,
                TokioRuntimeProvider::default(),
            ))),
        };
        for (name, found, expected) in [
            ("webhook", true, "webhook.search.known."),
            ("webhook.known", true, "webhook.known."),
            ("webhook.example", false, "webhook.example."),
        ] {
            asked.lock().unwrap().clear();
            let addresses = system.resolve(name).await;
            assert_eq!(addresses.is_ok(), found, "{name}: {addresses:?}");
            let asked = asked.lock().unwrap().clone();
            assert!(
                !asked.is_empty() && asked.iter().all(|question| question == expected),
                "{name}: {asked:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_name_that_is_nowhere_is_an_error() {
        let error = system("10.0.0.1 webhook")
            .resolve("other.example.com")
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), "there is no name server");
    }
}
