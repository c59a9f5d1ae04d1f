//! Where a webhook may be: what providers write into a URL, through the whole server.

use std::fs;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ephemeral_testing::client::Answer;
use ephemeral_testing::webhook::Reply;
use http::StatusCode;
use serde_json::{Value, json};

use crate::support::resources::{Provider, Resource};
use crate::support::{Dev, root, until};

/// A machine on which `dev` lets no webhook be on loopback, as `serve` does everywhere.
const STRICT: [&str; 4] = ["--webhook-deny-cidr", "127.0.0.0/8", "--webhook-deny-cidr", "::1/128"];

/// One server and a resource for each URL.
struct Urls {
    dev: Dev,
    provider: Provider,
}

impl Urls {
    async fn nominated<'a>(urls: impl IntoIterator<Item = &'a str>, flags: &[&str]) -> Self {
        let provider = Provider::echoing().await;
        for (index, url) in urls.into_iter().enumerate() {
            let spec = json!({"url": url, "timeoutSeconds": 1});
            provider.nominate_with("provider", &resource(index), &spec);
        }
        let manifests = provider.directory().to_str().expect("a path").to_owned();
        let mut arguments = vec!["--manifests", &manifests, "--no-sample-webhook"];
        arguments.extend(flags);
        let dev = Dev::start(&arguments).await;
        Self { dev, provider }
    }

    async fn ask(&self, index: usize) -> Answer {
        let group = group(index);
        let object = json!({"apiVersion": format!("{group}/v1"), "kind": "Sample"});
        let path = format!("/clusters/any/apis/{group}/v1/namespaces/demo/samples");
        let client = self.dev.client("user");
        client.post_json(&path, object.to_string()).await.expect("an answer")
    }

    async fn problems(&self) -> String {
        let answer = self.dev.anonymous().get("/readyz?verbose").await.expect("an answer");
        answer.text()
    }
}

fn group(index: usize) -> String {
    format!("u{index}.example.org")
}

fn resource(index: usize) -> Resource {
    let mut resource = Resource::sample(json!({"type": "object"}));
    resource.group = group(index);
    resource
}

/// The columns of a case's table, without its heading.
fn table(case: &str) -> Vec<(String, bool)> {
    let path = root().join("tests/cases").join(case).join("urls.tsv");
    let text = fs::read_to_string(path).expect("a table");
    let rows = text.lines().skip(1).filter_map(|line| line.split_once('\t'));
    rows.map(|(url, verdict)| (url.to_owned(), verdict == "deny")).collect()
}

/// Whether the operator is told that the URL of a nomination is refused.
fn tells_refused(text: &str, index: usize) -> bool {
    let name = format!("samples.{}", group(index));
    text.lines()
        .any(|line| line.contains(&name) && line.contains("URLRefused"))
}

#[tokio::test]
async fn every_spelling_of_a_forbidden_address_is_refused_and_reads_like_a_webhook_that_is_away() {
    let mut rows = table("ssrf-ipv4-spellings");
    rows.extend(table("ssrf-mapped-ipv6"));
    // Kin of the recorded ones.
    let more = [
        "https://0x7f.0.0.0x1/",
        "https://017700000001/",
        "https://0xA9FEA9FE/",
        "https://0xa9.254.0251.0376/",
        "https://169.254.43518/",
        "https://１２７.０.０.１/",
        "https://127.0.0.1。/",
        "https://%31%32%37.0.0.1/",
        "https://168.63.129.16/",
        "https://100.100.100.200/",
        "https://224.0.0.1/",
        "https://192.88.99.1/",
        "https://[::127.0.0.1]/",
        "https://[::ffff:0:169.254.169.254]/",
        "https://[64:ff9b::169.254.169.254]/",
        "https://[64:ff9b:1::a00:1]/",
        "https://[2002:7f00:1::]/",
        "https://[2001:0:7f00:1::f5ff:fffe]/",
        "https://[fd00:ec2::254]/",
        "https://[fe80::5efe:10.0.0.1]/",
        "https://[2606:4700::5efe:10.0.0.1]/",
        "https://[100::1]/",
        "https://[4000::1]/",
    ];
    rows.extend(more.map(|url| (url.to_owned(), true)));
    let urls = Urls::nominated(rows.iter().map(|(url, _)| &**url), &STRICT).await;
    let problems = urls.problems().await;
    let mut words = Vec::new();
    for (index, (url, denied)) in rows.iter().enumerate() {
        assert_eq!(tells_refused(&problems, index), *denied, "{url}: {problems}");
        let answer = urls.ask(index).await;
        assert_eq!(answer.status, 503, "{url}: {}", answer.text());
        let mut body: Value = answer.json();
        // Only the name of the resource differs: nobody learns from an answer why there was none.
        let message = body["message"].take().to_string();
        words.push((
            message.replace(&group(index), "GROUP"),
            body,
            answer.header_values("retry-after").len(),
        ));
    }
    words.dedup();
    assert_eq!(words.len(), 1, "{words:?}");
    let (_, log) = urls.dev.end("-TERM").await;
    for (index, (url, denied)) in rows.iter().enumerate() {
        assert_eq!(tells_refused(&log, index), *denied, "{url}: {log}");
    }
}

