//! The provider's side: export, reference, slice, endpoint, nomination.

use ephemeral_index::kinds::{
    APIExport, APIExportEndpointSlice, Endpoint, EphemeralWebhook, ExportResource, GroupResource, Kind, Object,
    Reference, Storage,
};
use ephemeral_index::{Condition, ConditionStatus, Problem};
use ephemeral_kcp::Cluster;
use structural_schema::Value;

use super::report::Outcome;
use super::seen::Seen;
use crate::cli::ResourceName;

const EXPORTS: &str = "/apis/apis.kcp.io/v1alpha2/apiexports";
const SLICES: &str = "/apis/apis.kcp.io/v1alpha1/apiexportendpointslices";
const WEBHOOKS: &str = "/apis/ephemeral.contrib.kcp.io/v1alpha1/ephemeralwebhooks";

/// What was seen of a provider's workspace.
#[derive(Debug)]
pub(super) struct Provider {
    pub(super) exports: Seen<Vec<APIExport>>,
    pub(super) slices: Seen<Vec<APIExportEndpointSlice>>,
    /// Missing where the kind is not served in the workspace.
    pub(super) webhooks: Seen<Vec<EphemeralWebhook>>,
}

impl Provider {
    /// Looks at a workspace.
    pub(super) async fn read(workspace: &Cluster, name: &str) -> Self {
        let (exports, slices, webhooks) = tokio::join!(
            list(workspace, name, Kind::APIExport, EXPORTS, |object| match object {
                Object::Export(export) => Some(export),
                _ => None,
            }),
            list(
                workspace,
                name,
                Kind::APIExportEndpointSlice,
                SLICES,
                |object| match object {
                    Object::Slice(slice) => Some(slice),
                    _ => None,
                }
            ),
            list(
                workspace,
                name,
                Kind::EphemeralWebhook,
                WEBHOOKS,
                |object| match object {
                    Object::Webhook(webhook) => Some(webhook),
                    _ => None,
                }
            ),
        );
        Self {
            exports,
            slices,
            webhooks,
        }
    }

    /// The logical cluster of the workspace, as its exports say it.
    pub(super) fn cluster(&self) -> Option<&str> {
        let export = self.exports.found()?.first()?;
        Some(&export.meta.cluster)
    }

    /// What cannot be seen, and why.
    pub(super) fn unseen(why: &str) -> Self {
        Self {
            exports: Seen::Hidden(why.to_owned()),
            slices: Seen::Hidden(why.to_owned()),
            webhooks: Seen::Hidden(why.to_owned()),
        }
    }
}

/// The objects of a kind; one that cannot be decoded is left out, as the server leaves it out.
async fn list<T>(
    workspace: &Cluster,
    name: &str,
    kind: Kind,
    path: &str,
    take: impl Fn(Object) -> Option<T>,
) -> Seen<Vec<T>> {
    let read = workspace.get_bytes(path).await;
    Seen::of(read).map(|text| {
        let list = structural_schema::json::decode(&text).map(|decoded| decoded.value);
        let items = list
            .ok()
            .and_then(|mut list| match list.as_object_mut()?.get_mut("items")? {
                Value::Array(items) => Some(std::mem::take(items).into_vec()),
                _ => None,
            });
        let objects = items
            .unwrap_or_default()
            .into_iter()
            .filter_map(|item| Object::decode_as(kind, item, Some(name)).ok());
        objects.filter_map(take).collect()
    })
}

/// The hops of a provider's workspace, followed for one resource of one export as far as each leads to the next.
pub(super) struct Trail<'a> {
    provider: &'a Provider,
    resource: GroupResource,
    export: Option<&'a APIExport>,
    reference: Option<&'a Reference>,
    slice: Option<&'a APIExportEndpointSlice>,
}

impl<'a> Trail<'a> {
    /// Follows the resource from an export; where its name is not known, from the one that lists the resource.
    pub(super) fn follow(provider: &'a Provider, export: Option<&str>, resource: &ResourceName) -> Self {
        let resource = GroupResource {
            group: resource.group.as_str().into(),
            resource: resource.plural.as_str().into(),
        };
        let meant = |candidate: &&APIExport| match export {
            Some(name) => &*candidate.meta.name == name,
            None => candidate.resources.contains_key(&resource),
        };
        let export = provider.exports.found().and_then(|exports| exports.iter().find(meant));
        let reference = export.and_then(|export| match &export.resources.get(&resource)?.storage {
            Storage::Virtual(reference) => Some(reference),
            Storage::Crd | Storage::Ephemeral(_) => None,
        });
        let slice = reference
            .filter(|reference| reference.is_slice())
            .and_then(|reference| {
                let mut slices = provider.slices.found()?.iter();
                slices.find(|slice| slice.meta.name == reference.name)
            });
        Self {
            provider,
            resource,
            export,
            reference,
            slice,
        }
    }

