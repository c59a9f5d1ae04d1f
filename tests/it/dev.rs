//! `dev` as a process: how it starts, what it writes, how it ends.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::Path;

use crate::support::resources::{Provider, Resource};
use crate::support::{Dev, PATIENCE, command, send_signal, until};
use ephemeral_testing::webhook::Reply;
use serde_json::{Value, json};

/// Runs `dev` where it cannot start and returns what it says.
async fn refused(arguments: &[&str]) -> String {
    let child = command().arg("dev").args(arguments).spawn().expect("the binary starts");
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output())
        .await
        .expect("in time")
        .expect("output");
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    assert!(output.stdout.is_empty(), "nothing is ready");
    let stderr = String::from_utf8(output.stderr).expect("text");
    let lines: Vec<_> = stderr
        .lines()
        .filter(|line| line.starts_with("kcp-ephemeral: "))
        .collect();
    assert_eq!(lines.len(), 1, "one clear line: {stderr}");
    lines[0].to_owned()
}

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path());
    entries
        .map(|path| {
            (
                path.file_name().expect("a name").to_string_lossy().into_owned(),
                fs::read(path).expect("a file"),
            )
        })
        .collect()
}

#[tokio::test]
async fn a_second_start_reuses_the_pki_and_signals_end_it_cleanly() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    let dev = Dev::start_in(directory, &[]).await;
    let pki = files(&path.join("pki"));
    for name in [
        "ca",
        "server",
        "shard",
        "front-proxy",
        "user",
        "webhook-client-ca",
        "webhook-client",
    ] {
        assert!(
            pki.contains_key(&format!("{name}.crt")) && pki.contains_key(&format!("{name}.key")),
            "{name}"
        );
    }
    // The directory outlives the first process.
    let kept = tempfile::tempdir().unwrap();
    for folder in ["pki"] {
        fs::create_dir(kept.path().join(folder)).unwrap();
        for (name, content) in files(&path.join(folder)) {
            fs::write(kept.path().join(folder).join(name), content).unwrap();
        }
    }
    let (code, log) = dev.end("-TERM").await;
    assert_eq!(code, Some(0), "{log}");

    let dev = Dev::start_in(kept, &[]).await;
    assert_eq!(files(&dev.directory().join("pki")), pki);
    let (code, log) = dev.end("-INT").await;
    assert_eq!(code, Some(0), "{log}");
}

#[tokio::test]
async fn what_keeps_it_from_starting_is_one_clear_line() {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path().join("dev");
    let dir = dir.to_str().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let line = refused(&["--dir", dir, "--port", &port]).await;
    assert!(line.contains(&port) && line.contains("in use"), "{line}");

    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let line = refused(&["--dir", file.join("below").to_str().unwrap(), "--port", "0"]).await;
    assert!(line.contains("file/below"), "{line}");

    let manifests = directory.path().join("manifests");
    fs::create_dir(&manifests).unwrap();
    for (content, words) in [
        ("a: [b", "bad.yaml"),
        ("apiVersion: v1\nkind: Surprise\nmetadata: {name: x}\n", "Surprise"),
        ("just text", "bad.yaml"),
    ] {
        fs::write(manifests.join("bad.yaml"), content).unwrap();
        let line = refused(&["--dir", dir, "--port", "0", "--manifests", manifests.to_str().unwrap()]).await;
        assert!(line.contains(words), "{content:?}: {line}");
    }
    let line = refused(&["--dir", dir, "--port", "0", "--manifests", "/nowhere/at/all"]).await;
    assert!(line.contains("/nowhere/at/all"), "{line}");
}

#[tokio::test]
async fn a_log_level_that_is_none_is_refused() {
    let child = command()
        .args(["dev", "--log-level", "inof"])
        .spawn()
        .expect("the binary starts");
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output())
        .await
        .unwrap()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("inof") && stderr.contains("debug"), "{stderr}");
}

#[tokio::test]
async fn a_reader_that_has_seen_enough_does_not_end_it() {
    let directory = tempfile::tempdir().unwrap();
    let start = command()
        .args(["dev", "--port", "0", "--dir"])
        .arg(directory.path())
        .spawn();
    let mut child = start.expect("the binary starts");
    // Nobody reads a byte: even the first line meets a closed pipe.
    drop(child.stdout.take());
    let kubeconfig = directory.path().join("kubeconfig");
    until("it serves", async || {
        assert_eq!(child.try_wait().unwrap(), None);
        let Ok(text) = fs::read_to_string(&kubeconfig) else {
            return false;
        };
        let address = text
            .split("https://")
            .nth(1)
            .and_then(|rest| rest.split(['/', '\n', '"']).next());
        let address = address
            .and_then(|address| address.trim().parse().ok())
            .expect("an address");
        let ca = fs::read_to_string(directory.path().join("pki/ca.crt")).unwrap();
        let readyz = ephemeral_testing::client::Client::trusting(address, &ca)
            .get("/readyz")
            .await;
        readyz.is_ok_and(|answer| answer.status == 200)
    })
    .await;
    send_signal(&child, "-TERM").await;
    let end = tokio::time::timeout(PATIENCE, child.wait()).await.unwrap().unwrap();
    assert_eq!(end.code(), Some(0));
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    let provider = Provider::answering(|_| Reply::Hang).await;
    provider.nominate("provider", &Resource::sample(json!({"type": "object"})));
    let manifests = provider.directory().to_str().unwrap().to_owned();
    let dev = Dev::start(&["--manifests", &manifests, "--no-sample-webhook"]).await;
    let client = dev.client("user");
    let asking = tokio::spawn(async move {
        let object = json!({"apiVersion": "cases.example.org/v1", "kind": "Sample"}).to_string();
        let path = "/clusters/any/apis/cases.example.org/v1/namespaces/demo/samples";
        client.post_json(path, object).await
    });
    until("the webhook is asked", async || !provider.webhook.recorded().is_empty()).await;
    dev.signal("-INT").await;
    until("it is told to end", async || {
        dev.anonymous().get("/readyz").await.is_err()
    })
    .await;
    let (code, log) = dev.end("-INT").await;
    assert_eq!(code, Some(1), "{log}");
    assert!(log.contains("a second signal ends them"), "{log}");
    assert!(asking.await.unwrap().is_err());
}

