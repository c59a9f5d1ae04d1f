//! The repository's cases about rules, on the crate alone.

#![allow(clippy::unwrap_used, reason = "a test fails that way")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use structural_schema::{Schema, ValidateOptions, field, json, yaml};

/// Far more than any of these takes unoptimised.
const SOON: Duration = Duration::from_secs(2);

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/cases")
        .join(name)
}

/// The case's schema.
///
/// In YAML 1.1, which Kubernetes reads, the key `n` is a boolean: the field is `false`, and a rule on `self.n` does not
/// compile. It is quoted here to see the rule run.
fn compile(name: &str) -> Result<Schema, String> {
    let text = fs::read_to_string(case(name).join("schema.yaml")).unwrap();
    let text = text.replace(" n:", " 'n':");
    Schema::compile(&yaml::decode(text.as_bytes()).unwrap().value).map_err(|problems| problems[0].to_string())
}

fn validate(schema: &Schema, name: &str, object: &str) -> field::Errors {
    let text = fs::read(case(name).join(object)).unwrap();
    let object = json::decode(&text).unwrap().value;
    schema.validate(object.as_object().unwrap(), ValidateOptions::default())
}

#[test]
fn a_dense_rule_is_refused_at_once() {
    let started = Instant::now();
    let problems = compile("dos-cel-dense").err().unwrap();
    assert!(problems.contains("Syntax error"), "{problems}");
    assert!(started.elapsed() < SOON);
}

#[test]
fn a_dear_rule_is_stopped_by_the_budget() {
    let schema = compile("val-cel-budget").unwrap();
    assert!(schema.has_costly_rules());
    let started = Instant::now();
    let errors = validate(&schema, "val-cel-budget", "object.json");
    assert!(started.elapsed() < SOON, "took {:?}", started.elapsed());
    let error = errors[0].to_string();
    assert!(error.contains("call cost exceeds limit"), "{error}");
}

#[test]
fn names_are_escaped() {
    let schema = compile("val-cel-names").unwrap();
    assert_eq!(*validate(&schema, "val-cel-names", "object-good.json"), []);
    let errors = validate(&schema, "val-cel-names", "object-bad.json");
    assert!(errors[0].to_string().contains("names not resolved"), "{errors:?}");
}

#[test]
fn a_create_has_no_old_object() {
    let schema = compile("val-cel-oldself").unwrap();
    assert_eq!(*validate(&schema, "val-cel-oldself", "object.json"), []);
}
