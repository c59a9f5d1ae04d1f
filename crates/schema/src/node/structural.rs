//! What Kubernetes asks of a schema before it serves it: `ValidateStructural` and
//! `ValidateCustomResourceDefinitionOpenAPISchema` of the apiextensions API server.
//!
//! Rules that an API server waives for definitions that it already has (`nullable` items of keyed lists, types of set
//! items, required list map keys) are not asked here: such schemas are in use.

use super::reader::Reader;
use super::{Node, Type, Types};
use crate::value::{Map, Value};

/// Where in the tree a schema stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    Root,
    Item,
    Field,
    /// Below `allOf`, `anyOf`, `oneOf` or `not`.
    Nested,
    /// One of the two alternatives by which `x-kubernetes-int-or-string` may be spelt out.
    IntOrStringAlternative,
}

/// Checks the keywords that no schema may have.
pub(super) fn check_unsupported(reader: &Reader<'_>) {
    for keyword in ["id", "$schema"] {
        if reader.is_set(keyword) {
            reader.refuse(keyword, format!("{keyword} is not supported"));
        }
    }
    for keyword in ["additionalItems", "dependencies", "$ref"] {
        if reader.has(keyword) {
            reader.refuse(keyword, format!("{keyword} is not supported"));
        }
    }
    for keyword in ["patternProperties", "definitions"] {
        let empty = Map::new();
        let schemas = reader.schema(keyword).unwrap_or(&empty);
        if !schemas.is_empty() {
            reader.refuse(keyword, format!("{keyword} is not supported"));
        }
    }
    if reader
        .fields
        .get("items")
        .is_some_and(|items| items.as_array().is_some())
    {
        reader.refuse("items", "items must be a schema object and not an array");
    }
    if reader.flag("uniqueItems") {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        reader.refuse("uniqueItems", detail);
    }
    if reader.fields.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        reader.refuse("x-kubernetes-preserve-unknown-fields", "must be true or undefined");
    }
}

/// Checks a schema that is part of the structure.
pub(super) fn check_structure(reader: &Reader<'_>, position: Position, node: &Node) {
    check_type(reader, position, node);
    let has_additional = node.additional.is_set();
    if position == Position::Root {
        if has_additional {
            reader.refuse("additionalProperties", "must not be used at the root");
        }
        if node.nullable {
            reader.refuse("nullable", "nullable cannot be true at the root");
        }
    }
    if has_additional && !node.properties.is_empty() && !matches!(node.additional, super::Additional::Any) {
        let detail = "additionalProperties and properties are mutual exclusive";
        reader.refuse("additionalProperties", detail);
    }
    if node.embedded_resource && has_additional {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        reader.refuse("additionalProperties", detail);
    }
    if node.types == Types::IntOrString {
        for (keyword, set) in [
            ("x-kubernetes-preserve-unknown-fields", node.preserve_unknown_fields),
            ("x-kubernetes-embedded-resource", node.embedded_resource),
        ] {
            if set {
                reader.refuse(keyword, "must be false if x-kubernetes-int-or-string is true");
            }
        }
    }
    if node.embedded_resource && !node.preserve_unknown_fields && node.properties.is_empty() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        reader.refuse("properties", detail);
    }
    check_meta_properties(reader, position, node);
    check_list_and_map_type(reader, node);
}

fn check_type(reader: &Reader<'_>, position: Position, node: &Node) {
    let t = match node.types {
        Types::One(t) => Some(t),
        Types::Any | Types::IntOrString => None,
    };
    if t == Some(Type::Array) && node.items.is_none() {
        reader.refuse("items", "must be specified");
    }
    if node.embedded_resource && t != Some(Type::Object) {
        reader.refuse("type", "must be object if x-kubernetes-embedded-resource is true");
    } else if node.types == Types::Any && !node.preserve_unknown_fields && !reader.is_set("type") {
        let detail = match position {
            Position::Root => "must not be empty at the root",
            Position::Item => "must not be empty for specified array items",
            _ => "must not be empty for specified object fields",
        };
        reader.refuse("type", detail);
    }
    if position == Position::Root && t.is_some_and(|t| t != Type::Object) {
        reader.refuse("type", "must be object at the root");
    }
}

/// `apiVersion`, `kind` and `metadata` of a resource are Kubernetes' own.
fn check_meta_properties(reader: &Reader<'_>, position: Position, node: &Node) {
    if position != Position::Root && !node.embedded_resource {
        return;
    }
    for (name, expected) in [
        ("apiVersion", Type::String),
        ("kind", Type::String),
        ("metadata", Type::Object),
    ] {
        if node
            .property(name)
            .is_some_and(|property| property.types != Types::One(expected))
        {
            reader.refuse("properties", format!("the type of {name} must be {}", expected.name()));
        }
    }
    let metadata = reader
        .schema("properties")
        .and_then(|properties| properties.get("metadata"));
    if position == Position::Root && metadata.and_then(Value::as_object).is_some_and(restricts_metadata) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        reader.refuse("properties", detail);
    }
}