    fn entry(&self) -> Option<&'a ExportResource> {
        self.export?.resources.get(&self.resource)
    }

    /// The export exists and lists the resource.
    pub(super) fn judge_export(&self, named: Option<&str>) -> Outcome {
        let exports = match &self.provider.exports {
            Seen::Hidden(why) => return Outcome::not_visible(why.as_str()),
            Seen::Missing => &Vec::new(),
            Seen::Found(exports) => exports,
        };
        let Some(export) = self.export else {
            let known: Vec<_> = exports.iter().map(|export| &*export.meta.name).collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            return match named {
                Some(name) => Outcome::broken(
                    format!("there is no APIExport {name} in the provider's workspace, which has: {known}"),
                    "create it, or bind one that exists",
                ),
                None => Outcome::broken(
                    format!(
                        "no APIExport of the provider's workspace lists {}; it has: {known}",
                        self.resource
                    ),
                    "add the resource to spec.resources of the APIExport",
                ),
            };
        };
        let name = &export.meta.name;
        if self.entry().is_none() {
            return Outcome::broken(
                format!("APIExport {name} does not list {}", self.resource),
                "add it to spec.resources of the APIExport: kcp-ephemeral manifests nomination prints the entry",
            );
        }
        Outcome::good(format!(
            "APIExport {name} of logical cluster {} lists it",
            export.meta.cluster
        ))
    }

    /// The resource is virtual, by a slice of its own.
    pub(super) fn judge_reference(&self) -> Outcome {
        let (Some(export), Some(entry)) = (self.export, self.entry()) else {
            return beyond("the export");
        };
        let slice = match &entry.storage {
            Storage::Ephemeral(_) => return Outcome::good("the export has the inline form, storage.ephemeral"),
            Storage::Crd => {
                return Outcome::broken(
                    "kcp stores the resource: storage is crd",
                    "set storage.virtual.reference to an APIExportEndpointSlice of its own: kcp-ephemeral manifests \
                     nomination prints it, for kubectl apply --server-side",
                );
            }
            Storage::Virtual(reference) if !reference.is_slice() => {
                return Outcome::broken(
                    format!("storage.virtual.reference is to {} {}", reference.kind, reference.name),
                    "refer to an APIExportEndpointSlice (apiGroup apis.kcp.io): other kinds resolve on the provider's \
                     shard only",
                );
            }
            Storage::Virtual(reference) => &reference.name,
        };
        if *slice == export.meta.name {
            return Outcome::broken(
                format!("storage.virtual.reference is to the export's default slice {slice}, which controllers follow"),
                format!("create a second slice {slice}.ephemeral for the export, and refer to that"),
            );
        }
        let others: Vec<_> = self.exports_that_share(slice).map(|other| &*other.meta.name).collect();
        if !others.is_empty() {
            return Outcome::broken(
                format!("APIExport {} refers to the same slice {slice}", others.join(", ")),
                "give each APIExport a slice of its own",
            );
        }
        Outcome::good(format!("storage.virtual refers to APIExportEndpointSlice {slice}"))
    }

    fn exports_that_share(&self, slice: &'a str) -> impl Iterator<Item = &'a APIExport> {
        let own = self.export.map(|export| &export.meta.name);
        let exports = self.provider.exports.found().into_iter().flatten();
        exports.filter(move |export| Some(&export.meta.name) != own && refers_to(export, slice))
    }

    /// The slice exists and is the export's.
    pub(super) fn judge_slice(&self) -> Outcome {
        let (Some(export), Some(reference)) = (self.export, self.reference.filter(|reference| reference.is_slice()))
        else {
            return beyond("the reference");
        };
        let name = &reference.name;
        if let Seen::Hidden(why) = &self.provider.slices {
            return Outcome::not_visible(why.as_str());
        }
        match self.slice {
            None => Outcome::broken(
                format!("there is no APIExportEndpointSlice {name}"),
                format!("create it, with spec.export.name {}", export.meta.name),
            ),
            Some(slice) if slice.export != export.meta.name => Outcome::broken(
                format!("APIExportEndpointSlice {name} is for APIExport {}", slice.export),
                format!("refer to a slice whose spec.export.name is {}", export.meta.name),
            ),
            Some(_) => Outcome::good(format!("APIExportEndpointSlice {name} is for this export")),
        }
    }

    /// The slice has one entry for each shard, which leads to the server of this export. `front` is kcp's base URL.
    pub(super) fn judge_endpoint(&self, front: &str) -> Outcome {
        let (Some(export), Some(slice)) = (self.export, self.slice) else {
            return beyond("the slice");
        };
        let published: Vec<_> = published(slice).collect();
        if published.is_empty() {
            return Outcome::broken(
                format!("APIExportEndpointSlice {} has no entry with shards", slice.meta.name),
                "the server publishes one for each export that an accepted EphemeralWebhook nominates: look at the \
                 nomination, whether the server runs, and whether it may patch the slice's status",
            );
        }
        if let Some((one, other)) = tie(&published) {
            return Outcome::broken(
                format!(
                    "shards cannot choose between {} and {}",
                    described(one),
                    described(other)
                ),
                "withdraw the entry of the publisher that is gone, or give each publisher a --shard-selector of its own; \
                 --orphans shows how",
            );
        }
        let endpoints = self.endpoints();
        if endpoints.is_empty() {
            return Outcome::broken(
                format!("no entry leads to {}: {}", path_of(export), described(published[0])),
                "remove the entry, and let the server publish its own",
            );
        }
        let through_front = |endpoint: &&Endpoint| {
            let there = origin(&endpoint.url);
            there.is_some() && there == origin(front)
        };
        if let Some(endpoint) = endpoints.iter().copied().find(through_front) {
            return Outcome::broken(
                format!(
                    "{} leads through kcp's front-proxy, where the caller's identity is lost",
                    endpoint.url
                ),
                "start the server with the --external-url under which shards reach it directly",
            );
        }
        let endpoints: Vec<_> = endpoints.into_iter().map(described).collect();
        Outcome::good(endpoints.join(", "))
    }

    /// The entries under which shards find servers: one for each region.
    pub(super) fn endpoints(&self) -> Vec<&'a Endpoint> {
        let (Some(export), Some(slice)) = (self.export, self.slice) else {
            return Vec::new();
        };
        let path = path_of(export);
        published(slice)
            .filter(|endpoint| endpoint.url.ends_with(&path))
            .collect()
    }

    /// The EphemeralWebhooks of the resource.
    pub(super) fn nominations(&self) -> Vec<&'a EphemeralWebhook> {
        let export = self.export.map(|export| &export.meta.name);
        let of_this = |webhook: &&EphemeralWebhook| {
            webhook.target.as_ref().is_ok_and(|target| {
                target.resource == self.resource && export.is_none_or(|export| target.export == *export)
            })
        };
        self.provider
            .webhooks
            .found()
            .into_iter()
            .flatten()
            .filter(of_this)
            .collect()
    }

    /// An EphemeralWebhook nominates the resource, and nothing is wrong with it. `served` tells whether the server
    /// tells consumers of the resource, and so knows a nomination.
    pub(super) fn judge_nomination(&self, served: bool) -> Outcome {
        let nominations = self.nominations();
        match &self.provider.webhooks {
            Seen::Hidden(why) => return Outcome::not_visible(why.as_str()),
            _ if nominations.is_empty() && served => {
                return Outcome::not_visible("none is here, but the server has one: the operator's manifests");
            }
            Seen::Missing => {
                return Outcome::broken(
                    "the provider's workspace does not serve EphemeralWebhook",
                    "bind its export: kcp-ephemeral manifests provider --export-path <workspace of the platform> | \
                     kubectl apply -f -",
                );
            }
            Seen::Found(_) => {}
        }
        if nominations.is_empty() {
            return Outcome::broken(
                format!("no EphemeralWebhook nominates a webhook for {}", self.resource),
                "create one: kcp-ephemeral manifests nomination prints it",
            );
        }
        let mut judged = nominations.iter().map(|webhook| judge_conditions(webhook));
        let broken = judged.clone().find(Outcome::is_broken);
        broken.or_else(|| judged.next()).unwrap_or_else(|| beyond("the export"))
    }

    /// Whether the webhook lets anyone in who reaches it, as the conditions say.
    pub(super) fn asks_nobody_for_a_certificate(&self) -> bool {
        let nominations = self.nominations();
        let mut calls = nominations
            .iter()
            .filter_map(|webhook| condition(webhook, "CallsSucceeding"));
        calls.any(|calls| &*calls.reason == Problem::ClientCertificateNotRequested.reason())
    }

    /// What real creates met lately, as the conditions say.
    pub(super) fn judge_calls(&self) -> Outcome {
        let nominations = self.nominations();
        let calls = nominations
            .iter()
            .find_map(|webhook| condition(webhook, "CallsSucceeding"));
        match calls {
            Some(calls) if calls.status == ConditionStatus::False => {
                Outcome::broken(format!("{}, says the nomination", calls.reason), &*calls.message)
            }
            Some(_) => Outcome::good("calls succeed, says the nomination"),
            None => Outcome::not_visible("nothing is known of calls to it: send one with -f object.yaml"),
        }
    }
}

