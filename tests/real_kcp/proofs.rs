//! What a consumer and a provider are promised.

use std::fs;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::installation::{CONSUMERS, GROUP, Installation, PROVIDER, RESOURCE, SECOND_CONSUMER};

/// Also for a consumer on another shard than the provider's; and the server presents its certificate to a webhook that
/// asks for one and requires none.
pub(crate) async fn the_answer_is_the_webhooks(installation: &Installation) {
    for (consumer, cluster) in CONSUMERS.iter().zip(&installation.consumers) {
        let answer = installation.answered(consumer).await;
        assert_eq!(answer["spec"], json!({"place": "pier-7", "hours": 24}), "with defaults");
        assert!(answer["metadata"].get("uid").is_none(), "{answer}");
        let recorded = installation.webhook.recorded();
        let review = recorded.last().expect("it was called");
        assert_eq!(review.text(&["request", "cluster"]), *cluster);
        assert_eq!(review.text(&["request", "export", "cluster"]), installation.provider);
        assert_eq!(review.text(&["request", "userInfo", "username"]), "kcp-admin");
        assert_eq!(review.certificates.len(), 1, "the client certificate was presented");
        let resources = installation
            .admin(consumer)
            .ok_text(&["api-resources", "-o", "wide"], "")
            .await;
        let line = resources
            .lines()
            .find(|line| line.starts_with(RESOURCE))
            .expect("it is discovered");
        assert!(line.contains("create") && !line.contains("watch"), "{line}");
    }
    installation.wait_condition("Ready", "True").await;
    installation.answered(SECOND_CONSUMER).await;
}

pub(crate) async fn doctor_finds_nothing_wrong(installation: &Installation) {
    for consumer in CONSUMERS {
        let (well, said) = installation.doctor(consumer).await;
        assert!(well, "{said}");
    }
}

pub(crate) async fn nothing_is_stored(installation: &Installation) {
    for (shard, consumer) in CONSUMERS.iter().enumerate() {
        installation.answered(consumer).await;
        let kubectl = installation.admin(consumer);
        let list = kubectl.get(&[RESOURCE, "-A"]).await;
        assert_eq!(list["items"], json!([]));
        let said = kubectl
            .run(&["get", RESOURCE, "tomorrow"], "")
            .await
            .expect_err("nothing is stored");
        assert!(said.contains("NotFound"), "{said}");
        let all = installation.kcp.stored(shard, "/registry/").await;
        assert!(
            all.iter().any(|key| key.contains("/apibindings/")),
            "etcd is read: {all:?}"
        );
        let ours = |key: &&String| key.starts_with(&format!("/registry/{GROUP}/")) || key.ends_with("/tomorrow");
        let ours: Vec<_> = all.iter().filter(ours).collect();
        assert!(ours.is_empty(), "{ours:?}");
    }
}

/// Through the virtual workspace of its own export, on the shard of each consumer.
pub(crate) async fn a_provider_asks_by_its_own_path(installation: &Installation) {
    for (shard, cluster) in installation.consumers.iter().enumerate() {
        let base = installation.kcp.shard_url(shard);
        let url = format!(
            "{base}/services/apiexport/{}/{GROUP}/clusters/{cluster}",
            installation.provider
        );
        let kubectl = installation.admin_at(&url);
        let answer = installation
            .until("an answer to the provider", async || {
                kubectl.create(&["-o", "jsonpath={.status.celsius}"]).await
            })
            .await;
        assert_eq!(answer, "21");
    }
}

pub(crate) async fn an_unreachable_webhook_is_unavailable(installation: &Installation) {
    let silent = format!("https://localhost:{}/", installation.silent_port);
    installation.patch_nomination(&json!({"url": silent})).await;
    for consumer in CONSUMERS {
        installation
            .refused(consumer, "Error from server (ServiceUnavailable)")
            .await;
        let said = installation.admin(consumer).create(&[]).await.expect_err("unreachable");
        assert!(!said.contains("localhost") && !said.contains("127.0.0.1"), "{said}");
    }
    let (well, said) = installation.doctor(CONSUMERS[1]).await;
    assert!(!well, "{said}");
    // What could not be reached is the webhook's failure, not the nomination's.
    installation.wait_condition("Ready", "True").await;
    installation
        .patch_nomination(&json!({"url": installation.webhook.url("/")}))
        .await;
    installation.answered(CONSUMERS[1]).await;
}

pub(crate) async fn a_ca_bundle_is_exchanged_while_it_runs(installation: &Installation) {
    let bundle = |name: &str| {
        let pem = fs::read(installation.kcp.directory().join(name)).expect("a file");
        BASE64_STANDARD.encode(pem)
    };
    installation
        .patch_nomination(&json!({"url": installation.new_webhook.url("/")}))
        .await;
    installation
        .refused(CONSUMERS[1], "Error from server (ServiceUnavailable)")
        .await;
    installation
        .patch_nomination(&json!({"caBundle": bundle("new-webhook-ca.crt")}))
        .await;
    for consumer in CONSUMERS {
        installation.answered(consumer).await;
    }
    assert!(!installation.new_webhook.recorded().is_empty());
    let old = json!({"url": installation.webhook.url("/"), "caBundle": bundle("webhook-ca.crt")});
    installation.patch_nomination(&old).await;
    let before = installation.webhook.recorded().len();
    installation
        .until("the old webhook is asked again", async || {
            installation.answered(CONSUMERS[0]).await;
            (installation.webhook.recorded().len() > before)
                .then_some(())
                .ok_or("the new one is".to_owned())
        })
        .await;
}

pub(crate) async fn claims_that_are_not_accepted_are_named(installation: &Installation) {
    let provider = installation.admin(PROVIDER);
    let set = async |state: &str| {
        let binding = "ephemeral.contrib.kcp.io";
        let patch = json!([0, 1].map(|at| {
            json!({"op": "replace", "path": format!("/spec/permissionClaims/{at}/state"), "value": state})
        }));
        let patch = patch.to_string();
        provider
            .ok_text(&["patch", "apibinding", binding, "--type=json", "-p", &patch], "")
            .await;
    };
    set("Rejected").await;
    installation
        .wait_condition("ResourceResolved", "False ClaimsNotAccepted")
        .await;
    set("Accepted").await;
    installation.wait_condition("Ready", "True").await;
    installation.answered(CONSUMERS[0]).await;
}

pub(crate) async fn nothing_holds_a_namespace_or_a_binding(installation: &Installation) {
    for consumer in CONSUMERS {
        let kubectl = installation.admin(consumer);
        kubectl.ok_text(&["create", "namespace", "short-lived"], "").await;
        kubectl
            .ok_text(&["delete", "namespace", "short-lived", "--timeout=100s"], "")
            .await;
        kubectl
            .ok_text(&["delete", "apibinding", "weather", "--timeout=100s"], "")
            .await;
        let said = installation.until("no such resource", async || match kubectl.create(&[]).await {
            Err(said) => Ok(said),
            Ok(said) => Err(said),
        });
        let said = said.await;
        assert!(
            said.contains("no matches for kind") || said.contains("NotFound"),
            "{said}"
        );
        installation.bind(consumer, PROVIDER).await;
        installation.answered(consumer).await;
    }
}
