//! The status of an EphemeralWebhook, written through the virtual workspace of the shard that has it.
//!
//! By a merge patch with the version that was judged: through a virtual workspace a server-side apply is carried out
//! as an update, in which no manager owns a field, and a second one may answer a conflict with one's own name.

use std::sync::Arc;

use ephemeral_index::NominationStatus;
use ephemeral_index::conditions::Findings;
use ephemeral_index::kinds::WebhookStatus;
use jiff::{Timestamp, Unit};
use serde_json::{Value, json};

use crate::base::{Base, RequestError};
use crate::request::segment;
use crate::stats::Stats;

/// What decides about a status. While it is the same, the same was tried already.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Attempt {
    version: Arc<str>,
    findings: Findings,
    client_ca_bundle: Option<Arc<str>>,
}

impl Attempt {
    pub(super) fn at(status: &NominationStatus, client_ca_bundle: Option<&Arc<str>>) -> Self {
        Self {
            version: status.meta().resource_version.clone(),
            findings: status.findings().clone(),
            client_ca_bundle: client_ca_bundle.cloned(),
        }
    }
}

/// Writes a status, if it says anything that the object does not say already. Where it
/// succeeds, there is nothing more to be done for this version of the object.
pub(super) async fn write(
    shard: &Base,
    status: &NominationStatus,
    client_ca_bundle: Option<&Arc<str>>,
    counts: &Stats,
) -> Result<(), RequestError> {
    let Some(wanted) = status.to_write(&now(), client_ca_bundle) else {
        return Ok(());
    };
    let meta = status.meta();
    let path = format!(
        "/apis/ephemeral.contrib.kcp.io/v1alpha1/ephemeralwebhooks/{}/status",
        segment(&meta.name)
    );
    counts.status_writes.increment();
    let changes = patch(&meta.name, &meta.resource_version, &wanted);
    match shard.cluster(&meta.cluster).merge_patch(&path, &changes).await {
        Ok(_) => Ok(()),
        // It changed, or is gone: the watch will tell, and then it is judged anew.
        Err(error) if error.is_conflict() || error.is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
}

fn patch(name: &str, version: &str, status: &WebhookStatus) -> Value {
    json!({
        "apiVersion": "ephemeral.contrib.kcp.io/v1alpha1",
        "kind": "EphemeralWebhook",
        "metadata": {"name": name, "resourceVersion": version},
        "status": {
            "observedGeneration": status.observed_generation,
            "conditions": status.conditions,
            "endpoint": status.endpoint,
            "clientCABundle": status.client_ca_bundle,
        },
    })
}

/// RFC 3339 with whole seconds, as `metav1.Time` is written.
fn now() -> String {
    let now = Timestamp::now();
    now.round(Unit::Second).unwrap_or(now).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_kubernetes_writes_them() {
        let now = now();
        assert_eq!(now.len(), "2026-01-02T03:04:05Z".len(), "{now}");
        assert!(now.ends_with('Z'));
    }

    #[test]
    fn what_is_not_to_be_there_is_removed() {
        let status = WebhookStatus {
            observed_generation: 3,
            ..WebhookStatus::default()
        };
        assert_eq!(
            patch("w", "7", &status),
            json!({
                "apiVersion": "ephemeral.contrib.kcp.io/v1alpha1",
                "kind": "EphemeralWebhook",
                "metadata": {"name": "w", "resourceVersion": "7"},
                "status": {"observedGeneration": 3, "conditions": [], "endpoint": null, "clientCABundle": null},
            })
        );
    }
}
