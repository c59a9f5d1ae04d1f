//! The binary, as a provider runs it: from its flags to SIGTERM.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use ephemeral_testing::client::Client;
use ephemeral_testing::pki::Authority;
use serde_json::{Value, json};
use tempfile::TempDir;

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        drop(self.0.kill());
    }
}

#[tokio::test]
async fn it_serves_until_it_is_told_to_stop() {
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    std::fs::create_dir_all(root.join("buckets/photos")).unwrap();
    std::fs::write(root.join("buckets/photos/a.jpg"), "123").unwrap();
    let (servers, clients) = (Authority::new("servers"), Authority::new("clients"));
    let (cert, key) = servers.server(&["localhost"]).write(root, "tls");
    let ca = clients.write(root, "ca");

    let mut command = Command::new(env!("CARGO_BIN_EXE_bucketinfo"));
    command
        .arg("--buckets")
        .arg(root.join("buckets"))
        .args(["--exports", "provider/s3.example.com"]);
    command
        .args(["--listen", "127.0.0.1:0"])
        .arg("--tls-cert-file")
        .arg(cert);
    command
        .arg("--tls-private-key-file")
        .arg(key)
        .arg("--client-ca-file")
        .arg(ca);
    let mut running = Running(command.env("NO_COLOR", "1").stderr(Stdio::piped()).spawn().unwrap());
    let mut log = BufReader::new(running.0.stderr.take().unwrap()).lines();
    let line = log.find_map(|line| line.unwrap().split_once("address=").map(|(_, rest)| rest.to_owned()));
    let address: SocketAddr = line.unwrap().trim().parse().unwrap();

    let review = json!({
        "apiVersion": "apis.kcp.io/v1alpha1", "kind": "EphemeralReview",
        "request": {
            "uid": "u1", "cluster": "consumer", "export": {"cluster": "provider", "name": "s3.example.com"},
            "resource": {"group": "s3.example.com", "version": "v1alpha1", "resource": "bucketinfos"},
            "kind": {"group": "s3.example.com", "version": "v1alpha1", "kind": "BucketInfo"},
            "userInfo": {"username": "alice"}, "object": {"spec": {"bucketName": "photos"}},
        },
    });
    let client = Client::with_certificate(address, &servers, &clients.client("kcp", &[]));
    let answer = client.post_json(bucketinfo::PATH, review.to_string()).await.unwrap();
    assert_eq!(answer.json::<Value>()["response"]["object"]["status"]["sizeBytes"], 3);

    let pid = running.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert!(running.0.wait().unwrap().success());
}
