//! What is to be published, and when: decides, and asks nobody.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ephemeral_index::conditions::Finding;
use ephemeral_index::kinds::APIExportEndpointSlice;
use ephemeral_index::{NominationStatus, Problem, SliceAction, SliceIntent};
use tokio::time::Instant;

use super::jobs::{Failed, Job, Outcome};
use super::schedule::Schedule;
use super::slices::{self, Forbidden, is_write};
use super::statuses::Attempt;
use super::{ObjectKey, Work};
use crate::backoff::{Backoff, jittered};

/// The shortest time between two writes of one status: much happens at once when a nomination is new.
const STATUS_PAUSE: Duration = Duration::from_secs(1);

/// What a job is about.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) enum Key {
    Slice(ObjectKey),
    Status(ObjectKey),
    Claims(Arc<str>),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slice(key) => write!(f, "APIExportEndpointSlice {} of {}", key.name, key.cluster),
            Self::Status(key) => write!(f, "EphemeralWebhook {} of {}", key.name, key.cluster),
            Self::Claims(cluster) => write!(f, "APIBindings of {cluster}"),
        }
    }
}

/// Everything that there is to publish. While another replica leads it only takes notes.
pub(super) struct Ledger {
    leads: bool,
    client_ca: Option<Arc<str>>,
    /// How often a slice is looked at where all is well.
    period: Duration,
    slices: HashMap<ObjectKey, Slice>,
    statuses: BTreeMap<ObjectKey, Status>,
    claims: HashMap<Arc<str>, Claims>,
    schedule: Schedule<Key>,
    running: HashSet<Key>,
    /// What became due while it was running.
    again: HashSet<Key>,
}

struct Slice {
    action: SliceAction,
    fresh: bool,
    told: Option<Arc<APIExportEndpointSlice>>,
    forbidden: Option<Forbidden>,
    /// Whether it was written to, and the index was not content yet.
    wrote: bool,
    backoff: Backoff,
}

struct Status {
    wanted: Box<NominationStatus>,
    attempt: Option<Attempt>,
    wrote_at: Option<Instant>,
    backoff: Backoff,
}

#[derive(Default)]
struct Claims {
    refused: bool,
    backoff: Backoff,
}

impl Ledger {
    pub(super) fn new(client_ca: Option<Arc<str>>, period: Duration) -> Self {
        Self {
            leads: false,
            client_ca,
            period,
            slices: HashMap::new(),
            statuses: BTreeMap::new(),
            claims: HashMap::new(),
            schedule: Schedule::default(),
            running: HashSet::new(),
            again: HashSet::new(),
        }
    }

    /// Takes work in.
    pub(super) fn take(&mut self, work: Work, now: Instant) {
        match work {
            Work::Changed { statuses, slices } => {
                for status in statuses {
                    self.take_status(status, now);
                }
                for intent in slices {
                    self.take_intent(intent, now);
                }
            }
            Work::All { statuses, slices } => {
                self.retain(&statuses, &slices, now);
                for status in statuses {
                    // What was in conflict may be tried again.
                    if let Some(known) = self.statuses.get_mut(&key_of(&status)) {
                        known.attempt = None;
                    }
                    self.take_status(status, now);
                }
                for intent in slices {
                    let known = self.slices.get(&ObjectKey::from(&intent));
                    if known.is_none_or(|slice| slice.action != intent.action) {
                        self.take_intent(intent, now);
                    }
                }
            }
        }
    }

    /// Begins to publish, or ends. What was read while another led is read anew before anything is written.
    pub(super) fn lead(&mut self, leads: bool, now: Instant) {
        self.leads = leads;
        self.running.clear();
        self.again.clear();
        self.schedule.clear();
        if !leads {
            return;
        }
        for (key, slice) in &mut self.slices {
            slice.fresh = false;
            slice.wrote = false;
            self.schedule.set(Key::Slice(key.clone()), now);
        }
        for cluster in self.claims.keys() {
            self.schedule.set(Key::Claims(cluster.clone()), now);
        }
        let statuses: Vec<_> = self.statuses.keys().cloned().collect();
        for key in statuses {
            self.plan_status(key, now);
        }
    }

    pub(super) fn set_client_ca(&mut self, client_ca: Option<Arc<str>>, now: Instant) {
        self.client_ca = client_ca;
        let statuses: Vec<_> = self.statuses.keys().cloned().collect();
        for key in statuses {
            self.plan_status(key, now);
        }
    }

