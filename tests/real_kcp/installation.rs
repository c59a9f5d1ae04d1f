//! A real kcp, set up by what `manifests` prints, with `serve` beside it, and asked through kubectl.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ephemeral_testing::client::Client;
use ephemeral_testing::kcp::RealKcp;
use ephemeral_testing::pki::{Authority, Identity};
use ephemeral_testing::process::Process;
use ephemeral_testing::webhook::{ClientAuth, Recorded, Reply, Webhook};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::{Instant, sleep, timeout};

use super::support::serve::Serve;
use super::support::{self, free_port};

/// How long anything that must happen may take; kcp's controllers take their time.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// The workspace of this project's export, on the first shard.
pub(crate) const PLATFORM: &str = "root:ops";
/// The provider's workspace, on the first shard.
pub(crate) const PROVIDER: &str = "root:meteo";
/// The workspace of another provider of the same group, on the second shard.
pub(crate) const SECOND_PROVIDER: &str = "root:lights";
/// The workspace of a consumer of the second provider's, on the first shard.
pub(crate) const SECOND_CONSUMER: &str = "root:mill";
/// The consumers' workspaces, by shard.
pub(crate) const CONSUMERS: [&str; 2] = ["root:farm", "root:harbour"];
/// The workspace of somebody who means ill, on the second shard.
pub(crate) const ATTACKER: &str = "root:reef";

/// The group, and the name of the export.
pub(crate) const GROUP: &str = "weather.example.org";
/// The resource.
pub(crate) const RESOURCE: &str = "forecasts";
/// The slice that the export refers to.
pub(crate) const SLICE: &str = "weather.example.org.ephemeral";
/// The nomination.
pub(crate) const NOMINATION: &str = "forecasts.weather.example.org";

/// An installation: the provider on the first shard, a consumer on each; and the same once more the other way round.
pub(crate) struct Installation {
    pub(crate) kcp: RealKcp,
    pub(crate) webhook: Webhook,
    /// The same with a certificate of another authority, `new-webhook-ca`.
    pub(crate) new_webhook: Webhook,
    /// A port that is allowed for webhooks, and where none is.
    pub(crate) silent_port: u16,
    /// The logical clusters of the provider, of the consumers and of the attacker.
    pub(crate) provider: String,
    pub(crate) consumers: [String; 2],
    pub(crate) attacker: String,
    /// The logical clusters of the second provider and its consumer.
    pub(crate) second: [String; 2],
    pub(crate) port: u16,
    admin: Identity,
    server: Option<Process>,
}

impl Installation {
    /// Starts everything.
    pub(crate) async fn start(binaries: &Path) -> Self {
        let port = free_port();
        let kcp = RealKcp::start(binaries, &format!("https://127.0.0.1:{port}")).await;
        let directory = kcp.directory();
        kcp.serving_ca().server(&["127.0.0.1"]).write(directory, "server");
        let shown = Authority::new("webhook-client-ca");
        shown.write(directory, "webhook-client-ca");
        shown.client("kcp-ephemeral", &[]).write(directory, "webhook-client");
        let webhook = webhook(directory, "webhook-ca", &shown).await;
        let new_webhook = self::webhook(directory, "new-webhook-ca", &shown).await;
        let admin = kcp.admin();
        let mut this = Self {
            webhook,
            new_webhook,
            silent_port: free_port(),
            provider: String::new(),
            consumers: Default::default(),
            attacker: String::new(),
            second: Default::default(),
            port,
            admin,
            server: None,
            kcp,
        };
        this.create_workspaces().await;
        this.install().await;
        for provider in [PROVIDER, SECOND_PROVIDER] {
            this.nominate_first(provider).await;
        }
        this.serve();
        for consumer in CONSUMERS {
            this.bind(consumer, PROVIDER).await;
        }
        this.bind(SECOND_CONSUMER, SECOND_PROVIDER).await;
        this
    }

