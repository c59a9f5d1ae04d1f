//! The sample, asked with real kubectl.
//!
//! Skipped, loudly, where kubectl is not on PATH; with `KCP_EPHEMERAL_REQUIRE_KUBECTL` that is a failure.

use std::process::{Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::support::Dev;

/// kubectl with the kubeconfig of a running `dev` and a cache of its own.
struct Kubectl {
    dev: Dev,
    home: TempDir,
}

impl Kubectl {
    /// Starts `dev`, or says that there is no kubectl.
    async fn new() -> Option<Self> {
        if !crate::support::has_kubectl().await {
            return None;
        }
        Some(Self {
            dev: Dev::start(&[]).await,
            home: tempfile::tempdir().expect("a temporary directory"),
        })
    }

    async fn run(&self, arguments: &[&str]) -> Output {
        self.run_with(arguments, "").await
    }

    /// Runs kubectl with an object on standard input.
    async fn run_with(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = Command::new("kubectl")
            .args(arguments)
            .env("HOME", self.home.path())
            .env("KUBECONFIG", self.dev.kubeconfig())
            .current_dir(crate::support::root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("kubectl starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(input.as_bytes()).await.expect("kubectl reads");
        drop(stdin);
        tokio::time::timeout(crate::support::PATIENCE, child.wait_with_output())
            .await
            .expect("in time")
            .expect("output")
    }

    async fn stdout(&self, arguments: &[&str]) -> String {
        self.stdout_with(arguments, "").await
    }

    async fn stdout_with(&self, arguments: &[&str], input: &str) -> String {
        let output = self.run_with(arguments, input).await;
        let (out, err) = texts(&output);
        assert!(output.status.success(), "kubectl {arguments:?} failed: {err}");
        out
    }
}

fn texts(output: &Output) -> (String, String) {
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

fn bucketinfo(metadata: &Value, spec: &Value) -> String {
    json!({"apiVersion": "s3.example.com/v1alpha1", "kind": "BucketInfo", "metadata": metadata, "spec": spec})
        .to_string()
}

#[tokio::test]
async fn the_first_command_of_the_readme_gets_a_live_answer() {
    let Some(kubectl) = Kubectl::new().await else { return };
    let buckets = kubectl.dev.directory().join("buckets");
    std::fs::create_dir(buckets.join("mine")).unwrap();
    std::fs::write(buckets.join("mine/a"), "12345").unwrap();
    std::fs::write(buckets.join("mine/b"), "678").unwrap();

    let example = kubectl
        .stdout(&["create", "-f", "examples/bucketinfo.yaml", "-o", "yaml"])
        .await;
    assert!(example.contains("objectCount: 3"), "{example}");

    let question = bucketinfo(&json!({"name": "mine"}), &json!({"bucketName": "mine"}));
    let answer = kubectl
        .stdout_with(&["create", "-f", "-", "-o", "json"], &question)
        .await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(
        (&answer["status"]["objectCount"], &answer["status"]["sizeBytes"]),
        (&json!(2), &json!(8)),
        "{answer}"
    );
    assert!(
        answer["status"]["lastModified"].as_str().unwrap().ends_with('Z'),
        "{answer}"
    );

    std::fs::write(buckets.join("mine/c"), "9").unwrap();
    let again = kubectl
        .stdout_with(
            &["create", "-f", "-", "-o", "jsonpath={.status.objectCount}"],
            &question,
        )
        .await;
    assert_eq!(
        again, "3",
        "the answer is live, and a name is free to be asked about again"
    );
}

#[tokio::test]
async fn every_form_of_output_and_of_name_works() {
    let Some(kubectl) = Kubectl::new().await else { return };
    let named = bucketinfo(&json!({"name": "photos"}), &json!({"bucketName": "photos"}));
    let out = kubectl.stdout_with(&["create", "-f", "-"], &named).await;
    assert_eq!(out, "bucketinfo.s3.example.com/photos created\n");
    let out = kubectl.stdout_with(&["create", "-f", "-", "-o", "name"], &named).await;
    assert_eq!(out, "bucketinfo.s3.example.com/photos\n");
    let out = kubectl
        .stdout_with(&["create", "-f", "-", "--dry-run=server", "-o", "yaml"], &named)
        .await;
    assert!(out.contains("objectCount: 3"), "{out}");

    let generated = bucketinfo(&json!({"generateName": "photos-"}), &json!({"bucketName": "photos"}));
    let out = kubectl
        .stdout_with(&["create", "-f", "-", "-o", "jsonpath={.metadata.name}"], &generated)
        .await;
    assert!(out.starts_with("photos-") && out.len() == "photos-".len() + 5, "{out}");

    let unnamed = bucketinfo(&json!({}), &json!({"bucketName": "photos"}));
    let out = kubectl
        .stdout_with(&["create", "-f", "-", "-o", "json"], &unnamed)
        .await;
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["status"]["objectCount"], 3, "{answer}");
    assert!(answer["metadata"].get("name").is_none(), "{answer}");
}

#[tokio::test]
async fn every_printer_prints_the_answer() {
    let Some(kubectl) = Kubectl::new().await else { return };
    let named = bucketinfo(&json!({"name": "photos"}), &json!({"bucketName": "photos"}));
    for (output, expected) in [
        ("go-template={{.kind}} {{.status.objectCount}}", "BucketInfo 3"),
        ("jsonpath={.spec.bucketName}", "photos"),
        ("jsonpath-as-json={.status.objectCount}", "[\n    3\n]"),
    ] {
        let out = kubectl.stdout_with(&["create", "-f", "-", "-o", output], &named).await;
        assert_eq!(out.trim_end(), expected, "{output}");
    }
    let out = kubectl
        .stdout_with(&["create", "-f", "-", "-o", "yaml", "--show-managed-fields"], &named)
        .await;
    assert!(!out.contains("managedFields"), "{out}");
    let out = kubectl
        .stdout_with(&["apply", "-f", "-", "--dry-run=server", "-o", "json"], &named)
        .await;
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["status"]["objectCount"], 3, "{answer}");
    let out = kubectl
        .stdout_with(&["apply", "-f", "-", "--dry-run=client", "-o", "name"], &named)
        .await;
    assert_eq!(out, "bucketinfo.s3.example.com/photos\n");
}

/// kubectl takes a raw path for the server's own, whatever path the kubeconfig has, so that on kcp too it names the
/// workspace.
#[tokio::test]
async fn raw_requests_are_passed_on() {
    const COLLECTION: &str = "/clusters/consumer/apis/s3.example.com/v1alpha1/namespaces/default/bucketinfos";
    let Some(kubectl) = Kubectl::new().await else { return };
    let named = bucketinfo(&json!({"name": "photos"}), &json!({"bucketName": "photos"}));
    let out = kubectl
        .stdout_with(&["create", "--raw", COLLECTION, "-f", "-"], &named)
        .await;
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["status"]["objectCount"], 3, "{answer}");
    let document = async |path: &str| -> Value {
        let out = kubectl.stdout(&["get", "--raw", path]).await;
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{path}: {error}: {out}"))
    };
    assert_eq!(
        document("/clusters/consumer/apis").await["groups"][0]["name"],
        "s3.example.com"
    );
    assert_eq!(
        document("/clusters/consumer/apis/s3.example.com").await["kind"],
        "APIGroup"
    );
    let resources = document("/clusters/consumer/apis/s3.example.com/v1alpha1").await;
    assert_eq!(resources["resources"][0]["verbs"], json!(["create"]));
    assert_eq!(document("/clusters/consumer/openapi/v2").await["swagger"], "2.0");
    assert!(document("/clusters/consumer/openapi/v3").await["paths"]["apis/s3.example.com/v1alpha1"].is_object());
    assert_eq!(document(COLLECTION).await["items"], json!([]));
    let output = kubectl
        .run(&["get", "--raw", "/clusters/consumer/apis/nowhere.example.com/v1"])
        .await;
    assert!(texts(&output).1.contains("NotFound"), "{}", texts(&output).1);
}

/// What `kubectl get -o yaml` and many generators write.
#[tokio::test]
async fn a_list_of_questions_is_asked_one_by_one() {
    let Some(kubectl) = Kubectl::new().await else { return };
    let question = |name: &str| {
        let text = bucketinfo(&json!({"name": name}), &json!({"bucketName": "photos"}));
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [question("one"), question("two")]});
    let out = kubectl.stdout_with(&["create", "-f", "-"], &list.to_string()).await;
    assert_eq!(
        out,
        "bucketinfo.s3.example.com/one created\nbucketinfo.s3.example.com/two created\n"
    );
}

