//! The rights of the server's user, the least that its requests need. `tests/it/kcp_rights.rs` compares them with the
//! requests that a running server makes.

use serde_json::{Value, json};

use super::OWN_EXPORT;

/// A rule of a role.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    group: &'static str,
    resources: &'static [&'static str],
    names: &'static [&'static str],
    verbs: &'static [&'static str],
}

impl Rule {
    const fn new(group: &'static str, resources: &'static [&'static str], verbs: &'static [&'static str]) -> Self {
        Self {
            group,
            resources,
            names: &[],
            verbs,
        }
    }

    const fn named(self, names: &'static [&'static str]) -> Self {
        Self { names, ..self }
    }

    fn to_json(self) -> Value {
        let mut rule = json!({"apiGroups": [self.group], "resources": self.resources, "verbs": self.verbs});
        if !self.names.is_empty() {
            rule["resourceNames"] = json!(self.names);
        }
        rule
    }
}

/// In every workspace: to ask whether a caller may, what a consumer is bound to.
pub(crate) const EVERYWHERE: &[Rule] = &[
    Rule::new("authorization.k8s.io", &["subjectaccessreviews"], &["create"]),
    Rule::new("apis.kcp.io", &["apibindings"], &["list"]),
];

/// In a provider's workspace: to publish into the slice that its export refers to.
pub(crate) const SLICES: &[Rule] = &[
    Rule::new("apis.kcp.io", &["apiexportendpointslices"], &["get"]),
    Rule::new("apis.kcp.io", &["apiexportendpointslices/status"], &["patch"]),
];

/// In the workspace of this project's own export: to find the export's virtual workspaces, and to use them.
pub(crate) const PLATFORM: &[Rule] = &[
    Rule::new("apis.kcp.io", &["apiexportendpointslices"], &["list", "watch"]),
    // kcp asks for the verb of the request to the virtual workspace: conditions are a patch.
    Rule::new("apis.kcp.io", &["apiexports/content"], &["list", "watch", "patch"]).named(&[OWN_EXPORT]),
];

/// In the namespace `default` of that workspace: to hold the Lease of the replica that publishes.
pub(crate) const LEASE: &[Rule] = &[Rule::new(
    "coordination.k8s.io",
    &["leases"],
    &["get", "create", "update"],
)];

/// A `ClusterRole` with `rules` and the right to enter the workspace, bound to `user`.
pub(crate) fn cluster_role(user: &str, purpose: &str, rules: &[&[Rule]]) -> [Value; 2] {
    let name = format!("{user}:{purpose}");
    // kcp asks for this right before any other.
    let access = json!({"nonResourceURLs": ["/"], "verbs": ["access"]});
    let rules = rules.iter().copied().flatten().map(|rule| rule.to_json());
    [
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": std::iter::once(access).chain(rules).collect::<Vec<_>>(),
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [subject(user)],
        }),
    ]
}

/// A Role with `rules` in the namespace `default`, bound to `user`.
pub(crate) fn role(user: &str, purpose: &str, rules: &[Rule]) -> [Value; 2] {
    let name = format!("{user}:{purpose}");
    let metadata = json!({"name": name, "namespace": "default"});
    [
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": metadata,
            "rules": rules.iter().map(|rule| rule.to_json()).collect::<Vec<_>>(),
        }),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [subject(user)],
        }),
    ]
}

fn subject(user: &str) -> Value {
    json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user})
}
