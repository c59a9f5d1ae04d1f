//! EphemeralWebhook, this project's own kind.

use std::sync::Arc;
use std::time::Duration;

use structural_schema::Value;

use super::export::GroupResource;
use super::fields::Fields;
use super::meta::ObjectMeta;
use crate::conditions::Condition;
use crate::problem::FieldInvalid;
use crate::snapshot::{FailurePolicy, ReviewVersion, SpecOwnership};

/// An EphemeralWebhook: the nomination of a webhook for one resource of an APIExport of the same workspace.
#[derive(Clone, Debug, PartialEq)]
pub struct EphemeralWebhook {
    /// Metadata.
    pub meta: ObjectMeta,
    /// What it answers.
    pub target: Result<Target, FieldInvalid>,
    /// How it is called. Apart from the target, since a nomination with broken settings still is one.
    pub settings: Result<Settings, FieldInvalid>,
    /// `status`, as it was read.
    pub status: WebhookStatus,
}

/// What a webhook answers.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Target {
    /// The name of the APIExport.
    pub export: Arc<str>,
    /// The resource of it.
    pub resource: GroupResource,
}

/// How a webhook is called.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Settings {
    /// Empty where it is absent; whether it can be used is the endpoint factory's to say.
    pub url: Arc<str>,
    /// base64 of PEM; absent where the field is absent or empty.
    pub ca_bundle: Option<Arc<str>>,
    /// 1 to 30 seconds, by default 10.
    pub timeout: Duration,
    /// By default `Fail`.
    pub failure_policy: FailurePolicy,
    /// The first of `reviewVersions` that this server knows.
    pub review_version: ReviewVersion,
    /// By default `Provider`.
    pub spec_ownership: SpecOwnership,
    /// At least 1.
    pub max_in_flight: Option<u32>,
}

/// The parts of `status` that are compared with what it should be.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct WebhookStatus {
    /// `observedGeneration`.
    pub observed_generation: i64,
    /// `conditions`.
    pub conditions: Vec<Condition>,
    /// `endpoint`.
    pub endpoint: Option<Arc<str>>,
    /// `clientCABundle`.
    pub client_ca_bundle: Option<Arc<str>>,
}

/// The longest that a webhook may take, seconds, as for admission webhooks.
const MAX_TIMEOUT: u64 = 30;
const DEFAULT_TIMEOUT: u64 = 10;

impl EphemeralWebhook {
    pub(super) fn decode(meta: ObjectMeta, value: &Value) -> Self {
        let object = Fields::of(value);
        let spec = object.at("spec");
        Self {
            meta,
            target: Target::decode(spec),
            settings: Settings::decode(spec, &SPEC_FIELDS),
            status: WebhookStatus::decode(object.at("status")),
        }
    }
}

impl Target {
    fn decode(spec: Fields<'_>) -> Result<Self, FieldInvalid> {
        Ok(Self {
            export: spec.required("export", "spec.export")?.into(),
            resource: GroupResource {
                group: spec.required("group", "spec.group")?.into(),
                resource: spec.required("resource", "spec.resource")?.into(),
            },
        })
    }
}

/// The paths under which an object has the settings.
pub(super) struct SettingsFields {
    url: &'static str,
    ca_bundle: &'static str,
    timeout_seconds: &'static str,
    failure_policy: &'static str,
    review_versions: &'static str,
    spec_ownership: &'static str,
    max_in_flight: &'static str,
}

const SPEC_FIELDS: SettingsFields = SettingsFields {
    url: "spec.url",
    ca_bundle: "spec.caBundle",
    timeout_seconds: "spec.timeoutSeconds",
    failure_policy: "spec.failurePolicy",
    review_versions: "spec.reviewVersions",
    spec_ownership: "spec.specOwnership",
    max_in_flight: "spec.maxInFlight",
};

/// As the enhancement proposal nests them in an APIExport.
pub(super) const INLINE_FIELDS: SettingsFields = SettingsFields {
    url: "storage.ephemeral.url",
    ca_bundle: "storage.ephemeral.caBundle",
    timeout_seconds: "storage.ephemeral.timeoutSeconds",
    failure_policy: "storage.ephemeral.failurePolicy",
    review_versions: "storage.ephemeral.reviewVersions",
    spec_ownership: "storage.ephemeral.specOwnership",
    max_in_flight: "storage.ephemeral.maxInFlight",
};

