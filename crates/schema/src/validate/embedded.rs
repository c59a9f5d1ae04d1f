//! `x-kubernetes-embedded-resource`: `apiVersion`, `kind` and `metadata` of resources within resources
//! (`k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta`).

use crate::field::{Error, Errors, Path};
use crate::meta;
use crate::node::Node;
use crate::value::{Map, Value, deeper};

/// Validates the type and object metadata of all embedded resources.
pub(crate) fn validate_embedded(node: &Node, map: &Map, path: &Path<'_>, errors: &mut Errors) {
    if !node.within.embedded_resources {
        return;
    }
    deeper(|| {
        if node.embedded_resource {
            validate_resource(map, path, errors);
        }
        for (name, value) in map.iter() {
            match node.property(name) {
                Some(schema) => visit(schema, value, &path.child(name), errors),
                None => {
                    if let Some(schema) = node.additional.schema() {
                        visit(schema, value, &path.key(name), errors);
                    }
                }
            }
        }
    });
}

fn visit(node: &Node, value: &Value, path: &Path<'_>, errors: &mut Errors) {
    match (value, &node.items) {
        (Value::Object(map), _) => validate_embedded(node, map, path, errors),
        (Value::Array(items), Some(schema)) if node.within.embedded_resources => deeper(|| {
            for (i, item) in items.iter().enumerate() {
                visit(schema, item, &path.index(i), errors);
            }
        }),
        _ => {}
    }
}

fn validate_resource(map: &Map, path: &Path<'_>, errors: &mut Errors) {
    let api_version_path = path.child("apiVersion");
    let kind_path = path.child("kind");
    if !map.contains_key("apiVersion") {
        errors.push(Error::required(&api_version_path, ""));
    }
    if !map.contains_key("kind") {
        errors.push(Error::required(&kind_path, ""));
    }
    if let Some(value) = map.get("apiVersion") {
        validate_api_version(value, &api_version_path, errors);
    }
    if let Some(value) = map.get("kind") {
        validate_kind(value, &kind_path, errors);
    }
    if let Some(value) = map.get("metadata") {
        let path = path.child("metadata");
        match value.as_object() {
            Some(metadata) => meta::validate_embedded(metadata, &path, errors),
            None if value.is_null() => {}
            None => errors.push(Error::invalid(&path, value.clone(), "must be an object")),
        }
    }
}

fn validate_api_version(value: &Value, path: &Path<'_>, errors: &mut Errors) {
    match value.as_str() {
        None => errors.push(Error::invalid(path, value.clone(), "must be a string")),
        Some("") => errors.push(Error::invalid(path, "", "must not be empty")),
        Some(s) if s != "/" && s.matches('/').count() > 1 => {
            errors.push(Error::invalid(path, s, format!("unexpected GroupVersion string: {s}")));
        }
        Some(_) => {}
    }
}

fn validate_kind(value: &Value, path: &Path<'_>, errors: &mut Errors) {
    match value.as_str() {
        None => errors.push(Error::invalid(path, value.clone(), "must be a string")),
        Some("") => errors.push(Error::invalid(path, "", "must not be empty")),
        Some(kind) => {
            let faults = meta::dns1035_label_faults(&kind.to_lowercase());
            if !faults.is_empty() {
                let detail = format!("may have mixed case, but should otherwise match: {}", faults.join(","));
                errors.push(Error::invalid(path, kind, detail));
            }
        }
    }
}