/// Whether the schema of an object's metadata says more than its type and the schemas of the two names.
fn restricts_metadata(schema: &Map) -> bool {
    schema.iter().any(|(keyword, value)| match (keyword, value) {
        (_, Value::Null | Value::Bool(false)) | ("type" | "default", _) => false,
        ("properties", Value::Object(properties)) => {
            properties.keys().any(|name| !matches!(name, "name" | "generateName"))
        }
        (_, Value::String(s)) => !s.is_empty(),
        (_, Value::Array(items)) => !items.is_empty(),
        (keyword, _) => KNOWN_KEYWORDS.contains(&keyword),
    })
}

/// Keywords, other than those with string and list values, that restrict something.
const KNOWN_KEYWORDS: [&str; 18] = [
    "additionalProperties",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
];

fn check_list_and_map_type(reader: &Reader<'_>, node: &Node) {
    let map_type = reader.string("x-kubernetes-map-type");
    if map_type.is_some() && node.types != Types::One(Type::Object) {
        reader.refuse("type", "must be object if x-kubernetes-map-type is specified");
    }
    if map_type.is_some_and(|t| !matches!(t, "atomic" | "granular")) {
        reader.refuse("x-kubernetes-map-type", "must be atomic or granular");
    }
    let list_type = reader.string("x-kubernetes-list-type");
    if list_type.is_some() && node.types != Types::One(Type::Array) {
        reader.refuse("type", "must be array if x-kubernetes-list-type is specified");
    }
    if list_type.is_some_and(|t| !matches!(t, "atomic" | "set" | "map")) {
        reader.refuse("x-kubernetes-list-type", "must be atomic, set or map");
    }
    let keys = reader.strings("x-kubernetes-list-map-keys");
    if !keys.is_empty() && list_type != Some("map") {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        reader.refuse("x-kubernetes-list-type", detail);
    }
    if list_type == Some("map") {
        check_list_map(reader, node, &keys);
    }
}

fn check_list_map(reader: &Reader<'_>, node: &Node, keys: &[Box<str>]) {
    const KEYS: &str = "x-kubernetes-list-map-keys";
    if keys.is_empty() {
        reader.refuse(KEYS, "must not be empty if x-kubernetes-list-type is map");
    }
    let Some(items) = &node.items else { return };
    if items.types != Types::One(Type::Object) {
        reader.refuse(
            "items",
            "must be object if parent array's x-kubernetes-list-type is map",
        );
        return;
    }
    for (i, key) in keys.iter().enumerate() {
        match items.property(key).map(|property| property.types) {
            None => reader.refuse(KEYS, "entries must all be names of item properties"),
            Some(Types::One(Type::Array | Type::Object)) => {
                reader.refuse(
                    KEYS,
                    "must be a scalar type if parent array's x-kubernetes-list-type is map",
                );
            }
            Some(_) => {}
        }
        if keys[..i].contains(key) {
            reader.refuse(KEYS, "must not contain duplicate entries");
        }
    }
}

/// Checks a schema below a logical keyword, which may say nothing about structure.
pub(super) fn check_nested(reader: &Reader<'_>) {
    for keyword in [
        "type",
        "title",
        "description",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-validations",
    ] {
        let empty = reader
            .fields
            .get(keyword)
            .and_then(Value::as_array)
            .is_some_and(|list| list.is_empty());
        if reader.is_set(keyword) && !empty {
            reader.refuse(keyword, "must be empty to be structural");
        }
    }
    for keyword in [
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ] {
        if reader.is_set(keyword) {
            reader.refuse(keyword, "must be false to be structural");
        }
    }
    for keyword in ["default", "x-kubernetes-list-type", "x-kubernetes-map-type"] {
        if reader.has(keyword) {
            reader.refuse(keyword, "must be undefined to be structural");
        }
    }
    if reader.is_set("additionalProperties") {
        reader.refuse("additionalProperties", "must be undefined to be structural");
    }
    if reader
        .schema("properties")
        .is_some_and(|properties| properties.contains_key("metadata"))
    {
        reader.refuse("properties", "metadata must not be specified in a nested context");
    }
}

/// Whether `anyOf` is the list of the two types, which is allowed although types are not.
pub(super) fn is_int_or_string(any_of: &[&Map]) -> bool {
    let only_type = |schema: &Map, name: &str| {
        schema.iter().all(|(keyword, value)| match value {
            Value::Null | Value::Bool(false) => true,
            Value::String(s) => s.is_empty() || (keyword == "type" && **s == *name),
            _ => false,
        }) && schema.get("type").and_then(Value::as_str) == Some(name)
    };
    matches!(any_of, [first, second] if only_type(first, "integer") && only_type(second, "string"))
}
