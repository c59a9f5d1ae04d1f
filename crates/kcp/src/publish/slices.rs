//! One slice: reads it, and has this publisher's entry in it or not.

use std::sync::Arc;

use ephemeral_index::kinds::{APIExportEndpointSlice, Kind, Object, ShardSelection};
use ephemeral_index::{Publisher, SliceAction, SliceReading};
use serde_json::json;

use super::ObjectKey;
use crate::base::{Base, RequestError};
use crate::request::{segment, value};
use crate::stats::Stats;

/// What there is to do with a slice.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) key: ObjectKey,
    pub(super) action: SliceAction,
    /// Whether `action` follows from what was read of the slice since this server publishes.
    pub(super) fresh: bool,
    /// The slice as it was last told.
    pub(super) told: Option<Arc<APIExportEndpointSlice>>,
    /// The write that kcp forbade, at which version.
    pub(super) forbidden: Option<Forbidden>,
}

/// A write that kcp forbade.
#[derive(Clone, Debug)]
pub(super) struct Forbidden {
    pub(super) version: Arc<str>,
    pub(super) action: SliceAction,
}

/// What came of it.
pub(super) struct Done {
    /// What the index is to be told; nothing where it knows.
    pub(super) reading: Option<SliceReading>,
    /// As in [`Job`].
    pub(super) told: Option<Arc<APIExportEndpointSlice>>,
    /// As in [`Job`].
    pub(super) forbidden: Option<Forbidden>,
}

/// Who asks.
pub(super) struct Slices<'a> {
    pub(super) base: &'a Base,
    pub(super) publisher: &'a Publisher,
    pub(super) stats: &'a Stats,
}

