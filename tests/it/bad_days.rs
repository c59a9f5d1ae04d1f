//! Webhooks and servers on their bad days: what fails for its own consumers alone, and that nothing is lost or mixed up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ephemeral_testing::client::{Answer, Connection, Http, request};
use ephemeral_testing::webhook::{Recorded, Reply};
use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::support::resources::{Provider, Resource};
use crate::support::{Dev, PATIENCE, until};

/// Streams of one connection that are used at once; the server allows 250.
const STREAMS: usize = 200;

/// Two providers, the first of which misbehaves, and a server.
struct Setup {
    bad: Provider,
    good: Provider,
    dev: Dev,
}

impl Setup {
    async fn new(bad: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Self {
        let (bad, good) = (Provider::answering(bad).await, Provider::answering(answer).await);
        bad.nominate_with(
            "provider",
            &resource("bad"),
            &json!({"maxInFlight": 8192, "timeoutSeconds": 30}),
        );
        let spec = json!({"url": good.webhook.url("/"), "caBundle": good.ca_bundle()});
        bad.nominate_with("provider", &resource("good"), &spec);
        let manifests = bad.directory().to_str().expect("a path").to_owned();
        let dev = Dev::start(&["--manifests", &manifests, "--no-sample-webhook"]).await;
        Self { bad, good, dev }
    }

    async fn connect(&self) -> Connection {
        let client = self.dev.client("user").http(Http::Two);
        client.connect().await.expect("a connection")
    }
}

fn resource(group: &str) -> Resource {
    let mut resource = Resource::sample(json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"question": {"type": "string"}}},
        "status": {"type": "object", "properties": {"answer": {"type": "string"}}}}}));
    resource.group = format!("{group}.example.org");
    resource
}

/// Answers with the question, so that every answer shows whose it is.
fn answer(recorded: &Recorded) -> Reply {
    let review = recorded.json();
    let mut object = review["request"]["object"].clone();
    object["status"] = json!({"answer": object["spec"]["question"]});
    Reply::allow(recorded, &object)
}

async fn ask(connection: &mut Connection, group: &str, consumer: usize, question: &str) -> anyhow::Result<Answer> {
    let path = format!("/clusters/consumer-{consumer}/apis/{group}.example.org/v1/namespaces/demo/samples");
    let object =
        json!({"apiVersion": format!("{group}.example.org/v1"), "kind": "Sample", "spec": {"question": question}});
    let headers = [("content-type", "application/json")];
    connection
        .send(request(Method::POST, &path, &headers, object.to_string())?)
        .await
}

/// The answer is one, and to this question.
fn assert_answers(answer: &Answer, question: &str) {
    assert_eq!(answer.status, 201, "{question}: {}", answer.text());
    assert_eq!(answer.json::<Value>()["status"]["answer"], question);
}

