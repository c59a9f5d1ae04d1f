use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use ephemeral_testing::webhook::{Http, Reply, Webhook};
use ephemeral_webhook_client::{Call, CallError, Phase};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use crate::support::{LONG, OK, SHORT, Setup, ask, call, read_request, server, write};

#[tokio::test]
async fn an_idle_close_is_no_error_and_asks_nothing_twice() {
    let setup = Setup::new();
    let (closed, mut is_closed) = mpsc::unbounded_channel();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let address = server(&setup.identity(), &["http/1.1"], move |mut stream, connection| {
        let (closed, counted) = (closed.clone(), Arc::clone(&counted));
        async move {
            if read_request(&mut stream).await {
                counted.fetch_add(1, Ordering::SeqCst);
                write(&mut stream, OK).await;
            }
            // With a proper goodbye, without one, and with words that nobody asked for.
            match connection % 3 {
                0 => stream.shutdown().await.unwrap(),
                1 => {}
                _ => assert!(write(&mut stream, "HTTP/1.1 408 Request Timeout\r\n\r\n").await),
            }
            drop(stream);
            closed.send(()).unwrap();
        }
    })
    .await;
    let endpoint = setup.endpoint(&format!("https://{address}/"));
    for _ in 0..30 {
        assert!(ask(&endpoint).await.unwrap().connected.is_some());
        is_closed.recv().await.unwrap();
    }
    assert_eq!(asked.load(Ordering::SeqCst), 30);
}

#[tokio::test]
async fn an_idle_close_is_seen_before_the_runtime_hears_of_it() {
    let setup = Setup::new();
    let identity = setup.identity();
    let (started, address) = std::sync::mpsc::channel();
    let (closed, is_closed) = std::sync::mpsc::channel();
    let close = Arc::new(Notify::new());
    let may_close = Arc::clone(&close);
    // In a thread of its own, so that it goes on while this one is blocked.
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let answer_and_close = move |mut stream, _| {
                let (closed, may_close) = (closed.clone(), Arc::clone(&may_close));
                async move {
                    read_request(&mut stream).await;
                    write(&mut stream, OK).await;
                    may_close.notified().await;
                    drop(stream);
                    closed.send(()).unwrap();
                }
            };
            started
                .send(server(&identity, &["http/1.1"], answer_and_close).await)
                .unwrap();
            std::future::pending::<()>().await;
        });
    });
    let endpoint = setup.endpoint(&format!("https://{}/", address.recv().unwrap()));
    for _ in 0..10 {
        ask(&endpoint).await.unwrap();
        give_way().await;
        // From here to the next call nothing else runs in this thread.
        close.notify_one();
        is_closed.recv().unwrap();
    }
}

#[tokio::test]
async fn a_connection_is_not_used_beyond_what_the_webhook_promised() {
    let setup = Setup::new();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    let address = server(&setup.identity(), &["http/1.1"], move |mut stream, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            let promise = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: timeout=1\r\n\r\n[]";
            while read_request(&mut stream).await && write(&mut stream, promise).await {}
        }
    })
    .await;
    let endpoint = setup.endpoint(&format!("https://{address}/"));
    for _ in 0..3 {
        ask(&endpoint).await.unwrap();
    }
    assert_eq!(connections.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn an_answer_that_comes_before_the_request_was_read_does_not_block_the_next_call() {
    let setup = Setup::new();
    let address = server(&setup.identity(), &["http/1.1"], |mut stream, connection| async move {
        let _head = stream.read_u8().await;
        write(&mut stream, OK).await;
        if connection == 0 {
            // The rest of the request is never read.
            std::future::pending::<()>().await;
        }
        let mut sink = vec![0; 1 << 20];
        while let Ok(1..) = stream.read(&mut sink).await {}
    })
    .await;
    let endpoint = setup.endpoint(&format!("https://{address}/"));
    let large = Call {
        body: vec![b' '; 64 << 20].into(),
        ..call(LONG)
    };
    endpoint.call(large).await.unwrap();
    let answer = ask(&endpoint).await.unwrap();
    assert!(answer.connected.is_some());
}

/// An HTTP/2 server that says goodbye on its first connection when told, and allows so many streams at a time.
async fn http2(setup: &Setup, goodbye: Arc<Notify>, counted: Arc<AtomicUsize>, streams: u32) -> String {
    let address = server(&setup.identity(), &["h2"], move |stream, connection| {
        let (goodbye, counted) = (Arc::clone(&goodbye), Arc::clone(&counted));
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            let service = service_fn(|request: Request<Incoming>| async move {
                if request.uri().path() == "/slow" {
                    tokio::time::sleep(SHORT).await;
                }
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"[]"))))
            });
            let serving = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                .max_concurrent_streams(streams)
                .serve_connection(TokioIo::new(stream), service);
            tokio::pin!(serving);
            if connection == 0 {
                tokio::select! {
                    _ = &mut serving => return,
                    () = goodbye.notified() => serving.as_mut().graceful_shutdown(),
                }
            }
            let _ = serving.await;
            goodbye.notify_one();
        }
    })
    .await;
    format!("https://{address}")
}

