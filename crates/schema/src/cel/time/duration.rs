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
        crate::go::parse_duration(text).ok().map(Self)
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
