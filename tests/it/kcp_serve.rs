//! `serve` on a kcp of two shards: the provider on one, consumers on both.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ephemeral_testing::pki::Identity;
use serde_json::{Value, json};

use crate::support::installation::{
    GROUP, Installation, NOMINATION, SERVER, SLICE, binding, collection, kubectl, printed, question, schema,
    without_version,
};

#[tokio::test]
async fn consumers_on_both_shards_get_the_webhooks_answer() {
    let installation = Installation::start().await;
    for consumer in &installation.consumers {
        let answer: Value = installation.create_until(consumer, 201).await.json();
        assert_eq!(answer["status"]["objects"], 3, "{answer}");
        let review = installation.webhook.recorded().pop().expect("a review").json();
        assert_eq!(review["request"]["cluster"], **consumer);
        let export = json!({"cluster": installation.provider, "name": GROUP});
        assert_eq!(review["request"]["export"], export);
        let client = installation.kcp.client(&installation.kcp.admin());
        let list: Value = client.get(&collection(consumer)).await.unwrap().json();
        assert_eq!(list["items"], json!([]), "nothing is stored");
    }
    installation.wait_for("Ready", "True").await;
    let status = &installation.object("ephemeralwebhooks", NOMINATION)["status"];
    assert_eq!(status["endpoint"], installation.endpoint());
    assert!(
        status["clientCABundle"]
            .as_str()
            .is_some_and(|bundle| !bundle.is_empty()),
        "{status}"
    );
}

#[tokio::test]
async fn kubectl_creates_and_finds_the_resource() {
    let found = tokio::process::Command::new("kubectl")
        .args(["version", "--client"])
        .output()
        .await;
    if !found.is_ok_and(|output| output.status.success()) {
        assert!(
            std::env::var_os("KCP_EPHEMERAL_REQUIRE_KUBECTL").is_none(),
            "kubectl is not on PATH"
        );
        eprintln!("SKIPPED: kubectl is not on PATH, so nothing here was tested with it");
        return;
    }
    let installation = Installation::start().await;
    let consumer = &installation.consumers[1];
    installation.create_until(consumer, 201).await;
    let object = installation.kcp.directory().join("question.json");
    std::fs::write(&object, question()).unwrap();
    let output = kubectl(&installation, consumer)
        .args(["create", "-o", "jsonpath={.status.objects}", "-f"])
        .arg(&object)
        .output()
        .await
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "3",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let output = kubectl(&installation, consumer)
        .args(["api-resources", "-o", "wide"])
        .output()
        .await
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| line.starts_with("bucketinfos"));
    assert!(line.is_some_and(|line| line.contains("create")), "{text}");
    let output = kubectl(&installation, consumer)
        .args(["get", "bucketinfos"])
        .output()
        .await
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("No resources found"));
}

/// Reads of slices that the server made, counted: each look of a resync is one.
fn count_looks(installation: &Installation) -> Arc<AtomicUsize> {
    let looks = Arc::<AtomicUsize>::default();
    installation.kcp.set_policy({
        let looks = Arc::clone(&looks);
        move |question| {
            let is_look = question.user.name == SERVER && question.resource == "apiexportendpointslices";
            if is_look && question.verb == "get" {
                looks.fetch_add(1, Ordering::SeqCst);
            }
            None
        }
    });
    looks
}

#[tokio::test]
async fn nothing_is_written_where_nothing_differs() {
    let mut installation = Installation::start().await;
    installation.wait_for("Ready", "True").await;
    let settled = installation.kcp.writes_of(SERVER);
    // One entry, and a status for each thing that was found out: no loop writes.
    assert!(settled.len() <= 6, "{settled:?}");
    let slices = settled
        .iter()
        .filter(|asked| asked.resource == "apiexportendpointslices/status");
    assert_eq!(slices.count(), 1, "{settled:?}");

    let looks = count_looks(&installation);
    installation
        .until("five looks", async || match looks.load(Ordering::SeqCst) {
            0..5 => Err(format!("{looks:?}")),
            _ => Ok(()),
        })
        .await;
    let later = installation.kcp.writes_of(SERVER);
    assert_eq!(later[settled.len()..], [], "written over several resyncs");

    // Nor is anything written by a server that finds everything as it should be.
    installation.kill(0).await;
    looks.store(0, Ordering::SeqCst);
    installation.serve(&[]);
    installation
        .until("five looks of another", async || match looks.load(Ordering::SeqCst) {
            0..5 => Err(format!("{looks:?}")),
            _ => Ok(()),
        })
        .await;
    assert_eq!(installation.kcp.writes_of(SERVER)[later.len()..], []);
}

