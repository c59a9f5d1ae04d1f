use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::response::Kind;
use crate::{ReviewVersion, null_as_default};

/// The review as the server sends it: `{apiVersion, kind, request}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewRequest<O, U = UserInfo> {
    /// The version in which the review is spoken and must be answered.
    pub api_version: ReviewVersion,
    kind: Kind,
    /// The question.
    pub request: Request<O, U>,
}

impl<O, U> ReviewRequest<O, U> {
    /// A review of `request`, spoken in `api_version`.
    pub const fn new(api_version: ReviewVersion, request: Request<O, U>) -> Self {
        Self {
            api_version,
            kind: Kind,
            request,
        }
    }
}

/// One create of one consumer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request<O, U = UserInfo> {
    /// Identifies this one call; the answer repeats it. Never empty.
    pub uid: String,
    /// The consumer's logical cluster, always by name: never a path, never `*`.
    pub cluster: String,
    /// The export for which the webhook is asked. Every provider is called with the same client certificate, so a
    /// webhook must refuse an export that it does not serve, or another provider could nominate its URL.
    pub export: Export,
    /// The resource that the consumer creates.
    pub resource: GroupVersionResource,
    /// The kind of the object.
    pub kind: GroupVersionKind,
    /// The namespace of the request; empty, and absent on the wire, for a cluster-scoped resource.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub namespace: String,
    /// The name of the object; empty, and absent on the wire, when the consumer gave none, since a question needs none.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub name: String,
    /// Who asks. The name means something only together with `cluster` and the scopes among the extras.
    pub user_info: U,
    /// Whether the consumer asked for a dry run: the answer then must have no side effect. Absent means false.
    #[serde(default, deserialize_with = "null_as_default")]
    pub dry_run: bool,
    /// The options of the create. Absent means none were given.
    #[serde(default, deserialize_with = "null_as_default")]
    pub options: CreateOptions,
    /// The object, pruned, defaulted and validated, without a status.
    pub object: O,
}

/// An `APIExport`, by the logical cluster of its provider and its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Export {
    /// The provider's logical cluster, always by name.
    pub cluster: String,
    /// The name of the `APIExport` in it.
    pub name: String,
}

impl Export {
    /// The export `name` of the logical cluster `cluster`.
    pub fn new(cluster: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            cluster: cluster.into(),
            name: name.into(),
        }
    }
}

/// `metav1.GroupVersionResource`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GroupVersionResource {
    /// The API group.
    pub group: String,
    /// The version in that group.
    pub version: String,
    /// The plural, lower-case resource name.
    pub resource: String,
}

/// `metav1.GroupVersionKind`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GroupVersionKind {
    /// The API group.
    pub group: String,
    /// The version in that group.
    pub version: String,
    /// The kind.
    pub kind: String,
}

impl GroupVersionKind {
    /// The `apiVersion` of an object of this kind: `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

/// `authentication.k8s.io/v1.UserInfo`: the caller, with all groups and extras that kcp knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserInfo {
    /// The user's name. Workspace admins may impersonate, so it is unique only with the logical cluster and scopes.
    #[serde(default, deserialize_with = "null_as_default")]
    pub username: String,
    /// The user's uid; often empty, then absent on the wire.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub uid: String,
    /// The user's groups; absent on the wire when there are none.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Further facts by lower-case key, among them kcp's scopes and warrants; absent on the wire when there are none.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub extra: BTreeMap<String, Vec<String>>,
}

/// `metav1.CreateOptions` as `AdmissionReview` carries them, with their own `apiVersion` and `kind`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateOptions {
    #[serde(default = "options_api_version")]
    api_version: String,
    #[serde(default = "options_kind")]
    kind: String,
    /// The dry-run directives: empty, or `All`.
    #[serde(default, deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub dry_run: Vec<String>,
    /// The name of the program that creates, at most 128 characters; may be empty, then absent on the wire.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub field_manager: String,
    /// `Ignore`, `Warn` or `Strict`; empty, then absent on the wire, when the consumer left it open.
    #[serde(
        default,
        deserialize_with = "null_as_default",
        skip_serializing_if = "String::is_empty"
    )]
    pub field_validation: String,
}

impl Default for CreateOptions {
    fn default() -> Self {
        Self {
            api_version: options_api_version(),
            kind: options_kind(),
            dry_run: Vec::new(),
            field_manager: String::new(),
            field_validation: String::new(),
        }
    }
}

fn options_api_version() -> String {
    "meta.k8s.io/v1".to_owned()
}

fn options_kind() -> String {
    "CreateOptions".to_owned()
}
