//! Durations as Go's `time.Duration`.

use super::NANOS;
use crate::cel::error::{EvalError, Outcome};

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(i64);

impl Duration {
    /// A duration of so many nanoseconds.
    pub const fn from_nanoseconds(nanoseconds: i64) -> Self {
        Self(nanoseconds)
    }

    /// The nanoseconds.
    pub const fn nanoseconds(self) -> i64 {
        self.0
    }

    /// Go's `time.ParseDuration`.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, mut rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "0" {
            return Some(Self(0));
        }
        if rest.is_empty() {
            return None;
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (part, after) = part(rest)?;
            total = total.checked_add(part).filter(|total| *total <= 1 << 63)?;
            rest = after;
        }
        match (negative, i64::try_from(total)) {
            (true, Ok(total)) => Some(Self(-total)),
            (true, Err(_)) => Some(Self(i64::MIN)),
            (false, total) => total.ok().map(Self),
        }
    }

    /// kube-openapi's `strfmt.ParseDuration`, which also takes words and days: `3 days`, `1 hr`.
    pub fn parse_lenient(text: &str) -> Result<Self, String> {
        if let Some(duration) = Self::parse(text) {
            return Ok(duration);
        }
        let mut total: i64 = 0;
        let mut found = false;
        let mut rest = text;
        while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
            rest = &rest[start..];
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let (number, after) = rest.split_at(digits);
            let spaced = after.trim_start_matches(['\t', '\n', '\x0c', '\r', ' ']);
            let letters = spaced
                .find(|c: char| !(c.is_ascii_alphabetic() || c == 'µ'))
                .unwrap_or(spaced.len());
            rest = &spaced[letters..];
            if letters == 0 {
                continue;
            }
            let number: i64 = number
                .parse()
                .map_err(|_| format!("strconv.Atoi: parsing {}: value out of range", crate::go::quote(number)))?;
            for nanoseconds in word_units(&spaced[..letters]) {
                found = true;
                total = total.wrapping_add(number.wrapping_mul(nanoseconds));
            }
        }
        if found {
            Ok(Self(total))
        } else {
            Err(format!("unable to parse {text} as duration"))
        }
    }

    /// Whole seconds, as `string()` writes them: a decimal number and `s`.
    pub(crate) fn to_cel_string(self) -> String {
        format!("{}s", crate::go::float_as_f(self.seconds()))
    }

    /// `Duration.Seconds` of Go: the whole seconds and the rest, added in floating point.
    #[expect(clippy::cast_precision_loss, reason = "Go's is a float64 too")]
    pub(crate) fn seconds(self) -> f64 {
        (self.0 / NANOS) as f64 + (self.0 % NANOS) as f64 / 1e9
    }

    /// `Duration.String` of Go: `1h2m3.5s`.
    pub(crate) fn to_go_string(self) -> String {
        let nanos = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        if nanos == 0 {
            return "0s".to_owned();
        }
        if nanos < 1_000_000_000 {
            let (unit, digits) = match nanos {
                0..1_000 => ("ns", 0),
                1_000..1_000_000 => ("µs", 3),
                _ => ("ms", 6),
            };
            return format!("{sign}{}{unit}", fraction(nanos, digits));
        }
        let minutes = nanos / 60_000_000_000;
        let seconds = fraction(nanos % 60_000_000_000, 9);
        match (minutes / 60, minutes % 60) {
            (0, 0) => format!("{sign}{seconds}s"),
            (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
            (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
        }
    }

    /// The sum, or cel-go's overflow error.
    pub(crate) fn add(self, other: Self) -> Outcome<Self> {
        self.0.checked_add(other.0).map(Self).ok_or_else(duration_overflow)
    }

    /// The difference, or cel-go's overflow error.
    pub(crate) fn subtract(self, other: Self) -> Outcome<Self> {
        self.0.checked_sub(other.0).map(Self).ok_or_else(duration_overflow)
    }

    /// The negative, or cel-go's overflow error.
    pub(crate) fn negate(self) -> Outcome<Self> {
        self.0.checked_neg().map(Self).ok_or_else(duration_overflow)
    }
}

pub(super) fn duration_overflow() -> EvalError {
    EvalError::failed("integer overflow")
}

/// One number with its unit at the beginning of a duration, in nanoseconds, and what follows.
fn part(text: &str) -> Option<(u64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (whole, mut rest) = text.split_at(digits);
    let mut fraction = "";
    if let Some(after) = rest.strip_prefix('.') {
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        (fraction, rest) = after.split_at(digits);
    }
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let letters = rest
        .find(|c: char| c == '.' || c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(letters);
    let unit: u64 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut nanos = whole.checked_mul(unit).filter(|nanos| *nanos <= 1 << 63)?;
    if !fraction.is_empty() {
        nanos = nanos.checked_add(fraction_of(fraction, unit))?;
    }
    (nanos <= 1 << 63).then_some((nanos, rest))
}

/// Go's `leadingFraction`: digits that do not fit are dropped, and the rest is computed in floating point.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "Go computes in float64"
)]
fn fraction_of(digits: &str, unit: u64) -> u64 {
    let mut value: i64 = 0;
    let mut scale = 1.0;
    for digit in digits.bytes() {
        if value > (i64::MAX - 9) / 10 {
            break;
        }
        value = value * 10 + i64::from(digit - b'0');
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

/// `nanos` with `digits` of them behind the point, trailing zeros dropped.
fn fraction(nanos: u64, digits: u32) -> String {
    let scale = 10u64.pow(digits);
    let mut text = (nanos / scale).to_string();
    let rest = nanos % scale;
    if rest > 0 {
        let padded = format!("{rest:0width$}", width = digits as usize);
        text.push('.');
        text.push_str(padded.trim_end_matches('0'));
    }
    text
}

/// The units that a word stands for; strfmt adds up every variant that matches.
fn word_units(word: &str) -> Vec<i64> {
    const UNITS: [(&[&str], i64); 8] = [
        (&["ns", "nano"], 1),
        (&["us", "µs", "micro"], 1_000),
        (&["ms", "milli"], 1_000_000),
        (&["s", "sec"], NANOS),
        (&["m", "min"], 60 * NANOS),
        (&["h", "hr", "hour"], 3_600 * NANOS),
        (&["d", "day"], 86_400 * NANOS),
        (&["w", "wk", "week"], 7 * 86_400 * NANOS),
    ];
    let word = word.to_lowercase();
    let mut found = Vec::new();
    for (variants, nanoseconds) in UNITS {
        for (i, variant) in variants.iter().enumerate() {
            if word == *variant || i + 1 == variants.len() && word.starts_with(variant) {
                found.push(nanoseconds);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, nanoseconds) in [
            ("1.5h", Some(5_400_000_000_000)),
            ("0", Some(0)),
            ("-1.5s", Some(-1_500_000_000)),
            (".5s", Some(500_000_000)),
            ("1µs", Some(1_000)),
            ("9223372036854775808ns", None),
            ("-9223372036854775808ns", Some(i64::MIN)),
            ("1d", None),
            ("", None),
        ] {
            assert_eq!(Duration::parse(text).map(Duration::nanoseconds), nanoseconds, "{text}");
        }
        assert_eq!(Duration::parse_lenient("3 days"), Ok(Duration(3 * 86_400 * NANOS)));
    }

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (nanoseconds, text) in [
            (3_600 * NANOS, "1h0m0s"),
            (-1_500_000_000, "-1.5s"),
            (500_000_000, "500ms"),
            (1_000, "1µs"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ] {
            assert_eq!(Duration(nanoseconds).to_go_string(), text);
        }
    }
}