#[tokio::test]
async fn goodbye_over_http2_is_no_error() {
    let setup = Setup::new();
    let (goodbye, connections) = (Arc::new(Notify::new()), Arc::default());
    let url = http2(&setup, Arc::clone(&goodbye), Arc::clone(&connections), 10).await;
    let endpoint = setup.endpoint(&url);
    ask(&endpoint).await.unwrap();
    ask(&endpoint).await.unwrap();
    assert_eq!(connections.load(Ordering::SeqCst), 1);
    goodbye.notify_one();
    // Sent while GOAWAY is anywhere between the two.
    for _ in 0..5 {
        ask(&endpoint).await.unwrap();
    }
    assert_eq!(connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn goodbye_over_http2_lets_calls_finish_and_sends_new_ones_elsewhere() {
    let setup = Setup::new();
    let (goodbye, connections) = (Arc::new(Notify::new()), Arc::default());
    let url = http2(&setup, Arc::clone(&goodbye), Arc::clone(&connections), 10).await;
    let endpoint = setup.endpoint(&format!("{url}/slow"));
    ask(&endpoint).await.unwrap();
    let new = async {
        // Time for the first call to be sent, and for the goodbye to come. No call may fail in any order of these.
        give_way().await;
        goodbye.notify_one();
        give_way().await;
        ask(&endpoint).await
    };
    let (old, new) = tokio::join!(ask(&endpoint), new);
    assert!(old.unwrap().connected.is_none());
    assert!(new.unwrap().connected.is_some());
    assert_eq!(connections.load(Ordering::SeqCst), 2);
}

async fn give_way() {
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_call_beyond_the_webhooks_streams_has_a_connection_of_its_own() {
    let setup = Setup::new();
    let connections = Arc::default();
    let url = http2(&setup, Arc::default(), Arc::clone(&connections), 1).await;
    let endpoint = setup.endpoint(&format!("{url}/slow"));
    for _ in 0..2 {
        let answers = tokio::join!(ask(&endpoint), ask(&endpoint), ask(&endpoint));
        assert!(
            answers.0.is_ok() && answers.1.is_ok() && answers.2.is_ok(),
            "{answers:?}"
        );
        assert_eq!(connections.load(Ordering::SeqCst), 3);
    }
}

#[tokio::test]
async fn a_connection_that_went_silent_costs_one_deadline() {
    let setup = Setup::new();
    let webhook = Webhook::builder(setup.identity()).http(Http::Two);
    let webhook = webhook.start(|_| Reply::body(StatusCode::OK, "[]")).await;
    // A relay that, when told, swallows what either side says on its first connection.
    let black_hole = Arc::new(Notify::new());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let relay = listener.local_addr().unwrap();
    let (target, swallow) = (webhook.address(), Arc::clone(&black_hole));
    tokio::spawn(async move {
        for number in 0.. {
            let (mut near, _) = listener.accept().await.unwrap();
            let swallow = Arc::clone(&swallow);
            tokio::spawn(async move {
                let mut far = tokio::net::TcpStream::connect(target).await.unwrap();
                let swallowing = async {
                    if number > 0 {
                        std::future::pending::<()>().await;
                    }
                    swallow.notified().await;
                };
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut near, &mut far) => return,
                    () = swallowing => {}
                }
                // Both stay open and nothing passes.
                std::future::pending::<()>().await;
            });
        }
    });
    let endpoint = setup.endpoint(&format!("https://localhost:{}/", relay.port()));
    ask(&endpoint).await.unwrap();
    black_hole.notify_one();
    tokio::task::yield_now().await;
    let error = endpoint.call(call(Duration::from_secs(2))).await.unwrap_err();
    assert!(matches!(error, CallError::TimedOut(Phase::Answer)), "{error:?}");
    assert!(ask(&endpoint).await.unwrap().connected.is_some());
}

/// A server that tells when a connection has ended. `/slow` takes a while.
async fn telling(setup: &Setup, protocol: &str) -> (String, mpsc::UnboundedReceiver<()>) {
    let (ended, is_ended) = mpsc::unbounded_channel();
    let address = server(&setup.identity(), &[protocol], move |stream, _| {
        let ended = ended.clone();
        async move {
            let service = service_fn(|request: Request<Incoming>| async move {
                if request.uri().path() == "/slow" {
                    tokio::time::sleep(SHORT).await;
                }
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"[]"))))
            });
            let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            ended.send(()).unwrap();
        }
    })
    .await;
    (format!("https://{address}"), is_ended)
}

#[tokio::test]
async fn a_dropped_endpoint_closes_what_is_idle_and_lets_calls_finish() {
    let setup = Setup::new();
    for protocol in ["http/1.1", "h2"] {
        let (url, mut is_ended) = telling(&setup, protocol).await;
        let endpoint = setup.endpoint(&url);
        ask(&endpoint).await.unwrap();
        drop(endpoint);
        timeout(LONG, is_ended.recv())
            .await
            .expect("the idle connection is closed");

        let endpoint = Arc::new(setup.endpoint(&format!("{url}/slow")));
        let call = tokio::spawn({
            let endpoint = Arc::clone(&endpoint);
            async move { ask(&endpoint).await }
        });
        drop(endpoint);
        call.await.unwrap().unwrap();
        timeout(LONG, is_ended.recv())
            .await
            .expect("the connection ends with its call");
    }
}

#[tokio::test]
async fn an_idle_connection_is_closed_in_time_though_nobody_calls() {
    let setup = Setup::new();
    for protocol in ["http/1.1", "h2"] {
        let (url, mut is_ended) = telling(&setup, protocol).await;
        let endpoint = setup.endpoint(&url);
        ask(&endpoint).await.unwrap();
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(20)).await;
        tokio::time::resume();
        assert!(ask(&endpoint).await.unwrap().connected.is_none());
        tokio::time::pause();
        for _ in 0..8 {
            tokio::time::advance(Duration::from_secs(5)).await;
        }
        tokio::time::resume();
        timeout(LONG, is_ended.recv()).await.expect("it is closed");
    }
}
