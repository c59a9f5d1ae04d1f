//! What clients other than kubectl make of a resource; `tests/clients/README.md` says what each of them asks.
//!
//! The programs in `tests/clients` are skipped, loudly, where `tests/clients/install` has not brought what they need.
//! `KCP_EPHEMERAL_REQUIRE_CLIENTS` lists those for which that is a failure.

use std::path::PathBuf;
use std::time::Duration;

use ephemeral_testing::webhook::{Recorded, Reply};
use http::StatusCode;
use kube::api::{Api, ListParams, Object, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind, TypeMeta};
use kube::discovery::{Discovery, Scope};
use kube::{Client, Config};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::timeout;

use crate::support::resources::{Provider, Resource};
use crate::support::{Dev, root, skipped};

/// How long a program may take, client-go's first compilation among it.
const PATIENCE: Duration = Duration::from_mins(10);

#[tokio::test]
async fn client_go_and_controller_runtime() {
    let source = root().join("tests/clients/go");
    let go = |arguments: &[&str]| {
        let mut go = Command::new("go");
        // Without the network: what is missing is a skip and no download in the midst of a test.
        go.envs([
            ("GOPROXY", "off"),
            ("GOTOOLCHAIN", "local"),
            ("GOFLAGS", "-mod=readonly"),
        ]);
        go.args(arguments).current_dir(&source);
        go
    };
    let listed = go(&["list", "-deps", "."]).output().await;
    if !listed.is_ok_and(|output| output.status.success()) {
        return missing("go");
    }
    let built = tempfile::tempdir().expect("a temporary directory");
    let binary = built.path().join("question");
    succeeds(go(&["build", "-o", binary.to_str().expect("a path"), "."])).await;
    World::start().await.run(Command::new(binary)).await;
}

#[tokio::test]
async fn python() {
    let interpreter = installed().join("python/bin/python");
    let mut imports = Command::new(&interpreter);
    imports.args(["-c", "import kubernetes.dynamic"]);
    if !imports.output().await.is_ok_and(|output| output.status.success()) {
        return missing("python");
    }
    let mut program = Command::new(interpreter);
    program.arg(root().join("tests/clients/python/question.py"));
    program.env("PYTHONDONTWRITEBYTECODE", "1");
    World::start().await.run(program).await;
}

#[tokio::test]
async fn node() {
    let modules = installed().join("node");
    if !modules.join("node_modules/@kubernetes/client-node").is_dir() {
        return missing("node");
    }
    // Modules are looked for beside the program.
    let program = modules.join("question.mjs");
    std::fs::copy(root().join("tests/clients/node/question.mjs"), &program).expect("a file is copied");
    let mut node = Command::new("node");
    node.arg(program);
    World::start().await.run(node).await;
}

/// What `tests/it/kubectl.rs` does not ask of the sample: the errors of a webhook, and lists with selectors.
#[tokio::test]
async fn kubectl() {
    if !crate::support::has_kubectl().await {
        return;
    }
    let world = World::start().await;
    for (text, words) in [
        ("denied", "Error from server (Forbidden): error when creating"),
        ("denied", "ask somebody else"),
        ("garbage", "Error from server (ServiceUnavailable): error when creating"),
        ("contract", "Error from server (InternalError): error when creating"),
    ] {
        let question = json!({
            "apiVersion": "clients.example.org/v1", "kind": "Question", "metadata": {"name": "kubectl"},
            "spec": {"text": text},
        });
        let file = world.home.path().join("question.json");
        std::fs::write(&file, question.to_string()).expect("a file is written");
        let (succeeded, told) = world.kubectl(&["create", "-f", file.to_str().expect("a path")]).await;
        assert!(!succeeded && told.contains(words), "{text}: {told}");
    }
    for (arguments, words) in [
        (&["get", "qn", "-l", "a in (b),!c"][..], "No resources found"),
        (
            &["get", "qn", "--field-selector", "metadata.name=x"],
            "No resources found",
        ),
        (&["get", "qn", "--chunk-size=1", "-A"], "No resources found"),
        (
            &["get", "qn", "--field-selector", "spec.text=x"],
            "(BadRequest): Unable to find \"clients.example.org/v1, Resource=questions\" that match label selector \"\", \
             field selector \"spec.text=x\": field label not supported: spec.text",
        ),
    ] {
        let (_, told) = world.kubectl(arguments).await;
        assert!(told.contains(words), "{arguments:?}: {told}");
    }
}

/// Where `tests/clients/install` puts things.
fn installed() -> PathBuf {
    let folder = std::env::var_os("KCP_EPHEMERAL_CLIENTS").map(PathBuf::from);
    folder.unwrap_or_else(|| root().join("target/clients"))
}

fn missing(client: &str) {
    let required = std::env::var("KCP_EPHEMERAL_REQUIRE_CLIENTS").unwrap_or_default();
    assert!(
        !required.split_whitespace().any(|name| name == client),
        "the {client} client cannot run"
    );
    skipped(&format!(
        "the {client} client: its runtime is not here, or tests/clients/install was not run"
    ));
}

/// `dev` with the resource that all clients ask about.
struct World {
    dev: Dev,
    /// Kept for as long as it is asked.
    _provider: Provider,
    home: TempDir,
}

