//! The server of the SDK: certificates that change, connections that stall, and the end.

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ephemeral_testing::client::{Client, Connection, Http, request};
use ephemeral_testing::pki::Authority;
use ephemeral_webhook::{Answer, Denied, Limits, Review, Server, ServerError, TlsError, TlsFiles, Webhook};
use http::StatusCode;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::timeout;

use support::{Provider, VERSIONS, export, review};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

async fn one(_: Review<Value>) -> Result<Answer<u32>, Denied> {
    Ok(Answer::new(1))
}

async fn send(connection: &mut Connection) -> anyhow::Result<StatusCode> {
    let headers = [("content-type", "application/json")];
    let request = request(
        http::Method::POST,
        "/ephemeral",
        &headers,
        review(VERSIONS[0], "abc").to_string(),
    )?;
    Ok(connection.send(request).await?.status)
}

/// Repeats `attempt` until it is true.
async fn eventually<F: Future<Output = bool>>(attempt: impl Fn() -> F) {
    let started = Instant::now();
    while !attempt().await {
        assert!(started.elapsed() < PATIENCE, "it never happened");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn is_answered(client: &Client) -> bool {
    let answer = client
        .post_json("/ephemeral", review(VERSIONS[0], "abc").to_string())
        .await;
    answer.is_ok_and(|answer| answer.status == StatusCode::OK)
}

#[tokio::test]
async fn a_changed_client_authority_holds_without_a_restart_and_on_open_connections() {
    let provider = Provider::start(Webhook::new([export()], one)).await;
    let old = provider.client();
    let mut open = old.clone().http(Http::Two).connect().await.unwrap();
    assert_eq!(send(&mut open).await.unwrap(), StatusCode::OK);

    let next = Authority::new("next");
    let new = Client::with_certificate(provider.address, &provider.servers, &next.client("kcp", &[]));
    assert!(!is_answered(&new).await);
    next.write(provider.files.path(), "client-ca");
    eventually(|| is_answered(&new)).await;
    assert!(!is_answered(&old).await);
    // The connection from before is told to go, and is not another way in.
    assert!(send(&mut open).await.is_err());
}

#[tokio::test]
async fn a_changed_serving_certificate_is_served_and_a_broken_one_is_not() {
    let provider = Provider::start(Webhook::new([export()], one)).await;
    let kcp = provider.clients.client("kcp", &[]);
    let next = Authority::new("next");
    let trusting = |authority: &Authority| Client::with_certificate(provider.address, authority, &kcp);

    // A certificate without its key is not taken, nor is half a file.
    let identity = next.server(&["localhost"]);
    std::fs::write(provider.files.path().join("tls.crt"), &identity.cert_pem).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(is_answered(&trusting(&provider.servers)).await);
    std::fs::write(provider.files.path().join("tls.key"), &identity.key_pem[..60]).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(is_answered(&trusting(&provider.servers)).await);

    std::fs::write(provider.files.path().join("tls.key"), &identity.key_pem).unwrap();
    let client = trusting(&next);
    eventually(|| is_answered(&client)).await;
}

#[tokio::test]
async fn files_that_cannot_be_used_are_an_error_at_the_start() {
    let files = TempDir::new().unwrap();
    let ca = Authority::new("ca");
    let (cert, key) = ca.server(&["localhost"]).write(files.path(), "tls");
    let (_, other_key) = ca.server(&["localhost"]).write(files.path(), "other");
    let ca = ca.write(files.path(), "ca");
    let empty = files.path().join("empty");
    std::fs::write(&empty, "no PEM").unwrap();
    let start = |tls: TlsFiles| async {
        match Server::builder(tls).bind("127.0.0.1:0").await {
            Ok(_) => panic!("it started"),
            Err(ServerError::Tls(error)) => error,
            Err(other) => panic!("{other}"),
        }
    };
    let missing = start(TlsFiles::new(&cert, files.path().join("none")).client_ca(&ca)).await;
    assert!(matches!(missing, TlsError::Read { .. }), "{missing}");
    assert!(missing.to_string().ends_with("none"), "{missing}");
    let no_pem = start(TlsFiles::new(&cert, &key).client_ca(&empty)).await;
    assert!(matches!(no_pem, TlsError::Pem { .. }), "{no_pem}");
    let no_key = start(TlsFiles::new(&cert, &cert).client_ca(&ca)).await;
    assert!(matches!(no_key, TlsError::Pem { .. }), "{no_key}");
    let unfit = start(TlsFiles::new(&cert, &other_key).client_ca(&ca)).await;
    assert!(matches!(unfit, TlsError::Certificate(_)), "{unfit}");
    let nobody = start(TlsFiles::new(&cert, &key)).await;
    assert!(matches!(nobody, TlsError::NoAuthority(_)), "{nobody}");
}

/// A webhook that says when it is asked and answers when it is told.
fn waiting() -> (Webhook, Arc<Notify>, Arc<Notify>) {
    let (asked, told) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (is_asked, is_told) = (Arc::clone(&asked), Arc::clone(&told));
    let answer = move |_: Review<Value>| {
        let (asked, told) = (Arc::clone(&is_asked), Arc::clone(&is_told));
        async move {
            asked.notify_one();
            told.notified().await;
            Ok::<_, Denied>(Answer::new(1))
        }
    };
    (Webhook::new([export()], answer), asked, told)
}

#[tokio::test]
async fn requests_in_flight_finish_when_the_server_stops() {
    for http in [Http::One, Http::Two] {
        let (webhook, asked, told) = waiting();
        let mut provider = Provider::start(webhook).await;
        let mut connection = provider.client().http(http).connect().await.unwrap();
        let mut sending = tokio::spawn(async move { (send(&mut connection).await, connection) });
        asked.notified().await;
        provider.stop();
        let address = provider.address;
        eventually(|| async move { TcpStream::connect(address).await.is_err() }).await;
        assert!(
            timeout(Duration::from_millis(50), &mut sending).await.is_err(),
            "it waits for the answer"
        );
        told.notify_one();
        let (status, _connection) = sending.await.unwrap();
        assert_eq!(status.unwrap(), StatusCode::OK);
        // The client's connection is still open on its side; the server does not wait for it.
        timeout(PATIENCE, provider.stopped()).await.unwrap();
    }
}

#[tokio::test]
async fn requests_that_do_not_finish_are_ended() {
    let (webhook, asked, _told) = waiting();
    let mut limits = Limits::default();
    limits.stop_timeout = Duration::from_millis(50);
    let provider = Provider::start_with(webhook, limits).await;
    let mut connection = provider.client().connect().await.unwrap();
    let sending = tokio::spawn(async move { send(&mut connection).await });
    asked.notified().await;
    timeout(PATIENCE, provider.stopped()).await.unwrap();
    assert!(timeout(PATIENCE, sending).await.unwrap().unwrap().is_err());
}

#[tokio::test]
async fn stalled_connections_are_closed_and_hold_nobody_up() {
    let mut limits = Limits::default();
    (limits.handshake_timeout, limits.idle_timeout) = (Duration::from_millis(300), Duration::from_millis(300));
    let provider = Provider::start_with(Webhook::new([export()], one), limits).await;

    let mut silent = TcpStream::connect(provider.address).await.unwrap();
    let mut in_a_header = provider.client().stream().await.unwrap();
    in_a_header
        .write_all(b"POST /ephemeral HTTP/1.1\r\nHost: localhost\r\nX-")
        .await
        .unwrap();
    let anonymous = Client::new(provider.address, &provider.servers).http(Http::Two);
    let mut idle = anonymous.connect().await.unwrap();
    assert!(is_answered(&provider.client()).await);

    let mut rest = Vec::new();
    timeout(PATIENCE, silent.read_to_end(&mut rest)).await.unwrap().unwrap();
    assert!(rest.is_empty());
    // Closed with or without a word, but closed.
    drop(timeout(PATIENCE, in_a_header.read_to_end(&mut rest)).await.unwrap());
    timeout(PATIENCE, async { while send(&mut idle).await.is_ok() {} })
        .await
        .unwrap();
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_a_place() {
    let mut limits = Limits::default();
    limits.max_connections = 1;
    let provider = Provider::start_with(Webhook::new([export()], one), limits).await;
    let first = provider.client().connect().await.unwrap();
    let client = provider.client();
    let mut second = tokio::spawn(async move { is_answered(&client).await });
    assert!(timeout(Duration::from_millis(100), &mut second).await.is_err());
    drop(first);
    assert!(timeout(PATIENCE, second).await.unwrap().unwrap());
}

#[tokio::test]
async fn a_header_beyond_the_limit_is_refused() {
    let provider = Provider::start(Webhook::new([export()], one)).await;
    let value = "x".repeat(100 * 1024);
    for http in [Http::One, Http::Two] {
        let client = provider.client().http(http);
        let headers = [("content-type", "application/json"), ("x-long", value.as_str())];
        let answer = client
            .post("/ephemeral", &headers, review(VERSIONS[0], "abc").to_string())
            .await;
        assert!(answer.is_err() || answer.unwrap().status == StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
        assert!(is_answered(&client).await);
    }
}
