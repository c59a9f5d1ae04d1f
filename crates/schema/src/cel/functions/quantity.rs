//! Quantities: `library/quantity.go` over `apimachinery/pkg/api/resource`.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use super::super::cost::Meter;
use super::super::error::{EvalError, Outcome};
use super::super::library::{Function, Overload, Pattern, QUANTITY};
use super::super::value::Value;
use Pattern::{Bool, Double, Int, String};

/// The quantity functions.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new(
        "quantity",
        &[Overload::global("string_to_quantity", &[String], QUANTITY, quantity)],
    ),
    Function::new(
        "isQuantity",
        &[Overload::global("is_quantity_string", &[String], Bool, |_, args| {
            Ok(Value::Bool(Quantity::parse(args[0].as_str()?).is_ok()))
        })],
    ),
    Function::new(
        "sign",
        &[Overload::global("quantity_sign", &[QUANTITY], Int, |_, args| {
            Ok(Value::Int(of(&args[0])?.sign()))
        })],
    ),
    Function::new(
        "isGreaterThan",
        &[Overload::member(
            "quantity_is_greater_than",
            &[QUANTITY, QUANTITY],
            Bool,
            |_, args| Ok(Value::Bool(of(&args[0])?.compare(of(&args[1])?).is_gt())),
        )],
    ),
    Function::new(
        "isLessThan",
        &[Overload::member(
            "quantity_is_less_than",
            &[QUANTITY, QUANTITY],
            Bool,
            |_, args| Ok(Value::Bool(of(&args[0])?.compare(of(&args[1])?).is_lt())),
        )],
    ),
    Function::new(
        "compareTo",
        &[Overload::member(
            "quantity_compare_to",
            &[QUANTITY, QUANTITY],
            Int,
            |_, args| Ok(Value::Int(of(&args[0])?.compare(of(&args[1])?) as i64)),
        )],
    ),
    Function::new(
        "asApproximateFloat",
        &[Overload::member(
            "quantity_get_float",
            &[QUANTITY],
            Double,
            |_, args| Ok(Value::Double(of(&args[0])?.approximate())),
        )],
    ),
    Function::new(
        "asInteger",
        &[Overload::member("quantity_get_int", &[QUANTITY], Int, as_integer)],
    ),
    Function::new(
        "isInteger",
        &[Overload::member("quantity_is_integer", &[QUANTITY], Bool, |_, args| {
            Ok(Value::Bool(of(&args[0])?.integer().is_some()))
        })],
    ),
    Function::new(
        "add",
        &[
            Overload::member("quantity_add", &[QUANTITY, QUANTITY], QUANTITY, |_, args| {
                sum(args, false)
            }),
            Overload::member("quantity_add_int", &[QUANTITY, Int], QUANTITY, |_, args| {
                sum(args, false)
            }),
        ],
    ),
    Function::new(
        "sub",
        &[
            Overload::member("quantity_sub", &[QUANTITY, QUANTITY], QUANTITY, |_, args| {
                sum(args, true)
            }),
            Overload::member("quantity_sub_int", &[QUANTITY, Int], QUANTITY, |_, args| {
                sum(args, true)
            }),
        ],
    ),
];

/// A number with a decimal exponent.
///
/// Like Kubernetes', it is held in one of two forms, and some answers depend on which: only small ones are integers.
#[derive(Clone, Copy, Debug)]
pub enum Quantity {
    /// `value × 10^exponent`, in 64 bits.
    Small {
        /// The digits.
        value: i64,
        /// The exponent.
        exponent: i32,
    },
    /// `value × 10^exponent`, for what does not fit. Parsing caps numbers with a binary suffix; decimal ones that need
    /// more than 128 bits are taken to be as large as 128 bits allow, where only comparison can tell the difference.
    Large {
        /// The digits.
        value: i128,
        /// The exponent.
        exponent: i32,
    },
}

const FORMAT: &str = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const NUMERIC: &str = "unable to parse numeric part of quantity";
const SUFFIX: &str = "unable to parse quantity's suffix";

/// The smallest exponent that is kept, nano; beyond it numbers are rounded up.
const NANO: i32 = -9;

/// A text split into its parts: sign, digits before and after the point, suffix.
struct Parts<'t> {
    negative: bool,
    whole: &'t str,
    fraction: &'t str,
    /// Whether what precedes the suffix is more than a sign and a point.
    has_digits: bool,
    suffix: &'t str,
}

