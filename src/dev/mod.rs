//! `dev`: everything on one machine, without kcp.

mod kubeconfig;
mod pki;
mod sample;

use std::fs;
use std::net::Ipv4Addr;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use ephemeral_apiserver::authorize::AllowAll;
use ephemeral_apiserver::certificates::WatchedServerCertificate;
use ephemeral_apiserver::flow::FlowConfig;
use ephemeral_apiserver::health::Health;
use ephemeral_apiserver::identity::{NamedCa, Trust, TrustConfig};
use ephemeral_apiserver::listener::{self, ListenerConfig};
use ephemeral_apiserver::request_info::UnionPaths;
use ephemeral_apiserver::{Server, ServerConfig, tls};
use ephemeral_index::Index;
use ephemeral_webhook_client::{AddressPolicy, ClientIdentity, Options, WebhookClient};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cli::{AddressArgs, DevArgs};
use crate::manifests::{self, Directory};
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
    fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
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
    let policy = policy(addresses, address);
    let identity = pki.pair("webhook-client");
    let identity = ClientIdentity::load(&identity.cert, &identity.key)?;
    let client = WebhookClient::new(Options {
        policy,
        identity: Some(identity),
        ..Options::default()
    })?;
    let index = Index::new(
        Webhooks {
            client,
            max_in_flight: MAX_IN_FLIGHT,
        },
        None,
    );
    let nominations = manifests::Nominations::open(Directory::open(folder)?, index, &health);

    let trust = Arc::new(Trust::load(trust(&pki)?)?);
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let server_pair = pki.pair("server");
    let certificate = Arc::new(WatchedServerCertificate::server(
        server_pair.cert,
        server_pair.key,
        Arc::clone(&provider),
    )?);
    let tls = Arc::new(tls::server_config(certificate.clone(), provider)?);
    let server = Server::new(ServerConfig {
        trust: Arc::clone(&trust),
        snapshot: nominations.snapshot(),
        authorizer: Arc::new(AllowAll),
        health,
        flow: FlowConfig {
            rate: None,
            ..FlowConfig::default()
        },
        union: UnionPaths::Served,
    });

    let tasks = TaskTracker::new();
    tasks.spawn(nominations.follow(stop.clone()));
    tasks.spawn({
        let stop = stop.clone();
        async move { trust.follow(stop).await }
    });
    tasks.spawn({
        let stop = stop.clone();
        async move { certificate.follow(stop).await }
    });
    let listening = listener::serve(
        listener,
        tls,
        Arc::new(server),
        ListenerConfig::default(),
        Arc::default(),
        stop.clone(),
    );
    tasks.spawn(listening);
    tasks.close();
    announce(&format!("https://{address}"), &dir, webhook.is_some());

    signals::shutdown().await?;
    stop.cancel();
    tasks.wait().await;
    match webhook {
        Some(webhook) => webhook.end().await,
        None => Ok(()),
    }
}

/// Says that everything listens, and what to try.
#[expect(clippy::print_stdout, reason = "this is the answer of the command")]
fn announce(server: &str, dir: &Path, has_sample: bool) {
    let try_this = if has_sample {
        "create -f examples/bucketinfo.yaml -o yaml"
    } else {
        "api-resources"
    };
    println!("ready: serving {server} for the workspace {}", kubeconfig::CONSUMER);
    println!("try:   kubectl --kubeconfig {}/kubeconfig {try_this}", dir.display());
}

/// Webhooks on this machine's loopback, as well as where the flags say.
fn policy(addresses: AddressArgs, own: std::net::SocketAddr) -> AddressPolicy {
    let AddressArgs {
        webhook_allow_cidr,
        webhook_deny_cidr,
        webhook_allow_port,
    } = addresses;
    AddressPolicy {
        allow: webhook_allow_cidr,
        deny: webhook_deny_cidr,
        extra_ports: webhook_allow_port,
        allow_loopback: true,
        own_listeners: vec![own],
    }
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
