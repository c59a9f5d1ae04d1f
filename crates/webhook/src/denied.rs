use std::fmt;
use std::time::Duration;

use ephemeral_review::{Status, StatusCause, StatusDetails};

/// A denial: the consumer gets its `metav1.Status` in place of an object.
///
/// The message is what the consumer reads: it must not carry addresses, paths or errors of the provider's own systems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    status: Box<Status>,
    warnings: Vec<String>,
}

impl Denied {
    /// A denial with an HTTP status code, a reason such as `Conflict`, and a message. A code outside 400..=599 reaches
    /// the consumer as 403.
    pub fn new(code: u16, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Status::failure(code, reason, message).into()
    }

    /// 404: what was asked about does not exist. `resource` is `resource.group`, such as `buckets.s3.example.com`; the
    /// message is worded as Kubernetes words it (`NewNotFound`): `buckets.s3.example.com "photos" not found`.
    pub fn not_found(resource: &str, name: impl Into<String>) -> Self {
        let name = name.into();
        let (kind, group) = resource.split_once('.').unwrap_or((resource, ""));
        let details = StatusDetails {
            name: name.clone(),
            group: group.into(),
            kind: kind.into(),
            ..StatusDetails::default()
        };
        Self::new(404, "NotFound", format!("{resource} {name:?} not found")).details(details)
    }

    /// 403: the caller may not ask this.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(403, "Forbidden", message)
    }

    /// 422: a field has a value that the schema allows and the webhook does not. `field` is its path from the root of
    /// the object, such as `spec.bucketName`.
    pub fn invalid(field: &str, message: impl fmt::Display) -> Self {
        let cause = StatusCause {
            reason: "FieldValueInvalid".to_owned(),
            message: message.to_string(),
            field: field.to_owned(),
        };
        let details = StatusDetails {
            causes: vec![cause],
            ..StatusDetails::default()
        };
        Self::new(422, "Invalid", format!("{field}: {message}")).details(details)
    }

    /// 429: ask again after a while, of which whole seconds count, at least one.
    pub fn too_many_requests(message: impl Into<String>, retry_after: Duration) -> Self {
        let seconds = i32::try_from(retry_after.as_secs()).unwrap_or(i32::MAX).max(1);
        let details = StatusDetails {
            retry_after_seconds: seconds,
            ..StatusDetails::default()
        };
        Self::new(429, "TooManyRequests", message).details(details)
    }

    /// 500: the webhook itself failed. The error is logged; the consumer learns only that there was one.
    pub fn internal(error: impl fmt::Display) -> Self {
        tracing::error!(%error, "the answer failed");
        Self::new(
            500,
            "InternalError",
            "the webhook could not answer because of an internal error",
        )
    }

    /// The same with details, in place of those it has.
    #[must_use]
    pub fn details(mut self, details: StatusDetails) -> Self {
        self.status.details = Some(details);
        self
    }

    /// The same with one more warning, which the consumer sees beside the error.
    #[must_use]
    pub fn warn(mut self, warning: impl Into<String>) -> Self {
        self.warnings.push(warning.into());
        self
    }

    /// The status that is sent.
    pub fn status(&self) -> &Status {
        &self.status
    }

    pub(crate) fn into_parts(self) -> (Box<Status>, Vec<String>) {
        (self.status, self.warnings)
    }
}

impl From<Status> for Denied {
    /// Any status is a denial.
    fn from(status: Status) -> Self {
        Self {
            status: Box::new(status),
            warnings: Vec::new(),
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.status.message)
    }
}

impl std::error::Error for Denied {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_found_is_worded_as_kubernetes_words_it() {
        let denied = Denied::not_found("buckets.s3.example.com", "photos");
        assert_eq!(
            serde_json::to_value(denied.status()).unwrap(),
            serde_json::json!({
                "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound",
                "message": "buckets.s3.example.com \"photos\" not found",
                "details": {"name": "photos", "group": "s3.example.com", "kind": "buckets"},
            })
        );
    }

    #[test]
    fn an_internal_error_keeps_its_text_to_itself() {
        let denied = Denied::internal("cannot open /etc/secret");
        assert!(!serde_json::to_string(denied.status()).unwrap().contains("secret"));
        assert_eq!(denied.status().code, 500);
    }

    #[test]
    fn there_is_always_a_second_to_wait() {
        let seconds = |wait| {
            Denied::too_many_requests("busy", wait)
                .status()
                .details
                .clone()
                .unwrap()
                .retry_after_seconds
        };
        assert_eq!(seconds(Duration::from_millis(5)), 1);
        assert_eq!(seconds(Duration::from_secs(7)), 7);
        assert_eq!(seconds(Duration::MAX), i32::MAX);
    }
}
