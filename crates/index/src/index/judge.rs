//! What is to be said of a nomination. Decides and remembers nothing but the handles that were made.

use std::sync::Arc;

use crate::conditions::{Finding, Findings};
use crate::endpoint::{EndpointFactory, EndpointInput, EndpointProblem};
use crate::event::{Calls, Source};
use crate::kinds::{ExportResource, ObjectMeta, Settings, Storage, Target};
use crate::problem::Problem;
use crate::resource::ResourceSchema;
use crate::snapshot::{Nomination, Origin, Usable};

use super::cluster::Cluster;
use super::relations::{Candidate, Rank};
use super::slices::Publisher;

/// A handle, or why there is none, with what it was made of: it serves until that changes.
pub(super) struct Made<W> {
    uid: Arc<str>,
    url: Arc<str>,
    ca_bundle: Option<Arc<str>>,
    max_in_flight: Option<u32>,
    result: Result<W, EndpointProblem>,
}

impl<W> Made<W> {
    /// Makes a handle.
    fn new(
        cluster: &str,
        origin: &Origin,
        meta: &ObjectMeta,
        settings: &Settings,
        factory: &impl EndpointFactory<Handle = W>,
    ) -> Self {
        let Settings {
            url,
            ca_bundle,
            max_in_flight,
            ..
        } = settings;
        Self {
            uid: meta.uid.clone(),
            url: url.clone(),
            ca_bundle: ca_bundle.clone(),
            max_in_flight: *max_in_flight,
            result: factory.make(&input(cluster, origin, url, ca_bundle.as_deref(), *max_in_flight)),
        }
    }

    /// Whether it would turn out otherwise now.
    pub(super) fn has_turned(
        &self,
        cluster: &str,
        origin: &Origin,
        factory: &impl EndpointFactory<Handle = W>,
    ) -> bool {
        let input = input(
            cluster,
            origin,
            &self.url,
            self.ca_bundle.as_deref(),
            self.max_in_flight,
        );
        factory.check(&input).err() != self.result.as_ref().err().copied()
    }

    fn is_of(&self, meta: &ObjectMeta, settings: &Settings) -> bool {
        self.uid == meta.uid
            && self.url == settings.url
            && self.ca_bundle == settings.ca_bundle
            && self.max_in_flight == settings.max_in_flight
    }
}

fn input<'a>(
    cluster: &'a str,
    origin: &'a Origin,
    url: &'a str,
    ca_bundle: Option<&'a str>,
    max_in_flight: Option<u32>,
) -> EndpointInput<'a> {
    EndpointInput {
        cluster,
        webhook: match origin {
            Origin::Webhook(name) => Some(name),
            Origin::Inline(_) => None,
        },
        url,
        ca_bundle,
        max_in_flight,
    }
}

impl<W: Clone> Cluster<W> {
    /// Judges the candidate that counts.
    pub(super) fn judge(
        &mut self,
        target: &Target,
        rank: &Rank,
        candidate: &Candidate,
        factory: &impl EndpointFactory<Handle = W>,
        publisher: Option<&Publisher>,
    ) -> (Nomination<W>, Findings) {
        let usable = match candidate.settings() {
            Ok(settings) => self.usable(&rank.origin, candidate.meta(), settings, factory),
            Err(invalid) => Err(Problem::from(*invalid)),
        };
        let entry = self.entry(target);
        let schema = entry.clone().and_then(|entry| self.schema_of(target, &entry));
        let findings = Findings {
            accepted: match candidate.settings() {
                Ok(_) => Finding::Good,
                Err(invalid) => Finding::Bad((*invalid).into()),
            },
            resolved: match &schema {
                Ok(schema) => enforceable(schema),
                Err(problem) => Finding::Bad(problem.clone()),
            },
            published: match (&entry, publisher) {
                _ if !rank.self_service => Finding::Good,
                (Ok(entry), Some(publisher)) => self.published(target, entry, publisher),
                _ => Finding::Pending,
            },
            endpoint: match candidate.settings() {
                Ok(_) => Finding::from(&usable),
                Err(_) => Finding::Pending,
            },
            calls: match &rank.origin {
                Origin::Webhook(name) => calls(self.calls(name)),
                Origin::Inline(_) => Finding::Pending,
            },
        };
        let nomination = Nomination {
            webhook_name: rank.origin.name(),
            cluster: self.name().clone(),
            export: target.export.clone(),
            group: target.resource.group.clone(),
            resource: target.resource.resource.clone(),
            state: entry.and(usable),
            schema,
        };
        (nomination, findings)
    }

