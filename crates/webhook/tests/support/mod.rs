//! A provider's webhook with its certificates, and reviews to ask it.
// Each test binary uses a part of this; helpers of tests may unwrap as tests do.
#![allow(dead_code, clippy::unwrap_used)]

use std::net::SocketAddr;
use std::time::Duration;

use ephemeral_testing::client::Client;
use ephemeral_testing::pki::{Authority, Identity};
use ephemeral_webhook::{Export, Limits, Server, ServerError, TlsFiles, Webhook};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Both versions of the review.
pub(crate) const VERSIONS: [&str; 2] = ["apis.kcp.io/v1alpha1", "ephemeral.contrib.kcp.io/v1alpha1"];

/// The export that the webhook serves.
pub(crate) fn export() -> Export {
    Export::new("provider", "s3.example.com")
}

/// A server that runs until it is dropped, with files that can be changed.
pub(crate) struct Provider {
    pub(crate) address: SocketAddr,
    pub(crate) servers: Authority,
    pub(crate) clients: Authority,
    pub(crate) files: TempDir,
    kcp: Identity,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<Result<(), ServerError>>,
}

impl Provider {
    pub(crate) async fn start(webhook: Webhook) -> Self {
        let mut limits = Limits::default();
        limits.reload_interval = Duration::from_millis(20);
        Self::start_with(webhook, limits).await
    }

    pub(crate) async fn start_with(webhook: Webhook, limits: Limits) -> Self {
        let (servers, clients) = (Authority::new("servers"), Authority::new("clients"));
        let files = TempDir::new().unwrap();
        let (cert, key) = servers.server(&["localhost"]).write(files.path(), "tls");
        let ca = clients.write(files.path(), "client-ca");
        let server = Server::builder(TlsFiles::new(cert, key).client_ca(ca)).limits(limits);
        let server = server.bind("127.0.0.1:0").await.unwrap();
        let address = server.local_addr();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(server.serve(webhook.route("/ephemeral"), async {
            // A dropped sender also stops.
            let _ = stopped.await;
        }));
        let kcp = clients.client("kcp", &[]);
        Self {
            address,
            servers,
            clients,
            files,
            kcp,
            stop: Some(stop),
            serving,
        }
    }

    /// A client with a certificate that is good at the start.
    pub(crate) fn client(&self) -> Client {
        Client::with_certificate(self.address, &self.servers, &self.kcp)
    }

    /// The response to a question.
    pub(crate) async fn ask(&self, question: &str) -> Value {
        let answer = self
            .client()
            .post_json("/ephemeral", review(VERSIONS[0], question).to_string())
            .await
            .unwrap();
        answer.json::<Value>()["response"].take()
    }

    /// Tells the server to stop.
    pub(crate) fn stop(&mut self) {
        self.stop.take();
    }

    /// Waits until the server has stopped.
    pub(crate) async fn stopped(mut self) {
        self.stop();
        (&mut self.serving).await.unwrap().unwrap();
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A review of a question by a user who is impersonated in the consumer's logical cluster.
pub(crate) fn review(version: &str, question: &str) -> Value {
    json!({
        "apiVersion": version,
        "kind": "EphemeralReview",
        "request": {
            "uid": "u1",
            "cluster": "consumer",
            "export": {"cluster": "provider", "name": "s3.example.com"},
            "resource": {"group": "cases.example.org", "version": "v1", "resource": "samples"},
            "kind": {"group": "cases.example.org", "version": "v1", "kind": "Sample"},
            "namespace": "default",
            "userInfo": {
                "username": "alice",
                "groups": ["system:authenticated"],
                "extra": {"authentication.kcp.io/scopes": ["cluster:consumer"]},
            },
            "dryRun": true,
            "options": {
                "apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions",
                "dryRun": ["All"], "fieldManager": "kubectl-create", "fieldValidation": "Strict",
            },
            "object": {
                "apiVersion": "cases.example.org/v1",
                "kind": "Sample",
                "metadata": {"namespace": "default", "labels": {"team": "blue"}},
                "spec": {"q": question, "n": i64::MAX, "unknown": [1]},
            },
        },
    })
}
