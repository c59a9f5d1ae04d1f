//! The parts that are read of kcp's kinds and of this project's own.
//!
//! A field that cannot be used is kept as that object's problem and harms nothing else; unknown fields are ignored.

mod endpoint_slice;
mod export;
mod fields;
mod meta;
mod resource_schema;
mod webhook;

use std::fmt;

use structural_schema::Value;

pub use endpoint_slice::{APIExportEndpointSlice, Endpoint, ShardSelection};
pub use export::{APIExport, ExportResource, GroupResource, Reference, Storage};
pub use meta::ObjectMeta;
pub use resource_schema::{APIResourceSchema, SchemaSpec, SchemaVersion};
pub use webhook::{EphemeralWebhook, Settings, Target, WebhookStatus};

use fields::Fields;

/// The kinds that are read.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// `apis.kcp.io`, `v1alpha1` or `v1alpha2`.
    APIExport,
    /// `apis.kcp.io/v1alpha1`.
    APIResourceSchema,
    /// `apis.kcp.io/v1alpha1`.
    APIExportEndpointSlice,
    /// `ephemeral.contrib.kcp.io/v1alpha1`.
    EphemeralWebhook,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::APIExport,
        Self::APIResourceSchema,
        Self::APIExportEndpointSlice,
        Self::EphemeralWebhook,
    ];

    /// The `kind`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::APIExport => "APIExport",
            Self::APIResourceSchema => "APIResourceSchema",
            Self::APIExportEndpointSlice => "APIExportEndpointSlice",
            Self::EphemeralWebhook => "EphemeralWebhook",
        }
    }

    /// The kind that an object says it is, in an API version that is read.
    fn of(api_version: &str, kind: &str) -> Option<Self> {
        match (api_version, kind) {
            ("apis.kcp.io/v1alpha1" | "apis.kcp.io/v1alpha2", "APIExport") => Some(Self::APIExport),
            ("apis.kcp.io/v1alpha1", "APIResourceSchema") => Some(Self::APIResourceSchema),
            ("apis.kcp.io/v1alpha1", "APIExportEndpointSlice") => Some(Self::APIExportEndpointSlice),
            ("ephemeral.contrib.kcp.io/v1alpha1", "EphemeralWebhook") => Some(Self::EphemeralWebhook),
            _ => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An object of one of the kinds.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// An APIExport.
    Export(APIExport),
    /// An APIResourceSchema.
    Schema(APIResourceSchema),
    /// An APIExportEndpointSlice.
    Slice(APIExportEndpointSlice),
    /// An EphemeralWebhook.
    Webhook(EphemeralWebhook),
}

impl Object {
    /// Reads an object that says what it is. One without the annotation `kcp.io/cluster` belongs to
    /// `default_cluster`, if there is one.
    pub fn decode(value: Value, default_cluster: Option<&str>) -> Result<Self, DecodeError> {
        let text = |field| value.get(field).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        match Kind::of(api_version, kind) {
            Some(kind) => Self::decode_as(kind, value, default_cluster),
            None if api_version.is_empty() && kind.is_empty() => Err(DecodeError::Untyped),
            None => Err(DecodeError::UnknownKind {
                api_version: quotable(api_version),
                kind: quotable(kind),
            }),
        }
    }

    /// Reads an object of a kind that is known from elsewhere from its JSON, however deep it nests.
    pub fn from_json(kind: Kind, text: &[u8], default_cluster: Option<&str>) -> Result<Self, DecodeError> {
        Self::decode_as(kind, structural_schema::json::decode(text)?.value, default_cluster)
    }

    /// Reads an object of a kind that is known from elsewhere, as the items of a list are.
    pub fn decode_as(kind: Kind, value: Value, default_cluster: Option<&str>) -> Result<Self, DecodeError> {
        let meta = ObjectMeta::decode(Fields::of(&value).at("metadata"), default_cluster)?;
        Ok(match kind {
            Kind::APIExport => Self::Export(APIExport::decode(meta, &value)),
            Kind::APIResourceSchema => Self::Schema(APIResourceSchema::decode(meta, value)),
            Kind::APIExportEndpointSlice => Self::Slice(APIExportEndpointSlice::decode(meta, &value)),
            Kind::EphemeralWebhook => Self::Webhook(EphemeralWebhook::decode(meta, &value)),
        })
    }

    /// What kind it is.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Export(_) => Kind::APIExport,
            Self::Schema(_) => Kind::APIResourceSchema,
            Self::Slice(_) => Kind::APIExportEndpointSlice,
            Self::Webhook(_) => Kind::EphemeralWebhook,
        }
    }

    /// Its metadata.
    pub const fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Export(object) => &object.meta,
            Self::Schema(object) => &object.meta,
            Self::Slice(object) => &object.meta,
            Self::Webhook(object) => &object.meta,
        }
    }
}

