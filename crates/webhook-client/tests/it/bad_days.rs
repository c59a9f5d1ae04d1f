use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ephemeral_testing::webhook::{End, Handshake, Http, Reply, Script, Webhook};
use ephemeral_webhook_client::{CallError, Failure, Phase};
use http::{StatusCode, header};
use tokio::io::AsyncReadExt as _;

use crate::support::{LONG, SHORT, Setup, ask, call, read_request, server, write};

fn assert_timed_out(outcome: Result<ephemeral_webhook_client::Answer, CallError>, phase: Phase, since: Instant) {
    let error = outcome.unwrap_err();
    assert!(
        matches!(error, CallError::TimedOut(found) if found == phase),
        "{error:?}"
    );
    assert_eq!(error.failure(), Failure::Unreachable);
    assert!(
        since.elapsed() < SHORT + Duration::from_secs(10),
        "{:?}",
        since.elapsed()
    );
}

#[tokio::test]
async fn a_webhook_that_hangs_or_drips_costs_its_own_call_the_deadline() {
    let setup = Setup::new();
    let drip = || Script::drip(vec![b' '; 1000], 1, Duration::from_millis(50));
    for http in [Http::One, Http::Two] {
        let webhook = Webhook::builder(setup.identity())
            .http(http)
            .start(|_| Reply::Hang)
            .await;
        let endpoint = setup.endpoint(&webhook.url("/"));
        let started = Instant::now();
        assert_timed_out(endpoint.call(call(SHORT)).await, Phase::Answer, started);

        let hang = || Script::new("{").end(End::Hang);
        webhook.set(move |_| Reply::script(StatusCode::OK, hang()));
        let started = Instant::now();
        assert_timed_out(endpoint.call(call(SHORT)).await, Phase::Body, started);

        webhook.set(move |_| Reply::script(StatusCode::OK, drip()));
        let started = Instant::now();
        assert_timed_out(endpoint.call(call(SHORT)).await, Phase::Body, started);

        webhook.set(|_| Reply::body(StatusCode::OK, "[]"));
        ask(&endpoint).await.unwrap();
    }
}

#[tokio::test]
async fn a_handshake_that_hangs_holds_up_no_other_call() {
    let setup = Setup::new();
    let webhook = Webhook::builder(setup.identity()).handshake(Handshake::Hang);
    let webhook = webhook.start(Reply::echo).await;
    let endpoint = setup.endpoint(&webhook.url("/"));
    let started = Instant::now();
    let (one, two) = tokio::join!(endpoint.call(call(2 * SHORT)), endpoint.call(call(2 * SHORT)));
    assert_timed_out(one, Phase::Tls, started);
    assert_timed_out(two, Phase::Tls, started);
    // Each had its own connection, so neither waited for the other.
    assert_eq!(webhook.connections(), 2);
}

#[tokio::test]
async fn a_closed_port_and_a_torn_handshake_are_unreachable() {
    let setup = Setup::new();
    let webhook = Webhook::builder(setup.identity()).handshake(Handshake::Close);
    let webhook = webhook.start(Reply::echo).await;
    let error = ask(&setup.endpoint(&webhook.url("/"))).await.unwrap_err();
    assert!(matches!(error, CallError::Tls(_)), "{error:?}");

    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let error = ask(&setup.endpoint(&format!("https://{port}/"))).await.unwrap_err();
    assert!(matches!(error, CallError::Connect(_)), "{error:?}");
}

#[tokio::test]
async fn a_call_that_was_read_and_not_answered_is_not_repeated() {
    let setup = Setup::new();
    for http in [Http::One, Http::Two] {
        let webhook = Webhook::builder(setup.identity()).http(http);
        let webhook = webhook.start(|_| Reply::body(StatusCode::OK, "[]")).await;
        let endpoint = setup.endpoint(&webhook.url("/"));
        // On a connection of its own, and on one that was used before.
        for before in [0, 3] {
            webhook.set(|_| Reply::body(StatusCode::OK, "[]"));
            for _ in 0..before {
                ask(&endpoint).await.unwrap();
            }
            webhook.set(|_| Reply::Close);
            let asked = webhook.recorded().len();
            let error = ask(&endpoint).await.unwrap_err();
            assert!(matches!(error, CallError::Broken(_)), "{error:?}");
            assert_eq!(error.failure(), Failure::Unreachable);
            assert_eq!(webhook.recorded().len(), asked + 1);
        }
        webhook.set(|_| Reply::script(StatusCode::OK, Script::new("{").end(End::Close)));
        let error = ask(&endpoint).await.unwrap_err();
        assert!(matches!(error, CallError::Broken(_)), "{error:?}");

        webhook.set(|_| Reply::body(StatusCode::OK, "[]"));
        ask(&endpoint).await.unwrap();
    }
}

