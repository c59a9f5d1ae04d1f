//! What a real API server answers to creates of objects with rules, against this crate's errors.
//!
//! `CREATE_VECTORS` names another folder of recordings.

use std::path::PathBuf;

use structural_schema::{Schema, ValidateOptions, json};

type Json = serde_json::Value;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cause {
    field: String,
    reason: String,
    message: String,
}

fn recordings() -> Json {
    let folder = std::env::var_os("CREATE_VECTORS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/create"),
        PathBuf::from,
    );
    let path = folder.join("cel.json");
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap()
}

fn body_of(case: &Json) -> String {
    let request = &case["request"];
    if let Some(body) = request["body"].as_str() {
        return body.to_owned();
    }
    let parts = request["bodyParts"].as_array().into_iter().flatten();
    parts
        .map(|part| {
            let repeat = part["repeat"].as_u64().unwrap_or(1);
            part["text"].as_str().unwrap().repeat(usize::try_from(repeat).unwrap())
        })
        .collect()
}

fn recorded_causes(case: &Json) -> Vec<Cause> {
    let text = |cause: &Json, name: &str| cause[name].as_str().unwrap_or_default().to_owned();
    let causes = case["response"]["body"]["details"]["causes"].as_array();
    causes
        .into_iter()
        .flatten()
        .map(|cause| Cause {
            field: text(cause, "field"),
            reason: text(cause, "reason"),
            message: text(cause, "message"),
        })
        .collect()
}

fn causes(schema: &Schema, body: &str) -> Vec<Cause> {
    let mut object = json::decode(body.as_bytes()).unwrap().value;
    let object = object.as_object_mut().unwrap();
    schema.prune(object);
    schema.apply_defaults(object).unwrap();
    schema
        .validate(object, ValidateOptions::default())
        .into_iter()
        .map(|error| Cause {
            message: error.body(),
            reason: error.kind.reason().to_owned(),
            field: error.field,
        })
        .collect()
}

#[test]
fn rules_fail_as_they_do_on_an_api_server() {
    let recordings = recordings();
    let mut wrong = Vec::new();
    let mut compared = 0;
    for case in recordings["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let status = case["response"]["status"].as_u64().unwrap();
        let Some(id) = case["schema"].as_str() else { continue };
        if !matches!(status, 201 | 422) {
            continue;
        }
        let recorded_schema = &recordings["schemas"][id];
        let has_status = recorded_schema["subresources"]["status"].is_object();
        let document = serde_json::to_vec(&recorded_schema["openAPIV3Schema"]).unwrap();
        let schema = Schema::compile(&json::decode(&document).unwrap().value);
        let schema = schema.unwrap_or_else(|problems| panic!("{id}: {problems:?}"));
        let mut body: Json = serde_json::from_str(&body_of(case)).unwrap();
        if has_status {
            // The API server drops the status of a resource whose status is a subresource.
            body.as_object_mut().unwrap().remove("status");
        }
        let mut expected = recorded_causes(case);
        let mut found = causes(&schema, &body.to_string());
        if case["unstable"]["onlyOrderDiffers"] == true {
            expected.sort();
            found.sort();
        }
        compared += 1;
        if expected != found {
            wrong.push(format!("{name}: recorded {expected:#?}, found {found:#?}"));
        }
    }
    assert!(compared > 0, "no recording could be compared");
    assert!(
        wrong.is_empty(),
        "{} of {compared} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
