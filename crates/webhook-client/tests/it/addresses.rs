use std::net::SocketAddr;
use std::sync::Arc;

use ephemeral_testing::webhook::{Reply, Webhook};
use ephemeral_webhook_client::{AddressPolicy, CallError, EndpointProblem, Failure, Options, Refusal};
use http::StatusCode;

use crate::support::{Names, Setup, ask, options};

fn named(names: Names) -> Setup {
    Setup::with(Options {
        resolver: Arc::new(names),
        ..options()
    })
}

async fn webhook(setup: &Setup) -> Webhook {
    Webhook::builder(setup.identity())
        .start(|_| Reply::body(StatusCode::OK, "[]"))
        .await
}

fn url(address: SocketAddr) -> String {
    format!("https://webhook.example.com:{}/", address.port())
}

/// The URLs whose hosts spell a forbidden address, and two that do not.
#[test]
fn a_literal_address_is_judged_when_nominated_however_it_is_spelled() {
    let setup = Setup::with(Options::default());
    for (host, passes) in [
        ("2130706433", false),
        ("0x7f000001", false),
        ("0177.0.0.1", false),
        ("127.1", false),
        ("0x7f.1", false),
        ("169.254.169.254.", false),
        ("2852039166", false),
        ("localhost", false),
        ("localhost.", false),
        ("LOCALHOST", false),
        ("a.b.localhost", false),
        ("0", false),
        ("0.0.0.0", false),
        ("0.1.2.3", false),
        ("100.64.0.1", false),
        ("198.18.0.1", false),
        ("192.0.0.192", false),
        ("10.0.0.1:443", false),
        ("255.255.255.255", false),
        ("①②⑦.0.0.1", false),
        ("127。0。0。1", false),
        ("[::1]", false),
        ("[::]", false),
        ("[::ffff:127.0.0.1]", false),
        ("[::ffff:7f00:1]:6443", false),
        ("[0:0:0:0:0:ffff:a9fe:a9fe]", false),
        ("[::ffff:10.1.2.3]", false),
        ("[fe80::1]", false),
        ("[fd00::1]", false),
        ("[ff02::1]", false),
        ("[fec0::1]", false),
        ("[2001:db8::1]", false),
        ("93.184.216.34:6443", false),
        ("webhook.example.com:6443", false),
        ("webhook.example.com:0", false),
        ("93.184.216.34", true),
        ("93.184.216.34:8443", true),
        ("[2606:4700:4700::1111]", true),
        ("webhook.example.com", true),
    ] {
        let judged = setup.judge(&format!("https://{host}/"), 1);
        match judged {
            Ok(_) => assert!(passes, "{host}"),
            Err(EndpointProblem::UrlRefused(_)) => assert!(!passes, "{host}"),
            Err(problem) => panic!("{host}: {problem:?}"),
        }
    }
}

#[test]
fn the_addresses_of_the_platform_are_refused_when_nominated() {
    let setup = Setup::with(Options {
        platform_hosts: ["93.184.216.34", "[2606::1]", "2606::2", "kcp.example.com"]
            .map(str::to_owned)
            .into(),
        ..Options::default()
    });
    for host in ["93.184.216.34", "[2606::1]", "[2606::2]"] {
        let problem = setup.judge(&format!("https://{host}/"), 1).unwrap_err();
        assert!(
            matches!(problem, EndpointProblem::UrlRefused(Refusal::Platform)),
            "{problem:?}"
        );
    }
}

#[tokio::test]
async fn every_resolved_address_is_judged_when_connecting() {
    for (addresses, refused) in [
        (["169.254.169.254"].as_slice(), "169.254.169.254"),
        (&["::ffff:169.254.169.254"], "::ffff:169.254.169.254"),
        (&["fd12::1"], "fd12::1"),
        (&["127.0.0.1", "10.0.0.1"], "10.0.0.1"),
        (&["10.0.0.1", "127.0.0.1"], "10.0.0.1"),
        (&["127.0.0.1", "64:ff9b::7f00:1"], "64:ff9b::7f00:1"),
    ] {
        let setup = named(Names::default().with("webhook.example.com", &[addresses]));
        let webhook = webhook(&setup).await;
        let error = ask(&setup.endpoint(&url(webhook.address()))).await.unwrap_err();
        assert!(
            matches!(error, CallError::AddressRefused { address, .. } if address.to_string() == refused),
            "{addresses:?}: {error:?}"
        );
        assert_eq!(error.failure(), Failure::Unreachable);
        assert_eq!(webhook.connections(), 0, "{addresses:?}");
    }
}

