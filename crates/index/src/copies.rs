//! One object as several sources have it.
//!
//! While a logical cluster moves from one shard to another, both have its objects, under the same uid. A shard that
//! is away may hold an object that was since deleted and made anew elsewhere, under another uid.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::event::Source;
use crate::kinds::{APIExport, APIResourceSchema, EphemeralWebhook, ObjectMeta};

/// What has metadata.
pub(crate) trait HasMeta: PartialEq {
    fn meta(&self) -> &ObjectMeta;
}

macro_rules! has_meta {
    ($($kind:ty),*) => {$(
        impl HasMeta for $kind {
            fn meta(&self) -> &ObjectMeta {
                &self.meta
            }
        }
    )*};
}

has_meta!(APIExport, APIResourceSchema, EphemeralWebhook);

/// The copies of an object, at most one per source.
pub(crate) struct Copies<T>(Vec<(Source, Arc<T>)>);

impl<T> Default for Copies<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: HasMeta> Copies<T> {
    /// Takes in a source's copy. Copies of the same uid that sources have which are away are superseded: the object
    /// moved here.
    pub(crate) fn apply(&mut self, source: &Source, object: T, away: &BTreeSet<Source>) {
        let uid = &object.meta().uid;
        self.0
            .retain(|(other, copy)| other != source && !(away.contains(other) && same_object(uid, &copy.meta().uid)));
        self.0.push((source.clone(), Arc::new(object)));
    }

    /// Whether the source's copy is this very object, so that there is nothing to do.
    pub(crate) fn has(&self, source: &Source, object: &T) -> bool {
        self.0.iter().any(|(other, copy)| other == source && **copy == *object)
    }

    pub(crate) fn delete(&mut self, source: &Source) {
        self.0.retain(|(other, _)| other != source);
    }

    /// Drops the copy of a source that went away if a source that answers has the same object.
    pub(crate) fn supersede(&mut self, gone: &Source, away: &BTreeSet<Source>) {
        let moved = |uid: &str| {
            self.0
                .iter()
                .any(|(other, copy)| !away.contains(other) && same_object(uid, &copy.meta().uid))
        };
        let superseded = self
            .0
            .iter()
            .any(|(source, copy)| source == gone && moved(&copy.meta().uid));
        if superseded {
            self.delete(gone);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The copy that counts: the operator's, else that of the youngest object, and of that the latest state.
    ///
    /// Resource versions of different shards cannot be compared in truth; among copies of one generation they only
    /// make the choice the same whatever the order of events.
    pub(crate) fn current(&self) -> Option<(&Source, &Arc<T>)> {
        self.0
            .iter()
            .min_by_key(|(source, copy)| {
                let meta = copy.meta();
                let version: u64 = meta.resource_version.parse().unwrap_or_default();
                (
                    *source != Source::Manifests,
                    Reverse((&meta.creation_timestamp, &meta.uid, meta.generation, version)),
                    source,
                )
            })
            .map(|(source, copy)| (source, copy))
    }
}

/// Objects without uid come from manifests and are never copies of others.
fn same_object(a: &str, b: &str) -> bool {
    !a.is_empty() && a == b
}
