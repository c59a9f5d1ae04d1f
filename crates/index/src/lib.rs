//! Nominations: which resource of which APIExport is answered by which webhook, folded into an immutable snapshot.
//!
//! Events about kcp's objects and this project's own kind go into an [`Index`]; an [`Arc`](std::sync::Arc) of a
//! [`Snapshot`] comes out, from which requests are answered without locks. The crate knows no sockets, no client and
//! no clock: whoever reads kcp or a manifests directory feeds it, and an [`EndpointFactory`] that the wiring supplies
//! turns a nomination's URL and CA bundle into the handle through which its webhook is called.
//!
//! ```
//! use ephemeral_index::{EndpointFactory, EndpointInput, EndpointProblem, Event, Index, Source, manifests};
//!
//! struct Urls;
//!
//! impl EndpointFactory for Urls {
//!     type Handle = String;
//!
//!     fn make(&self, endpoint: &EndpointInput<'_>) -> Result<String, EndpointProblem> {
//!         Ok(endpoint.url.to_owned())
//!     }
//! }
//!
//! let objects = manifests::parse(
//!     "
//! apiVersion: apis.kcp.io/v1alpha1
//! kind: APIResourceSchema
//! metadata: {name: v1.things.example.org}
//! spec:
//!   group: example.org
//!   names: {kind: Thing, plural: things}
//!   scope: Namespaced
//!   versions: [{name: v1, served: true, storage: true, schema: {type: object}}]
//! ---
//! apiVersion: apis.kcp.io/v1alpha2
//! kind: APIExport
//! metadata: {name: example.org}
//! spec: {resources: [{name: things, group: example.org, schema: v1.things.example.org}]}
//! ---
//! apiVersion: ephemeral.contrib.kcp.io/v1alpha1
//! kind: EphemeralWebhook
//! metadata: {name: things}
//! spec: {export: example.org, group: example.org, resource: things, url: 'https://things.example.org/'}
//! ",
//! )?;
//! let mut index = Index::new(Urls, None);
//! index.apply([Event::Sources([Source::Manifests].into())]);
//! let snapshot = index.apply(manifests::events(objects)).snapshot;
//!
//! assert!(snapshot.is_complete());
//! let export = snapshot.find("provider", "example.org").expect("nominated above");
//! let nomination = export.nomination("example.org", "things").expect("nominated above");
//! assert!(nomination.state.as_ref().is_ok_and(|usable| usable.handle == "https://things.example.org/"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compile;
pub mod conditions;
mod copies;
mod deprecation;
pub mod endpoint;
pub mod event;
mod index;
pub mod kinds;
pub mod manifests;
pub mod problem;
pub mod resource;
pub mod snapshot;
pub mod status;

pub use conditions::{Condition, ConditionStatus};
pub use endpoint::{EndpointFactory, EndpointInput, EndpointProblem};
pub use event::{Calls, Event, ObjectRef, SliceReading, Source};
pub use index::{Index, Publisher, SliceAction, SliceIntent, Update};
pub use problem::{ConditionType, FieldInvalid, Problem, SchemaProblem};
pub use resource::{NameValidation, PrinterColumn, ResourceNames, ResourceSchema, Scope, Version};
pub use snapshot::{
    Export, FailurePolicy, Nomination, Origin, ReviewVersion, Snapshot, SpecOwnership, Subject, Usable,
};
pub use status::NominationStatus;
