//! Results of Kubernetes' own library, recorded by `tests/oracle/cel`, against this module's.

use std::fmt::Write as _;

use super::library::Environment;
use super::program::{CompileError, Program};
use super::rules::declare;
use super::value::{Value, read};
use super::{OBJECT_WORK, PER_CALL_LIMIT};
use crate::field::Path;
use crate::go::quote;
use crate::value::Value as Json;
use crate::{json, node};

/// Writes a value as the program that recorded the tables does.
fn format(value: &Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Int(i) => format!("int({i})"),
        Value::Uint(u) => format!("uint({u})"),
        Value::Double(d) => format!("double({})", super::go::format_g(*d)),
        Value::String(text) => quote(text.as_str()),
        Value::Bytes(bytes) => {
            let mut hex = String::new();
            for byte in bytes.iter() {
                write!(hex, "{byte:02x}").unwrap();
            }
            format!("bytes({hex})")
        }
        Value::Duration(duration) => format!("duration({})", duration.nanoseconds()),
        Value::Timestamp(time) => format!("timestamp({})", time.to_rfc3339()),
        Value::Type(name) => format!("type({name})"),
        Value::List(list) => {
            let items: Vec<_> = list
                .iter()
                .map(|item| item.map_or_else(|error| format!("error({error})"), |item| format(&item)))
                .collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let mut items: Vec<_> = map
                .keys()
                .iter()
                .map(|key| {
                    let value = match map.find(key) {
                        Ok(Some(value)) => format(&value),
                        Ok(None) => format!("error(no such key: {key})"),
                        Err(error) => format!("error({error})"),
                    };
                    match key {
                        Value::Null => format!("<nil>: {value}"),
                        key => format!("{}: {value}", format(key)),
                    }
                })
                .collect();
            items.sort();
            format!("{{{}}}", items.join(", "))
        }
        Value::Optional(None) => "none".to_owned(),
        Value::Optional(Some(value)) => format!("some({})", format(value)),
        Value::Url(url) => format!("url({url})"),
        Value::Ip(ip) => format!("ip({ip})"),
        Value::Cidr(cidr) => format!("cidr({cidr})"),
        Value::Quantity(_) => "quantity".to_owned(),
        Value::Semver(_) => "semver".to_owned(),
        Value::Format(format) => format!("format({})", format.name),
        Value::Unknown(_) => "*common.unknownPreserved".to_owned(),
    }
}

/// What is different on purpose.
const KNOWN: [(&str, &str); 1] = [(
    "google.protobuf.Duration{seconds: 1}",
    "messages cannot be made here; no field of an object is one",
)];

/// How a panic of Kubernetes' cost tracking is told, on arguments that are errors themselves; here it is that error.
const PANIC: &str = "e internal error: interface conversion: ";

fn text<'v>(value: &'v Json, name: &str) -> &'v str {
    value.get(name).and_then(Json::as_str).unwrap_or_default()
}

/// Compares a table; what differs is told, an expression a line.
fn compare(table: &[u8]) -> (usize, Vec<String>) {
    let groups = json::decode(table).unwrap().value;
    let environment = Environment::kubernetes();
    let mut compared = 0;
    let mut wrong = Vec::new();
    for group in groups.as_array().unwrap().iter() {
        let schema = group.get("schema").unwrap().as_object().unwrap();
        let root = node::parse(schema, &Path::root()).unwrap();
        let declared = declare::declare(&root, "selfType", false);
        let ty = declared.ty.clone().unwrap();
        let variables = [("self", ty.clone()), ("oldSelf", ty)];
        for case in group.get("expressions").unwrap().as_array().unwrap().iter() {
            let source = text(case, "expression");
            if KNOWN.iter().any(|(known, _)| *known == source) {
                continue;
            }
            let recorded = text(case, "compile");
            let program = match Program::compile_any(&environment, source, &variables) {
                Ok(program) => program,
                Err(error) => {
                    compared += 1;
                    if recorded.is_empty() || !same_mistake(recorded, &error) {
                        wrong.push(format!("{source}\n  recorded {recorded:?}\n  found    {error}"));
                    }
                    continue;
                }
            };
            if !recorded.is_empty() {
                wrong.push(format!(
                    "{source}\n  recorded {recorded:?}\n  found    that it compiles"
                ));
                continue;
            }
            let objects = group.get("objects").unwrap().as_array().unwrap();
            let results = case.get("results").unwrap().as_array().unwrap();
            for (object, result) in objects.iter().zip(results.iter()) {
                if result.get("u").is_some() {
                    continue;
                }
                compared += 1;
                let this = || Some(read(object, &declared.shape));
                let evaluation = program.evaluate(&[this(), this()], PER_CALL_LIMIT, OBJECT_WORK);
                let found = match &evaluation.result {
                    Ok(value) => format!("v {}", format(value)),
                    Err(error) => format!("e {error}"),
                };
                let recorded = match result.get("e") {
                    Some(error) => format!("e {}", error.as_str().unwrap()),
                    None => format!("v {}", text(result, "v")),
                };
                if recorded.starts_with(PANIC) && evaluation.result.is_err() {
                    continue;
                }
                let cost = result.get("c").and_then(Json::as_int).unwrap();
                if found != recorded || i64::try_from(evaluation.cost) != Ok(cost) {
                    wrong.push(format!(
                        "{source}\n  recorded {recorded} ({cost})\n  found    {found} ({})",
                        evaluation.cost
                    ));
                }
            }
        }
    }
    (compared, wrong)
}

/// Whether a mistake is told as cel-go tells it, but for where it is.
fn same_mistake(recorded: &str, found: &CompileError) -> bool {
    match found {
        CompileError::Check(mistakes) => mistakes.iter().all(|mistake| recorded.contains(mistake.as_str())),
        CompileError::Parse(_) | CompileError::Plan(_) | CompileError::Output { .. } => true,
    }
}

#[track_caller]
fn assert_same(table: &[u8], at_least: usize) {
    let (compared, wrong) = compare(table);
    assert!(compared > at_least, "only {compared} results were compared");
    assert!(
        wrong.is_empty(),
        "{} of {compared} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn the_library_gives_what_kubernetes_gives() {
    assert_same(include_bytes!("../../tests/data/cel-library.json"), 10_000);
}

#[test]
fn rules_of_public_definitions_give_what_kubernetes_gives() {
    assert_same(include_bytes!("../../tests/data/cel-definitions.json"), 100);
}
