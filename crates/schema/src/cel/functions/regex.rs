//! Regular expressions: `matches` of cel-go, `find` and `findAll` of Kubernetes (`library/regex.go`).

use super::super::cost::Meter;
use super::super::error::{EvalError, Outcome};
use super::super::library::{Function, Overload, Pattern};
use super::super::value::Value;
use crate::regexp::{REFUSAL_WORK, Regexp};
use Pattern::{Bool, Int, List, String};

/// Constant patterns are compiled when an expression is; these are for those that are not constant.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::singleton(
        "matches",
        &[
            Overload::global("matches", &[String, String], Bool, matches),
            Overload::member("matches_string", &[String, String], Bool, matches),
        ],
        |value| matches!(value, Value::String(_)),
    ),
    Function::new(
        "find",
        &[Overload::member("string_find_string", &[String, String], String, find)],
    ),
    Function::new(
        "findAll",
        &[
            Overload::member("string_find_all_string", &[String, String], List(&String), find_all),
            Overload::member(
                "string_find_all_string_int",
                &[String, String, Int],
                List(&String),
                find_all,
            ),
        ],
    ),
];

/// Steps that compiling a pattern counts for: most take a few microseconds, large ones milliseconds.
fn compile(pattern: &Value<'_>, meter: &mut Meter) -> Outcome<Result<Regexp, crate::regexp::Error>> {
    let pattern = pattern.as_str()?;
    meter.work(1_000 + pattern.len() * 10)?;
    let compiled = Regexp::compile(pattern);
    match &compiled {
        Ok(regexp) => meter.work(regexp.memory() / 4)?,
        Err(crate::regexp::Error::TooLarge) => meter.work(REFUSAL_WORK)?,
        Err(_) => {}
    }
    Ok(compiled)
}

fn illegal(error: &crate::regexp::Error) -> EvalError {
    EvalError::failed(format!("Illegal regex: {error}"))
}

fn matches<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let regexp = compile(&args[1], meter)?.map_err(|error| EvalError::failed(error.to_string()))?;
    matches_constant(&regexp, args, meter)
}

fn find<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let regexp = compile(&args[1], meter)?.map_err(|error| illegal(&error))?;
    find_constant(&regexp, args, meter)
}

fn find_all<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let regexp = compile(&args[1], meter)?.map_err(|error| illegal(&error))?;
    find_all_constant(&regexp, args, meter)
}

/// `text.matches(pattern)`
pub(crate) fn matches_constant<'a>(regexp: &Regexp, args: &[Value<'a>], meter: &mut Meter) -> Outcome<Value<'a>> {
    let text = searched(args, meter)?;
    Ok(Value::Bool(regexp.is_match(text)))
}

/// `text.find(pattern)`: the first match, or an empty string.
pub(crate) fn find_constant<'a>(regexp: &Regexp, args: &[Value<'a>], meter: &mut Meter) -> Outcome<Value<'a>> {
    let text = searched(args, meter)?;
    let found = regexp.find_iter(text).next().map_or("", |range| &text[range]);
    Ok(Value::string(found))
}

/// `text.findAll(pattern, n)`: all matches, or the first `n` of them.
pub(crate) fn find_all_constant<'a>(regexp: &Regexp, args: &[Value<'a>], meter: &mut Meter) -> Outcome<Value<'a>> {
    let text = searched(args, meter)?;
    let limit = match args.get(2) {
        Some(limit) => usize::try_from(limit.as_int()?).unwrap_or(usize::MAX),
        None => usize::MAX,
    };
    let mut found = Vec::new();
    for range in regexp.find_iter(text).take(limit) {
        meter.work(1)?;
        found.push(Value::string(&text[range]));
    }
    Ok(Value::list(found))
}

fn searched<'t>(args: &'t [Value<'_>], meter: &mut Meter) -> Outcome<&'t str> {
    let text = args[0].as_str()?;
    meter.read(text.len() * 8)?;
    Ok(text)
}
