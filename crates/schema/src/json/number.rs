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

/// A float as Go's `encoding/json` writes it: in decimals from 1e-6 to below 1e21, else with an exponent, which has
/// two digits or more only if it is positive.
pub(crate) fn format_float(float: f64) -> String {
    let magnitude = float.abs();
    let shortest = Shortest::of(float);
    if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        return shortest.decimal_form();
    }
    let min_exponent_digits = if shortest.exponent() < 0 { 1 } else { 2 };
    shortest.exponent_form(min_exponent_digits)
}
