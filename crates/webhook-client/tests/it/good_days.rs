use ephemeral_testing::webhook::{Http, Reply, Script, Webhook};
use ephemeral_webhook_client::{CallError, Failure, MAX_ANSWER, Protocol};
use http::{Method, StatusCode, Version, header};

use crate::support::{LONG, Setup, ask, call};

#[tokio::test]
async fn a_call_is_a_post_of_json_over_the_protocol_that_the_webhook_prefers() {
    let setup = Setup::new();
    for (http, protocol, version) in [
        (Http::One, Protocol::Http1, Version::HTTP_11),
        (Http::Two, Protocol::Http2, Version::HTTP_2),
        (Http::Both, Protocol::Http2, Version::HTTP_2),
    ] {
        let webhook = Webhook::builder(setup.identity()).http(http);
        let webhook = webhook.start(|_| Reply::body(StatusCode::OK, "[1]")).await;
        let endpoint = setup.endpoint(&webhook.url("/a/b?c=d"));
        let mut call = call(LONG);
        call.body = "{\"a\":1}".into();
        call.traceparent = Some("00-11-22-01".parse().unwrap());
        let answer = endpoint.call(call).await.unwrap();
        assert_eq!((&answer.body[..], answer.protocol), (b"[1]".as_slice(), protocol));
        assert!(answer.connected.is_some());

        let [request] = webhook.recorded().try_into().unwrap();
        assert_eq!((request.method, request.version), (Method::POST, version));
        assert_eq!(request.uri.path_and_query().unwrap(), "/a/b?c=d");
        assert_eq!(&request.body[..], b"{\"a\":1}");
        for (name, value) in [
            (header::CONTENT_TYPE, "application/json"),
            (header::ACCEPT, "application/json"),
            (header::USER_AGENT, concat!("kcp-ephemeral/", env!("CARGO_PKG_VERSION"))),
            (header::CONTENT_LENGTH, "7"),
            (header::HeaderName::from_static("traceparent"), "00-11-22-01"),
        ] {
            assert_eq!(request.headers[&name], value);
        }
        assert_eq!(request.headers.get(header::ACCEPT_ENCODING), None);
        let authority = format!("localhost:{}", webhook.address().port());
        let host = request
            .headers
            .get(header::HOST)
            .map(|host| host.to_str().unwrap().to_owned());
        assert_eq!(
            host.or_else(|| request.uri.authority().map(ToString::to_string)),
            Some(authority)
        );
    }
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let setup = Setup::new();
    for http in [Http::One, Http::Two] {
        let webhook = Webhook::builder(setup.identity()).http(http);
        let webhook = webhook.start(|_| Reply::body(StatusCode::OK, "[]")).await;
        let endpoint = setup.endpoint(&webhook.url("/"));
        assert!(ask(&endpoint).await.unwrap().connected.is_some());
        for _ in 0..20 {
            assert!(ask(&endpoint).await.unwrap().connected.is_none());
        }
        assert_eq!((webhook.connections(), webhook.recorded().len()), (1, 21));
    }
}

#[tokio::test]
async fn many_calls_at_once_share_a_connection_over_http2_and_have_their_own_over_http1() {
    let setup = Setup::new();
    for (http, most) in [(Http::Two, 1), (Http::One, 20)] {
        let webhook = Webhook::builder(setup.identity()).http(http);
        let webhook = webhook.start(|_| Reply::body(StatusCode::OK, "[]")).await;
        let endpoint = setup.limited(&webhook.url("/"), 100);
        for _ in 0..3 {
            let answers = futures::future::join_all((0..20).map(|_| ask(&endpoint))).await;
            assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        }
        assert!(webhook.connections() <= most, "{}", webhook.connections());
        assert_eq!(webhook.recorded().len(), 60);
    }
}

#[tokio::test]
async fn large_requests_and_answers_pass_up_to_the_limit() {
    let setup = Setup::new();
    for http in [Http::One, Http::Two] {
        let webhook = Webhook::builder(setup.identity()).http(http);
        let webhook = webhook
            .start(|_| Reply::script(StatusCode::OK, Script::spaces(MAX_ANSWER)))
            .await;
        let endpoint = setup.endpoint(&webhook.url("/"));
        for _ in 0..3 {
            let mut call = call(LONG);
            call.body = vec![b' '; MAX_ANSWER].into();
            assert_eq!(endpoint.call(call).await.unwrap().body.len(), MAX_ANSWER);
        }
        assert_eq!(webhook.connections(), 1);

        webhook.set(|_| Reply::script(StatusCode::OK, Script::spaces(MAX_ANSWER + 1)));
        let error = ask(&endpoint).await.unwrap_err();
        assert!(matches!(error, CallError::TooLarge), "{error:?}");
        assert_eq!(error.failure(), Failure::BadAnswer);

        let announced = (MAX_ANSWER + 1).to_string();
        webhook.set(move |_| {
            let end = ephemeral_testing::webhook::End::Hang;
            Reply::script(StatusCode::OK, Script::new("").end(end)).header(header::CONTENT_LENGTH, &announced)
        });
        let error = ask(&endpoint).await.unwrap_err();
        assert!(matches!(error, CallError::TooLarge), "{error:?}");
    }
}

#[tokio::test]
async fn only_200_is_an_answer_and_no_redirect_is_followed() {
    let setup = Setup::new();
    for http in [Http::One, Http::Two] {
        let webhook = Webhook::builder(setup.identity()).http(http).start(Reply::echo).await;
        let elsewhere = Webhook::builder(setup.identity()).start(Reply::echo).await;
        let endpoint = setup.endpoint(&webhook.url("/"));
        for status in [201, 204, 301, 302, 303, 307, 308, 401, 403, 404, 409, 500, 503] {
            let location = elsewhere.url("/");
            webhook.set(move |_| {
                Reply::body(StatusCode::from_u16(status).unwrap(), "").header(header::LOCATION, &location)
            });
            let error = ask(&endpoint).await.unwrap_err();
            assert!(
                matches!(error, CallError::Status(found) if found == status),
                "{error:?}"
            );
            assert_eq!(error.failure(), Failure::BadAnswer);
        }
        assert_eq!((webhook.recorded().len(), elsewhere.connections()), (13, 0));
    }
}
