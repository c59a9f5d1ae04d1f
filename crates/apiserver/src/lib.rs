//! The way of a request: listener, identity, request info, negotiation, discovery, flow control and the create.
//!
//! A request is answered from one immutable snapshot of nominations. What fills the snapshot, how a webhook is
//! called and how kcp is asked for permission are this crate's traits ([`Webhook`], [`Authorizer`]), implemented by
//! whoever wires a server together.

pub mod authorize;
pub mod certificates;
pub mod create;
pub mod discovery;
pub mod fault;
pub mod flow;
pub mod health;
pub mod identity;
mod list;
pub mod listener;
pub mod negotiate;
mod openapi;
pub mod options;
mod partial;
pub mod request_info;
pub mod respond;
mod service;
pub mod status;
mod table;
pub mod tls;
mod transform;
pub mod warning;
pub mod webhook;

pub use authorize::Authorizer;
pub use fault::Fault;
pub use service::{Server, ServerConfig};
pub use status::Status;
pub use webhook::Webhook;
