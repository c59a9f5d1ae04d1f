//! The certificate that webhooks are shown, and the CA that providers are told: files that are followed.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use arc_swap::ArcSwapOption;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ephemeral_apiserver::certificates::{RELOAD_INTERVAL, Watched};
use ephemeral_apiserver::health::Health;
use ephemeral_apiserver::identity::{Anchors, Trust, check_webhook_client};
use ephemeral_webhook_client::{ClientIdentity, WebhookClient};
use rustls_pki_types::UnixTime;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::cli::WebhookClientArgs;

/// The three files together, since none of them is right or wrong alone.
pub(crate) struct WebhookIdentity {
    files: Watched<Files>,
    trust: Arc<Trust>,
    client_ca: watch::Sender<Option<Arc<str>>>,
    problem: Arc<ArcSwapOption<String>>,
}

/// What the files hold.
#[derive(Clone)]
struct Files {
    certificate: Vec<u8>,
    key: Vec<u8>,
    ca: Vec<u8>,
}

impl WebhookIdentity {
    /// Reads the files. A certificate that opens more than webhooks is refused (proposal, section 1a).
    pub(crate) fn load(args: WebhookClientArgs, trust: Arc<Trust>, health: &Health) -> Result<(Self, ClientIdentity)> {
        let WebhookClientArgs {
            webhook_client_cert_file,
            webhook_client_key_file,
            webhook_client_ca_file,
        } = args;
        let paths = vec![
            webhook_client_cert_file,
            webhook_client_key_file,
            webhook_client_ca_file,
        ];
        let files = Watched::load("webhook-client", paths, |contents| {
            let [certificate, key, ca] = contents else {
                unreachable!("as many contents as files")
            };
            Ok(Files {
                certificate: certificate.clone(),
                key: key.clone(),
                ca: ca.clone(),
            })
        })
        .context("cannot use the webhook client certificate")?;
        let identity = judge(&files.current(), &trust).context("cannot use the webhook client certificate")?;
        let client_ca = watch::Sender::new(Some(bundle(&files.current())));
        let problem = Arc::new(ArcSwapOption::empty());
        health.problems({
            let problem = Arc::clone(&problem);
            move || {
                problem
                    .load()
                    .iter()
                    .map(|problem| format!("webhook-client: {problem}"))
                    .collect()
            }
        });
        let loaded = Self {
            files,
            trust,
            client_ca,
            problem,
        };
        Ok((loaded, identity))
    }

    /// base64 of PEM: the CA as it is now, and as it will be.
    pub(crate) fn client_ca(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.client_ca.subscribe()
    }

    /// Reads the files again when they change, and shows webhooks what is in them, until `stop`. What cannot be used
    /// keeps what was read before in effect.
    pub(crate) async fn follow(self, client: WebhookClient, stop: CancellationToken) {
        let mut seen = self.files.generation();
        while stop
            .run_until_cancelled(tokio::time::sleep(RELOAD_INTERVAL))
            .await
            .is_some()
        {
            self.files.reload();
            let generation = self.files.generation();
            if generation != seen {
                seen = generation;
                self.replace(&client);
            }
            if let Some(unreadable) = self.files.problem() {
                self.problem.store(Some(unreadable));
            }
        }
    }

    fn replace(&self, client: &WebhookClient) {
        let files = self.files.current();
        match judge(&files, &self.trust) {
            Ok(identity) => {
                self.problem.store(None);
                if client.replace_identity(identity) {
                    info!("webhooks are shown another certificate");
                }
                self.client_ca.send_replace(Some(bundle(&files)));
            }
            Err(error) => {
                let problem = format!("{error:#}");
                warn!(problem, "the webhook client certificate stays as it was");
                self.problem.store(Some(Arc::new(problem)));
            }
        }
    }
}

/// Whether the files fit each other, and the certificate is good for webhooks alone.
fn judge(files: &Files, trust: &Trust) -> Result<ClientIdentity> {
    let identity = ClientIdentity::from_pem(&files.certificate, &files.key)?;
    let ca = Anchors::from_pem(&files.ca).context("--webhook-client-ca-file")?;
    check_webhook_client(identity.chain(), &ca, trust, UnixTime::now())?;
    Ok(identity)
}

fn bundle(files: &Files) -> Arc<str> {
    BASE64_STANDARD.encode(&files.ca).into()
}
