//! Order of values, and numbers of different types (`common/types/compare.go`).

use std::cmp::Ordering;

use super::Value;
use crate::cel::error::{EvalError, Outcome};

/// cel-go's `Compare`: the order of two values of one type, or of two numbers.
pub(crate) fn compare(left: &Value<'_>, right: &Value<'_>) -> Outcome<Ordering> {
    match (left, right) {
        (Value::Bool(l), Value::Bool(r)) => Ok(l.cmp(r)),
        (Value::String(l), Value::String(r)) => Ok(l.as_str().cmp(r.as_str())),
        (Value::Bytes(l), Value::Bytes(r)) => Ok(l.cmp(r)),
        (Value::Duration(l), Value::Duration(r)) => Ok(l.cmp(r)),
        (Value::Timestamp(l), Value::Timestamp(r)) => Ok(l.instant().cmp(&r.instant())),
        // A NaN on the left is an error before the right side's type is looked at.
        (Value::Double(l), _) if l.is_nan() => Err(nan()),
        (Value::Int(_) | Value::Uint(_) | Value::Double(_), Value::Int(_) | Value::Uint(_) | Value::Double(_)) => {
            compare_numbers(left, right).ok_or_else(nan)
        }
        _ => Err(EvalError::no_such_overload()),
    }
}

fn nan() -> EvalError {
    EvalError::failed("NaN values cannot be ordered")
}

/// Whether cel-go's type of the value has an order (`traits.ComparerType`).
pub(crate) fn is_comparable(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::String(_)
            | Value::Bytes(_)
            | Value::Duration(_)
            | Value::Timestamp(_)
    )
}

/// The order of two numbers of any types; none with NaN.
pub(crate) fn compare_numbers(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(l), Value::Int(r)) => Some(l.cmp(r)),
        (Value::Uint(l), Value::Uint(r)) => Some(l.cmp(r)),
        (Value::Double(l), Value::Double(r)) => l.partial_cmp(r),
        (Value::Int(l), Value::Uint(r)) => Some(int_uint(*l, *r)),
        (Value::Uint(l), Value::Int(r)) => Some(int_uint(*r, *l).reverse()),
        (Value::Double(l), Value::Int(r)) => double_int(*l, *r),
        (Value::Int(l), Value::Double(r)) => double_int(*r, *l).map(Ordering::reverse),
        (Value::Double(l), Value::Uint(r)) => double_uint(*l, *r),
        (Value::Uint(l), Value::Double(r)) => double_uint(*r, *l).map(Ordering::reverse),
        _ => None,
    }
}

fn int_uint(int: i64, uint: u64) -> Ordering {
    match u64::try_from(int) {
        Ok(int) => int.cmp(&uint),
        Err(_) => Ordering::Less,
    }
}

/// Compares in floating point, as cel-go does: integers beyond 2^53 are rounded.
#[expect(clippy::cast_precision_loss, reason = "cel-go rounds here too")]
fn double_int(double: f64, int: i64) -> Option<Ordering> {
    if double < i64::MIN as f64 {
        return Some(Ordering::Less);
    }
    if double > i64::MAX as f64 {
        return Some(Ordering::Greater);
    }
    double.partial_cmp(&(int as f64))
}

#[expect(clippy::cast_precision_loss, reason = "cel-go rounds here too")]
fn double_uint(double: f64, uint: u64) -> Option<Ordering> {
    if double < 0.0 {
        return Some(Ordering::Less);
    }
    if double > u64::MAX as f64 {
        return Some(Ordering::Greater);
    }
    double.partial_cmp(&(uint as f64))
}

/// The integer that a double is, if it is one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "the cast is checked by casting back"
)]
pub(crate) fn lossless_int(double: f64) -> Option<i64> {
    let int = double as i64;
    (int as f64 == double && double < i64::MAX as f64).then_some(int)
}

/// The unsigned integer that a double is, if it is one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "the cast is checked by casting back"
)]
pub(crate) fn lossless_uint(double: f64) -> Option<u64> {
    let uint = double as u64;
    (double >= 0.0 && uint as f64 == double && double < u64::MAX as f64).then_some(uint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_different_types_have_one_order() {
        let numbers = [
            Value::Double(f64::NEG_INFINITY),
            Value::Int(-1),
            Value::Uint(0),
            Value::Double(0.5),
            Value::Int(1),
            Value::Double(1.5),
            Value::Uint(u64::MAX),
            Value::Double(f64::INFINITY),
        ];
        for (i, left) in numbers.iter().enumerate() {
            for (j, right) in numbers.iter().enumerate() {
                assert_eq!(compare(left, right), Ok(i.cmp(&j)), "{left} {right}");
            }
        }
        assert!(compare(&Value::Int(1), &Value::Double(f64::NAN)).is_err());
    }

    #[test]
    fn doubles_are_integers_only_without_loss() {
        assert_eq!(lossless_int(3.0), Some(3));
        assert_eq!(lossless_int(3.5), None);
        assert_eq!(lossless_int(9.3e18), None);
        assert_eq!(lossless_uint(-1.0), None);
    }
}
