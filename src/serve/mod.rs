//! `serve`: the virtual workspace of a kcp installation.

mod authorizer;
mod descriptors;
mod shard_selector;
mod webhook_identity;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use ephemeral_apiserver::ServerConfig;
use ephemeral_apiserver::flow::{FlowConfig, Rate};
use ephemeral_apiserver::health::Health;
use ephemeral_apiserver::identity::{NamedCa, Trust, TrustConfig};
use ephemeral_apiserver::request_info::UnionPaths;
use ephemeral_index::kinds::ShardSelection;
use ephemeral_index::{Event, Index, Publisher, Source};
use ephemeral_kcp::access::{Access, AccessConfig};
use ephemeral_kcp::{Base, FollowConfig, PublishConfig, Stats};
use ephemeral_webhook_client::{AddressPolicy, ClientIdentity, Options, WebhookClient};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::info;

use crate::calls::Observed;
use crate::cli::{
    AuthorizationArgs, ClientCaArgs, KcpArgs, LimitArgs, Period, PublisherArgs, SecureServingArgs, ServeArgs,
};
use crate::directory::Directory;
use crate::nominations::Nominations;
use crate::secure_port::{Pair, SecurePort};
use crate::signals;
use crate::webhooks::Webhooks;
use authorizer::AskKcp;
use webhook_identity::WebhookIdentity;

pub(crate) use shard_selector::ShardSelector;

/// How long a shard may fail to answer before it counts as away, and readiness no longer waits for it.
const GRACE: Duration = Duration::from_secs(30);

/// Batches of events, or of what is to be published, that may wait.
const QUEUE: usize = 256;

/// Starts everything, and ends it at a signal.
pub(crate) async fn serve(args: ServeArgs) -> Result<()> {
    let ServeArgs {
        kcp,
        publisher,
        manifests,
        serving,
        clients,
        authorization,
        webhook_client,
        addresses,
        limits,
    } = args;
    let shutdown = signals::shutdown()?;
    descriptors::raise_limit();
    let KcpArgs {
        kubeconfig,
        context,
        export_workspace,
        resync_period: Period(resync),
    } = kcp;
    let base = Base::from_kubeconfig(&kubeconfig, context.as_deref()).await?;
    let workspace: Arc<str> = export_workspace.into();
    let platform_hosts = vec![host_of(&base)?, publisher.external_url.host().to_owned()];
    let server_address = publisher.external_url.address();
    let publisher = self::publisher(&publisher);

    let (listener, address) = listen(SocketAddr::new(serving.bind_address, serving.secure_port)).await?;
    let stop = CancellationToken::new();
    let health = Arc::new(Health::new(stop.clone()));
    let trust = Arc::new(Trust::load(trust(clients)?).context("cannot use the client CAs")?);
    let (shown, identity) = WebhookIdentity::load(webhook_client, Arc::clone(&trust), &health)?;
    let policy = addresses.policy(vec![address]);
    let client = calling(policy, platform_hosts, identity, limits.max_bytes_in_flight.0)?;
    let asked = asked(&authorization).await?;
    let access = Access::new(asked.clone().unwrap_or_else(|| base.clone()), access(&authorization));

    let directory = manifests.map(open).transpose()?;
    let nominations = Nominations::new(directory.as_ref().map(Directory::nominated), &health);
    let port = SecurePort::new(
        listener,
        pair(serving),
        ServerConfig {
            trust,
            snapshot: nominations.snapshot(),
            authorizer: Arc::new(AskKcp(access)),
            health: Arc::clone(&health),
            flow: flow(&limits),
            union: UnionPaths::NotServed,
            server_address,
        },
    )?;
    let observed = Arc::<Observed>::default();
    let index = Index::new(
        Webhooks {
            client: client.clone(),
            observed: Some(Arc::clone(&observed)),
            max_in_flight: limits.webhook_max_in_flight,
        },
        Some(publisher.clone()),
    );

    let stats = Arc::new(Stats::default());
    let follow = FollowConfig {
        base: base.clone(),
        workspace: Arc::clone(&workspace),
        others: directory.iter().map(|_| Source::Manifests).collect::<BTreeSet<_>>(),
        grace: GRACE,
        stats: Arc::clone(&stats),
    };
    let publish = PublishConfig {
        base,
        workspace,
        publisher,
        identity: replica().into(),
        client_ca_bundle: shown.client_ca(),
        resync,
        stats,
    };

    // What reads and publishes ends after the last request does, and so has a signal of its own.
    let drained = CancellationToken::new();
    let tasks = TaskTracker::new();
    let (events, changes) = mpsc::channel(QUEUE);
    let (work, to_do) = mpsc::channel(QUEUE);
    if let Some(directory) = directory {
        tasks.spawn(follow_directory(directory, health, events.clone(), drained.clone()));
    }
    for base in asked.into_iter().chain([follow.base.clone()]) {
        tasks.spawn(base.follow_kubeconfig(drained.clone()));
    }
    tasks.spawn(observed.tell(resync, events.clone(), drained.clone()));
    tasks.spawn(ephemeral_kcp::follow(follow, events.clone(), drained.clone()));
    tasks.spawn(ephemeral_kcp::publish(publish, to_do, events, drained.clone()));
    tasks.spawn(nominations.follow(index, changes, Some(work), resync, drained.clone()));
    tasks.spawn(shown.follow(client, drained.clone()));

    let requests = TaskTracker::new();
    port.serve(&requests, &stop);
    info!(%address, "serving");

    shutdown.await;
    end(&requests, &stop).await;
    end(&tasks, &drained).await;
    Ok(())
}

