//! What goes and comes: nominations, the server, shards.

use serde_json::json;

use super::installation::{
    CONSUMERS, GROUP, Installation, NOMINATION, PROVIDER, RESOURCE, SECOND_CONSUMER, SECOND_PROVIDER, SLICE, question,
};

/// kcp's own entries are never touched, and one that somebody removed comes back.
pub(crate) async fn the_entry_follows_the_nomination(installation: &Installation) {
    installation.wait_published(true).await;
    let provider = installation.admin(PROVIDER);
    let others = async || {
        let mut entries = installation.entries(PROVIDER).await;
        entries.retain(|url| *url != installation.endpoint());
        entries
    };
    let before = others().await;
    // kcp may add the other shard's at any time.
    let untouched = async || {
        let after = others().await;
        assert!(before.iter().all(|url| after.contains(url)), "{before:?} {after:?}");
    };
    assert!(!before.is_empty());

    provider.ok_text(&["delete", "ephemeralwebhook", NOMINATION], "").await;
    installation.wait_published(false).await;
    untouched().await;
    // kcp's own entry leads back to kcp.
    installation.refused(CONSUMERS[0], "forwarded 4 times").await;
    let (well, said) = installation.doctor(CONSUMERS[0]).await;
    assert!(!well, "{said}");
    installation.nominate(PROVIDER).await;
    installation.wait_published(true).await;
    untouched().await;

    let emptied = json!({"status": {"endpoints": []}}).to_string();
    let patch = [
        "patch",
        "apiexportendpointslice",
        SLICE,
        "--subresource=status",
        "--type=merge",
        "-p",
        &emptied,
    ];
    provider.ok_text(&patch, "").await;
    installation.wait_published(true).await;
    for consumer in CONSUMERS {
        installation.answered(consumer).await;
    }
}

pub(crate) async fn a_nomination_that_went_meanwhile_is_withdrawn(installation: &mut Installation) {
    installation.wait_published(true).await;
    installation.kill_server();
    let (well, said) = installation.doctor(CONSUMERS[0]).await;
    assert!(!well, "{said}");
    let provider = installation.admin(PROVIDER);
    provider.ok_text(&["delete", "ephemeralwebhook", NOMINATION], "").await;
    assert!(installation.entries(PROVIDER).await.contains(&installation.endpoint()));
    installation.serve();
    installation.wait_published(false).await;
    installation.nominate(PROVIDER).await;
    installation.wait_published(true).await;
    for consumer in CONSUMERS {
        installation.answered(consumer).await;
    }
}

/// Whatever is away, what is known stays known, and who can be reached is served.
pub(crate) async fn a_shard_may_go_and_come(installation: &mut Installation) {
    let [near, far] = CONSUMERS;
    installation.kcp.kill_shard(1);
    for consumer in [near, SECOND_CONSUMER] {
        // The nomination of the second is on the shard that is away.
        installation.answered(consumer).await;
    }
    assert!(installation.is_ready().await, "{}", installation.log());

    // A server that starts now waits for the shard for a while, and then serves who is known.
    installation.kill_server();
    installation.serve();
    installation
        .until("ready without the shard", async || {
            installation
                .is_ready()
                .await
                .then_some(())
                .ok_or("not ready".to_owned())
        })
        .await;
    let away = installation.kcp.shard_url(1);
    let log = installation.log();
    assert!(
        log.lines()
            .any(|line| line.contains("cannot be read") && line.contains(&away)),
        "{log}"
    );
    installation.answered(near).await;
    // Its provider was never read, and may be there.
    let path = format!("/clusters/{SECOND_CONSUMER}/apis/{GROUP}/v1/namespaces/default/{RESOURCE}");
    let client = installation.kcp.client(&installation.kcp.admin());
    let answer = client
        .post_json(&path, question().to_string())
        .await
        .expect("an answer");
    assert_eq!(answer.status, 503, "{}", answer.text());

    installation.kcp.restart_shard(1).await;
    for consumer in [far, SECOND_CONSUMER] {
        installation.answered(consumer).await;
    }
}

/// The shard of the provider, of its nomination and of the platform.
pub(crate) async fn the_first_shard_may_go_and_come(installation: &mut Installation) {
    installation.kcp.kill_shard(0);
    let far = installation.consumers[1].clone();
    installation.answered(&far).await;
    assert!(installation.is_ready().await, "{}", installation.log());
    installation.kcp.restart_shard(0).await;
    for consumer in CONSUMERS {
        installation.answered(consumer).await;
    }
    installation.wait_condition("Ready", "True").await;
    assert!(installation.is_ready().await);
}

/// The last provider of its shard, so that the shard does not serve the kind any more.
pub(crate) async fn a_provider_may_leave(installation: &Installation) {
    let provider = installation.admin(SECOND_PROVIDER);
    let delete = ["delete", "apibinding", "ephemeral.contrib.kcp.io", "--timeout=100s"];
    provider.ok_text(&delete, "").await;
    installation
        .until("the entry is withdrawn", async || {
            let entries = installation.entries(SECOND_PROVIDER).await;
            let left = entries.iter().any(|url| url.contains("/services/ephemeral/"));
            (!left).then_some(()).ok_or(format!("{entries:?}"))
        })
        .await;
    assert!(installation.is_ready().await, "{}", installation.log());
    let [cluster, _] = &installation.second;
    installation.delete_workspace(SECOND_PROVIDER, cluster, 1).await;
    installation.answered(CONSUMERS[0]).await;
}

/// Those of consumers. Without an entry in the slice this would hang: to delete a namespace kcp lists what is in it.
pub(crate) async fn workspaces_can_be_deleted(installation: &Installation) {
    let ([_, second], [_, far]) = (&installation.second, &installation.consumers);
    for (path, cluster, shard) in [(SECOND_CONSUMER, second, 0), (CONSUMERS[1], far, 1)] {
        installation.delete_workspace(path, cluster, shard).await;
    }
    installation.answered(CONSUMERS[0]).await;
}
