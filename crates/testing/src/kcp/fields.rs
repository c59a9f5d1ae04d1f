//! Who owns which field: server-side apply and `metadata.managedFields`, as far as kcp's kinds need them.
//!
//! An object is seen as its leaves, each under a path. Lists that have keys are taken apart by them; every other list is
//! one leaf.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// One step of a path, as `FieldsV1` writes it: `f:name`, or `k:{"url":"…"}`.
type Step = String;
/// Where a leaf is.
pub(super) type Path = Vec<Step>;

/// The lists with keys, by the fields that lead to them.
const KEYED: &[(&[&str], &[&str])] = &[
    (&["status", "endpoints"], &["url"]),
    (&["status", "conditions"], &["type"]),
    (&["spec", "resources"], &["group", "name"]),
    (&["spec", "permissionClaims"], &["group", "resource"]),
];

/// Who owns a set of fields.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Manager {
    pub(super) name: String,
    pub(super) operation: Operation,
    pub(super) subresource: &'static str,
}

/// How it came to own them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

/// The owners of an object's fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owners(BTreeMap<Manager, BTreeSet<Path>>);

impl Owners {
    /// Applies a configuration to an object. The error names the owner of a field that would change.
    pub(super) fn apply(
        &mut self,
        live: &mut Value,
        config: &Value,
        manager: &Manager,
        force: bool,
    ) -> Result<(), String> {
        let wanted = leaves(config);
        let present = leaves(live);
        for (path, value) in &wanted {
            if present.get(path) == Some(value) || !present.contains_key(path) {
                continue;
            }
            let owner = self
                .0
                .iter()
                .find(|(owner, fields)| owner.name != manager.name && fields.contains(path));
            match owner {
                Some((owner, _)) if !force => {
                    return Err(format!(
                        "Apply failed with 1 conflict: conflict with {:?}: .{}",
                        owner.name,
                        path.join(".")
                    ));
                }
                _ => {}
            }
        }
        let before = self.0.remove(manager).unwrap_or_default();
        for path in before.iter().filter(|path| !wanted.contains_key(*path)) {
            if !self.0.values().any(|fields| fields.contains(path)) {
                remove(live, path);
            }
        }
        for (path, value) in &wanted {
            if present.get(path) != Some(value) {
                self.disown(path);
            }
            insert(live, path, value.clone());
        }
        if !wanted.is_empty() {
            self.0.insert(manager.clone(), wanted.into_keys().collect());
        }
        Ok(())
    }

    /// Notes that a manager changed `before` to `after`.
    pub(super) fn update(&mut self, before: &Value, after: &Value, manager: &Manager) {
        let (before, after) = (leaves(before), leaves(after));
        for path in before.keys().filter(|path| !after.contains_key(*path)) {
            self.disown(path);
        }
        for (path, _) in after.iter().filter(|(path, value)| before.get(*path) != Some(value)) {
            self.disown(path);
            self.0.entry(manager.clone()).or_default().insert(path.clone());
        }
    }

    fn disown(&mut self, path: &Path) {
        for fields in self.0.values_mut() {
            fields.remove(path);
        }
        self.0.retain(|_, fields| !fields.is_empty());
    }

    /// `metadata.managedFields`.
    pub(super) fn managed_fields(&self, api_version: &str) -> Value {
        let entries = self.0.iter().map(|(manager, fields)| {
            let mut entry = json!({
                "manager": manager.name,
                "operation": format!("{:?}", manager.operation),
                "apiVersion": api_version,
                "fieldsType": "FieldsV1",
                "fieldsV1": tree(fields),
            });
            if !manager.subresource.is_empty() {
                entry["subresource"] = manager.subresource.into();
            }
            entry
        });
        entries.collect()
    }
}

/// The leaves of an object but for what identifies it.
fn leaves(object: &Value) -> BTreeMap<Path, Value> {
    let mut out = BTreeMap::new();
    for (field, value) in object.as_object().into_iter().flatten() {
        match field.as_str() {
            "apiVersion" | "kind" => {}
            "metadata" => {
                for part in ["labels", "annotations"] {
                    if let Some(value) = value.get(part) {
                        take_apart(value, vec![name("metadata"), name(part)], &mut out);
                    }
                }
            }
            _ => take_apart(value, vec![name(field)], &mut out),
        }
    }
    out
}

fn take_apart(value: &Value, path: Path, out: &mut BTreeMap<Path, Value>) {
    let below = |step: Step| path.iter().cloned().chain([step]).collect::<Path>();
    match (value, keys(&path)) {
        (Value::Object(fields), _) if !fields.is_empty() => {
            for (field, value) in fields {
                take_apart(value, below(name(field)), out);
            }
        }
        (Value::Array(items), Some(keys)) => {
            for item in items {
                take_apart(item, below(key(item, keys)), out);
            }
        }
        _ => {
            out.insert(path, value.clone());
        }
    }
}

fn name(field: &str) -> Step {
    format!("f:{field}")
}

fn key(item: &Value, keys: &[&str]) -> Step {
    let fields: Map<String, Value> = keys
        .iter()
        .map(|key| ((*key).to_owned(), item.get(key).cloned().unwrap_or_else(|| "".into())))
        .collect();
    format!("k:{}", Value::Object(fields))
}

fn keys(path: &[Step]) -> Option<&'static [&'static str]> {
    let fits =
        |list: &[&str]| list.len() == path.len() && list.iter().zip(path).all(|(field, step)| name(field) == *step);
    KEYED.iter().find(|(list, _)| fits(list)).map(|(_, keys)| *keys)
}

fn tree(fields: &BTreeSet<Path>) -> Value {
    let mut root = json!({});
    for path in fields {
        let mut at = &mut root;
        for step in path {
            if at.get(step).is_none() {
                at[step] = if step.starts_with("k:") {
                    json!({".": {}})
                } else {
                    json!({})
                };
            }
            at = &mut at[step];
        }
    }
    root
}

