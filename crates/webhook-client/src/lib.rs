//! One call to a webhook: TLS, address guard, pool, bulkhead and deadline.
//!
//! A [`WebhookClient`] holds what the operator decides. It judges what a nomination says of its webhook
//! ([`EndpointSpec`]) and makes an [`Endpoint`] of it, which is called with [`Endpoint::call`].
//!
//! * The deadline of a call covers everything from name resolution to the last byte, and dropping the call ends it.
//! * Every address is checked by the [`AddressPolicy`] and the socket goes to a checked address. There are no
//!   redirects, and no proxy is asked.
//! * A call is made once. It is repeated only when its connection was closed before a byte of it was sent.
//! * An answer is at most [`MAX_ANSWER`] bytes and has status 200. Whether it is a good one is the caller's to judge.

mod answer;
mod blame;
mod bulkhead;
mod client;
mod connection;
mod dial;
mod endpoint;
mod error;
mod guard;
mod identity;
mod pool;
mod progress;
mod resolve;
mod socket;
mod surroundings;
mod trust;
mod url;

pub use crate::bulkhead::Full;
pub use crate::client::{Options, PlatformHostInvalid, WebhookClient};
pub use crate::connection::Protocol;
pub use crate::endpoint::{Answer, Call, Endpoint, EndpointSpec};
pub use crate::error::{CallError, EndpointProblem, Failure, Phase};
pub use crate::guard::{AddressPolicy, Allow, AllowInvalid, CheckedAddress, DEFAULT_PORTS, OurAddresses, Refusal};
pub use crate::identity::{ClientIdentity, IdentityInvalid};
pub use crate::progress::Timing;
pub use crate::resolve::{Resolve, ResolveError, SystemResolver};
pub use crate::trust::CaBundleInvalid;
pub use crate::url::UrlInvalid;

/// The largest answer that is read, in bytes.
pub const MAX_ANSWER: usize = 3 * 1024 * 1024;