/// Why something is no object that can be kept: without these parts it could not even be named in a problem.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum DecodeError {
    /// A text, a list, or an object that says of itself neither.
    #[error("not an object with apiVersion and kind")]
    Untyped,
    /// Not one of the kinds.
    #[error("unknown kind \"{kind}\" in apiVersion \"{api_version}\"")]
    UnknownKind {
        /// As the object has it, shortened.
        api_version: String,
        /// As the object has it, shortened.
        kind: String,
    },
    /// No name, or no logical cluster.
    #[error(transparent)]
    Metadata(#[from] crate::problem::FieldInvalid),
    /// No JSON.
    #[error(transparent)]
    Json(#[from] structural_schema::json::Error),
}

/// Text of somebody else's, fit for a line of a log.
fn quotable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::problem::FieldInvalid;
    use crate::resource::Scope;
    use crate::snapshot::{FailurePolicy, ReviewVersion, SpecOwnership};

    fn decode(json: &str) -> Result<Object, DecodeError> {
        Object::decode(serde_json::from_str(json).unwrap(), Some("here"))
    }

    fn webhook(spec: &str) -> EphemeralWebhook {
        let json = format!(
            r#"{{"apiVersion": "ephemeral.contrib.kcp.io/v1alpha1", "kind": "EphemeralWebhook",
                "metadata": {{"name": "w"}}, "spec": {spec}}}"#
        );
        match decode(&json) {
            Ok(Object::Webhook(webhook)) => webhook,
            other => panic!("not a webhook: {other:?}"),
        }
    }

    fn export(api_version: &str, spec: &str) -> APIExport {
        let json = format!(
            r#"{{"apiVersion": "apis.kcp.io/{api_version}", "kind": "APIExport", "metadata": {{"name": "e"}},
                "spec": {spec}}}"#
        );
        match decode(&json) {
            Ok(Object::Export(export)) => export,
            other => panic!("not an export: {other:?}"),
        }
    }

    #[test]
    fn what_is_absent_has_the_kinds_defaults() {
        let settings = webhook(r#"{"url": "https://a", "caBundle": "", "someday": {"more": 1}}"#)
            .settings
            .unwrap();
        assert_eq!(
            settings,
            Settings {
                url: "https://a".into(),
                ca_bundle: None,
                timeout: Duration::from_secs(10),
                failure_policy: FailurePolicy::Fail,
                review_version: ReviewVersion::KcpV1alpha1,
                spec_ownership: SpecOwnership::Provider,
                max_in_flight: None,
            }
        );
        // Only what is empty means the system's trust store.
        assert_eq!(
            webhook(r#"{"caBundle": " "}"#).settings.unwrap().ca_bundle.as_deref(),
            Some(" ")
        );
    }

    #[test]
    fn the_first_review_version_that_is_known_is_used() {
        let of = |list: &str| {
            webhook(&format!(r#"{{"reviewVersions": {list}}}"#))
                .settings
                .map(|s| s.review_version)
        };
        let (kcp, contrib) = (r#""apis.kcp.io/v1alpha1""#, r#""ephemeral.contrib.kcp.io/v1alpha1""#);
        assert_eq!(of(&format!("[{contrib}, {kcp}]")), Ok(ReviewVersion::ContribV1alpha1));
        assert_eq!(
            of(&format!(r#"["apis.kcp.io/v9", {kcp}]"#)),
            Ok(ReviewVersion::KcpV1alpha1)
        );
        for none in [r#"["apis.kcp.io/v9"]"#, "[]", r#""apis.kcp.io/v1alpha1""#, "[1]"] {
            assert_eq!(
                of(none).map_err(|invalid| invalid.field),
                Err("spec.reviewVersions"),
                "{none}"
            );
        }
    }

    #[test]
    fn timeouts_are_whole_seconds_from_1_to_30() {
        let of = |value: &str| {
            webhook(&format!(r#"{{"timeoutSeconds": {value}}}"#))
                .settings
                .map(|s| s.timeout)
        };
        assert_eq!(of("1"), Ok(Duration::from_secs(1)));
        assert_eq!(of("30.0"), Ok(Duration::from_secs(30)));
        assert_eq!(of("null"), Ok(Duration::from_secs(10)));
        for bad in ["0", "31", "-1", "1.5", "1e300", r#""3""#, "true", "[]"] {
            assert_eq!(
                of(bad),
                Err(FieldInvalid {
                    field: "spec.timeoutSeconds",
                    must: "an integer from 1 to 30"
                }),
                "{bad}"
            );
        }
    }

    #[test]
    fn exports_are_read_in_both_versions() {
        let old = export(
            "v1alpha1",
            r#"{"latestResourceSchemas": ["v1.things.g.example.org", "nonsense", 7]}"#,
        );
        let new = export(
            "v1alpha2",
            r#"{"resources": [{"name": "things", "group": "g.example.org", "schema": "v1.things.g.example.org"},
                {"name": "nameless"}, 7]}"#,
        );
        assert_eq!(old.resources, new.resources);
        let (resource, entry) = old.resources.first_key_value().unwrap();
        assert_eq!(resource.to_string(), "things.g.example.org");
        assert_eq!(entry.storage, Storage::Crd);
    }

    #[test]
    fn the_proposals_inline_form_is_read() {
        let of = |ephemeral: &str| {
            let export = export(
                "v1alpha2",
                &format!(
                    r#"{{"resources": [{{"name": "r", "group": "g", "schema": "s",
                        "storage": {{"ephemeral": {ephemeral}}}}}]}}"#
                ),
            );
            match export.resources.into_values().next().map(|entry| entry.storage) {
                Some(Storage::Ephemeral(settings)) => settings,
                other => panic!("not inline: {other:?}"),
            }
        };
        let settings = of(r#"{"url": "https://a", "timeoutSeconds": 5, "failurePolicy": "Ignore"}"#).unwrap();
        assert_eq!(
            (settings.timeout, settings.failure_policy),
            (Duration::from_secs(5), FailurePolicy::Ignore)
        );
        assert_eq!(
            of(r#"{"timeoutSeconds": 99}"#).unwrap_err().field,
            "storage.ephemeral.timeoutSeconds"
        );
    }

    #[test]
    fn names_of_a_resource_have_kubernetes_defaults() {
        let schema = decode(
            r#"{"apiVersion": "apis.kcp.io/v1alpha1", "kind": "APIResourceSchema", "metadata": {"name": "s"},
                "spec": {"group": "g", "names": {"kind": "BucketInfo", "plural": "bucketinfos"}, "scope": "Cluster",
                    "versions": [{"name": "v1", "schema": {"type": "object"}, "subresources": {"status": {}},
                        "additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".a"}, {"name": "B"}],
                        "selectableFields": [{"jsonPath": ".spec.a"}, {}]
                    }]}}"#,
        );
        let Ok(Object::Schema(schema)) = schema else {
            panic!("not a schema")
        };
        let spec = schema.spec.unwrap();
        assert_eq!(
            (&*spec.names.singular, &*spec.names.list_kind),
            ("bucketinfo", "BucketInfoList")
        );
        assert_eq!(spec.scope, Scope::Cluster);
        let version = &spec.versions[0];
        assert!(version.served && version.has_status && !version.storage);
        assert_eq!(version.printer_columns.len(), 1, "one without a path cannot be printed");
        assert_eq!(
            version.selectable_fields,
            ["spec.a".into()],
            "as field selectors name it"
        );
        assert_eq!(version.document.get("type").and_then(Value::as_str), Some("object"));
    }

    /// Whatever is there, only an object that cannot be named is refused.
    #[test]
    fn strange_shapes_are_no_failure() {
        for spec in [
            "null",
            "7",
            "[]",
            r#""text""#,
            r#"{"versions": 7}"#,
            r#"{"resources": {}, "names": []}"#,
        ] {
            for kind in Kind::ALL {
                let value = format!(r#"{{"metadata": {{"name": "n"}}, "spec": {spec}, "status": {spec}}}"#);
                let object = Object::decode_as(kind, serde_json::from_str(&value).unwrap(), Some("here")).unwrap();
                assert_eq!((object.kind(), &*object.meta().cluster), (kind, "here"));
            }
        }
        for metadata in ["null", "{}", r#"{"name": ""}"#, r#"{"name": 7}"#] {
            let value = serde_json::from_str(&format!(r#"{{"metadata": {metadata}}}"#)).unwrap();
            assert!(matches!(
                Object::decode_as(Kind::APIExport, value, Some("here")),
                Err(DecodeError::Metadata(_))
            ));
        }
        let value = serde_json::from_str(r#"{"metadata": {"name": "n"}}"#).unwrap();
        assert!(
            Object::decode_as(Kind::APIExport, value, None).is_err(),
            "of no logical cluster"
        );
    }
}
