//! Who is calling: what a client certificate proves, and what the headers add to it.
//!
//! | connection | identity |
//! | --- | --- |
//! | a shard | `X-Remote-*`; without them the shard itself |
//! | a front-proxy | `X-Remote-*`, required |
//! | a user | the common name, and the organisations as groups |
//! | anything else | none |
//!
//! A certificate is judged for each request against the CAs of that moment, not once in the handshake: connections of
//! shards live for days, and TLS sessions are resumed, while certificates expire and CAs are replaced.

mod anchors;
mod caller;
mod separation;
mod trust;

pub use anchors::{Anchors, Untrusted};
pub use caller::{Caller, HOPS, Identity, LOST_CALLER, UNLISTED_SHARD, Via, caller};
pub use separation::{SeparationError, check_webhook_client};
pub use trust::{NamedCa, NoNames, Peer, Trust, TrustConfig, Verdict};
