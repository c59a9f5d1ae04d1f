//! Schemas and objects made to hurt: each ends soon, in bounded memory, without a panic.

#![allow(clippy::unwrap_used, reason = "a test fails that way")]

use std::time::{Duration, Instant};

use structural_schema::meta::{self, MetaOptions, Scope};
use structural_schema::{Map, Reason, Schema, ValidateOptions, Value, json};

/// Far more than any of these takes unoptimised on a slow machine, far less than the quadratic work takes.
const SOON: Duration = Duration::from_secs(30);

fn parse(text: &str) -> Value {
    json::decode(text.as_bytes()).unwrap().value
}

fn compile(text: &str) -> Schema {
    Schema::compile(&parse(text)).unwrap()
}

fn object(spec: Value) -> Map {
    [("spec", spec)].into_iter().collect()
}

/// A schema whose `spec` is this.
fn with_spec(spec: &str) -> Schema {
    compile(&format!(r#"{{"type": "object", "properties": {{"spec": {spec}}}}}"#))
}

fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(512 * 1024);
    thread.spawn(run).unwrap().join().unwrap();
}

#[test]
fn a_deep_object_is_pruned_defaulted_and_validated() {
    on_a_small_stack(|| {
        let mut deep = Value::Null;
        for level in 0..9_990 {
            deep = if level % 2 == 0 {
                vec![deep].into()
            } else {
                [("a", deep)].into_iter().collect::<Map>().into()
            };
        }
        for spec in [
            r#"{"x-kubernetes-preserve-unknown-fields": true, "enum": ["x"]}"#,
            r#"{"type": "array", "x-kubernetes-list-type": "set", "items": {"x-kubernetes-preserve-unknown-fields": true}}"#,
            r#"{"type": "string"}"#,
            r#"{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-embedded-resource": true}"#,
        ] {
            let schema = with_spec(spec);
            let mut object = object(vec![deep.clone(), deep.clone()].into());
            schema.coerce(&mut object).unwrap();
            schema.apply_defaults(&mut object).unwrap();
            let errors = schema.validate(&object, ValidateOptions::default());
            assert!(errors.iter().all(|error| !error.to_string().is_empty()));
            assert!(!errors.is_empty(), "{spec}");
        }
    });
}

#[test]
fn a_deep_schema_is_refused_by_name_and_one_within_the_limit_works() {
    on_a_small_stack(|| {
        let nested = |levels: usize| {
            let mut schema = parse(r#"{"type": "string", "default": "x"}"#);
            for _ in 0..levels {
                let properties: Map = [("a", schema)].into_iter().collect();
                schema = Value::Object(
                    [("type", Value::from("object")), ("properties", properties.into())]
                        .into_iter()
                        .collect(),
                );
            }
            schema
        };
        let problems = Schema::compile(&nested(4_000)).unwrap_err();
        assert!(matches!(problems[0].reason, Reason::TooLarge { .. }), "{}", problems[0]);
        let schema = Schema::compile(&nested(900)).unwrap();
        let mut object: Map = [("a", Map::new())].into_iter().collect();
        schema.apply_defaults(&mut object).unwrap();
        assert!(schema.validate(&object, ValidateOptions::default()).is_empty());
    });
}

#[test]
fn a_pattern_that_blows_up_is_refused_by_name() {
    let start = Instant::now();
    for pattern in [
        "^(?:(?:(?:[a-z]{0,300}){0,300}){0,300}){0,300}$",
        "(?:(?:){99999}){99999}",
        r"^(a)\\1$",
        "([a-z",
        "^(?!x).*$",
    ] {
        let document = parse(&format!(
            r#"{{"type": "object", "properties": {{"spec": {{"type": "string", "pattern": "{pattern}"}}}}}}"#
        ));
        let problems = Schema::compile(&document).unwrap_err();
        assert_eq!(problems[0].path, "openAPIV3Schema.properties[spec].pattern");
        assert!(matches!(problems[0].reason, Reason::Pattern(_)));
    }
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

#[test]
fn long_lists_are_compared_in_linear_time() {
    let start = Instant::now();
    let items = |item: fn(i64) -> Value| Value::from((0..100_000).map(item).collect::<Vec<_>>());
    let set = with_spec(r#"{"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}}"#);
    assert!(
        set.validate(&object(items(Value::Int)), ValidateOptions::default())
            .is_empty()
    );
    let map = with_spec(
        r#"{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"], "items":
            {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}}"#,
    );
    let keyed = items(|i| Value::Object([("a", Value::Int(i)), ("b", Value::Int(0))].into_iter().collect()));
    assert!(map.validate(&object(keyed), ValidateOptions::default()).is_empty());
    assert!(start.elapsed() < SOON);
}

#[test]
fn errors_of_a_small_object_do_not_fill_the_memory() {
    let start = Instant::now();
    let required: Vec<_> = (0..1_000).map(|i| format!("\"required-field-{i}\"")).collect();
    let schema = with_spec(&format!(
        r#"{{"type": "array", "items": {{"type": "object", "required": [{}]}}}}"#,
        required.join(",")
    ));
    let items: Vec<_> = (0..100_000).map(|_| Value::Object(Map::new())).collect();
    let errors = schema.validate(&object(items.into()), ValidateOptions::default());
    assert!(!errors.is_empty() && errors.len() < 200_000, "{}", errors.len());
    assert!(start.elapsed() < SOON);
}

#[test]
fn a_large_value_that_breaks_many_alternatives_is_not_copied_for_each() {
    let alternatives: Vec<_> = (0..1_000).map(|i| format!(r#"{{"enum": ["{i}"]}}"#)).collect();
    let schema = with_spec(&format!(
        r#"{{"type": "string", "allOf": [{}]}}"#,
        alternatives.join(",")
    ));
    let errors = schema.validate(&object("x".repeat(1 << 20).into()), ValidateOptions::default());
    assert!(!errors.is_empty() && errors.len() < 100, "{}", errors.len());
}

#[test]
fn defaults_do_not_multiply_without_end() {
    let schema = with_spec(&format!(
        r#"{{"type": "array", "items": {{"type": "object", "properties": {{"a": {{"type": "string", "default": "{}"}}}}}}}}"#,
        "x".repeat(100_000)
    ));
    let items: Vec<_> = (0..100_000).map(|_| Value::Object(Map::new())).collect();
    assert!(schema.apply_defaults(&mut object(items.into())).is_err());
}

#[test]
fn the_paths_of_unknown_fields_do_not_multiply_without_end() {
    let schema = with_spec(r#"{"type": "object", "additionalProperties": {"type": "object", "properties": {}}}"#);
    let unknown: Map = (0..10_000).map(|i| (format!("f{i}"), Value::Null)).collect();
    let spec: Map = [("k".repeat(1 << 20), unknown)].into_iter().collect();
    let mut object = object(spec.into());
    let paths = schema.prune(&mut object);
    assert!(paths.iter().map(String::len).sum::<usize>() < 16 << 20);
    let left = object.get("spec").and_then(|spec| spec.get(&"k".repeat(1 << 20)));
    assert_eq!(left, Some(&Value::Object(Map::new())));
}

/// Many items under a key of a megabyte, each of them wrong in a way that tells its path or what it holds.
#[test]
fn errors_below_a_long_key_are_bounded() {
    let long = "k".repeat(1 << 20);
    let embedded =
        r#"{"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"a": {"type": "string"}}}"#;
    let list = |item: &str, more: &str| {
        format!(r#"{{"type": "object", "additionalProperties": {{"type": "array", "items": {item}{more}}}}}"#)
    };
    let rule = r#"{"type": "string", "maxLength": 1, "x-kubernetes-validations": [{"rule": "self == 'y'"}]}"#;
    let set = r#", "x-kubernetes-list-type": "set""#;
    let bounded = r#", "maxItems": 20000"#;
    for (spec, item) in [
        (list(r#"{"type": "integer"}"#, ""), r#""x""#),
        (list(embedded, ""), "{}"),
        (
            list(embedded, ""),
            r#"{"apiVersion": "v1", "kind": "K", "metadata": {"labels": {"": ""}}}"#,
        ),
        (list(embedded, ""), r#"{"metadata": {"u1": 1, "u2": 2}}"#),
        (list(r#"{"type": "integer"}"#, set), "$, $"),
        (list(rule, bounded), r#""x""#),
    ] {
        let schema = with_spec(&spec);
        let items: Vec<_> = (0..20_000).map(|i| item.replace('$', &i.to_string())).collect();
        let text = format!(r#"{{"{long}": [{}]}}"#, items.join(","));
        let mut object = object(parse(&text));
        let start = Instant::now();
        schema.coerce(&mut object).unwrap();
        let errors = schema.validate(&object, ValidateOptions::default());
        let text: usize = errors.iter().map(|error| error.to_string().len()).sum();
        assert!(errors.omitted() > 0 && text < 12 << 20, "{spec}: {text} bytes");
        assert!(errors.aggregate().ends_with(" more]"), "{spec}");
        assert!(start.elapsed() < SOON, "{spec}: {:?}", start.elapsed());
    }
}

/// Each level of a list quotes all that is below it.
#[test]
fn values_that_are_quoted_at_each_level_are_bounded() {
    let mut spec = r#"{"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}"#.to_owned();
    let mut value = format!(r#"["{}"]"#, "x".repeat(1 << 20));
    for _ in 0..8 {
        spec = format!(r#"{{"type": "array", "x-kubernetes-list-type": "set", "items": {spec}}}"#);
        value = format!("[{value},[]]");
    }
    let value = format!("[{value},{value}]");
    let schema = with_spec(&format!(
        r#"{{"type": "array", "x-kubernetes-list-type": "set", "items": {spec}}}"#
    ));
    let errors = schema.validate(&object(parse(&value)), ValidateOptions::default());
    assert!(!errors.is_empty() && errors.aggregate().len() < 12 << 20);
}

/// All labels of a megabyte are none.
#[test]
fn labels_without_number_make_errors_of_bounded_size() {
    let labels: Map = (0..100_000).map(|i| (format!("-{i}"), Value::from("-"))).collect();
    let metadata: Map = [("name", Value::from("a")), ("labels", labels.into())]
        .into_iter()
        .collect();
    let errors = meta::validate(&metadata, MetaOptions::unnamed(Scope::Cluster));
    assert_eq!(errors.len() + errors.omitted(), 200_000);
    assert!(errors.aggregate().len() < 5 << 20, "{}", errors.aggregate().len());
}

/// Owner references that all want to control are quoted whole for each.
#[test]
fn controllers_without_number_are_bounded() {
    let reference = r#"{"apiVersion":"v1","kind":"K","name":"n","uid":"u","controller":true}"#;
    let references = vec![reference; 40_000].join(",");
    let metadata = parse(&format!(r#"{{"name":"a","ownerReferences":[{references}]}}"#));
    let start = Instant::now();
    let errors = meta::validate(metadata.as_object().unwrap(), MetaOptions::unnamed(Scope::Cluster));
    assert_eq!((errors.len(), errors.omitted()), (1, 39_998));
    assert!(start.elapsed() < SOON);
}

/// Many rules, or many levels, that each quote the same long value.
#[test]
fn errors_take_bounded_memory() {
    let rules: Vec<_> = (0..500)
        .map(|n| format!(r#"{{"rule": "self == 'never {n}'"}}"#))
        .collect();
    let rules = rules.join(",");
    let schema = with_spec(&format!(
        r#"{{"type": "string", "maxLength": 2000000, "x-kubernetes-validations": [{rules}]}}"#
    ));
    let errors = schema.validate(&object("x".repeat(1 << 20).into()), ValidateOptions::default());
    let told: usize = errors.iter().map(|error| error.to_string().len()).sum();
    assert!(
        !errors.is_empty() && told < 8 << 20,
        "{} errors, {told} bytes",
        errors.len()
    );

    let labels: Map = (0..100_000).map(|n| (format!("-{n}"), Value::from("a b"))).collect();
    let metadata: Map = [("name", Value::from("one")), ("labels", labels.into())]
        .into_iter()
        .collect();
    let errors = meta::validate(&metadata, MetaOptions::stored(Scope::Cluster));
    let told: usize = errors.iter().map(|error| error.to_string().len()).sum();
    assert!(
        errors.is_full() && told < 8 << 20,
        "{} errors, {told} bytes",
        errors.len()
    );
}

/// A struct of Go has all of its fields, however short it is written.
#[test]
fn lists_of_structs_in_metadata_are_bounded() {
    for (field, count, is_taken) in [
        ("ownerReferences", 1 << 16, true),
        ("ownerReferences", (1 << 16) + 1, false),
        ("managedFields", 1_000_000, false),
    ] {
        let structs = vec![Value::from(Map::new()); count];
        let metadata: Map = [(field, Value::from(structs))].into_iter().collect();
        let mut object: Map = [("metadata", metadata)].into_iter().collect();
        let coerced = meta::coerce(&mut object);
        assert_eq!(coerced.is_ok(), is_taken, "{count} {field}");
    }
}
