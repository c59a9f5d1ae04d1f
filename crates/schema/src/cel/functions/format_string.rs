//! `string.format()`: version 2 of cel-go's string library (`ext/formatting.go`).

use super::super::cost::Meter;
use super::super::error::{EvalError, Outcome};
use super::super::go;
use super::super::value::{Key, List, Map, Value};
use super::conversion::text_of;
use crate::go::quote;
use crate::value::deeper;

/// Digits after the point where a clause does not say how many.
const DEFAULT_PRECISION: usize = 6;
/// Digits after the point at most. Kubernetes has no limit of its own; doubles have at most 1,074 digits there that are
/// not zero.
const MAX_PRECISION: usize = 10_000;

/// A clause of a format string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clause {
    String,
    Decimal,
    Fixed(usize),
    Scientific(usize),
    Binary,
    Hex { upper: bool },
    Octal,
}

impl Clause {
    /// cel-go's complaint about an argument of another type.
    pub(crate) fn mismatch(self, ty: &str) -> String {
        match self {
            Self::String => format!(
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, \
                 durations, and timestamps, was given {ty}"
            ),
            Self::Decimal => format!("decimal clause can only be used on integers, was given {ty}"),
            Self::Fixed(_) => format!("fixed-point clause can only be used on doubles, was given {ty}"),
            Self::Scientific(_) => format!("scientific clause can only be used on doubles, was given {ty}"),
            Self::Binary => format!("only integers and bools can be formatted as binary, was given {ty}"),
            Self::Hex { .. } => {
                format!("only integers, byte buffers, and strings can be formatted as hex, was given {ty}")
            }
            Self::Octal => format!("octal clause can only be used on integers, was given {ty}"),
        }
    }
}