#[tokio::test]
async fn entries_come_back_and_go_with_the_nomination() {
    let installation = Installation::start().await;
    installation.wait_for("Ready", "True").await;

    // Somebody else's entry, for other shards, stays whatever happens.
    let other = json!({"url": "https://elsewhere", "shards": {"selector": {"matchLabels": {"region": "us"}}}});
    let mut slice = json!({
        "apiVersion": "apis.kcp.io/v1alpha1", "kind": "APIExportEndpointSlice", "metadata": {"name": SLICE},
        "status": {"endpoints": [other]},
    });
    assert!(installation.kcp.apply_status("root:provider", &slice, "other"));

    // An editor takes the own entry away: the next look brings it back.
    slice = installation.object("apiexportendpointslices", SLICE);
    let own = installation.endpoint();
    let entries = slice["status"]["endpoints"].as_array_mut().unwrap();
    entries.retain(|entry| entry["url"] != own);
    installation.kcp.put_status("root:provider", &slice);
    assert!(!installation.is_published());
    installation.wait_published(true).await;

    let nomination = installation.object("ephemeralwebhooks", NOMINATION);
    assert!(
        installation
            .kcp
            .delete("root:provider", "ephemeralwebhooks", NOMINATION)
    );
    installation.wait_published(false).await;
    assert!(installation.entries().contains(&other), "{:?}", installation.entries());
    installation.kcp.put("root:provider", &nomination);
    installation.wait_published(true).await;
    installation.create_until(&installation.consumers[1], 201).await;
}

#[tokio::test]
async fn a_nomination_that_went_while_the_server_was_down_is_withdrawn() {
    let mut installation = Installation::start().await;
    installation.wait_published(true).await;
    installation.kill(0).await;
    assert!(
        installation
            .kcp
            .delete("root:provider", "ephemeralwebhooks", NOMINATION)
    );
    assert!(installation.is_published());
    installation.serve(&[]);
    installation.wait_published(false).await;
}

#[tokio::test]
async fn one_replica_publishes_and_when_it_dies_another_does_within_20_seconds() {
    let mut installation = Installation::start().await;
    installation.wait_for("Ready", "True").await;
    installation.serve_replica();
    let lease = |installation: &Installation| installation.kcp.get("root:platform", "leases", SERVER).unwrap();
    let first = lease(&installation)["spec"]["holderIdentity"].clone();
    installation
        .until("the replica follows", async || {
            let log = installation.log();
            if log.matches("everything was read once").count() == 2 {
                Ok(())
            } else {
                Err(log)
            }
        })
        .await;
    assert_eq!(
        lease(&installation)["spec"]["holderIdentity"],
        first,
        "one of them holds the Lease"
    );
    let nomination = installation.object("ephemeralwebhooks", NOMINATION);
    installation.kill(0).await;
    let killed = Instant::now();
    assert!(
        installation
            .kcp
            .delete("root:provider", "ephemeralwebhooks", NOMINATION)
    );
    installation.wait_published(false).await;
    let taken_over = killed.elapsed();
    assert!(taken_over <= Duration::from_secs(20), "{taken_over:?}");
    assert_ne!(lease(&installation)["spec"]["holderIdentity"], first);
    installation.kcp.put("root:provider", &nomination);
    installation.wait_published(true).await;
}

/// Two installations, each with its own name, selector and external URL.
#[tokio::test]
async fn two_publishers_live_side_by_side_in_one_slice() {
    let mut installation = Installation::start().await;
    let [near, far] = installation.consumers.clone();
    installation.wait_published(true).await;
    let port = installation.serve_beside(&["--publisher-name", "eu", "--shard-selector", "name=shard-1"]);
    let second = json!({
        "url": installation.endpoint_at(port), "shards": {"selector": {"matchLabels": {"name": "shard-1"}}},
    });
    installation
        .until("both entries", async || {
            let entries = installation.entries();
            if installation.is_published() && entries.contains(&second) {
                Ok(())
            } else {
                Err(format!("{entries:?}"))
            }
        })
        .await;
    for lease in [SERVER, "eu"] {
        assert!(
            installation.kcp.get("root:platform", "leases", lease).is_some(),
            "{lease}"
        );
    }
    installation.create_until(&near, 201).await;
    installation.create_until(&far, 201).await;
    // Each writes its own entry alone, one of them speaks in the conditions, and none writes for ever.
    installation.wait_for("Ready", "True").await;
    let looks = count_looks(&installation);
    let before = installation.kcp.writes_of(SERVER);
    installation
        .until("looks", async || match looks.load(Ordering::SeqCst) {
            0..8 => Err(String::new()),
            _ => Ok(()),
        })
        .await;
    assert_eq!(installation.kcp.writes_of(SERVER)[before.len()..], []);

    // The shard that the second one is for goes there, the other one to the first.
    installation.kill(0).await;
    assert_eq!(installation.create(&near).await.status, 502);
    assert_eq!(installation.create(&far).await.status, 201);
    assert!(installation.entries().contains(&second));
}