    fn usable(
        &mut self,
        origin: &Origin,
        meta: &ObjectMeta,
        settings: &Settings,
        factory: &impl EndpointFactory<Handle = W>,
    ) -> Result<Usable<W>, Problem> {
        if self.made.get(origin).is_none_or(|made| !made.is_of(meta, settings)) {
            let made = Made::new(self.name(), origin, meta, settings, factory);
            if self.made.insert(origin.clone(), made).is_some()
                && let Origin::Webhook(name) = origin
            {
                // They were met elsewhere.
                self.forget_calls(name);
            }
        }
        let made = &self.made[origin];
        Ok(Usable {
            handle: made.result.clone()?,
            timeout: settings.timeout,
            failure_policy: settings.failure_policy,
            review_version: settings.review_version,
            spec_ownership: settings.spec_ownership,
            max_in_flight: settings.max_in_flight,
        })
    }

    /// What the export says of the resource.
    fn entry(&self, target: &Target) -> Result<ExportResource, Problem> {
        let Some((_, export)) = self.export(&target.export) else {
            return Err(if self.claims_refused {
                Problem::ClaimsNotAccepted
            } else {
                Problem::ExportNotFound
            });
        };
        match export.resources.get(&target.resource) {
            Some(entry) => Ok(entry.clone()),
            None => Err(export
                .invalid
                .map_or(Problem::ResourceNotInExport, Problem::ExportInvalid)),
        }
    }

    fn schema_of(&self, target: &Target, entry: &ExportResource) -> Result<Arc<ResourceSchema>, Problem> {
        let Some((_, object)) = self.schema(&entry.schema) else {
            return Err(if self.claims_refused {
                Problem::ClaimsNotAccepted
            } else {
                Problem::SchemaNotFound
            });
        };
        match &object.spec {
            Err(invalid) => return Err(Problem::SchemaUnsupported((*invalid).into())),
            Ok(spec) if spec.resource() != target.resource => return Err(Problem::SchemaOfOtherResource),
            Ok(_) => {}
        }
        let compiled = self.compiled.get(&entry.schema).ok_or(Problem::SchemaNotFound)?;
        compiled.schema.clone().map_err(Problem::SchemaUnsupported)
    }

    fn published(&self, target: &Target, entry: &ExportResource, publisher: &Publisher) -> Finding {
        match (&entry.storage, self.export(&target.export)) {
            // What comes from the operator's manifests is not published.
            (_, None | Some((Source::Manifests, _))) => Finding::Good,
            (Storage::Crd | Storage::Ephemeral(_), _) => Finding::Bad(Problem::StorageNotVirtual),
            (Storage::Virtual(reference), _) if !reference.is_slice() => {
                Finding::Bad(Problem::ReferenceNotEndpointSlice)
            }
            (Storage::Virtual(reference), Some((_, export))) => self.slice_finding(export, &reference.name, publisher),
        }
    }
}

/// The first version that requests could name and that cannot be enforced.
fn enforceable(schema: &ResourceSchema) -> Finding {
    let problem = schema.served().find_map(|version| version.schema.as_ref().err());
    problem.map_or(Finding::Good, |problem| {
        Finding::Bad(Problem::SchemaUnsupported(problem.clone()))
    })
}

const fn calls(calls: Option<Calls>) -> Finding {
    match calls {
        None => Finding::Unread,
        Some(Calls::Succeeding) => Finding::Good,
        Some(Calls::Failing) => Finding::Bad(Problem::CallsFailing),
        Some(Calls::ClientCertificateNotRequested) => Finding::Bad(Problem::ClientCertificateNotRequested),
    }
}