    async fn create_workspaces(&mut self) {
        let [near, far] = CONSUMERS;
        let shards = [
            (PLATFORM, "root"),
            (PROVIDER, "root"),
            (near, "root"),
            (far, "shard-1"),
            (ATTACKER, "shard-1"),
            (SECOND_PROVIDER, "shard-1"),
            (SECOND_CONSUMER, "root"),
        ];
        for (path, shard) in shards {
            let workspace = json!({
                "apiVersion": "tenancy.kcp.io/v1alpha1", "kind": "Workspace",
                "metadata": {"name": name_of(path)},
                "spec": {"location": {"selector": {"matchLabels": {"name": shard}}}},
            });
            self.admin("root").ok(&["create", "-f", "-"], &workspace).await;
        }
        let mut clusters = Vec::new();
        for (path, _) in shards {
            let root = self.admin("root");
            root.wait(
                "jsonpath={.status.phase}=Ready",
                &format!("workspace/{}", name_of(path)),
            )
            .await;
            let workspace = root.get(&["workspace", name_of(path)]).await;
            clusters.push(workspace["spec"]["cluster"].as_str().expect("a name").to_owned());
        }
        let clusters = <[String; 7]>::try_from(clusters).expect("as many as paths");
        let [_, provider, near, far, attacker, second_provider, second_consumer] = clusters;
        self.provider = provider;
        self.consumers = [near, far];
        self.attacker = attacker;
        self.second = [second_provider, second_consumer];
    }

    /// What an operator does, and a provider in order to be served the kind EphemeralWebhook.
    async fn install(&self) {
        for shard in 0..2 {
            let kubectl = Kubectl::new(self.kcp.shard_kubeconfig(shard));
            kubectl
                .ok_text(&["apply", "-f", "-"], &support::manifests(&["shard"]).await)
                .await;
        }
        self.admin(PLATFORM)
            .ok_text(&["apply", "-f", "-"], &support::manifests(&["platform"]).await)
            .await;
        let binding = support::manifests(&["provider", "--export-path", PLATFORM]).await;
        for provider in [PROVIDER, SECOND_PROVIDER] {
            let provider = self.admin(provider);
            provider.ok_text(&["apply", "-f", "-"], &binding).await;
            provider
                .wait("jsonpath={.status.phase}=Bound", "apibinding/ephemeral.contrib.kcp.io")
                .await;
        }
    }

    /// What a provider does who has an API already.
    async fn nominate_first(&self, workspace: &str) {
        let provider = self.admin(workspace);
        provider.ok(&["create", "-f", "-"], &schema()).await;
        let mut export = export();
        export["spec"]["resources"][0]
            .as_object_mut()
            .expect("a map")
            .remove("storage");
        provider.ok(&["create", "-f", "-"], &export).await;
        // kcp gave it storage.crd; what is printed says how to replace that.
        let printed = self.printed_nomination().await;
        let patch = printed.lines().find_map(|line| line.strip_prefix("#   kubectl patch "));
        provider
            .shell(&format!("kubectl patch {}", patch.expect("the command")))
            .await;
        self.nominate(workspace).await;
    }

    /// What `manifests nomination` prints for the webhook.
    async fn printed_nomination(&self) -> String {
        let (url, ca) = (self.webhook.url("/"), self.kcp.directory().join("webhook-ca.crt"));
        let nomination = [
            "nomination",
            "--export",
            GROUP,
            "--group",
            GROUP,
            "--resource",
            RESOURCE,
        ];
        let rest = ["--url", &url, "--ca-file", ca.to_str().expect("a path")];
        support::manifests(&[&nomination[..], &rest].concat()).await
    }

    /// Applies it, as it says.
    pub(crate) async fn nominate(&self, workspace: &str) {
        let apply = ["apply", "--server-side", "--field-manager=nomination", "-f", "-"];
        self.admin(workspace)
            .ok_text(&apply, &self.printed_nomination().await)
            .await;
    }

    /// Binds a workspace to the export in a provider's workspace.
    pub(crate) async fn bind(&self, workspace: &str, provider: &str) {
        let binding = json!({
            "apiVersion": "apis.kcp.io/v1alpha2", "kind": "APIBinding", "metadata": {"name": "weather"},
            "spec": {"reference": {"export": {"path": provider, "name": GROUP}}},
        });
        let kubectl = self.admin(workspace);
        kubectl.ok(&["create", "-f", "-"], &binding).await;
        kubectl
            .wait("jsonpath={.status.phase}=Bound", "apibinding/weather")
            .await;
    }

