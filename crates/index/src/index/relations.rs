//! How the objects of a logical cluster hang together, kept in step as they change: what one change touches is looked
//! up here, never searched for.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;
use std::ops::Bound;
use std::sync::Arc;

use crate::event::Source;
use crate::kinds::{
    APIExport, APIResourceSchema, EphemeralWebhook, ExportResource, GroupResource, ObjectMeta, Settings, Storage,
    Target,
};
use crate::problem::FieldInvalid;
use crate::snapshot::Origin;

use super::cluster::{Change, Cluster};

/// What refers to what.
#[derive(Default)]
pub(super) struct Relations {
    /// What nominates each resource of each export, the one that counts first.
    candidates: BTreeMap<Target, BTreeMap<Rank, Candidate>>,
    /// The exported resources that name a schema.
    by_schema: HashMap<Arc<str>, BTreeSet<Target>>,
    /// The exports that refer to a slice, with how many of their resources do.
    pub(super) by_slice: HashMap<Arc<str>, BTreeMap<Arc<str>, usize>>,
    /// The schemas of a resource, and what nominates it: only schemas of nominated resources are compiled.
    schemas_of: HashMap<GroupResource, BTreeSet<Arc<str>>>,
    targets_of: HashMap<GroupResource, BTreeSet<Target>>,
}

/// What is to be judged anew.
#[derive(Default)]
pub(super) struct Dirty {
    pub(super) targets: BTreeSet<Target>,
    pub(super) schemas: BTreeSet<Arc<str>>,
    pub(super) origins: BTreeSet<Origin>,
    pub(super) slices: BTreeSet<Arc<str>>,
}

/// The order of those that nominate the same: the operator's first, then the oldest, then by name.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Rank {
    pub(super) self_service: bool,
    created: Option<Arc<str>>,
    pub(super) origin: Origin,
}

/// What nominates, with the object it is written in.
#[derive(Clone)]
pub(super) enum Candidate {
    Webhook(Arc<EphemeralWebhook>),
    Inline(Arc<APIExport>, Result<Settings, FieldInvalid>),
}

impl Rank {
    fn new(source: &Source, meta: &ObjectMeta, origin: Origin) -> Self {
        Self {
            self_service: *source != Source::Manifests,
            created: meta.creation_timestamp.clone(),
            origin,
        }
    }
}

impl Candidate {
    pub(super) fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Webhook(webhook) => &webhook.meta,
            Self::Inline(export, _) => &export.meta,
        }
    }

    pub(super) fn settings(&self) -> &Result<Settings, FieldInvalid> {
        match self {
            Self::Webhook(webhook) => &webhook.settings,
            Self::Inline(_, settings) => settings,
        }
    }
}

impl Relations {
    /// The resources that something nominates.
    pub(super) fn targets(&self) -> impl Iterator<Item = &Target> {
        self.candidates.keys()
    }

    /// The nominated resources of an export.
    pub(super) fn targets_of_export(&self, export: &Arc<str>) -> impl Iterator<Item = &Target> {
        let first = Target {
            export: export.clone(),
            resource: GroupResource {
                group: "".into(),
                resource: "".into(),
            },
        };
        self.candidates
            .range((Bound::Included(first), Bound::Unbounded))
            .map(|(target, _)| target)
            .take_while(move |target| target.export == *export)
    }

    /// What nominates a resource and counts.
    pub(super) fn winner(&self, target: &Target) -> Option<(&Rank, &Candidate)> {
        self.candidates.get(target)?.first_key_value()
    }

    pub(super) fn is_nominated(&self, resource: &GroupResource) -> bool {
        self.targets_of.contains_key(resource)
    }

    /// The exported resources that name a schema.
    pub(super) fn users_of_schema(&self, schema: &str) -> impl Iterator<Item = &Target> {
        self.by_schema.get(schema).into_iter().flatten()
    }

    /// The exports that refer to a slice.
    pub(super) fn users_of_slice(&self, slice: &str) -> impl Iterator<Item = &Arc<str>> {
        self.by_slice.get(slice).into_iter().flat_map(BTreeMap::keys)
    }

