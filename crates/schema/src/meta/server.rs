//! What the server does to the metadata of a new object (`rest.BeforeCreate` and the create handler of the API server).

use crate::value::{Map, Value};

/// The fields that only the server sets.
const SERVER_MANAGED: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Removes the fields that only the server sets.
pub fn drop_server_managed(metadata: &mut Map) {
    metadata.retain(|name, _| !SERVER_MANAGED.contains(&name));
}

/// Keeps the first of equal owner references, and returns the warning that Kubernetes gives when there were others.
pub fn dedup_owner_references(metadata: &mut Map) -> Option<String> {
    let Some(Value::Array(references)) = metadata.get_mut("ownerReferences") else {
        return None;
    };
    let mut kept = std::collections::HashSet::new();
    let mut repeated: Vec<String> = Vec::new();
    references.retain(|reference| {
        let mut identity = String::new();
        crate::json::write_json(reference, &mut identity);
        let first = kept.insert(identity);
        if !first {
            let uid = reference.get("uid").and_then(Value::as_str).unwrap_or_default();
            repeated.push(uid.to_owned());
        }
        first
    });
    (!repeated.is_empty()).then(|| {
        format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may \
             reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            repeated.join(", ")
        )
    })
}
