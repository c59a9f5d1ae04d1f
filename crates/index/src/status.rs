//! The status of an EphemeralWebhook as it should be.

use std::sync::Arc;

use crate::conditions::Findings;
use crate::index::Publisher;
use crate::kinds::{EphemeralWebhook, ObjectMeta, WebhookStatus};

/// What is to be said in the status of an EphemeralWebhook of kcp.
#[derive(Clone, Debug)]
pub struct NominationStatus {
    shard: Arc<str>,
    webhook: Arc<EphemeralWebhook>,
    findings: Findings,
    endpoint: Option<Arc<str>>,
    /// Whether the status is another publisher's to write.
    is_anothers: bool,
}

impl NominationStatus {
    pub(crate) fn new(
        shard: Arc<str>,
        webhook: Arc<EphemeralWebhook>,
        findings: Findings,
        publisher: Option<&Publisher>,
        is_anothers: bool,
    ) -> Self {
        let export = webhook.target.as_ref().ok().map(|target| &target.export);
        let endpoint = export
            .zip(publisher)
            .map(|(export, publisher)| publisher.url(&webhook.meta.cluster, export).into());
        Self {
            shard,
            webhook,
            findings,
            endpoint,
            is_anothers,
        }
    }

    /// The shard that the object was read from; resource versions mean something only there.
    pub const fn shard(&self) -> &Arc<str> {
        &self.shard
    }

    /// Which object it is the status of; a write must carry its resource version.
    pub fn meta(&self) -> &ObjectMeta {
        &self.webhook.meta
    }

    /// What was found out.
    pub const fn findings(&self) -> &Findings {
        &self.findings
    }

    /// The status to write at `now` (RFC 3339), or nothing where the object already says it.
    ///
    /// Where several installations publish one export, one of them writes: the one whose endpoint the status names, for
    /// as long as that is in the slice. They would else overwrite each other for ever.
    ///
    /// `client_ca_bundle` is base64 of PEM: the CA of the client certificate that webhooks are called with.
    pub fn to_write(&self, now: &str, client_ca_bundle: Option<&Arc<str>>) -> Option<WebhookStatus> {
        if self.is_anothers {
            return None;
        }
        let generation = self.webhook.meta.generation;
        let status = WebhookStatus {
            observed_generation: generation,
            conditions: self
                .findings
                .conditions(&self.webhook.status.conditions, generation, now),
            endpoint: self.endpoint.clone(),
            client_ca_bundle: client_ca_bundle.cloned(),
        };
        (status != self.webhook.status).then_some(status)
    }
}
