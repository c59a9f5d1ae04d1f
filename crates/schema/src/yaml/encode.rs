//! Writes a value as go-yaml v2 does what it has read of the value's JSON.

use super::construct::decode;
use super::emitter::{Emitter, Style, is_break, is_printable};
use super::error::Error;
use super::merge_sort::merge_sort;
use super::resolve::{Scalar, resolve};
use crate::go::{self, Shortest};
use crate::json::{self, MAX_INDENTATION};
use crate::value::{Value, deeper};

/// Length of a key, bytes, beyond which `?` goes before it.
const MAX_SIMPLE_KEY: usize = 128;

/// Appends a value as `sigs.k8s.io/yaml`'s `Marshal` writes it, with the line break at the end.
///
/// `Marshal` writes what go-yaml reads of the value's JSON. So it fails, and nothing is appended, where a string has a
/// control character that go-yaml refuses and JSON does not escape (U+007F, say), and U+0085 becomes a space. A value
/// that would need more than 16 MiB of indentation becomes JSON, which is YAML too.
pub fn encode(value: &Value, out: &mut Vec<u8>) -> Result<(), Error> {
    let start = out.len();
    if !write(value, out) {
        return Ok(());
    }
    out.truncate(start);
    let mut as_json = Vec::new();
    json::encode(value, &mut as_json);
    write(&decode(&as_json)?.value, out);
    Ok(())
}

/// Appends a value, and says whether one of its strings may not survive the way through JSON.
fn write(value: &Value, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    let mut encoder = Encoder {
        emitter: Emitter::new(out),
        is_fragile: false,
    };
    encoder.node(value, Place::Root);
    encoder.emitter.line();
    let is_fragile = encoder.is_fragile;
    if encoder.is_full() {
        out.truncate(start);
        json::encode(value, out);
        out.push(b'\n');
    }
    is_fragile
}

struct Encoder<'a> {
    emitter: Emitter<'a>,
    /// Whether a string has a character that [`is_fragile`].
    is_fragile: bool,
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Root,
    Item,
    /// The value of a field.
    Field,
}

impl Encoder<'_> {
    fn node(&mut self, value: &Value, place: Place) {
        match value {
            Value::Null => self.plain("null"),
            Value::Bool(true) => self.plain("true"),
            Value::Bool(false) => self.plain("false"),
            Value::Int(int) => self.plain(&int.to_string()),
            Value::Float(float) => self.plain(&format_number(*float)),
            Value::String(string) => {
                self.is_fragile |= string.contains(is_fragile);
                self.emitter.scalar(string, style(string, false), false);
            }
            Value::Array(list) if list.is_empty() => self.empty("[]"),
            Value::Object(map) if map.is_empty() => self.empty("{}"),
            Value::Array(list) => {
                let is_indentless = place == Place::Field && !self.emitter.is_indention();
                let before = self.emitter.increase_indent(is_indentless);
                for item in list.iter() {
                    if self.is_full() {
                        break;
                    }
                    self.emitter.line();
                    self.emitter.block_indicator(b'-');
                    deeper(|| self.node(item, Place::Item));
                }
                self.emitter.restore_indent(before);
            }
            Value::Object(map) => {
                let before = self.emitter.increase_indent(false);
                let fields: Vec<_> = map.iter().collect();
                for (key, value) in merge_sort(&fields, &|(a, _), (b, _)| is_less(a, b)) {
                    if self.is_full() {
                        break;
                    }
                    self.emitter.line();
                    self.key(key);
                    deeper(|| self.node(value, Place::Field));
                }
                self.emitter.restore_indent(before);
            }
        }
    }

    fn key(&mut self, key: &str) {
        self.is_fragile |= key.contains(is_fragile);
        if key.len() <= MAX_SIMPLE_KEY && !key.contains(is_break) {
            self.emitter.scalar(key, style(key, true), true);
            self.emitter.indicator(":");
        } else {
            self.emitter.block_indicator(b'?');
            self.emitter.scalar(key, style(key, false), false);
            self.emitter.line();
            self.emitter.block_indicator(b':');
        }
    }

    fn plain(&mut self, text: &str) {
        self.emitter.scalar(text, Style::Plain, false);
    }

    fn empty(&mut self, brackets: &str) {
        self.emitter.space();
        self.emitter.indicator(brackets);
    }

    fn is_full(&self) -> bool {
        self.emitter.indentation() > MAX_INDENTATION
    }
}

