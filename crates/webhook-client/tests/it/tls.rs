use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ephemeral_testing::pki::{Authority, Identity, Leaf, Validity};
use ephemeral_testing::webhook::{ClientAuth, Http, Reply, Webhook};
use ephemeral_webhook_client::{CallError, ClientIdentity, EndpointSpec, Failure, Options};
use http::StatusCode;
use rustls::HandshakeKind::{Full, Resumed};

use crate::support::{Names, OK, Setup, ask, options, read_request, server, write};

fn client_identity(identity: &Identity) -> ClientIdentity {
    ClientIdentity::from_pem(identity.cert_pem.as_bytes(), identity.key_pem.as_bytes()).unwrap()
}

#[tokio::test]
async fn a_certificate_that_does_not_verify_is_a_tls_failure() {
    let setup = Setup::new();
    let leaf = Leaf::server(&["localhost"]);
    let mut client_only = leaf.clone();
    client_only.usages = Leaf::client("", &[]).usages;
    for (case, identity) in [
        ("wrong CA", Authority::new("webhooks").server(&["localhost"])),
        ("expired", setup.ca.issue(&leaf.clone().validity(Validity::Expired))),
        (
            "not yet valid",
            setup.ca.issue(&leaf.clone().validity(Validity::NotYet)),
        ),
        ("wrong host", setup.ca.server(&["localhost.example.com", "127.0.0.1"])),
        ("no name", setup.ca.server(&[])),
        ("wrong purpose", setup.ca.issue(&client_only)),
    ] {
        let webhook = Webhook::builder(identity).start(Reply::echo).await;
        let error = ask(&setup.endpoint(&webhook.url("/"))).await.unwrap_err();
        assert!(matches!(error, CallError::Tls(_)), "{case}: {error:?}");
        assert_eq!(error.failure(), Failure::Unreachable);
        assert!(webhook.recorded().is_empty(), "{case}");
    }
}

#[tokio::test]
async fn a_url_with_an_address_is_verified_by_the_addresses_of_the_certificate() {
    let setup = Setup::new();
    for (names, passes) in [(["127.0.0.1"], true), (["127.0.0.2"], false), (["localhost"], false)] {
        let webhook = Webhook::builder(setup.ca.server(&names));
        let webhook = webhook.start(|_| Reply::body(StatusCode::OK, "[]")).await;
        let endpoint = setup.endpoint(&format!("https://{}/", webhook.address()));
        assert_eq!(ask(&endpoint).await.is_ok(), passes, "{names:?}");
    }
}

#[tokio::test]
async fn a_chain_is_followed_and_a_self_signed_certificate_may_be_its_own_bundle() {
    let setup = Setup::new();
    let intermediate = setup.ca.intermediate("below");
    let webhook = Webhook::builder(intermediate.server(&["localhost"]));
    let webhook = webhook.start(|_| Reply::body(StatusCode::OK, "[]")).await;
    ask(&setup.endpoint(&webhook.url("/"))).await.unwrap();

    // What `openssl req -x509` makes: a CA, by what it says of itself.
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    let cert_pem = params.self_signed(&key).unwrap().pem();
    let key_pem = key.serialize_pem();
    let ca_bundle = STANDARD.encode(&cert_pem);
    let webhook = Webhook::builder(Identity { cert_pem, key_pem });
    let webhook = webhook.start(|_| Reply::body(StatusCode::OK, "[]")).await;
    let spec = EndpointSpec {
        cluster: "provider",
        url: &webhook.url("/"),
        ca_bundle: Some(&ca_bundle),
        max_in_flight: NonZeroU32::MIN,
    };
    ask(&setup.client.endpoint(&spec, SystemTime::now()).unwrap())
        .await
        .unwrap();
}

#[tokio::test]
async fn the_systems_trust_store_does_not_know_a_private_authority() {
    let setup = Setup::new();
    let webhook = Webhook::builder(setup.identity()).start(Reply::echo).await;
    let spec = EndpointSpec {
        cluster: "provider",
        url: &webhook.url("/"),
        ca_bundle: None,
        max_in_flight: NonZeroU32::MIN,
    };
    let endpoint = setup.client.endpoint(&spec, SystemTime::now()).unwrap();
    assert!(matches!(ask(&endpoint).await, Err(CallError::Tls(_))));
}

