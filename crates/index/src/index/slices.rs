//! What is to be published where.

use std::sync::Arc;

use super::cluster::Cluster;
use crate::conditions::Finding;
use crate::event::SliceReading;
use crate::kinds::{APIExport, APIExportEndpointSlice, EphemeralWebhook, ShardSelection};
use crate::problem::Problem;

/// Who publishes, and under which URL.
#[derive(Clone, Debug, PartialEq)]
pub struct Publisher {
    /// The field manager.
    pub name: Arc<str>,
    /// The URL under which shards reach this server, without a slash at the end.
    pub external_url: Arc<str>,
    /// The shards that are to come here.
    pub shards: ShardSelection,
}

impl Publisher {
    /// The endpoint of an export.
    pub fn url(&self, cluster: &str, export: &str) -> String {
        format!("{}/services/ephemeral/{cluster}/{export}", self.external_url)
    }

    /// Whether a slice holds exactly the entry that this publisher wants there.
    fn has_published(&self, slice: &APIExportEndpointSlice, url: &str) -> bool {
        let mut own = slice
            .endpoints
            .iter()
            .filter(|endpoint| endpoint.managers.contains(&self.name));
        own.next()
            .is_some_and(|endpoint| &*endpoint.url == url && endpoint.shards.as_ref() == Some(&self.shards))
            && own.next().is_none()
    }

    /// Whether an entry of this publisher's has this URL.
    fn has(&self, slice: &APIExportEndpointSlice, url: &str) -> bool {
        let mut entries = slice.endpoints.iter();
        entries.any(|entry| &*entry.url == url && entry.managers.contains(&self.name))
    }

    pub(super) fn has_any(&self, slice: &APIExportEndpointSlice) -> bool {
        slice
            .endpoints
            .iter()
            .any(|endpoint| endpoint.managers.contains(&self.name))
    }

    /// Whether kcp could not choose between an entry of somebody else's and ours.
    fn conflicts(&self, slice: &APIExportEndpointSlice) -> bool {
        slice
            .endpoints
            .iter()
            .any(|endpoint| !endpoint.managers.contains(&self.name) && endpoint.shards.as_ref() == Some(&self.shards))
    }
}

/// What is to be done with a slice.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SliceIntent {
    /// The logical cluster.
    pub cluster: Arc<str>,
    /// The name of the slice.
    pub name: Arc<str>,
    /// What to do.
    pub action: SliceAction,
}

/// What is to be done with a slice.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SliceAction {
    /// Read it: nothing is known of it yet.
    Read,
    /// Nothing, but to look at it from time to time: it is as it should be, or cannot or must not be touched.
    Keep,
    /// Apply this URL as the publisher's only entry.
    Publish(Arc<str>),
    /// Apply no entry.
    Withdraw,
}

impl<W> Cluster<W> {
    /// Whether the endpoint of an export is in the slice that is referred to.
    pub(super) fn slice_finding(&self, export: &APIExport, slice: &Arc<str>, publisher: &Publisher) -> Finding {
        let name = &export.meta.name;
        if slice == name {
            return Finding::Bad(Problem::EndpointSliceIsDefault);
        }
        if self.relations.users_of_slice(slice).nth(1).is_some() {
            return Finding::Bad(Problem::EndpointSliceShared);
        }
        match self.slice_reading(slice) {
            None => Finding::Unread,
            Some(SliceReading::Missing) => Finding::Bad(Problem::EndpointSliceNotFound),
            Some(SliceReading::Forbidden) => Finding::Bad(Problem::SliceRightsMissing),
            Some(SliceReading::Found(slice)) if !is_for(slice, export) => {
                Finding::Bad(Problem::EndpointSliceOfOtherExport)
            }
            Some(SliceReading::Found(slice)) if publisher.conflicts(slice) => Finding::Bad(Problem::EndpointConflict),
            Some(SliceReading::Found(slice)) => {
                if publisher.has_published(slice, &publisher.url(self.name(), name)) {
                    Finding::Good
                } else {
                    Finding::Pending
                }
            }
        }
    }

    /// Whether another publisher writes the status of a nomination: one of those that publish an export does, or they
    /// would overwrite each other for ever. Each knows its own endpoint and the one in the status, and whichever of the
    /// two is in the slice counts; where both are, the one in the status; where none is, the first by name.
    pub(super) fn is_anothers(&self, webhook: &EphemeralWebhook, publisher: &Publisher) -> bool {
        let (Ok(target), Some(told)) = (&webhook.target, &webhook.status.endpoint) else {
            return false;
        };
        let own = publisher.url(self.name(), &target.export);
        if **told == *own {
            return false;
        }
        let slice = self.slice_of(target);
        match slice.map(|slice| self.slice_reading(&slice)) {
            Some(None) => true,
            Some(Some(SliceReading::Found(slice))) if slice.endpoints.iter().any(|entry| entry.url == *told) => {
                // Unless it is one of an earlier URL of ours.
                !publisher.has(slice, told)
            }
            Some(Some(SliceReading::Found(slice))) if publisher.has(slice, &own) => false,
            Some(Some(_)) | None => **told < *own,
        }
    }

    pub(super) fn slice_intent(&self, name: &Arc<str>, publisher: &Publisher) -> SliceIntent {
        SliceIntent {
            cluster: self.name().clone(),
            name: name.clone(),
            action: self.slice_action(name, publisher),
        }
    }

    fn slice_action(&self, name: &Arc<str>, publisher: &Publisher) -> SliceAction {
        let mut exports = self.relations.users_of_slice(name);
        let export = exports.next();
        let slice = match self.slice_reading(name) {
            None if export.is_some() => return SliceAction::Read,
            None | Some(SliceReading::Missing | SliceReading::Forbidden) => return SliceAction::Keep,
            Some(SliceReading::Found(slice)) => slice,
        };
        let nominated = |export: &Arc<str>| self.relations.targets_of_export(export).next().is_some();
        // An export that is not visible, because its claims are not accepted or it was deleted, says no longer which
        // slice it refers to: what is nominated of it keeps this server's clear error for its consumers.
        let unseen = self.export(&slice.export).is_none() && nominated(&slice.export);
        if !unseen && !export.into_iter().chain(exports).any(nominated) {
            return if publisher.has_any(slice) {
                SliceAction::Withdraw
            } else {
                SliceAction::Keep
            };
        }
        let export = export.and_then(|export| self.export(export));
        match export.map(|(_, export)| self.slice_finding(export, name, publisher)) {
            Some(Finding::Pending | Finding::Unread) => {
                SliceAction::Publish(publisher.url(self.name(), &slice.export).into())
            }
            Some(Finding::Good | Finding::Bad(_)) | None => SliceAction::Keep,
        }
    }
}

/// A slice names its export's workspace by path or by logical cluster, or not at all when it is its own. Where the
/// path of the workspace is not known, the name decides.
fn is_for(slice: &APIExportEndpointSlice, export: &APIExport) -> bool {
    let path = &slice.export_path;
    let known_path = export.meta.path.as_ref().or(slice.meta.path.as_ref());
    slice.export == export.meta.name
        && (path.is_empty() || *path == export.meta.cluster || known_path.is_none_or(|known| known == path))
}
