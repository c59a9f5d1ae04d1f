//! The secure port: an accept loop of our own, TLS, HTTP/1.1 and HTTP/2.
//!
//! Each connection is one task from its first byte, so that a slow handshake costs nobody else anything, and knows its
//! peer certificate. What an unknown peer can hold on to is bounded by time and number at each stage: handshake,
//! headers, streams, idle connections, answers that nobody reads.

mod caps;
mod config;
mod connection;
mod linger;
mod request;
mod serve;
mod stats;
mod streams;
mod worded;

pub use config::ListenerConfig;
pub use connection::Connection;
pub use request::Service;
pub(crate) use request::header_bytes;
pub use serve::serve;
pub use stats::{Refusal, Stats};

#[cfg(test)]
mod tests;