    /// Deletes a workspace and waits until its shard has nothing more of the logical cluster. kcp may take minutes more
    /// to notice on another shard that it has gone.
    pub(crate) async fn delete_workspace(&self, path: &str, cluster: &str, shard: usize) {
        let root = self.admin("root");
        root.ok_text(&["delete", "workspace", name_of(path), "--wait=false"], "")
            .await;
        self.until(&format!("{path} is deleted"), async || {
            let left = self.kcp.stored(shard, "/registry/").await;
            let left: Vec<_> = left
                .into_iter()
                .filter(|key| key.contains(&format!("/{cluster}/")))
                .collect();
            left.is_empty().then_some(()).ok_or(format!("{left:?}"))
        })
        .await;
    }

    /// Starts the server.
    pub(crate) fn serve(&mut self) {
        let requestheader_ca = self.kcp.directory().join("requestheader-ca.crt");
        let serve = Serve {
            directory: self.kcp.directory(),
            kubeconfig: self.kcp.kubeconfig(&self.kcp.user("kcp-ephemeral", &[]), PLATFORM),
            workspace: PLATFORM,
            external_port: self.port,
            port: self.port,
            webhook_ports: &[
                self.webhook.address().port(),
                self.new_webhook.address().port(),
                self.silent_port,
            ],
        };
        let mut command = serve.command();
        command
            .arg("--requestheader-client-ca-file")
            .arg(requestheader_ca)
            .args(["--requestheader-allowed-names", "kcp-front-proxy"])
            .args(["--resync-period", "10s"]);
        let log = self.kcp.directory().join("serve.log");
        self.server = Some(Process::start(command.as_std(), log));
    }

    /// Kills the server.
    pub(crate) fn kill_server(&mut self) {
        self.server = None;
    }

    /// A client of the server itself, without a certificate.
    pub(crate) fn server(&self) -> Client {
        let address = (Ipv4Addr::LOCALHOST, self.port).into();
        Client::new(address, self.kcp.serving_ca()).host("127.0.0.1")
    }

    /// Whether the server says that it is ready.
    pub(crate) async fn is_ready(&self) -> bool {
        self.server()
            .get("/readyz")
            .await
            .is_ok_and(|answer| answer.status == 200)
    }

    /// kubectl as somebody who may do everything, in a workspace.
    pub(crate) fn admin(&self, workspace: &str) -> Kubectl {
        Kubectl::new(self.kcp.kubeconfig(&self.admin, workspace))
    }

    /// kubectl as anybody in a workspace.
    pub(crate) fn user(&self, user: &Identity, workspace: &str) -> Kubectl {
        Kubectl::new(self.kcp.kubeconfig(user, workspace))
    }

