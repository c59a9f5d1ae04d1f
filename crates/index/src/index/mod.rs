//! The fold of events into snapshots.

mod cluster;
mod judge;
mod relations;
mod settle;
mod slices;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::compile::Compiler;
use crate::endpoint::EndpointFactory;
use crate::event::{Event, ObjectRef, SliceReading, Source};
use crate::kinds::{Kind, Object};
use crate::snapshot::Snapshot;
use crate::status::NominationStatus;

use cluster::{Cluster, Loss};

pub use slices::{Publisher, SliceAction, SliceIntent};

/// All that was read, and the snapshot that follows from it.
///
/// Owned by one task. A batch of events costs what it changes, whatever else there is; a snapshot shares with its
/// predecessor what did not change.
pub struct Index<F: EndpointFactory> {
    factory: F,
    publisher: Option<Publisher>,
    compiler: Compiler,
    clusters: HashMap<Arc<str>, Cluster<F::Handle>>,
    sources: Sources,
    snapshot: Snapshot<F::Handle>,
    /// What has changed since it was last told to anyone; held back until the first read is complete, so that a
    /// restart does not take a slow shard for a missing export.
    statuses: BTreeSet<(Arc<str>, Arc<str>)>,
    slices: BTreeSet<(Arc<str>, Arc<str>)>,
}

/// What a batch of events led to.
pub struct Update<W> {
    /// The nominations now.
    pub snapshot: Arc<Snapshot<W>>,
    /// The status of each EphemeralWebhook of kcp whose conditions may have to be written.
    pub statuses: Vec<NominationStatus>,
    /// Slices that are to be read or written.
    pub slices: Vec<SliceIntent>,
}

impl<F: EndpointFactory> Index<F> {
    /// An index that has read nothing. Without a publisher, nothing is published and slices are not asked for.
    pub fn new(factory: F, publisher: Option<Publisher>) -> Self {
        Self {
            factory,
            publisher,
            compiler: Compiler::default(),
            clusters: HashMap::new(),
            sources: Sources::default(),
            snapshot: Snapshot::default(),
            statuses: BTreeSet::new(),
            slices: BTreeSet::new(),
        }
    }

    /// Folds a batch of events in.
    pub fn apply(&mut self, events: impl IntoIterator<Item = Event>) -> Update<F::Handle> {
        let mut dirty = BTreeSet::new();
        for event in events {
            self.take_in(event, &mut dirty);
        }
        for cluster in dirty {
            self.settle(&cluster);
        }
        self.snapshot.complete = self.snapshot.complete || self.sources.all_read();
        self.snapshot.whole = self.sources.none_unread();
        Update {
            snapshot: Arc::new(self.snapshot.clone()),
            statuses: self.changed_statuses(),
            slices: self.changed_slices(),
        }
    }

    /// The status of every EphemeralWebhook of kcp, for a publisher that starts anew. Empty until the first read is
    /// complete.
    pub fn statuses(&self) -> impl Iterator<Item = NominationStatus> {
        let complete = self.snapshot.complete;
        self.clusters
            .values()
            .filter(move |_| complete)
            .flat_map(|cluster| cluster.webhook_names().filter_map(|name| self.status(cluster, name)))
    }

    /// Every slice that a visible export refers to, or that was read: each is to be looked at from time to time.
    /// Empty until the first read is complete.
    pub fn slices(&self) -> impl Iterator<Item = SliceIntent> {
        let complete = self.snapshot.complete;
        self.clusters
            .values()
            .filter(move |_| complete)
            .flat_map(|cluster| cluster.slice_names().filter_map(|name| self.slice(cluster, name)))
    }

    /// How often a schema was compiled since the start, for metrics.
    pub const fn compilations(&self) -> usize {
        self.compiler.compilations()
    }

    /// The sources that completeness still waits for, for `/readyz?verbose`.
    pub fn awaited(&self) -> impl Iterator<Item = &Source> {
        self.sources.awaited()
    }

    /// The sources that do not answer, for `/readyz?verbose`.
    pub fn unanswering(&self) -> impl Iterator<Item = &Source> {
        self.sources.away.iter()
    }

    fn take_in(&mut self, event: Event, dirty: &mut BTreeSet<Arc<str>>) {
        match event {
            Event::Sources(known) => self.sources.known = Some(known),
            Event::Apply(source, object) => {
                self.sources.away.remove(&source);
                self.take_object(&source, *object, dirty);
            }
            Event::Delete(source, object) => self.drop_object(&source, &object, dirty),
            Event::Reset { source, kind, objects } => {
                self.sources.away.remove(&source);
                self.reset(&source, kind, objects, dirty);
            }
            Event::Complete(source) => {
                self.sources.away.remove(&source);
                self.sources.complete.insert(source);
            }
            Event::Away(source) => self.away(&source, dirty),
            Event::Removed(source) => {
                for object in self.sources.held_by(&source) {
                    self.drop_object(&source, &object, dirty);
                }
                self.sources.forget(&source);
            }
            Event::Slice { cluster, name, reading } => {
                self.cluster(&cluster, dirty).read_slice(name, reading);
            }
            Event::Claims { cluster, accepted } => self.cluster(&cluster, dirty).accept_claims(accepted),
            Event::Calls {
                cluster,
                webhook,
                calls,
            } => self.cluster(&cluster, dirty).observe_calls(webhook, calls),
            Event::JudgeEndpoints => {
                for (name, cluster) in &mut self.clusters {
                    if cluster.judge_endpoints(&self.factory) {
                        dirty.insert(name.clone());
                    }
                }
            }
        }
    }