    fn nominate(&mut self, target: &Target, rank: Rank, candidate: Candidate, dirty: &mut Dirty) {
        dirty.origins.insert(rank.origin.clone());
        dirty.targets.insert(target.clone());
        let candidates = self.candidates.entry(target.clone()).or_default();
        if candidates.is_empty() && insert(&mut self.targets_of, &target.resource, target.clone()) {
            dirty
                .schemas
                .extend(self.schemas_of.get(&target.resource).into_iter().flatten().cloned());
        }
        candidates.insert(rank, candidate);
    }

    fn retract(&mut self, target: &Target, rank: &Rank, dirty: &mut Dirty) {
        dirty.origins.insert(rank.origin.clone());
        dirty.targets.insert(target.clone());
        let Some(candidates) = self.candidates.get_mut(target) else {
            return;
        };
        candidates.remove(rank);
        if candidates.is_empty() {
            self.candidates.remove(target);
            if remove(&mut self.targets_of, &target.resource, target) {
                dirty
                    .schemas
                    .extend(self.schemas_of.get(&target.resource).into_iter().flatten().cloned());
            }
        }
    }

    fn refer_to_slice(&mut self, slice: &Arc<str>, export: &Arc<str>, dirty: &mut Dirty) {
        let users = self.by_slice.entry(slice.clone()).or_default();
        let count = users.entry(export.clone()).or_default();
        *count += 1;
        if *count == 1 {
            self.slice_touched(slice, dirty);
        }
    }

    fn leave_slice(&mut self, slice: &Arc<str>, export: &Arc<str>, dirty: &mut Dirty) {
        let Some(users) = self.by_slice.get_mut(slice) else {
            return;
        };
        let Some(count) = users.get_mut(export) else { return };
        *count -= 1;
        if *count > 0 {
            return;
        }
        users.remove(export);
        self.slice_touched(slice, dirty);
        if self.users_of_slice(slice).next().is_none() {
            self.by_slice.remove(slice);
        }
    }

    /// Whether a slice is shared, and what is in it, concerns every nomination of the exports that refer to it.
    fn slice_touched(&self, slice: &Arc<str>, dirty: &mut Dirty) {
        dirty.slices.insert(slice.clone());
        for export in self.users_of_slice(slice) {
            dirty.targets.extend(self.targets_of_export(export).cloned());
        }
    }

    /// An entry of an export appears.
    fn enter(
        &mut self,
        source: &Source,
        export: &Arc<APIExport>,
        target: &Target,
        entry: &ExportResource,
        dirty: &mut Dirty,
    ) {
        dirty.targets.insert(target.clone());
        insert(&mut self.by_schema, &entry.schema, target.clone());
        match &entry.storage {
            Storage::Virtual(reference) if reference.is_slice() && *source != Source::Manifests => {
                self.refer_to_slice(&reference.name, &target.export, dirty);
            }
            Storage::Ephemeral(settings) => {
                let rank = Rank::new(source, &export.meta, Origin::Inline(target.clone()));
                self.nominate(target, rank, Candidate::Inline(export.clone(), settings.clone()), dirty);
            }
            Storage::Virtual(_) | Storage::Crd => {}
        }
    }

    /// An entry of an export disappears.
    fn leave(
        &mut self,
        source: &Source,
        export: &APIExport,
        target: &Target,
        entry: &ExportResource,
        dirty: &mut Dirty,
    ) {
        dirty.targets.insert(target.clone());
        remove(&mut self.by_schema, &entry.schema, target);
        match &entry.storage {
            Storage::Virtual(reference) if reference.is_slice() && *source != Source::Manifests => {
                self.leave_slice(&reference.name, &target.export, dirty);
            }
            Storage::Ephemeral(_) => {
                let rank = Rank::new(source, &export.meta, Origin::Inline(target.clone()));
                self.retract(target, &rank, dirty);
            }
            Storage::Virtual(_) | Storage::Crd => {}
        }
    }
}

