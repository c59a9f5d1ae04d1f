//! `dev`: everything on one machine, without kcp.

mod kubeconfig;
mod pki;
mod sample;

use std::fs;
use std::net::Ipv4Addr;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use ephemeral_apiserver::ServerConfig;
use ephemeral_apiserver::authorize::AllowAll;
use ephemeral_apiserver::flow::FlowConfig;
use ephemeral_apiserver::health::Health;
use ephemeral_apiserver::identity::{NamedCa, Trust, TrustConfig};
use ephemeral_apiserver::request_info::UnionPaths;
use ephemeral_index::{Event, Index, Source};
use ephemeral_kcp::RESYNC;
use ephemeral_webhook_client::{ClientIdentity, Options, WebhookClient};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cli::DevArgs;
use crate::directory::Directory;
use crate::nominations::Nominations;
use crate::output;
use crate::secure_port::SecurePort;
use crate::signals;
use crate::webhooks::Webhooks;
use pki::{CA, FRONT_PROXY_NAME, Pki, SHARD_NAMES};
use sample::SampleWebhook;

/// Calls that one webhook may have in flight.
const MAX_IN_FLIGHT: NonZeroU32 = NonZeroU32::new(8192).expect("not zero");

/// Starts everything, says so, and ends it at a signal.
pub(crate) async fn dev(args: DevArgs) -> Result<()> {
    let DevArgs {
        dir,
        port,
        manifests: given,
        no_sample_webhook,
        s3_buckets,
        addresses,
    } = args;
    let shutdown = signals::shutdown()?;
    fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let _lock = lock(&dir)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .with_context(|| format!("cannot listen on 127.0.0.1:{port}"))?;
    let address = listener.local_addr()?;
    let pki = Pki::open(dir.join("pki"))?;
    kubeconfig::write(&dir.join("kubeconfig"), &format!("https://{address}"), &pki)?;

    let stop = CancellationToken::new();
    let webhook = if no_sample_webhook || given.is_some() {
        None
    } else {
        Some(SampleWebhook::start(sample::buckets(&dir, s3_buckets)?, &pki, stop.clone()).await?)
    };
    let folder = if let Some(folder) = given {
        folder
    } else {
        let folder = dir.join("manifests");
        sample::write_manifests(&folder, webhook.as_ref(), &pki)?;
        folder
    };

    let health = Arc::new(Health::new(stop.clone()));
    let mut policy = addresses.policy(vec![address]);
    policy.allow_loopback = true;
    let identity = pki.pair("webhook-client");
    let identity = ClientIdentity::load(&identity.cert, &identity.key)?;
    let client = WebhookClient::new(Options {
        policy,
        identity: Some(identity),
        ..Options::default()
    })?;
    let mut index = Index::new(
        Webhooks {
            client,
            observed: None,
            max_in_flight: MAX_IN_FLIGHT,
        },
        None,
    );
    let directory = Directory::open(folder)?;
    let sources = Event::Sources([Source::Manifests].into());
    let first = index.apply(std::iter::once(sources).chain(directory.events()));
    let mut nominations = Nominations::new(Some(directory.nominated()), &health);
    nominations.show(&index, first.snapshot);

    let port = SecurePort::new(
        listener,
        pki.pair("server"),
        ServerConfig {
            trust: Arc::new(Trust::load(trust(&pki)?)?),
            snapshot: nominations.snapshot(),
            authorizer: Arc::new(AllowAll),
            health: Arc::clone(&health),
            flow: FlowConfig {
                rate: None,
                ..FlowConfig::default()
            },
            union: UnionPaths::Served,
            server_address: address.to_string(),
        },
    )?;

    let tasks = TaskTracker::new();
    let (events, changes) = mpsc::channel(1);
    tasks.spawn({
        let stop = stop.clone();
        async move { directory.follow(&health, events, stop).await }
    });
    tasks.spawn(nominations.follow(index, changes, None, RESYNC, stop.clone()));
    port.serve(&tasks, &stop);
    tasks.close();
    output::print(&announcement(&format!("https://{address}"), &dir, webhook.is_some()))?;

    shutdown.await;
    stop.cancel();
    tasks.wait().await;
    match webhook {
        Some(webhook) => webhook.end().await,
        None => Ok(()),
    }
}

/// Keeps a second `dev` out of the directory: it would lead the kubeconfig of the first elsewhere. The lock is the
/// process's, so that nothing stays behind when it is killed.
fn lock(dir: &Path) -> Result<fs::File> {
    let path = dir.join("lock");
    let file = fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => {
            bail!("another dev uses {}: end it, or choose another --dir", dir.display())
        }
        Err(fs::TryLockError::Error(error)) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
    }
}

/// That everything listens, and what to try.
fn announcement(server: &str, dir: &Path, has_sample: bool) -> String {
    let try_this = if has_sample {
        "create -f examples/bucketinfo.yaml -o yaml"
    } else {
        "api-resources"
    };
    let kubeconfig = dir.join("kubeconfig");
    let kubeconfig = kubeconfig.to_string_lossy();
    // Without quotes, a shell would take a name with a space for two.
    let kubeconfig = shlex::try_quote(&kubeconfig).unwrap_or_else(|_| kubeconfig.as_ref().into());
    format!(
        "ready: serving {server} for the workspace {}\ntry:   kubectl --kubeconfig {kubeconfig} {try_this}\n",
        kubeconfig::CONSUMER
    )
}

/// As on kcp's test installation, shards and users share a CA: names that are listed are shards, all others users.
fn trust(pki: &Pki) -> Result<TrustConfig> {
    let ca = pki.pair(CA).cert;
    Ok(TrustConfig {
        shard: Some(NamedCa::new(ca.clone(), SHARD_NAMES.map(str::to_owned))?),
        front_proxy: Some(NamedCa::new(ca.clone(), [FRONT_PROXY_NAME.to_owned()])?),
        user: Some(ca),
    })
}