/// Asks the good webhook `count` questions, one each `pause` whether or not the one before was answered, and returns how
/// long each took, sorted.
async fn at_a_fixed_rate(setup: &Setup, about: &str, count: usize, pause: Duration) -> Vec<Duration> {
    let connection = setup.connect().await;
    let mut asking = JoinSet::new();
    let mut tick = tokio::time::interval(pause);
    for number in 0..count {
        let due = tick.tick().await;
        let mut connection = connection.another().expect("HTTP/2");
        let question = format!("{about} {number}");
        asking.spawn(async move {
            let answer = ask(&mut connection, "good", number % 7, &question).await;
            assert_answers(&answer.expect("an answer"), &question);
            due.elapsed()
        });
    }
    let mut times = asking.join_all().await;
    times.sort_unstable();
    times
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_creates_that_hang_cost_the_other_webhook_nothing() {
    let setup = Setup::new(|_| Reply::Hang).await;
    let quiet = at_a_fixed_rate(&setup, "quiet", 150, Duration::from_millis(10)).await;

    let mut hanging = JoinSet::new();
    let mut connection = setup.connect().await;
    for number in 0..1_000 {
        if number % STREAMS == 0 {
            connection = setup.connect().await;
        }
        let mut connection = connection.another().expect("HTTP/2");
        hanging.spawn(async move { ask(&mut connection, "bad", number, "").await });
    }
    until("all of them hang", async || setup.bad.webhook.recorded().len() == 1_000).await;
    let attacked = at_a_fixed_rate(&setup, "attacked", 150, Duration::from_millis(10)).await;
    assert!(hanging.try_join_next().is_none(), "they hang all the while");
    println!(
        "p99 while it is quiet {:?}, while the other hangs {:?}",
        quiet[148], attacked[148]
    );

    // Callers that are gone leave their places to others.
    hanging.shutdown().await;
    setup.bad.webhook.set(answer);
    let mut connection = setup.connect().await;
    for number in 0..50 {
        let question = format!("after {number}");
        assert_answers(
            &ask(&mut connection, "bad", number, &question).await.expect("an answer"),
            &question,
        );
    }
}

/// What a client that keeps asking meets.
#[derive(Debug, Default)]
struct Counts {
    answered: AtomicUsize,
    refused: AtomicUsize,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_fails_under_load_gives_no_wrong_answer() {
    let setup = Arc::new(Setup::new(answer).await);
    let counts = Arc::new(Counts::default());
    let end = Instant::now() + Duration::from_secs(3);
    let mut asking = JoinSet::new();
    for client in 0..16 {
        let (setup, counts) = (Arc::clone(&setup), Arc::clone(&counts));
        asking.spawn(async move {
            let mut connection = setup.connect().await;
            let mut number = 0;
            while Instant::now() < end {
                let question = format!("{client} {number}");
                let answer = ask(&mut connection, "bad", client, &question).await.expect("an answer");
                if answer.status == 503 {
                    counts.refused.fetch_add(1, Ordering::Relaxed);
                } else {
                    assert_answers(&answer, &question);
                    counts.answered.fetch_add(1, Ordering::Relaxed);
                }
                number += 1;
            }
        });
    }
    let mut round = 0_usize;
    while Instant::now() < end {
        // By turns it works, tears connections, answers something else, and works again.
        match round % 4 {
            0 | 2 => setup.bad.webhook.set(answer),
            1 => setup.bad.webhook.set(|_| Reply::Close),
            _ => setup.bad.webhook.set(|_| Reply::json(http::StatusCode::OK, &json!({}))),
        }
        round += 1;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    asking.join_all().await;
    println!("{counts:?}");
    assert!(
        counts.answered.load(Ordering::Relaxed) > 0 && counts.refused.load(Ordering::Relaxed) > 0,
        "{counts:?}"
    );
    setup.bad.webhook.set(answer);
    let mut connection = setup.connect().await;
    assert_answers(
        &ask(&mut connection, "bad", 1, "at last").await.expect("an answer"),
        "at last",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_told_to_end_answers_what_it_took() {
    let setup = Setup::new(|recorded| answer(recorded).after(Duration::from_millis(300))).await;
    let mut asking = JoinSet::new();
    for client in 0..64 {
        let mut connection = setup.connect().await;
        asking.spawn(async move {
            let question = format!("last words {client}");
            let answer = ask(&mut connection, "bad", client, &question).await;
            assert_answers(&answer.expect("an answer"), &question);
            // The goodbye has come with the answer: a client that honours it asks elsewhere from here on.
        });
    }
    until("all are under way", async || setup.bad.webhook.recorded().len() == 64).await;
    let Setup {
        dev,
        bad: _bad,
        good: _good,
    } = setup;
    let ended = tokio::time::timeout(PATIENCE, dev.end("-TERM"));
    let (ended, _) = tokio::join!(ended, asking.join_all());
    let (code, log) = ended.expect("in time");
    assert_eq!(code, Some(0), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn manifests_that_are_rewritten_a_thousand_times_lose_no_create() {
    let setup = Setup::new(answer).await;
    let file = setup.bad.directory().join("provider-samples.bad.example.org.json");
    let text = std::fs::read(&file).expect("the manifests");
    let rewriting = async {
        for round in 0..1_000 {
            // By turns as a whole, and as editors do that empty the file first.
            if round % 2 == 0 {
                let new = file.with_extension("new");
                std::fs::write(&new, &text).expect("written");
                std::fs::rename(&new, &file).expect("renamed");
            } else {
                std::fs::write(&file, "").expect("emptied");
                std::fs::write(&file, &text).expect("written");
            }
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    };
    tokio::pin!(rewriting);
    let mut connection = setup.connect().await;
    for number in 0.. {
        let question = format!("meanwhile {number}");
        tokio::select! {
            biased;
            () = &mut rewriting => break,
            asked = ask(&mut connection, "bad", number % 5, &question) => assert_answers(&asked.expect("an answer"), &question),
        }
    }
    let answer = setup.dev.anonymous().get("/readyz?verbose").await.expect("an answer");
    assert!(!answer.text().contains("warn"), "{}", answer.text());
}
