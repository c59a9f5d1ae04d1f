//! How Go reads and writes numbers, where Rust does it differently.

use crate::go;

/// `%g` and `%v` of a `float64`: the shortest digits that read back the same, with an exponent below 1e-4 and from
/// 1e6 (the precision that `strconv` assumes for the shortest form, when it chooses between the two).
pub(crate) fn format_g(d: f64) -> String {
    if d.is_nan() {
        return "NaN".to_owned();
    }
    if d.is_infinite() {
        return if d > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    go::float_as_v(d)
}

/// `strconv.ParseInt(text, 10, 64)`.
pub(crate) fn parse_int(text: &str) -> Option<i64> {
    // Rust accepts the same: a sign and decimal digits.
    text.parse().ok()
}

/// `strconv.ParseUint(text, 10, 64)`, which takes no sign.
pub(crate) fn parse_uint(text: &str) -> Option<u64> {
    if text.starts_with('+') {
        return None;
    }
    text.parse().ok()
}

/// `strconv.ParseFloat(text, 64)`: decimal and hexadecimal numbers, underscores only after a base prefix that Go
/// does not take here, infinities and NaN. A number too large for a double is an error.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.len() > 2 && unsigned[..2].eq_ignore_ascii_case("0x") {
        return parse_hex_float(text);
    }
    match unsigned.to_ascii_lowercase().as_str() {
        "nan" if unsigned.len() == text.len() => return Some(f64::NAN),
        "inf" | "infinity" => {
            return Some(if text.starts_with('-') {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            });
        }
        "nan" => return None,
        _ => {}
    }
    let number: f64 = text.parse().ok()?;
    number.is_finite().then_some(number)
}

/// A hexadecimal float with its mandatory exponent, `0x1.8p3`.
fn parse_hex_float(text: &str) -> Option<f64> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = unsigned[2..].split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut exponent: i32 = exponent.parse().ok()?;
    let mut value: u64 = 0;
    for (position, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = digit.to_digit(16)?;
        if value >> 59 == 0 {
            value = value << 4 | u64::from(digit);
            if position >= whole.len() {
                exponent = exponent.checked_sub(4)?;
            }
        } else if position < whole.len() {
            exponent = exponent.checked_add(4)?;
        }
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "rounding to the nearest double is what parsing means"
    )]
    let number = scale(value as f64, exponent);
    number.is_finite().then_some(if negative { -number } else { number })
}

/// `number × 2^exponent`, in steps that do not overflow on the way.
fn scale(mut number: f64, mut exponent: i32) -> f64 {
    while exponent > 0 && number.is_finite() && number != 0.0 {
        let step = exponent.min(1000);
        number *= 2f64.powi(step);
        exponent -= step;
    }
    while exponent < 0 && number != 0.0 {
        let step = exponent.max(-1000);
        number *= 2f64.powi(step);
        exponent -= step;
    }
    number
}

/// `strconv.ParseBool`.
pub(crate) fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_written_as_go_writes_them() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (100_000.0, "100000"),
            (1e6, "1e+06"),
            (123_456_789.0, "1.23456789e+08"),
            (0.0001, "0.0001"),
            (1e-5, "1e-05"),
            (1.5e300, "1.5e+300"),
            (f64::INFINITY, "+Inf"),
        ] {
            assert_eq!(format_g(number), text);
        }
    }

    #[test]
    fn numbers_are_read_as_go_reads_them() {
        assert_eq!(parse_int("+5"), Some(5));
        assert_eq!(parse_int("5 "), None);
        assert_eq!(parse_uint("+5"), None);
        assert_eq!(parse_float("1e3"), Some(1000.0));
        assert_eq!(parse_float("0x1.8p3"), Some(12.0));
        assert_eq!(parse_float("-Inf"), Some(f64::NEG_INFINITY));
        assert_eq!(parse_float("1e999"), None);
        assert_eq!(parse_float("1_000"), None);
        assert_eq!(parse_bool("TRUE"), Some(true));
        assert_eq!(parse_bool("tRUE"), None);
    }
}
