//! What holds for every schema and every object.

#![allow(clippy::unwrap_used, reason = "a test fails that way")]

use proptest::prelude::*;
use structural_schema::{Map, Schema, ValidateOptions, Value, json, yaml};

const FIELDS: [&str; 4] = ["a", "b", "c", "status"];

fn object_of(fields: Vec<(&str, Value)>) -> Value {
    Value::from(fields.into_iter().collect::<Map>())
}

/// Schemas of the constructs that change an object or judge it. Defaults are valid, as a CRD's must be.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(object_of(vec![
            ("type", "string".into()),
            ("pattern", "^[a-z]*$".into())
        ])),
        Just(object_of(vec![
            ("type", "string".into()),
            ("maxLength", Value::Int(3)),
            ("default", "x".into())
        ])),
        (any::<bool>(), 0_i64..5).prop_map(|(has_default, minimum)| {
            let mut fields = vec![("type", "integer".into()), ("minimum", Value::Int(minimum))];
            if has_default {
                fields.push(("default", Value::Int(minimum)));
            }
            object_of(fields)
        }),
        Just(object_of(vec![
            ("type", "number".into()),
            ("multipleOf", Value::Float(0.5))
        ])),
        any::<bool>()
            .prop_map(|nullable| { object_of(vec![("type", "boolean".into()), ("nullable", Value::Bool(nullable))]) }),
        Just(object_of(vec![("x-kubernetes-int-or-string", Value::Bool(true))])),
        Just(object_of(vec![
            ("type", "object".into()),
            ("x-kubernetes-preserve-unknown-fields", Value::Bool(true))
        ])),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        let properties = prop::collection::vec((prop::sample::select(&FIELDS[..3]), inner.clone()), 0..3);
        prop_oneof![
            (properties, any::<bool>()).prop_map(|(properties, has_default)| {
                let required: Vec<_> = properties.iter().take(1).map(|(name, _)| Value::from(*name)).collect();
                let mut fields = vec![("type", "object".into()), ("properties", object_of(properties))];
                if has_default {
                    fields.push(("default", object_of(Vec::new())));
                } else {
                    fields.push(("required", required.into()));
                }
                object_of(fields)
            }),
            inner.clone().prop_map(|items| {
                object_of(vec![
                    ("type", "array".into()),
                    ("items", items),
                    ("maxItems", Value::Int(2)),
                ])
            }),
            inner.prop_map(|values| object_of(vec![("type", "object".into()), ("additionalProperties", values)])),
        ]
    })
}

fn root_schema() -> impl Strategy<Value = Value> {
    prop::collection::vec((prop::sample::select(&FIELDS[..]), schema()), 0..4)
        .prop_map(|properties| object_of(vec![("type", "object".into()), ("properties", object_of(properties))]))
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-3_i64..8).prop_map(Value::Int),
        (-3_i32..8).prop_map(|quarters| Value::Float(f64::from(quarters) / 4.0)),
        "[a-zA-Z]{0,5}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            object(inner).prop_map(Value::from),
        ]
    })
}

fn object(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Map> {
    prop::collection::vec(
        (prop::sample::select(&["a", "b", "c", "d", "status"][..]), values),
        0..5,
    )
    .prop_map(|fields| fields.into_iter().collect())
}

/// An object with its fields written in the opposite order.
fn reversed(object: &Map) -> Map {
    let fields: Vec<_> = object
        .iter()
        .map(|(key, value)| (Box::from(key), value.clone()))
        .collect();
    Map::from_fields(fields.into_iter().rev().collect())
}

fn reversed_deeply(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let fields = map.iter().map(|(key, value)| (key, reversed_deeply(value)));
            reversed(&fields.collect()).into()
        }
        Value::Array(items) => items.iter().map(reversed_deeply).collect::<Vec<_>>().into(),
        leaf => leaf.clone(),
    }
}

