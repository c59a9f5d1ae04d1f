//! The definitions of Kubernetes' own types that a custom resource refers to.

use structural_schema::{Map, Value, json};

use super::Dialect;

/// The type of `metadata`.
pub(super) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// How definitions are referred to in OpenAPI v2.
const V2_PREFIX: &str = "#/definitions/";

/// `ObjectMeta` and what it refers to.
pub(super) fn definitions(dialect: Dialect) -> Map {
    let decoded = json::decode(include_bytes!("meta.json")).expect("the definitions are JSON");
    let Value::Object(mut definitions) = decoded.value else {
        return Map::new();
    };
    if dialect == Dialect::V3 {
        for (_, definition) in definitions.iter_mut() {
            translate(definition);
        }
    }
    definitions
}

/// A reference with a description.
pub(super) fn reference(name: &str, description: &str, dialect: Dialect) -> Map {
    let mut reference = Map::new();
    reference.insert("$ref", format!("{V2_PREFIX}{name}"));
    reference.insert("description", description);
    let mut reference = reference.into();
    if dialect == Dialect::V3 {
        translate(&mut reference);
    }
    match reference {
        Value::Object(reference) => reference,
        _ => Map::new(),
    }
}

/// Turns the references in a definition of v2 into those of v3, which stand alone: with a description they are wrapped.
fn translate(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    if let Some(Value::String(reference)) = schema.remove("$ref") {
        let name = reference.strip_prefix(V2_PREFIX).unwrap_or(&reference);
        let target: Map = [("$ref", super::reference(name, Dialect::V3))].into_iter().collect();
        if schema.is_empty() {
            *schema = target;
        } else {
            schema.insert("allOf", vec![Value::from(target)]);
        }
    }
    for (_, below) in schema.iter_mut() {
        translate(below);
    }
}
