//! Who is calling, through the whole server: certificates that are not what they should be, headers that pretend, and
//! what one tenant gets to see of another.

use std::time::Duration;

use ephemeral_testing::client::{Answer, Client, Http, request};
use ephemeral_testing::pki::{Authority, Identity, Leaf, Validity};
use ephemeral_testing::webhook::{Recorded, Reply};
use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::Dev;
use crate::support::resources::{Provider, Resource};

const PATH: &str = "/clusters/consumer/apis/cases.example.org/v1/namespaces/demo/samples";
const ENDPOINT: &str = "/services/ephemeral/provider/cases.example.org/clusters";

/// A server whose CA is the test's own, and a webhook that echoes.
struct Setup {
    ca: Authority,
    provider: Provider,
    dev: Dev,
}

impl Setup {
    async fn new(answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Self {
        // Long enough for `dev` to keep it.
        let ca = Authority::valid("ca", Validity::For(Duration::from_hours(24 * 365)));
        let directory = tempfile::tempdir().expect("a temporary directory");
        let pki = directory.path().join("pki");
        std::fs::create_dir(&pki).expect("a directory");
        ca.identity().write(&pki, "ca");
        let provider = Provider::answering(answer).await;
        let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        provider.nominate("provider", &Resource::sample(anything));
        let manifests = provider.directory().to_str().expect("a path").to_owned();
        let dev = Dev::start_in(directory, &["--manifests", &manifests, "--no-sample-webhook"]).await;
        Self { ca, provider, dev }
    }

    /// A client with a certificate, on each protocol.
    fn clients(&self, identity: &Identity) -> [Client; 2] {
        [Http::One, Http::Two].map(|http| self.dev.anonymous().with_identity(identity).http(http))
    }

    /// Who the webhook was told that asked last.
    fn last_user(&self) -> Value {
        let recorded = self.provider.webhook.recorded();
        recorded.last().expect("a review").json()["request"]["userInfo"].clone()
    }
}

fn object() -> String {
    json!({"apiVersion": "cases.example.org/v1", "kind": "Sample"}).to_string()
}

async fn ask(client: &Client, headers: &[(&str, &str)]) -> Answer {
    let mut all = vec![("content-type", "application/json")];
    all.extend(headers);
    client.post(PATH, &all, object()).await.expect("an answer")
}

/// The answer is a Status with this code; the webhook heard nothing.
fn assert_refused(setup: &Setup, answer: &Answer, code: u16, about: &str) {
    assert_eq!(answer.status, code, "{about}: {}", answer.text());
    let body: Value = answer.json();
    assert_eq!(
        (&body["kind"], &body["code"]),
        (&json!("Status"), &json!(code)),
        "{about}: {body}"
    );
    assert_eq!(setup.provider.webhook.recorded().len(), 0, "{about}");
}

const ADA: [(&str, &str); 2] = [("x-remote-user", "ada"), ("x-remote-group", "system:authenticated")];

#[tokio::test]
async fn a_certificate_that_is_not_good_is_nobodys() {
    let setup = Setup::new(Reply::echo).await;
    let stranger = Authority::new("ca");
    let of = |ca: &Authority, leaf: Leaf| ca.issue(&leaf);
    let user = || Leaf::client("eve", &["developers"]);
    let shard = || Leaf::client("kcp-shard-0", &["system:masters"]);
    let front_proxy = || Leaf::client("kcp-front-proxy", &[]);
    let server = || Leaf {
        common_name: "kcp-shard-0".to_owned(),
        ..Leaf::server(&["localhost"])
    };
    let rows = [
        ("an expired user", of(&setup.ca, user().validity(Validity::Expired))),
        ("a user of tomorrow", of(&setup.ca, user().validity(Validity::NotYet))),
        ("an expired shard", of(&setup.ca, shard().validity(Validity::Expired))),
        ("a shard of tomorrow", of(&setup.ca, shard().validity(Validity::NotYet))),
        (
            "an expired front-proxy",
            of(&setup.ca, front_proxy().validity(Validity::Expired)),
        ),
        ("a user of another CA of the same name", of(&stranger, user())),
        ("a shard of another CA of the same name", of(&stranger, shard())),
        (
            "a front-proxy of another CA of the same name",
            of(&stranger, front_proxy()),
        ),
        (
            "a serving certificate with the name of a shard",
            of(&setup.ca, server()),
        ),
        (
            "a user without a name",
            of(&setup.ca, Leaf::client("", &["developers"])),
        ),
        ("the CA itself", setup.ca.identity()),
        (
            "the client certificate for webhooks",
            setup.dev.identity("webhook-client"),
        ),
    ];
    for (about, identity) in rows {
        for client in setup.clients(&identity) {
            assert_refused(&setup, &ask(&client, &ADA).await, 401, about);
            assert_refused(&setup, &ask(&client, &[]).await, 401, about);
        }
    }
    assert_refused(&setup, &ask(&setup.dev.anonymous(), &ADA).await, 401, "no certificate");
    for leaf in [user(), shard(), front_proxy()] {
        for client in setup.clients(&setup.ca.issue(&leaf)) {
            assert_eq!(ask(&client, &ADA).await.status, 201, "{leaf:?}, with nothing wrong");
        }
    }
}

#[tokio::test]
async fn a_certificate_is_good_for_its_own_role_alone() {
    let setup = Setup::new(Reply::echo).await;
    // Names match whole.
    let almost = [
        "kcp-shard-00",
        "KCP-SHARD-0",
        "kcp-shard-0 ",
        "kcp-shard-",
        "xkcp-front-proxy",
    ];
    for name in almost {
        let identity = setup
            .ca
            .client(name, &["system:masters", "system:kcp:logical-cluster-admin"]);
        for client in setup.clients(&identity) {
            let answer = ask(&client, &ADA).await;
            assert_eq!(answer.status, 201, "{name}: {}", answer.text());
            let told = setup.last_user();
            assert_eq!(told["username"], name, "a user of that name, whatever the headers say");
            assert!(!told.to_string().contains("system:"), "{told}");
            let hops = ask(&client, &[("x-kcp-virtual-resource-hops", "1")]).await;
            assert_eq!(hops.status, 403, "{name}: a shard that nobody listed");
        }
    }
    let setup = Setup::new(Reply::echo).await;
    let wildcard = format!("{ENDPOINT}/*/apis");
    let everywhere = format!("{ENDPOINT}/*/apis/cases.example.org/v1/namespaces/demo/samples");
    let [shard, front_proxy, user] = ["shard", "front-proxy", "user"].map(|name| setup.dev.identity(name));
    for (identity, bare, discovery) in [(&shard, 403, 200), (&front_proxy, 401, 401), (&user, 201, 403)] {
        for client in setup.clients(identity) {
            if bare != 201 {
                assert_refused(&setup, &ask(&client, &[]).await, bare, "without a caller");
            }
            assert_eq!(client.get(&wildcard).await.unwrap().status, discovery);
            let answer = client
                .post(&everywhere, &[("content-type", "application/json")], object())
                .await;
            assert!(matches!(answer.unwrap().status.as_u16(), 400 | 401 | 403));
            let named = request(Method::GET, &wildcard, &ADA, "").unwrap();
            let named = client.send(named).await.unwrap().status;
            assert_eq!(named, 403, "a caller, whoever brings it, may not ask for all clusters");
        }
    }
}

#[tokio::test]
async fn headers_that_pretend_are_read_as_nothing() {
    let setup = Setup::new(Reply::echo).await;
    let claims = [
        ("x-remote-user", "root"),
        ("X-Remote-Group", "system:masters"),
        ("x-remote-extra-authentication.kcp.io%2fscopes", "cluster:consumer"),
        ("x-remote-uid", "0"),
        ("impersonate-user", "root"),
        ("impersonate-group", "system:masters"),
        ("x-forwarded-user", "root"),
        ("authorization", "Bearer secret-token"),
    ];
    for client in setup.clients(&setup.dev.identity("user")) {
        assert_eq!(ask(&client, &claims).await.status, 201);
        assert_eq!(
            setup.last_user(),
            json!({"username": "developer", "groups": ["developers"]})
        );
    }
    let smuggled = [
        ("x-remote-user", "ada"),
        ("x_remote_group", "system:masters"),
        ("x-remote-user", "root"),
        ("x-remote-user ", "root"),
        ("impersonate-user", "root"),
        ("x-remote-groups", "system:masters"),
        ("x-remote-extra", "system:masters"),
    ];
    let legal: Vec<_> = smuggled.into_iter().filter(|(name, _)| !name.contains(' ')).collect();
    for client in setup.clients(&setup.dev.identity("shard")) {
        assert_eq!(ask(&client, &legal).await.status, 201);
        assert_eq!(setup.last_user(), json!({"username": "ada"}));
    }
    let heard = setup.provider.webhook.recorded();
    assert!(
        heard
            .iter()
            .all(|review| !format!("{:?}", review.headers).contains("secret-token"))
    );
}

/// What parsers of HTTP/1.1 disagree about (CVE-2018-1002105 and its kin lived on that): 400 and the end, or read as
/// nothing, and never a second request or another caller.
#[tokio::test]
async fn requests_that_two_parsers_may_read_in_two_ways_are_refused() {
    let setup = Setup::new(Reply::echo).await;
    let client = setup
        .dev
        .anonymous()
        .with_identity(&setup.dev.identity("shard"))
        .http(Http::One);
    let body = object();
    let length = body.len();
    let head = format!("POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
    let caller = "X-Remote-User: ada\r\n";
    let hidden = format!("GET {PATH} HTTP/1.1\r\nHost: x\r\nX-Remote-User: root\r\n\r\n");
    for (about, bytes) in [
        (
            "space before the colon",
            format!("{head}{caller}X-Remote-User : root\r\nContent-Length: {length}\r\n\r\n{body}"),
        ),
        (
            "a folded header",
            format!("{head}{caller}X-A: b\r\n X-Remote-User: root\r\nContent-Length: {length}\r\n\r\n{body}"),
        ),
        (
            "a NUL in a name",
            format!("{head}{caller}X-Remote-User\0: root\r\nContent-Length: {length}\r\n\r\n{body}"),
        ),
        (
            "a line end in a value",
            format!("{head}X-Remote-User: a\rX-Remote-User: root\r\nContent-Length: {length}\r\n\r\n{body}"),
        ),
        (
            "no host",
            format!("{head}{caller}Content-Length: {length}\r\n\r\n{body}").replace("Host: localhost\r\n", ""),
        ),
        (
            "two hosts",
            format!("{head}{caller}Host: other\r\nContent-Length: {length}\r\n\r\n{body}"),
        ),
        (
            "a host that is none",
            format!("{head}{caller}Content-Length: {length}\r\n\r\n{body}").replace("localhost", "a b/"),
        ),
        (
            "a coding twice",
            format!("{head}{caller}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ),
        (
            "two codings",
            format!("{head}{caller}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        ),
        (
            "two lengths",
            format!("{head}{caller}Content-Length: {length}\r\nContent-Length: 0\r\n\r\n{body}"),
        ),
        (
            "a signed length",
            format!("{head}{caller}Content-Length: +{length}\r\n\r\n{body}"),
        ),
        (
            "a list of lengths",
            format!("{head}{caller}Content-Length: {length}, 0\r\n\r\n{body}"),
        ),
        (
            "an unknown coding",
            format!("{head}{caller}Transfer-Encoding: gzip\r\n\r\n{hidden}"),
        ),
        (
            "chunked that is not last",
            format!("{head}{caller}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{hidden}"),
        ),
        (
            "chunked, misspelled",
            format!("{head}{caller}Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n{hidden}"),
        ),
    ] {
        let mut stream = client.stream().await.expect("a connection");
        stream.write_all(bytes.as_bytes()).await.expect("sent");
        let mut answer = Vec::new();
        let read = tokio::time::timeout(crate::support::PATIENCE, stream.read_to_end(&mut answer)).await;
        read.expect("an end").ok();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 4"), "{about}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{about}: one answer: {answer}");
        assert_eq!(setup.provider.webhook.recorded().len(), 0, "{about}");
    }
}

#[tokio::test]
async fn nothing_of_one_tenant_shows_to_another() {
    let setup = Setup::new(|recorded| {
        let review = recorded.json();
        let secret = review["request"]["object"]["spec"]["secret"].clone();
        match review["request"]["cluster"].as_str() {
            Some("tenant-0") => Reply::deny(recorded, &json!({"code": 404, "message": secret})),
            Some("tenant-1") => Reply::json(http::StatusCode::OK, &json!({"secret": secret})),
            Some("tenant-2") => Reply::json(http::StatusCode::BAD_GATEWAY, &json!({"secret": secret})),
            _ => Reply::echo(recorded),
        }
    })
    .await;
    let client = setup
        .dev
        .anonymous()
        .with_identity(&setup.dev.identity("shard"))
        .http(Http::Two);
    let mut connection = client.connect().await.expect("a connection");
    let mut all = Vec::new();
    for round in 0..40 {
        // One connection, as between a shard and the server, carries the requests of all tenants in turn.
        let tenant = round % 4;
        let secret = format!("secret-of-{tenant}");
        let (user, group) = (format!("user-{secret}"), format!("group-{secret}"));
        let headers = [
            ("content-type", "application/json"),
            ("x-remote-user", user.as_str()),
            ("x-remote-group", group.as_str()),
            ("x-remote-extra-k", secret.as_str()),
        ];
        let name = if round % 8 < 4 { "one" } else { "Not A Name" };
        let object = json!({"apiVersion": "cases.example.org/v1", "kind": "Sample", "metadata": {"name": name},
            "spec": {"secret": secret}});
        let path = format!("{ENDPOINT}/tenant-{tenant}/apis/cases.example.org/v1/namespaces/demo/samples");
        let request = request(Method::POST, &path, &headers, object.to_string()).unwrap();
        let answer = connection.send(request).await.expect("an answer");
        all.push((tenant, format!("{:?} {}", answer.headers, answer.text())));
    }
    for (tenant, answer) in &all {
        for other in (0..4).filter(|other| other != tenant) {
            assert!(!answer.contains(&format!("secret-of-{other}")), "{tenant}: {answer}");
        }
    }
    let readyz = setup
        .dev
        .anonymous()
        .get("/readyz?verbose")
        .await
        .expect("an answer")
        .text();
    let (_, log) = setup.dev.end("-TERM").await;
    for text in [readyz, log] {
        assert!(!text.contains("secret-of-"), "{text}");
    }
}
