//! Memory is bounded whatever consumers, providers and webhooks send, and none of them can take what others need.

use std::fs;
use std::time::Duration;

use ephemeral_testing::client::{Answer, request};
use ephemeral_testing::webhook::{End, Recorded, Reply, Script};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::support::resources::{Provider, Resource};
use crate::support::{Dev, PATIENCE};

const MIB: usize = 1024 * 1024;

/// The group of a resource whose webhook echoes.
const CALM: &str = "calm.example.org";

/// A server with the resource of a hostile webhook and one of a webhook that echoes, each of a provider of its own.
struct Setup {
    dev: Dev,
    _hostile: Provider,
    _calm: Provider,
}

impl Setup {
    async fn new(answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Self {
        let (hostile, calm) = (Provider::answering(answer).await, Provider::echoing().await);
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let resource = Resource::sample(schema);
        hostile.nominate("hostile", &resource);
        let other = Resource {
            group: CALM.into(),
            ..resource
        };
        calm.nominate("calm", &other);
        for file in fs::read_dir(calm.directory()).expect("manifests") {
            let file = file.expect("a file");
            fs::copy(file.path(), hostile.directory().join(file.file_name())).expect("a copy");
        }
        let manifests = hostile.directory().to_str().expect("a path").to_owned();
        Self {
            dev: Dev::start(&["--manifests", &manifests, "--no-sample-webhook"]).await,
            _hostile: hostile,
            _calm: calm,
        }
    }

    /// Resident memory of the server, bytes.
    fn memory(&self) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.dev.pid())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
        1024 * kib.expect("a size").parse::<usize>().expect("a number")
    }

    async fn create(&self, consumer: &str, group: &str, object: String) -> Answer {
        let client = self.dev.client("user");
        client
            .post_json(&path(consumer, group), object)
            .await
            .expect("an answer")
    }

    /// Others are served as if nothing was.
    async fn assert_others_are_served(&self) {
        for number in 0..20 {
            let answer = self.create("other", CALM, object(CALM, &json!({})).to_string()).await;
            assert_eq!(answer.status, 201, "{number}: {}", answer.text());
        }
    }
}

fn path(consumer: &str, group: &str) -> String {
    format!("/clusters/{consumer}/apis/{group}/v1/namespaces/demo/samples")
}

fn object(group: &str, metadata: &Value) -> Value {
    json!({"apiVersion": format!("{group}/v1"), "kind": "Sample", "metadata": metadata, "spec": {"q": "a"}})
}

/// An object of little more than a megabyte that is wrong in two hundred thousand ways.
fn mistaken() -> Value {
    let labels: serde_json::Map<_, _> = (0..100_000).map(|i| (format!("-{i}"), json!("-"))).collect();
    object(CALM, &json!({"labels": labels}))
}

/// With all room for whoever comes first, 128 of them take the 256 MiB that there are.
#[tokio::test]
async fn uploads_that_never_end_leave_room_for_other_consumers() {
    let setup = Setup::new(Reply::echo).await;
    for framing in ["content-length: 2097152\r\n\r\n", "transfer-encoding: chunked\r\n\r\n"] {
        let mut uploads = Vec::new();
        for _ in 0..140 {
            let mut stream = setup.dev.client("user").stream().await.expect("a connection");
            let path = path("flood", CALM);
            let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n{framing}");
            stream.write_all(head.as_bytes()).await.expect("a request");
            stream.flush().await.expect("a request");
            uploads.push(stream);
        }
        setup.assert_others_are_served().await;
        // What is announced finds no room beyond the share, which 32 bodies fill; the rest is told so.
        if framing.starts_with("content-length") {
            let mut refused = 0;
            for stream in uploads.iter_mut().skip(40) {
                let mut head = [0; 12];
                timeout(PATIENCE, stream.read_exact(&mut head))
                    .await
                    .expect("an answer in time")
                    .expect("an answer");
                refused += usize::from(&head == b"HTTP/1.1 429");
            }
            assert_eq!(refused, 100);
        }
        setup.assert_others_are_served().await;
    }
}