    /// Makes somebody an admin of a workspace.
    pub(crate) async fn admit(&self, name: &str, workspace: &str) -> Identity {
        let owner = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}],
        });
        self.admin(workspace).ok(&["create", "-f", "-"], &owner).await;
        let user = self.kcp.user(name, &[]);
        let kubectl = self.user(&user, workspace);
        self.until(&format!("{name} may enter"), async || {
            kubectl.run(&["get", "namespaces"], "").await
        })
        .await;
        user
    }

    /// kubectl as somebody who may do everything, at any URL of kcp.
    pub(crate) fn admin_at(&self, url: &str) -> Kubectl {
        Kubectl::new(self.kcp.kubeconfig_at(&self.admin, url))
    }

    /// The endpoint as it is published.
    pub(crate) fn endpoint(&self) -> String {
        format!(
            "https://127.0.0.1:{}/services/ephemeral/{}/{GROUP}",
            self.port, self.provider
        )
    }

    /// The URLs in the slice that a provider's export refers to.
    pub(crate) async fn entries(&self, workspace: &str) -> Vec<String> {
        let slice = self.admin(workspace).get(&["apiexportendpointslice", SLICE]).await;
        let entries = slice["status"]["endpoints"].as_array().into_iter().flatten();
        entries
            .map(|entry| entry["url"].as_str().expect("a URL").to_owned())
            .collect()
    }

    /// Waits until the server's own entry is there, or is not.
    pub(crate) async fn wait_published(&self, published: bool) {
        self.until(&format!("published: {published}"), async || {
            let entries = self.entries(PROVIDER).await;
            (entries.contains(&self.endpoint()) == published)
                .then_some(())
                .ok_or(format!("{entries:?}"))
        })
        .await;
    }

    /// Changes the nomination.
    pub(crate) async fn patch_nomination(&self, spec: &Value) {
        let patch = json!({"spec": spec}).to_string();
        let arguments = ["patch", "ephemeralwebhook", NOMINATION, "--type=merge", "-p", &patch];
        self.admin(PROVIDER).ok_text(&arguments, "").await;
    }

    /// Waits until a condition of the nomination begins with this `status reason`.
    pub(crate) async fn wait_condition(&self, kind: &str, expected: &str) {
        self.until(&format!("{kind} {expected}"), async || {
            let webhook = self.admin(PROVIDER).get(&["ephemeralwebhook", NOMINATION]).await;
            let mut conditions = webhook["status"]["conditions"].as_array().into_iter().flatten();
            let condition = conditions.find(|condition| condition["type"] == kind);
            let found = condition.map(|condition| {
                let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
                format!("{} {}", text("status"), text("reason"))
            });
            let found = found.unwrap_or_default();
            found.starts_with(expected).then_some(()).ok_or(found)
        })
        .await;
    }

    /// Asks until the answer is the webhook's.
    pub(crate) async fn answered(&self, workspace: &str) -> Value {
        let kubectl = self.admin(workspace);
        let what = format!("an answer in {workspace}");
        let answer = self.until(&what, async || kubectl.create(&["-o", "json"]).await).await;
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert_eq!(answer["status"], json!({"celsius": 21}), "{answer}");
        answer
    }

    /// Asks until kubectl says something that contains this.
    pub(crate) async fn refused(&self, workspace: &str, words: &str) {
        let kubectl = self.admin(workspace);
        let what = format!("{words:?} in {workspace}");
        self.until(&what, async || match kubectl.create(&[]).await {
            Err(said) if said.contains(words) => Ok(()),
            Err(said) | Ok(said) => Err(said),
        })
        .await;
    }

    /// What `doctor` says of the way from a consumer, with an object to try; whether all is well.
    pub(crate) async fn doctor(&self, workspace: &str) -> (bool, String) {
        let output = self.examine(workspace).output().await.expect("the binary starts");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        super::note(&format!("doctor in {workspace}: {}\n{text}", output.status));
        (output.status.success(), text)
    }

    /// The same as JSON.
    pub(crate) async fn report(&self, workspace: &str) -> Value {
        let mut doctor = self.examine(workspace);
        doctor.args(["--output", "json", "--provider-workspace", PROVIDER]);
        let output = doctor.output().await.expect("the binary starts");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    fn examine(&self, workspace: &str) -> Command {
        let object = self.kcp.directory().join("question.json");
        std::fs::write(&object, question().to_string()).expect("the directory is writable");
        let mut doctor = support::command();
        doctor
            .args(["doctor", "--resource", NOMINATION, "--filename"])
            .arg(object)
            .arg("--kubeconfig")
            .arg(self.kcp.kubeconfig(&self.admin, workspace))
            .arg("--provider-kubeconfig")
            .arg(self.kcp.kubeconfig(&self.admin, PROVIDER))
            .arg("--endpoint-ca-file")
            .arg(self.kcp.directory().join("server-ca.crt"));
        doctor
    }

    /// Tries until it succeeds; then what it led to, or else the last error and the logs.
    pub(crate) async fn until<T>(&self, what: &str, mut attempt: impl AsyncFnMut() -> Result<T, String>) -> T {
        let end = Instant::now() + PATIENCE;
        loop {
            match attempt().await {
                Ok(value) => return value,
                Err(error) if Instant::now() > end => panic!("{what}: {error}\n{}", self.log()),
                Err(_) => sleep(Duration::from_millis(500)).await,
            }
        }
    }

    /// What the server logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.kcp.directory().join("serve.log")).unwrap_or_default()
    }
}

async fn webhook(directory: &Path, name: &str, shown: &Authority) -> Webhook {
    let authority = Authority::new(name);
    authority.write(directory, name);
    Webhook::builder(authority.server(&["localhost"]))
        .client_auth(ClientAuth::Optional(shown))
        .start(forecast)
        .await
}

