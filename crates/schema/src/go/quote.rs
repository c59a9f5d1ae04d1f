//! `strconv.Quote`, which `%q` uses.

use std::fmt::Write;
use std::sync::LazyLock;

use regex::Regex;

/// Go 1.26 knows Unicode 15: what later versions assign is not printable to it.
static PRINTABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[[\p{L}\p{M}\p{N}\p{P}\p{S}]&&\p{age:15.0}]$").expect("a pattern of this crate compiles")
});

/// `unicode.IsPrint`: letters, marks, numbers, punctuation, symbols and the ASCII space.
pub(crate) fn is_print(c: char) -> bool {
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    let mut buffer = [0; 4];
    PRINTABLE.is_match(c.encode_utf8(&mut buffer))
}

/// A string as a Go string literal.
pub(crate) fn quote(s: &str) -> String {
    let mut out = String::with_capacity(s.len() + 2);
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            c if is_print(c) => out.push(c),
            c => escape(c, &mut out),
        }
    }
    out.push('"');
    out
}

fn escape(c: char, out: &mut String) {
    let code = u32::from(c);
    let _ = match code {
        0..=0x7f => write!(out, "\\x{code:02x}"),
        0x80..=0xffff => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted_as_go_quotes_them() {
        for (s, quoted) in [
            ("", r#""""#),
            ("a\"b\\", r#""a\"b\\""#),
            ("\n\t\u{b}\u{7}\u{1}\u{7f}", r#""\n\t\v\a\x01\x7f""#),
            ("é日👩", "\"é日👩\""),
            ("\u{200d}\u{a0}\u{feff}\u{2028}", r#""\u200d\u00a0\ufeff\u2028""#),
            ("e\u{301}", "\"e\u{301}\""),
            ("\u{e0001}", r#""\U000e0001""#),
            ("<&>'", "\"<&>'\""),
        ] {
            assert_eq!(quote(s), quoted);
        }
    }
}