/// What a suffix multiplies by.
#[derive(Clone, Copy)]
enum Scale {
    Decimal(i32),
    Binary(u32),
}

impl Quantity {
    /// `ParseQuantity`
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err(FORMAT);
        }
        let parts = split(text)?;
        let scale = scale_of(parts.suffix).ok_or(SUFFIX)?;
        if let Some(small) = parse_small(&parts, scale)? {
            return Ok(small);
        }
        if !parts.has_digits {
            return Err(NUMERIC);
        }
        Ok(parse_large(&parts, scale))
    }

    /// The number, digits and exponent.
    fn parts(self) -> (i128, i32) {
        match self {
            Self::Small { value, exponent } => (value.into(), exponent),
            Self::Large { value, exponent } => (value, exponent),
        }
    }

    fn sign(&self) -> i64 {
        i64::try_from(self.parts().0.signum()).unwrap_or(0)
    }

    /// The order of two quantities.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let ((left, left_exponent), (right, right_exponent)) = (self.parts(), other.parts());
        if left.signum() != right.signum() || left == 0 {
            return left.signum().cmp(&right.signum());
        }
        // The signs are the same: bring both to the smaller exponent, unless one overflows, and so is the larger.
        let common = left_exponent.min(right_exponent);
        match (
            shift(left, left_exponent.saturating_sub(common)),
            shift(right, right_exponent.saturating_sub(common)),
        ) {
            (Some(left), Some(right)) => left.cmp(&right),
            (None, _) => 0.cmp(&-left.signum()),
            (_, None) => 0.cmp(&right.signum()),
        }
    }

    /// `AsInt64`
    fn integer(&self) -> Option<i64> {
        match self {
            Self::Small { value, exponent: 0 } => Some(*value),
            Self::Small { value, exponent } if *exponent > 0 => i64::try_from(shift((*value).into(), *exponent)?).ok(),
            _ => None,
        }
    }

    /// `AsApproximateFloat64`
    #[expect(clippy::cast_precision_loss, reason = "approximate it is")]
    fn approximate(&self) -> f64 {
        let (value, exponent) = self.parts();
        let base = value as f64;
        if exponent == 0 {
            base
        } else {
            base * power_of_ten(exponent)
        }
    }

    fn add(self, other: Self) -> Self {
        if let (
            Self::Small { value, exponent },
            Self::Small {
                value: more,
                exponent: other_exponent,
            },
        ) = (self, other)
            && let Some(small) = add_small((value, exponent), (more, other_exponent))
        {
            return small;
        }
        let ((left, left_exponent), (right, right_exponent)) = (self.parts(), other.parts());
        let exponent = left_exponent.min(right_exponent);
        let widen = |value: i128, by: i32| shift(value, by).unwrap_or(if value < 0 { i128::MIN } else { i128::MAX });
        Self::Large {
            value: widen(left, left_exponent.saturating_sub(exponent))
                .saturating_add(widen(right, right_exponent.saturating_sub(exponent))),
            exponent,
        }
    }

    fn negate(self) -> Self {
        match self {
            Self::Small { value, exponent } => match value.checked_neg() {
                Some(value) => Self::Small { value, exponent },
                None => Self::Large {
                    value: -i128::from(value),
                    exponent,
                },
            },
            Self::Large { value, exponent } => Self::Large {
                value: value.saturating_neg(),
                exponent,
            },
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            (value, 0) => write!(f, "{value}"),
            (value, exponent) => write!(f, "{value}e{exponent}"),
        }
    }
}

/// `math.Pow10`, which is zero below and infinite above what a double can hold.
fn power_of_ten(exponent: i32) -> f64 {
    match exponent {
        ..=-324 => 0.0,
        309.. => f64::INFINITY,
        // Parsing gives the nearest double, as Go's table does; `powi` accumulates errors.
        _ => format!("1e{exponent}").parse().unwrap_or(f64::NAN),
    }
}

/// `value × 10^by`, if it fits.
fn shift(value: i128, by: i32) -> Option<i128> {
    if value == 0 {
        return Some(0);
    }
    10i128.checked_pow(u32::try_from(by).ok()?)?.checked_mul(value)
}

