//! What was read of one logical cluster, how it hangs together, and what of it is to be judged anew.
//!
//! References never leave a logical cluster, so nothing here knows of another one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::conditions::Findings;
use crate::copies::{Copies, HasMeta};
use crate::endpoint::EndpointFactory;
use crate::event::{Calls, ObjectRef, SliceReading, Source};
use crate::kinds::{APIExport, APIResourceSchema, EphemeralWebhook, Kind, Object, Storage, Target};
use crate::problem::SchemaProblem;
use crate::resource::ResourceSchema;
use crate::snapshot::Origin;

use super::judge::Made;
use super::relations::{Dirty, Relations};
use super::slices::Publisher;

/// One logical cluster.
pub(super) struct Cluster<W> {
    name: Arc<str>,
    exports: HashMap<Arc<str>, Copies<APIExport>>,
    schemas: HashMap<Arc<str>, Copies<APIResourceSchema>>,
    webhooks: HashMap<Arc<str>, Copies<EphemeralWebhook>>,
    slices: HashMap<Arc<str>, SliceReading>,
    calls: HashMap<Arc<str>, Calls>,
    pub(super) claims_refused: bool,

    pub(super) relations: Relations,
    pub(super) compiled: HashMap<Arc<str>, Compiled>,
    pub(super) winners: BTreeMap<Target, Origin>,
    pub(super) made: HashMap<Origin, Made<W>>,
    pub(super) findings: HashMap<Origin, Findings>,
    pub(super) dirty: Dirty,
}

/// A schema with what it compiled to.
pub(super) struct Compiled {
    pub(super) object: Arc<APIResourceSchema>,
    pub(super) schema: Result<Arc<ResourceSchema>, SchemaProblem>,
}

/// An object before and after something happened, with where it is from.
pub(super) struct Change<T> {
    pub(super) before: Option<(Source, Arc<T>)>,
    pub(super) after: Option<(Source, Arc<T>)>,
}

impl<W> Cluster<W> {
    pub(super) fn new(name: Arc<str>) -> Self {
        Self {
            name,
            exports: HashMap::new(),
            schemas: HashMap::new(),
            webhooks: HashMap::new(),
            slices: HashMap::new(),
            calls: HashMap::new(),
            claims_refused: false,
            relations: Relations::default(),
            compiled: HashMap::new(),
            winners: BTreeMap::new(),
            made: HashMap::new(),
            findings: HashMap::new(),
            dirty: Dirty::default(),
        }
    }

    pub(super) const fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Whether nothing is left that would be missed.
    pub(super) fn is_empty(&self) -> bool {
        self.exports.is_empty()
            && self.schemas.is_empty()
            && self.webhooks.is_empty()
            && self.slices.is_empty()
            && !self.claims_refused
            && self.findings.is_empty()
    }

    pub(super) fn has(&self, source: &Source, object: &Object) -> bool {
        let name = &object.meta().name;
        match object {
            Object::Export(object) => self.exports.get(name).is_some_and(|copies| copies.has(source, object)),
            Object::Schema(object) => self.schemas.get(name).is_some_and(|copies| copies.has(source, object)),
            Object::Webhook(object) => self.webhooks.get(name).is_some_and(|copies| copies.has(source, object)),
            Object::Slice(_) => false,
        }
    }

    pub(super) fn apply(&mut self, source: &Source, object: Object, away: &BTreeSet<Source>) {
        let name = object.meta().name.clone();
        match object {
            Object::Export(object) => {
                let change = change(&mut self.exports, &name, |copies| copies.apply(source, object, away));
                self.export_changed(&name, &change);
            }
            Object::Schema(object) => {
                let change = change(&mut self.schemas, &name, |copies| copies.apply(source, object, away));
                self.schema_changed(&name, &change);
            }
            Object::Webhook(object) => {
                let change = change(&mut self.webhooks, &name, |copies| copies.apply(source, object, away));
                self.webhook_changed(&name, &change);
            }
            Object::Slice(_) => {}
        }
    }

    /// A source lost an object, in one way or another.
    pub(super) fn lose(&mut self, source: &Source, object: &ObjectRef, loss: Loss<'_>) {
        let name = &object.name;
        match object.kind {
            Kind::APIExport => {
                let change = change(&mut self.exports, name, |copies| loss.of(copies, source));
                self.export_changed(name, &change);
            }
            Kind::APIResourceSchema => {
                let change = change(&mut self.schemas, name, |copies| loss.of(copies, source));
                self.schema_changed(name, &change);
            }
            Kind::EphemeralWebhook => {
                let change = change(&mut self.webhooks, name, |copies| loss.of(copies, source));
                self.webhook_changed(name, &change);
            }
            Kind::APIExportEndpointSlice => {}
        }
    }

    pub(super) fn read_slice(&mut self, name: Arc<str>, reading: SliceReading) {
        if self.slices.get(&name) != Some(&reading) {
            self.slice_changed(&name);
            self.slices.insert(name, reading);
        }
    }

    pub(super) fn accept_claims(&mut self, accepted: bool) {
        if self.claims_refused == accepted {
            self.claims_refused = !accepted;
            self.dirty.targets.extend(self.relations.targets().cloned());
        }
    }

    pub(super) fn observe_calls(&mut self, webhook: Arc<str>, calls: Calls) {
        let known = self.webhooks.contains_key(&webhook);
        if known && self.calls.insert(webhook.clone(), calls) != Some(calls) {
            self.dirty.origins.insert(Origin::Webhook(webhook));
        }
    }

