//! The two questions, as kcp is asked them.

use std::sync::Arc;

use futures::future::BoxFuture;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SubjectAccessReview, SubjectAccessReviewSpec,
};
use serde::Deserialize;

use super::question::Question;
use crate::base::{Base, RequestError};
use crate::request;

/// Whoever knows the answers: kcp.
pub(super) trait Ask: Send + Sync + 'static {
    /// Whether the caller may.
    fn may<'a>(&'a self, question: &'a Question<'_>) -> BoxFuture<'a, Result<bool, RequestError>>;

    /// The name of the APIResourceSchema with which the resource of the export is bound in the logical cluster.
    fn bound_schema<'a>(&'a self, question: &'a Question<'_>) -> BoxFuture<'a, Result<Option<Arc<str>>, RequestError>>;
}
