//! Who publishes: the holder of a Lease, as client-go's leader election has it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::backoff::jittered;
use crate::base::{Cluster, RequestError};
use crate::request::segment;
use crate::stats::Stats;

/// How long others leave the Lease to a holder who renews it no more.
const DURATION: Duration = Duration::from_secs(12);
/// The longest pause between two looks at the Lease.
const PERIOD: Duration = Duration::from_millis(2500);
/// What a look may take, with what is written then.
const STEP: Duration = Duration::from_secs(3);
/// A holder whose last renewal is older leads no more: a pause and a look later the Lease may be another's.
const RENEW_DEADLINE: Duration = DURATION.saturating_sub(PERIOD).saturating_sub(STEP);
const NAMESPACE: &str = "default";

/// A Lease to be held.
pub(super) struct Election {
    cluster: Cluster,
    name: Arc<str>,
    identity: Arc<str>,
    stats: Arc<Stats>,
    /// The Lease as it was last seen, and since when it is that.
    seen: Option<(Lease, Instant)>,
}

impl Election {
    /// The Lease of a name, for a candidate whose identity nobody else has.
    pub(super) fn new(cluster: Cluster, name: Arc<str>, identity: Arc<str>, stats: Arc<Stats>) -> Self {
        Self {
            cluster,
            name,
            identity,
            stats,
            seen: None,
        }
    }

    /// Tries to hold the Lease until `stop`, says in `leads` whether it does, and lets go of it at the end.
    pub(super) async fn run(mut self, leads: watch::Sender<bool>, stop: CancellationToken) {
        let mut renewed = None;
        while !stop.is_cancelled() {
            let began = Instant::now();
            let held = tokio::time::timeout(STEP, self.step()).await;
            match held.unwrap_or(Err(RequestError::TimedOut)) {
                Ok(true) => renewed = Some(began),
                Ok(false) => renewed = None,
                Err(error) => {
                    self.stats.failures.increment();
                    tracing::warn!(
                        lease = &*self.name,
                        error = &error as &dyn std::error::Error,
                        "the Lease cannot be read or renewed"
                    );
                    // What others made of it is not known.
                    self.forget_version();
                }
            }
            let holds = renewed.is_some_and(|at: Instant| at.elapsed() < RENEW_DEADLINE);
            let turned = leads.send_if_modified(|leads| std::mem::replace(leads, holds) != holds);
            if turned {
                let identity = &*self.identity;
                tracing::info!(lease = &*self.name, identity, holds, "leadership changed");
            }
            tokio::select! {
                () = tokio::time::sleep(jittered(PERIOD)) => {}
                () = stop.cancelled() => {}
            }
        }
        leads.send_replace(false);
        if renewed.is_some() {
            self.let_go().await;
        }
    }

    /// Renews the Lease, takes one that is free, or looks who has it. Whether it is held now.
    async fn step(&mut self) -> Result<bool, RequestError> {
        let lease = match self.seen.as_ref().filter(|(lease, _)| self.is_own(lease)) {
            Some((lease, _)) => lease.clone(),
            None => match self.read().await? {
                Some(lease) => lease,
                None => return self.create().await,
            },
        };
        self.observe(&lease);
        if self.is_own(&lease) || self.is_free(&lease) {
            return self.take(lease, &self.identity.clone(), DURATION).await;
        }
        Ok(false)
    }

    async fn read(&self) -> Result<Option<Lease>, RequestError> {
        match self.cluster.get(&self.path()).await {
            Ok(lease) => Ok(Some(lease)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn create(&mut self) -> Result<bool, RequestError> {
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some(self.name.to_string()),
                namespace: Some(NAMESPACE.to_owned()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                acquire_time: Some(MicroTime(Timestamp::now())),
                ..held_by(&self.identity, DURATION)
            }),
        };
        self.stats.lease_writes.increment();
        let created = self.cluster.post(&collection(), &lease).await;
        self.written(created)
    }

    /// Writes the Lease with another holder, or the same one anew.
    async fn take(&mut self, mut lease: Lease, holder: &str, duration: Duration) -> Result<bool, RequestError> {
        let spec = lease.spec.take().unwrap_or_default();
        let changes = spec.holder_identity.as_deref() != Some(holder);
        let transitions = spec.lease_transitions.unwrap_or_default();
        lease.spec = Some(LeaseSpec {
            acquire_time: if changes {
                Some(MicroTime(Timestamp::now()))
            } else {
                spec.acquire_time
            },
            lease_transitions: Some(transitions.saturating_add(i32::from(changes))),
            ..held_by(holder, duration)
        });
        // Others' managers of fields are none of this server's business.
        lease.metadata.managed_fields = None;
        self.stats.lease_writes.increment();
        let replaced = self.cluster.put(&self.path(), &lease).await;
        self.written(replaced)
    }

    fn written(&mut self, result: Result<Lease, RequestError>) -> Result<bool, RequestError> {
        match result {
            Ok(lease) => {
                self.seen = Some((lease, Instant::now()));
                Ok(true)
            }
            // Somebody was faster; the next look says who.
            Err(error) if error.is_conflict() => {
                self.forget_version();
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    async fn let_go(&mut self) {
        let Some((lease, _)) = self.seen.take() else { return };
        if self.is_own(&lease)
            && let Err(error) = self.take(lease, "", Duration::from_secs(1)).await
        {
            let error: &dyn std::error::Error = &error;
            tracing::debug!(lease = &*self.name, error, "the Lease was not let go of");
        }
    }

    /// Keeps since when the Lease has been as it is: clocks of others are not trusted, only that they move.
    fn observe(&mut self, lease: &Lease) {
        let same = |seen: &Lease| seen.spec == lease.spec;
        if !self.seen.as_ref().is_some_and(|(seen, _)| same(seen)) {
            self.seen = Some((lease.clone(), Instant::now()));
        }
    }

    /// The next step reads the Lease.
    fn forget_version(&mut self) {
        if self.seen.as_ref().is_some_and(|(lease, _)| self.is_own(lease)) {
            self.seen = None;
        }
    }

    fn is_own(&self, lease: &Lease) -> bool {
        holder(lease) == &*self.identity
    }

    /// Whether nobody has it, or whoever had it has not renewed it for as long as it was to last.
    fn is_free(&self, lease: &Lease) -> bool {
        let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
        let duration = Duration::from_secs(seconds.unwrap_or_default().clamp(1, 60).unsigned_abs().into());
        let unchanged = self.seen.as_ref().map(|(_, since)| since.elapsed());
        holder(lease).is_empty() || unchanged.is_some_and(|unchanged| unchanged >= duration)
    }

    fn path(&self) -> String {
        format!("{}/{}", collection(), segment(&self.name))
    }
}

fn holder(lease: &Lease) -> &str {
    let spec = lease.spec.as_ref();
    spec.and_then(|spec| spec.holder_identity.as_deref())
        .unwrap_or_default()
}

fn held_by(holder: &str, duration: Duration) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(holder.to_owned()),
        lease_duration_seconds: Some(i32::try_from(duration.as_secs()).unwrap_or(i32::MAX)),
        renew_time: Some(MicroTime(Timestamp::now())),
        ..LeaseSpec::default()
    }
}

fn collection() -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases")
}