    /// When there will be a job, unless something happens before.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.schedule.next()
    }

    /// A job that is due.
    pub(super) fn next_job(&mut self, now: Instant) -> Option<(Key, Job)> {
        while let Some(key) = self.schedule.take_due(now) {
            if self.running.contains(&key) {
                self.again.insert(key);
            } else if let Some(job) = self.job(&key) {
                self.running.insert(key.clone());
                return Some((key, job));
            }
        }
        None
    }

    /// Takes in what came of a job.
    pub(super) fn finish(&mut self, key: Key, outcome: Outcome, now: Instant) {
        if !self.running.remove(&key) {
            // Of an earlier term.
            return;
        }
        match (&key, outcome) {
            (Key::Slice(object), Outcome::Slice(done)) => self.finish_slice(object, done, now),
            (Key::Status(object), Outcome::Status(attempt)) => self.finish_status(object, attempt, now),
            (Key::Claims(cluster), Outcome::Claims(refused)) => self.finish_claims(cluster, refused.ok(), now),
            _ => unreachable!("an outcome is of the kind of its job"),
        }
        if self.again.remove(&key) && !matches!(key, Key::Status(_)) {
            // A status was planned anew already.
            self.schedule.hasten(key, now);
        }
    }

    fn job(&self, key: &Key) -> Option<Job> {
        Some(match key {
            Key::Slice(object) => {
                let slice = self.slices.get(object)?;
                Job::Slice(slices::Job {
                    key: object.clone(),
                    action: slice.action.clone(),
                    fresh: slice.fresh,
                    told: slice.told.clone(),
                    forbidden: slice.forbidden.clone(),
                })
            }
            Key::Status(object) => {
                let differs = |status: &&Status| status.differs(self.client_ca.as_ref());
                let status = self.statuses.get(object).filter(differs)?;
                Job::Status {
                    status: status.wanted.clone(),
                    client_ca: self.client_ca.clone(),
                }
            }
            Key::Claims(cluster) => {
                self.claims.get(cluster)?;
                Job::Claims {
                    cluster: cluster.clone(),
                    asked: self.is_asked(cluster),
                }
            }
        })
    }

    fn take_intent(&mut self, intent: SliceIntent, now: Instant) {
        let key = ObjectKey::from(&intent);
        let settled = self.is_settled(&key.cluster);
        let slice = self.slices.entry(key.clone()).or_insert_with(Slice::new);
        slice.action = intent.action;
        let when = match &slice.action {
            SliceAction::Keep => {
                slice.wrote = false;
                slice.backoff.reset();
                if settled { self.period } else { slice.backoff.delay() }
            }
            // What was written did not content the index: however that may be, it must not go on in haste.
            SliceAction::Publish(_) | SliceAction::Withdraw if slice.wrote => slice.backoff.delay(),
            SliceAction::Publish(_) | SliceAction::Withdraw | SliceAction::Read => Duration::ZERO,
        };
        if self.leads {
            self.schedule.hasten(Key::Slice(key), now + when);
        }
    }

    fn finish_slice(&mut self, key: &ObjectKey, done: Result<slices::Done, Failed>, now: Instant) {
        let settled = self.is_settled(&key.cluster);
        let Some(slice) = self.slices.get_mut(key) else { return };
        let after = if let Ok(done) = done {
            slice.wrote |= slice.fresh && is_write(&slice.action);
            slice.fresh = true;
            slice.told = done.told;
            slice.forbidden = done.forbidden;
            if settled && !is_write(&slice.action) {
                slice.backoff.reset();
                jittered(self.period)
            } else {
                slice.backoff.delay()
            }
        } else {
            slice.fresh = false;
            slice.backoff.delay()
        };
        self.schedule.hasten(Key::Slice(key.clone()), now + after);
    }

    fn take_status(&mut self, status: NominationStatus, now: Instant) {
        let key = key_of(&status);
        let cluster = key.cluster.clone();
        let asks = asks_for_claims(&status);
        let status = Box::new(status);
        if let Some(known) = self.statuses.get_mut(&key) {
            known.wanted = status;
        } else {
            let new = Status {
                wanted: status,
                attempt: None,
                wrote_at: None,
                backoff: Backoff::default(),
            };
            self.statuses.insert(key.clone(), new);
        }
        self.plan_status(key, now);
        if asks && !self.claims.contains_key(&cluster) {
            self.claims.insert(cluster.clone(), Claims::default());
            if self.leads {
                self.schedule.hasten(Key::Claims(cluster), now);
            }
        }
    }

    /// Has a status written, if there is anything to write that was not tried already.
    fn plan_status(&mut self, key: ObjectKey, now: Instant) {
        let differs = |status: &&Status| status.differs(self.client_ca.as_ref());
        let Some(status) = self.statuses.get(&key).filter(differs).filter(|_| self.leads) else {
            return;
        };
        let when = status.wrote_at.map_or(now, |at| now.max(at + STATUS_PAUSE));
        self.schedule.hasten(Key::Status(key), when);
    }

    fn finish_status(&mut self, key: &ObjectKey, attempt: Result<Attempt, Failed>, now: Instant) {
        let Some(status) = self.statuses.get_mut(key) else {
            return;
        };
        status.wrote_at = Some(now);
        if let Ok(attempt) = attempt {
            status.attempt = Some(attempt);
            status.backoff.reset();
            // It may have changed meanwhile.
            self.plan_status(key.clone(), now);
        } else {
            let when = now + status.backoff.delay();
            self.schedule.hasten(Key::Status(key.clone()), when);
        }
    }

    fn finish_claims(&mut self, cluster: &Arc<str>, refused: Option<bool>, now: Instant) {
        let asked = self.is_asked(cluster);
        let Some(claims) = self.claims.get_mut(cluster) else {
            return;
        };
        claims.refused = refused.unwrap_or(claims.refused);
        if asked || claims.refused {
            let when = now + claims.backoff.delay();
            self.schedule.hasten(Key::Claims(cluster.clone()), when);
        } else {
            self.claims.remove(cluster);
        }
    }

    /// Forgets what is not mentioned any more.
    fn retain(&mut self, statuses: &[NominationStatus], slices: &[SliceIntent], now: Instant) {
        let kept: BTreeSet<_> = statuses.iter().map(key_of).collect();
        let gone: Vec<_> = self.statuses.extract_if(.., |key, _| !kept.contains(key)).collect();
        for (key, _) in gone {
            self.schedule.remove(&Key::Status(key));
        }
        let kept: HashSet<_> = slices.iter().map(ObjectKey::from).collect();
        let gone: Vec<_> = self.slices.extract_if(|key, _| !kept.contains(key)).collect();
        for (key, _) in gone {
            self.schedule.remove(&Key::Slice(key));
        }
        if self.leads {
            for cluster in self.claims.keys() {
                self.schedule.hasten(Key::Claims(cluster.clone()), now + self.period);
            }
        }
    }

    /// Whether every nomination of a logical cluster has its endpoint where it should be.
    fn is_settled(&self, cluster: &Arc<str>) -> bool {
        self.statuses_of(cluster)
            .all(|status| status.wanted.findings().published == Finding::Good)
    }

    /// Whether it matters if the claims are accepted.
    fn is_asked(&self, cluster: &Arc<str>) -> bool {
        self.statuses_of(cluster).any(|status| asks_for_claims(&status.wanted))
    }

    fn statuses_of(&self, cluster: &Arc<str>) -> impl Iterator<Item = &Status> {
        let first = ObjectKey {
            cluster: cluster.clone(),
            name: "".into(),
        };
        self.statuses
            .range(first..)
            .take_while(move |(key, _)| key.cluster == *cluster)
            .map(|(_, status)| status)
    }
}