/// Reads a format string, asking `write` for the text of each clause.
///
/// # Errors
///
/// cel-go's words; those of `write` as the reason of an error during formatting, but for an argument that is not there.
pub(crate) fn parse_format(
    format: &str,
    mut write: impl FnMut(Clause) -> Result<String, String>,
) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = format;
    while let Some(percent) = rest.find('%') {
        out.push_str(&rest[..percent]);
        rest = &rest[percent + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let parsed = parse_clause(rest);
        // An argument that is not there is found before the clause is read.
        let clause = parsed.as_ref().map_or(Clause::String, |(clause, _)| *clause);
        let written = write(clause);
        if let Err(error) = &written
            && error.starts_with("index ")
        {
            return Err(error.clone());
        }
        if rest.is_empty() {
            return Err("unexpected end of string".to_owned());
        }
        let (_, after) = parsed.map_err(|error| format!("could not parse formatting clause: {error}"))?;
        out.push_str(&written.map_err(|error| format!("error during formatting: {error}"))?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

fn parse_clause(text: &str) -> Result<(Clause, &str), String> {
    let (precision, rest) = parse_precision(text)?;
    let digits = precision.unwrap_or(DEFAULT_PRECISION);
    // The clause is a byte in cel-go.
    let Some(byte) = rest.bytes().next() else {
        return Err("unexpected end of string".to_owned());
    };
    let clause = match byte {
        b's' => Clause::String,
        b'd' => Clause::Decimal,
        b'f' => Clause::Fixed(digits),
        b'e' => Clause::Scientific(digits),
        b'b' => Clause::Binary,
        b'x' => Clause::Hex { upper: false },
        b'X' => Clause::Hex { upper: true },
        b'o' => Clause::Octal,
        other => return Err(format!("unrecognized formatting clause \"{}\"", char::from(other))),
    };
    Ok((clause, &rest[1..]))
}

fn parse_precision(text: &str) -> Result<(Option<usize>, &str), String> {
    let Some(after) = text.strip_prefix('.') else {
        return Ok((None, text));
    };
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    if digits == after.len() {
        return Err("error while parsing precision: could not find end of precision specifier".to_owned());
    }
    let (digits, rest) = after.split_at(digits);
    match digits.parse::<i64>() {
        Ok(precision) => Ok((Some(usize::try_from(precision).unwrap_or(0)), rest)),
        Err(_) => Err(format!(
            "error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing {}: {}",
            quote(digits),
            if digits.is_empty() {
                "invalid syntax"
            } else {
                "value out of range"
            }
        )),
    }
}

/// Formats a list of arguments.
pub(super) fn format(format: &str, args: &List<'_>, meter: &mut Meter) -> Outcome<String> {
    let mut used = 0;
    let mut over = None;
    let formatted = parse_format(format, |clause| {
        let arg = args
            .get(used)
            .ok_or_else(|| format!("index {used} out of range"))?
            .map_err(|error| error.to_string())?;
        used += 1;
        let text = write(clause, &arg)?;
        if let Err(error) = meter.read(text.len() * 4) {
            over = Some(error);
        }
        Ok(text)
    });
    match over {
        Some(error) => Err(error),
        None => formatted.map_err(EvalError::failed),
    }
}

fn write(clause: Clause, arg: &Value<'_>) -> Result<String, String> {
    match (clause, arg) {
        (Clause::String, arg) => write_string(arg),
        (Clause::Decimal | Clause::Binary | Clause::Octal | Clause::Hex { .. }, Value::Int(i)) => {
            let sign = if *i < 0 { "-" } else { "" };
            Ok(format!("{sign}{}", in_base(clause, i.unsigned_abs())))
        }
        (Clause::Decimal | Clause::Binary | Clause::Octal | Clause::Hex { .. }, Value::Uint(u)) => {
            Ok(in_base(clause, *u))
        }
        (Clause::Binary, Value::Bool(b)) => Ok(if *b { "1" } else { "0" }.to_owned()),
        (Clause::Hex { upper }, Value::String(text)) => Ok(hex(text.as_str().as_bytes(), upper)),
        (Clause::Hex { upper }, Value::Bytes(bytes)) => Ok(hex(bytes, upper)),
        (Clause::Fixed(precision), arg) => number(arg)
            .map(|number| fixed(number, precision))
            .ok_or_else(|| clause.mismatch(arg.type_name())),
        (Clause::Scientific(precision), arg) => number(arg)
            .map(|number| scientific(number, precision))
            .ok_or_else(|| clause.mismatch(arg.type_name())),
        (clause, arg) => Err(clause.mismatch(arg.type_name())),
    }
}

fn in_base(clause: Clause, number: u64) -> String {
    match clause {
        Clause::Binary => format!("{number:b}"),
        Clause::Octal => format!("{number:o}"),
        Clause::Hex { upper: true } => format!("{number:X}"),
        Clause::Hex { upper: false } => format!("{number:x}"),
        _ => number.to_string(),
    }
}

fn hex(bytes: &[u8], upper: bool) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = if upper {
            write!(out, "{byte:02X}")
        } else {
            write!(out, "{byte:02x}")
        };
    }
    out
}

/// A double, or one of the strings that stand for those that JSON cannot hold.
fn number(arg: &Value<'_>) -> Option<f64> {
    match arg {
        Value::Double(d) => Some(*d),
        Value::String(text) if matches!(text.as_str(), "NaN" | "Infinity" | "-Infinity") => {
            go::parse_float(text.as_str())
        }
        _ => None,
    }
}

/// Infinities and NaN as the English locale writes them.
fn special(number: f64) -> Option<&'static str> {
    if number.is_nan() {
        Some("NaN")
    } else if number.is_infinite() {
        Some(if number > 0.0 { "∞" } else { "-∞" })
    } else {
        None
    }
}