#[tokio::test]
async fn the_resource_is_found_and_explained() {
    let Some(kubectl) = Kubectl::new().await else { return };
    let out = kubectl.stdout(&["api-resources"]).await;
    let line = out
        .lines()
        .find(|line| line.starts_with("bucketinfos"))
        .unwrap_or_else(|| panic!("{out}"));
    assert!(
        line.contains("s3.example.com/v1alpha1") && line.contains("true") && line.ends_with("BucketInfo"),
        "{line}"
    );
    let out = kubectl.stdout(&["api-resources", "-o", "wide"]).await;
    assert!(
        out.lines()
            .any(|line| line.starts_with("bucketinfos") && line.contains("create")),
        "{out}"
    );
    let out = kubectl.stdout(&["api-versions"]).await;
    assert!(out.contains("s3.example.com/v1alpha1"), "{out}");
    let out = kubectl.stdout(&["explain", "bucketinfo.spec"]).await;
    assert!(out.contains("bucketName") && out.contains("-required-"), "{out}");
    let out = kubectl.stdout(&["explain", "bucketinfo.metadata"]).await;
    assert!(out.contains("annotations"), "{out}");
    for version in ["plaintext", "plaintext-openapiv2"] {
        let out = kubectl
            .stdout(&["explain", "bi", "--recursive", "--output", version])
            .await;
        assert!(
            out.contains("bucketName") && out.contains("sizeBytes"),
            "{version}: {out}"
        );
    }
    let out = kubectl
        .stdout(&["api-resources", "--verbs=create", "--namespaced", "-o", "name"])
        .await;
    assert_eq!(out, "bucketinfos.s3.example.com\n");
    let out = kubectl.stdout(&["version", "-o", "json"]).await;
    assert!(out.contains("serverVersion"), "{out}");
}

