//! Whether a caller may do what the request asks, and which schema applies to them.

use std::sync::Arc;

use ephemeral_review::UserInfo;
use futures::future::BoxFuture;

use crate::identity::Via;

/// Decides about one request on a resource.
///
/// `dev` answers with yes; on kcp it is a `SubjectAccessReview` and an `APIBinding` in the consumer's logical cluster.
pub trait Authorizer: Send + Sync + 'static {
    /// Asks. Implementations bound what they cache and how many questions are under way.
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> BoxFuture<'a, Result<Decision, Undecided>>;
}

/// Says yes to every caller: for `dev`, where there is no kcp to ask.
#[derive(Clone, Copy, Debug)]
pub struct AllowAll;

impl Authorizer for AllowAll {
    fn authorize<'a>(&'a self, _: &'a Attributes<'a>) -> BoxFuture<'a, Result<Decision, Undecided>> {
        Box::pin(std::future::ready(Ok(Decision::Allowed { schema: None })))
    }
}

/// What is asked: who wants to do what, where, on which provider's resource.
#[derive(Debug)]
pub struct Attributes<'a> {
    /// The caller.
    pub user: &'a UserInfo,
    /// How the request came.
    pub via: &'a Via,
    /// The consumer's logical cluster.
    pub consumer: &'a str,
    /// The provider's logical cluster, from the path: proven only by the consumer's binding.
    pub provider: &'a str,
    /// The provider's `APIExport`.
    pub export: &'a str,
    /// `create`, `list`, `get`.
    pub verb: &'a str,
    /// API group of the resource.
    pub group: &'a str,
    /// API version of the resource.
    pub version: &'a str,
    /// Plural name of the resource.
    pub resource: &'a str,
    /// Namespace, for namespaced requests.
    pub namespace: Option<&'a str>,
    /// Name, where the request has one.
    pub name: Option<&'a str>,
}

/// The answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Decision {
    /// Yes; with the `APIResourceSchema` that the consumer's binding names, where there is a binding to ask.
    Allowed {
        /// Name of the `APIResourceSchema` in the provider's logical cluster; the export's current one if none.
        schema: Option<Arc<str>>,
    },
    /// No. The words end Kubernetes' Forbidden message and are safe for the caller to read.
    Denied {
        /// For example `access denied`.
        reason: Arc<str>,
    },
}

/// Why there is no decision; never yes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Undecided {
    /// Nobody could be asked; the request ends with 503.
    #[error("the authorization of this request cannot be checked at the moment")]
    Unavailable,
    /// The caller's requests need more decisions than one caller may have made at a time; the request ends with 429.
    #[error("too many requests of this caller wait to be authorized")]
    TooMany,
}
