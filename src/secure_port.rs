//! The secure port, as `dev` and `serve` open it: certificates that follow their files, and the server behind it.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use ephemeral_apiserver::certificates::WatchedServerCertificate;
use ephemeral_apiserver::identity::Trust;
use ephemeral_apiserver::listener::{self, ListenerConfig};
use ephemeral_apiserver::{Server, ServerConfig, tls};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A certificate and its key, PEM files.
#[derive(Debug)]
pub(crate) struct Pair {
    /// The certificate.
    pub(crate) cert: PathBuf,
    /// Its private key.
    pub(crate) key: PathBuf,
}

/// A port with what is served on it.
pub(crate) struct SecurePort {
    listener: TcpListener,
    certificate: Arc<WatchedServerCertificate>,
    tls: Arc<rustls::ServerConfig>,
    trust: Arc<Trust>,
    server: Arc<Server>,
}

impl SecurePort {
    /// Reads the serving certificate.
    pub(crate) fn new(listener: TcpListener, pair: Pair, config: ServerConfig) -> Result<Self> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let certificate = WatchedServerCertificate::server(pair.cert, pair.key, Arc::clone(&provider))
            .context("cannot use the serving certificate")?;
        let certificate = Arc::new(certificate);
        let trust = Arc::clone(&config.trust);
        config.health.problems({
            let (certificate, trust) = (Arc::clone(&certificate), Arc::clone(&trust));
            move || {
                let serving = certificate.problem().map(|problem| (certificate.name(), problem));
                let clients = trust.bundles().filter_map(|ca| Some((ca.name(), ca.problem()?)));
                let problems = serving.into_iter().chain(clients);
                problems.map(|(name, problem)| format!("{name}: {problem}")).collect()
            }
        });
        Ok(Self {
            listener,
            tls: Arc::new(tls::server_config(certificate.clone(), provider)?),
            certificate,
            trust,
            server: Arc::new(Server::new(config)),
        })
    }

    /// Serves until `stop`, then drains.
    pub(crate) fn serve(self, tasks: &TaskTracker, stop: &CancellationToken) {
        let Self {
            listener,
            certificate,
            tls,
            trust,
            server,
        } = self;
        tasks.spawn({
            let stop = stop.clone();
            async move { trust.follow(stop).await }
        });
        tasks.spawn({
            let stop = stop.clone();
            async move { certificate.follow(stop).await }
        });
        let config = ListenerConfig::default();
        tasks.spawn(listener::serve(
            listener,
            tls,
            server,
            config,
            Arc::default(),
            stop.clone(),
        ));
    }
}
