//! Numbers as `strconv` and `fmt` write them.

use std::fmt::Write;

/// `%v` of a `float64`: the shortest digits that read back the same, with an exponent below 1e-4 and from 1e6.
pub(crate) fn float_as_v(f: f64) -> String {
    let exponent = decimal_exponent(f);
    if f != 0.0 && !(-4..6).contains(&exponent) {
        with_exponent(f)
    } else {
        float_as_f(f)
    }
}

/// `strconv.FormatFloat(f, 'f', -1, 64)`: the shortest digits, never an exponent.
pub(crate) fn float_as_f(f: f64) -> String {
    format!("{f}")
}

/// A `float64` as `encoding/json` writes it: an exponent below 1e-6 and from 1e21, without leading zeros.
pub(super) fn write_json_float(f: f64, out: &mut String) {
    let magnitude = f.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        let text = format!("{f:e}");
        match text.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => {
                let _ = write!(out, "{digits}e+{exponent}");
            }
            _ => out.push_str(&text),
        }
    } else {
        let _ = write!(out, "{f}");
    }
}

/// `strconv`'s `'e'` form: a sign and at least two digits of exponent.
fn with_exponent(f: f64) -> String {
    let text = format!("{f:e}");
    let (digits, exponent) = text.split_once('e').expect("the e form has an exponent");
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(rest) => ('-', rest),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

fn decimal_exponent(f: f64) -> i32 {
    let text = format!("{f:e}");
    text.split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or_default()
}

/// `int64(f)` on amd64, where API servers run: truncation, and the smallest integer for whatever does not fit.
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn to_int64(f: f64) -> i64 {
    /// 2^63.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&f) {
        f as i64
    } else {
        i64::MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_fmt_prints_them() {
        for (f, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (123_456.0, "123456"),
            (1_000_000.0, "1e+06"),
            (2_147_483_648.0, "2.147483648e+09"),
            (1e21, "1e+21"),
            (1.5e-5, "1.5e-05"),
            (0.0001, "0.0001"),
            (-2.5e300, "-2.5e+300"),
        ] {
            assert_eq!(float_as_v(f), text);
        }
    }

    #[test]
    fn floats_encode_as_encoding_json_encodes_them() {
        for (f, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1e-6, "0.000001"),
            (1.5e-7, "1.5e-7"),
        ] {
            let mut out = String::new();
            write_json_float(f, &mut out);
            assert_eq!(out, text);
        }
    }

    #[test]
    fn floats_outside_int64_become_the_smallest_integer() {
        assert_eq!(to_int64(1.9), 1);
        assert_eq!(to_int64(-1.9), -1);
        assert_eq!(to_int64(-9_223_372_036_854_775_808.0), i64::MIN);
        assert_eq!(to_int64(9_223_372_036_854_775_808.0), i64::MIN);
        assert_eq!(to_int64(1e300), i64::MIN);
    }
}
