//! The resources that a logical cluster has: kcp's own, and those that its APIBindings bring.

use serde_json::{Value, json};

/// The group of kcp's own kinds.
pub(super) const APIS: &str = "apis.kcp.io";
/// The group of roles and their bindings.
pub(super) const RBAC: &str = "rbac.authorization.k8s.io";

/// One resource in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resource {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) plural: String,
    pub(super) kind: String,
    pub(super) namespaced: bool,
    pub(super) storage: Storage,
    /// `openAPIV3Schema`, of those that a binding brings.
    pub(super) schema: Value,
}

/// Where its objects are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// In the shard.
    Shard,
    /// In a virtual workspace, which the shard asks.
    Virtual,
    /// Nowhere: a create is answered.
    Review,
}

impl Resource {
    fn own(group: &str, version: &str, plural: &str, kind: &str, namespaced: bool) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            kind: kind.to_owned(),
            namespaced,
            storage: if plural == "subjectaccessreviews" {
                Storage::Review
            } else {
                Storage::Shard
            },
            schema: json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        }
    }

    /// `group/version`.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() {
            return self.version.clone();
        }
        format!("{}/{}", self.group, self.version)
    }

    /// Whether the status is written by itself.
    pub(super) fn has_status(&self) -> bool {
        !matches!(self.group.as_str(), RBAC | "coordination.k8s.io") && self.plural != "apiresourceschemas"
    }
}

/// The resources that every logical cluster has.
pub(super) fn own() -> Vec<Resource> {
    [
        ("", "v1", "namespaces", "Namespace", false),
        (APIS, "v1alpha1", "apiresourceschemas", "APIResourceSchema", false),
        (
            APIS,
            "v1alpha1",
            "apiexportendpointslices",
            "APIExportEndpointSlice",
            false,
        ),
        (APIS, "v1alpha2", "apiexports", "APIExport", false),
        (APIS, "v1alpha2", "apibindings", "APIBinding", false),
        (
            "authorization.k8s.io",
            "v1",
            "subjectaccessreviews",
            "SubjectAccessReview",
            false,
        ),
        ("coordination.k8s.io", "v1", "leases", "Lease", true),
        (RBAC, "v1", "clusterroles", "ClusterRole", false),
        (RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", false),
        (RBAC, "v1", "roles", "Role", true),
        (RBAC, "v1", "rolebindings", "RoleBinding", true),
    ]
    .map(|(group, version, plural, kind, namespaced)| Resource::own(group, version, plural, kind, namespaced))
    .into()
}

/// The resources of an APIResourceSchema, one for each version that is served.
pub(super) fn of_schema(schema: &Value, storage: Storage) -> Vec<Resource> {
    let spec = &schema["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let versions = spec["versions"].as_array().into_iter().flatten();
    versions
        .filter(|version| version["served"] == true)
        .map(|version| Resource {
            group: text(&spec["group"]),
            version: text(&version["name"]),
            plural: text(&spec["names"]["plural"]),
            kind: text(&spec["names"]["kind"]),
            namespaced: spec["scope"] == "Namespaced",
            storage,
            schema: version["schema"].clone(),
        })
        .collect()
}