/// Digits as the English locale groups them.
fn fixed(number: f64, precision: usize) -> String {
    if let Some(special) = special(number) {
        return special.to_owned();
    }
    let text = format!("{number:.*}", precision.min(MAX_PRECISION));
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", &*text),
    };
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(w, f)| (w, Some(f)));
    let mut out = sign.to_owned();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// The exponent as the English locale writes it, in superscript digits.
fn scientific(number: f64, precision: usize) -> String {
    if let Some(special) = special(number) {
        return special.to_owned();
    }
    let text = format!("{number:.*e}", precision.min(MAX_PRECISION));
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ("⁻", exponent),
        None => ("", exponent),
    };
    let superscript: String = format!("{exponent:0>2}")
        .chars()
        .map(|digit| match digit {
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            '4' => '⁴',
            '5' => '⁵',
            '6' => '⁶',
            '7' => '⁷',
            '8' => '⁸',
            '9' => '⁹',
            _ => '⁰',
        })
        .collect();
    format!("{digits}\u{a0}×\u{a0}10{sign}{superscript}")
}

/// `%s`
fn write_string(arg: &Value<'_>) -> Result<String, String> {
    match arg {
        Value::List(list) => write_list(list),
        Value::Map(map) => write_map(map),
        Value::Null => Ok("null".to_owned()),
        Value::Int(_)
        | Value::Uint(_)
        | Value::Double(_)
        | Value::Bool(_)
        | Value::String(_)
        | Value::Timestamp(_)
        | Value::Bytes(_)
        | Value::Duration(_)
        | Value::Type(_) => {
            text_of(arg).map_err(|error| format!("could not convert argument {} to string", quote(&error.to_string())))
        }
        other => Err(Clause::String.mismatch(other.type_name())),
    }
}

/// An element of a list or map, as it is written in an expression.
fn write_element(value: &Value<'_>) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(quote(text.as_str())),
        Value::Bytes(_) => Ok(format!("b{}", quote(&write_string(value)?))),
        Value::Timestamp(time) => Ok(format!("timestamp({})", quote(&time.to_rfc3339()))),
        Value::Duration(duration) => Ok(format!("duration({})", quote(&duration.to_cel_string()))),
        Value::Double(d) if d.is_nan() => Ok("\"NaN\"".to_owned()),
        Value::Double(d) if d.is_infinite() => Ok(if *d > 0.0 { "\"+Inf\"" } else { "\"-Inf\"" }.to_owned()),
        Value::Double(d) => Ok(format!("{d:.DEFAULT_PRECISION$}")),
        Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Null | Value::Type(_) => write_string(value),
        Value::List(list) => deeper(|| write_list(list)),
        Value::Map(map) => deeper(|| write_map(map)),
        other => Err(format!("no formatting function for {}", other.type_name())),
    }
}

fn write_list(list: &List<'_>) -> Result<String, String> {
    let mut items = Vec::with_capacity(list.len().min(1_000_000));
    for item in list {
        items.push(write_element(&item.map_err(|error| error.to_string())?)?);
    }
    Ok(format!("[{}]", items.join(", ")))
}

fn write_map(map: &Map<'_>) -> Result<String, String> {
    let mut entries = Vec::new();
    for key in map.keys() {
        let text = match Key::of(&key) {
            Some(Key::String(text)) => quote(&text),
            Some(Key::Bool(b)) => b.to_string(),
            Some(Key::Int(i)) => i.to_string(),
            Some(Key::Uint(u)) => u.to_string(),
            _ => {
                return Err(format!(
                    "no formatting function for map key of type {}",
                    key.type_name()
                ));
            }
        };
        let value = map
            .find(&key)
            .map_err(|error| error.to_string())?
            .ok_or_else(|| format!("could not find key: {}", quote(&key.to_string())))?;
        entries.push((text, write_element(&value)?));
    }
    entries.sort();
    let entries: Vec<_> = entries
        .into_iter()
        .map(|(key, value)| format!("{key}:{value}"))
        .collect();
    Ok(format!("{{{}}}", entries.join(", ")))
}