/// While the provider rolls out another schema, a consumer is held to the one that its binding names.
#[tokio::test]
async fn a_consumer_sees_the_schema_that_its_binding_names() {
    let installation = Installation::start().await;
    let consumer = &installation.consumers[1];
    installation.create_until(consumer, 201).await;
    let mut next = schema();
    next["metadata"]["name"] = "v2.bucketinfos.s3.example.com".into();
    next["spec"]["versions"][0]["schema"]["properties"]["spec"]["required"] = json!(["bucket", "region"]);
    installation.kcp.put("root:provider", &next);
    installation.kcp.bindings_follow(false);
    let mut export = installation.object("apiexports", GROUP);
    export["spec"]["resources"][0]["schema"] = next["metadata"]["name"].clone();
    installation.kcp.put("root:provider", &without_version(export));
    // The shard that asks for discovery sees the new one when it is in effect; the consumer is still bound to the old.
    let openapi = format!(
        "/services/ephemeral/{}/{GROUP}/clusters/{consumer}/openapi/v3/apis/{GROUP}/v1alpha1",
        installation.provider
    );
    let shard = installation.server().with_identity(installation.kcp.shard_identity(1));
    installation
        .until("the new schema", async || {
            let document = shard.get(&openapi).await.unwrap().text();
            if document.contains("region") {
                Ok(())
            } else {
                Err(document)
            }
        })
        .await;
    let answer = installation.create(consumer).await;
    assert_eq!(answer.status, 201, "{}", answer.text());

    installation.kcp.bindings_follow(true);
    let answer = installation.create_until(consumer, 422).await;
    assert!(answer.text().contains("spec.region"), "{}", answer.text());
}

/// A path that says a workspace which is not bound at all; the caller may do everything there.
#[tokio::test]
async fn a_consumer_that_is_not_bound_gets_nothing() {
    let installation = Installation::start().await;
    installation.create_until(&installation.consumers[1], 201).await;
    let unbound = installation.kcp.workspace("root:unbound", 1);
    let calls = installation.webhook.recorded().len();
    let answer = installation.ask(&unbound).await;
    assert_eq!(answer.status, 403, "{}", answer.text());
    assert_eq!(installation.webhook.recorded().len(), calls);
    // What binds in time is served in time: a no holds for some seconds.
    installation.kcp.put("root:unbound", &binding("root:provider"));
    installation
        .until("bound", async || match installation.ask(&unbound).await {
            answer if answer.status == 201 => Ok(()),
            answer => Err(answer.text()),
        })
        .await;
    // And who lets go is served no more.
    assert!(installation.kcp.delete("root:unbound", "apibindings", "s3"));
    installation
        .until("unbound", async || match installation.ask(&unbound).await {
            answer if answer.status == 403 => Ok(()),
            answer => Err(answer.text()),
        })
        .await;
}

/// kcp is away: what was decided holds for as long as it may, then nothing is answered; readiness stays.
#[tokio::test]
async fn without_kcp_decisions_that_are_known_go_on_and_then_none_are_made() {
    let mut installation = Installation::prepare().await;
    let cached = "6s";
    installation.serve(&[
        "--authorization-webhook-cache-authorized-ttl",
        cached,
        "--authorization-binding-cache-ttl",
        cached,
    ]);
    let consumer = installation.consumers[1].clone();
    installation.create_until(&consumer, 201).await;
    let decided = Instant::now();
    // Of before, for the time that is measured to begin now.
    installation
        .until("a decision of now", async || {
            let reviews = installation.kcp.reviews().len();
            assert_eq!(installation.ask(&consumer).await.status, 201);
            if decided.elapsed() > Duration::from_secs(1) && installation.kcp.reviews().len() > reviews {
                Ok(())
            } else {
                Err("cached".to_owned())
            }
        })
        .await;
    installation.kcp.set_front_away(true);
    installation.kcp.set_away(0, true);
    installation.kcp.set_away(1, true);
    assert_eq!(installation.ask(&consumer).await.status, 201, "it was decided");
    let answer = installation
        .until("503", async || match installation.ask(&consumer).await {
            answer if answer.status == 503 => Ok(answer),
            answer => Err(answer.text()),
        })
        .await;
    assert!(
        answer.headers.get("retry-after").is_none(),
        "client-go would repeat the create"
    );
    assert_eq!(installation.server().get("/readyz").await.unwrap().status, 200);
    installation.kcp.set_away(0, false);
    installation.kcp.set_away(1, false);
    installation.kcp.set_front_away(false);
    installation
        .until("again", async || match installation.ask(&consumer).await {
            answer if answer.status == 201 => Ok(()),
            answer => Err(answer.text()),
        })
        .await;
}