impl<W> Cluster<W> {
    /// An export changed: of its entries, those that did are taken out and put in anew.
    pub(super) fn export_changed(&mut self, name: &Arc<str>, change: &Change<APIExport>) {
        let Change { before, after } = change;
        let (relations, dirty) = (&mut self.relations, &mut self.dirty);
        let same_whole = match (before, after) {
            (Some((was_from, was)), Some((from, is))) => was_from == from && was.meta.path == is.meta.path,
            (None, None) => return,
            _ => false,
        };
        if !same_whole {
            dirty.targets.extend(relations.targets_of_export(name).cloned());
        }
        let target = |resource: &GroupResource| Target {
            export: name.clone(),
            resource: resource.clone(),
        };
        let unchanged = |resource: &GroupResource, entry: &ExportResource, other: &Option<(Source, Arc<APIExport>)>| {
            let other = other.as_ref().and_then(|(_, export)| export.resources.get(resource));
            // What is inline carries its export's metadata with it.
            same_whole && other == Some(entry) && !matches!(entry.storage, Storage::Ephemeral(_))
        };
        if let Some((source, export)) = before {
            for (resource, entry) in &export.resources {
                if !unchanged(resource, entry, after) {
                    relations.leave(source, export, &target(resource), entry, dirty);
                }
            }
        }
        if let Some((source, export)) = after {
            for (resource, entry) in &export.resources {
                if !unchanged(resource, entry, before) {
                    relations.enter(source, export, &target(resource), entry, dirty);
                }
            }
        }
    }

    /// A schema changed, which means that it came, went, or was replaced by another of its name.
    pub(super) fn schema_changed(&mut self, name: &Arc<str>, change: &Change<APIResourceSchema>) {
        let resource = |schema: &Option<(Source, Arc<APIResourceSchema>)>| {
            let (_, schema) = schema.as_ref()?;
            Some(schema.spec.as_ref().ok()?.resource())
        };
        if let Some(resource) = resource(&change.before) {
            remove(&mut self.relations.schemas_of, &resource, name);
        }
        if let Some(resource) = resource(&change.after) {
            insert(&mut self.relations.schemas_of, &resource, name.clone());
        }
        self.dirty.schemas.insert(name.clone());
    }

    pub(super) fn webhook_changed(&mut self, name: &Arc<str>, change: &Change<EphemeralWebhook>) {
        let (relations, dirty) = (&mut self.relations, &mut self.dirty);
        dirty.origins.insert(Origin::Webhook(name.clone()));
        let rank = |source, webhook: &EphemeralWebhook| Rank::new(source, &webhook.meta, Origin::Webhook(name.clone()));
        if let Some((source, webhook)) = &change.before
            && let Ok(target) = &webhook.target
        {
            relations.retract(target, &rank(source, webhook), dirty);
        }
        if let Some((source, webhook)) = &change.after
            && let Ok(target) = &webhook.target
        {
            let candidate = Candidate::Webhook(webhook.clone());
            relations.nominate(target, rank(source, webhook), candidate, dirty);
        }
    }

    pub(super) fn slice_changed(&mut self, name: &Arc<str>) {
        self.relations.slice_touched(name, &mut self.dirty);
    }
}

/// Adds to the set of a key; whether the key is new.
fn insert<K: Clone + Eq + Hash, V: Ord>(sets: &mut HashMap<K, BTreeSet<V>>, key: &K, value: V) -> bool {
    let set = sets.entry(key.clone()).or_default();
    let new = set.is_empty();
    set.insert(value);
    new
}

/// Removes from the set of a key; whether the key is gone.
fn remove<K: Eq + Hash, V: Ord>(sets: &mut HashMap<K, BTreeSet<V>>, key: &K, value: &V) -> bool {
    let Some(set) = sets.get_mut(key) else { return false };
    set.remove(value);
    if set.is_empty() {
        sets.remove(key);
        return true;
    }
    false
}