impl Slices<'_> {
    pub(super) async fn perform(&self, job: Job) -> Result<Done, RequestError> {
        if job.fresh && is_write(&job.action) {
            if let Some(told) = job.told.clone().filter(|told| self.is_done(told, &job.action)) {
                // The index said so before it took in what was told last.
                return Ok(Done {
                    reading: None,
                    told: Some(told),
                    forbidden: None,
                });
            }
            return self.write(&job).await;
        }
        let Some(slice) = self.read(&job.key).await? else {
            return Ok(Done::of(SliceReading::Missing));
        };
        let slice = match slice {
            SliceReading::Found(slice) => slice,
            reading => return Ok(Done::of(reading)),
        };
        let version = slice.meta.resource_version.clone();
        if let Some(forbidden) = job.forbidden.clone().filter(|forbidden| forbidden.version == version)
            && self.is_still_forbidden(&job.key, &forbidden.action).await?
        {
            // To tell that it was read would turn the condition, and to try turn it back.
            return Ok(Done {
                reading: None,
                told: job.told,
                forbidden: Some(forbidden),
            });
        }
        if is_write(&job.action) && job.version() == Some(&version) {
            // The index will say nothing anew of what it knows.
            return self.write(&job).await;
        }
        Ok(Done::of(SliceReading::Found(slice)))
    }

    async fn read(&self, key: &ObjectKey) -> Result<Option<SliceReading>, RequestError> {
        self.stats.slice_reads.increment();
        match self.base.cluster(&key.cluster).get_bytes(&path(key)).await {
            Ok(text) => decode(key, &text).map(|slice| Some(SliceReading::Found(slice))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) if error.is_forbidden() => Ok(Some(SliceReading::Forbidden)),
            Err(error) => Err(error),
        }
    }

    async fn write(&self, job: &Job) -> Result<Done, RequestError> {
        self.stats.slice_writes.increment();
        let mut result = self.apply(&job.key, &job.action, "").await;
        if let Err(error) = &result
            && error.is_conflict()
            && self.is_own_entry(&job.key, &job.action).await?
        {
            // Somebody changed this publisher's entry.
            self.stats.slice_writes.increment();
            result = self.apply(&job.key, &job.action, "&force=true").await;
        }
        match result {
            Ok(slice) => Ok(Done::of(SliceReading::Found(slice))),
            Err(error) if error.is_not_found() => Ok(Done::of(SliceReading::Missing)),
            Err(error) if error.is_forbidden() => Ok(Done {
                reading: Some(SliceReading::Forbidden),
                told: None,
                forbidden: job.version().map(|version| Forbidden {
                    version: version.clone(),
                    action: job.action.clone(),
                }),
            }),
            Err(error) => Err(error),
        }
    }

    /// Asks by a dry run, which writes nothing.
    async fn is_still_forbidden(&self, key: &ObjectKey, action: &SliceAction) -> Result<bool, RequestError> {
        match self.apply(key, action, "&dryRun=All").await {
            Ok(_) => Ok(false),
            Err(error) if error.is_forbidden() => Ok(true),
            Err(error) if error.is_not_found() || error.is_conflict() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether a slice has exactly what is to be applied.
    fn is_done(&self, slice: &APIExportEndpointSlice, action: &SliceAction) -> bool {
        let mut own = slice
            .endpoints
            .iter()
            .filter(|entry| entry.managers.contains(&self.publisher.name));
        match (action, own.next()) {
            (SliceAction::Publish(url), Some(entry)) => {
                entry.url == *url && entry.shards.as_ref() == Some(&self.publisher.shards) && own.next().is_none()
            }
            (SliceAction::Withdraw, None) => true,
            _ => false,
        }
    }

    /// Whether the entry that is to be applied is one that this publisher has there already.
    async fn is_own_entry(&self, key: &ObjectKey, action: &SliceAction) -> Result<bool, RequestError> {
        let SliceAction::Publish(url) = action else {
            return Ok(false);
        };
        let Some(SliceReading::Found(slice)) = self.read(key).await? else {
            return Ok(false);
        };
        let mut entries = slice.endpoints.iter();
        Ok(entries.any(|entry| entry.url == *url && entry.managers.contains(&self.publisher.name)))
    }

    /// Server-side apply of everything that this publisher wants to have there: one entry, or none.
    async fn apply(
        &self,
        key: &ObjectKey,
        action: &SliceAction,
        more: &str,
    ) -> Result<Box<APIExportEndpointSlice>, RequestError> {
        let mut object = json!({
            "apiVersion": "apis.kcp.io/v1alpha1",
            "kind": "APIExportEndpointSlice",
            "metadata": {"name": &*key.name},
        });
        if let SliceAction::Publish(url) = action {
            let shards = match &self.publisher.shards {
                ShardSelection::MatchAll => json!({"matchAll": true}),
                ShardSelection::Selector(selector) => json!({"selector": selector}),
            };
            object["status"] = json!({"endpoints": [{"url": &**url, "shards": shards}]});
        }
        let manager = value(&self.publisher.name);
        let path = format!("{}/status?fieldManager={manager}{more}", path(key));
        let text = self.base.cluster(&key.cluster).apply(&path, &object).await?;
        decode(key, &text)
    }
}

impl Job {
    fn version(&self) -> Option<&Arc<str>> {
        Some(&self.told.as_ref()?.meta.resource_version)
    }
}

impl Done {
    fn of(reading: SliceReading) -> Self {
        let told = match &reading {
            SliceReading::Found(slice) => Some(Arc::new((**slice).clone())),
            SliceReading::Missing | SliceReading::Forbidden => None,
        };
        Self {
            reading: Some(reading),
            told,
            forbidden: None,
        }
    }
}

pub(super) const fn is_write(action: &SliceAction) -> bool {
    matches!(action, SliceAction::Publish(_) | SliceAction::Withdraw)
}

/// Reads a slice that kcp answered with. One that cannot be read is as broken as an answer that is no JSON.
pub(super) fn decode(key: &ObjectKey, text: &[u8]) -> Result<Box<APIExportEndpointSlice>, RequestError> {
    match Object::from_json(Kind::APIExportEndpointSlice, text, Some(&key.cluster)) {
        Ok(Object::Slice(slice)) => Ok(Box::new(slice)),
        Ok(_) => unreachable!("an object is of the kind that it is decoded as"),
        Err(error) => Err(RequestError::Body(Box::new(error))),
    }
}

pub(super) fn path(key: &ObjectKey) -> String {
    format!(
        "/apis/apis.kcp.io/v1alpha1/apiexportendpointslices/{}",
        segment(&key.name)
    )
}
