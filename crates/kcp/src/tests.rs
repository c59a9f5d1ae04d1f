//! Following, folding and publishing together, on the small kcp of `testing`, with a clock that runs as it is told.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ephemeral_index::kinds::ShardSelection;
use ephemeral_index::{EndpointFactory, EndpointInput, EndpointProblem, Event, Index, Publisher, Snapshot, Source};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::testing::{Kcp, PLATFORM, metadata, nominate, url_of};
use crate::{Counts, EXPORT, FollowConfig, PublishConfig, RESYNC, Stats, fold, follow, publish};

const GRACE: Duration = Duration::from_secs(30);

fn follow_config(kcp: &Kcp, stats: &Arc<Stats>) -> FollowConfig {
    FollowConfig {
        base: kcp.base(),
        workspace: PLATFORM.into(),
        others: BTreeSet::new(),
        grace: GRACE,
        stats: stats.clone(),
    }
}

/// Follows alone, and has what was told.
struct Following {
    events: mpsc::Receiver<Vec<Event>>,
    stats: Arc<Stats>,
    _task: JoinSet<()>,
}

impl Following {
    fn begin(kcp: &Kcp) -> Self {
        let stats = Arc::<Stats>::default();
        let (sender, events) = mpsc::channel(16);
        let mut task = JoinSet::new();
        task.spawn(follow(follow_config(kcp, &stats), sender, CancellationToken::new()));
        Self {
            events,
            stats,
            _task: task,
        }
    }

    /// What is told within some time, in words.
    async fn told(&mut self, within: u64) -> Vec<String> {
        let mut told = Vec::new();
        let end = tokio::time::Instant::now() + Duration::from_secs(within);
        while let Ok(Some(events)) = tokio::time::timeout_at(end, self.events.recv()).await {
            told.extend(events.iter().map(words));
        }
        told
    }
}

fn words(event: &Event) -> String {
    let host = |source: &Source| match source {
        Source::Manifests => "manifests".to_owned(),
        Source::Shard(url) => url.split('/').nth(2).unwrap_or_default().to_owned(),
    };
    match event {
        Event::Sources(sources) => format!("sources {}", sources.iter().map(host).collect::<Vec<_>>().join(" ")),
        Event::Reset { source, kind, objects } => format!("{} has {} {kind}", host(source), objects.len()),
        Event::Apply(source, object) => format!("{} applies {}", host(source), object.meta().name),
        Event::Delete(source, object) => format!("{} deletes {}", host(source), object.name),
        Event::Complete(source) => format!("{} is complete", host(source)),
        Event::Away(source) => format!("{} is away", host(source)),
        Event::Removed(source) => format!("{} is removed", host(source)),
        other => format!("{other:?}"),
    }
}

fn webhook(cluster: &str, name: &str) -> Value {
    json!({"metadata": metadata(cluster, name), "spec": {}})
}

