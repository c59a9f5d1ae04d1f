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

#[cfg(test)]
mod tests {
    use ephemeral_apiserver::identity::TrustConfig;
    use ephemeral_testing::pki::Authority;
    use ephemeral_webhook_client::Options;
    use tempfile::TempDir;

    use super::*;

    struct Setup {
        directory: TempDir,
        clients: Authority,
        trust: Arc<Trust>,
        health: Health,
    }

    fn setup() -> Setup {
        let (directory, clients) = (tempfile::tempdir().unwrap(), Authority::new("client-ca"));
        let trust = Trust::load(TrustConfig {
            user: Some(clients.write(directory.path(), "client-ca")),
            ..TrustConfig::default()
        });
        Setup {
            trust: Arc::new(trust.unwrap()),
            health: Health::new(CancellationToken::new()),
            directory,
            clients,
        }
    }

    impl Setup {
        /// Writes the three files, and says where they are.
        fn write(&self, issuer: &Authority, ca: &Authority) -> WebhookClientArgs {
            let directory = self.directory.path();
            let (cert, key) = issuer.client("kcp-ephemeral", &[]).write(directory, "webhook-client");
            WebhookClientArgs {
                webhook_client_cert_file: cert,
                webhook_client_key_file: key,
                webhook_client_ca_file: ca.write(directory, "webhook-client-ca"),
            }
        }

        fn load(&self, args: WebhookClientArgs) -> Result<(WebhookIdentity, ClientIdentity)> {
            WebhookIdentity::load(args, Arc::clone(&self.trust), &self.health)
        }
    }

    #[test]
    fn a_certificate_that_opens_more_than_webhooks_keeps_the_server_from_starting() {
        let setup = setup();
        let own = Authority::new("webhook-client-ca");
        for (issuer, ca, word) in [
            (&setup.clients, &own, "verifies under client-ca"),
            (&setup.clients, &setup.clients, "verifies under client-ca"),
            (
                &Authority::new("other"),
                &own,
                "does not chain to --webhook-client-ca-file",
            ),
        ] {
            let error = format!("{:#}", setup.load(setup.write(issuer, ca)).err().expect("refused"));
            assert!(error.contains(word), "{error}");
        }
        assert!(setup.load(setup.write(&own, &own)).is_ok());
    }

    #[test]
    fn files_that_change_are_in_effect_if_they_are_good() {
        let setup = setup();
        let (first, second) = (Authority::new("webhook-client-ca"), Authority::new("another"));
        let (shown, _) = setup.load(setup.write(&first, &first)).unwrap();
        let client = WebhookClient::new(Options::default()).unwrap();
        let told = |ca: &Authority| Some(Arc::from(BASE64_STANDARD.encode(ca.cert_pem())));
        assert_eq!(*shown.client_ca().borrow(), told(&first));

        setup.write(&setup.clients, &second);
        shown.files.reload();
        shown.replace(&client);
        assert_eq!(*shown.client_ca().borrow(), told(&first));
        let problem = shown.problem.load_full().expect("a problem");
        assert!(problem.contains("verifies under client-ca"), "{problem}");

        setup.write(&second, &second);
        shown.files.reload();
        shown.replace(&client);
        assert_eq!(*shown.client_ca().borrow(), told(&second));
        assert!(shown.problem.load().is_none());
    }
}