    /// Forgets the handles that would turn out otherwise now; whether there were any.
    pub(super) fn judge_endpoints(&mut self, factory: &impl EndpointFactory<Handle = W>) -> bool {
        let name = &self.name;
        let turned: Vec<_> = self
            .made
            .extract_if(|origin, made| made.has_turned(name, origin, factory))
            .map(|(origin, _)| origin)
            .collect();
        let any = !turned.is_empty();
        self.dirty.origins.extend(turned);
        any
    }

    pub(super) fn export(&self, name: &str) -> Option<(&Source, &Arc<APIExport>)> {
        self.exports.get(name)?.current()
    }

    pub(super) fn schema(&self, name: &str) -> Option<(&Source, &Arc<APIResourceSchema>)> {
        self.schemas.get(name)?.current()
    }

    pub(super) fn webhook(&self, name: &str) -> Option<(&Source, &Arc<EphemeralWebhook>)> {
        self.webhooks.get(name)?.current()
    }

    pub(super) fn slice_reading(&self, name: &str) -> Option<&SliceReading> {
        self.slices.get(name)
    }

    pub(super) fn calls(&self, webhook: &str) -> Option<Calls> {
        self.calls.get(webhook).copied()
    }

    pub(super) fn forget_calls(&mut self, webhook: &str) {
        self.calls.remove(webhook);
    }

    pub(super) fn webhook_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.webhooks.keys()
    }

    /// The slices that exports refer to, and those that were read.
    pub(super) fn slice_names(&self) -> impl Iterator<Item = &Arc<str>> {
        let unreferenced = self
            .slices
            .keys()
            .filter(|name| !self.relations.by_slice.contains_key(*name));
        self.relations.by_slice.keys().chain(unreferenced)
    }

    /// The slices that an export refers to.
    pub(super) fn slices_of_export(&self, export: &str) -> BTreeSet<Arc<str>> {
        let resources = self
            .export(export)
            .into_iter()
            .flat_map(|(_, export)| export.resources.values());
        resources
            .filter_map(|resource| match &resource.storage {
                Storage::Virtual(reference) if reference.is_slice() => Some(reference.name.clone()),
                _ => None,
            })
            .collect()
    }

    /// The slice that the entry of a resource refers to.
    pub(super) fn slice_of(&self, target: &Target) -> Option<Arc<str>> {
        let (_, export) = self.export(&target.export)?;
        match &export.resources.get(&target.resource)?.storage {
            Storage::Virtual(reference) if reference.is_slice() => Some(reference.name.clone()),
            _ => None,
        }
    }

    /// Forgets what was read of a slice that no export refers to, unless there is something to be withdrawn from it.
    pub(super) fn forget_slice_of_nobody(&mut self, slice: &str, publisher: Option<&Publisher>) {
        let to_clean = match self.slices.get(slice) {
            Some(SliceReading::Found(slice)) => publisher.is_some_and(|publisher| publisher.has_any(slice)),
            _ => false,
        };
        if !to_clean && self.relations.users_of_slice(slice).next().is_none() {
            self.slices.remove(slice);
        }
    }

    /// What an EphemeralWebhook, or an entry of an export, nominates for.
    pub(super) fn target_of(&self, origin: &Origin) -> Option<Target> {
        match origin {
            Origin::Inline(target) => Some(target.clone()),
            Origin::Webhook(name) => self.webhook(name)?.1.target.as_ref().ok().cloned(),
        }
    }

    pub(super) fn nominates_inline(&self, target: &Target) -> bool {
        self.export(&target.export)
            .and_then(|(_, export)| export.resources.get(&target.resource))
            .is_some_and(|entry| matches!(entry.storage, Storage::Ephemeral(_)))
    }

    pub(super) fn nominated_users_of_schema(&self, schema: &str) -> Vec<Target> {
        let users = self.relations.users_of_schema(schema);
        users
            .filter(|target| self.relations.winner(target).is_some())
            .cloned()
            .collect()
    }

    /// An EphemeralWebhook whose status is this server's to write, with its shard and what was found out about it.
    pub(super) fn published_webhook(&self, name: &Arc<str>) -> Option<(&Arc<str>, &Arc<EphemeralWebhook>, &Findings)> {
        match self.webhook(name)? {
            (Source::Manifests, _) => None,
            (Source::Shard(shard), webhook) => {
                Some((shard, webhook, self.findings.get(&Origin::Webhook(name.clone()))?))
            }
        }
    }
}

/// How a source came to lose an object.
#[derive(Clone, Copy)]
pub(super) enum Loss<'a> {
    /// It says so.
    Deleted,
    /// It went away, and where a source that answers has the object too, it is taken to have moved there.
    Away(&'a BTreeSet<Source>),
}

impl Loss<'_> {
    fn of<T: HasMeta>(self, copies: &mut Copies<T>, source: &Source) {
        match self {
            Self::Deleted => copies.delete(source),
            Self::Away(away) => copies.supersede(source, away),
        }
    }
}

/// Changes the copies of an object and says what that did to the one that counts.
fn change<T: HasMeta>(
    objects: &mut HashMap<Arc<str>, Copies<T>>,
    name: &Arc<str>,
    step: impl FnOnce(&mut Copies<T>),
) -> Change<T> {
    let current = |copies: &Copies<T>| {
        copies
            .current()
            .map(|(source, object)| (source.clone(), object.clone()))
    };
    let copies = objects.entry(name.clone()).or_default();
    let before = current(copies);
    step(copies);
    let after = current(copies);
    if copies.is_empty() {
        objects.remove(name);
    }
    Change { before, after }
}