/// Whether a character stands for itself in JSON, but go-yaml may not read it as itself.
fn is_fragile(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// A number as go-yaml writes what it reads of the number's JSON: an integer where that has neither point nor
/// exponent and fits 64 bits, else with an exponent from 1e6.
fn format_number(float: f64) -> String {
    let literal = go::float_as_json(float);
    match resolve(&literal) {
        Scalar::Int(int) => int.to_string(),
        Scalar::Uint(int) => int.to_string(),
        _ => Shortest::of(float).general_form(),
    }
}

/// The style of a string.
fn style(text: &str, is_simple_key: bool) -> Style {
    let analysis = Analysis::of(text);
    if text.contains('\n') {
        if analysis.allows_block && !is_simple_key {
            return Style::Literal;
        }
        return Style::DoubleQuoted;
    }
    if !matches!(resolve(text), Scalar::String(_)) || is_base60_float(text) {
        return Style::DoubleQuoted;
    }
    if analysis.allows_plain && !(text.is_empty() && is_simple_key) {
        Style::Plain
    } else if analysis.allows_single_quoted {
        Style::SingleQuoted
    } else {
        Style::DoubleQuoted
    }
}

/// What styles a string allows outside of brackets.
struct Analysis {
    allows_plain: bool,
    allows_single_quoted: bool,
    allows_block: bool,
}

impl Analysis {
    fn of(text: &str) -> Self {
        let is_edge = |c: char| c == ' ' || is_break(c);
        let mut has_break = false;
        let mut has_special = false;
        let mut has_break_space = false;
        let mut has_space_break = false;
        let mut previous = None;
        for c in text.chars() {
            has_special |= !is_printable(c);
            has_break |= is_break(c);
            has_break_space |= c == ' ' && previous.is_some_and(is_break);
            has_space_break |= is_break(c) && previous == Some(' ');
            previous = Some(c);
        }
        let is_fragile = has_special || has_space_break;
        Self {
            allows_plain: !has_indicator(text)
                && !text.starts_with(is_edge)
                && !text.ends_with(is_edge)
                && !has_break
                && !is_fragile,
            allows_single_quoted: !has_break_space && !is_fragile,
            allows_block: !text.is_empty() && !text.ends_with(' ') && !is_fragile,
        }
    }
}

/// Whether a plain scalar would be taken for something else, or end early.
fn has_indicator(text: &str) -> bool {
    if text.starts_with("---") || text.starts_with("...") {
        return true;
    }
    let bytes = text.as_bytes();
    let is_blank = |byte: Option<&u8>| matches!(byte, None | Some(b' ' | b'\t'));
    let starts = match bytes.first() {
        Some(
            b'#' | b',' | b'[' | b']' | b'{' | b'}' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%' | b'@'
            | b'`',
        ) => true,
        Some(b'?' | b':' | b'-') => is_blank(bytes.get(1)),
        _ => false,
    };
    starts
        || bytes
            .windows(2)
            .any(|pair| pair[0] == b':' && matches!(pair[1], b' ' | b'\t') || is_blank(pair.first()) && pair[1] == b'#')
        || bytes.len() > 1 && bytes.last() == Some(&b':')
}

/// Whether a string is a sexagesimal number of YAML 1.1, which go-yaml does not read but quotes for others.
fn is_base60_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (numbers, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let is_part = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let mut numbers = numbers.split(':');
    let starts = numbers
        .next()
        .is_some_and(|first| first.starts_with(|c: char| c.is_ascii_digit()) && is_part(first));
    let mut rest = numbers.peekable();
    starts
        && is_part(fraction)
        && rest.peek().is_some()
        && rest.all(|number| match number.as_bytes() {
            [b'0'..=b'9'] => true,
            [tens, ones] => matches!(tens, b'0'..=b'5') && ones.is_ascii_digit(),
            _ => false,
        })
}

/// go-yaml's order of keys: numbers in them by their value, letters after everything else.
fn is_less(a: &str, b: &str) -> bool {
    let same: usize = a
        .chars()
        .zip(b.chars())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum();
    let (rest_a, rest_b) = (&a[same..], &b[same..]);
    let (Some(next_a), Some(next_b)) = (rest_a.chars().next(), rest_b.chars().next()) else {
        return rest_a.is_empty() && !rest_b.is_empty();
    };
    match (next_a.is_alphabetic(), next_b.is_alphabetic()) {
        (true, true) => return next_a < next_b,
        (true, false) => return false,
        (false, true) => return true,
        (false, false) => {}
    }
    // A zero after other digits is one more digit, not the start of a number.
    let continues = (next_a == '0' || next_b == '0') && ends_in_number(&a[..same]);
    let (number_a, length_a) = leading_number(rest_a, continues);
    let (number_b, length_b) = leading_number(rest_b, continues);
    (number_a, length_a, next_a) < (number_b, length_b, next_b)
}

/// Whether the digits at the end of a text are more than zeros.
fn ends_in_number(text: &str) -> bool {
    text.bytes()
        .rev()
        .take_while(u8::is_ascii_digit)
        .any(|digit| digit != b'0')
}

/// The value of the digits that a text begins with, overflowing as in Go, and how many they are.
fn leading_number(text: &str, continues: bool) -> (i64, usize) {
    let digits = text.bytes().take_while(u8::is_ascii_digit);
    digits.fold((i64::from(continues), 0), |(number, length), digit| {
        let number = number.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
        (number, length + 1)
    })
}