/// A shard is followed from when the first workspace of it binds, until the last one lets go.
#[tokio::test]
async fn shards_come_and_go() {
    let installation = Installation::start().await;
    installation.wait_for("Ready", "True").await;
    let second = installation.kcp.workspace("root:second", 1);
    let mut objects = printed(&["provider", "--export-path", "root:platform"]).await;
    let own = objects.remove(0);
    installation.kcp.put("root:second", &own);
    installation.kcp.put("root:second", &schema());
    let mut export = installation.object("apiexports", GROUP);
    export["metadata"] = json!({"name": GROUP});
    installation.kcp.put("root:second", &export);
    let mut slice = installation.object("apiexportendpointslices", SLICE);
    slice["metadata"] = json!({"name": SLICE});
    slice["spec"] = json!({"export": {"name": GROUP}});
    installation.kcp.put("root:second", &slice);
    let mut nomination = installation.object("ephemeralwebhooks", NOMINATION);
    nomination["metadata"] = json!({"name": NOMINATION});
    installation.kcp.put("root:second", &nomination);
    installation.kcp.workspace("root:consumer-2", 1);
    installation.kcp.put("root:consumer-2", &binding("root:second"));
    installation.create_until("root:consumer-2", 201).await;
    let review = installation.webhook.recorded().pop().expect("a review").json();
    assert_eq!(review["request"]["export"], json!({"cluster": second, "name": GROUP}));

    // 410s and torn connections on that shard alone change nothing.
    for _ in 0..3 {
        installation.kcp.compact(1);
        installation.kcp.drop_connections(1);
        assert_eq!(installation.create(&installation.consumers[0]).await.status, 201);
    }
    let name = own["metadata"]["name"].as_str().expect("a name");
    assert!(installation.kcp.delete("root:second", "apibindings", name));
    installation.create_until("root:consumer-2", 404).await;
    installation.create_until(&installation.consumers[0], 201).await;
}

/// A dead shard is named, and after a while not waited for; nothing of the shards that answer is missing.
#[tokio::test]
async fn a_shard_that_is_dead_at_the_start_is_named_and_holds_readiness_up_for_a_while() {
    let mut installation = Installation::prepare().await;
    installation.kcp.workspace("root:second", 1);
    for object in printed(&["provider", "--export-path", "root:platform"]).await {
        installation.kcp.put("root:second", &object);
    }
    installation.kcp.set_away(1, true);
    installation.serve(&[]);
    let dead = installation.kcp.shard_url(1);
    let readyz = async || {
        let answer = installation.server().get("/readyz?verbose").await;
        answer.map_or((0, String::new()), |answer| (answer.status.as_u16(), answer.text()))
    };
    installation
        .until("the dead shard is named", async || match readyz().await {
            (500, text) if text.contains(&dead) => Ok(()),
            (status, text) => Err(format!("{status} {text}")),
        })
        .await;
    installation
        .until("ready all the same", async || match readyz().await {
            (200, text) if text.contains(&dead) => Ok(()),
            (status, text) => Err(format!("{status} {text}")),
        })
        .await;
    installation.create_until(&installation.consumers[0], 201).await;
    installation.kcp.set_away(1, false);
    installation
        .until("the shard answers", async || match readyz().await {
            (200, text) if !text.contains(&dead) => Ok(()),
            (status, text) => Err(format!("{status} {text}")),
        })
        .await;
}

/// The files of the kubeconfig are replaced while the server runs.
#[tokio::test]
async fn credentials_for_kcp_follow_their_files() {
    let mut installation = Installation::prepare().await;
    let nobody = installation.kcp.user("nobody", &[]);
    installation.rewrite_credentials(&nobody);
    installation.serve(&[]);
    installation
        .until("refused", async || {
            let log = installation.log();
            if log.contains("403") { Ok(()) } else { Err(log) }
        })
        .await;
    assert_eq!(installation.server().get("/readyz").await.unwrap().status, 500);
    // For a moment the key is not the certificate's: what was read before stays.
    let server = installation.kcp.user(SERVER, &[]);
    let half = Identity {
        key_pem: nobody.key_pem.clone(),
        ..server.clone()
    };
    installation.rewrite_credentials(&half);
    installation
        .until("told", async || {
            let log = installation.log();
            if log.contains("cannot be reloaded") {
                Ok(())
            } else {
                Err(log)
            }
        })
        .await;
    installation.rewrite_credentials(&server);
    installation.wait_for("Ready", "True").await;
    installation.create_until(&installation.consumers[1], 201).await;
}

