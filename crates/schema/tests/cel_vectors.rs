//! What a real API server answered to creates of objects with rules, against the crate alone.
//!
//! `CREATE_VECTORS` names another folder of vectors of the same format.

#![allow(clippy::unwrap_used, reason = "a test fails that way")]

#[allow(dead_code, reason = "only what is about errors is used")]
mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use structural_schema::{Value, json};
use support::create::{Answer, Request, Resource, create};

/// The server visits properties in no order, so that this case's one error is at any of several fields.
const ANY_FIELD: &str = "cel-cost-budget-exceeded";

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cause {
    field: String,
    reason: String,
    message: String,
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn body(request: &Value) -> String {
    let parts = request.get("bodyParts").and_then(Value::as_array);
    let Some(parts) = parts else {
        return text(request, "body");
    };
    let repeated = parts.iter().map(|part| {
        let times = part.get("repeat").and_then(Value::as_int).unwrap();
        text(part, "text").repeat(usize::try_from(times).unwrap())
    });
    repeated.collect()
}

fn recorded_causes(response: &Value) -> Vec<Cause> {
    let details = response.get("body").and_then(|body| body.get("details"));
    let causes = details.and_then(|details| details.get("causes"));
    let causes = causes
        .and_then(Value::as_array)
        .into_iter()
        .flat_map(|causes| causes.iter());
    causes
        .map(|cause| Cause {
            field: text(cause, "field"),
            reason: text(cause, "reason"),
            message: text(cause, "message"),
        })
        .collect()
}

#[test]
fn rules_fail_as_they_do_on_an_api_server() {
    let folder = std::env::var_os("CREATE_VECTORS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/create"),
        PathBuf::from,
    );
    let vectors = std::fs::read(folder.join("cel.json")).unwrap();
    let vectors = json::decode(&vectors).unwrap().value;
    let schemas = vectors.get("schemas").unwrap();
    let mut resources = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut compared = 0;
    for case in vectors.get("cases").unwrap().as_array().unwrap().iter() {
        let (name, id) = (text(case, "name"), text(case, "schema"));
        let response = case.get("response").unwrap();
        let status = response.get("status").and_then(Value::as_int).unwrap();
        let Some(recorded) = schemas.get(&id).filter(|_| matches!(status, 201 | 422)) else {
            continue;
        };
        let resource = resources.entry(id).or_insert_with(|| Resource::new(recorded));
        let request = case.get("request").unwrap();
        let path = text(request, "path");
        let namespace = path
            .split_once("/namespaces/")
            .and_then(|(_, rest)| rest.split('/').next());
        let answer = create(
            resource,
            &Request {
                body: body(request).as_bytes(),
                namespace,
                query: &text(request, "query"),
            },
        );
        let mut found: Vec<_> = match &answer {
            Answer::Invalid(errors) => errors
                .iter()
                .map(|error| Cause {
                    field: error.field.clone(),
                    reason: error.kind.reason().to_owned(),
                    message: error.body(),
                })
                .collect(),
            _ => Vec::new(),
        };
        let mut expected = recorded_causes(response);
        if case.get("unstable").is_some() {
            expected.sort();
            found.sort();
        }
        if name == ANY_FIELD {
            for cause in expected.iter_mut().chain(&mut found) {
                cause.field.clear();
            }
        }
        compared += 1;
        if answer.status() != status || expected != found {
            wrong.push(format!("{name}: {status} {expected:#?} recorded, found {answer:#?}"));
        }
    }
    assert!(compared > 0, "no vectors in {}", folder.display());
    assert!(
        wrong.is_empty(),
        "{} of {compared} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
