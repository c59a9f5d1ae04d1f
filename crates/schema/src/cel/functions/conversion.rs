//! Conversions between types: `common/stdlib/standard.go` and the values' `ConvertToType`.

use super::super::cost::Meter;
use super::super::error::{EvalError, Outcome};
use super::super::go;
use super::super::library::{A, Function, Overload, Pattern};
use super::super::time::{self, Duration as CelDuration, Timestamp as CelTimestamp};
use super::super::value::{Value, lossless_uint};
use Pattern::{Bool, Bytes, Double, Duration, Dyn, Int, String, Timestamp, Type, Uint};

/// The conversions.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::singleton("type", &[Overload::global("type", &[A], Type(&A), type_of)], |_| true),
    Function::singleton("dyn", &[Overload::global("to_dyn", &[A], Dyn, identity)], |_| true),
    Function::new(
        "bool",
        &[
            Overload::global("bool_to_bool", &[Bool], Bool, identity),
            Overload::global("string_to_bool", &[String], Bool, to_bool),
        ],
    ),
    Function::new(
        "bytes",
        &[
            Overload::global("bytes_to_bytes", &[Bytes], Bytes, identity),
            Overload::global("string_to_bytes", &[String], Bytes, to_bytes),
        ],
    ),
    Function::new(
        "double",
        &[
            Overload::global("double_to_double", &[Double], Double, identity),
            Overload::global("int64_to_double", &[Int], Double, to_double),
            Overload::global("string_to_double", &[String], Double, to_double),
            Overload::global("uint64_to_double", &[Uint], Double, to_double),
        ],
    ),
    Function::new(
        "duration",
        &[
            Overload::global("duration_to_duration", &[Duration], Duration, identity),
            Overload::global("string_to_duration", &[String], Duration, to_duration),
        ],
    ),
    Function::new(
        "int",
        &[
            Overload::global("int64_to_int64", &[Int], Int, identity),
            Overload::global("double_to_int64", &[Double], Int, to_int),
            Overload::global("duration_to_int64", &[Duration], Int, to_int),
            Overload::global("string_to_int64", &[String], Int, to_int),
            Overload::global("timestamp_to_int64", &[Timestamp], Int, to_int),
            Overload::global("uint64_to_int64", &[Uint], Int, to_int),
        ],
    ),
    Function::new(
        "string",
        &[
            Overload::global("string_to_string", &[String], String, identity),
            Overload::global("bool_to_string", &[Bool], String, to_string),
            Overload::global("bytes_to_string", &[Bytes], String, to_string),
            Overload::global("double_to_string", &[Double], String, to_string),
            Overload::global("duration_to_string", &[Duration], String, to_string),
            Overload::global("int64_to_string", &[Int], String, to_string),
            Overload::global("timestamp_to_string", &[Timestamp], String, to_string),
            Overload::global("uint64_to_string", &[Uint], String, to_string),
        ],
    ),
    Function::new(
        "timestamp",
        &[
            Overload::global("timestamp_to_timestamp", &[Timestamp], Timestamp, identity),
            Overload::global("int64_to_timestamp", &[Int], Timestamp, to_timestamp),
            Overload::global("string_to_timestamp", &[String], Timestamp, to_timestamp),
        ],
    ),
    Function::new(
        "uint",
        &[
            Overload::global("uint64_to_uint64", &[Uint], Uint, identity),
            Overload::global("double_to_uint64", &[Double], Uint, to_uint),
            Overload::global("int64_to_uint64", &[Int], Uint, to_uint),
            Overload::global("string_to_uint64", &[String], Uint, to_uint),
        ],
    ),
];

#[expect(clippy::unnecessary_wraps, reason = "implementations of functions have one type")]
fn identity<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(args[0].clone())
}

fn type_of<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Type(match &args[0] {
        Value::Unknown(_) => {
            return Err(EvalError::failed(
                "type conversion to 'type' not supported for values preserved by x-kubernetes-preserve-unknown-fields",
            ));
        }
        value => value.type_name(),
    }))
}

