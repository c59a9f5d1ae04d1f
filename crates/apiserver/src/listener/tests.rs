//! The whole listener over real TLS.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ephemeral_testing::client::{Answer, Client, Http, request};
use ephemeral_testing::pki::{Authority, Identity as Certificate, Leaf, Validity};
use http::{Method, Request, Response, StatusCode, Version};
use http_body_util::Full;
use hyper::body::Incoming;
use rustls::HandshakeKind;
use rustls::crypto::aws_lc_rs;
use rustls_pki_types::UnixTime;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::config::MAX_HEADER_BYTES;
use super::*;
use crate::certificates::{Watched, WatchedServerCertificate};
use crate::fault::Fault;
use crate::flow::{Flow, FlowConfig};
use crate::identity::{Identity, NamedCa, Trust, TrustConfig, caller};
use crate::tls::server_config;

/// Longer than anything here takes; what runs into it hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that says who asked.
struct Server {
    address: std::net::SocketAddr,
    ca: Authority,
    dir: TempDir,
    certificate: Arc<WatchedServerCertificate>,
    trust: Arc<Trust>,
    stats: Arc<Stats>,
    /// A request to `/slow` is answered for each permit.
    slow: Arc<Semaphore>,
    /// One permit for each request to `/slow` that has arrived.
    arrived: Arc<Semaphore>,
    shutdown: CancellationToken,
    ended: JoinHandle<()>,
}

async fn start(config: ListenerConfig) -> Server {
    let ca = Authority::new("ca");
    let dir = tempfile::tempdir().unwrap();
    let (cert, key) = ca.server(&["localhost"]).write(dir.path(), "server");
    let ca_file = ca.write(dir.path(), "ca");
    let provider = Arc::new(aws_lc_rs::default_provider());
    let certificate = Arc::new(WatchedServerCertificate::server(cert, key, Arc::clone(&provider)).unwrap());
    let trust = Arc::new(Trust::load(trust_config(ca_file)).unwrap());
    let (slow, arrived) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let service = service(Arc::clone(&trust), Arc::clone(&slow), Arc::clone(&arrived));

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let tls = server_config(Arc::clone(&certificate) as _, provider).unwrap();
    let (stats, shutdown) = (Arc::new(Stats::default()), CancellationToken::new());
    let serving = serve(
        listener,
        Arc::new(tls),
        Arc::new(service),
        config,
        Arc::clone(&stats),
        shutdown.clone(),
    );
    let ended = tokio::spawn(serving);
    Server {
        address,
        ca,
        dir,
        certificate,
        trust,
        stats,
        slow,
        arrived,
        shutdown,
        ended,
    }
}

fn trust_config(ca: PathBuf) -> TrustConfig {
    TrustConfig {
        shard: Some(NamedCa::new(ca.clone(), ["shard-0".to_owned()]).unwrap()),
        front_proxy: Some(NamedCa::new(ca.clone(), ["front-proxy".to_owned()]).unwrap()),
        user: Some(ca),
    }
}

fn service(trust: Arc<Trust>, slow: Arc<Semaphore>, arrived: Arc<Semaphore>) -> impl Service {
    let flow = Arc::new(Flow::new(FlowConfig::default()));
    move |request: Request<Incoming>, connection: Arc<Connection>| {
        let (trust, slow, arrived, flow) = (trust.clone(), slow.clone(), arrived.clone(), flow.clone());
        async move {
            let answer = match request.uri().path() {
                "/panic" => panic!("on request"),
                "/slow" => {
                    arrived.add_permits(1);
                    slow.acquire().await.unwrap().forget();
                    Ok("slow".to_owned())
                }
                "/body" => body(&flow, request).await,
                _ => who(&trust, &connection, &request),
            };
            answer.map_or_else(|fault| failed(&fault), |text| Response::new(Full::from(text)))
        }
    }
}

async fn body(flow: &Flow, request: Request<Incoming>) -> Result<String, Fault> {
    let reservation = flow.reserve(request.headers())?;
    let body = flow.read(reservation, request.into_body()).await?;
    Ok(body.bytes().len().to_string())
}