#[tokio::test(start_paused = true)]
async fn shards_come_and_go_and_stay_away() {
    let kcp = Kcp::with_shards(&["a", "b"]);
    for name in ["u", "v", "w"] {
        kcp.put("a", "ephemeralwebhooks", webhook("c", name));
    }
    kcp.state().down.insert("b".to_owned());
    let mut following = Following::begin(&kcp);

    let mut told = following.told(20).await;
    assert_eq!(told.remove(0), "sources a b");
    assert_eq!(told.pop().unwrap(), "a is complete");
    told.sort();
    assert_eq!(
        told,
        [
            "a has 0 APIExport",
            "a has 0 APIResourceSchema",
            "a has 3 EphemeralWebhook"
        ]
    );
    assert_eq!(following.told(30).await, ["b is away"]);

    kcp.state().down.clear();
    kcp.put("b", "apiexports", json!({"metadata": metadata("d", "e")}));
    let mut told = following.told(30).await;
    assert_eq!(told.pop().unwrap(), "b is complete");
    assert!(told.contains(&"b has 1 APIExport".to_owned()), "{told:?}");

    kcp.publish_shards(&["b"]);
    assert_eq!(following.told(1).await, ["sources b", "a is removed"]);
    kcp.put("a", "apiexports", json!({"metadata": metadata("d", "e")}));
    assert!(following.told(5).await.is_empty(), "what is gone tells nothing");
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_where_it_was_and_begins_anew_where_it_cannot() {
    let kcp = Kcp::with_shards(&["a"]);
    let mut following = Following::begin(&kcp);
    following.told(1).await;
    let lists = following.stats.counts().lists;

    kcp.put("a", "ephemeralwebhooks", webhook("c", "v"));
    assert_eq!(following.told(1).await, ["a applies v"]);
    kcp.drop_watches();
    kcp.put("a", "ephemeralwebhooks", webhook("c", "w"));
    let told = following.told(3).await;
    assert!(told.contains(&"a applies w".to_owned()), "{told:?}");
    kcp.delete("a", "ephemeralwebhooks", "c", "v");
    assert_eq!(following.told(1).await, ["a deletes v"]);

    let expired = json!({"kind": "Status", "code": 410, "reason": "Expired"});
    kcp.say("a", "ephemeralwebhooks", "ERROR", &expired);
    assert_eq!(following.told(3).await, ["a has 1 EphemeralWebhook"]);
    assert!(following.stats.counts().lists > lists);

    kcp.say(
        "a",
        "ephemeralwebhooks",
        "BOOKMARK",
        &json!({"metadata": {"resourceVersion": "100"}}),
    );
    following.told(1).await;
    assert!(
        following.told(240).await.iter().all(|told| !told.contains("away")),
        "idle is not away"
    );
}

/// kcp lists what a shard does not serve as empty, without a version, and lets a watch of it stay open for ever.
#[tokio::test(start_paused = true)]
async fn what_is_not_served_yet_is_not_taken_for_empty() {
    let kcp = Kcp::with_shards(&["a"]);
    kcp.put("a", "ephemeralwebhooks", webhook("c", "w"));
    let unserved = ("a".to_owned(), "ephemeralwebhooks".to_owned());
    kcp.state().unserved.insert(unserved.clone());
    let mut following = Following::begin(&kcp);
    let mut told = following.told(10).await;
    told.sort();
    assert_eq!(told, ["a has 0 APIExport", "a has 0 APIResourceSchema", "sources a"]);
    kcp.state().unserved.clear();
    assert_eq!(following.told(15).await, ["a has 1 EphemeralWebhook", "a is complete"]);

    kcp.state().unserved.insert(unserved);
    kcp.drop_watches();
    let told = following.told(20).await;
    assert!(!told.contains(&"a has 0 EphemeralWebhook".to_owned()), "{told:?}");
}

struct AnyUrl;

impl EndpointFactory for AnyUrl {
    type Handle = ();

    fn make(&self, _: &EndpointInput<'_>) -> Result<(), EndpointProblem> {
        Ok(())
    }
}

/// A whole replica.
struct Replica {
    snapshot: watch::Receiver<Arc<Snapshot<()>>>,
    stats: Arc<Stats>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Replica {
    fn begin(kcp: &Kcp, identity: &str) -> Self {
        let publisher = Publisher {
            name: "kcp-ephemeral".into(),
            external_url: "https://us.example.org".into(),
            shards: ShardSelection::MatchAll,
        };
        let (stats, stop) = (Arc::<Stats>::default(), CancellationToken::new());
        let (events, received) = mpsc::channel(4);
        let (work, taken) = mpsc::channel(1);
        let (swap, snapshot) = watch::channel(Arc::default());
        let (_, client_ca_bundle) = watch::channel(Some("Q0E=".into()));
        let config = PublishConfig {
            base: kcp.base(),
            workspace: PLATFORM.into(),
            publisher: publisher.clone(),
            identity: identity.into(),
            client_ca_bundle,
            resync: RESYNC,
            stats: stats.clone(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(follow(follow_config(kcp, &stats), events.clone(), stop.clone()));
        tasks.spawn(publish(config, taken, events, stop.clone()));
        tasks.spawn(fold(
            Index::new(AnyUrl, Some(publisher)),
            received,
            Some(work),
            RESYNC,
            move |_, snapshot| {
                swap.send_replace(snapshot);
            },
            stop.clone(),
        ));
        Self {
            snapshot,
            stats,
            stop,
            tasks,
        }
    }

    fn counts(&self) -> Counts {
        self.stats.counts()
    }
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

/// Status and reason of a condition of the nomination of a logical cluster.
fn condition(kcp: &Kcp, cluster: &str, condition: &str) -> (String, String) {
    let webhook = kcp.get("a", "ephemeralwebhooks", cluster, "w").unwrap();
    let conditions = webhook["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().find(|found| found["type"] == condition);
    let text = |field| found.map_or("", |found| found[field].as_str().unwrap()).to_owned();
    (text("status"), text("reason"))
}

/// The URLs of a provider's slice.
fn urls(kcp: &Kcp, cluster: &str) -> Vec<String> {
    let slice = kcp
        .get("base", "apiexportendpointslices", cluster, "e.ephemeral")
        .unwrap();
    let endpoints = slice["status"]["endpoints"].as_array().cloned().unwrap_or_default();
    endpoints
        .iter()
        .map(|entry| entry["url"].as_str().unwrap().to_owned())
        .collect()
}

const KCPS_OWN: &str = "https://kcp.example.org/e";
const OURS: &str = "https://us.example.org/services/ephemeral/c/e";

#[tokio::test(start_paused = true)]
async fn an_endpoint_is_published_kept_and_withdrawn() {
    let kcp = Kcp::with_shards(&["a"]);
    nominate(&kcp, "a", "c");
    let mut replica = Replica::begin(&kcp, "one");
    pass(10).await;
    assert_eq!(urls(&kcp, "c"), [KCPS_OWN, OURS]);
    assert_eq!(condition(&kcp, "c", "Ready").0, "True");
    let webhook = kcp.get("a", "ephemeralwebhooks", "c", "w").unwrap();
    assert_eq!(webhook["status"]["clientCABundle"], "Q0E=");
    assert_eq!(webhook["status"]["endpoint"], OURS);
    assert_eq!(replica.snapshot.borrow_and_update().len(), 1);

    let before = replica.counts();
    assert!(before.slice_writes == 1 && before.status_writes <= 2, "{before:?}");
    pass(600).await;
    let after = replica.counts();
    assert_eq!(
        (after.slice_writes, after.status_writes),
        (before.slice_writes, before.status_writes),
        "no write where nothing differs"
    );
    let reads = after.slice_reads - before.slice_reads;
    assert!((9..=21).contains(&reads), "every minute: {reads}");

    let mut slice = kcp.get("base", "apiexportendpointslices", "c", "e.ephemeral").unwrap();
    slice["status"]["endpoints"].as_array_mut().unwrap().pop();
    kcp.put("base", "apiexportendpointslices", slice);
    pass(61).await;
    assert_eq!(urls(&kcp, "c"), [KCPS_OWN, OURS], "it comes back");

    kcp.delete("a", "ephemeralwebhooks", "c", "w");
    pass(2).await;
    assert_eq!(urls(&kcp, "c"), [KCPS_OWN]);
    assert_eq!(replica.snapshot.borrow().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_was_left_behind_is_withdrawn_after_a_restart() {
    let kcp = Kcp::with_shards(&["a"]);
    nominate(&kcp, "a", "c");
    let mut replica = Replica::begin(&kcp, "one");
    pass(10).await;
    replica.stop.cancel();
    while replica.tasks.join_next().await.is_some() {}
    assert_eq!(
        urls(&kcp, "c"),
        [KCPS_OWN, OURS],
        "a server that stops withdraws nothing"
    );
    kcp.delete("a", "ephemeralwebhooks", "c", "w");

    let _replica = Replica::begin(&kcp, "two");
    pass(5).await;
    assert_eq!(
        urls(&kcp, "c"),
        [KCPS_OWN],
        "a Lease that was let go of is free at once"
    );
}

#[tokio::test(start_paused = true)]
async fn missing_rights_are_told_once_and_found_again() {
    let kcp = Kcp::with_shards(&["a"]);
    nominate(&kcp, "a", "c");
    let forbidden = (Method::PATCH, "apiexportendpointslices".to_owned());
    kcp.state().forbidden.insert(forbidden.clone());
    let replica = Replica::begin(&kcp, "one");
    pass(10).await;
    let missing = ("False".to_owned(), "SliceRightsMissing".to_owned());
    assert_eq!(condition(&kcp, "c", "EndpointPublished"), missing);
    let before = replica.counts();
    pass(600).await;
    let after = replica.counts();
    assert_eq!(before.status_writes, after.status_writes, "the condition does not turn");
    assert_eq!(before.slice_writes, after.slice_writes);

    kcp.state().forbidden.remove(&forbidden);
    pass(61).await;
    assert_eq!(urls(&kcp, "c"), [KCPS_OWN, OURS]);
    pass(2).await;
    assert_eq!(condition(&kcp, "c", "Ready").0, "True");
}

#[tokio::test(start_paused = true)]
async fn claims_that_are_not_accepted_are_told_apart_from_a_missing_export() {
    let kcp = Kcp::with_shards(&["a"]);
    kcp.put(
        "a",
        "ephemeralwebhooks",
        json!({"metadata": metadata("c", "w"), "spec":
            {"export": "e", "group": "g.io", "resource": "things", "url": "https://w.example.org/"}}),
    );
    let binding = |states: [&str; 2]| {
        let claims = ["apiexports", "apiresourceschemas"].into_iter().zip(states);
        let claims: Vec<_> = claims
            .map(|(resource, state)| json!({"group": "apis.kcp.io", "resource": resource, "state": state}))
            .collect();
        json!({"metadata": metadata("c", "b"),
            "spec": {"reference": {"export": {"path": "root:platform", "name": EXPORT}}, "permissionClaims": claims},
            "status": {"apiExportClusterName": PLATFORM}})
    };
    kcp.put("base", "apibindings", binding(["Accepted", "Rejected"]));
    let _replica = Replica::begin(&kcp, "one");
    pass(10).await;
    let reason = || condition(&kcp, "c", "ResourceResolved").1;
    assert_eq!(reason(), "ClaimsNotAccepted");
    kcp.put("base", "apibindings", binding(["Accepted", "Accepted"]));
    pass(120).await;
    assert_eq!(reason(), "ExportNotFound");
    nominate(&kcp, "a", "c");
    pass(10).await;
    assert_eq!(condition(&kcp, "c", "Ready").0, "True");
}

#[tokio::test(start_paused = true)]
async fn one_replica_publishes_and_another_when_it_dies() {
    let kcp = Kcp::with_shards(&["a"]);
    let first = Replica::begin(&kcp, "one");
    pass(5).await;
    let second = Replica::begin(&kcp, "two");
    pass(30).await;
    nominate(&kcp, "a", "c");
    pass(10).await;
    assert_eq!(urls(&kcp, "c"), [KCPS_OWN, OURS]);
    let idle = second.counts();
    assert_eq!(
        (
            idle.slice_writes,
            idle.status_writes,
            idle.slice_reads,
            idle.lease_writes
        ),
        (0, 0, 0, 0)
    );

    // It dies without letting go.
    drop(first.tasks);
    nominate(&kcp, "a", "d");
    pass(20).await;
    assert_eq!(
        urls(&kcp, "d"),
        [KCPS_OWN, "https://us.example.org/services/ephemeral/d/e"]
    );
    assert_eq!(condition(&kcp, "d", "Ready").0, "True");
    assert_eq!(condition(&kcp, "c", "Ready").0, "True");
}

#[tokio::test(start_paused = true)]
async fn a_slice_that_comes_late_is_found_soon() {
    let kcp = Kcp::with_shards(&["a"]);
    nominate(&kcp, "a", "c");
    kcp.delete("base", "apiexportendpointslices", "c", "e.ephemeral");
    let _replica = Replica::begin(&kcp, "one");
    pass(3).await;
    assert_eq!(condition(&kcp, "c", "EndpointPublished").1, "EndpointSliceNotFound");
    kcp.put(
        "base",
        "apiexportendpointslices",
        json!({"metadata": metadata("c", "e.ephemeral"), "spec": {"export": {"name": "e"}}}),
    );
    pass(10).await;
    assert_eq!(urls(&kcp, "c"), [OURS]);
}

/// Has an entry with the URL of this server, as these managers left it.
fn put_entry(kcp: &Kcp, shards: &Value, managers: &[&str]) {
    let mut slice = kcp.get("base", "apiexportendpointslices", "c", "e.ephemeral").unwrap();
    let field = format!("k:{}", json!({"url": OURS}));
    let owned = managers
        .iter()
        .map(|manager| json!({"manager": manager, "fieldsV1": {"f:status": {"f:endpoints": {&field: {}}}}}));
    slice["metadata"]["managedFields"] = owned.collect();
    slice["status"]["endpoints"] = json!([{"url": OURS, "shards": shards}]);
    kcp.put("base", "apiexportendpointslices", slice);
}

fn shards(kcp: &Kcp) -> Value {
    let slice = kcp.get("base", "apiexportendpointslices", "c", "e.ephemeral").unwrap();
    slice["status"]["endpoints"][0]["shards"].clone()
}

#[tokio::test(start_paused = true)]
async fn only_what_is_its_own_is_taken_back() {
    let kcp = Kcp::with_shards(&["a"]);
    nominate(&kcp, "a", "c");
    let elsewhere = json!({"selector": {"matchLabels": {"region": "eu"}}});
    put_entry(&kcp, &elsewhere, &["somebody"]);
    let replica = Replica::begin(&kcp, "one");
    pass(300).await;
    assert_eq!(shards(&kcp), elsewhere, "another's entry is not touched");
    let attempts = replica.counts().slice_writes;
    assert!((1..=15).contains(&attempts), "with ever longer pauses: {attempts}");

    put_entry(&kcp, &elsewhere, &["somebody", "kcp-ephemeral"]);
    pass(61).await;
    assert_eq!(shards(&kcp), json!({"matchAll": true}), "its own entry was changed");
}

#[tokio::test]
async fn requests_stay_below_their_logical_cluster() {
    let kcp = Kcp::with_shards(&["a"]);
    let base = kcp.base();
    let shard = base.at(&url_of("a")).unwrap();
    assert_eq!(shard.url(), url_of("a"));
    assert!(base.at("http://a/services").is_err(), "credentials stay off the clear");
    let error = base
        .cluster("../x")
        .get::<Value>("/apis/g/v1/things/n")
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(StatusCode::NOT_FOUND));
    let asked = kcp.state().requests.pop().unwrap();
    assert_eq!(asked, (Method::GET, "/clusters/..%2Fx/apis/g/v1/things/n".to_owned()));
}
