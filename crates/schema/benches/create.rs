//! What a create costs, for a resource of 200 fields.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use structural_schema::{Map, Schema, ValidateOptions, Value, json};

fn main() {
    divan::main();
}

/// A schema of 200 fields of all kinds, ten groups of twenty.
fn document() -> Value {
    let fields: Vec<_> = (0..20)
        .map(|i| {
            let schema = match i % 5 {
                0 => r#"{"type": "string", "maxLength": 64, "pattern": "^[a-z0-9-]+$"}"#,
                1 => r#"{"type": "integer", "minimum": 0, "maximum": 65535, "default": 80}"#,
                2 => r#"{"type": "string", "enum": ["Always", "IfNotPresent", "Never"]}"#,
                3 => r#"{"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}"#,
                _ => r#"{"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}"#,
            };
            format!(r#""f{i:02}": {schema}"#)
        })
        .collect();
    let group = format!(
        r#"{{"type": "object", "required": ["f00"], "properties": {{{}}}}}"#,
        fields.join(",")
    );
    let groups: Vec<_> = (0..10).map(|i| format!(r#""g{i}": {group}"#)).collect();
    parse(&format!(
        r#"{{"type": "object", "properties": {{"spec": {{"type": "object", "properties": {{{}}}}}}}}}"#,
        groups.join(",")
    ))
}

fn object() -> Map {
    let fields: Vec<_> = (0..20)
        .map(|i| {
            let value = match i % 5 {
                0 => r#""some-name-1""#,
                1 => "8080",
                2 => r#""IfNotPresent""#,
                3 => r#"["a", "b", "c"]"#,
                _ => r#""50%""#,
            };
            format!(r#""f{i:02}": {value}"#)
        })
        .collect();
    let groups: Vec<_> = (0..10)
        .map(|i| format!(r#""g{i}": {{{}}}"#, fields.join(",")))
        .collect();
    let text = format!(
        r#"{{"apiVersion": "a/v1", "kind": "A", "metadata": {{"name": "a"}}, "spec": {{{}}}}}"#,
        groups.join(",")
    );
    match parse(&text) {
        Value::Object(object) => object,
        other => unreachable!("an object was written: {other:?}"),
    }
}

fn parse(text: &str) -> Value {
    json::decode(text.as_bytes()).expect("the text is JSON").value
}

#[divan::bench]
fn compile(bencher: Bencher<'_, '_>) {
    let document = document();
    bencher.bench(|| Schema::compile(black_box(&document)));
}

#[divan::bench]
fn coerce_and_default(bencher: Bencher<'_, '_>) {
    let schema = Schema::compile(&document()).expect("the schema is structural");
    bencher.with_inputs(object).bench_refs(|object| {
        let unknown = schema.coerce(object);
        (unknown, schema.apply_defaults(object))
    });
}

#[divan::bench]
fn validate(bencher: Bencher<'_, '_>) {
    let schema = Schema::compile(&document()).expect("the schema is structural");
    let object = object();
    bencher.bench(|| schema.validate(black_box(&object), ValidateOptions::default()));
}

#[divan::bench]
fn decode(bencher: Bencher<'_, '_>) {
    let text = encoded();
    let counter = BytesCount::of_slice(&text);
    bencher
        .counter(counter)
        .bench(|| json::decode(black_box(&text)).expect("JSON"));
}

#[divan::bench]
fn encode(bencher: Bencher<'_, '_>) {
    let object = object();
    let counter = BytesCount::of_slice(&encoded());
    bencher.counter(counter).bench(|| {
        let mut text = Vec::new();
        json::encode_object(black_box(&object), &mut text);
        text
    });
}

fn encoded() -> Vec<u8> {
    let mut text = Vec::new();
    json::encode_object(&object(), &mut text);
    text
}