/// `int64Amount.Add`
fn add_small((value, exponent): (i64, i32), (more, other_exponent): (i64, i32)) -> Option<Quantity> {
    if more == 0 {
        return Some(Quantity::Small { value, exponent });
    }
    if value == 0 {
        return Some(Quantity::Small {
            value: more,
            exponent: other_exponent,
        });
    }
    let common = exponent.min(other_exponent);
    let left = i64::try_from(shift(value.into(), exponent.saturating_sub(common))?).ok()?;
    let right = i64::try_from(shift(more.into(), other_exponent.saturating_sub(common))?).ok()?;
    Some(Quantity::Small {
        value: left.checked_add(right)?,
        exponent: common,
    })
}

/// `parseQuantityString`
fn split(text: &str) -> Result<Parts<'_>, &'static str> {
    let (negative, unsigned) = match text.as_bytes()[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let digits = unsigned.trim_start_matches('0');
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (whole, mut rest) = digits.split_at(end);
    let mut fraction = "";
    if let Some(after) = rest.strip_prefix('.') {
        let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        (fraction, rest) = after.split_at(end);
    }
    // Only zeros, or nothing: the number is 0 without a look at anything else.
    let has_digits = digits.len() < unsigned.len() || !whole.is_empty() || !fraction.is_empty() || digits.is_empty();
    let letters = rest.find(|c: char| !"eEinumkKMGTP".contains(c)).unwrap_or(rest.len());
    let exponent = rest[letters..].strip_prefix(['+', '-']).unwrap_or(&rest[letters..]);
    if !exponent.bytes().all(|b| b.is_ascii_digit()) {
        return Err(FORMAT);
    }
    Ok(Parts {
        negative,
        whole: if whole.is_empty() { "0" } else { whole },
        fraction,
        has_digits,
        suffix: rest,
    })
}

fn scale_of(suffix: &str) -> Option<Scale> {
    Some(match suffix {
        "n" => Scale::Decimal(-9),
        "u" => Scale::Decimal(-6),
        "m" => Scale::Decimal(-3),
        "" => Scale::Decimal(0),
        "k" => Scale::Decimal(3),
        "M" => Scale::Decimal(6),
        "G" => Scale::Decimal(9),
        "T" => Scale::Decimal(12),
        "P" => Scale::Decimal(15),
        "E" => Scale::Decimal(18),
        "Ki" => Scale::Binary(10),
        "Mi" => Scale::Binary(20),
        "Gi" => Scale::Binary(30),
        "Ti" => Scale::Binary(40),
        "Pi" => Scale::Binary(50),
        "Ei" => Scale::Binary(60),
        _ => {
            let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            #[expect(clippy::cast_possible_truncation, reason = "Kubernetes truncates to int32 here")]
            Scale::Decimal(exponent as i32)
        }
    })
}

/// Digits that fit in 64 bits for certain.
const SMALL_DIGITS: usize = 18;

/// The fast path of `ParseQuantity`.
fn parse_small(parts: &Parts<'_>, scale: Scale) -> Result<Option<Quantity>, &'static str> {
    let digits = parts.whole.len() + parts.fraction.len();
    let (multiplier, exponent) = match scale {
        Scale::Decimal(exponent) if digits <= SMALL_DIGITS => (1, exponent),
        // A Mebi has about six decimal digits: what is left of fifteen is for the number.
        Scale::Binary(exponent) if parts.fraction.is_empty() && parts.whole.len() + exponent as usize * 3 / 10 < 15 => {
            (1i64 << exponent, 0)
        }
        _ => return Ok(None),
    };
    let shifted = i32::try_from(parts.fraction.len()).map_or(i32::MIN, |by| exponent.saturating_sub(by));
    if shifted < NANO {
        return Ok(None);
    }
    let value: i64 = format!("{}{}", parts.whole, parts.fraction)
        .parse()
        .map_err(|_| NUMERIC)?;
    Ok(value.checked_mul(multiplier).map(|value| Quantity::Small {
        value: if parts.negative { -value } else { value },
        exponent: shifted,
    }))
}

/// The slow path of `ParseQuantity`: rounded up to nano, capped to 64 bits with a binary suffix.
fn parse_large(parts: &Parts<'_>, scale: Scale) -> Quantity {
    let text = format!("{}{}", parts.whole, parts.fraction);
    let digits = text.trim_start_matches('0');
    let fraction = i32::try_from(parts.fraction.len()).unwrap_or(i32::MAX);
    let (mut value, mut exponent, mut inexact) = match scale {
        Scale::Decimal(by) => {
            let exponent = by.saturating_sub(fraction);
            let (value, dropped, inexact) = leading_digits(digits, exponent);
            (value, exponent.saturating_add(dropped), inexact)
        }
        Scale::Binary(by) => {
            let (value, dropped, inexact) = leading_digits(digits, -fraction);
            match value.checked_mul(1i128 << by) {
                Some(value) => (value, dropped.saturating_sub(fraction), inexact),
                None => (i64::MAX.into(), 0, false),
            }
        }
    };
    while exponent < NANO && value != 0 {
        inexact |= value % 10 != 0;
        value /= 10;
        exponent += 1;
    }
    if value == 0 {
        exponent = NANO;
    }
    if inexact {
        value = value.saturating_add(1);
    }
    // Kubernetes counts large quantities in nano, which shows in what they are approximately.
    if let Some(nanos) = shift(value, exponent.saturating_sub(NANO)) {
        (value, exponent) = (nanos, NANO);
    }
    if matches!(scale, Scale::Binary(_)) && exceeds_int64(value, exponent) {
        (value, exponent) = (i64::MAX.into(), 0);
    }
    Quantity::Large {
        value: if parts.negative { -value } else { value },
        exponent,
    }
}

/// As many digits as fit 128 bits with room to add; how many were dropped, and whether that lost anything at a place
/// that is kept.
fn leading_digits(digits: &str, exponent: i32) -> (i128, i32, bool) {
    const DIGITS: usize = 36;
    if digits.len() <= DIGITS {
        return (digits.parse().unwrap_or(0), 0, false);
    }
    let (kept, dropped) = digits.split_at(DIGITS);
    let lost = dropped.bytes().any(|b| b != b'0');
    let count = i32::try_from(dropped.len()).unwrap_or(i32::MAX);
    let rounds = exponent.saturating_add(count) <= NANO;
    (kept.parse().unwrap_or(0), count, lost && rounds)
}

fn exceeds_int64(value: i128, exponent: i32) -> bool {
    let max = Quantity::Large {
        value: i64::MAX.into(),
        exponent: 0,
    };
    Quantity::Large { value, exponent }.compare(&max).is_gt()
}

fn of<'v>(value: &'v Value<'_>) -> Outcome<&'v Quantity> {
    match value {
        Value::Quantity(quantity) => Ok(quantity),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn quantity<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Quantity::parse(args[0].as_str()?)
        .map(|quantity| Value::Quantity(Arc::new(quantity)))
        .map_err(EvalError::failed)
}

fn as_integer<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    of(&args[0])?
        .integer()
        .map(Value::Int)
        .ok_or_else(|| EvalError::failed("cannot convert value to integer"))
}

fn sum<'a>(args: &[Value<'a>], subtract: bool) -> Outcome<Value<'a>> {
    let other = match &args[1] {
        Value::Int(value) => Quantity::Small {
            value: *value,
            exponent: 0,
        },
        other => *of(other)?,
    };
    let other = if subtract { other.negate() } else { other };
    Ok(Value::Quantity(Arc::new(of(&args[0])?.add(other))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Quantity {
        Quantity::parse(text).unwrap()
    }

    #[test]
    fn quantities_compare_by_value() {
        for (left, right, order) in [
            ("1Gi", "1G", Ordering::Greater),
            ("1000m", "1", Ordering::Equal),
            ("1e3", "1k", Ordering::Equal),
            ("-1", "1", Ordering::Less),
            ("0.0000000001", "1n", Ordering::Equal),
            ("1e30", "1e29", Ordering::Greater),
            ("-1e30", "-1e29", Ordering::Less),
            ("9999Ei", "9223372036854775807", Ordering::Equal),
        ] {
            assert_eq!(parse(left).compare(&parse(right)), order, "{left} {right}");
        }
    }

    #[test]
    fn only_whole_small_quantities_are_integers() {
        assert_eq!(parse("1k").integer(), Some(1000));
        assert_eq!(parse("1Mi").integer(), Some(1 << 20));
        assert_eq!(parse("1000m").integer(), None);
        assert_eq!(parse("1.5").integer(), None);
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for (text, error) in [
            ("", FORMAT),
            ("x", FORMAT),
            ("1x", FORMAT),
            ("1Xi", FORMAT),
            ("1ee", SUFFIX),
            ("1KK", SUFFIX),
        ] {
            assert_eq!(Quantity::parse(text).err(), Some(error), "{text}");
        }
    }
}