fn judge_conditions(webhook: &EphemeralWebhook) -> Outcome {
    let name = &webhook.meta.name;
    let conditions = &webhook.status.conditions;
    let outdated = webhook.status.observed_generation < webhook.meta.generation;
    if conditions.is_empty() || outdated {
        return Outcome::broken(
            format!(
                "no server has judged EphemeralWebhook {name}{}",
                if outdated { " as it is now" } else { "" }
            ),
            "check that kcp-ephemeral serve runs, reaches kcp, and holds the Lease of its --publisher-name",
        );
    }
    let ready_parts = conditions
        .iter()
        .filter(|condition| &*condition.condition_type != "CallsSucceeding");
    let mut failed = ready_parts
        .clone()
        .filter(|condition| condition.status == ConditionStatus::False);
    if let Some(failed) = failed.next() {
        return Outcome::broken(
            format!(
                "EphemeralWebhook {name} is not {}: {}",
                failed.condition_type, failed.reason
            ),
            &*failed.message,
        );
    }
    match ready_parts
        .clone()
        .find(|condition| condition.status == ConditionStatus::Unknown)
    {
        Some(pending) => Outcome::broken(
            format!(
                "EphemeralWebhook {name}: {} is not known yet: {}",
                pending.condition_type, pending.message
            ),
            "wait a minute; if it stays, look at the server's log",
        ),
        None => Outcome::good(format!("EphemeralWebhook {name} is Ready")),
    }
}