fn who(trust: &Trust, connection: &Connection, request: &Request<Incoming>) -> Result<String, Fault> {
    let peer = connection.peer(trust, UnixTime::now());
    Ok(match caller(trust, &peer, request.headers())? {
        Identity::ShardItself(name) => format!("{name} itself"),
        Identity::Caller(caller) => format!("{} in {} groups", caller.user.username, caller.user.groups.len()),
    })
}

fn failed(fault: &Fault) -> Response<Full<Bytes>> {
    let status = fault.status();
    let response = Response::builder()
        .status(status.code)
        .header("content-type", "application/json");
    response.body(Full::from(status.to_json())).unwrap()
}

impl Server {
    fn anonymous(&self) -> Client {
        Client::new(self.address, &self.ca)
    }

    fn client(&self, leaf: &Leaf) -> Client {
        self.with(&self.ca.issue(leaf))
    }

    fn with(&self, certificate: &Certificate) -> Client {
        Client::with_certificate(self.address, &self.ca, certificate)
    }

    fn shard(&self) -> Client {
        self.client(&Leaf::client("shard-0", &["system:masters"]))
    }

    async fn until_arrived(&self, count: u32) {
        timeout(PATIENCE, self.arrived.acquire_many(count))
            .await
            .expect("the requests arrive")
            .unwrap()
            .forget();
    }

    async fn until_ended(self) {
        timeout(PATIENCE, self.ended).await.expect("the server ends").unwrap();
    }
}

async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let until = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, until).await.unwrap_or_else(|_| panic!("{what}"));
}

#[track_caller]
fn assert_status(answer: &Answer, code: u16) {
    let status: serde_json::Value = answer.json();
    assert_eq!(
        (answer.status.as_u16(), &status["kind"], &status["code"]),
        (code, &"Status".into(), &code.into())
    );
}

fn get(path: &str, headers: &[(&str, &str)]) -> Request<Bytes> {
    request(Method::GET, path, headers, Bytes::new()).unwrap()
}

#[tokio::test]
async fn each_kind_of_connection_is_itself_on_both_protocols() {
    let server = start(ListenerConfig::default()).await;
    let remote = [
        ("x-remote-user", "ada"),
        ("x-remote-group", "a"),
        ("x-remote-group", "b"),
    ];
    let user = Leaf::client("bea", &["system:masters", "team"]);
    let other = Authority::new("ca").client("shard-0", &[]);
    for (http, version) in [(Http::One, Version::HTTP_11), (Http::Two, Version::HTTP_2)] {
        let rows = [
            (server.shard(), &remote[..], Ok("ada in 2 groups")),
            (server.shard(), &[], Ok("shard-0 itself")),
            (
                server.client(&Leaf::client("front-proxy", &[])),
                &remote,
                Ok("ada in 2 groups"),
            ),
            (server.client(&Leaf::client("front-proxy", &[])), &[], Err(401)),
            (server.client(&user), &remote, Ok("bea in 1 groups")),
            (server.anonymous(), &remote, Err(401)),
            (
                server.client(&user.clone().validity(Validity::Expired)),
                &remote,
                Err(401),
            ),
            (
                server.client(&Leaf::client("shard-0", &[]).validity(Validity::NotYet)),
                &remote,
                Err(401),
            ),
            (server.with(&other), &remote, Err(401)),
        ];
        for (index, (client, headers, expected)) in rows.into_iter().enumerate() {
            let answer = client.http(http).send(get("/", headers)).await.unwrap();
            assert_eq!(answer.version, version);
            match expected {
                Ok(text) => assert_eq!(answer.text(), text, "row {index}"),
                Err(code) => assert_status(&answer, code),
            }
        }
    }
}

/// A resumed session brings the certificate of the first one, and a rotated CA counts for it too.
#[tokio::test]
async fn a_resumed_session_is_judged_anew() {
    let server = start(ListenerConfig::default()).await;
    let client = server.shard();
    let ask = async || {
        let mut stream = client.stream().await.unwrap();
        stream
            .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .await
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        (stream.get_ref().1.handshake_kind().unwrap(), answer)
    };
    let (kind, answer) = ask().await;
    assert!(
        kind == HandshakeKind::Full && answer.ends_with("shard-0 itself"),
        "{kind:?} {answer}"
    );
    let (kind, answer) = ask().await;
    assert!(
        kind == HandshakeKind::Resumed && answer.ends_with("shard-0 itself"),
        "{kind:?} {answer}"
    );
    Authority::new("next").write(server.dir.path(), "ca");
    server.trust.bundles().for_each(Watched::reload);
    let (kind, answer) = ask().await;
    assert!(
        kind == HandshakeKind::Resumed && answer.starts_with("HTTP/1.1 401 "),
        "{kind:?} {answer}"
    );
}

