//! Pruning: fields that the schema does not know are removed
//! (`k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning`).

use crate::field::Path;
use crate::node::Node;
use crate::unknown::Unknown;
use crate::value::{Map, Value, deeper};

/// Removes what a resource's schema does not know and returns the paths, sorted.
pub(crate) fn prune(root: &Node, object: &mut Map) -> Vec<String> {
    let mut pruner = Pruner::default();
    let path = Path::root();
    if root.preserve_unknown_fields {
        pruner.preserved_fields(root, object, true, &path);
    } else {
        pruner.fields(root, object, true, &path);
    }
    pruner.unknown.into_sorted()
}

/// Removes what a schema does not know from a part of an object.
pub(crate) fn prune_value(node: &Node, value: &mut Value) {
    Pruner::default().value(Some(node), value, &Path::root());
}

#[derive(Default)]
struct Pruner {
    unknown: Unknown,
}

/// Fields that every resource has, whatever its schema says.
fn is_meta_field(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

impl Pruner {
    fn value(&mut self, node: Option<&Node>, value: &mut Value, path: &Path<'_>) {
        match (node, value) {
            (Some(node), value) if node.preserve_unknown_fields => self.preserved(node, value, path),
            (Some(node), Value::Object(map)) => deeper(|| self.fields(node, map, node.embedded_resource, path)),
            (None, Value::Object(map)) => {
                for key in map.keys() {
                    self.record(&path.child(key));
                }
                *map = Map::new();
            }
            (node, Value::Array(items)) => deeper(|| {
                let schema = node.and_then(|node| node.items.as_deref());
                for (i, item) in items.iter_mut().enumerate() {
                    self.value(schema, item, &path.index(i));
                }
            }),
            _ => {}
        }
    }

    fn fields(&mut self, node: &Node, map: &mut Map, is_resource: bool, path: &Path<'_>) {
        map.retain(|key, value| {
            if is_resource && is_meta_field(key) {
                return true;
            }
            let schema = node.field(key);
            let known = schema.is_some() || node.additional.is_set();
            if known {
                self.value(schema, value, &path.child(key));
            } else {
                self.record(&path.child(key));
            }
            known
        });
    }

    /// Below a schema that preserves unknown fields only the known ones are looked into.
    fn preserved(&mut self, node: &Node, value: &mut Value, path: &Path<'_>) {
        match value {
            Value::Object(map) => deeper(|| self.preserved_fields(node, map, node.embedded_resource, path)),
            Value::Array(items) => {
                let Some(schema) = node.items.as_deref() else { return };
                deeper(|| {
                    for (i, item) in items.iter_mut().enumerate() {
                        self.preserved(schema, item, &path.index(i));
                    }
                });
            }
            _ => {}
        }
    }

    fn preserved_fields(&mut self, node: &Node, map: &mut Map, is_resource: bool, path: &Path<'_>) {
        for (key, value) in map.iter_mut() {
            if is_resource && is_meta_field(key) {
                continue;
            }
            let schema = node.field(key);
            if schema.is_some() || node.additional.is_set() {
                self.value(schema, value, &path.child(key));
            }
        }
    }

    fn record(&mut self, path: &Path<'_>) {
        self.unknown.record(|| path.joined());
    }
}
