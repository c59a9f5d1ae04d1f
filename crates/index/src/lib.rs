//! Nominations: which resource of which APIExport is answered by which webhook, folded into an immutable snapshot.
//!
//! Events about kcp's objects and this project's own kind go into an [`Index`]; an [`Arc`](std::sync::Arc) of a
//! [`Snapshot`] comes out, from which requests are answered without locks. The crate knows no sockets, no client and
//! no clock: whoever reads kcp or a manifests directory feeds it, and an [`EndpointFactory`] that the wiring supplies
//! turns a nomination's URL and CA bundle into the handle through which its webhook is called.

mod compile;
pub mod endpoint;
pub mod problem;
pub mod resource;
pub mod snapshot;

pub use endpoint::{EndpointFactory, EndpointInput, EndpointProblem};
pub use problem::{ConditionType, Problem, SchemaProblem};
pub use resource::{NameValidation, PrinterColumn, ResourceNames, ResourceSchema, Schema, Scope, Version};
pub use snapshot::{Export, FailurePolicy, Nomination, ReviewVersion, Snapshot, SpecOwnership, Subject, Usable};
