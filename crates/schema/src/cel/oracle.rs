//! Results of Kubernetes' own library, recorded by `tests/oracle/cel`, against this module's.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::check::check;
use super::library::{Environment, Overload, Pattern};
use super::parse::parse;
use super::program::{CompileError, Program};
use super::rules::declare;
use super::types::Type;
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
        Value::Empty => "*types.protoObj".to_owned(),
        Value::Unknown(_) => "*common.unknownPreserved".to_owned(),
    }
}

/// How a panic of Kubernetes' cost tracking is told, on arguments that are errors themselves; here it is that error.
const PANIC: &str = "e internal error: interface conversion: ";

fn text<'v>(value: &'v Json, name: &str) -> &'v str {
    value.get(name).and_then(Json::as_str).unwrap_or_default()
}

/// What came of comparing a table.
#[derive(Default)]
struct Comparison {
    /// How many results were compared.
    compared: usize,
    /// What differs, an expression each.
    wrong: Vec<String>,
    /// The overloads that were the only ones a call could mean, in an expression that has a value.
    ran: BTreeSet<&'static str>,
}

/// Compares a table.
fn compare(table: &[u8]) -> Comparison {
    let groups = json::decode(table).unwrap().value;
    let environment = Environment::kubernetes();
    let mut compared = 0;
    let mut wrong = Vec::new();
    let mut ran = BTreeSet::new();
    for group in groups.as_array().unwrap().iter() {
        let schema = group.get("schema").unwrap().as_object().unwrap();
        let root = node::parse(schema, &Path::root()).unwrap();
        let declared = declare::declare(&root, "selfType", false);
        let ty = declared.ty.clone().unwrap();
        let variables = [("self", ty.clone()), ("oldSelf", ty)];
        for case in group.get("expressions").unwrap().as_array().unwrap().iter() {
            let source = text(case, "expression");
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
                if evaluation.result.is_ok() {
                    ran.extend(settled_overloads(&environment, source, &variables));
                }
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
    Comparison { compared, wrong, ran }
}

/// The overloads of the calls in an expression that types leave only one for.
fn settled_overloads(environment: &Environment, source: &str, variables: &[(&str, Type)]) -> Vec<&'static str> {
    let ast = parse(source).unwrap();
    check(&ast, environment, variables).unwrap().settled_overloads()
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
    let Comparison { compared, wrong, .. } = compare(table);
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

/// What is no function here: older names of operators, which no expression can spell, and optional selection, which the
/// checker has a rule of its own for, as cel-go's does.
const NO_FUNCTIONS: [&str; 4] = ["__not_strictly_false__", "_in_", "in", "_?._"];

/// The signature of an overload as the recorded list has it, its type parameters named in the order in which they come.
fn signature(function: &str, id: &str, member: bool, args: &[String], result: &str) -> String {
    let text = format!("{function} {id} {member} ({}) {result}", args.join(", "));
    let mut params: Vec<&str> = Vec::new();
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some((before, name, after)) = split_param(rest) {
        let place = params.iter().position(|param| *param == name).unwrap_or_else(|| {
            params.push(name);
            params.len() - 1
        });
        write!(out, "{before}<{place}>").unwrap();
        rest = after;
    }
    out + rest
}

/// `before<name>after`, of a name of one letter.
fn split_param(text: &str) -> Option<(&str, &str, &str)> {
    let at = text.as_bytes().windows(3).position(|w| w[0] == b'<' && w[2] == b'>')?;
    Some((&text[..at], &text[at + 1..at + 2], &text[at + 3..]))
}

/// A type as cel-go writes it.
fn written(pattern: Pattern) -> String {
    match pattern {
        Pattern::Param(number) => format!("<{}>", ["A", "B"][number as usize]),
        Pattern::List(item) => format!("list({})", written(*item)),
        Pattern::Map(key, value) => format!("map({}, {})", written(*key), written(*value)),
        Pattern::Type(of) => format!("type({})", written(*of)),
        Pattern::Optional(value) => format!("optional_type({})", written(*value)),
        other => other.to_type(0).name().to_owned(),
    }
}

fn written_overload(function: &str, overload: &Overload) -> String {
    let args: Vec<_> = overload.args.iter().map(|arg| written(*arg)).collect();
    signature(function, overload.id, overload.member, &args, &written(overload.result))
}

#[test]
fn the_functions_and_their_signatures_are_those_of_kubernetes() {
    let list = json::decode(include_bytes!("../../tests/data/cel-overloads.json"))
        .unwrap()
        .value;
    let recorded: BTreeSet<String> = list
        .as_array()
        .unwrap()
        .iter()
        .filter(|overload| !NO_FUNCTIONS.contains(&text(overload, "function")))
        .map(|overload| {
            let args = overload.get("args").unwrap().as_array().unwrap();
            let args: Vec<_> = args.iter().map(|arg| arg.as_str().unwrap().to_owned()).collect();
            let member = overload.get("member").is_some();
            signature(
                text(overload, "function"),
                text(overload, "id"),
                member,
                &args,
                text(overload, "result"),
            )
        })
        .collect();
    let environment = Environment::kubernetes();
    let found: BTreeSet<String> = environment
        .functions()
        .flat_map(|function| {
            function
                .overloads
                .iter()
                .map(|overload| written_overload(function.name, overload))
        })
        .collect();
    let missing: Vec<_> = recorded.difference(&found).collect();
    let extra: Vec<_> = found.difference(&recorded).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "missing: {missing:#?}\nextra: {extra:#?}"
    );
}

/// Overloads that no rule of a resource can reach, for there is no value of their types: the authorizer's.
fn unreachable(overload: &Overload) -> bool {
    let is_authorizers = |pattern: &Pattern| pattern.to_type(0).name().starts_with("kubernetes.authorization.");
    overload.args.iter().any(is_authorizers)
}

#[test]
fn the_recorded_table_has_a_value_of_every_overload() {
    let ran = compare(include_bytes!("../../tests/data/cel-library.json")).ran;
    let environment = Environment::kubernetes();
    let missing: Vec<_> = environment
        .functions()
        .flat_map(|function| &function.overloads)
        .filter(|overload| !unreachable(overload) && !ran.contains(overload.id))
        .map(|overload| overload.id)
        .collect();
    assert!(missing.is_empty(), "no row has a value of {missing:?}");
}