fn impossible(value: &Value<'_>, to: &str) -> EvalError {
    EvalError::failed(format!("type conversion error from '{}' to '{to}'", value.type_name()))
}

fn to_bool<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    go::parse_bool(args[0].as_str()?)
        .map(Value::Bool)
        .ok_or_else(|| impossible(&args[0], "bool"))
}

fn to_bytes<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let text = args[0].as_str()?;
    meter.read(text.len())?;
    Ok(Value::Bytes(text.as_bytes().into()))
}

#[expect(clippy::cast_precision_loss, reason = "Go rounds here too")]
fn to_double<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match &args[0] {
        Value::Int(i) => Ok(Value::Double(*i as f64)),
        Value::Uint(u) => Ok(Value::Double(*u as f64)),
        value => go::parse_float(value.as_str()?)
            .map(Value::Double)
            .ok_or_else(|| impossible(value, "double")),
    }
}

fn to_duration<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    CelDuration::parse(args[0].as_str()?)
        .map(Value::Duration)
        .ok_or_else(|| impossible(&args[0], "google.protobuf.Duration"))
}

fn to_int<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let overflow = || EvalError::failed("integer overflow");
    match &args[0] {
        Value::Double(d) => truncate(*d).map(Value::Int).ok_or_else(overflow),
        Value::Uint(u) => i64::try_from(*u).map(Value::Int).map_err(|_| overflow()),
        Value::Duration(duration) => Ok(Value::Int(duration.nanoseconds())),
        Value::Timestamp(time) => Ok(Value::Int(time.unix())),
        value => go::parse_int(value.as_str()?)
            .map(Value::Int)
            .ok_or_else(|| impossible(value, "int")),
    }
}

/// The integer towards zero. The ends of the range are excluded, since they cannot be told from what is beyond
/// (`doubleToInt64Checked`).
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "the range is checked first"
)]
fn truncate(double: f64) -> Option<i64> {
    (double > i64::MIN as f64 && double < i64::MAX as f64).then_some(double as i64)
}

fn to_string<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    if let Value::Bytes(bytes) = &args[0] {
        meter.read(bytes.len())?;
    }
    text_of(&args[0]).map(Value::string)
}

/// A scalar as text, as `string()` and `format` write it.
pub(super) fn text_of(value: &Value<'_>) -> Outcome<std::string::String> {
    Ok(match value {
        Value::String(text) => text.as_str().to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Int(i) => i.to_string(),
        Value::Uint(u) => u.to_string(),
        Value::Double(d) => go::format_g(*d),
        Value::Duration(duration) => duration.to_cel_string(),
        Value::Timestamp(time) => time.to_rfc3339(),
        Value::Type(name) => (*name).to_owned(),
        Value::Bytes(bytes) => std::str::from_utf8(bytes)
            .map_err(|_| EvalError::failed("invalid UTF-8 in bytes, cannot convert to string"))?
            .to_owned(),
        other => return Err(impossible(other, "string")),
    })
}

fn to_timestamp<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    match &args[0] {
        Value::Int(seconds) => CelTimestamp::from_unix(*seconds).map(Value::Timestamp),
        value => match time::convert_timestamp(value.as_str()?) {
            Some(time) => time.map(Value::Timestamp),
            None => Err(impossible(value, "google.protobuf.Timestamp")),
        },
    }
}

fn to_uint<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let overflow = || EvalError::failed("unsigned integer overflow");
    match &args[0] {
        Value::Double(d) => lossless_uint(d.trunc())
            .filter(|_| *d >= 0.0)
            .map(Value::Uint)
            .ok_or_else(overflow),
        Value::Int(i) => u64::try_from(*i).map(Value::Uint).map_err(|_| overflow()),
        value => go::parse_uint(value.as_str()?)
            .map(Value::Uint)
            .ok_or_else(|| impossible(value, "uint")),
    }
}
