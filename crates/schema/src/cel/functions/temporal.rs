//! Parts of timestamps and durations: `common/stdlib/standard.go`.

use jiff::civil::DateTime;

use super::super::error::{EvalError, Outcome};
use super::super::library::{Call, Function, Overload, Pattern};
use super::super::value::Value;
use Pattern::{Duration, Int, String, Timestamp};

/// A getter of timestamps.
macro_rules! getter {
    ($name:literal, $id:literal, $call:expr) => {
        Function::new(
            $name,
            &[
                Overload::member(concat!("timestamp_to_", $id), &[Timestamp], Int, $call),
                Overload::member(
                    concat!("timestamp_to_", $id, "_with_tz"),
                    &[Timestamp, String],
                    Int,
                    $call,
                ),
            ],
        )
    };
    ($name:literal, $id:literal, $zoned:literal, $call:expr, $duration:expr) => {
        Function::new(
            $name,
            &[
                Overload::member(concat!("timestamp_to_", $id), &[Timestamp], Int, $call),
                Overload::member(concat!("timestamp_to_", $zoned), &[Timestamp, String], Int, $call),
                Overload::member(concat!("duration_to_", $id), &[Duration], Int, $duration),
            ],
        )
    };
}

const YEAR: Call = |_, args| local(args).map(|time| Value::Int(time.year().into()));
const MONTH: Call = |_, args| local(args).map(|time| Value::Int((time.month() - 1).into()));
const DAY_OF_YEAR: Call = |_, args| local(args).map(|time| Value::Int((time.date().day_of_year() - 1).into()));
const DAY_OF_MONTH: Call = |_, args| local(args).map(|time| Value::Int((time.day() - 1).into()));
const DATE: Call = |_, args| local(args).map(|time| Value::Int(time.day().into()));
const DAY_OF_WEEK: Call = |_, args| local(args).map(|time| Value::Int(time.weekday().to_sunday_zero_offset().into()));
const HOURS: Call = |_, args| local(args).map(|time| Value::Int(time.hour().into()));
const MINUTES: Call = |_, args| local(args).map(|time| Value::Int(time.minute().into()));
const SECONDS: Call = |_, args| local(args).map(|time| Value::Int(time.second().into()));
const MILLISECONDS: Call = |_, args| local(args).map(|time| Value::Int(time.millisecond().into()));

/// The getters.
pub(crate) const FUNCTIONS: &[Function] = &[
    getter!("getFullYear", "year", YEAR),
    getter!("getMonth", "month", MONTH),
    getter!("getDayOfYear", "day_of_year", DAY_OF_YEAR),
    getter!("getDayOfMonth", "day_of_month", DAY_OF_MONTH),
    getter!("getDate", "day_of_month_1_based", DATE),
    getter!("getDayOfWeek", "day_of_week", DAY_OF_WEEK),
    getter!("getHours", "hours", "hours_with_tz", HOURS, |_, args| in_units(
        args,
        3_600_000_000_000
    )),
    getter!("getMinutes", "minutes", "minutes_with_tz", MINUTES, |_, args| in_units(
        args,
        60_000_000_000
    )),
    getter!("getSeconds", "seconds", "seconds_tz", SECONDS, |_, args| in_units(
        args,
        1_000_000_000
    )),
    getter!(
        "getMilliseconds",
        "milliseconds",
        "milliseconds_with_tz",
        MILLISECONDS,
        |_, args| in_units(args, 1_000_000)
    ),
];

fn local(args: &[Value<'_>]) -> Outcome<DateTime> {
    let Value::Timestamp(time) = &args[0] else {
        return Err(EvalError::no_such_overload());
    };
    let zone = args.get(1).map(Value::as_str).transpose()?;
    time.in_zone(zone)
}

/// A duration in whole units.
fn in_units<'a>(args: &[Value<'a>], unit: i64) -> Outcome<Value<'a>> {
    match &args[0] {
        Value::Duration(duration) => Ok(Value::Int(duration.nanoseconds() / unit)),
        _ => Err(EvalError::no_such_overload()),
    }
}
