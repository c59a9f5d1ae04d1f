//! The sample webhook: how many objects a bucket holds, how large they are, and when the last of them changed.

mod buckets;

use ephemeral_webhook::{Answer, Denied, Exports, Review, Webhook};
use serde::{Deserialize, Serialize};

pub use buckets::{BucketName, Buckets, CountError, InvalidBucketName};

/// The path that the sample's nomination names.
pub const PATH: &str = "/ephemeral/bucketinfos";

/// The provider's API as manifests: the schema, the export, and the nomination, whose `url` and `caBundle` are to be
/// filled in with those of the running webhook.
pub const MANIFESTS: [(&str, &str); 3] = [
    (
        "apiresourceschema.yaml",
        include_str!("../manifests/apiresourceschema.yaml"),
    ),
    ("apiexport.yaml", include_str!("../manifests/apiexport.yaml")),
    (
        "ephemeralwebhook.yaml",
        include_str!("../manifests/ephemeralwebhook.yaml"),
    ),
];

/// What a consumer asks.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BucketInfoSpec {
    /// The bucket to look at.
    pub bucket_name: BucketName,
    /// Count only objects whose key starts with this.
    #[serde(default)]
    pub prefix: String,
}

/// What the webhook answers.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BucketInfoStatus {
    /// The number of objects.
    pub object_count: i64,
    /// The sum of their sizes, in bytes.
    pub size_bytes: i64,
    /// When the last of them changed, in RFC 3339; absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// The webhook over these buckets, for these exports. Reading has no side effects, so that a dry run is no different.
pub fn webhook(buckets: Buckets, exports: Exports) -> Webhook {
    Webhook::new(exports, move |review| answer(buckets.clone(), review))
}

async fn answer(buckets: Buckets, review: Review<BucketInfoSpec>) -> Result<Answer<BucketInfoStatus>, Denied> {
    let BucketInfoSpec { bucket_name, prefix } = review.spec;
    let count = buckets
        .count(&bucket_name, &prefix)
        .await
        .map_err(|error| match error {
            CountError::NoBucket => Denied::not_found("buckets.s3.example.com", bucket_name.as_ref()),
            CountError::TooMany | CountError::OddKey => Denied::invalid("spec.prefix", error),
            CountError::Store(error) => Denied::internal(error),
        })?;
    Ok(Answer::new(BucketInfoStatus {
        object_count: count.objects,
        size_bytes: count.bytes,
        last_modified: count.last_modified.map(|time| time.to_string()),
    }))
}