    fn cluster(&mut self, name: &Arc<str>, dirty: &mut BTreeSet<Arc<str>>) -> &mut Cluster<F::Handle> {
        touch(&mut self.clusters, name, dirty)
    }

    fn take_object(&mut self, source: &Source, mut object: Object, dirty: &mut BTreeSet<Arc<str>>) {
        if let Object::Slice(slice) = object {
            if *source != Source::Manifests {
                let (cluster, name) = (slice.meta.cluster.clone(), slice.meta.name.clone());
                let reading = SliceReading::Found(Box::new(slice));
                self.cluster(&cluster, dirty).read_slice(name, reading);
            }
            return;
        }
        if let Object::Schema(schema) = &mut object {
            for version in schema.spec.iter_mut().flat_map(|spec| &mut spec.versions) {
                version.document = self.compiler.intern(version.document.clone());
            }
        }
        let key = ObjectRef::from(&object);
        let known = self
            .clusters
            .get(&key.cluster)
            .is_some_and(|cluster| cluster.has(source, &object));
        if !known {
            touch(&mut self.clusters, &key.cluster, dirty).apply(source, object, &self.sources.away);
            self.sources.hold(source, key);
        }
    }

    fn drop_object(&mut self, source: &Source, object: &ObjectRef, dirty: &mut BTreeSet<Arc<str>>) {
        if self.sources.release(source, object) {
            self.cluster(&object.cluster, dirty).lose(source, object, Loss::Deleted);
        }
    }

    fn reset(&mut self, source: &Source, kind: Kind, objects: Vec<Object>, dirty: &mut BTreeSet<Arc<str>>) {
        let mut gone = self.sources.held_of(source, kind);
        for object in objects.into_iter().filter(|object| object.kind() == kind) {
            gone.remove(&ObjectRef::from(&object));
            self.take_object(source, object, dirty);
        }
        for object in gone {
            self.drop_object(source, &object, dirty);
        }
    }

    fn away(&mut self, source: &Source, dirty: &mut BTreeSet<Arc<str>>) {
        self.sources.away.insert(source.clone());
        for object in self.sources.held_by(source) {
            let loss = Loss::Away(&self.sources.away);
            touch(&mut self.clusters, &object.cluster, dirty).lose(source, &object, loss);
        }
    }

    fn changed_statuses(&mut self) -> Vec<NominationStatus> {
        if !self.snapshot.complete {
            return Vec::new();
        }
        std::mem::take(&mut self.statuses)
            .iter()
            .filter_map(|(cluster, name)| self.status(self.clusters.get(cluster)?, name))
            .collect()
    }

    fn changed_slices(&mut self) -> Vec<SliceIntent> {
        if !self.snapshot.complete {
            return Vec::new();
        }
        std::mem::take(&mut self.slices)
            .iter()
            .filter_map(|(cluster, name)| self.slice(self.clusters.get(cluster)?, name))
            .collect()
    }

    fn status(&self, cluster: &Cluster<F::Handle>, name: &Arc<str>) -> Option<NominationStatus> {
        let (shard, webhook, findings) = cluster.published_webhook(name)?;
        Some(NominationStatus::new(
            shard.clone(),
            webhook.clone(),
            findings.clone(),
            self.publisher.as_ref(),
            self.publisher
                .as_ref()
                .is_some_and(|publisher| cluster.is_anothers(webhook, publisher)),
        ))
    }

    fn slice(&self, cluster: &Cluster<F::Handle>, name: &Arc<str>) -> Option<SliceIntent> {
        Some(cluster.slice_intent(name, self.publisher.as_ref()?))
    }
}

/// The logical cluster of a name, which is then to be settled.
fn touch<'a, W>(
    clusters: &'a mut HashMap<Arc<str>, Cluster<W>>,
    name: &Arc<str>,
    dirty: &mut BTreeSet<Arc<str>>,
) -> &'a mut Cluster<W> {
    dirty.insert(name.clone());
    clusters
        .entry(name.clone())
        .or_insert_with(|| Cluster::new(name.clone()))
}

/// What is known about the sources, and which objects each of them has.
#[derive(Default)]
struct Sources {
    known: Option<BTreeSet<Source>>,
    complete: BTreeSet<Source>,
    away: BTreeSet<Source>,
    held: BTreeMap<Source, BTreeSet<ObjectRef>>,
}

impl Sources {
    fn all_read(&self) -> bool {
        self.known.is_some() && self.awaited().next().is_none()
    }

    fn none_unread(&self) -> bool {
        self.known.as_ref().is_some_and(|known| known.is_subset(&self.complete))
    }

    fn awaited(&self) -> impl Iterator<Item = &Source> {
        self.known
            .iter()
            .flatten()
            .filter(|source| !self.complete.contains(*source) && !self.away.contains(*source))
    }

    fn hold(&mut self, source: &Source, object: ObjectRef) {
        self.held.entry(source.clone()).or_default().insert(object);
    }

    fn release(&mut self, source: &Source, object: &ObjectRef) -> bool {
        self.held.get_mut(source).is_some_and(|held| held.remove(object))
    }

    fn held_by(&self, source: &Source) -> BTreeSet<ObjectRef> {
        self.held.get(source).cloned().unwrap_or_default()
    }

    fn held_of(&self, source: &Source, kind: Kind) -> BTreeSet<ObjectRef> {
        let held = self.held.get(source).into_iter().flatten();
        held.filter(|object| object.kind == kind).cloned().collect()
    }

    fn forget(&mut self, source: &Source) {
        self.held.remove(source);
        self.complete.remove(source);
        self.away.remove(source);
        if let Some(known) = &mut self.known {
            known.remove(source);
        }
    }
}