#[tokio::test]
async fn nothing_is_stored_and_apply_falls_through_to_a_create() {
    let Some(kubectl) = Kubectl::new().await else { return };
    let output = kubectl.run(&["get", "bucketinfos"]).await;
    let (out, err) = texts(&output);
    assert!(output.status.success() && out.is_empty(), "{out}{err}");
    assert_eq!(err, "No resources found in default namespace.\n");
    let output = kubectl.run(&["get", "bucketinfos", "-o", "wide"]).await;
    assert_eq!(texts(&output).1, "No resources found in default namespace.\n");
    let out = kubectl.stdout(&["get", "bucketinfos", "-A", "-o", "json"]).await;
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["items"], json!([]));
    let out = kubectl.stdout(&["apply", "-f", "examples/bucketinfo.yaml"]).await;
    assert!(out.ends_with(" created\n"), "{out}");
    let output = kubectl
        .run(&["apply", "--server-side", "-f", "examples/bucketinfo.yaml"])
        .await;
    assert!(texts(&output).1.contains("NotFound"), "{}", texts(&output).1);
    for arguments in [&["delete", "bucketinfo", "photos"][..], &["edit", "bi", "photos"]] {
        let output = kubectl.run(arguments).await;
        assert!(texts(&output).1.contains("NotFound"), "{}", texts(&output).1);
    }
    let output = kubectl.run(&["get", "bucketinfos", "photos"]).await;
    assert!(!output.status.success());
    assert!(texts(&output).1.contains("NotFound"), "{}", texts(&output).1);
}

#[tokio::test]
async fn mistakes_get_the_words_of_kubernetes() {
    let Some(kubectl) = Kubectl::new().await else { return };
    let cases = [
        // For a resource without PATCH, kubectl itself finds these, by the schema that it reads as protobuf.
        (
            &["create", "-f", "-"][..],
            json!({"bucketName": "photos", "bukket": 1}),
            "unknown field \"bukket\"",
        ),
        (
            &["create", "--validate=strict", "-f", "-"],
            json!({"bucketName": "photos", "x": 1}),
            "unknown field \"x\"",
        ),
        (
            &["create", "-f", "-"],
            json!({"bucketName": "NO_NO"}),
            "The BucketInfo \"one\" is invalid: spec.bucketName: Invalid value: \"NO_NO\": spec.bucketName in body should \
             match '^[a-z0-9][a-z0-9.-]*[a-z0-9]$'",
        ),
        (
            &["create", "-f", "-"],
            json!({}),
            "missing required field \"bucketName\"",
        ),
        (
            &["create", "-f", "-"],
            json!({"bucketName": "nowhere"}),
            "Error from server (NotFound)",
        ),
    ];
    for (arguments, spec, words) in cases {
        let question = bucketinfo(&json!({"name": "one"}), &spec);
        let output = kubectl.run_with(arguments, &question).await;
        let (out, err) = texts(&output);
        assert!(!output.status.success(), "{spec}: {out}");
        assert!(err.contains(words), "{spec}: expected {words:?}, found {err:?}");
    }
}