#[tokio::test]
async fn a_name_that_changes_between_check_and_connect_gains_nothing() {
    // Whoever resolved the name a second time would be sent to an address where nobody listens.
    let setup = named(Names::default().with("webhook.example.com", &[&["127.0.0.1"], &["127.0.0.9"]]));
    let webhook = webhook(&setup).await;
    ask(&setup.endpoint(&url(webhook.address()))).await.unwrap();
    assert_eq!(webhook.connections(), 1);
}

#[tokio::test]
async fn a_name_that_changes_is_judged_again_for_the_next_connection() {
    let setup = named(Names::default().with("webhook.example.com", &[&["127.0.0.1"], &["10.0.0.1"]]));
    let webhook = webhook(&setup).await;
    ask(&setup.endpoint(&url(webhook.address()))).await.unwrap();
    let error = ask(&setup.endpoint(&url(webhook.address()))).await.unwrap_err();
    assert!(matches!(error, CallError::AddressRefused { .. }), "{error:?}");
}

#[tokio::test]
async fn a_name_without_addresses_is_unreachable() {
    for names in [Names::default(), Names::default().with("webhook.example.com", &[&[]])] {
        let error = ask(&named(names).endpoint("https://webhook.example.com/"))
            .await
            .unwrap_err();
        assert!(matches!(error, CallError::Resolve(_)), "{error:?}");
        assert_eq!(error.failure(), Failure::Unreachable);
    }
}

#[tokio::test]
async fn an_address_that_refuses_connections_is_passed_over() {
    let setup = named(Names::default().with("webhook.example.com", &[&["127.0.0.9", "::1", "127.0.0.1"]]));
    let webhook = webhook(&setup).await;
    ask(&setup.endpoint(&url(webhook.address()))).await.unwrap();
}

#[tokio::test]
async fn localhost_is_whichever_loopback_address_is_allowed() {
    let setup = Setup::new();
    let webhook = webhook(&setup).await;
    let setup = Setup {
        client: Setup::with(Options {
            policy: AddressPolicy {
                allow: vec!["127.0.0.0/8".parse().unwrap()],
                extra_ports: vec![webhook.address().port()],
                ..AddressPolicy::default()
            },
            ..Options::default()
        })
        .client,
        ..setup
    };
    ask(&setup.endpoint(&webhook.url("/"))).await.unwrap();
}

#[tokio::test]
async fn the_servers_own_listeners_and_the_platforms_addresses_are_refused_by_name_too() {
    let setup = Setup::new();
    let webhook = webhook(&setup).await;
    let policy = AddressPolicy {
        extra_ports: vec![webhook.address().port()],
        ..AddressPolicy::default()
    };
    let loopback = vec!["127.0.0.1/32".parse().unwrap()];
    let names = || Arc::new(Names::default().with("webhook.example.com", &[&["127.0.0.1"]]));

    let listener = Setup::with(Options {
        policy: AddressPolicy {
            allow: loopback,
            own_listeners: vec![webhook.address()],
            ..policy.clone()
        },
        resolver: names(),
        ..Options::default()
    });
    let error = ask(&listener.endpoint(&url(webhook.address()))).await.unwrap_err();
    let refusal = |error| match error {
        CallError::AddressRefused { refusal, .. } => refusal,
        error => panic!("{error:?}"),
    };
    assert_eq!(refusal(error), Refusal::OwnListener);

    let names = Names::default()
        .with("kcp.example.com", &[&["93.184.216.34"]])
        .with("webhook.example.com", &[&["93.184.216.34"]]);
    let platform = Setup::with(Options {
        policy,
        platform_hosts: vec!["kcp.example.com".to_owned()],
        resolver: Arc::new(names),
        ..Options::default()
    });
    let error = ask(&platform.endpoint("https://webhook.example.com/"))
        .await
        .unwrap_err();
    assert_eq!(refusal(error), Refusal::Platform);
    assert_eq!(webhook.connections(), 0);
}
