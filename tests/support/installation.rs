//! A kcp of two shards, set up by what `manifests` prints, with `serve` beside it.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Stdio;

use ephemeral_testing::client::{Answer, Client};
use ephemeral_testing::kcp::FakeKcp;
use ephemeral_testing::pki::{Authority, Identity};
use ephemeral_testing::webhook::{ClientAuth, Recorded, Reply, Webhook};
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::time::{Duration, Instant, sleep};

use super::serve::Serve;
use super::{PATIENCE, free_port, manifests};

/// The group, and the name of the export.
pub const GROUP: &str = "s3.example.com";
/// The user of the server.
pub const SERVER: &str = "kcp-ephemeral";
/// The slice that the export refers to.
pub const SLICE: &str = "s3.example.com.ephemeral";
/// The nomination.
pub const NOMINATION: &str = "bucketinfos.s3.example.com";
const PROVIDER: &str = "root:provider";

/// An installation: the provider on the first shard, a consumer on each.
pub struct Installation {
    pub kcp: FakeKcp,
    pub webhook: Webhook,
    pub webhook_ca: Authority,
    /// The authority of the certificate that webhooks are shown.
    pub shown: Authority,
    /// The provider's logical cluster.
    pub provider: String,
    /// The consumers' logical clusters, by shard.
    pub consumers: [String; 2],
    servers: Vec<Child>,
    port: u16,
    /// With which the servers reach kcp.
    kubeconfig: PathBuf,
}

impl Installation {
    /// Everything but a server.
    pub async fn prepare() -> Self {
        Self::answering(|review| Reply::with_status(review, json!({"objects": 3}))).await
    }

