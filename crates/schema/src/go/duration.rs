//! Durations as Go reads them: `time.ParseDuration`.

use std::fmt::Write as _;

/// Why a text is no duration; reads like Go's error.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum DurationError {
    /// Not of the form, or outside of what 64 bits of nanoseconds hold.
    #[error("time: invalid duration {0}")]
    Invalid(String),
    /// A number without a unit.
    #[error("time: missing unit in duration {0}")]
    MissingUnit(String),
    /// A unit that Go does not know.
    #[error("time: unknown unit {unit} in duration {text}")]
    UnknownUnit {
        /// The unit, quoted.
        unit: String,
        /// The whole text, quoted.
        text: String,
    },
}

/// The largest magnitude, reached only by a negative duration.
const LIMIT: u64 = 1 << 63;

/// Reads a duration as `time.ParseDuration` does, nanoseconds.
///
/// ```
/// assert_eq!(structural_schema::go::parse_duration("1.5h"), Ok(5_400_000_000_000));
/// let error = structural_schema::go::parse_duration("10").unwrap_err();
/// assert_eq!(error.to_string(), r#"time: missing unit in duration "10""#);
/// ```
pub fn parse_duration(text: &str) -> Result<i64, DurationError> {
    let invalid = || DurationError::Invalid(quote(text));
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (number, after) = Number::read(rest).ok_or_else(invalid)?;
        let end = after
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        if unit.is_empty() {
            return Err(DurationError::MissingUnit(quote(text)));
        }
        let Some(unit) = nanoseconds(unit) else {
            return Err(DurationError::UnknownUnit {
                unit: quote(unit),
                text: quote(text),
            });
        };
        total = number
            .times(unit)
            .and_then(|part| total.checked_add(part))
            .ok_or_else(invalid)?;
        if total > LIMIT {
            return Err(invalid());
        }
        rest = after;
    }
    match (negative, i64::try_from(total)) {
        (true, Ok(total)) => Ok(-total),
        (true, Err(_)) => Ok(i64::MIN),
        (false, Ok(total)) => Ok(total),
        (false, Err(_)) => Err(invalid()),
    }
}

fn nanoseconds(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        // U+00B5, the micro sign, and U+03BC, the Greek letter.
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// Digits before and after a point.
struct Number {
    whole: u64,
    fraction: u64,
    /// Ten to the power of the digits in `fraction`.
    scale: f64,
}

impl Number {
    fn read(text: &str) -> Option<(Self, &str)> {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (digits, mut rest) = text.split_at(end);
        let whole = if digits.is_empty() {
            0
        } else {
            digits.parse().ok().filter(|whole| *whole <= LIMIT)?
        };
        let (mut fraction, mut scale, mut any) = (0_u64, 1.0, !digits.is_empty());
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
            any |= end > 0;
            // Digits beyond what 64 bits hold are too small to matter, and Go drops them too.
            for digit in after[..end].bytes() {
                if fraction > (LIMIT - 1) / 10 {
                    break;
                }
                (fraction, scale) = (fraction * 10 + u64::from(digit - b'0'), scale * 10.0);
            }
            rest = &after[end..];
        }
        any.then_some((Self { whole, fraction, scale }, rest))
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss
    )]
    fn times(&self, unit: u64) -> Option<u64> {
        let whole = self.whole.checked_mul(unit)?;
        whole.checked_add((self.fraction as f64 * (unit as f64 / self.scale)) as u64)
    }
}

/// Go's `time.quote`: backslash, quote, control and non-ASCII bytes are escaped.
fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            ' '..='~' => quoted.push(character),
            _ => {
                let mut bytes = [0; 4];
                for byte in character.encode_utf8(&mut bytes).bytes() {
                    _ = write!(quoted, "\\x{byte:02x}");
                }
            }
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_go_reads_them() {
        for (text, expected) in [
            ("0", 0),
            ("-0", 0),
            ("10s", 10_000_000_000),
            ("1h2m3s4ms5us6ns", 3_723_004_005_006),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("-1.5h", -5_400_000_000_000),
            ("9223372036854775807ns", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
            ("0.3333333333333333333h", 1_200_000_000_000),
            ("1µs", 1_000),
            ("1μs", 1_000),
        ] {
            assert_eq!(parse_duration(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn errors_read_like_gos() {
        for (text, expected) in [
            ("", "time: invalid duration \"\""),
            ("x", "time: invalid duration \"x\""),
            ("10", "time: missing unit in duration \"10\""),
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
            (".s", "time: invalid duration \".s\""),
            (
                "9223372036854775808ns",
                "time: invalid duration \"9223372036854775808ns\"",
            ),
            ("é", "time: invalid duration \"\\xc3\\xa9\""),
        ] {
            assert_eq!(parse_duration(text).unwrap_err().to_string(), expected);
        }
    }
}