/// 80 answers of nearly 3 MiB that never end, for consumers of whom each is well within its own limits.
#[tokio::test]
async fn answers_that_never_end_leave_other_webhooks_alone() {
    const CALLS: usize = 80;
    let setup = Setup::new(|_| {
        let body = Script::spaces(3 * MIB - 1024).end(End::Hang);
        Reply::script(StatusCode::OK, body)
    })
    .await;
    let before = setup.memory();
    let mut calls = JoinSet::new();
    for number in 0..CALLS {
        let client = setup.dev.client("user");
        let object = object("cases.example.org", &json!({})).to_string();
        let path = path(&format!("consumer-{}", number % 8), "cases.example.org");
        calls.spawn(async move { client.post_json(&path, object).await.expect("an answer") });
    }
    // The provider's share has room for some twenty.
    let mut refused = 0;
    while refused < 40 {
        let answer = timeout(PATIENCE, calls.join_next()).await.expect("in time");
        let answer = answer.expect("one that was refused").expect("no panic");
        assert_eq!(answer.status, 429, "{}", answer.text());
        assert!(answer.headers.contains_key("retry-after"));
        refused += 1;
    }
    setup.assert_others_are_served().await;
    let grown = setup.memory().saturating_sub(before);
    assert!(grown < 200 * MIB, "{} MiB", grown / MIB);
}

#[tokio::test]
async fn errors_without_number_make_an_answer_of_bounded_size() {
    let setup = Setup::new(Reply::echo).await;
    let object = mistaken().to_string();
    let before = setup.memory();
    for _ in 0..3 {
        let answer = setup.create("consumer", CALM, object.clone()).await;
        assert_eq!(answer.status, 422);
        assert!(answer.body.len() < 12 * MIB, "{} MiB", answer.body.len() / MIB);
        let status: Value = answer.json();
        let message = status["message"].as_str().expect("a message");
        assert!(message.ends_with(" more]"), "{}", &message[message.len() - 100..]);
        let causes = status["details"]["causes"].as_array().expect("causes");
        assert!(causes.len() > 1_000, "{}", causes.len());
    }
    let grown = setup.memory().saturating_sub(before);
    assert!(grown < 200 * MIB, "{} MiB", grown / MIB);
}

/// Answers that nobody reads are counted with their consumer until the connection goes. They must be larger than what the
/// system takes of them.
#[tokio::test]
async fn answers_that_nobody_reads_are_the_consumers_own_trouble() {
    let setup = Setup::new(Reply::echo).await;
    // A label is quoted twice, and each of these characters as five.
    let body = object(CALM, &json!({"labels": {"a": "\u{7f}".repeat(3 * MIB / 2)}})).to_string();
    let mut unread = Vec::new();
    let mut refused = 0;
    while refused == 0 {
        assert!(unread.len() < 20, "several times the share is held");
        let mut stream = setup.dev.client("user").stream().await.expect("a connection");
        let path = path("flood", CALM);
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.expect("a request");
        // One that is refused before its body is read may be hung up on.
        let _ = timeout(PATIENCE, stream.write_all(body.as_bytes()))
            .await
            .expect("in time");
        let _ = stream.flush().await;
        let mut status = [0; 12];
        timeout(PATIENCE, stream.read_exact(&mut status))
            .await
            .expect("an answer in time")
            .expect("an answer");
        refused += usize::from(&status == b"HTTP/1.1 429");
        unread.push(stream);
    }
    assert!(unread.len() > 3, "{}", unread.len());
    setup.assert_others_are_served().await;
    // Room comes back with the connections.
    drop(unread);
    let admitted = async {
        loop {
            let create = request(
                Method::POST,
                &path("flood", CALM),
                &[("content-type", "application/json")],
                body.clone(),
            );
            let answer = setup.dev.client("user").send(create.expect("a request")).await;
            if answer.is_ok_and(|answer| answer.status == 422) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, admitted).await.expect("room again");
}
