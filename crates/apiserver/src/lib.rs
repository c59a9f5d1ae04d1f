//! The way of a request: listener, identity, request info, negotiation, discovery, flow control and the create.
//!
//! A request is answered from one immutable snapshot of nominations. What fills the snapshot, how a webhook is
//! called and how kcp is asked for permission are this crate's traits ([`Webhook`], [`Authorizer`]), implemented by
//! whoever wires a server together.

pub mod authorize;
pub mod fault;
pub mod status;
pub mod webhook;

pub use authorize::Authorizer;
pub use fault::Fault;
pub use status::Status;
pub use webhook::Webhook;
