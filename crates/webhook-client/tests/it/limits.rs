use std::sync::Arc;
use std::time::Duration;

use ephemeral_testing::webhook::{End, Http, Recorded, Reply, Script, Webhook};
use ephemeral_webhook_client::{Call, CallError, Failure, Full, Options};
use http::StatusCode;

use crate::support::{LONG, SHORT, Setup, ask, call, options};

fn from(consumer: &str) -> Call {
    Call {
        consumer: consumer.into(),
        ..call(LONG)
    }
}

/// Hangs where it is asked to, and answers everything else.
async fn hanging_on_demand(setup: &Setup, http: Http) -> Webhook {
    let webhook = Webhook::builder(setup.identity()).http(http);
    let answer = |request: &Recorded| match &request.body[..] {
        b"hang" => Reply::Hang,
        _ => Reply::body(StatusCode::OK, "[]"),
    };
    webhook.start(answer).await
}

#[tokio::test]
async fn one_consumer_holds_a_quarter_and_the_others_are_served() {
    let setup = Setup::new();
    for http in [Http::One, Http::Two] {
        let webhook = hanging_on_demand(&setup, http).await;
        let endpoint = Arc::new(setup.limited(&webhook.url("/"), 20));
        let mut flood = tokio::task::JoinSet::new();
        let mut refused = 0;
        for _ in 0..500 {
            let endpoint = Arc::clone(&endpoint);
            let call = Call {
                body: "hang".into(),
                ..from("flood")
            };
            flood.spawn(async move { endpoint.call(call).await });
        }
        while refused < 495 {
            let outcome = flood.join_next().await.unwrap().unwrap().unwrap_err();
            assert!(matches!(outcome, CallError::Full(Full::Share)), "{outcome:?}");
            assert_eq!(outcome.failure(), Failure::Full);
            refused += 1;
        }
        for _ in 0..50 {
            endpoint.call(from("calm")).await.unwrap();
        }
        drop(flood);
    }
}

#[tokio::test]
async fn a_cancelled_call_frees_its_place_and_the_webhook_sees_it_go() {
    let setup = Setup::new();
    for http in [Http::One, Http::Two] {
        let webhook = hanging_on_demand(&setup, http).await;
        let endpoint = setup.limited(&webhook.url("/"), 1);
        for _ in 0..3 {
            let hang = Call {
                body: "hang".into(),
                ..call(LONG)
            };
            let cancelled = tokio::time::timeout(SHORT, endpoint.call(hang)).await;
            assert!(cancelled.is_err());
            ask(&endpoint).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_deadline_that_has_passed_is_a_timeout() {
    let setup = Setup::new();
    let webhook = Webhook::builder(setup.identity()).start(Reply::echo).await;
    let error = setup
        .endpoint(&webhook.url("/"))
        .call(call(Duration::ZERO))
        .await
        .unwrap_err();
    assert!(matches!(error, CallError::TimedOut(_)), "{error:?}");
}

#[tokio::test]
async fn idle_connections_are_bounded_for_all_webhooks_together() {
    for http in [Http::One, Http::Two] {
        let setup = Setup::with(Options {
            max_idle_connections: 1,
            ..options()
        });
        let mut webhooks = Vec::new();
        for _ in 0..2 {
            let webhook = Webhook::builder(setup.identity()).http(http);
            let webhook = webhook.start(|_| Reply::body(StatusCode::OK, "[]")).await;
            webhooks.push((setup.endpoint(&webhook.url("/")), webhook));
        }
        for (endpoint, _) in &webhooks {
            for _ in 0..3 {
                ask(endpoint).await.unwrap();
            }
        }
        let connections: Vec<_> = webhooks.iter().map(|(_, webhook)| webhook.connections()).collect();
        assert_eq!(connections, [1, 3]);
        // The place goes with the endpoint that held it.
        let (_, second) = (webhooks.remove(0), &webhooks[0]);
        for _ in 0..3 {
            ask(&second.0).await.unwrap();
        }
        assert_eq!(second.1.connections(), 4);
    }
}

/// Answers that never end fill the share of their provider's logical cluster, and leave room for others.
#[tokio::test]
async fn answers_are_counted_as_they_arrive_and_one_provider_gets_a_quarter() {
    const MOST: usize = 16 << 20;
    for http in [Http::One, Http::Two] {
        let setup = Setup::with(Options {
            max_answer_bytes: MOST,
            ..options()
        });
        let hostile = Webhook::builder(setup.identity()).http(http);
        let hostile = hostile.start(|_| Reply::script(StatusCode::OK, Script::spaces(1 << 20).end(End::Hang)));
        let hostile = hostile.await;
        let calm = Webhook::builder(setup.identity()).http(http);
        let calm = calm
            .start(|_| Reply::script(StatusCode::OK, Script::spaces(1 << 20)))
            .await;
        let others = setup.of("other", &calm.url("/"));
        // Two nominations of one provider have one share.
        let endpoints = [0, 1].map(|_| Arc::new(setup.endpoint(&hostile.url("/"))));
        let mut calls = tokio::task::JoinSet::new();
        for number in 0..20 {
            let endpoint = Arc::clone(&endpoints[number % 2]);
            let asked = from(&number.to_string());
            calls.spawn(async move { endpoint.call(asked).await });
        }
        for _ in 0..16 {
            let refused = calls.join_next().await.unwrap().unwrap().unwrap_err();
            assert!(matches!(refused, CallError::NoRoom(_)), "{refused:?}");
            assert_eq!((refused.failure(), refused.kind()), (Failure::Local, "no_room"));
        }
        assert!(
            setup.client.answer_bytes() <= MOST / 4,
            "{}",
            setup.client.answer_bytes()
        );
        let mut answers = Vec::new();
        for _ in 0..4 {
            answers.push(others.call(call(LONG)).await.unwrap());
        }
        assert!(setup.client.answer_bytes() >= 4 << 20);
        drop((calls, answers));
        let free = async {
            while setup.client.answer_bytes() > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(LONG, free)
            .await
            .expect("what nobody holds is free");
    }
}
