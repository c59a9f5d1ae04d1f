//! What a plain scalar stands for: YAML 1.1 as go-yaml v2 reads it.

use super::Error;
use super::timestamp::is_timestamp;

/// The prefix of the tags that YAML itself defines.
const LONG_PREFIX: &str = "tag:yaml.org,2002:";

pub(super) const BINARY: &str = "tag:yaml.org,2002:binary";
pub(super) const MERGE: &str = "tag:yaml.org,2002:merge";

/// A scalar with the type that it has in Go.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar<'a> {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer beyond `int64`.
    Uint(u64),
    Float(f64),
    /// Looks like a time, and is a string all the same.
    Timestamp(&'a str),
    String(&'a str),
}

impl Scalar<'_> {
    /// The name of its tag.
    fn tag(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::Uint(_) => "int",
            Self::Float(_) => "float",
            Self::Timestamp(_) => "timestamp",
            Self::String(_) => "str",
        }
    }
}

/// What a scalar without a tag and without quotes stands for.
pub(super) fn resolve(text: &str) -> Scalar<'_> {
    resolve_hinted(text, true)
}

/// What a scalar with a tag stands for. Tags that are not of YAML leave it a string.
pub(super) fn resolve_tagged<'a>(tag: &str, text: &'a str) -> Result<Scalar<'a>, Error> {
    let name = tag.strip_prefix(LONG_PREFIX);
    let Some(wanted @ ("bool" | "int" | "float" | "null" | "timestamp")) = name else {
        return Ok(Scalar::String(text));
    };
    match (wanted, resolve_hinted(text, wanted == "timestamp")) {
        #[expect(clippy::cast_precision_loss, reason = "go-yaml converts likewise")]
        ("float", Scalar::Int(int)) => Ok(Scalar::Float(int as f64)),
        (_, found) if found.tag() == wanted => Ok(found),
        (_, found) => {
            let problem = format!("cannot decode !!{} `{text}` as a !!{wanted}", found.tag());
            Err(Error::without_line(problem))
        }
    }
}

/// The first character says what a text may be.
fn resolve_hinted(text: &str, may_be_time: bool) -> Scalar<'_> {
    match text.as_bytes().first() {
        None => Scalar::Null,
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => {
            resolve_word(text).unwrap_or(Scalar::String(text))
        }
        Some(b'.') => resolve_word(text)
            .or_else(|| resolve_fraction(text))
            .unwrap_or(Scalar::String(text)),
        Some(b'+' | b'-' | b'0'..=b'9') => resolve_word(text)
            .or_else(|| (may_be_time && is_timestamp(text)).then_some(Scalar::Timestamp(text)))
            .or_else(|| resolve_number(&text.replace('_', "")))
            .unwrap_or(Scalar::String(text)),
        _ => Scalar::String(text),
    }
}

fn resolve_word(text: &str) -> Option<Scalar<'static>> {
    Some(match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Scalar::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Scalar::Bool(false),
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

/// A number that begins with its point. Its underscores must stand between digits, as in Go; in other numbers they may
/// stand anywhere.
fn resolve_fraction(text: &str) -> Option<Scalar<'static>> {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    let are_between_digits = (1..bytes.len())
        .filter(|&at| bytes[at] == b'_')
        .all(|at| is_digit(bytes.get(at - 1)) && is_digit(bytes.get(at + 1)));
    let digits = text.replace('_', "");
    (are_between_digits && is_decimal(&digits)).then(|| parse_float(&digits))?
}

/// A number without underscores.
fn resolve_number(text: &str) -> Option<Scalar<'static>> {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let is_signed = digits.len() != text.len();
    if let Some(magnitude) = parse_magnitude(digits) {
        if let Some(int) = signed(negative, magnitude) {
            return Some(Scalar::Int(int));
        }
        // Go's `ParseUint` takes no sign.
        if !is_signed {
            return Some(Scalar::Uint(magnitude));
        }
    }
    if is_decimal(digits) {
        return parse_float(text);
    }
    // go-yaml takes a sign after this prefix.
    let binary = text.strip_prefix("0b")?;
    i64::from_str_radix(binary, 2).ok().map(Scalar::Int)
}

/// Digits as Go's `ParseInt` reads them where it is to find out the base.
fn parse_magnitude(digits: &str) -> Option<u64> {
    let (base, rest) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    // `from_str_radix` takes a sign, which has been read.
    let is_unsigned = rest.bytes().next().is_some_and(|byte| byte.is_ascii_hexdigit());
    is_unsigned.then(|| u64::from_str_radix(rest, base).ok()).flatten()
}

fn signed(negative: bool, magnitude: u64) -> Option<i64> {
    if negative {
        0_i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    }
}

/// Whether a text is `12`, `12.`, `1.2` or `.2`, with an exponent or without.
fn is_decimal(unsigned: &str) -> bool {
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_exponent = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && are_digits(digits)
    });
    (!whole.is_empty() || !fraction.is_empty()) && are_digits(whole) && are_digits(fraction) && is_exponent
}

/// A number that is too large is none, as in Go.
fn parse_float(text: &str) -> Option<Scalar<'static>> {
    let float: f64 = text.parse().ok()?;
    float.is_finite().then_some(Scalar::Float(float))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolves_as_go_yaml_does() {
        for (text, expected) in [
            ("", Scalar::Null),
            ("on", Scalar::Bool(true)),
            ("yEs", Scalar::String("yEs")),
            ("0x1F", Scalar::Int(31)),
            ("-0b11", Scalar::Int(-3)),
            ("017", Scalar::Int(15)),
            ("08", Scalar::Float(8.0)),
            ("1_000", Scalar::Int(1000)),
            ("1:20", Scalar::String("1:20")),
            ("18446744073709551615", Scalar::Uint(u64::MAX)),
            ("+18446744073709551615", Scalar::Float(18_446_744_073_709_552_000.0)),
            ("-9223372036854775808", Scalar::Int(i64::MIN)),
            ("1e3", Scalar::Float(1000.0)),
            ("1.", Scalar::Float(1.0)),
            ("1e400", Scalar::String("1e400")),
            (".5", Scalar::Float(0.5)),
            ("+.5", Scalar::Float(0.5)),
            (".5_1", Scalar::Float(0.51)),
            ("._5", Scalar::String("._5")),
            (".5__1", Scalar::String(".5__1")),
            (".", Scalar::String(".")),
            ("-", Scalar::String("-")),
            ("0x", Scalar::String("0x")),
            ("0x+1", Scalar::String("0x+1")),
            ("--1", Scalar::String("--1")),
            ("<<", Scalar::String("<<")),
            ("2001-01-01", Scalar::Timestamp("2001-01-01")),
        ] {
            assert_eq!(resolve(text), expected, "{text}");
        }
    }
}