fn condition<'a>(webhook: &'a EphemeralWebhook, condition_type: &str) -> Option<&'a Condition> {
    let mut conditions = webhook.status.conditions.iter();
    conditions.find(|condition| &*condition.condition_type == condition_type)
}

/// The entries that shards pick virtual resources from: kcp's own have no `shards`.
pub(super) fn published(slice: &APIExportEndpointSlice) -> impl Iterator<Item = &Endpoint> {
    slice.endpoints.iter().filter(|endpoint| endpoint.shards.is_some())
}

/// What the URL of an export's endpoint ends with.
fn path_of(export: &APIExport) -> String {
    format!("/services/ephemeral/{}/{}", export.meta.cluster, export.meta.name)
}

pub(super) fn tie<'a>(published: &[&'a Endpoint]) -> Option<(&'a Endpoint, &'a Endpoint)> {
    published.iter().enumerate().find_map(|(at, &one)| {
        let mut others = published[at + 1..].iter();
        others
            .find(|other| other.shards == one.shards)
            .map(|&other| (one, other))
    })
}

/// Whether a resource of an export has its endpoints in a slice.
pub(super) fn refers_to(export: &APIExport, slice: &str) -> bool {
    export.resources.values().any(|entry| match &entry.storage {
        Storage::Virtual(reference) => reference.is_slice() && &*reference.name == slice,
        Storage::Crd | Storage::Ephemeral(_) => false,
    })
}

/// An entry and who wrote it.
pub(super) fn described(endpoint: &Endpoint) -> String {
    let managers: Vec<_> = endpoint.managers.iter().map(|manager| &**manager).collect();
    if managers.is_empty() {
        endpoint.url.to_string()
    } else {
        format!("{} (by {})", endpoint.url, managers.join(", "))
    }
}

fn beyond(hop: &str) -> Outcome {
    Outcome::not_visible(format!("it depends on {hop}"))
}

fn origin(text: &str) -> Option<url::Origin> {
    url::Url::parse(text).ok().map(|url| url.origin())
}
