//! Generated schemas and objects with what the Go packages of Kubernetes made of them: `creates.jsonl` was written by a
//! program on `k8s.io/apiextensions-apiserver` 0.37.2, one case for each kind of error and value it met.

#![allow(clippy::unwrap_used, reason = "a test fails that way")]

use structural_schema::{Schema, ValidateOptions, Value, json};

#[test]
fn objects_are_treated_as_kubernetes_treats_them() {
    let cases = include_str!("data/creates.jsonl");
    let mut failures = Vec::new();
    let mut ran = 0;
    for (number, line) in (1..).zip(cases.lines()) {
        ran += 1;
        if let Err(difference) = run(&parse(line)) {
            failures.push(format!("line {number}: {difference}"));
        }
    }
    assert!(ran > 100);
    assert!(
        failures.is_empty(),
        "{} of {ran} differ:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

fn parse(text: &str) -> Value {
    json::decode(text.as_bytes()).unwrap().value
}

fn run(case: &Value) -> Result<(), String> {
    let schema = Schema::compile(case.get("schema").unwrap()).map_err(|problems| format!("{problems:?}"))?;
    let mut object = case.get("object").and_then(Value::as_object).unwrap().clone();
    let refused = case.get("refused").and_then(Value::as_str);
    let unknown = match (schema.coerce(&mut object), refused) {
        (Err(error), Some(refused)) => return same("refusal", &error.to_string(), &refused.to_owned()),
        (Err(error), None) => return Err(error.to_string()),
        (Ok(_), Some(refused)) => return Err(format!("{refused} expected")),
        (Ok(unknown), None) => unknown,
    };
    same("unknown fields", &unknown, &strings(case.get("unknown")))?;
    schema.apply_defaults(&mut object).map_err(|error| error.to_string())?;
    let mut text = Vec::new();
    json::encode(&Value::Object(object.clone()), &mut text);
    // Go wrote the numbers of the table, which does not tell 1 from 1.0.
    same(
        "object",
        &json::decode(&text).unwrap().value,
        case.get("result").unwrap(),
    )?;
    let mut errors: Vec<_> = schema
        .validate(&object, ValidateOptions::default())
        .iter()
        .map(|error| vec![error.field.clone(), error.kind.reason().to_owned(), error.body()])
        .collect();
    let mut expected: Vec<_> = case
        .get("errors")
        .and_then(Value::as_array)
        .unwrap()
        .iter()
        .map(|e| strings(Some(e)))
        .collect();
    // Go takes the fields of maps in any order.
    errors.sort();
    expected.sort();
    same("errors", &errors, &expected)
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}:\n  found    {found:?}\n  expected {expected:?}"))
}

fn strings(list: Option<&Value>) -> Vec<String> {
    let items = list.and_then(Value::as_array).map_or(&[][..], |list| list.as_slice());
    items.iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}
