use serde::{Deserialize, Serialize};

use crate::{null_as_default, object};

/// `metav1.Status`: why a review is denied. Every field may be absent; what is empty or zero is not written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// `v1`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// `Status`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// `Failure`; the server does not trust it to be.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// What a person reads.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What a program reads, such as `NotFound`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// More about the reason.
    #[serde(deserialize_with = "object::optional", skip_serializing_if = "Option::is_none")]
    pub details: Option<StatusDetails>,
    /// The HTTP status code; zero when not set.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "is_zero")]
    pub code: i32,
}

impl Status {
    /// A failure with an HTTP status code, a reason and a message.
    pub fn failure(code: u16, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            api_version: "v1".to_owned(),
            kind: "Status".to_owned(),
            status: "Failure".to_owned(),
            message: message.into(),
            reason: reason.into(),
            details: None,
            code: i32::from(code),
        }
    }
}

/// `metav1.StatusDetails`. Every field may be absent; what is empty or zero is not written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDetails {
    /// The name of the one object that this is about.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The API group of that object.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The kind of that object; Kubernetes often writes the resource here.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The uid of that object.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The single failures of which this one consists.
    #[serde(deserialize_with = "object::list", skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// The seconds after which it is worth asking again; zero when not set.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "is_zero")]
    pub retry_after_seconds: i32,
}

/// `metav1.StatusCause`. Every field may be absent; what is empty is not written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusCause {
    /// What a program reads, such as `FieldValueInvalid`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What a person reads.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The path of the field in the object, such as `spec.bucketName`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub field: String,
}

// serde hands over a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &i32) -> bool {
    *number == 0
}
