//! Everything that can be wrong with a nomination: a closed list of reasons with fixed messages that name the fix.
//!
//! Messages never carry what a URL resolved to, answered or presented: a provider who could read that in a condition
//! would have a port scanner.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The types of the conditions of an EphemeralWebhook.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum ConditionType {
    /// The nomination is well-formed and no older one claims the same resource.
    Accepted,
    /// The export, the resource in it and its schema were found and can be used.
    ResourceResolved,
    /// The endpoint is in the slice that the export's storage refers to.
    EndpointPublished,
    /// URL and CA bundle can be used and the operator's policy allows them. Nothing is probed.
    EphemeralEndpointsValid,
    /// All of the above.
    Ready,
    /// What creates met lately. Coarse, and never part of `Ready`.
    CallsSucceeding,
}

impl ConditionType {
    /// The `type` of the condition.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "Accepted",
            Self::ResourceResolved => "ResourceResolved",
            Self::EndpointPublished => "EndpointPublished",
            Self::EphemeralEndpointsValid => "EphemeralEndpointsValid",
            Self::Ready => "Ready",
            Self::CallsSucceeding => "CallsSucceeding",
        }
    }
}

/// One thing that is wrong with a nomination.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Problem {
    /// A field is missing or not what the kind allows.
    FieldInvalid(FieldInvalid),
    /// An older nomination, or one in the operator's manifests, already answers this resource.
    Conflicted,

    /// The provider's APIBinding does not accept the permission claims without which its exports cannot be read.
    ClaimsNotAccepted,
    /// There is no such APIExport in the logical cluster.
    ExportNotFound,
    /// The APIExport is not as its kind has it, and does not list the resource in a way that could be read.
    ExportInvalid(FieldInvalid),
    /// The APIExport does not list the resource.
    ResourceNotInExport,
    /// The APIResourceSchema that the export names does not exist.
    SchemaNotFound,
    /// The APIResourceSchema that the export names is of another resource.
    SchemaOfOtherResource,
    /// A version of the APIResourceSchema uses what cannot be enforced.
    SchemaUnsupported(SchemaProblem),

    /// The resource is stored by kcp (`storage.crd`), which then answers creates itself.
    StorageNotVirtual,
    /// `storage.virtual.reference` is not to an APIExportEndpointSlice.
    ReferenceNotEndpointSlice,
    /// The slice that `storage.virtual.reference` names does not exist.
    EndpointSliceNotFound,
    /// The slice belongs to another export.
    EndpointSliceOfOtherExport,
    /// More than one export refers to the slice.
    EndpointSliceShared,
    /// The slice is the one with the export's own name, which providers' controllers follow.
    EndpointSliceIsDefault,
    /// The slice holds another publisher's entry that selects the same shards.
    EndpointConflict,
    /// The server may not read the slices of the logical cluster or write their status.
    SliceRightsMissing,

    /// Not an https URL without userinfo and fragment.
    UrlInvalid,
    /// The operator's address or port policy refuses the URL.
    UrlRefused,
    /// The CA bundle holds no usable certificate.
    CaBundleInvalid,
    /// Every certificate of the CA bundle has expired.
    CaBundleExpired,

    /// Calls fail lately.
    CallsFailing,
    /// The webhook does not ask for a client certificate, so it cannot know who calls it.
    ClientCertificateNotRequested,
}