/// Everything that a schema makes of an object, or why it is none: the problems, or the unknown fields, the object with
/// its defaults and the errors.
fn treated(document: &Value, object: &Map) -> Result<(Vec<String>, String, Vec<String>), Vec<String>> {
    let texts = |problems: Vec<_>| {
        problems
            .iter()
            .map(structural_schema::Problem::to_string)
            .collect::<Vec<_>>()
    };
    let schema = Schema::compile(document).map_err(texts)?;
    let mut object = object.clone();
    let unknown = schema.prune(&mut object);
    schema.apply_defaults(&mut object).unwrap();
    let errors = messages(&schema, &object);
    let mut text = Vec::new();
    json::encode(&object.into(), &mut text);
    Ok((unknown, String::from_utf8(text).unwrap(), errors))
}

fn messages(schema: &Schema, object: &Map) -> Vec<String> {
    let errors = schema.validate(object, ValidateOptions::default());
    errors.iter().map(ToString::to_string).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_document_compiles_or_names_its_problems(document in value()) {
        match Schema::compile(&document) {
            Ok(schema) => prop_assert_eq!(schema.document(), &document),
            Err(problems) => {
                prop_assert!(!problems.is_empty());
                prop_assert!(problems.iter().all(|problem| !problem.to_string().is_empty()));
            }
        }
    }

    #[test]
    fn a_schema_keeps_its_document(document in root_schema()) {
        if let Ok(schema) = Schema::compile(&document) {
            prop_assert_eq!(schema.document(), &document);
        }
    }

    #[test]
    fn a_schema_round_trips(document in root_schema(), object in object(value())) {
        let (mut as_json, mut as_yaml) = (Vec::new(), Vec::new());
        json::encode(&document, &mut as_json);
        yaml::encode(&document, &mut as_yaml).unwrap();
        let expected = treated(&document, &object);
        prop_assert_eq!(&treated(&json::decode(&as_json).unwrap().value, &object), &expected);
        prop_assert_eq!(&treated(&yaml::decode(&as_yaml).unwrap().value, &object), &expected);
        // What a compiled schema gives back is the schema.
        if let Ok(schema) = Schema::compile(&document) {
            prop_assert_eq!(&treated(schema.document(), &object), &expected);
        }
    }

    #[test]
    fn the_order_of_a_schemas_fields_does_not_matter(document in root_schema(), object in object(value())) {
        prop_assert_eq!(treated(&reversed_deeply(&document), &object), treated(&document, &object));
    }

    #[test]
    fn any_object_can_be_validated(document in root_schema(), object in object(value())) {
        if let Ok(schema) = Schema::compile(&document) {
            let messages = messages(&schema, &object);
            prop_assert!(messages.iter().all(|message| !message.is_empty()));
        }
    }

    #[test]
    fn pruning_and_defaulting_are_idempotent(document in root_schema(), mut object in object(value())) {
        if let Ok(schema) = Schema::compile(&document) {
            schema.prune(&mut object);
            let pruned = object.clone();
            prop_assert_eq!(schema.prune(&mut object), Vec::<String>::new());
            prop_assert_eq!(&object, &pruned);
            schema.apply_defaults(&mut object).unwrap();
            let defaulted = object.clone();
            schema.apply_defaults(&mut object).unwrap();
            prop_assert_eq!(&object, &defaulted);
            prop_assert_eq!(schema.prune(&mut object), Vec::<String>::new());
        }
    }

    #[test]
    fn a_valid_object_changes_only_by_defaults(document in root_schema(), object in object(value())) {
        if let Ok(schema) = Schema::compile(&document) {
            let mut pruned = object;
            schema.prune(&mut pruned);
            let mut defaulted = pruned.clone();
            schema.apply_defaults(&mut defaulted).unwrap();
            if messages(&schema, &pruned).is_empty() {
                // What was there is there, whatever has been added.
                prop_assert!(contains(&Value::from(defaulted), &Value::from(pruned)));
            }
        }
    }

    #[test]
    fn the_order_of_errors_does_not_depend_on_the_order_of_fields(
        document in root_schema(),
        object in object(value()),
    ) {
        if let Ok(schema) = Schema::compile(&document) {
            prop_assert_eq!(messages(&schema, &object), messages(&schema, &reversed(&object)));
        }
    }
}

/// Whether `part` is `whole` without some of its fields.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part
            .iter()
            .all(|(key, part)| whole.get(key).is_some_and(|whole| contains(whole, part))),
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part.iter()).all(|(whole, part)| contains(whole, part))
        }
        _ => whole == part,
    }
}
