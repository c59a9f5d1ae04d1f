//! Optional values: `cel/library.go`.

use super::super::cost::Meter;
use super::super::error::{EvalError, Outcome};
use super::super::library::{A, Function, LIST_A, Overload, Pattern};
use super::super::value::{Value, read_all};
use Pattern::{Bool, List, Optional};

const OPTIONAL_A: Pattern = Optional(&A);

/// Making and reading optionals. `or` and `orValue` are evaluated by the evaluator, which may leave out their second
/// argument.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new(
        "optional.of",
        &[Overload::global("optional_of", &[A], OPTIONAL_A, |_, args| {
            Ok(Value::some(args[0].clone()))
        })],
    ),
    Function::new(
        "optional.ofNonZeroValue",
        &[Overload::global(
            "optional_ofNonZeroValue",
            &[A],
            OPTIONAL_A,
            of_non_zero,
        )],
    ),
    Function::new(
        "optional.none",
        &[Overload::global("optional_none", &[], OPTIONAL_A, |_, _| {
            Ok(Value::Optional(None))
        })],
    ),
    Function::new("value", &[Overload::member("optional_value", &[OPTIONAL_A], A, value)]),
    Function::new(
        "hasValue",
        &[Overload::member("optional_hasValue", &[OPTIONAL_A], Bool, has_value)],
    ),
    Function::new(
        "or",
        &[Overload::member(
            "optional_or_optional",
            &[OPTIONAL_A, OPTIONAL_A],
            OPTIONAL_A,
            value,
        )],
    ),
    Function::new(
        "orValue",
        &[Overload::member("optional_orValue_value", &[OPTIONAL_A, A], A, value)],
    ),
    Function::new("last", &[Overload::member("list_last", &[LIST_A], OPTIONAL_A, last)]),
    Function::new("first", &[Overload::member("list_first", &[LIST_A], OPTIONAL_A, first)]),
    Function::new(
        "optional.unwrap",
        &[Overload::global(
            "optional_unwrap",
            &[List(&OPTIONAL_A)],
            LIST_A,
            unwrap,
        )],
    ),
    Function::new(
        "unwrapOpt",
        &[Overload::member(
            "optional_unwrapOpt",
            &[List(&OPTIONAL_A)],
            LIST_A,
            unwrap,
        )],
    ),
];

#[expect(clippy::unnecessary_wraps, reason = "implementations of functions have one type")]
fn of_non_zero<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(if args[0].is_zero() {
        Value::Optional(None)
    } else {
        Value::some(args[0].clone())
    })
}

fn value<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match &args[0] {
        Value::Optional(Some(value)) => Ok((**value).clone()),
        Value::Optional(None) => Err(EvalError::failed("optional.none() dereference")),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn has_value<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match &args[0] {
        Value::Optional(value) => Ok(Value::Bool(value.is_some())),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn first<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    at(&args[0], |_| 0)
}

fn last<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    at(&args[0], |len| len.saturating_sub(1))
}

fn at<'a>(list: &Value<'a>, index: fn(usize) -> usize) -> Outcome<Value<'a>> {
    let list = list.as_list()?;
    Ok(match list.get(index(list.len())) {
        Some(value) => Value::some(value?),
        None => Value::Optional(None),
    })
}

fn unwrap<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let list = args[0].as_list()?;
    meter.work(list.len())?;
    let mut values = Vec::new();
    for item in read_all(list)? {
        match item {
            Value::Optional(Some(value)) => values.push((*value).clone()),
            Value::Optional(None) => {}
            other => return Err(EvalError::failed(format!("value {other} is not optional"))),
        }
    }
    Ok(Value::list(values))
}