#[tokio::test]
async fn endless_bodies_end_at_the_limit() {
    let setup = Setup::new();
    for http in [Http::One, Http::Two] {
        let webhook = Webhook::builder(setup.identity()).http(http);
        let webhook = webhook
            .start(|_| Reply::script(StatusCode::OK, Script::spaces(1 << 30)))
            .await;
        let error = ask(&setup.endpoint(&webhook.url("/"))).await.unwrap_err();
        assert!(matches!(error, CallError::TooLarge), "{error:?}");
    }
}

#[tokio::test]
async fn headers_beyond_the_limits_are_no_answer() {
    let setup = Setup::new();
    let huge = "x".repeat(100 * 1024);
    for http in [Http::One, Http::Two] {
        let huge = huge.clone();
        let webhook = Webhook::builder(setup.identity()).http(http);
        let webhook = webhook
            .start(move |_| Reply::body(StatusCode::OK, "[]").header(header::WARNING, &huge))
            .await;
        let error = ask(&setup.endpoint(&webhook.url("/"))).await.unwrap_err();
        assert_eq!(error.failure(), Failure::BadAnswer, "{error:?}");
    }
}

/// Writes the same text for as long as it is read, after a request.
async fn endless(setup: &Setup, first: &'static str, then: &'static str) -> CallError {
    let address = server(&setup.identity(), &["http/1.1"], move |mut stream, _| async move {
        if read_request(&mut stream).await && write(&mut stream, first).await {
            let then = then.repeat(50);
            while write(&mut stream, &then).await {}
        }
    })
    .await;
    ask(&setup.endpoint(&format!("https://{address}/"))).await.unwrap_err()
}

#[tokio::test]
async fn endless_heads_end_at_the_limit() {
    let setup = Setup::new();
    for (first, then) in [
        ("HTTP/1.1 200 OK\r\n", "A: b\r\n"),
        ("HTTP/1.1 200 OK\r\nA: ", "bbbbbbbbbbbbbbbb"),
        ("HTTP/1.1 200 ", "OOOOOOOOOOOOOOOO"),
        ("", "HTTP/1.1 100 Continue\r\n\r\n"),
        ("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "A: b\r\n"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;",
            "xxxxxxxxxxxxxxxx",
        ),
        ("not HTTP at all\r\n", "\r\n"),
    ] {
        let error = endless(&setup, first, then).await;
        assert_eq!(error.failure(), Failure::BadAnswer, "{first:?} {then:?}: {error:?}");
    }
}

#[tokio::test]
async fn what_is_not_http_is_no_answer() {
    let setup = Setup::new();
    for (text, expected) in [
        ("SSH-2.0-OpenSSH_9.9\r\n\r\n", Failure::BadAnswer),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n[]",
            Failure::BadAnswer,
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n[]", Failure::BadAnswer),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            Failure::BadAnswer,
        ),
        (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            Failure::BadAnswer,
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n[]", Failure::Unreachable),
        ("HTTP/1.1 200 OK\r\n", Failure::Unreachable),
    ] {
        let address = server(&setup.identity(), &["http/1.1"], move |mut stream, _| async move {
            read_request(&mut stream).await;
            write(&mut stream, text).await;
        })
        .await;
        let error = ask(&setup.endpoint(&format!("https://{address}/"))).await.unwrap_err();
        assert_eq!(error.failure(), expected, "{text:?}: {error:?}");
    }
}

#[tokio::test]
async fn a_flood_of_frames_ends_the_connection() {
    let setup = Setup::new();
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let address = server(&setup.identity(), &["h2"], move |stream, _| {
        let counted = Arc::clone(&counted);
        async move {
            let (mut read, mut write) = tokio::io::split(stream);
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                while let Ok(1..) = read.read(&mut buffer).await {}
            });
            // An empty SETTINGS frame, then PING frames without end.
            let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
            let ping = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8].repeat(1000);
            let flood = async {
                use tokio::io::AsyncWriteExt as _;
                write.write_all(&settings).await?;
                loop {
                    write.write_all(&ping).await?;
                    counted.fetch_add(ping.len(), Ordering::Relaxed);
                }
            };
            let _ended: std::io::Result<()> = flood.await;
        }
    })
    .await;
    let error = setup
        .endpoint(&format!("https://{address}/"))
        .call(call(LONG))
        .await
        .unwrap_err();
    assert!(matches!(error, CallError::TooLarge), "{error:?}");
    assert!(reads.load(Ordering::Relaxed) < 32 << 20, "the flood was not stopped");
}
