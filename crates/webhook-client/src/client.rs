//! What all endpoints share.

use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwapOption;
use ephemeral_shares::Shares;
use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::version::{TLS12, TLS13};
use tokio::sync::Semaphore;

use crate::MAX_ANSWER;
use crate::dial::Dialer;
use crate::endpoint::{self, Endpoint, EndpointSpec};
use crate::error::EndpointProblem;
use crate::guard::AddressPolicy;
use crate::identity::ClientIdentity;
use crate::resolve::{Resolve, SystemResolver};
use crate::surroundings::Surroundings;
use crate::trust::{TrustStore, Verifier};
use crate::url::WebhookHost;

/// What the operator decides about calling webhooks.
pub struct Options {
    /// The addresses that webhooks may have.
    pub policy: AddressPolicy,
    /// The hosts of kcp's base URL and of the external URL, as in a URL. Their addresses, as they change, are refused
    /// unless the policy allows them by range.
    pub platform_hosts: Vec<String>,
    /// What is shown to webhooks that ask for a client certificate.
    pub identity: Option<ClientIdentity>,
    /// Where names come from.
    pub resolver: Arc<dyn Resolve>,
    /// The idle connections that are kept for later, of all endpoints together: each is a descriptor. A connection
    /// that finds no place is closed after its call.
    pub max_idle_connections: usize,
    /// The bytes of answers that are in memory, of all endpoints together, at least [`MAX_ANSWER`]; those of one
    /// provider's logical cluster may take a quarter, and at least as much. The beginning of each answer is not counted.
    pub max_answer_bytes: usize,
}

impl Default for Options {
    /// Public addresses on the default ports, no client certificate, names as the system has them.
    fn default() -> Self {
        Self {
            policy: AddressPolicy::default(),
            platform_hosts: Vec::new(),
            identity: None,
            resolver: Arc::new(SystemResolver::default()),
            max_idle_connections: 1024,
            max_answer_bytes: 256 * 1024 * 1024,
        }
    }
}

/// A platform host that is no host.
#[derive(Debug, thiserror::Error)]
#[error("{host:?} is not a host")]
pub struct PlatformHostInvalid {
    host: String,
    #[source]
    source: url::ParseError,
}

/// Makes endpoints, and holds what they share: the address policy, the resolver, the client identity, and the trust
/// store and parsed CA bundles, each once.
#[derive(Clone)]
pub struct WebhookClient {
    common: Arc<Common>,
}

pub(crate) struct Common {
    pub(crate) dialer: Dialer,
    pub(crate) identity: ArcSwapOption<ClientIdentity>,
    pub(crate) idle_places: Arc<Semaphore>,
    pub(crate) answers: Arc<Shares>,
    trust: TrustStore,
    provider: Arc<CryptoProvider>,
}

impl WebhookClient {
    /// Takes the operator's decisions.
    pub fn new(options: Options) -> Result<Self, PlatformHostInvalid> {
        let hosts = options.platform_hosts.iter().map(|host| parse_host(host));
        let surroundings = Surroundings::new(Arc::clone(&options.resolver), hosts.collect::<Result<_, _>>()?);
        let provider = Arc::new(aws_lc_rs::default_provider());
        let common = Arc::new(Common {
            dialer: Dialer::new(options.policy, surroundings, options.resolver),
            identity: ArcSwapOption::from_pointee(options.identity),
            idle_places: Arc::new(Semaphore::new(options.max_idle_connections.min(Semaphore::MAX_PERMITS))),
            answers: Shares::new(
                options.max_answer_bytes.max(MAX_ANSWER),
                (options.max_answer_bytes / 4).max(MAX_ANSWER),
            ),
            trust: TrustStore::new(provider.signature_verification_algorithms),
            provider,
        });
        Ok(Self { common })
    }

    /// Judges a nomination's endpoint by URL, policy and CA bundle alone: nothing is resolved or connected to.
    ///
    /// The first endpoint without a CA bundle reads the system's trust store from disk.
    pub fn endpoint(&self, spec: &EndpointSpec<'_>, now: SystemTime) -> Result<Endpoint, EndpointProblem> {
        let url = endpoint::parse(&self.common, spec)?;
        let verifier = self.common.trust.verifier(spec.ca_bundle, now)?;
        Ok(Endpoint::new(Arc::clone(&self.common), spec, verifier, url))
    }

    /// The bytes of answers that are in memory, but for the beginning of each.
    pub fn answer_bytes(&self) -> usize {
        self.common.answers.taken()
    }

    /// Shows another identity from now on, and says whether it is another. Connections that were opened with the
    /// former one are not used for new calls.
    pub fn replace_identity(&self, identity: ClientIdentity) -> bool {
        if self.common.identity.load().as_deref() == Some(&identity) {
            return false;
        }
        self.common.identity.store(Some(Arc::new(identity)));
        true
    }
}

impl std::fmt::Debug for WebhookClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookClient").finish_non_exhaustive()
    }
}

impl Common {
    /// TLS without a client certificate and without resumption, which are for the caller to set.
    pub(crate) fn tls_config(&self, verifier: Arc<Verifier>) -> ClientConfig {
        let mut config = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(&[&TLS13, &TLS12])
            .expect("the provider has cipher suites for both versions")
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config
    }
}

fn parse_host(text: &str) -> Result<WebhookHost, PlatformHostInvalid> {
    let bare = text.parse::<std::net::IpAddr>().map(WebhookHost::Address);
    bare.or_else(|_| WebhookHost::parse(text))
        .map_err(|source| PlatformHostInvalid {
            host: text.to_owned(),
            source,
        })
}
