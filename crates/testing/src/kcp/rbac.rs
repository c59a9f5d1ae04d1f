//! Who may do what: RBAC as kcp evaluates it, with scopes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::resource::RBAC;
use super::store::Store;

/// Scopes of a user: `cluster:<name>`, alternatives with commas, several values all hold.
pub const SCOPES: &str = "authentication.kcp.io/scopes";
/// The group of those who may do everything.
pub(super) const ADMINS: [&str; 2] = ["system:kcp:admin", "system:masters"];
/// The logical cluster of each shard whose cluster roles hold in all its workspaces.
pub(super) const SYSTEM_ADMIN: &str = "system:admin";

/// Somebody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// The groups.
    pub groups: Vec<String>,
    /// Everything else.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    pub(super) fn is_admin(&self) -> bool {
        self.groups.iter().any(|group| ADMINS.contains(&group.as_str()))
    }

    fn in_scope(&self, cluster: &str) -> bool {
        let wanted = format!("cluster:{cluster}");
        let scopes = self.extra.get(SCOPES).into_iter().flatten();
        scopes
            .into_iter()
            .all(|scope| scope.split(',').any(|scope| scope.trim() == wanted))
    }
}

/// What somebody wants to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// Who.
    pub user: User,
    /// In which logical cluster.
    pub cluster: String,
    /// The verb.
    pub verb: String,
    /// The API group.
    pub group: String,
    /// The resource, with the subresource after a slash.
    pub resource: String,
    /// The namespace; empty for none.
    pub namespace: String,
    /// The name; empty for none.
    pub name: String,
}

/// Whether RBAC of the logical cluster and of the shard's `system:admin` allows it.
pub(super) fn allowed(store: &Store, question: &Question) -> bool {
    if !question.user.in_scope(&question.cluster) {
        return false;
    }
    if question.user.is_admin() {
        return true;
    }
    let rules = rules(store, question);
    let access = |rule: &&Value| has(rule, "nonResourceURLs", "/") && has(rule, "verbs", "access");
    rules.iter().any(access) && rules.iter().any(|rule| covers(rule, question))
}

fn rules<'a>(store: &'a Store, question: &Question) -> Vec<&'a Value> {
    let holds = |cluster: &str| cluster == question.cluster || cluster == SYSTEM_ADMIN;
    let mut rules = Vec::new();
    for (bindings, namespaced) in [("clusterrolebindings", false), ("rolebindings", true)] {
        for (key, binding) in store.of(RBAC, bindings).filter(|(key, _)| holds(&key.cluster)) {
            let elsewhere = namespaced && (key.namespace != question.namespace || question.namespace.is_empty());
            let subjects = binding["subjects"].as_array().into_iter().flatten();
            if elsewhere || !subjects.into_iter().any(|subject| is(subject, &question.user)) {
                continue;
            }
            let role = &binding["roleRef"];
            let (plural, namespace) = match role["kind"].as_str() {
                Some("Role") => ("roles", key.namespace.as_str()),
                _ => ("clusterroles", ""),
            };
            let found = store.of(RBAC, plural).find(|(of, _)| {
                of.cluster == key.cluster
                    && of.namespace == namespace
                    && Some(of.name.as_str()) == role["name"].as_str()
            });
            rules.extend(
                found
                    .into_iter()
                    .flat_map(|(_, role)| role["rules"].as_array().into_iter().flatten()),
            );
        }
    }
    rules
}

fn is(subject: &Value, user: &User) -> bool {
    let name = subject["name"].as_str().unwrap_or_default();
    match subject["kind"].as_str() {
        Some("User") => user.name == name,
        Some("Group") => user.groups.iter().any(|group| group == name),
        Some("ServiceAccount") => {
            let namespace = subject["namespace"].as_str().unwrap_or_default();
            user.name == format!("system:serviceaccount:{namespace}:{name}")
        }
        _ => false,
    }
}

fn covers(rule: &Value, question: &Question) -> bool {
    let named = rule["resourceNames"]
        .as_array()
        .is_none_or(|names| names.is_empty() || names.iter().any(|name| name.as_str() == Some(question.name.as_str())));
    named
        && has(rule, "verbs", &question.verb)
        && has(rule, "apiGroups", &question.group)
        && has(rule, "resources", &question.resource)
}

fn has(rule: &Value, list: &str, wanted: &str) -> bool {
    let items = rule[list].as_array().into_iter().flatten();
    items
        .filter_map(Value::as_str)
        .any(|item| item == "*" || item == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_outside_a_scope_may_nothing() {
        let scoped = |scopes: &[&str]| User {
            groups: vec!["system:kcp:admin".to_owned()],
            extra: [(
                SCOPES.to_owned(),
                scopes.iter().map(|&scope| scope.to_owned()).collect(),
            )]
            .into(),
            ..User::default()
        };
        let store = Store::new(1);
        let question = |user| Question {
            user,
            cluster: "one".to_owned(),
            ..Question::default()
        };
        assert!(allowed(&store, &question(scoped(&[]))));
        assert!(allowed(&store, &question(scoped(&["cluster:two,cluster:one"]))));
        assert!(!allowed(&store, &question(scoped(&["cluster:two"]))));
        assert!(!allowed(&store, &question(scoped(&["cluster:one", "cluster:two"]))));
    }
}