/// What the webhooks answer.
pub(crate) fn forecast(review: &Recorded) -> Reply {
    Reply::with_status(review, json!({"celsius": 21}))
}

/// kubectl with a kubeconfig.
pub(crate) struct Kubectl {
    kubeconfig: PathBuf,
}

impl Kubectl {
    fn new(kubeconfig: PathBuf) -> Self {
        Self { kubeconfig }
    }

    /// What it prints where it succeeds, or what it says where it does not.
    pub(crate) async fn run(&self, arguments: &[&str], input: &str) -> Result<String, String> {
        let mut command = Command::new("kubectl");
        command.args(arguments);
        self.output(command, input).await
    }

    async fn output(&self, mut command: Command, input: &str) -> Result<String, String> {
        let mut child = command
            .env("HOME", self.kubeconfig.with_file_name("home"))
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("it starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        // Whoever ends without reading says why.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        let output = timeout(PATIENCE, child.wait_with_output())
            .await
            .expect("in time")
            .expect("output");
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            Ok(text(&output.stdout))
        } else {
            Err(text(&output.stderr))
        }
    }

    /// A line of shell in which kubectl is this one.
    async fn shell(&self, line: &str) {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        self.output(command, "")
            .await
            .unwrap_or_else(|error| panic!("{line}: {error}"));
    }

    /// The same where it has to succeed.
    pub(crate) async fn ok_text(&self, arguments: &[&str], input: &str) -> String {
        let output = self.run(arguments, input).await;
        output.unwrap_or_else(|error| panic!("kubectl {arguments:?}: {error}\n{input}"))
    }

    /// The same with an object.
    pub(crate) async fn ok(&self, arguments: &[&str], input: &Value) -> String {
        self.ok_text(arguments, &input.to_string()).await
    }

    /// An object.
    pub(crate) async fn get(&self, what: &[&str]) -> Value {
        let text = self.ok_text(&[&["get"], what, &["-o", "json"]].concat(), "").await;
        serde_json::from_str(&text).expect("JSON")
    }

    /// Waits for a condition.
    pub(crate) async fn wait(&self, condition: &str, what: &str) {
        self.ok_text(&["wait", &format!("--for={condition}"), what, "--timeout=100s"], "")
            .await;
    }

    /// Asks.
    pub(crate) async fn create(&self, more: &[&str]) -> Result<String, String> {
        self.run(&[&["create", "-f", "-"], more].concat(), &question().to_string())
            .await
    }
}

/// The name of a workspace in its parent.
fn name_of(path: &str) -> &str {
    path.rsplit(':').next().unwrap_or(path)
}

/// A question.
pub(crate) fn question() -> Value {
    json!({
        "apiVersion": "weather.example.org/v1", "kind": "Forecast",
        "metadata": {"name": "tomorrow", "namespace": "default"}, "spec": {"place": "pier-7"},
    })
}

/// The schema of the resource.
pub(crate) fn schema() -> Value {
    json!({
        "apiVersion": "apis.kcp.io/v1alpha1", "kind": "APIResourceSchema",
        "metadata": {"name": "v1.forecasts.weather.example.org"},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {"kind": "Forecast", "listKind": "ForecastList", "plural": RESOURCE, "singular": "forecast"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                "type": "object", "properties": {
                    "spec": {"type": "object", "required": ["place"], "properties": {
                        "place": {"type": "string"}, "hours": {"type": "integer", "default": 24},
                    }},
                    "status": {"type": "object", "properties": {"celsius": {"type": "integer"}}},
                },
            }}],
        },
    })
}

/// The export, with the storage that a nomination needs.
pub(crate) fn export() -> Value {
    json!({
        "apiVersion": "apis.kcp.io/v1alpha2", "kind": "APIExport", "metadata": {"name": GROUP},
        "spec": {"resources": [{
            "group": GROUP, "name": RESOURCE, "schema": "v1.forecasts.weather.example.org",
            "storage": {"virtual": {
                "reference": {"apiGroup": "apis.kcp.io", "kind": "APIExportEndpointSlice", "name": SLICE},
                "identityHash": "ephemeral",
            }},
        }]},
    })
}