impl Problem {
    /// The `reason` of the condition: stable, CamelCase.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::FieldInvalid(_) => "FieldInvalid",
            Self::Conflicted => "Conflicted",
            Self::ClaimsNotAccepted => "ClaimsNotAccepted",
            Self::ExportNotFound => "ExportNotFound",
            Self::ExportInvalid(_) => "ExportInvalid",
            Self::ResourceNotInExport => "ResourceNotInExport",
            Self::SchemaNotFound => "SchemaNotFound",
            Self::SchemaOfOtherResource => "SchemaOfOtherResource",
            Self::SchemaUnsupported(_) => "SchemaUnsupported",
            Self::StorageNotVirtual => "StorageNotVirtual",
            Self::ReferenceNotEndpointSlice => "ReferenceNotEndpointSlice",
            Self::EndpointSliceNotFound => "EndpointSliceNotFound",
            Self::EndpointSliceOfOtherExport => "EndpointSliceOfOtherExport",
            Self::EndpointSliceShared => "EndpointSliceShared",
            Self::EndpointSliceIsDefault => "EndpointSliceIsDefault",
            Self::EndpointConflict => "EndpointConflict",
            Self::SliceRightsMissing => "SliceRightsMissing",
            Self::UrlInvalid => "URLInvalid",
            Self::UrlRefused => "URLRefused",
            Self::CaBundleInvalid => "CABundleInvalid",
            Self::CaBundleExpired => "CABundleExpired",
            Self::CallsFailing => "CallsFailing",
            Self::ClientCertificateNotRequested => "ClientCertificateNotRequested",
        }
    }

    /// The `message` of the condition: fixed but for names of the provider's own fields, and with the fix.
    pub fn message(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::FieldInvalid(invalid) => return Cow::Owned(format!("{invalid}.")),
            Self::ExportInvalid(invalid) => {
                return Cow::Owned(format!(
                    "The APIExport does not list the resource: its {invalid}. Correct it."
                ));
            }
            Self::SchemaUnsupported(problem) => {
                return Cow::Owned(format!(
                    "The APIResourceSchema cannot be enforced: {problem}. Publish a schema without it under a new name \
                     and name that in the APIExport."
                ));
            }
            Self::Conflicted => {
                "An older EphemeralWebhook, or one that the operator configured, already answers this resource of this \
                 export. Delete one of the two."
            }
            Self::ClaimsNotAccepted => {
                "The APIBinding to the export of EphemeralWebhook does not accept its permission claims on apiexports \
                 and apiresourceschemas. Accept them in spec.permissionClaims of the APIBinding."
            }
            Self::ExportNotFound => {
                "There is no APIExport of this name in this workspace. Create it, or create the EphemeralWebhook anew \
                 with the right spec.export."
            }
            Self::ResourceNotInExport => {
                "The APIExport does not list the resource. Add it to spec.resources of the APIExport, or create the \
                 EphemeralWebhook anew with the right spec.group and spec.resource."
            }
            Self::SchemaNotFound => {
                "The APIResourceSchema that the APIExport names for the resource does not exist in this workspace. \
                 Create it, or correct the name in spec.resources of the APIExport."
            }
            Self::SchemaOfOtherResource => {
                "The APIResourceSchema that the APIExport names for the resource is of another group or resource. \
                 Correct the name in spec.resources of the APIExport."
            }
            Self::StorageNotVirtual => {
                "kcp stores the resource itself. Set storage.virtual.reference of the resource in the APIExport to an \
                 APIExportEndpointSlice of its own, instead of storage.crd."
            }
            Self::ReferenceNotEndpointSlice => {
                "storage.virtual.reference of the resource in the APIExport must have apiGroup apis.kcp.io and kind \
                 APIExportEndpointSlice."
            }
            Self::EndpointSliceNotFound => {
                "The APIExportEndpointSlice that storage.virtual.reference names does not exist in this workspace. \
                 Create it, with spec.export naming this APIExport."
            }
            Self::EndpointSliceOfOtherExport => {
                "The APIExportEndpointSlice that storage.virtual.reference names is for another APIExport. Refer to \
                 one whose spec.export names this APIExport."
            }
            Self::EndpointSliceShared => {
                "More than one APIExport refers to the APIExportEndpointSlice. Give each APIExport a slice of its own."
            }
            Self::EndpointSliceIsDefault => {
                "storage.virtual.reference names the APIExportEndpointSlice with the APIExport's own name, which \
                 controllers follow. Create a second one, by convention <export>.ephemeral, and refer to that."
            }
            Self::EndpointConflict => {
                "The APIExportEndpointSlice already holds another publisher's entry for the same shards, so kcp could \
                 not choose. Remove that entry from status.endpoints, or refer to a slice of its own."
            }
            Self::SliceRightsMissing => {
                "The server may not read APIExportEndpointSlices of this workspace or patch their status. Apply what \
                 'kcp-ephemeral manifests provider --rbac' prints, or ask the operator for 'manifests shard'."
            }
            Self::UrlInvalid => "spec.url must be an https URL without user information and fragment.",
            Self::UrlRefused => {
                "The operator's policy refuses spec.url. Use a public address and port 443 or 8443, or ask the \
                 operator to allow it."
            }
            Self::CaBundleInvalid => {
                "spec.caBundle must be base64 of PEM that holds at least one CA certificate and nothing unusable. \
                 Remove the field to use the system's trust store."
            }
            Self::CaBundleExpired => "Every certificate in spec.caBundle has expired. Replace the bundle.",
            Self::CallsFailing => {
                "Calls to the webhook fail. Check that it is reachable from kcp at spec.url, that its certificate \
                 verifies under spec.caBundle, and that it answers in time; the operator's log has the details."
            }
            Self::ClientCertificateNotRequested => {
                "The webhook does not ask for a client certificate, so anyone who reaches it can pose as kcp. Let it \
                 require one that verifies under status.clientCABundle."
            }
        })
    }

    /// The condition that is false because of this problem.
    pub const fn condition(&self) -> ConditionType {
        match self {
            Self::FieldInvalid(_) | Self::Conflicted => ConditionType::Accepted,
            Self::ClaimsNotAccepted
            | Self::ExportNotFound
            | Self::ExportInvalid(_)
            | Self::ResourceNotInExport
            | Self::SchemaNotFound
            | Self::SchemaOfOtherResource
            | Self::SchemaUnsupported(_) => ConditionType::ResourceResolved,
            Self::StorageNotVirtual
            | Self::ReferenceNotEndpointSlice
            | Self::EndpointSliceNotFound
            | Self::EndpointSliceOfOtherExport
            | Self::EndpointSliceShared
            | Self::EndpointSliceIsDefault
            | Self::EndpointConflict
            | Self::SliceRightsMissing => ConditionType::EndpointPublished,
            Self::UrlInvalid | Self::UrlRefused | Self::CaBundleInvalid | Self::CaBundleExpired => {
                ConditionType::EphemeralEndpointsValid
            }
            Self::CallsFailing | Self::ClientCertificateNotRequested => ConditionType::CallsSucceeding,
        }
    }
}