#[tokio::test]
async fn a_rotation_takes_effect_on_open_connections_and_disturbs_none() {
    let server = start(ListenerConfig::default()).await;
    let mut open = server.shard().http(Http::Two).connect().await.unwrap();
    assert_eq!(open.send(get("/", &[])).await.unwrap().text(), "shard-0 itself");

    let next = Authority::new("next");
    next.server(&["localhost"]).write(server.dir.path(), "server");
    server.certificate.reload();
    assert_eq!(open.send(get("/", &[])).await.unwrap().text(), "shard-0 itself");
    assert!(
        server.shard().get("/").await.is_err(),
        "the old CA verifies the new certificate"
    );
    let new = Client::with_certificate(server.address, &next, &server.ca.client("shard-0", &[]));
    assert_eq!(new.get("/").await.unwrap().text(), "shard-0 itself");

    next.write(server.dir.path(), "ca");
    server.trust.bundles().for_each(Watched::reload);
    assert_status(&open.send(get("/", &[])).await.unwrap(), 401);
}

#[tokio::test]
async fn header_lists_up_to_one_mebibyte_are_read() {
    let server = start(ListenerConfig::default()).await;
    let group = "g".repeat(1100);
    let of_groups = |count: usize, group: &'static str| {
        let mut headers = vec![("x-remote-user", "ada")];
        headers.extend(std::iter::repeat_n(("x-remote-group", group), count));
        headers
    };
    let group: &'static str = group.leak();
    for http in [Http::One, Http::Two] {
        let client = server.shard().http(http);
        let answer = client.send(get("/", &of_groups(900, group))).await.unwrap();
        assert_eq!(answer.text(), "ada in 900 groups", "{http:?}");
        let answer = client
            .send(get("/", &of_groups(15_000, "team-of-a-name-that-is-longer")))
            .await
            .unwrap();
        assert_eq!(answer.text(), "ada in 15000 groups", "{http:?}");
        let answer = client.send(get("/", &of_groups(1000, group))).await.unwrap();
        assert_status(&answer, 431);
        let one = "x".repeat(MAX_HEADER_BYTES + 1);
        assert_status(&client.send(get("/", &[("x-long", &one)])).await.unwrap(), 431);
    }
}

