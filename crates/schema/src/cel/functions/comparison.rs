//! `<`, `<=`, `>` and `>=`: `common/stdlib/standard.go`, with comparison of numbers of different types.

use std::cmp::Ordering;

use super::super::cost::Meter;
use super::super::error::Outcome;
use super::super::library::{Function, Overload, Pattern};
use super::super::value::{Value, compare, is_comparable};
use Pattern::{Bool, Bytes, Double, Duration, Int, String, Timestamp, Uint};

/// The relations.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::singleton(
        "_<_",
        &[
            Overload::global("less_bool", &[Bool, Bool], Bool, less),
            Overload::global("less_int64", &[Int, Int], Bool, less),
            Overload::global("less_int64_double", &[Int, Double], Bool, less),
            Overload::global("less_int64_uint64", &[Int, Uint], Bool, less),
            Overload::global("less_uint64", &[Uint, Uint], Bool, less),
            Overload::global("less_uint64_double", &[Uint, Double], Bool, less),
            Overload::global("less_uint64_int64", &[Uint, Int], Bool, less),
            Overload::global("less_double", &[Double, Double], Bool, less),
            Overload::global("less_double_int64", &[Double, Int], Bool, less),
            Overload::global("less_double_uint64", &[Double, Uint], Bool, less),
            Overload::global("less_string", &[String, String], Bool, less),
            Overload::global("less_bytes", &[Bytes, Bytes], Bool, less),
            Overload::global("less_timestamp", &[Timestamp, Timestamp], Bool, less),
            Overload::global("less_duration", &[Duration, Duration], Bool, less),
        ],
        is_comparable,
    ),
    Function::singleton(
        "_<=_",
        &[
            Overload::global("less_equals_bool", &[Bool, Bool], Bool, less_equals),
            Overload::global("less_equals_int64", &[Int, Int], Bool, less_equals),
            Overload::global("less_equals_int64_double", &[Int, Double], Bool, less_equals),
            Overload::global("less_equals_int64_uint64", &[Int, Uint], Bool, less_equals),
            Overload::global("less_equals_uint64", &[Uint, Uint], Bool, less_equals),
            Overload::global("less_equals_uint64_double", &[Uint, Double], Bool, less_equals),
            Overload::global("less_equals_uint64_int64", &[Uint, Int], Bool, less_equals),
            Overload::global("less_equals_double", &[Double, Double], Bool, less_equals),
            Overload::global("less_equals_double_int64", &[Double, Int], Bool, less_equals),
            Overload::global("less_equals_double_uint64", &[Double, Uint], Bool, less_equals),
            Overload::global("less_equals_string", &[String, String], Bool, less_equals),
            Overload::global("less_equals_bytes", &[Bytes, Bytes], Bool, less_equals),
            Overload::global("less_equals_timestamp", &[Timestamp, Timestamp], Bool, less_equals),
            Overload::global("less_equals_duration", &[Duration, Duration], Bool, less_equals),
        ],
        is_comparable,
    ),
    Function::singleton(
        "_>_",
        &[
            Overload::global("greater_bool", &[Bool, Bool], Bool, greater),
            Overload::global("greater_int64", &[Int, Int], Bool, greater),
            Overload::global("greater_int64_double", &[Int, Double], Bool, greater),
            Overload::global("greater_int64_uint64", &[Int, Uint], Bool, greater),
            Overload::global("greater_uint64", &[Uint, Uint], Bool, greater),
            Overload::global("greater_uint64_double", &[Uint, Double], Bool, greater),
            Overload::global("greater_uint64_int64", &[Uint, Int], Bool, greater),
            Overload::global("greater_double", &[Double, Double], Bool, greater),
            Overload::global("greater_double_int64", &[Double, Int], Bool, greater),
            Overload::global("greater_double_uint64", &[Double, Uint], Bool, greater),
            Overload::global("greater_string", &[String, String], Bool, greater),
            Overload::global("greater_bytes", &[Bytes, Bytes], Bool, greater),
            Overload::global("greater_timestamp", &[Timestamp, Timestamp], Bool, greater),
            Overload::global("greater_duration", &[Duration, Duration], Bool, greater),
        ],
        is_comparable,
    ),
    Function::singleton(
        "_>=_",
        &[
            Overload::global("greater_equals_bool", &[Bool, Bool], Bool, greater_equals),
            Overload::global("greater_equals_int64", &[Int, Int], Bool, greater_equals),
            Overload::global("greater_equals_int64_double", &[Int, Double], Bool, greater_equals),
            Overload::global("greater_equals_int64_uint64", &[Int, Uint], Bool, greater_equals),
            Overload::global("greater_equals_uint64", &[Uint, Uint], Bool, greater_equals),
            Overload::global("greater_equals_uint64_double", &[Uint, Double], Bool, greater_equals),
            Overload::global("greater_equals_uint64_int64", &[Uint, Int], Bool, greater_equals),
            Overload::global("greater_equals_double", &[Double, Double], Bool, greater_equals),
            Overload::global("greater_equals_double_int64", &[Double, Int], Bool, greater_equals),
            Overload::global("greater_equals_double_uint64", &[Double, Uint], Bool, greater_equals),
            Overload::global("greater_equals_string", &[String, String], Bool, greater_equals),
            Overload::global("greater_equals_bytes", &[Bytes, Bytes], Bool, greater_equals),
            Overload::global(
                "greater_equals_timestamp",
                &[Timestamp, Timestamp],
                Bool,
                greater_equals,
            ),
            Overload::global("greater_equals_duration", &[Duration, Duration], Bool, greater_equals),
        ],
        is_comparable,
    ),
];

fn order(meter: &mut Meter, args: &[Value<'_>]) -> Outcome<Ordering> {
    if let (Value::String(l), Value::String(r)) = (&args[0], &args[1]) {
        meter.read(l.as_str().len().min(r.as_str().len()))?;
    }
    compare(&args[0], &args[1])
}

fn less<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(order(meter, args)?.is_lt()))
}

fn less_equals<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(order(meter, args)?.is_le()))
}

fn greater<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(order(meter, args)?.is_gt()))
}

fn greater_equals<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Bool(order(meter, args)?.is_ge()))
}
