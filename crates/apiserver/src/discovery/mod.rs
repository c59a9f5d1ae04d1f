//! What clients are told about an API before they use it: discovery and OpenAPI.
//!
//! An API is one export, or the union of all. What is told about it is made once, when it is first asked for, and
//! answered from memory until the export or the snapshot is another one.

mod aggregated;
mod catalog;
#[cfg(test)]
pub(crate) mod fixture;
mod legacy;
#[cfg(test)]
mod tests;
mod versions;

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use ephemeral_index::Export;
use http::request::Parts;
use http::{Response, StatusCode};
use moka::sync::Cache;
use structural_schema::yaml;

pub(crate) use catalog::{Catalog, Group, GroupVersion, Resource};

use crate::fault::{ClientFault, Fault, PlatformFault};
use crate::negotiate::{check_representation, negotiate_discovery, negotiate_plain};
use crate::openapi::OpenApi;
use crate::request_info::Discovery;
use crate::respond::{Body, Cached, Document, Gzip, Responder};
use crate::webhook::{Handle, Snapshot};
use aggregated::Aggregated;

/// The only verb that anything can be done with.
const VERBS: [&str; 1] = ["create"];

/// Exports whose documents are kept. Those of another are made anew when they are asked for.
const MAX_EXPORTS: u64 = 1024;

/// How long documents are kept that nobody asks for: they hold the schemas of their export, which may be gone.
const KEEP: Duration = Duration::from_hours(1);

/// The documents of all APIs, each made once.
pub struct Documents {
    server_address: Option<Arc<str>>,
    exports: Cache<ExportKey, Known<Export<Handle>>>,
    union: Mutex<Option<Known<Snapshot>>>,
}

#[derive(Debug, Eq, Hash, PartialEq)]
struct ExportKey {
    cluster: Arc<str>,
    name: Arc<str>,
}

/// Documents, and what they were made of. As long as this is kept its address is nobody else's.
struct Known<T> {
    of: Weak<T>,
    published: Arc<Published>,
}

impl<T> Clone for Known<T> {
    fn clone(&self) -> Self {
        Self {
            of: Weak::clone(&self.of),
            published: Arc::clone(&self.published),
        }
    }
}

impl<T> Known<T> {
    fn is_of(&self, of: &Arc<T>) -> bool {
        std::ptr::eq(self.of.as_ptr(), Arc::as_ptr(of))
    }

    fn published(&self, of: &Arc<T>) -> Option<Arc<Published>> {
        self.is_of(of).then(|| Arc::clone(&self.published))
    }
}

impl Default for Documents {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Documents {
    /// No documents yet. Clients are told `server_address` (`host:port`), if there is one.
    pub fn new(server_address: Option<&str>) -> Self {
        Self {
            server_address: server_address.map(Arc::from),
            exports: Cache::builder().max_capacity(MAX_EXPORTS).time_to_idle(KEEP).build(),
            union: Mutex::default(),
        }
    }

    /// The documents of one export. A change of one export costs the documents of that one.
    pub fn of_export(&self, export: &Arc<Export<Handle>>) -> Arc<Published> {
        let key = ExportKey {
            cluster: Arc::clone(&export.cluster),
            name: Arc::clone(&export.name),
        };
        if let Some(published) = self.exports.get(&key).and_then(|known| known.published(export)) {
            return published;
        }
        // Of several requests that find nothing, one makes the documents for all.
        let known = self.exports.entry(key).and_upsert_with(|known| {
            let known = known.map(moka::Entry::into_value).filter(|known| known.is_of(export));
            known.unwrap_or_else(|| Known {
                of: Arc::downgrade(export),
                published: self.publish(
                    Catalog::new(export.resources.iter().map(|nomination| &**nomination)),
                    Catalog::default(),
                ),
            })
        });
        known.into_value().published
    }

    /// The documents of all exports together, as in a workspace that bound them. Of two that have the same resource
    /// the first counts, by logical cluster and name.
    pub fn of_all(&self, snapshot: &Arc<Snapshot>) -> Arc<Published> {
        let mut union = self.union.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(published) = union.as_ref().and_then(|known| known.published(snapshot)) {
            return published;
        }
        let mut exports: Vec<_> = snapshot.exports().collect();
        exports.sort_by(|a, b| (&a.cluster, &a.name).cmp(&(&b.cluster, &b.name)));
        let nominations = exports
            .iter()
            .flat_map(|export| export.resources.iter().map(|nomination| &**nomination));
        let published = self.publish(Catalog::new(nominations), Catalog::legacy());
        *union = Some(Known {
            of: Arc::downgrade(snapshot),
            published: Arc::clone(&published),
        });
        published
    }

