use std::fmt::Write as _;

/// The shortest decimal digits that read back as a float, and where its decimal point lies.
pub(super) struct Shortest {
    pub(super) negative: bool,
    /// Significant digits, without leading or trailing zeros unless the number is zero.
    pub(super) digits: String,
    /// Exponent of the first digit: the number is `d.ddd` times ten to this.
    pub(super) exponent: i32,
}

impl Shortest {
    pub(super) fn of(float: f64) -> Self {
        let mut text = String::with_capacity(32);
        write!(text, "{:e}", float.abs()).expect("a string takes whatever is written to it");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        Self {
            negative: float.is_sign_negative(),
            digits: mantissa.replace('.', ""),
            exponent: exponent.parse().unwrap_or_default(),
        }
    }

    /// Writes the form `-1.5e-07` that Go's `FormatFloat` has for `e`: an exponent of two digits or more.
    pub(super) fn write_exponent_form(&self, min_exponent_digits: usize, out: &mut Vec<u8>) {
        if self.negative {
            out.push(b'-');
        }
        let (first, rest) = self.digits.split_at(1);
        out.extend_from_slice(first.as_bytes());
        if !rest.is_empty() {
            out.push(b'.');
            out.extend_from_slice(rest.as_bytes());
        }
        out.extend_from_slice(if self.exponent < 0 { b"e-" } else { b"e+" });
        let exponent = format!("{:0min_exponent_digits$}", self.exponent.unsigned_abs());
        out.extend_from_slice(exponent.as_bytes());
    }
}

/// Writes a float as Go's `encoding/json` does: decimals for what lies from 1e-6 to below 1e21, else an exponent of
/// as many digits as it needs if negative, of two or more if positive.
pub(super) fn write_float(float: f64, out: &mut Vec<u8>) {
    let magnitude = float.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        let shortest = Shortest::of(float);
        let min_exponent_digits = if shortest.exponent < 0 { 1 } else { 2 };
        shortest.write_exponent_form(min_exponent_digits, out);
    } else {
        out.extend_from_slice(format!("{float}").as_bytes());
    }
}