impl Slice {
    fn new() -> Self {
        Self {
            action: SliceAction::Read,
            fresh: false,
            told: None,
            forbidden: None,
            wrote: false,
            backoff: Backoff::default(),
        }
    }
}

impl Status {
    /// Whether there is anything to write that was not tried already.
    fn differs(&self, client_ca: Option<&Arc<str>>) -> bool {
        let tried = self.attempt.as_ref() == Some(&Attempt::at(&self.wanted, client_ca));
        // When it is written does not matter here.
        !tried && self.wanted.to_write("", client_ca).is_some()
    }
}

impl From<&SliceIntent> for ObjectKey {
    fn from(intent: &SliceIntent) -> Self {
        Self {
            cluster: intent.cluster.clone(),
            name: intent.name.clone(),
        }
    }
}

fn key_of(status: &NominationStatus) -> ObjectKey {
    let meta = status.meta();
    ObjectKey {
        cluster: meta.cluster.clone(),
        name: meta.name.clone(),
    }
}

/// Whether what is wrong may be that claims are not accepted.
fn asks_for_claims(status: &NominationStatus) -> bool {
    matches!(
        status.findings().resolved.problem(),
        Some(Problem::ExportNotFound | Problem::SchemaNotFound | Problem::ClaimsNotAccepted)
    )
}