    fn publish(&self, catalog: Catalog, legacy: Catalog) -> Arc<Published> {
        Arc::new(Published {
            catalog,
            legacy,
            server_address: self.server_address.clone(),
            listed: OnceLock::new(),
            openapi: OpenApi::default(),
        })
    }
}

/// What is told about one API.
#[derive(Debug)]
pub struct Published {
    catalog: Catalog,
    /// The legacy group, if there is one: a shard has its own, so that an export has none.
    legacy: Catalog,
    server_address: Option<Arc<str>>,
    listed: OnceLock<Listed>,
    openapi: OpenApi,
}

/// All discovery documents of one API; small, so made together.
#[derive(Debug)]
struct Listed {
    legacy_group: Document,
    /// The versions of the legacy group, by name.
    legacy_versions: Vec<(Arc<str>, Document)>,
    groups: Document,
    /// For each group of the catalog its own document and those of its versions, in the catalog's order.
    each: Vec<(Document, Vec<Document>)>,
    aggregated: Aggregated,
    /// Of the legacy group.
    aggregated_legacy: Aggregated,
}

impl Published {
    /// Answers a GET of a document. What is not there is [`ClientFault::NotFound`]: whether it may merely not have been
    /// read yet is for the caller to say.
    pub fn answer(&self, asked: &Discovery<'_>, parts: &Parts) -> Result<Response<Body>, Fault> {
        let responder = Responder::new(parts);
        match asked {
            Discovery::OpenApiV2 => self.openapi.v2(&self.catalog, &responder, parts),
            Discovery::OpenApiV3 => Ok(self.openapi.index(&self.catalog, &responder)),
            Discovery::OpenApiV3Version(group, version) => {
                self.openapi.version(&self.catalog, (group, version), &responder, parts)
            }
            Discovery::Legacy
            | Discovery::LegacyVersion(_)
            | Discovery::Groups
            | Discovery::Group(_)
            | Discovery::Version(..) => {
                check_representation(&parts.headers)?;
                self.list(asked, &responder, parts)
            }
            Discovery::ServerVersion => Err(ClientFault::NotFound.into()),
        }
    }

    fn list(&self, asked: &Discovery<'_>, responder: &Responder, parts: &Parts) -> Result<Response<Body>, Fault> {
        let listed = self.listed.get_or_init(|| self.make());
        let aggregated = match asked {
            Discovery::Legacy => Some(&listed.aggregated_legacy),
            Discovery::Groups => Some(&listed.aggregated),
            _ => None,
        };
        if let Some(aggregated) = aggregated
            && let Some(output) = negotiate_discovery(parts)
        {
            let version = output.target;
            return Ok(responder.cached(&Cached {
                content_type: format!(
                    "{};g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList",
                    output.form.media.as_str(),
                    version.as_str()
                ),
                body: aggregated
                    .version(version)
                    .encode(output.form)
                    .map_err(|error| unwritable(&error))?,
                etag: &aggregated.etag,
                cache_control: "public",
                gzip: Gzip::Objects,
            }));
        }
        let document = match asked {
            Discovery::Legacy => &listed.legacy_group,
            Discovery::LegacyVersion(version) => {
                let mut versions = listed.legacy_versions.iter();
                let found = versions.find(|(name, _)| **name == **version);
                &found.ok_or(ClientFault::NotFound)?.1
            }
            Discovery::Groups => &listed.groups,
            Discovery::Group(group) => &self.group(listed, group)?.1.0,
            Discovery::Version(group, version) => {
                let (group, (_, versions)) = self.group(listed, group)?;
                let at = group.versions.iter().position(|known| *known.name == **version);
                &versions[at.ok_or(ClientFault::NotFound)?]
            }
            _ => return Err(ClientFault::NotFound.into()),
        };
        Ok(responder.document(StatusCode::OK, document, negotiate_plain(parts)?))
    }

    fn group<'a>(
        &'a self,
        listed: &'a Listed,
        name: &str,
    ) -> Result<(&'a Group, &'a (Document, Vec<Document>)), ClientFault> {
        let mut groups = self.catalog.groups.iter().zip(&listed.each);
        groups
            .find(|(group, _)| &*group.name == name)
            .ok_or(ClientFault::NotFound)
    }

    fn make(&self) -> Listed {
        let server_address = self.server_address.as_deref();
        let each = self.catalog.groups.iter().map(|group| {
            let versions = group
                .versions
                .iter()
                .map(|version| legacy::resources(group, version))
                .collect();
            (legacy::group(group), versions)
        });
        let legacy_versions = self.legacy.groups.iter().flat_map(|group| {
            let versions = group.versions.iter();
            versions.map(|version| (Arc::clone(&version.name), legacy::resources(group, version)))
        });
        Listed {
            legacy_group: legacy::legacy_group(&self.legacy, server_address),
            legacy_versions: legacy_versions.collect(),
            groups: legacy::groups(&self.catalog, server_address),
            each: each.collect(),
            aggregated: Aggregated::new(&self.catalog),
            aggregated_legacy: Aggregated::new(&self.legacy),
        }
    }
}

/// A document that YAML cannot hold, since a name in it has a control character.
fn unwritable(error: &yaml::Error) -> Fault {
    PlatformFault::Internal(error.to_string().into()).into()
}

fn arcs(names: &[Arc<str>]) -> Vec<&str> {
    names.iter().map(|name| &**name).collect()
}