/// Requests that hyper answers without asking anybody.
#[tokio::test]
async fn what_is_no_http_is_answered_with_a_status() {
    let server = start(ListenerConfig::default()).await;
    let long = "x".repeat(70_000);
    let many = format!("x: {long}\r\n").repeat(40);
    for (sent, code) in [
        ("\u{1}\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\nbroken header\r\n\r\n".to_owned(), 400),
        (format!("GET /{long} HTTP/1.1\r\nhost: a\r\n\r\n"), 414),
        (format!("GET / HTTP/1.1\r\n{many}\r\n"), 431),
    ] {
        let mut stream = server.anonymous().http(Http::One).stream().await.unwrap();
        // The peer may hang up before it has read everything.
        _ = stream.write_all(sent.as_bytes()).await;
        let mut answer = Vec::new();
        _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with(&format!("HTTP/1.1 {code} ")), "{head}");
        assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(
            (&body["kind"], &body["code"]),
            (&"Status".into(), &code.into()),
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_panic_is_one_answer() {
    let server = start(ListenerConfig::default()).await;
    for http in [Http::One, Http::Two] {
        let mut connection = server.shard().http(http).connect().await.unwrap();
        assert_status(&connection.send(get("/panic", &[])).await.unwrap(), 500);
        assert_eq!(connection.send(get("/", &[])).await.unwrap().text(), "shard-0 itself");
    }
    assert_eq!(server.stats.panics(), 2);
}

#[tokio::test]
async fn head_is_answered_without_a_body() {
    let server = start(ListenerConfig::default()).await;
    for http in [Http::One, Http::Two] {
        let head = request(Method::HEAD, "/", &[], Bytes::new()).unwrap();
        let answer = server.anonymous().http(http).send(head).await.unwrap();
        assert_eq!(
            (answer.status, answer.text()),
            (StatusCode::UNAUTHORIZED, String::new()),
            "{http:?}"
        );
    }
}

#[tokio::test]
async fn a_slow_handshake_holds_up_nobody_and_ends() {
    let config = ListenerConfig {
        handshake_timeout: Duration::from_millis(500),
        ..ListenerConfig::default()
    };
    let server = start(config).await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(TcpStream::connect(server.address).await.unwrap());
    }
    assert_eq!(server.shard().get("/").await.unwrap().status, StatusCode::OK);
    for mut stream in silent {
        assert_eq!(
            timeout(PATIENCE, stream.read(&mut [0]))
                .await
                .expect("it is closed")
                .unwrap(),
            0
        );
    }
    assert_eq!(server.stats.refused(Refusal::HandshakeTimeout), 20);
    TcpStream::connect(server.address)
        .await
        .unwrap()
        .write_all(b"GET / HTTP/1.1\r\n\r\n")
        .await
        .unwrap();
    eventually("a failed handshake is counted", || {
        server.stats.refused(Refusal::Handshake) == 1
    })
    .await;
}

#[tokio::test]
async fn slow_headers_and_idle_connections_end() {
    let config = ListenerConfig {
        header_timeout: Duration::from_millis(300),
        idle_timeout: Duration::from_millis(300),
        ..ListenerConfig::default()
    };
    let server = start(config).await;
    for begin in [&b"GET / HTTP/1.1\r\nx-slow: "[..], b""] {
        let mut stream = server.anonymous().stream().await.unwrap();
        stream.write_all(begin).await.unwrap();
        let mut rest = Vec::new();
        _ = timeout(PATIENCE, stream.read_to_end(&mut rest))
            .await
            .expect("it is closed");
    }
    let mut idle = server.anonymous().http(Http::Two).connect().await.unwrap();
    assert_eq!(idle.send(get("/", &[])).await.unwrap().status, StatusCode::UNAUTHORIZED);
    eventually("the idle connection is closed", || server.stats.open() == 0).await;
    assert!(idle.send(get("/", &[])).await.is_err());
}

#[tokio::test]
async fn connections_are_capped_for_each_peer() {
    let config = ListenerConfig {
        max_connections_per_peer: 2,
        ..ListenerConfig::default()
    };
    let server = start(config).await;
    let _one = server.anonymous().connect().await.unwrap();
    let two = server.anonymous().connect().await.unwrap();
    assert!(server.anonymous().connect().await.is_err());
    assert_eq!(server.stats.refused(Refusal::MaxConnectionsPerPeer), 1);
    drop(two);
    eventually("a place comes back", || server.stats.open() < 2).await;
    assert!(server.anonymous().get("/").await.is_ok());
}

/// The answer comes before the body was read: it must not be lost in a reset.
#[tokio::test]
async fn an_early_answer_reaches_a_client_that_is_still_sending() {
    let server = start(ListenerConfig::default()).await;
    for _ in 0..5 {
        let mut stream = server.shard().stream().await.unwrap();
        let head = "POST /body HTTP/1.1\r\nhost: localhost\r\ncontent-length: 6000000\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        let chunk = vec![b'x'; 60_000];
        // A client that cannot write reports that, and never gets to the answer.
        for _ in 0..100 {
            stream.write_all(&chunk).await.expect("the server still reads");
        }
        let mut answer = vec![0; 12];
        timeout(PATIENCE, stream.read_exact(&mut answer))
            .await
            .expect("an answer")
            .expect("an answer");
        assert_eq!(String::from_utf8_lossy(&answer), "HTTP/1.1 413");
    }
    for (http, size) in [(Http::One, 3 << 20), (Http::Two, 3 << 20)] {
        let answer = server
            .shard()
            .http(http)
            .post("/body", &[], vec![b'x'; size])
            .await
            .unwrap();
        assert_eq!(answer.text(), size.to_string(), "{http:?}");
    }
}

#[tokio::test]
async fn a_drain_answers_what_is_under_way() {
    let server = start(ListenerConfig::default()).await;
    let asking = [Http::One, Http::Two].map(|http| {
        let client = server.shard().http(http);
        tokio::spawn(async move { client.get("/slow").await.unwrap().text() })
    });
    server.until_arrived(2).await;
    let mut idle = server.shard().http(Http::Two).connect().await.unwrap();
    assert_eq!(idle.send(get("/", &[])).await.unwrap().status, StatusCode::OK);

    server.shutdown.cancel();
    eventually("the idle connection is closed", || server.stats.open() == 2).await;
    assert!(
        TcpStream::connect(server.address).await.is_err(),
        "nobody is accepted any more"
    );
    server.slow.add_permits(2);
    for answer in asking {
        assert_eq!(timeout(PATIENCE, answer).await.expect("an answer").unwrap(), "slow");
    }
    server.until_ended().await;
}

#[tokio::test]
async fn a_drain_does_not_wait_for_those_who_ask_nothing() {
    let config = ListenerConfig {
        goodbye: Duration::from_millis(200),
        handshake_timeout: Duration::from_hours(1),
        header_timeout: Duration::from_hours(1),
        idle_timeout: Duration::from_hours(1),
        drain_timeout: Duration::from_hours(1),
        ..ListenerConfig::default()
    };
    let server = start(config).await;
    let _no_handshake = TcpStream::connect(server.address).await.unwrap();
    let mut half_asked = server.shard().http(Http::One).stream().await.unwrap();
    half_asked.write_all(b"GET / HTTP/1.1\r\nHost:").await.unwrap();
    let mut mute = server.shard().http(Http::Two).stream().await.unwrap();
    // It never acknowledges anything, so that its end of the goodbye does not come.
    mute.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .await
        .unwrap();
    eventually("all are open", || server.stats.open() == 3).await;
    server.shutdown.cancel();
    server.until_ended().await;
}

#[tokio::test]
async fn a_drain_ends_at_its_deadline() {
    let config = ListenerConfig {
        drain_timeout: Duration::from_millis(200),
        ..ListenerConfig::default()
    };
    let server = start(config).await;
    let client = server.shard();
    let asking = tokio::spawn(async move { client.get("/slow").await });
    server.until_arrived(1).await;
    server.shutdown.cancel();
    server.until_ended().await;
    assert!(asking.await.unwrap().is_err());
}

#[tokio::test]
async fn a_caller_that_is_gone_ends_its_request() {
    let server = start(ListenerConfig::default()).await;
    for http in [Http::One, Http::Two] {
        let client = server.shard().http(http);
        let asking = tokio::spawn(async move { client.get("/slow").await });
        server.until_arrived(1).await;
        asking.abort();
    }
    eventually("nothing is open", || server.stats.open() == 0).await;
    server.slow.add_permits(1);
    assert_eq!(server.slow.available_permits(), 1, "nobody takes it");
}

/// CVE-2023-44487: streams that are opened and reset at once end the connection, and nothing else.
#[tokio::test]
async fn rapid_resets_end_their_own_connection() {
    // HEADERS, END_STREAM and END_HEADERS, on a stream to be filled in: GET https://localhost/.
    const HEADERS: [u8; 23] = *b"\0\0\x0e\x01\x05\0\0\0\0\x82\x87\x84\x41\x09localhost";
    let server = start(ListenerConfig::default()).await;
    let mut stream = server.shard().http(Http::Two).stream().await.unwrap();
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .await
        .unwrap();
    let flood = async {
        for id in (1_u32..2_000_000).step_by(2) {
            let mut frames = HEADERS.to_vec();
            frames[5..9].copy_from_slice(&id.to_be_bytes());
            frames.extend_from_slice(b"\0\0\x04\x03\0");
            frames.extend_from_slice(&id.to_be_bytes());
            frames.extend_from_slice(&8_u32.to_be_bytes());
            if stream.write_all(&frames).await.is_err() {
                return;
            }
        }
        panic!("a million resets were taken");
    };
    timeout(PATIENCE, flood).await.expect("the connection is closed");
    assert_eq!(server.shard().get("/").await.unwrap().status, StatusCode::OK);
}