impl World {
    async fn start() -> Self {
        let provider = Provider::answering(answer).await;
        let text = json!({"type": "string"});
        let question = Resource {
            group: "clients.example.org".into(),
            names: json!({
                "kind": "Question", "listKind": "QuestionList", "plural": "questions", "singular": "question",
                "shortNames": ["qn"],
            }),
            subresources: json!({"status": {}}),
            ..Resource::sample(json!({"type": "object", "properties": {
                "spec": {"type": "object", "required": ["text"], "properties": {"text": text}},
                "status": {"type": "object", "properties": {"answer": text, "count": {"type": "integer"}}},
            }}))
        };
        provider.nominate("provider", &question);
        let manifests = provider.directory().to_str().expect("a path");
        Self {
            dev: Dev::start(&["--manifests", manifests, "--no-sample-webhook"]).await,
            _provider: provider,
            home: tempfile::tempdir().expect("a temporary directory"),
        }
    }

    /// Runs a program as a user of this world; it must succeed.
    async fn run(&self, mut program: Command) {
        program
            .env("KUBECONFIG", self.dev.kubeconfig())
            .env("HOME", self.home.path());
        succeeds(program).await;
    }

    /// Whether kubectl succeeds, and what it says of that.
    async fn kubectl(&self, arguments: &[&str]) -> (bool, String) {
        let mut kubectl = Command::new("kubectl");
        kubectl.args(arguments).kill_on_drop(true);
        kubectl.env("KUBECONFIG", self.dev.kubeconfig());
        kubectl.env("HOME", self.home.path());
        let output = timeout(PATIENCE, kubectl.output()).await.expect("in time");
        let output = output.expect("kubectl starts");
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    }

    async fn kube(&self) -> Client {
        let kubeconfig = Kubeconfig::read_from(self.dev.kubeconfig()).expect("a kubeconfig");
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let mut config = config.expect("a usable kubeconfig");
        // Else it repeats what was answered 503 for minutes before it says so.
        config.default_retry = false;
        Client::try_from(config).expect("a client")
    }
}

/// The webhook of the table in `tests/clients/README.md`.
fn answer(request: &Recorded) -> Reply {
    match request.json()["request"]["object"]["spec"]["text"].as_str() {
        Some("denied") => {
            let status = json!({"code": 403, "reason": "Forbidden", "message": "ask somebody else"});
            Reply::deny(request, &status)
        }
        Some("garbage") => Reply::body(StatusCode::OK, "no review"),
        Some("contract") => Reply::with_status(request, json!({"answer": 5})),
        _ => Reply::with_status(request, json!({"answer": "pong", "count": 1})),
    }
}

async fn succeeds(mut program: Command) {
    let output = timeout(PATIENCE, program.kill_on_drop(true).output()).await;
    let output = output.expect("in time").expect("the program starts");
    assert!(
        output.status.success(),
        "{program:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Spec {
    text: serde_json::Value,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
struct Status {
    answer: String,
    count: i64,
}

type Question = Object<Spec, Status>;

#[tokio::test]
async fn kube_rs() {
    let world = World::start().await;
    let client = world.kube().await;
    let resource = discover(&client).await;
    let questions: Api<Question> = Api::namespaced_with(client, "default", &resource);
    let ask = |text: serde_json::Value| {
        let mut question = Question::new("", &resource, Spec { text });
        question.metadata.name = None;
        question.metadata.generate_name = Some("kube-rs-".into());
        question.types = Some(TypeMeta {
            api_version: resource.api_version.clone(),
            kind: resource.kind.clone(),
        });
        let questions = questions.clone();
        async move { questions.create(&PostParams::default(), &question).await }
    };

    let answer = ask("ping".into()).await.expect("an answer");
    let expected = Status {
        answer: "pong".into(),
        count: 1,
    };
    assert_eq!(answer.status, Some(expected));
    assert!(answer.metadata.name.expect("a name").starts_with("kube-rs-"));

    for (text, code, reason) in [
        (5.into(), 422, "Invalid"),
        ("denied".into(), 403, "Forbidden"),
        ("garbage".into(), 503, "ServiceUnavailable"),
        ("contract".into(), 500, "InternalError"),
    ] {
        let error = ask(text).await.expect_err("a refusal");
        let kube::Error::Api(status) = error else {
            panic!("no Status: {error}")
        };
        assert_eq!((status.code, &*status.reason), (code, reason), "{status:?}");
    }

    let list = questions.list(&ListParams::default()).await.expect("a list");
    assert!(list.items.is_empty());
    let list = questions.list_metadata(&ListParams::default()).await.expect("a list");
    assert!(list.items.is_empty());
    assert!(questions.get_opt("nobody").await.expect("no error").is_none());
}

/// Both ways of discovery find the resource and tell the same.
async fn discover(client: &Client) -> ApiResource {
    let kind = GroupVersionKind::gvk("clients.example.org", "v1", "Question");
    let legacy = Discovery::new(client.clone()).run().await;
    let aggregated = Discovery::new(client.clone()).run_aggregated().await;
    let [legacy, aggregated] = [legacy, aggregated].map(|found| {
        let found = found.expect("discovery").resolve_gvk(&kind);
        found.expect("the resource is found")
    });
    for (resource, capabilities) in [&legacy, &aggregated] {
        assert_eq!(resource.plural, "questions");
        assert_eq!(capabilities.scope, Scope::Namespaced);
        assert_eq!(capabilities.operations, ["create"]);
    }
    legacy.0
}
