//! The wire types of `EphemeralReview`, in both of its API groups.
//!
//! An ephemeral resource is a question: kcp's server sends the submitted object to the provider's webhook as an
//! [`ReviewRequest`] and the webhook answers with a [`ReviewResponse`]. The exchange is an HTTP `POST` of
//! `application/json`, answered with status 200 and `application/json`; it is shaped after Kubernetes' `AdmissionReview`.
//!
//! # The contract
//! * The answer carries the `apiVersion`, the `kind` and the `uid` of the review that it answers.
//! * An allowed answer carries the object, of the same `apiVersion` and `kind`, its `status` filled in. Of its metadata
//!   only labels and annotations count; a name or namespace, where present, is the request's.
//! * A denied answer carries a [`Status`]. A code outside 400..=599, or none, means 403.
//! * An object has at most [`MAX_OBJECT_BYTES`], a review at most [`MAX_REQUEST_BYTES`], an answer at most
//!   [`MAX_RESPONSE_BYTES`].
//! * Unknown fields are ignored on both sides, so that fields may be added. `null` stands for an absent optional field,
//!   as in Go's decoder. A field that is given twice makes the document malformed.
//!
//! What is mandatory is a plain field of the types here; what may be absent says so in its documentation.
//!
//! # Borrowing
//! The types are generic over the object, and the request also over the user: a server that already holds them
//! serialises `Request<&Object, &UserInfo>` without a copy, a webhook reads `Request<BucketInfo>`.

mod object;
mod request;
mod response;
mod status;
mod version;

pub use request::{CreateOptions, Export, GroupVersionKind, GroupVersionResource, Request, ReviewRequest, UserInfo};
pub use response::{Response, ReviewResponse, Verdict};
pub use status::{Status, StatusCause, StatusDetails};
pub use version::{ReviewVersion, UnknownReviewVersion};

use serde::{Deserialize, Deserializer};

/// The `kind` of both directions of a review.
pub const KIND: &str = "EphemeralReview";

/// The largest object, in bytes of JSON, that a consumer may submit or a webhook may answer: 3 MiB, Kubernetes' limit
/// for a request body (`MaxRequestBodyBytes` of `k8s.io/apiserver`).
pub const MAX_OBJECT_BYTES: usize = 3 * 1024 * 1024;

/// The largest review, in bytes, that a webhook must accept: an object of [`MAX_OBJECT_BYTES`] and 1 MiB for what
/// surrounds it, most of it the groups and extras of a user, which arrive at the server in headers of that size.
pub const MAX_REQUEST_BYTES: usize = MAX_OBJECT_BYTES + 1024 * 1024;

/// The largest answer, in bytes, that the server reads: 3 MiB. What is longer counts as a failed webhook.
pub const MAX_RESPONSE_BYTES: usize = MAX_OBJECT_BYTES;

/// Reads `null` as the default, which is what Go's decoder makes of it.
fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}
