use std::fmt::Write as _;

/// A string in double quotes as Go's `strconv.Quote` (the verb `%q`) writes it in Kubernetes' messages.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        if c == '"' {
            quoted.push('\\');
            quoted.push(c);
        } else {
            push_escaped(&mut quoted, c);
        }
    }
    quoted.push('"');
    quoted
}

/// Appends a character, escaped as `strconv.Quote` does; quotation marks are left as they are.
pub(super) fn push_escaped(out: &mut String, c: char) {
    let named = match c {
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\u{c}' => 'f',
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\u{b}' => 'v',
        '\\' => '\\',
        _ if is_printable(c) => return out.push(c),
        _ => {
            let code = u32::from(c);
            let written = match code {
                0..0x80 => write!(out, "\\x{code:02x}"),
                0x80..0x1_0000 => write!(out, "\\u{code:04x}"),
                _ => write!(out, "\\U{code:08x}"),
            };
            return written.expect("a string takes whatever is written to it");
        }
    };
    out.push('\\');
    out.push(named);
}

/// Go's `unicode.IsPrint`: letters, marks, numbers, punctuation, symbols and the ASCII space.
fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    // The standard library keeps the same table, but shows it only through `escape_debug`. That also escapes marks
    // that would combine with a quotation mark, which for a string it does only at the beginning.
    let mut buffer = [0; 5];
    buffer[0] = b'.';
    let len = 1 + c.encode_utf8(&mut buffer[1..]).len();
    std::str::from_utf8(&buffer[..len]).is_ok_and(|text| text.escape_debug().count() == 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_as_go_does() {
        for (text, expected) in [
            ("spec.a", r#""spec.a""#),
            ("a\"b\\c'd", r#""a\"b\\c'd""#),
            ("\u{7}\u{8}\u{c}\n\r\t\u{b}\0\u{7f}", r#""\a\b\f\n\r\t\v\x00\x7f""#),
            (
                "é\u{85}\u{a0}\u{ad}\u{200b}\u{feff}",
                r#""é\u0085\u00a0\u00ad\u200b\ufeff""#,
            ),
            ("e\u{301}\u{301}", "\"e\u{301}\u{301}\""),
            ("\u{301}", "\"\u{301}\""),
            ("😀\u{e0001}\u{10ffff}", r#""😀\U000e0001\U0010ffff""#),
            ("\u{fffd}\u{2028}", "\"\u{fffd}\\u2028\""),
        ] {
            assert_eq!(quote(text), expected);
        }
    }
}
