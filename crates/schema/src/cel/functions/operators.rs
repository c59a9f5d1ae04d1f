//! Arithmetic, logic, indexing, membership and size: `common/stdlib/standard.go`.

use std::sync::Arc;

use super::super::cost::Meter;
use super::super::error::{EvalError, Outcome};
use super::super::library::{A, B, Function, LIST_A, MAP_AB, Overload, Pattern};
use super::super::value::{Text, Value, contains, int};
use Pattern::{Bool, Bytes, Double, Duration, Dyn, Int, Optional, String, Timestamp, Uint};

/// The operators that the evaluator does not compute itself, and `size`.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("_?_:_", &[Overload::global("conditional", &[Bool, A, A], A, unreached)]),
    Function::new(
        "_&&_",
        &[Overload::global("logical_and", &[Bool, Bool], Bool, unreached)],
    ),
    Function::new(
        "_||_",
        &[Overload::global("logical_or", &[Bool, Bool], Bool, unreached)],
    ),
    Function::singleton("!_", &[Overload::global("logical_not", &[Bool], Bool, not)], |_| true),
    Function::new(
        "@not_strictly_false",
        &[Overload::global("not_strictly_false", &[Bool], Bool, unreached)],
    ),
    Function::new("_==_", &[Overload::global("equals", &[A, A], Bool, unreached)]),
    Function::new("_!=_", &[Overload::global("not_equals", &[A, A], Bool, unreached)]),
    Function::singleton(
        "_+_",
        &[
            Overload::global("add_bytes", &[Bytes, Bytes], Bytes, add),
            Overload::global("add_double", &[Double, Double], Double, add),
            Overload::global("add_duration_duration", &[Duration, Duration], Duration, add),
            Overload::global("add_duration_timestamp", &[Duration, Timestamp], Timestamp, add),
            Overload::global("add_timestamp_duration", &[Timestamp, Duration], Timestamp, add),
            Overload::global("add_int64", &[Int, Int], Int, add),
            Overload::global("add_list", &[LIST_A, LIST_A], LIST_A, add),
            Overload::global("add_string", &[String, String], String, add),
            Overload::global("add_uint64", &[Uint, Uint], Uint, add),
        ],
        is_adder,
    ),
    Function::singleton(
        "_/_",
        &[
            Overload::global("divide_double", &[Double, Double], Double, divide),
            Overload::global("divide_int64", &[Int, Int], Int, divide),
            Overload::global("divide_uint64", &[Uint, Uint], Uint, divide),
        ],
        is_number,
    ),
    Function::singleton(
        "_%_",
        &[
            Overload::global("modulo_int64", &[Int, Int], Int, modulo),
            Overload::global("modulo_uint64", &[Uint, Uint], Uint, modulo),
        ],
        |value| matches!(value, Value::Int(_) | Value::Uint(_)),
    ),
    Function::singleton(
        "_*_",
        &[
            Overload::global("multiply_double", &[Double, Double], Double, multiply),
            Overload::global("multiply_int64", &[Int, Int], Int, multiply),
            Overload::global("multiply_uint64", &[Uint, Uint], Uint, multiply),
        ],
        is_number,
    ),
    Function::singleton(
        "-_",
        &[
            Overload::global("negate_double", &[Double], Double, negate),
            Overload::global("negate_int64", &[Int], Int, negate),
        ],
        |value| {
            matches!(
                value,
                Value::Int(_) | Value::Double(_) | Value::Duration(_) | Value::Bool(_)
            )
        },
    ),
    Function::singleton(
        "_-_",
        &[
            Overload::global("subtract_double", &[Double, Double], Double, subtract),
            Overload::global("subtract_duration_duration", &[Duration, Duration], Duration, subtract),
            Overload::global("subtract_int64", &[Int, Int], Int, subtract),
            Overload::global(
                "subtract_timestamp_duration",
                &[Timestamp, Duration],
                Timestamp,
                subtract,
            ),
            Overload::global(
                "subtract_timestamp_timestamp",
                &[Timestamp, Timestamp],
                Duration,
                subtract,
            ),
            Overload::global("subtract_uint64", &[Uint, Uint], Uint, subtract),
        ],
        |value| is_number(value) || matches!(value, Value::Duration(_) | Value::Timestamp(_)),
    ),
    Function::new(
        "_[_]",
        &[
            Overload::global("index_list", &[LIST_A, Int], A, unreached),
            Overload::global("index_map", &[MAP_AB, A], B, unreached),
            Overload::global(
                "optional_list_index_int",
                &[Optional(&LIST_A), Int],
                Optional(&A),
                unreached,
            ),
            Overload::global(
                "optional_map_index_value",
                &[Optional(&MAP_AB), A],
                Optional(&B),
                unreached,
            ),
        ],
    ),
    Function::new(
        "_[?_]",
        &[
            Overload::global("list_optindex_optional_int", &[LIST_A, Int], Optional(&A), unreached),
            Overload::global(
                "optional_list_optindex_optional_int",
                &[Optional(&LIST_A), Int],
                Optional(&A),
                unreached,
            ),
            Overload::global("map_optindex_optional_value", &[MAP_AB, A], Optional(&B), unreached),
            Overload::global(
                "optional_map_optindex_optional_value",
                &[Optional(&MAP_AB), A],
                Optional(&B),
                unreached,
            ),
        ],
    ),
    Function::singleton(
        "@in",
        &[
            Overload::global("in_list", &[A, LIST_A], Bool, is_in),
            Overload::global("in_map", &[A, MAP_AB], Bool, is_in),
        ],
        |_| true,
    ),
    Function::singleton(
        "size",
        &[
            Overload::global("size_bytes", &[Bytes], Int, size),
            Overload::member("bytes_size", &[Bytes], Int, size),
            Overload::global("size_list", &[LIST_A], Int, size),
            Overload::member("list_size", &[LIST_A], Int, size),
            Overload::global("size_map", &[MAP_AB], Int, size),
            Overload::member("map_size", &[MAP_AB], Int, size),
            Overload::global("size_string", &[String], Int, size),
            Overload::member("string_size", &[String], Int, size),
        ],
        |value| {
            matches!(
                value,
                Value::String(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_)
            )
        },
    ),
    Function::new(
        "cel.@mapInsert",
        &[
            Overload::global("@mapInsert_map_key_value", &[MAP_AB, A, B], MAP_AB, unreached),
            Overload::global("@mapInsert_map_map", &[MAP_AB, MAP_AB], MAP_AB, unreached),
        ],
    ),
    Function::new(
        "includes",
        &[Overload::member("list_includes_dyn_dyn", &[Dyn, Dyn], Bool, includes)],
    ),
];