/// Tells tasks to end, and waits until all of them have.
async fn end(tasks: &TaskTracker, stop: &CancellationToken) {
    stop.cancel();
    tasks.close();
    tasks.wait().await;
}

async fn listen(at: SocketAddr) -> Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(at).await;
    let listener = listener.with_context(|| format!("cannot listen on {at}"))?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Tells what was read at the start, since the directory itself tells changes alone, and then those.
async fn follow_directory(
    directory: Directory,
    health: Arc<Health>,
    events: mpsc::Sender<Vec<Event>>,
    stop: CancellationToken,
) {
    if events.send(directory.events()).await.is_ok() {
        directory.follow(&health, events, stop).await;
    }
}

fn publisher(args: &PublisherArgs) -> Publisher {
    Publisher {
        name: args.publisher_name.as_str().into(),
        external_url: args.external_url.to_string().into(),
        shards: args
            .shard_selector
            .as_ref()
            .map_or(ShardSelection::MatchAll, ShardSelector::selection),
    }
}

fn trust(args: ClientCaArgs) -> Result<TrustConfig> {
    let ClientCaArgs {
        shard_client_ca_file,
        shard_client_names,
        requestheader_client_ca_file,
        requestheader_allowed_names,
        client_ca_file,
    } = args;
    let named = |file: Option<PathBuf>, names: Vec<String>, flag| {
        let ca = file.map(|file| NamedCa::new(file, names));
        ca.transpose().with_context(|| format!("{flag} names nobody"))
    };
    Ok(TrustConfig {
        shard: named(shard_client_ca_file, shard_client_names, "--shard-client-names")?,
        front_proxy: named(
            requestheader_client_ca_file,
            requestheader_allowed_names,
            "--requestheader-allowed-names",
        )?,
        user: client_ca_file,
    })
}

fn pair(args: SecureServingArgs) -> Pair {
    Pair {
        cert: args.tls_cert_file,
        key: args.tls_private_key_file,
    }
}

/// How kcp is asked about callers, where that is to be another way.
async fn asked(args: &AuthorizationArgs) -> Result<Option<Base>> {
    Ok(match &args.authorization_kubeconfig {
        Some(kubeconfig) => Some(Base::from_kubeconfig(kubeconfig, None).await?),
        None => None,
    })
}

/// What calls webhooks.
fn calling(
    policy: AddressPolicy,
    platform_hosts: Vec<String>,
    identity: ClientIdentity,
    max_answer_bytes: usize,
) -> Result<WebhookClient> {
    Ok(WebhookClient::new(Options {
        policy,
        platform_hosts,
        identity: Some(identity),
        max_answer_bytes,
        ..Options::default()
    })?)
}

fn access(args: &AuthorizationArgs) -> AccessConfig {
    let AuthorizationArgs {
        authorization_kubeconfig: _,
        authorization_webhook_cache_authorized_ttl,
        authorization_webhook_cache_unauthorized_ttl,
        authorization_binding_cache_ttl,
    } = args;
    AccessConfig {
        allowed: authorization_webhook_cache_authorized_ttl.0,
        denied: authorization_webhook_cache_unauthorized_ttl.0,
        bindings: authorization_binding_cache_ttl.0,
        ..AccessConfig::default()
    }
}

fn flow(args: &LimitArgs) -> FlowConfig {
    FlowConfig {
        max_requests: args.max_requests_in_flight,
        max_bytes: args.max_bytes_in_flight.0,
        rate: Some(Rate {
            per_second: args.consumer_rate,
            burst: args.consumer_burst,
        }),
        ..FlowConfig::default()
    }
}

fn open(path: PathBuf) -> Result<Directory> {
    Ok(Directory::open(path)?)
}

/// The host of kcp's base URL, as in a URL.
fn host_of(base: &Base) -> Result<String> {
    let url = url::Url::parse(&base.url())?;
    Ok(url.host_str().context("kcp's base URL has no host")?.to_owned())
}

/// A name for this replica, as client-go's leader election makes it: the host's, and something that no other process
/// there has.
fn replica() -> String {
    let host = rustix::system::uname();
    format!("{}_{}", host.nodename().to_string_lossy(), uuid::Uuid::new_v4())
}
