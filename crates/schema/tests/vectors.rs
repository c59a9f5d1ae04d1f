//! What a real API server answered to creates of custom resources, against the crate alone.
//!
//! `CREATE_VECTORS` names another folder of vectors of the same format.

#![allow(clippy::unwrap_used, reason = "a test fails that way")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use structural_schema::{Value, json};
use support::create::{Answer, Request, Resource, create};

/// Categories that are about objects, not about HTTP.
const CATEGORIES: [&str; 4] = ["schema-validation", "pruning", "defaulting", "metadata"];

/// Cases that only a server can answer, and why.
const NEEDS_A_SERVER: [(&str, &str); 6] = [
    ("namespace-in-body-not-in-url", "the path is not served"),
    ("cluster-scoped-namespace-in-url", "the path is not served"),
    (
        "namespace-differs",
        "the namespace of the URL is compared with the object's",
    ),
    ("namespace-does-not-exist", "namespaces are looked up"),
    (
        "cluster-scoped-namespace-in-body",
        "the namespace of the URL is compared with the object's",
    ),
    ("server-owned-resource-version", "storing refuses a resourceVersion"),
];

#[test]
fn creates_are_answered_as_recorded() {
    let folder = std::env::var_os("CREATE_VECTORS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/create"),
        PathBuf::from,
    );
    let mut ran = 0;
    let mut failures = Vec::new();
    for category in CATEGORIES {
        let path = folder.join(format!("{category}.json"));
        let Ok(text) = fs::read(&path) else { continue };
        let vectors = json::decode(&text).unwrap().value;
        for case in vectors.get("cases").unwrap().as_array().unwrap().iter() {
            let name = string(case, "name");
            if NEEDS_A_SERVER.iter().any(|(known, _)| *known == name) {
                continue;
            }
            ran += 1;
            if let Err(difference) = run(&vectors, case) {
                failures.push(format!("{category}/{name}: {difference}"));
            }
        }
    }
    assert!(ran > 0, "no vectors in {}", folder.display());
    assert!(
        failures.is_empty(),
        "{} of {ran} differ:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

fn run(vectors: &Value, case: &Value) -> Result<(), String> {
    let request = case.get("request").unwrap();
    let id = string(case, "schema");
    let resource = Resource::new(vectors.get("schemas").unwrap().get(id).unwrap());
    let path = string(request, "path");
    let namespace = path
        .split_once("/namespaces/")
        .map(|(_, rest)| rest.split('/').next().unwrap());
    let answer = create(
        &resource,
        &Request {
            body: &body(request),
            namespace,
            query: string(request, "query"),
        },
    );
    let unordered = case
        .get("unstable")
        .and_then(|unstable| unstable.get("onlyOrderDiffers"))
        .is_some_and(|differs| *differs == Value::Bool(true));
    compare(&answer, case.get("response").unwrap(), unordered)
}

fn body(request: &Value) -> Vec<u8> {
    if let Some(body) = request.get("body").and_then(Value::as_str) {
        return body.as_bytes().to_vec();
    }
    let parts = request.get("bodyParts").and_then(Value::as_array).unwrap();
    let text = parts.iter().map(|part| {
        let times = part.get("repeat").and_then(Value::as_int).unwrap();
        string(part, "text").repeat(usize::try_from(times).unwrap())
    });
    text.collect::<String>().into_bytes()
}

fn compare(answer: &Answer, recorded: &Value, unordered: bool) -> Result<(), String> {
    let status = recorded.get("status").and_then(Value::as_int).unwrap();
    if answer.status() != status {
        return Err(format!("status {status} expected, found {answer:?}"));
    }
    let body = recorded.get("body").unwrap();
    match answer {
        Answer::Created { object, warnings } => {
            compare_values(object, body, "object")?;
            let recorded: Vec<_> = recorded
                .get("warnings")
                .and_then(Value::as_array)
                .map(|list| list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
                .unwrap_or_default();
            let found: Vec<_> = warnings
                .iter()
                .map(|text| format!("299 - {}", quote_warning(text)))
                .collect();
            (found == recorded)
                .then_some(())
                .ok_or_else(|| format!("warnings {recorded:?} expected, found {found:?}"))
        }
        Answer::BadRequest(message) => (message == string(body, "message"))
            .then_some(())
            .ok_or_else(|| format!("{:?} expected, found {message:?}", string(body, "message"))),
        Answer::Invalid(errors) => compare_causes(errors, body, unordered),
    }
}

fn compare_causes(errors: &[structural_schema::field::Error], body: &Value, unordered: bool) -> Result<(), String> {
    let causes = body.get("details").and_then(|details| details.get("causes"));
    let mut recorded: Vec<_> = causes
        .and_then(Value::as_array)
        .unwrap()
        .iter()
        .map(|cause| {
            let message = text_of(cause.get("message").unwrap());
            (
                string(cause, "field").to_owned(),
                string(cause, "reason").to_owned(),
                message,
            )
        })
        .collect();
    let mut found: Vec<_> = errors
        .iter()
        .map(|error| (error.field.clone(), error.kind.reason().to_owned(), cut(&error.body())))
        .collect();
    if unordered {
        recorded.sort();
        found.sort();
    }
    let same = found.len() == recorded.len()
        && found.iter().zip(&recorded).all(|(found, recorded)| {
            found.0 == recorded.0 && found.1 == recorded.1 && same_text(&found.2, &recorded.2)
        });
    same.then_some(())
        .ok_or_else(|| format!("causes\n  {recorded:?} expected, found\n  {found:?}"))
}

fn compare_values(found: &Value, recorded: &Value, path: &str) -> Result<(), String> {
    let fail = || Err(format!("{path}: {recorded:?} expected, found {found:?}"));
    match (found, recorded) {
        (Value::String(s), Value::Object(_)) if cut(s) == text_of(recorded) => Ok(()),
        (Value::Object(a), Value::Object(b)) => {
            if !a.keys().eq(b.keys()) {
                return fail();
            }
            let mut pairs = a.iter().zip(b.iter());
            pairs.try_for_each(|((key, a), (_, b))| compare_values(a, b, &format!("{path}.{key}")))
        }
        (Value::Array(a), Value::Array(b)) => {
            if a.len() != b.len() {
                return fail();
            }
            let mut pairs = a.iter().zip(b.iter());
            pairs.try_for_each(|(a, b)| compare_values(a, b, path))
        }
        // The vectors hold numbers as some other program printed them.
        (Value::Int(i), Value::Float(f)) | (Value::Float(f), Value::Int(i)) if same_number(*i, *f) => Ok(()),
        (Value::String(found), Value::String(recorded)) if same_text(found, recorded) => Ok(()),
        _ if found == recorded => Ok(()),
        _ => fail(),
    }
}

/// Recordings hold `<generated>` in the place of five characters.
fn same_text(found: &str, recorded: &str) -> bool {
    match recorded.split_once("<generated>") {
        None => found == recorded,
        Some((before, after)) => {
            found.len() == before.len() + 5 + after.len() && found.starts_with(before) && found.ends_with(after)
        }
    }
}

#[allow(clippy::cast_precision_loss, clippy::float_cmp)]
fn same_number(i: i64, f: f64) -> bool {
    i as f64 == f
}

/// A string as the vectors hold it: long ones by length and both ends.
fn cut(s: &str) -> String {
    const LONG: usize = 6_000;
    let count = s.chars().count();
    if count <= LONG {
        return s.to_owned();
    }
    ends(count, s, s)
}

fn text_of(recorded: &Value) -> String {
    match recorded.get("$longString") {
        None => recorded.as_str().unwrap_or_default().to_owned(),
        Some(long) => {
            let count = long.get("chars").and_then(Value::as_int).unwrap();
            ends(
                usize::try_from(count).unwrap(),
                string(long, "head"),
                string(long, "tail"),
            )
        }
    }
}

fn ends(count: usize, head: &str, tail: &str) -> String {
    const KEPT: usize = 40;
    let head: String = head.chars().take(KEPT).collect();
    let tail: String = tail.chars().skip(tail.chars().count().saturating_sub(KEPT)).collect();
    format!("{count} characters: {head}…{tail}")
}

fn quote_warning(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn string<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