impl Problem {
    /// One of each, in the order in which they are looked for; with placeholders where a message names something.
    pub fn examples() -> impl Iterator<Item = Self> {
        let field = FieldInvalid {
            field: "<field>",
            must: "<what it must be>",
        };
        let schema = SchemaProblem::Version {
            version: "<version>".into(),
            fault: "<where in the schema, and what>".into(),
        };
        [
            Self::FieldInvalid(field),
            Self::Conflicted,
            Self::ClaimsNotAccepted,
            Self::ExportNotFound,
            Self::ExportInvalid(field),
            Self::ResourceNotInExport,
            Self::SchemaNotFound,
            Self::SchemaOfOtherResource,
            Self::SchemaUnsupported(schema),
            Self::StorageNotVirtual,
            Self::ReferenceNotEndpointSlice,
            Self::EndpointSliceNotFound,
            Self::EndpointSliceOfOtherExport,
            Self::EndpointSliceShared,
            Self::EndpointSliceIsDefault,
            Self::EndpointConflict,
            Self::SliceRightsMissing,
            Self::UrlInvalid,
            Self::UrlRefused,
            Self::CaBundleInvalid,
            Self::CaBundleExpired,
            Self::CallsFailing,
            Self::ClientCertificateNotRequested,
        ]
        .into_iter()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason(), self.message())
    }
}

impl std::error::Error for Problem {}

/// A field that is missing or not what its kind allows.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, thiserror::Error)]
#[error("{field} must be {must}")]
pub struct FieldInvalid {
    /// The path of the field, such as `spec.timeoutSeconds`.
    pub field: &'static str,
    /// What it must be.
    pub must: &'static str,
}

impl From<FieldInvalid> for Problem {
    fn from(invalid: FieldInvalid) -> Self {
        Self::FieldInvalid(invalid)
    }
}

/// Why a schema cannot be enforced. The text quotes nothing but the provider's own schema.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, thiserror::Error)]
pub enum SchemaProblem {
    /// The APIResourceSchema lacks something that every kind of resource has.
    #[error("{0}")]
    Malformed(#[from] FieldInvalid),
    /// The schema of a version uses what this server cannot enforce, or is no schema.
    #[error("version {version}: {fault}")]
    Version {
        /// The version whose schema it is.
        version: Arc<str>,
        /// Where in the schema, and what; at most 512 characters.
        fault: Arc<str>,
    },
}