#[tokio::test]
async fn a_second_one_keeps_out_of_the_directory_of_the_first() {
    let dev = Dev::start(&[]).await;
    let kubeconfig = fs::read(dev.kubeconfig()).unwrap();
    let dir = dev.directory().to_str().unwrap();
    let line = refused(&["--dir", dir, "--port", "0"]).await;
    assert!(line.contains("another dev uses") && line.contains(dir), "{line}");
    assert_eq!(fs::read(dev.kubeconfig()).unwrap(), kubeconfig);
}

#[tokio::test]
async fn changed_manifests_are_served_and_broken_ones_keep_the_last_good_nomination() {
    let provider = Provider::echoing().await;
    let field = |name: &str| {
        Resource::sample(
            json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
                name: {"type": "string"},
            }}}}),
        )
    };
    provider.nominate("provider", &field("old"));
    let manifests = provider.directory().to_owned();
    let dev = Dev::start(&["--manifests", manifests.to_str().unwrap(), "--no-sample-webhook"]).await;
    let ask = async || {
        let object = json!({"apiVersion": "cases.example.org/v1", "kind": "Sample", "spec": {"old": "x", "new": "y"}});
        let path = "/clusters/any/apis/cases.example.org/v1/namespaces/demo/samples?fieldValidation=Ignore";
        let answer = dev
            .client("user")
            .post_json(path, object.to_string())
            .await
            .expect("an answer");
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json::<Value>()["spec"].clone()
    };
    assert_eq!(ask().await, json!({"old": "x"}));

    // APIResourceSchemas are immutable on kcp; in a directory a change of the file is simply a new content.
    provider.nominate("provider", &field("new"));
    until("the new schema is served", async || ask().await == json!({"new": "y"})).await;

    let file = fs::read_dir(&manifests).unwrap().next().unwrap().unwrap().path();
    fs::write(&file, "{").unwrap();
    until("the broken file is reported", async || {
        let answer = dev.anonymous().get("/readyz?verbose").await.expect("an answer");
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.text().contains(file.file_name().unwrap().to_str().unwrap())
    })
    .await;
    assert_eq!(ask().await, json!({"new": "y"}));

    provider.nominate("provider", &field("old"));
    until("the mended file is served", async || ask().await == json!({"old": "x"})).await;
    let (_, log) = dev.end("-TERM").await;
    assert!(log.contains(file.file_name().unwrap().to_str().unwrap()), "{log}");
}

#[tokio::test]
async fn what_is_no_file_does_not_hold_up_the_manifests() {
    let provider = Provider::echoing().await;
    let pipe = provider.directory().join("pipe.yaml");
    let made = tokio::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .await
        .expect("mkfifo runs");
    assert!(made.success());
    let manifests = provider.directory().to_str().unwrap().to_owned();
    let dev = Dev::start(&["--manifests", &manifests, "--no-sample-webhook"]).await;
    provider.nominate("provider", &Resource::sample(json!({"type": "object"})));
    let object = json!({"apiVersion": "cases.example.org/v1", "kind": "Sample"}).to_string();
    let path = "/clusters/any/apis/cases.example.org/v1/namespaces/demo/samples";
    until("the new file is served", async || {
        dev.client("user")
            .post_json(path, object.clone())
            .await
            .expect("an answer")
            .status
            == 201
    })
    .await;
    let (code, log) = dev.end("-TERM").await;
    assert_eq!(code, Some(0), "{log}");
}

#[tokio::test]
async fn live_checks_need_no_certificate_and_everything_else_does() {
    let dev = Dev::start(&[]).await;
    for path in [
        "/livez",
        "/readyz",
        "/healthz",
        "/version",
        "/clusters/consumer/readyz",
        "/services/ephemeral/provider/s3.example.com/livez",
    ] {
        let answer = dev.anonymous().get(path).await.unwrap();
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    }
    for path in [
        "/clusters/consumer/apis",
        "/services/ephemeral/provider/s3.example.com/clusters/consumer/apis",
    ] {
        let answer = dev.anonymous().get(path).await.unwrap();
        assert_eq!(answer.status, 401, "{path}");
        assert_eq!(answer.json::<Value>()["reason"], "Unauthorized", "{path}");
        for certificate in ["user", "front-proxy", "shard"] {
            let headers = [("x-remote-user", "ada"), ("x-remote-group", "system:authenticated")];
            let request = ephemeral_testing::client::request(http::Method::GET, path, &headers, "").unwrap();
            let answer = dev.client(certificate).send(request).await.unwrap();
            assert_eq!(answer.status, 200, "{certificate} {path}: {}", answer.text());
        }
    }
}
