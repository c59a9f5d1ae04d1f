//! Resources in the place of Kubernetes' built-in reviews: of the same groups, names and scopes.

use serde_json::{Value, json};

use crate::support::resources::Resource;

/// All that the recorded server had, in one export.
pub(super) fn resources() -> Vec<Resource> {
    [
        ("authentication.k8s.io", "TokenReview", "Cluster"),
        ("authorization.k8s.io", "LocalSubjectAccessReview", "Namespaced"),
        ("authorization.k8s.io", "SelfSubjectAccessReview", "Cluster"),
        ("authorization.k8s.io", "SelfSubjectRulesReview", "Cluster"),
        ("authorization.k8s.io", "SubjectAccessReview", "Cluster"),
    ]
    .map(|(group, kind, scope)| review(group, kind, scope))
    .into()
}

fn review(group: &str, kind: &str, scope: &str) -> Resource {
    let singular = kind.to_lowercase();
    let text = json!({"type": "string"});
    let attributes = json!({"type": "object", "properties": {"namespace": text, "verb": text, "resource": text}});
    Resource {
        group: group.into(),
        version: "v1".into(),
        scope: scope.into(),
        names: json!({
            "kind": kind, "listKind": format!("{kind}List"), "plural": format!("{singular}s"), "singular": singular,
        }),
        schema: json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "resourceAttributes": attributes, "user": text, "token": text,
            }},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }}),
        subresources: json!({"status": {}}),
        printer_columns: Value::Null,
        further: Value::Null,
    }
}