/// For what the evaluator computes by itself.
fn unreached<'a>(_: &mut Meter, _: &[Value<'a>]) -> Outcome<Value<'a>> {
    Err(EvalError::no_such_overload())
}

fn is_number(value: &Value<'_>) -> bool {
    matches!(value, Value::Int(_) | Value::Uint(_) | Value::Double(_))
}

fn is_adder(value: &Value<'_>) -> bool {
    is_number(value)
        || matches!(
            value,
            Value::String(_) | Value::Bytes(_) | Value::Duration(_) | Value::Timestamp(_) | Value::List(_)
        )
}

fn not<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(!args[0].as_bool()?))
}

fn overflow() -> EvalError {
    EvalError::failed("integer overflow")
}

fn unsigned_overflow() -> EvalError {
    EvalError::failed("unsigned integer overflow")
}

/// The sum; Kubernetes' `sum` adds up with it too.
pub(super) fn add<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match (&args[0], &args[1]) {
        (Value::Int(l), Value::Int(r)) => l.checked_add(*r).map(Value::Int).ok_or_else(overflow),
        (Value::Uint(l), Value::Uint(r)) => l.checked_add(*r).map(Value::Uint).ok_or_else(unsigned_overflow),
        (Value::Double(l), Value::Double(r)) => Ok(Value::Double(l + r)),
        (Value::String(l), Value::String(r)) => {
            let (l, r) = (l.as_str(), r.as_str());
            meter.read(l.len() + r.len())?;
            Ok(Value::String(Text::Shared([l, r].concat().into())))
        }
        (Value::Bytes(l), Value::Bytes(r)) => {
            meter.read(l.len() + r.len())?;
            Ok(Value::Bytes(Arc::from([&**l, &**r].concat())))
        }
        (Value::Duration(l), Value::Duration(r)) => l.add(*r).map(Value::Duration),
        (Value::Duration(l), Value::Timestamp(r)) | (Value::Timestamp(r), Value::Duration(l)) => {
            r.add(*l).map(Value::Timestamp)
        }
        (Value::List(l), Value::List(r)) => super::lists::concatenate(l, r, meter).map(Value::List),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn subtract<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match (&args[0], &args[1]) {
        (Value::Int(l), Value::Int(r)) => l.checked_sub(*r).map(Value::Int).ok_or_else(overflow),
        (Value::Uint(l), Value::Uint(r)) => l.checked_sub(*r).map(Value::Uint).ok_or_else(unsigned_overflow),
        (Value::Double(l), Value::Double(r)) => Ok(Value::Double(l - r)),
        (Value::Duration(l), Value::Duration(r)) => l.subtract(*r).map(Value::Duration),
        (Value::Timestamp(l), Value::Duration(r)) => l.subtract(*r).map(Value::Timestamp),
        (Value::Timestamp(l), Value::Timestamp(r)) => l.since(*r).map(Value::Duration),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn multiply<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match (&args[0], &args[1]) {
        (Value::Int(l), Value::Int(r)) => l.checked_mul(*r).map(Value::Int).ok_or_else(overflow),
        (Value::Uint(l), Value::Uint(r)) => l.checked_mul(*r).map(Value::Uint).ok_or_else(unsigned_overflow),
        (Value::Double(l), Value::Double(r)) => Ok(Value::Double(l * r)),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn divide<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match (&args[0], &args[1]) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => Err(EvalError::failed("division by zero")),
        (Value::Int(l), Value::Int(r)) => l.checked_div(*r).map(Value::Int).ok_or_else(overflow),
        (Value::Uint(l), Value::Uint(r)) => Ok(Value::Uint(l / r)),
        (Value::Double(l), Value::Double(r)) => Ok(Value::Double(l / r)),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn modulo<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match (&args[0], &args[1]) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => Err(EvalError::failed("modulus by zero")),
        (Value::Int(l), Value::Int(r)) => l.checked_rem(*r).map(Value::Int).ok_or_else(overflow),
        (Value::Uint(l), Value::Uint(r)) => Ok(Value::Uint(l % r)),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn negate<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match &args[0] {
        Value::Int(i) => i.checked_neg().map(Value::Int).ok_or_else(overflow),
        Value::Double(d) => Ok(Value::Double(-d)),
        Value::Duration(duration) => duration.negate().map(Value::Duration),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn is_in<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match &args[1] {
        Value::List(list) => contains(list, &args[0], meter).map(Value::Bool),
        Value::Map(map) => Ok(Value::Bool(map.find(&args[0])?.is_some())),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn size<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    if let Value::String(text) = &args[0] {
        meter.read(text.as_str().len())?;
    }
    Ok(int(args[0].plain_size()))
}

/// Kubernetes' `includes`: an element of a list, or the value itself.
fn includes<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let equal = |value: &Value<'_>, meter: &mut Meter| match super::super::value::method(value, &args[1], meter) {
        Err(error) if error.is_final() => Err(error),
        outcome => Ok(outcome == Ok(true)),
    };
    match &args[0] {
        Value::List(list) => {
            for item in list {
                if let Ok(item) = item
                    && equal(&item, meter)?
                {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        value => equal(value, meter).map(Value::Bool),
    }
}