impl Settings {
    pub(super) fn decode(fields: Fields<'_>, names: &SettingsFields) -> Result<Self, FieldInvalid> {
        Ok(Self {
            url: fields.optional("url", names.url)?.unwrap_or_default().into(),
            ca_bundle: fields.optional("caBundle", names.ca_bundle)?.map(Arc::from),
            timeout: timeout(fields.get("timeoutSeconds"), names.timeout_seconds)?,
            failure_policy: match fields.optional("failurePolicy", names.failure_policy)? {
                None | Some("Fail") => FailurePolicy::Fail,
                Some("Ignore") => FailurePolicy::Ignore,
                Some(_) => {
                    return Err(FieldInvalid {
                        field: names.failure_policy,
                        must: "Fail or Ignore",
                    });
                }
            },
            review_version: review_version(fields, names.review_versions)?,
            spec_ownership: match fields.optional("specOwnership", names.spec_ownership)? {
                None | Some("Provider") => SpecOwnership::Provider,
                Some("User") => SpecOwnership::User,
                Some(_) => {
                    return Err(FieldInvalid {
                        field: names.spec_ownership,
                        must: "Provider or User",
                    });
                }
            },
            max_in_flight: max_in_flight(fields.get("maxInFlight"), names.max_in_flight)?,
        })
    }
}

fn timeout(value: Option<&Value>, field: &'static str) -> Result<Duration, FieldInvalid> {
    let seconds = match value {
        None => Some(DEFAULT_TIMEOUT),
        Some(value) => integer(value).and_then(|seconds| u64::try_from(seconds).ok()),
    };
    seconds
        .filter(|seconds| (1..=MAX_TIMEOUT).contains(seconds))
        .map(Duration::from_secs)
        .ok_or(FieldInvalid {
            field,
            must: "an integer from 1 to 30",
        })
}

fn max_in_flight(value: Option<&Value>, field: &'static str) -> Result<Option<u32>, FieldInvalid> {
    let Some(value) = value else { return Ok(None) };
    integer(value)
        .and_then(|calls| u32::try_from(calls).ok())
        .filter(|calls| *calls > 0)
        .map(Some)
        .ok_or(FieldInvalid {
            field,
            must: "a positive integer of 32 bits",
        })
}

/// The first version in the list that is known is used, as the API server does with `admissionReviewVersions`.
fn review_version(fields: Fields<'_>, field: &'static str) -> Result<ReviewVersion, FieldInvalid> {
    match fields.get("reviewVersions") {
        None => Ok(ReviewVersion::default()),
        Some(_) => fields
            .items("reviewVersions")
            .filter_map(Value::as_str)
            .find_map(ReviewVersion::from_api_version)
            .ok_or(FieldInvalid {
                field,
                must: "a list with apis.kcp.io/v1alpha1 or ephemeral.contrib.kcp.io/v1alpha1 in it",
            }),
    }
}

/// What OpenAPI calls an integer: `10.0` is one.
#[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(int) => Some(*int),
        Value::Float(float) if float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0 => Some(*float as i64),
        _ => None,
    }
}

impl WebhookStatus {
    fn decode(status: Fields<'_>) -> Self {
        Self {
            observed_generation: status
                .get("observedGeneration")
                .and_then(Value::as_int)
                .unwrap_or_default(),
            conditions: status
                .items("conditions")
                .map(Fields::of)
                .filter_map(|condition| {
                    Some(Condition {
                        condition_type: condition.str("type")?.into(),
                        status: condition.str("status")?.parse().ok()?,
                        observed_generation: condition
                            .get("observedGeneration")
                            .and_then(Value::as_int)
                            .unwrap_or_default(),
                        last_transition_time: condition.str("lastTransitionTime")?.into(),
                        reason: condition.str("reason")?.into(),
                        message: condition.str("message")?.into(),
                    })
                })
                .collect(),
            endpoint: status.str("endpoint").map(Arc::from),
            client_ca_bundle: status.str("clientCABundle").map(Arc::from),
        }
    }
}
