//! What `manifests` prints, applied by kubectl as its comments say, is all that an installation needs.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::support::installation::{GROUP, Installation, NOMINATION, SLICE, kubectl, schema};
use crate::support::manifests;

const PROVIDER: &str = "root:provider";

/// `manifests … | kubectl apply -f -`, twice: the second time nothing changes.
async fn apply(kubectl: impl Fn() -> Command, flags: &[&str], manifests: &str) {
    for _ in 0..2 {
        let mut child = kubectl()
            .arg("apply")
            .args(flags)
            .args(["-f", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(manifests.as_bytes()).await.expect("kubectl reads");
        drop(stdin);
        let output = child.wait_with_output().await.expect("it ends");
        assert!(
            output.status.success(),
            "{manifests}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[tokio::test]
async fn kubectl_applies_all_of_it() {
    if !crate::support::has_kubectl().await {
        return;
    }
    let mut installation = Installation::bare().await;
    let shard = manifests(&["shard"]).await;
    for number in 0..2 {
        let kubeconfig = installation.kcp.shard_kubeconfig(number);
        let kubectl = || {
            let mut kubectl = kubectl(&installation, "root:platform");
            kubectl.env("KUBECONFIG", &kubeconfig);
            kubectl
        };
        apply(kubectl, &[], &shard).await;
    }
    let in_workspace = |workspace: &'static str| {
        let installation = &installation;
        move || kubectl(installation, workspace)
    };
    apply(in_workspace("root:platform"), &[], &manifests(&["platform"]).await).await;
    let provider = manifests(&["provider", "--export-path", "root:platform", "--rbac"]).await;
    apply(in_workspace(PROVIDER), &[], &provider).await;

    // The provider's own export, with another resource in it.
    installation.kcp.put(PROVIDER, &schema());
    let mut other = schema();
    other["metadata"]["name"] = "v1.others.s3.example.com".into();
    other["spec"]["names"]["plural"] = "others".into();
    other["spec"]["names"]["kind"] = "Other".into();
    installation.kcp.put(PROVIDER, &other);
    let stored = json!({
        "name": "others", "group": GROUP, "schema": "v1.others.s3.example.com", "storage": {"crd": {}},
    });
    let export = json!({
        "apiVersion": "apis.kcp.io/v1alpha2", "kind": "APIExport", "metadata": {"name": GROUP},
        "spec": {"resources": [
            stored,
            {"name": "bucketinfos", "group": GROUP, "schema": "v1.bucketinfos.s3.example.com"},
        ]},
    });
    installation.kcp.put(PROVIDER, &export);
    let (url, ca) = (
        installation.webhook.url("/"),
        installation.kcp.directory().join("webhook-ca.crt"),
    );
    let nomination = manifests(&[
        "nomination",
        "--export",
        GROUP,
        "--group",
        GROUP,
        "--resource",
        "bucketinfos",
        "--url",
        &url,
        "--ca-file",
        ca.to_str().expect("a path"),
    ])
    .await;
    apply(in_workspace(PROVIDER), &["--server-side"], &nomination).await;

    let export = installation.object("apiexports", GROUP);
    let resources = export["spec"]["resources"].as_array().expect("a list");
    assert_eq!(resources.len(), 2, "{export}");
    assert!(resources.contains(&stored), "the other resource is as it was: {export}");
    let merged = resources
        .iter()
        .find(|resource| resource["name"] == "bucketinfos")
        .expect("it is there");
    assert_eq!(merged["schema"], "v1.bucketinfos.s3.example.com");
    assert_eq!(merged["storage"]["virtual"]["reference"]["name"], SLICE);

    installation.bind_consumers();
    installation.serve(&[]);
    installation.wait_for("Ready", "True").await;
    for consumer in &installation.consumers {
        installation.create_until(consumer, 201).await;
    }
    // The columns are the provider's first look.
    let output = kubectl(&installation, PROVIDER)
        .args(["get", "ephemeralwebhook", NOMINATION, "-o", "json"])
        .output()
        .await
        .expect("kubectl runs");
    let shown: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(shown["status"]["endpoint"], installation.endpoint());
}
