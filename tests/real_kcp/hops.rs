//! `doctor` on broken set-ups: the right hop, and the fix.

use ephemeral_testing::webhook::Reply;
use serde_json::{Value, json};

use super::installation::{CONSUMERS, GROUP, Installation, NOMINATION, PROVIDER, SECOND_PROVIDER, SLICE, forecast};

const CONSUMER: &str = CONSUMERS[1];

/// Waits until `doctor` finds the way broken first at this hop, in these words.
async fn expect(installation: &Installation, hop: &str, words: &str) {
    installation
        .until(&format!("{hop}: {words}"), async || {
            let report = installation.report(CONSUMER).await;
            let hops = report["hops"].as_array().expect("hops");
            let broken = hops
                .iter()
                .find(|hop| hop["result"] == "broken")
                .cloned()
                .unwrap_or_default();
            let said = format!("{}: {} / {}", broken["hop"], broken["finding"], broken["fix"]);
            let is_it = broken["hop"] == hop && said.contains(words);
            is_it.then_some(()).ok_or(said)
        })
        .await;
}

/// Waits until `doctor` finds nothing wrong.
async fn expect_health(installation: &Installation) {
    installation
        .until("health", async || {
            let report = installation.report(CONSUMER).await;
            (report["healthy"] == true).then_some(()).ok_or(report.to_string())
        })
        .await;
}

/// Replaces a part of the reference in the APIExport.
async fn refer(installation: &Installation, field: &str, value: &str) {
    let at = format!("/spec/resources/0/storage/virtual/reference/{field}");
    let change = json!([{"op": "replace", "path": at, "value": value}]).to_string();
    let patch = ["patch", "apiexport", GROUP, "--type=json", "-p", &change];
    installation.admin(PROVIDER).ok_text(&patch, "").await;
}

pub(crate) async fn what_is_wrong_with_the_binding(installation: &Installation) {
    let consumer = installation.admin(CONSUMER);
    let unbind = ["delete", "apibinding", "weather"];
    consumer.ok_text(&unbind, "").await;
    expect(installation, "binding", "kubectl kcp bind apiexport").await;
    installation.bind(CONSUMER, SECOND_PROVIDER).await;
    expect(installation, "binding", "bind the export of the right workspace").await;
    consumer.ok_text(&unbind, "").await;
    installation.bind(CONSUMER, PROVIDER).await;
    expect_health(installation).await;
}

pub(crate) async fn what_is_wrong_with_the_reference(installation: &Installation) {
    for (field, value, good, hop, words) in [
        ("name", GROUP, SLICE, "reference", "create a second slice"),
        (
            "name",
            "nowhere",
            SLICE,
            "slice",
            "there is no APIExportEndpointSlice nowhere",
        ),
        (
            "kind",
            "Almanac",
            "APIExportEndpointSlice",
            "reference",
            "refer to an APIExportEndpointSlice",
        ),
    ] {
        refer(installation, field, value).await;
        expect(installation, hop, words).await;
        refer(installation, field, good).await;
        expect_health(installation).await;
    }
}

pub(crate) async fn what_is_wrong_with_the_endpoint(installation: &Installation) {
    let provider = installation.admin(PROVIDER);
    let apply = [
        "apply",
        "--server-side",
        "--subresource=status",
        "--field-manager=gone",
        "-f",
        "-",
    ];
    let slice = |endpoints: Value| {
        json!({
            "apiVersion": "apis.kcp.io/v1alpha1", "kind": "APIExportEndpointSlice", "metadata": {"name": SLICE},
            "status": {"endpoints": endpoints},
        })
    };
    let left_behind = json!([{"url": "https://gone.example.org/services/ephemeral/x/y", "shards": {"matchAll": true}}]);
    provider.ok(&apply, &slice(left_behind)).await;
    expect(installation, "endpoint", "gone.example.org").await;
    provider.ok(&apply, &slice(json!([]))).await;
    expect_health(installation).await;
}

pub(crate) async fn what_is_wrong_with_the_nomination(installation: &Installation) {
    let nomination = installation
        .admin(PROVIDER)
        .get(&["ephemeralwebhook", NOMINATION])
        .await;
    for (field, value, reason) in [
        ("url", "https://10.0.0.1/", "URLRefused"),
        ("caBundle", "bm9uZQ==", "CABundleInvalid"),
    ] {
        installation.patch_nomination(&json!({field: value})).await;
        expect(installation, "nomination", reason).await;
        installation
            .patch_nomination(&json!({field: nomination["spec"][field]}))
            .await;
        expect_health(installation).await;
    }
    let mut younger = nomination.clone();
    younger["metadata"] = json!({"name": "zz-younger"});
    let provider = installation.admin(PROVIDER);
    provider.ok(&["create", "-f", "-"], &younger).await;
    expect(installation, "nomination", "Conflicted").await;
    provider
        .ok_text(&["delete", "ephemeralwebhook", "zz-younger"], "")
        .await;
    expect_health(installation).await;
}

pub(crate) async fn what_is_wrong_with_the_webhook(installation: &Installation) {
    installation
        .webhook
        .set(|review| Reply::with_status(review, json!({"celsius": "warm"})));
    expect(installation, "webhook", "breaks the contract").await;
    installation
        .webhook
        .set(|_| Reply::body(http::StatusCode::OK, "<html>"));
    expect(installation, "webhook", "not with an EphemeralReview").await;
    installation.webhook.set(forecast);
    expect_health(installation).await;
}
