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
            None => Err(DecodeError::UnknownKind {
                api_version: quotable(api_version),
                kind: quotable(kind),
            }),
        }
    }

    /// Reads an object of a kind that is known from elsewhere, as the items of a list are.
    pub fn decode_as(kind: Kind, value: Value, default_cluster: Option<&str>) -> Result<Self, DecodeError> {
        let meta = ObjectMeta::decode(Fields::of(&value).at("metadata"), default_cluster)?;
        Ok(match kind {
            Kind::APIExport => Self::Export(APIExport::decode(meta, value)),
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
}

/// Text of somebody else's, fit for a line of a log.
fn quotable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(100).collect()
}