    /// The same with a webhook that answers as told.
    pub async fn answering(answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Self {
        let this = Self::with_webhook(answer).await;
        this.grant_everywhere(&printed(&["shard"]).await).await;
        this.apply_manifests().await;
        this.bind_consumers();
        this
    }

    /// Workspaces, a webhook and certificates, with nothing applied yet.
    pub async fn bare() -> Self {
        Self::with_webhook(|review| Reply::with_status(review, json!({"objects": 3}))).await
    }

    async fn with_webhook(answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Self {
        let kcp = FakeKcp::start().await;
        kcp.workspace("root:platform", 0);
        let provider = kcp.workspace(PROVIDER, 0);
        let consumers = [kcp.workspace("root:consumer-0", 0), kcp.workspace("root:consumer-1", 1)];
        let webhook_ca = Authority::new("webhook-ca");
        let shown = Authority::new("webhook-client-ca");
        let webhook = Webhook::builder(webhook_ca.server(&["localhost"])).client_auth(ClientAuth::Required(&shown));
        let webhook = webhook.start(answer).await;
        webhook_ca.write(kcp.directory(), "webhook-ca");
        shown.write(kcp.directory(), "webhook-client-ca");
        shown
            .client("kcp-ephemeral", &[])
            .write(kcp.directory(), "webhook-client");
        kcp.serving_ca().server(&["127.0.0.1"]).write(kcp.directory(), "server");
        let kubeconfig = kcp.kubeconfig(&kcp.user(SERVER, &[]), "root:platform");
        Self {
            kubeconfig,
            kcp,
            webhook,
            webhook_ca,
            shown,
            provider,
            consumers,
            servers: Vec::new(),
            port: free_port(),
        }
    }

    /// Everything, with one server.
    pub async fn start() -> Self {
        let mut this = Self::prepare().await;
        this.serve(&[]);
        this
    }

    /// Creates roles in `system:admin` of each shard.
    pub async fn grant_everywhere(&self, roles: &[Value]) {
        let admin = self.kcp.user("shard-admin", &["system:masters"]);
        for object in roles {
            for shard in 0..2 {
                let plural = format!("{}s", object["kind"].as_str().expect("a kind").to_lowercase());
                let path = format!("/clusters/system:admin/apis/rbac.authorization.k8s.io/v1/{plural}");
                let client = self.kcp.shard_client(shard, &admin);
                let answer = client.post_json(&path, object.to_string()).await.expect("an answer");
                assert_eq!(answer.status, 201, "{}", answer.text());
            }
        }
    }

    /// What there is in the workspaces of platform and provider.
    pub async fn apply_manifests(&self) {
        for object in printed(&["platform"]).await {
            self.kcp.put("root:platform", &object);
        }
        for object in printed(&["provider", "--export-path", "root:platform"]).await {
            self.kcp.put(PROVIDER, &object);
        }
        self.kcp.put(PROVIDER, &schema());
        let (url, ca) = (self.webhook.url("/"), self.kcp.directory().join("webhook-ca.crt"));
        let mut nomination = vec![
            "nomination",
            "--export",
            GROUP,
            "--group",
            GROUP,
            "--resource",
            "bucketinfos",
        ];
        nomination.extend(["--url", &url, "--ca-file", ca.to_str().expect("a path")]);
        for mut object in printed(&nomination).await {
            if object["kind"] == "APIExport" {
                // What a server-side apply merges into the provider's own export.
                object["spec"]["resources"][0]["schema"] = "v1.bucketinfos.s3.example.com".into();
            }
            self.kcp.put(PROVIDER, &object);
        }
    }

    /// Binds the consumers to the provider's export.
    pub fn bind_consumers(&self) {
        for consumer in &self.consumers {
            self.kcp.put(consumer, &binding(PROVIDER));
        }
    }

    /// Starts a server on the installation's port with further flags.
    pub fn serve(&mut self, more: &[&str]) {
        let port = self.port;
        self.serve_at(port, port, more);
    }

    /// Starts a replica, which has the same external URL and a port of its own.
    pub fn serve_replica(&mut self) {
        let external = self.port;
        self.serve_at(free_port(), external, &[]);
    }

    /// Starts a server of another installation, with a port and an external URL of its own, and further flags; its port.
    pub fn serve_beside(&mut self, more: &[&str]) -> u16 {
        let port = free_port();
        self.serve_at(port, port, more);
        port
    }

    fn serve_at(&mut self, port: u16, external: u16, more: &[&str]) {
        let serve = Serve {
            directory: self.kcp.directory(),
            kubeconfig: self.kubeconfig.clone(),
            workspace: "root:platform",
            external_port: external,
            port,
            webhook_ports: &[self.webhook.address().port()],
        };
        let log = self.kcp.directory().join(format!("server-{}.log", self.servers.len()));
        let mut server = serve.command();
        server
            // Nobody wants to wait for a minute here.
            .args(["--resync-period", "1s"])
            .args(more)
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(log).expect("a file"));
        let server = server.spawn().expect("the binary starts");
        self.servers.push(server);
    }

    /// Kills the server that was started `number`th.
    pub async fn kill(&mut self, number: usize) {
        self.servers[number].kill().await.expect("it runs");
    }

    /// The endpoint as it is published.
    pub fn endpoint(&self) -> String {
        self.endpoint_at(self.port)
    }

    /// The endpoint as a server of another installation publishes it.
    pub fn endpoint_at(&self, port: u16) -> String {
        format!("https://127.0.0.1:{port}/services/ephemeral/{}/{GROUP}", self.provider)
    }

    /// The path of the resource on the server itself, as shards ask for it.
    pub fn path(&self, consumer: &str) -> String {
        format!(
            "/services/ephemeral/{}/{GROUP}/clusters/{consumer}/apis/{GROUP}/v1alpha1/namespaces/default/bucketinfos",
            self.provider
        )
    }

    /// Asks the server itself, as the consumers' shard does for somebody who may do everything.
    pub async fn ask(&self, consumer: &str) -> Answer {
        let headers = [
            ("content-type", "application/json"),
            ("x-remote-user", "kcp-admin"),
            ("x-remote-group", "system:kcp:admin"),
            ("x-kcp-virtual-resource-hops", "1"),
        ];
        let shard = self.server().with_identity(self.kcp.shard_identity(1));
        let answer = shard.post(&self.path(consumer), &headers, question()).await;
        answer.expect("an answer")
    }

    /// Has the servers be somebody else to kcp, from the same files.
    pub fn rewrite_credentials(&self, user: &Identity) {
        let name = self.kubeconfig.file_name().expect("a file").to_str().expect("text");
        user.write(self.kcp.directory(), name);
    }

    /// Nominates again for the same resource with other fields of the spec.
    pub fn nominate(&self, spec: &Value) {
        let mut webhook = self.object("ephemeralwebhooks", NOMINATION);
        for (key, value) in spec.as_object().into_iter().flatten() {
            webhook["spec"][key] = value.clone();
        }
        self.kcp.put(PROVIDER, &without_version(webhook));
    }

    /// A webhook of the provider's, signed by the same authority.
    pub async fn another_webhook(&self, client_auth: ClientAuth<'_>) -> Webhook {
        let webhook = Webhook::builder(self.webhook_ca.server(&["localhost"])).client_auth(client_auth);
        webhook
            .start(|review| Reply::with_status(review, json!({"objects": 3})))
            .await
    }

    /// A client of the server itself, without a certificate.
    pub fn server(&self) -> Client {
        let address = (Ipv4Addr::LOCALHOST, self.port).into();
        Client::new(address, self.kcp.serving_ca()).host("127.0.0.1")
    }

    /// Asks as somebody who may do everything, in a consumer's workspace.
    pub async fn create(&self, consumer: &str) -> Answer {
        let client = self.kcp.client(&self.kcp.admin());
        client
            .post_json(&collection(consumer), question())
            .await
            .expect("an answer")
    }

    /// Asks until the status is this one.
    pub async fn create_until(&self, consumer: &str, status: u16) -> Answer {
        self.until(&format!("{status} for {consumer}"), async || {
            let answer = self.create(consumer).await;
            if answer.status == status {
                Ok(answer)
            } else {
                Err(answer.text())
            }
        })
        .await
    }

    /// Tries until it succeeds; then what it led to, or else the last error and the log.
    pub async fn until<T>(&self, what: &str, mut attempt: impl AsyncFnMut() -> Result<T, String>) -> T {
        let end = Instant::now() + PATIENCE;
        loop {
            match attempt().await {
                Ok(value) => return value,
                Err(error) if Instant::now() > end => panic!("{what}: {error}\n{}", self.log()),
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    /// The condition of a type on the nomination, as `status reason`.
    pub fn condition(&self, kind: &str) -> String {
        let webhook = self
            .kcp
            .get(PROVIDER, "ephemeralwebhooks", NOMINATION)
            .unwrap_or_default();
        let mut conditions = webhook["status"]["conditions"].as_array().into_iter().flatten();
        let found = conditions.find(|condition| condition["type"] == kind);
        found.map_or_else(String::new, |condition| {
            let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
            format!("{} {}", text("status"), text("reason"))
        })
    }

    /// Waits for a condition.
    pub async fn wait_for(&self, kind: &str, expected: &str) {
        self.until(&format!("{kind} {expected}"), async || {
            let found = self.condition(kind);
            if found.starts_with(expected) {
                Ok(())
            } else {
                Err(found)
            }
        })
        .await;
    }

    /// The entries of the slice.
    pub fn entries(&self) -> Vec<Value> {
        let slice = self
            .kcp
            .get(PROVIDER, "apiexportendpointslices", SLICE)
            .unwrap_or_default();
        slice["status"]["endpoints"].as_array().cloned().unwrap_or_default()
    }

    /// Whether the server's own entry is there.
    pub fn is_published(&self) -> bool {
        let own = json!({"url": self.endpoint(), "shards": {"matchAll": true}});
        self.entries().contains(&own)
    }

    /// Waits until the own entry is there, or is not.
    pub async fn wait_published(&self, published: bool) {
        self.until(&format!("published: {published}"), async || {
            if self.is_published() == published {
                Ok(())
            } else {
                Err(format!("{:?}", self.entries()))
            }
        })
        .await;
    }

    /// One of the provider's objects, to be changed.
    pub fn object(&self, plural: &str, name: &str) -> Value {
        self.kcp.get(PROVIDER, plural, name).expect("an object of the provider")
    }

    /// What the servers logged.
    pub fn log(&self) -> String {
        let logs = (0..self.servers.len()).map(|n| self.kcp.directory().join(format!("server-{n}.log")));
        logs.map(|path| std::fs::read_to_string(path).unwrap_or_default())
            .collect()
    }
}

/// An object to be written whatever its version is by then.
pub fn without_version(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut();
    metadata.expect("metadata").remove("resourceVersion");
    object
}

/// kubectl as somebody who may do everything, in a workspace.
pub fn kubectl(installation: &Installation, workspace: &str) -> Command {
    let kubeconfig: PathBuf = installation.kcp.kubeconfig(&installation.kcp.admin(), workspace);
    let mut kubectl = Command::new("kubectl");
    kubectl
        .env("HOME", installation.kcp.directory())
        .env("KUBECONFIG", kubeconfig)
        .current_dir(super::root())
        .kill_on_drop(true);
    kubectl
}

/// The path of the resource in a workspace.
pub fn collection(workspace: &str) -> String {
    format!("/clusters/{workspace}/apis/{GROUP}/v1alpha1/namespaces/default/bucketinfos")
}

/// A question.
pub fn question() -> String {
    json!({
        "apiVersion": "s3.example.com/v1alpha1", "kind": "BucketInfo", "metadata": {"name": "photos"},
        "spec": {"bucket": "photos"},
    })
    .to_string()
}

/// A consumer's binding to the export in a provider's workspace.
pub fn binding(path: &str) -> Value {
    json!({
        "apiVersion": "apis.kcp.io/v1alpha2", "kind": "APIBinding", "metadata": {"name": "s3"},
        "spec": {"reference": {"export": {"path": path, "name": GROUP}}},
    })
}

/// The schema of the resource.
pub fn schema() -> Value {
    json!({
        "apiVersion": "apis.kcp.io/v1alpha1", "kind": "APIResourceSchema",
        "metadata": {"name": "v1.bucketinfos.s3.example.com"},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {"kind": "BucketInfo", "listKind": "BucketInfoList", "plural": "bucketinfos", "singular": "bucketinfo"},
            "versions": [{"name": "v1alpha1", "served": true, "storage": true, "schema": {
                "type": "object", "properties": {
                    "spec": {"type": "object", "required": ["bucket"], "properties": {"bucket": {"type": "string"}}},
                    "status": {"type": "object", "properties": {"objects": {"type": "integer"}}},
                },
            }}],
        },
    })
}

/// The objects that `manifests` prints.
pub async fn printed(arguments: &[&str]) -> Vec<Value> {
    let text = manifests(arguments).await;
    let documents = text.split("---\n").map(|document| {
        let decoded = structural_schema::yaml::decode(document.as_bytes()).expect("YAML");
        serde_json::to_value(decoded.value).expect("JSON")
    });
    documents.filter(|document| !document.is_null()).collect()
}
