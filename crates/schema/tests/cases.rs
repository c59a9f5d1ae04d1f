//! Situations that clients and providers get into, from the schema to the answer.

#![allow(clippy::unwrap_used, reason = "a test fails that way")]

mod support;

use structural_schema::{Value, json};
use support::create::{Answer, Request, Resource, create};

struct Case {
    resource: Resource,
}

impl Case {
    fn new(properties: &str) -> Self {
        let version = format!(
            r#"{{"version": "v1", "scope": "Namespaced", "names": {{"kind": "Sample"}}, "subresources": {{"status": {{}}}},
                "openAPIV3Schema": {{"type": "object", "properties": {properties}}}}}"#
        );
        let resource = Resource::new(&json::decode(version.as_bytes()).unwrap().value);
        Self { resource }
    }

    fn create_with(&self, fields: &str, query: &str) -> Answer {
        let body = format!(r#"{{"apiVersion": "cases.example.org/v1", "kind": "Sample", {fields}}}"#);
        let request = Request {
            body: body.as_bytes(),
            namespace: Some("demo"),
            query,
        };
        create(&self.resource, &request)
    }

    fn create(&self, spec: &str) -> Answer {
        self.create_with(&format!(r#""metadata": {{"name": "one"}}, "spec": {spec}"#), "")
    }
}

/// A field of a created object, as JSON.
fn created(answer: &Answer, field: &str) -> String {
    let Answer::Created { object, .. } = answer else {
        panic!("{answer:?}");
    };
    let mut text = Vec::new();
    json::encode(object.get(field).unwrap_or(&Value::Null), &mut text);
    String::from_utf8(text).unwrap().trim().to_owned()
}

/// The fields that an object was refused for.
fn refused(answer: &Answer) -> Vec<&str> {
    let Answer::Invalid(errors) = answer else {
        panic!("{answer:?}");
    };
    errors.iter().map(|error| error.field.as_str()).collect()
}

#[test]
fn integers_are_kept_digit_for_digit() {
    let case =
        Case::new(r#"{"spec": {"type": "object", "properties": {"count": {"type": "integer", "format": "int64"}}}}"#);
    for number in [
        "1000000009",
        "9007199254740993",
        "9223372036854775807",
        "-9223372036854775808",
    ] {
        let spec = format!(r#"{{"count":{number}}}"#);
        assert_eq!(created(&case.create(&spec), "spec"), spec);
    }
    assert!(refused(&case.create(r#"{"count": 9223372036854775808}"#)).contains(&"spec.count"));
}

#[test]
fn int_or_string_is_one_of_the_two() {
    let case =
        Case::new(r#"{"spec": {"type": "object", "properties": {"port": {"x-kubernetes-int-or-string": true}}}}"#);
    for port in ["80", "\"80\""] {
        assert_eq!(case.create(&format!(r#"{{"port": {port}}}"#)).status(), 201);
    }
    for port in ["true", "[80]", "{}", "1.5"] {
        assert_eq!(refused(&case.create(&format!(r#"{{"port": {port}}}"#))), ["spec.port"]);
    }
}

#[test]
fn labels_and_annotations_are_strings() {
    let case = Case::new(r#"{"spec": {"type": "object"}}"#);
    for metadata in [
        r#""labels": {"good": "x", "bad": 5}"#,
        r#""annotations": {"bad": true}"#,
        r#""labels": ["a"]"#,
    ] {
        let answer = case.create_with(&format!(r#""metadata": {{"name": "one", {metadata}}}"#), "");
        let Answer::BadRequest(message) = answer else {
            panic!("{answer:?}");
        };
        assert!(message.contains("Go struct field ObjectMeta."), "{message}");
    }
    let answer = case.create_with(r#""metadata": {"name": "one", "labels": {"a b": "x"}}"#, "");
    assert_eq!(refused(&answer), ["metadata.labels"]);
}

#[test]
fn keys_are_compared_after_defaults_are_filled_in() {
    let case = Case::new(
        r#"{"spec": {"type": "object", "properties": {
            "ends": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["host", "port"],
                "items": {"type": "object", "required": ["host"], "properties": {
                    "host": {"type": "string"}, "port": {"type": "integer", "default": 443}}}},
            "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}}}"#,
    );
    let twice = r#"{"ends": [{"host": "a"}, {"host": "a", "port": 443}]}"#;
    assert_eq!(refused(&case.create(twice)), ["spec.ends[1]"]);
    assert_eq!(refused(&case.create(r#"{"tags": ["a", "b", "a"]}"#)), ["spec.tags[2]"]);
    let fine = r#"{"ends": [{"host": "a"}, {"host": "a", "port": 80}], "tags": ["a", "b"]}"#;
    assert_eq!(case.create(fine).status(), 201);
}

#[test]
fn length_is_counted_in_characters() {
    let case = Case::new(
        r#"{"spec": {"type": "object", "properties": {"word": {"type": "string", "minLength": 2, "maxLength": 4}}}}"#,
    );
    assert_eq!(case.create(r#"{"word": "日本語字"}"#).status(), 201);
    assert_eq!(refused(&case.create(r#"{"word": "日本語字字"}"#)), ["spec.word"]);
    assert_eq!(refused(&case.create(r#"{"word": "日"}"#)), ["spec.word"]);
}

#[test]
fn null_makes_room_for_a_default() {
    let case = Case::new(
        r#"{"spec": {"type": "object", "properties": {"a": {"type": "string", "default": "fallback"},
            "b": {"type": "string", "nullable": true}, "c": {"type": "string"}}}}"#,
    );
    let answer = case.create(r#"{"a": null, "b": null, "c": null}"#);
    assert_eq!(created(&answer, "spec"), r#"{"a":"fallback","b":null}"#);
}

#[test]
fn a_status_that_was_sent_is_gone_before_it_is_validated() {
    let case = Case::new(
        r#"{"spec": {"type": "object"}, "status": {"type": "object", "properties": {"n": {"type": "integer"}}}}"#,
    );
    for status in [r#"{"n": 1}"#, r#"{"n": "x"}"#, "5"] {
        let answer = case.create_with(&format!(r#""metadata": {{"name": "one"}}, "status": {status}"#), "");
        assert_eq!(created(&answer, "status"), "null");
    }
}

#[test]
fn unknown_fields_are_refused_told_or_removed() {
    let case = Case::new(r#"{"spec": {"type": "object", "properties": {"q": {"type": "string"}}}}"#);
    let fields = r#""metadata": {"name": "one"}, "spec": {"q": "a", "qq": 1}"#;
    let Answer::BadRequest(message) = case.create_with(fields, "fieldValidation=Strict") else {
        panic!("not refused");
    };
    assert!(
        message.ends_with(r#"strict decoding error: unknown field "spec.qq""#),
        "{message}"
    );
    for (query, told) in [
        ("", true),
        ("fieldValidation=Warn", true),
        ("fieldValidation=Ignore", false),
    ] {
        let answer = case.create_with(fields, query);
        assert_eq!(created(&answer, "spec"), r#"{"q":"a"}"#);
        let Answer::Created { warnings, .. } = answer else {
            unreachable!("it was created");
        };
        assert_eq!(warnings == [r#"unknown field "spec.qq""#], told);
    }
}
