//! kcp, as far as ephemeral resources need it.
//!
//! [`follow`] reads the virtual workspaces of this project's own APIExport, one for each shard, and tells an
//! [`Index`](ephemeral_index::Index) what it finds; [`fold`] owns that index; [`publish`] writes what follows from it:
//! endpoints into slices and conditions into EphemeralWebhooks. [`access`] asks whether callers may. All of it speaks to
//! kcp through a [`Base`].
//!
//! Nothing but [`access`] is on the way of a request.

pub mod access;
mod backoff;
pub mod base;
mod credentials;
mod fold;
mod follow;
mod login;
mod publish;
mod request;
mod stats;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use base::{Base, BaseError, Cluster, RequestError};
pub use fold::{RESYNC, fold};
pub use follow::{FollowConfig, follow};
pub use login::Login;
pub use publish::{PublishConfig, Work, publish};
pub use stats::{Counts, Stats};

/// The APIExport through which providers get EphemeralWebhook.
pub const EXPORT: &str = "ephemeral.contrib.kcp.io";
