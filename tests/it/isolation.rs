//! Rules and patterns made to hurt cost their own provider's consumers, and nobody else: whole servers, judged by what
//! succeeds while the hostile creates are under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ephemeral_testing::client::Client;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::support::resources::{Provider, Resource};
use crate::support::{Dev, PATIENCE};

/// Hostile creates of each hostile resource that are under way at any time: more than it has places for heavy work.
const ATTACKERS: usize = 8;
/// Creates of the quiet provider's consumers, each of which must succeed.
const QUIET: usize = 10;
const QUIET_GROUP: &str = "quiet.example.org";

/// A resource of a group of its own.
fn resource(group: &str, spec: &Value) -> Resource {
    let mut resource = Resource::sample(json!({"type": "object", "properties": {"spec": spec}}));
    group.clone_into(&mut resource.group);
    resource
}

fn path(group: &str) -> String {
    format!("/clusters/consumer/apis/{group}/v1/namespaces/demo/samples")
}

fn body(group: &str, spec: &Value) -> String {
    json!({"apiVersion": format!("{group}/v1"), "kind": "Sample", "metadata": {"name": "one"}, "spec": spec})
        .to_string()
}

/// Hostile creates, asked again and again.
struct Attack {
    answered: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    tasks: JoinSet<()>,
}

impl Attack {
    /// Begins; every object is invalid, as the rules or patterns find out.
    fn begin(client: &Client, group: &'static str, spec: &Value) -> Self {
        let mut attack = Self {
            answered: Arc::default(),
            over: Arc::default(),
            tasks: JoinSet::new(),
        };
        for _ in 0..ATTACKERS {
            let (client, body) = (client.clone(), body(group, spec));
            let (answered, over) = (Arc::clone(&attack.answered), Arc::clone(&attack.over));
            attack.tasks.spawn(async move {
                while !over.load(Ordering::Relaxed) {
                    let answer = client.post_json(&path(group), body.clone()).await.expect("an answer");
                    assert_eq!(answer.status, 422, "{}", answer.text());
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        attack
    }

    fn answered(&self) -> usize {
        self.answered.load(Ordering::Relaxed)
    }

    /// Waits until so many more are answered.
    async fn goes_on(&self, more: usize) {
        let goal = self.answered() + more;
        let waited = timeout(PATIENCE, async {
            while self.answered() < goal && !self.tasks.is_empty() {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        });
        waited.await.expect("the hostile creates are answered too");
    }

    async fn end(mut self) {
        self.over.store(true, Ordering::Relaxed);
        while let Some(ended) = self.tasks.join_next().await {
            ended.expect("every answer was one of those expected");
        }
    }
}

/// A provider with hostile resources and one with a quiet one.
async fn installation(groups: &[&str], hostile: &Value) -> (Provider, Dev) {
    let provider = Provider::echoing().await;
    for group in groups {
        provider.nominate("hostile", &resource(group, hostile));
    }
    // Costly enough that it needs a place for heavy work as well.
    let quiet = json!({
        "type": "object",
        "properties": {"items": {"type": "array", "items": {"type": "integer"}}},
        "x-kubernetes-validations": [{"rule": "self.items.all(item, item > 0)"}],
    });
    provider.nominate("quiet", &resource(QUIET_GROUP, &quiet));
    let manifests = provider.directory().to_str().expect("a path").to_owned();
    let dev = Dev::start(&["--manifests", &manifests, "--no-sample-webhook"]).await;
    (provider, dev)
}

/// Asks hostile resources until a quiet one has answered all of its creates, each with success.
async fn a_quiet_provider_is_answered(groups: &[&'static str], hostile: Value, spec: Value) {
    let (_provider, dev) = installation(groups, &hostile).await;
    let client = dev.client("user");
    let attacks: Vec<_> = groups
        .iter()
        .map(|group| Attack::begin(&client, group, &spec))
        .collect();
    for attack in &attacks {
        attack.goes_on(1).await;
    }
    let (path, question) = (path(QUIET_GROUP), body(QUIET_GROUP, &json!({"items": [1, 2, 3]})));
    for number in 0..QUIET {
        let answer = timeout(PATIENCE, client.post_json(&path, question.clone())).await;
        let answer = answer.expect("an answer in time").expect("an answer");
        assert_eq!(answer.status, 201, "quiet create {number}: {}", answer.text());
    }
    for attack in attacks {
        // It was not over before.
        attack.goes_on(1).await;
        attack.end().await;
    }
}

const ITEMS: usize = 1_000;

/// Rules over a list of integers that all end at the budget of the object.
fn rules() -> Value {
    json!({
        "type": "object",
        "properties": {"items": {"type": "array", "items": {"type": "integer"}}},
        "x-kubernetes-validations": [
            {"rule": "self.items.all(a, self.items.all(b, self.items.all(c, a + b + c > 0)))"},
            {"rule": "self.items.map(a, self.items.map(b, a + b)).flatten().sort() != self.items"},
            {"rule": "self.items.map(a, self.items.map(b, string(a)).join('')).join('').matches('^([0-9]+)+x$')"},
        ],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_spends_the_whole_budget_delays_no_other_provider() {
    let items: Vec<_> = (1..=ITEMS).collect();
    a_quiet_provider_is_answered(&["hostile.example.org"], rules(), json!({"items": items})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_hostile_nominations_of_one_provider_delay_no_other() {
    let groups = ["a.example.org", "b.example.org", "c.example.org", "d.example.org"];
    let items: Vec<_> = (1..=ITEMS).collect();
    a_quiet_provider_is_answered(&groups, rules(), json!({"items": items})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pattern_made_to_hurt_delays_no_other_provider() {
    let pattern = json!({
        "type": "object",
        "properties": {"items": {"type": "array", "items": {"type": "string", "pattern": r"^(\pL{1,100}|(\pL+\pL+)+)+$"}}},
    });
    let long = "é".repeat(20_000);
    let items: Vec<_> = (0..5).map(|number| format!("{long}{number}")).collect();
    a_quiet_provider_is_answered(&["hostile.example.org"], pattern, json!({"items": items})).await;
}
