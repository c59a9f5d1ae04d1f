//! `serve` on a kcp of two shards: the provider on one, consumers on both.

mod support;

use serde_json::{Value, json};
use tokio::time::{Duration, sleep};

use support::PATIENCE;
use support::installation::{GROUP, Installation, NOMINATION, SERVER, SLICE, collection, kubectl};

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
    std::fs::write(&object, support::installation::question()).unwrap();
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

#[tokio::test]
async fn entries_come_back_go_with_the_nomination_and_nothing_is_written_without_need() {
    let installation = Installation::start().await;
    installation.wait_for("Ready", "True").await;
    let settled = installation.kcp.writes_of(SERVER);
    // One entry, and a status for each thing that was found out: no loop writes.
    assert!(settled.len() <= 6, "{settled:?}");
    let touched: Vec<_> = settled.iter().map(|asked| asked.resource.as_str()).collect();
    assert_eq!(
        touched
            .iter()
            .filter(|resource| **resource == "apiexportendpointslices/status")
            .count(),
        1,
        "{settled:?}"
    );

    // Somebody else's entry, for other shards, stays whatever happens.
    let other = json!({"url": "https://elsewhere", "shards": {"selector": {"matchLabels": {"region": "us"}}}});
    let mut slice = json!({
        "apiVersion": "apis.kcp.io/v1alpha1", "kind": "APIExportEndpointSlice", "metadata": {"name": SLICE},
        "status": {"endpoints": [other]},
    });
    assert!(installation.kcp.apply_status("root:provider", &slice, "other"));

    // An editor takes the own entry away; at the latest the look of each minute brings it back.
    slice = installation.object("apiexportendpointslices", SLICE);
    let own = installation.endpoint();
    let entries = slice["status"]["endpoints"].as_array_mut().unwrap();
    entries.retain(|entry| entry["url"] != own);
    installation.kcp.put_status("root:provider", &slice);
    assert!(!installation.is_published());
    let end = tokio::time::Instant::now() + PATIENCE + Duration::from_secs(30);
    while !installation.is_published() {
        assert!(tokio::time::Instant::now() < end, "{}", installation.log());
        sleep(Duration::from_millis(200)).await;
    }

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
async fn one_replica_publishes_and_another_follows_it() {
    let mut installation = Installation::start().await;
    installation.wait_for("Ready", "True").await;
    installation.serve_replica();
    installation.kill(0).await;
    // The port of the first is free again: the endpoint is the same, and the replica has to take the Lease over.
    let nomination = installation.object("ephemeralwebhooks", NOMINATION);
    assert!(
        installation
            .kcp
            .delete("root:provider", "ephemeralwebhooks", NOMINATION)
    );
    installation.wait_published(false).await;
    installation.kcp.put("root:provider", &nomination);
    installation.wait_published(true).await;
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
