//! The provider's SDK: a webhook that answers ephemeral resources, in a page of code.
//!
//! An ephemeral resource is a question. kcp's server sends what a consumer submits to the webhook that the provider
//! nominated; the webhook looks at the `spec` and answers with a `status`, or denies. This crate does everything around
//! that: HTTP and TLS, both versions of the review, limits and deadlines, and the checks that a webhook must not forget.
//!
//! ```no_run
//! use ephemeral_webhook::{Answer, Denied, Export, Review, Server, TlsFiles, Webhook, stop_signal};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Deserialize)]
//! #[serde(rename_all = "camelCase")]
//! struct BucketInfoSpec {
//!     bucket_name: String,
//! }
//!
//! #[derive(Serialize)]
//! #[serde(rename_all = "camelCase")]
//! struct BucketInfoStatus {
//!     object_count: i64,
//! }
//!
//! async fn answer(review: Review<BucketInfoSpec>) -> Result<Answer<BucketInfoStatus>, Denied> {
//!     match review.spec.bucket_name.as_str() {
//!         "photos" => Ok(Answer::new(BucketInfoStatus { object_count: 3 })),
//!         other => Err(Denied::not_found("buckets.s3.example.com", other)),
//!     }
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let webhook = Webhook::new([Export::new("2hq8vkhcmqzy3ukb", "s3.example.com")], answer);
//!     let tls = TlsFiles::new("tls/tls.crt", "tls/tls.key").client_ca("kcp/ca.crt");
//!     let server = Server::builder(tls).bind("0.0.0.0:8443").await?;
//!     Ok(server.serve(webhook.route("/ephemeral/bucketinfos"), stop_signal()).await?)
//! }
//! ```
//!
//! # What it insists on
//! * **A client certificate.** A review is answered only over a connection whose client certificate verifies under the
//!   given authorities, the nomination's `status.clientCABundle`. Without one it is 401. See [`VerifiedClient`].
//! * **The list of exports.** Every provider's webhook is called with the same client certificate, so another provider
//!   could nominate this webhook's URL for an export of theirs. A review for an export that is not listed is denied.
//! * **The caller's name with its logical cluster.** Workspace admins may impersonate; see [`Caller`].
//!
//! # In an existing axum server
//! [`Webhook::route`] is an [`axum::Router`] that merges into any other. The existing server then is who requires and
//! verifies the client certificate, and says so with a [`VerifiedClient`].

mod answer;
mod caller;
mod denied;
mod exports;
mod review;
mod server;
mod signal;
mod tls;
mod webhook;

pub use answer::Answer;
pub use caller::{Caller, Identity, User};
pub use denied::Denied;
pub use ephemeral_review::{
    CreateOptions, Export, GroupVersionKind, GroupVersionResource, Status, StatusCause, StatusDetails, UserInfo,
};
pub use exports::{Exports, ParseExportsError};
pub use review::Review;
pub use server::{Limits, Server, ServerBuilder, ServerError};
pub use signal::stop_signal;
pub use tls::{TlsError, TlsFiles, VerifiedClient};
pub use webhook::Webhook;
