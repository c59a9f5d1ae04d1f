//! Nominations: which resource of which APIExport is answered by which webhook, folded into an immutable snapshot.
//!
//! Events about kcp's objects and this project's own kind go into an [`Index`]; an [`Arc`](std::sync::Arc) of a
//! [`Snapshot`] comes out, from which requests are answered without locks. The crate knows no sockets, no client and
//! no clock: whoever reads kcp or a manifests directory feeds it, and an [`EndpointFactory`] that the wiring supplies
//! turns a nomination's URL and CA bundle into the handle through which its webhook is called.

mod compile;
pub mod conditions;
mod copies;
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
pub use resource::{NameValidation, PrinterColumn, ResourceNames, ResourceSchema, Schema, Scope, Version};
pub use snapshot::{
    Export, FailurePolicy, Nomination, Origin, ReviewVersion, Snapshot, SpecOwnership, Subject, Usable,
};
pub use status::NominationStatus;
