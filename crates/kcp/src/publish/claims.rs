//! Whether a provider's APIBinding accepts the permission claims.
//!
//! Where it does not, its APIExports and APIResourceSchemas are merely absent from the virtual workspace: kcp labels
//! what is claimed and accepted, and the virtual workspace selects by those labels.

use serde::Deserialize;

use crate::EXPORT;
use crate::base::{Cluster, RequestError};

const BINDINGS: &str = "/apis/apis.kcp.io/v1alpha2/apibindings";
const GROUP: &str = "apis.kcp.io";
/// What is claimed, all of that group.
const RESOURCES: [&str; 2] = ["apiexports", "apiresourceschemas"];

/// The APIBindings of a logical cluster, as far as they say what is accepted.
#[derive(Debug, Deserialize)]
pub(super) struct Bindings {
    #[serde(default)]
    items: Option<Vec<Binding>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Binding {
    spec: Spec,
    status: BindingStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    reference: Reference,
    permission_claims: Vec<Claim>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Reference {
    export: Export,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Export {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Claim {
    group: String,
    resource: String,
    state: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BindingStatus {
    api_export_cluster_name: String,
}

/// Reads the bindings of a provider's logical cluster.
pub(super) async fn read(cluster: &Cluster) -> Result<Bindings, RequestError> {
    cluster.get(BINDINGS).await
}

impl Bindings {
    /// Whether the claims of this project's export are accepted; nothing where no binding is to it. `platform` is the
    /// logical cluster of the export.
    pub(super) fn accept(&self, platform: &str) -> Option<bool> {
        let bindings = self.items.iter().flatten();
        let mut ours = bindings
            .filter(|binding| binding.spec.reference.export.name == EXPORT)
            .filter(|binding| binding.status.api_export_cluster_name == platform)
            .peekable();
        ours.peek()?;
        Some(ours.any(Binding::accepts_all))
    }
}

impl Binding {
    fn accepts_all(&self) -> bool {
        RESOURCES.iter().all(|resource| {
            self.spec
                .permission_claims
                .iter()
                .any(|claim| claim.group == GROUP && claim.resource == *resource && claim.state == "Accepted")
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn accepted(claims: &Value, platform: &str) -> Option<bool> {
        let bindings = json!({"items": [
            {"spec": {"reference": {"export": {"path": "root:x", "name": "other"}}},
             "status": {"apiExportClusterName": "platform"}},
            {"metadata": {"name": "b"}, "spec": {
                "reference": {"export": {"path": "root:platform", "name": EXPORT}}, "permissionClaims": claims},
             "status": {"apiExportClusterName": "platform", "phase": "Bound"}},
        ]});
        serde_json::from_value::<Bindings>(bindings).unwrap().accept(platform)
    }

    #[test]
    fn every_claim_has_to_be_accepted() {
        let claim = |resource: &str, state: &str| json!({"group": GROUP, "resource": resource, "state": state});
        let both = json!([claim("apiexports", "Accepted"), claim("apiresourceschemas", "Accepted")]);
        assert_eq!(accepted(&both, "platform"), Some(true));
        assert_eq!(accepted(&both, "elsewhere"), None, "another export of the same name");
        for lacking in [
            json!([]),
            json!([claim("apiexports", "Accepted")]),
            json!([claim("apiexports", "Accepted"), claim("apiresourceschemas", "Rejected")]),
        ] {
            assert_eq!(accepted(&lacking, "platform"), Some(false), "{lacking}");
        }
    }
}
