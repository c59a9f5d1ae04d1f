//! The schema of a version as OpenAPI tells it: `controller/openapi/builder` of apiextensions-apiserver.

use structural_schema::{List, Map, Value};

use super::{Dialect, meta};
use crate::discovery::{Group, Resource};

/// Levels of a schema that are published; below, anything goes. What clients do with a schema recurses.
const MAX_DEPTH: usize = 64;

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// The types that OpenAPI knows.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// A keyword, and what its value must be.
struct Keyword(&'static str, fn(&Value) -> bool);

/// Keywords that are told as they are, if their value is of the right type. Everything else is left out.
const PLAIN: [Keyword; 25] = [
    Keyword("description", is_text),
    Keyword("title", is_text),
    Keyword("format", is_text),
    Keyword("pattern", is_text),
    Keyword("default", is_anything),
    Keyword("example", is_anything),
    Keyword("externalDocs", is_object),
    Keyword("enum", is_array),
    Keyword("required", is_array),
    Keyword("maximum", is_number),
    Keyword("minimum", is_number),
    Keyword("multipleOf", is_number),
    Keyword("exclusiveMaximum", is_true),
    Keyword("exclusiveMinimum", is_true),
    Keyword("uniqueItems", is_true),
    Keyword("maxLength", is_integer),
    Keyword("minLength", is_integer),
    Keyword("maxItems", is_integer),
    Keyword("minItems", is_integer),
    Keyword("maxProperties", is_integer),
    Keyword("minProperties", is_integer),
    Keyword("x-kubernetes-list-map-keys", is_array),
    Keyword("x-kubernetes-list-type", is_text),
    Keyword("x-kubernetes-map-type", is_text),
    Keyword("x-kubernetes-validations", is_array),
];

/// The name of a kind among definitions: `gvkToModelName`.
pub(super) fn model_name(group: &str, version: &str, kind: &str) -> String {
    let mut parts: Vec<&str> = group.split('.').collect();
    parts.reverse();
    format!("{}.{version}.{kind}", parts.join("."))
}

/// The group, version and kind of a resource, as the extension has them.
pub(super) fn group_version_kind(group: &Group, resource: &Resource) -> Map {
    let kind = &resource.schema.names.kind;
    [
        ("group", &*group.name),
        ("version", &*resource.version.name),
        ("kind", &**kind),
    ]
    .into_iter()
    .collect()
}

/// The definition of a kind: its schema with what every object has.
pub(super) fn definition(group: &Group, resource: &Resource, dialect: Dialect) -> Value {
    let document = &resource.version.document;
    let mut definition = if dialect == Dialect::V2 && document.get(PRESERVE).is_some_and(is_true) {
        // Any property would make clients refuse the unknown ones.
        [("type", "object")].into_iter().collect()
    } else {
        let mut definition = publish(document, dialect, 0);
        object_properties(&mut definition, dialect);
        if dialect == Dialect::V2 {
            not_required(&mut definition, "status");
        }
        definition
    };
    let kinds = vec![group_version_kind(group, resource).into()];
    definition.insert("x-kubernetes-group-version-kind", kinds);
    definition.into()
}

/// Adds what Kubernetes itself knows about an object.
fn object_properties(schema: &mut Map, dialect: Dialect) {
    let mut properties = match schema.remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    let text = |description: &str| -> Map { [("type", "string"), ("description", description)].into_iter().collect() };
    properties.insert("apiVersion", text("The API group and version of this object."));
    properties.insert("kind", text("The kind of this object."));
    properties.insert(
        "metadata",
        meta::reference(meta::OBJECT_META, "Name, namespace, labels and the like.", dialect),
    );
    schema.insert("properties", properties);
}

/// One level of a schema and, to a depth, what is below it.
fn publish(schema: &Value, dialect: Dialect, depth: usize) -> Map {
    let Some(schema) = schema.as_object() else {
        return Map::new();
    };
    if depth > MAX_DEPTH {
        return [(PRESERVE, true)].into_iter().collect();
    }
    let mut out: Map = PLAIN
        .iter()
        .filter_map(|Keyword(key, is_valid)| {
            schema
                .get(key)
                .filter(|value| is_valid(value))
                .map(|value| (*key, value.clone()))
        })
        .collect();
    for flag in [PRESERVE, EMBEDDED, INT_OR_STRING] {
        if flag_of(schema, flag) {
            out.insert(flag, true);
        }
    }
    if let Some(of_type) = schema
        .get("type")
        .filter(|of_type| of_type.as_str().is_some_and(|t| TYPES.contains(&t)))
    {
        out.insert("type", of_type.clone());
    }
    children(schema, &mut out, dialect, depth);
    match dialect {
        Dialect::V2 => restrict(schema, &mut out),
        Dialect::V3 => extend(schema, &mut out, depth),
    }
    if flag_of(schema, EMBEDDED) && !(dialect == Dialect::V2 && flag_of(schema, PRESERVE)) {
        object_properties(&mut out, dialect);
        require(&mut out, ["kind", "apiVersion"]);
    }
    out
}

fn children(schema: &Map, out: &mut Map, dialect: Dialect, depth: usize) {
    let below = |schema: &Value| Value::from(publish(schema, dialect, depth + 1));
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let properties: Map = properties.iter().map(|(name, schema)| (name, below(schema))).collect();
        out.insert("properties", properties);
    }
    if let Some(items) = schema.get("items").filter(|items| is_object(items)) {
        out.insert("items", below(items));
    }
    match schema.get("additionalProperties") {
        Some(Value::Bool(allowed)) => _ = out.insert("additionalProperties", *allowed),
        Some(values @ Value::Object(_)) => _ = out.insert("additionalProperties", below(values)),
        _ => {}
    }
}

