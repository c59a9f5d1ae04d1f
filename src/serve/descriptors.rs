//! The limit of file descriptors: each connection is one, and what a shell or a service manager gives by default is
//! made for programs with few.

use rustix::process::{Resource, getrlimit, setrlimit};
use tracing::{info, warn};

/// Raises the limit to what the system allows.
pub(crate) fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    let before = limit.current;
    limit.current = limit.maximum;
    match setrlimit(Resource::Nofile, limit) {
        Ok(()) => info!(?before, now = ?limit.current, "raised the limit of file descriptors"),
        Err(error) => warn!(%error, limit = ?before, "the limit of file descriptors stays as it is"),
    }
}