#[tokio::test]
async fn the_client_certificate_is_shown_to_those_who_ask_and_it_is_noted_who_does() {
    let clients = Authority::new("clients");
    let identity = clients.client("kcp-ephemeral", &[]);
    let setup = Setup::with(Options {
        identity: Some(client_identity(&identity)),
        ..options()
    });
    for http in [Http::One, Http::Two] {
        for (client_auth, asks) in [
            (ClientAuth::None, false),
            (ClientAuth::Optional(&clients), true),
            (ClientAuth::Required(&clients), true),
        ] {
            let webhook = Webhook::builder(setup.identity()).http(http).client_auth(client_auth);
            let webhook = webhook.start(|_| Reply::body(StatusCode::OK, "[]")).await;
            let endpoint = setup.endpoint(&webhook.url("/"));
            for _ in 0..2 {
                assert_eq!(ask(&endpoint).await.unwrap().client_certificate_requested, asks);
            }
            let shown = if asks { identity.chain() } else { Vec::new() };
            assert!(webhook.recorded().iter().all(|request| request.certificates == shown));
        }
    }
}

#[tokio::test]
async fn a_certificate_under_an_authority_that_the_webhook_did_not_name_is_shown_too() {
    let setup = Setup::with(Options {
        identity: Some(client_identity(&Authority::new("others").client("kcp-ephemeral", &[]))),
        ..options()
    });
    let named = Authority::new("named");
    let webhook = Webhook::builder(setup.identity()).client_auth(ClientAuth::Optional(&named));
    let webhook = webhook.start(Reply::echo).await;
    // Shown, it is refused; kept back, it would have been an anonymous call.
    assert!(ask(&setup.endpoint(&webhook.url("/"))).await.is_err());
    assert!(webhook.recorded().is_empty());
}

#[tokio::test]
async fn a_webhook_that_insists_refuses_those_without_a_certificate() {
    let setup = Setup::new();
    let clients = Authority::new("clients");
    let webhook = Webhook::builder(setup.identity()).client_auth(ClientAuth::Required(&clients));
    let webhook = webhook.start(Reply::echo).await;
    let error = ask(&setup.endpoint(&webhook.url("/"))).await.unwrap_err();
    assert_eq!(error.failure(), Failure::Unreachable, "{error:?}");
    assert!(webhook.recorded().is_empty());
}

#[tokio::test]
async fn a_new_identity_is_shown_on_new_connections_at_once() {
    let clients = Authority::new("clients");
    let (old, new) = (clients.client("old", &[]), clients.client("new", &[]));
    for http in [Http::One, Http::Two] {
        let setup = Setup::with(Options {
            identity: Some(client_identity(&old)),
            ..options()
        });
        let webhook = Webhook::builder(setup.identity()).http(http);
        let webhook = webhook.client_auth(ClientAuth::Required(&clients));
        let webhook = webhook.start(|_| Reply::body(StatusCode::OK, "[]")).await;
        let endpoint = setup.endpoint(&webhook.url("/"));
        ask(&endpoint).await.unwrap();
        assert!(!setup.client.replace_identity(client_identity(&old)));
        ask(&endpoint).await.unwrap();
        assert_eq!(webhook.connections(), 1);

        assert!(setup.client.replace_identity(client_identity(&new)));
        for _ in 0..2 {
            ask(&endpoint).await.unwrap();
        }
        assert_eq!(webhook.connections(), 2);
        let shown: Vec<_> = webhook
            .recorded()
            .into_iter()
            .map(|request| request.certificates)
            .collect();
        assert_eq!(shown, [old.chain(), old.chain(), new.chain(), new.chain()]);
    }
}

#[tokio::test]
async fn tls_sessions_are_resumed_and_remember_who_asked() {
    let setup = Setup::new();
    let (kinds, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let kinds = Arc::new(kinds);
    let address = server(&setup.identity(), &["http/1.1"], move |mut stream, _| {
        let kinds = Arc::clone(&kinds);
        async move {
            kinds.send(stream.get_ref().1.handshake_kind().unwrap()).unwrap();
            if read_request(&mut stream).await {
                write(
                    &mut stream,
                    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]",
                )
                .await;
            }
        }
    })
    .await;
    let endpoint = setup.endpoint(&format!("https://{address}/"));
    for _ in 0..3 {
        assert!(!ask(&endpoint).await.unwrap().client_certificate_requested);
    }
    let kinds: Vec<_> = std::iter::from_fn(|| seen.try_recv().ok()).collect();
    assert!(matches!(kinds[..], [Full, Resumed, Resumed]), "{kinds:?}");
}

#[tokio::test]
async fn the_trailing_dot_of_a_name_is_not_part_of_what_is_verified() {
    let names = Names::default().with("webhook.example.com", &[&["127.0.0.1"]]);
    let setup = Setup::with(Options {
        resolver: Arc::new(names),
        ..options()
    });
    let address = server(&setup.identity(), &["http/1.1"], |mut stream, _| async move {
        assert_eq!(stream.get_ref().1.server_name(), Some("webhook.example.com"));
        read_request(&mut stream).await;
        write(&mut stream, OK).await;
    })
    .await;
    for host in ["webhook.example.com", "webhook.example.com.", "WEBHOOK.example.com."] {
        ask(&setup.endpoint(&format!("https://{host}:{}/", address.port())))
            .await
            .unwrap();
    }
}