/// Who asks about callers may be somebody else than who reads and publishes.
#[tokio::test]
async fn callers_are_asked_about_with_credentials_of_their_own() {
    let mut installation = Installation::prepare().await;
    let askers = Arc::<Mutex<BTreeSet<String>>>::default();
    installation.kcp.set_policy({
        let askers = Arc::clone(&askers);
        move |question| {
            let about_callers = ["subjectaccessreviews", "apibindings"].contains(&question.resource.as_str());
            if about_callers {
                askers.lock().unwrap().insert(question.user.name.clone());
            }
            (about_callers && question.user.name == "asker").then_some(true)
        }
    });
    let asker = installation
        .kcp
        .kubeconfig(&installation.kcp.user("asker", &[]), "root");
    installation.serve(&["--authorization-kubeconfig", asker.to_str().expect("a path")]);
    installation.create_until(&installation.consumers[1], 201).await;
    assert_eq!(*askers.lock().unwrap(), BTreeSet::from(["asker".to_owned()]));
}

/// One home's questions are bounded; what is too much is 429 with Retry-After, and nobody else's loss.
#[tokio::test(flavor = "multi_thread")]
async fn who_asks_too_much_is_told_to_wait() {
    let installation = Installation::start().await;
    let consumer = installation.consumers[1].clone();
    installation.create_until(&consumer, 201).await;
    let shard = installation.server().with_identity(installation.kcp.shard_identity(1));
    let path = installation.path(&consumer);
    // A kcp that needs its time.
    installation.kcp.set_policy(|question| {
        if question.user.name == "mallory" {
            std::thread::sleep(Duration::from_millis(20));
        }
        None
    });
    // Each question is another one, since the group differs.
    let mut asking = tokio::task::JoinSet::new();
    for n in 0..500 {
        let (shard, path) = (shard.clone(), path.clone());
        asking.spawn(async move {
            let group = format!("group-{n}");
            let headers = [
                ("content-type", "application/json"),
                ("x-remote-user", "mallory"),
                ("x-remote-group", group.as_str()),
            ];
            shard.post(&path, &headers, question()).await
        });
    }
    let mut statuses = BTreeMap::<u16, usize>::new();
    while let Some(answer) = asking.join_next().await {
        // A busy machine does not shake hands with all of them in time.
        let Ok(answer) = answer.unwrap() else { continue };
        if answer.status == 429 {
            assert_eq!(answer.headers["retry-after"], "1");
            assert_eq!(answer.json::<Value>()["reason"], "TooManyRequests");
        }
        let asked = statuses.values().sum::<usize>();
        *statuses.entry(answer.status.as_u16()).or_default() += 1;
        if asked % 20 == 0 {
            assert_eq!(installation.ask(&consumer).await.status, 201, "another user's");
        }
    }
    assert!(
        statuses.contains_key(&429) && statuses.contains_key(&403),
        "{statuses:?}"
    );
    // On a busy machine some questions are let in, but not answered in time.
    assert!(
        statuses.keys().all(|status| [403, 429, 503].contains(status)),
        "{statuses:?}"
    );
}

#[tokio::test]
async fn what_breaks_on_the_way_to_kcp_takes_nothing_away() {
    let installation = Installation::start().await;
    let (near, far) = (&installation.consumers[0], &installation.consumers[1]);
    installation.create_until(near, 201).await;
    installation.create_until(far, 201).await;
    for _ in 0..3 {
        installation.kcp.compact(0);
        installation.kcp.drop_connections(0);
        installation.create_until(far, 201).await;
    }
    // The shard of the provider is away: its nomination stays, and the consumer's own shard still asks here. kcp's
    // shards share slices through the cache server, which stays.
    installation.kcp.set_away(0, true);
    assert_eq!(installation.create(far).await.status, 201);
    installation.kcp.set_away(0, false);
    installation.create_until(near, 201).await;

    installation.kcp.move_workspace("root:provider", 1);
    installation.create_until(far, 201).await;
    installation.wait_for("Ready", "True").await;
    installation.create_until(near, 201).await;
    assert!(installation.is_published());
}