/// What OpenAPI v3 has and v2 has not.
fn extend(schema: &Map, out: &mut Map, depth: usize) {
    let below = |schema: &Value| Value::from(publish(schema, Dialect::V3, depth + 1));
    for junctor in ["allOf", "anyOf", "oneOf"] {
        if let Some(schemas) = schema
            .get(junctor)
            .and_then(Value::as_array)
            .filter(|schemas| !schemas.is_empty())
        {
            out.insert(junctor, schemas.iter().map(below).collect::<Vec<_>>());
        }
    }
    if let Some(not) = schema.get("not").filter(|not| is_object(not)) {
        out.insert("not", below(not));
    }
    if flag_of(schema, "nullable") {
        out.insert("nullable", true);
    }
    if flag_of(schema, INT_OR_STRING) && !names_both_types(schema) {
        unfold(out);
    }
}

/// `Unfold`: tells in OpenAPI's own words what `x-kubernetes-int-or-string` means.
fn unfold(out: &mut Map) {
    let of_type = |name: &str| -> Value { [("type", name)].into_iter().collect::<Map>().into() };
    let either = Value::from(vec![of_type("integer"), of_type("string")]);
    if !out.contains_key("anyOf") {
        out.insert("anyOf", either);
        return;
    }
    let first: Map = [("anyOf", either)].into_iter().collect();
    let rest = match out.remove("allOf") {
        Some(Value::Array(rest)) => rest.into_vec(),
        _ => Vec::new(),
    };
    out.insert(
        "allOf",
        std::iter::once(first.into()).chain(rest).collect::<Vec<Value>>(),
    );
}

/// Whether a schema says itself that a value is an integer or a string, in one of the forms that Kubernetes allows.
fn names_both_types(schema: &Map) -> bool {
    let is_pair = |schemas: Option<&Value>| {
        schemas.and_then(Value::as_array).is_some_and(|schemas| {
            let types: Vec<_> = schemas
                .iter()
                .map(|schema| schema.get("type").and_then(Value::as_str))
                .collect();
            types == [Some("integer"), Some("string")]
        })
    };
    let first = schema
        .get("allOf")
        .and_then(Value::as_array)
        .and_then(|schemas| schemas.first());
    is_pair(schema.get("anyOf")) || is_pair(first.and_then(|first| first.get("anyOf")))
}

/// `ToStructuralOpenAPIV2`: leaves out what OpenAPI v2, or kubectl, cannot cope with.
fn restrict(schema: &Map, out: &mut Map) {
    let (nullable, preserve) = (flag_of(schema, "nullable"), flag_of(schema, PRESERVE));
    if nullable || preserve {
        out.remove("items");
        out.remove("properties");
    }
    let of_type = out.get("type").and_then(Value::as_str);
    let untyped =
        nullable || (of_type == Some("array") && !out.contains_key("items")) || (of_type == Some("object") && preserve);
    if untyped {
        out.remove("type");
    }

    // kubectl looks for required fields here before it asks, and knows of no defaults. At a custom resource it does not
    // look, since that can be patched.
    let has_default = |schema: &Value| schema.get("default").is_some_and(is_anything);
    let is_nullable = |schema: &Value| schema.as_object().is_some_and(|schema| flag_of(schema, "nullable"));
    if schema.get("additionalProperties").is_some_and(is_nullable) {
        out.remove("required");
    } else if out.contains_key("properties")
        && let Some(properties) = schema.get("properties")
        && let Some(Value::Array(required)) = out.remove("required")
    {
        let optional = |name: &Value| {
            let property = name.as_str().and_then(|name| properties.get(name));
            property.is_some_and(|property| is_nullable(property) || has_default(property))
        };
        let required: Vec<_> = required.into_vec().into_iter().filter(|name| !optional(name)).collect();
        if !required.is_empty() {
            out.insert("required", required);
        }
    }
}

/// Takes a name from what is required: the webhook's to give, not the consumer's.
fn not_required(schema: &mut Map, name: &str) {
    if let Some(Value::Array(required)) = schema.remove("required") {
        let mut required = required.into_vec();
        required.retain(|known| known.as_str() != Some(name));
        if !required.is_empty() {
            schema.insert("required", required);
        }
    }
}

/// Adds names to what is required, where they are not.
fn require(schema: &mut Map, names: [&str; 2]) {
    let mut required = match schema.remove("required") {
        Some(Value::Array(required)) => required.into_vec(),
        _ => Vec::new(),
    };
    for name in names {
        if !required.iter().any(|known| known.as_str() == Some(name)) {
            required.push(name.into());
        }
    }
    schema.insert("required", Value::Array(List::from(required)));
}

fn flag_of(schema: &Map, name: &str) -> bool {
    schema.get(name).is_some_and(is_true)
}

fn is_true(value: &Value) -> bool {
    value.as_bool() == Some(true)
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty())
}

fn is_integer(value: &Value) -> bool {
    value.as_int().is_some()
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Float(_))
}

fn is_array(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty())
}

fn is_object(value: &Value) -> bool {
    value.as_object().is_some()
}

fn is_anything(value: &Value) -> bool {
    !value.is_null()
}
