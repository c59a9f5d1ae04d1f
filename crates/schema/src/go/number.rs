//! Numbers as `strconv` and `fmt` write them.

/// `%v` of a finite `float64`: the shortest digits that read back the same, with an exponent below 1e-4 and from 1e6.
pub fn float_as_v(float: f64) -> String {
    Shortest::of(float).general_form()
}

/// `strconv.FormatFloat(float, 'f', -1, 64)` of a finite float: the shortest digits, never an exponent.
pub(crate) fn float_as_f(float: f64) -> String {
    Shortest::of(float).decimal_form()
}

/// A float as Go's `encoding/json` writes it: in decimals from 1e-6 to below 1e21, else with an exponent, which has
/// two digits or more only if it is positive.
pub(crate) fn float_as_json(float: f64) -> String {
    let magnitude = float.abs();
    let shortest = Shortest::of(float);
    if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        return shortest.decimal_form();
    }
    let min_exponent_digits = if shortest.exponent() < 0 { 1 } else { 2 };
    shortest.exponent_form(min_exponent_digits)
}

/// `int64(f)` on amd64, where API servers run: truncation, and the smallest integer for whatever does not fit.
#[allow(clippy::cast_possible_truncation)]
pub fn to_int64(f: f64) -> i64 {
    /// 2^63.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&f) {
        f as i64
    } else {
        i64::MIN
    }
}

/// The shortest decimal digits that read back as a float: Go and `zmij` choose the same, the even one of two that are
/// equally near, where the standard library takes the upper one.
pub(crate) struct Shortest {
    negative: bool,
    /// Significant digits, without leading or trailing zeros unless the number is zero.
    digits: String,
    /// The number is `0.digits` times ten to this.
    point: i32,
}

impl Shortest {
    /// The digits of a finite float.
    pub(crate) fn of(float: f64) -> Self {
        Self::parse(zmij::Buffer::new().format_finite(float))
    }

    /// The digits of a finite float of single precision.
    pub(crate) fn of_single(float: f32) -> Self {
        Self::parse(zmij::Buffer::new().format_finite(float))
    }

    fn parse(text: &str) -> Self {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let exponent: i32 = exponent.parse().expect("an exponent is a small integer");
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let written = [whole, fraction].concat();
        let significant = written.trim_start_matches('0');
        let leading_zeros = written.len() - significant.len();
        let digits = significant.trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Self {
                negative,
                digits: "0".to_owned(),
                point: 1,
            };
        }
        Self {
            negative,
            digits,
            point: exponent + small(whole.len()) - small(leading_zeros),
        }
    }

    /// Exponent of the number as `d.ddd` times ten to it.
    pub(crate) fn exponent(&self) -> i32 {
        self.point - 1
    }

    /// The form `-1.5e-07`, as Go's `FormatFloat` has it for `e` where `min_exponent_digits` is two.
    pub(crate) fn exponent_form(&self, min_exponent_digits: usize) -> String {
        let sign = if self.negative { "-" } else { "" };
        let (first, rest) = self.digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let exponent_sign = if self.exponent() < 0 { '-' } else { '+' };
        let exponent = self.exponent().unsigned_abs();
        format!("{sign}{first}{point}{rest}e{exponent_sign}{exponent:0min_exponent_digits$}")
    }

    /// The form that Go's `FormatFloat` has for `g`: with an exponent below 1e-4 and from 1e6.
    pub(crate) fn general_form(&self) -> String {
        if (-4..6).contains(&self.exponent()) {
            self.decimal_form()
        } else {
            self.exponent_form(2)
        }
    }

    /// The form `-0.0015`, as Go's `FormatFloat` has it for `f`.
    pub(crate) fn decimal_form(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        let digits = &self.digits;
        match usize::try_from(self.point) {
            Err(_) | Ok(0) => {
                let zeros = "0".repeat(self.point.unsigned_abs() as usize);
                format!("{sign}0.{zeros}{digits}")
            }
            Ok(point) if point >= digits.len() => format!("{sign}{digits:0<point$}"),
            Ok(point) => {
                let (whole, fraction) = digits.split_at(point);
                format!("{sign}{whole}.{fraction}")
            }
        }
    }
}

fn small(len: usize) -> i32 {
    i32::try_from(len).expect("a float has few digits")
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
            (5e-324, "5e-324"),
            // Of two that are equally near, the even one.
            (2e23, "2e+23"),
            (9.5e-324, "1e-323"),
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
            assert_eq!(float_as_json(f), text);
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