#[tokio::test]
async fn what_no_webhook_can_have_is_a_problem_of_its_nomination() {
    let urls = [
        "http://webhook.example.com/",
        "https://user@webhook.example.com/",
        "https://user:secret@webhook.example.com/",
        "https://webhook.example.com/#fragment",
        "https://webhook.example.com:0/",
        "https://webhook.example.com:99999/",
        "https://[fe80::1%25eth0]/",
        "https://[::1/",
        "https:///path",
        "https://",
        "ftp://webhook.example.com/",
        "file:///etc/passwd",
        "//webhook.example.com/",
        "webhook.example.com",
        "https://exa mple.com/",
        "https://webhook.example.com\u{0}/",
        "",
    ];
    let nominated = Urls::nominated(urls, &STRICT).await;
    let problems = nominated.problems().await;
    for (index, url) in urls.iter().enumerate() {
        let name = format!("samples.{}", group(index));
        assert!(problems.contains(&name), "{url}: {problems}");
        assert_eq!(nominated.ask(index).await.status, 503, "{url}");
    }
    assert!(!problems.contains("secret"), "{problems}");
}

#[tokio::test]
async fn the_server_does_not_call_itself_whatever_is_allowed() {
    let everything = ["--webhook-allow-cidr", "0.0.0.0/0", "--webhook-allow-cidr", "::/0"];
    let urls = Urls::nominated([], &everything).await;
    let port = urls.dev.address().port();
    let ca_bundle = BASE64_STANDARD.encode(urls.dev.pem("ca.crt"));
    let hosts = ["127.0.0.1", "2130706433", "[::ffff:127.0.0.1]", "0.0.0.0", "localhost"];
    for (index, host) in hosts.iter().enumerate() {
        let url = format!("https://{host}:{port}/livez");
        let spec = json!({"url": url, "caBundle": ca_bundle, "timeoutSeconds": 2});
        urls.provider.nominate_with("provider", &resource(index), &spec);
    }
    for (index, host) in hosts.iter().enumerate() {
        until("the nomination is read", async || urls.ask(index).await.status != 404).await;
        let answer = urls.ask(index).await;
        assert_eq!(answer.status, 503, "{host}: {}", answer.text());
        assert!(
            answer.text().contains("could not be reached"),
            "{host}: {}",
            answer.text()
        );
    }
    let problems = urls.problems().await;
    for (index, host) in hosts.iter().enumerate() {
        // Which of its addresses `localhost` stands for shows when it is called.
        assert_eq!(
            tells_refused(&problems, index),
            *host != "localhost",
            "{host}: {problems}"
        );
    }
}

#[tokio::test]
async fn proxies_of_the_environment_and_redirects_are_not_followed() {
    let elsewhere = Provider::echoing().await;
    let away = elsewhere.webhook.url("/");
    let provider = Provider::answering(move |_| {
        Reply::body(StatusCode::TEMPORARY_REDIRECT, "").header(http::header::LOCATION, &away)
    })
    .await;
    provider.nominate("provider", &resource(0));
    let manifests = provider.directory().to_str().expect("a path").to_owned();
    let proxy = elsewhere.webhook.url("/");
    let environment = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY"];
    let environment = environment.map(|name| (name, proxy.as_str()));
    let dev = Dev::start_with(&["--manifests", &manifests, "--no-sample-webhook"], &environment).await;
    let urls = Urls { dev, provider };
    let answer = urls.ask(0).await;
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert_eq!(urls.provider.webhook.recorded().len(), 1, "asked directly, and once");
    assert_eq!(elsewhere.webhook.recorded().len(), 0);
}