fn insert(object: &mut Value, path: &[Step], value: Value) {
    let mut at = object;
    for (depth, step) in path.iter().enumerate() {
        let next_is_key = path.get(depth + 1).is_some_and(|step| step.starts_with("k:"));
        if let Some(field) = step.strip_prefix("f:") {
            if at.get(field).is_none_or(Value::is_null) {
                at[field] = if next_is_key { json!([]) } else { json!({}) };
            }
            at = &mut at[field];
        } else {
            let keys = keys(&path[..depth]).expect("a list with keys");
            let items = at.as_array_mut().expect("a list");
            let index = items.iter().position(|item| key(item, keys) == *step);
            let index = index.unwrap_or_else(|| {
                let item = step.strip_prefix("k:").and_then(|key| serde_json::from_str(key).ok());
                items.push(item.expect("the key of an item"));
                items.len() - 1
            });
            at = &mut items[index];
        }
    }
    // An object without fields is one that is there, whatever others have put into it.
    if !(at.is_object() && value == json!({})) {
        *at = value;
    }
}

/// Removes a leaf, and what is empty without it.
fn remove(object: &mut Value, path: &[Step]) {
    remove_below(object, path, 0);
}

fn remove_below(at: &mut Value, path: &[Step], depth: usize) {
    let Some(step) = path.get(depth) else { return };
    let last = depth + 1 == path.len();
    let empty = |value: &Value| match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    match (at, step.strip_prefix("f:")) {
        (Value::Object(fields), Some(field)) => {
            if let Some(value) = fields.get_mut(field) {
                remove_below(value, path, depth + 1);
                if (last && !value.is_object()) || (empty(value) && depth > 0) {
                    fields.remove(field);
                }
            }
        }
        (Value::Array(items), None) => {
            let keys = keys(&path[..depth]).expect("a list with keys");
            // The keys themselves are leaves, and may be removed first: without them an item is known by its rest.
            if let Some(index) = items.iter().position(|item| key(item, keys) == *step) {
                remove_below(&mut items[index], path, depth + 1);
                if empty(&items[index]) || key(&items[index], keys) != *step {
                    items.remove(index);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manager(name: &str) -> Manager {
        Manager {
            name: name.to_owned(),
            operation: Operation::Apply,
            subresource: "status",
        }
    }

    fn entry(url: &str) -> Value {
        json!({"url": url, "shards": {"matchAll": true}})
    }

    fn status(entries: &[Value]) -> Value {
        if entries.is_empty() {
            return json!({"status": {}});
        }
        json!({"status": {"endpoints": entries}})
    }

    #[test]
    fn an_apply_replaces_the_own_entries_and_leaves_the_others() {
        let (mut live, mut owners) = (json!({"spec": {"export": {"name": "e"}}}), Owners::default());
        owners
            .apply(
                &mut live,
                &status(&[json!({"url": "https://kcp"})]),
                &manager("shard"),
                false,
            )
            .unwrap();
        owners
            .apply(&mut live, &status(&[entry("https://old")]), &manager("ours"), false)
            .unwrap();
        owners
            .apply(&mut live, &status(&[entry("https://new")]), &manager("ours"), false)
            .unwrap();
        assert_eq!(
            live["status"]["endpoints"],
            json!([{"url": "https://kcp"}, entry("https://new")])
        );
        let managed = owners.managed_fields("v1");
        assert_eq!(managed[0]["manager"], "ours");
        assert_eq!(
            managed[0]["fieldsV1"]["f:status"]["f:endpoints"],
            json!({"k:{\"url\":\"https://new\"}": {".": {}, "f:url": {}, "f:shards": {"f:matchAll": {}}}})
        );
        owners.apply(&mut live, &status(&[]), &manager("ours"), false).unwrap();
        assert_eq!(live["status"]["endpoints"], json!([{"url": "https://kcp"}]));
    }

    #[test]
    fn an_entry_of_two_managers_goes_with_the_last_and_a_change_conflicts() {
        let (mut live, mut owners) = (json!({}), Owners::default());
        owners
            .apply(&mut live, &status(&[entry("https://one")]), &manager("a"), false)
            .unwrap();
        owners
            .apply(&mut live, &status(&[entry("https://one")]), &manager("b"), false)
            .unwrap();
        owners.apply(&mut live, &status(&[]), &manager("a"), false).unwrap();
        assert_eq!(live["status"]["endpoints"], json!([entry("https://one")]));
        let other = json!({"url": "https://one", "shards": {"matchAll": false}});
        let refused = owners.apply(&mut live, &status(std::slice::from_ref(&other)), &manager("a"), false);
        assert!(refused.is_err_and(|error| error.contains("conflict with \"b\"")));
        owners
            .apply(&mut live, &status(std::slice::from_ref(&other)), &manager("a"), true)
            .unwrap();
        assert_eq!(live["status"]["endpoints"], json!([other]));
    }

    #[test]
    fn an_update_takes_over_what_it_changes() {
        let (mut live, mut owners) = (json!({}), Owners::default());
        owners
            .apply(&mut live, &status(&[entry("https://one")]), &manager("a"), false)
            .unwrap();
        let after = json!({});
        let editor = Manager {
            operation: Operation::Update,
            ..manager("editor")
        };
        owners.update(&live, &after, &editor);
        assert_eq!(owners.managed_fields("v1"), json!([]));
        live = after;
        owners
            .apply(&mut live, &status(&[entry("https://one")]), &manager("a"), false)
            .unwrap();
        assert_eq!(live["status"]["endpoints"], json!([entry("https://one")]));
    }
}
