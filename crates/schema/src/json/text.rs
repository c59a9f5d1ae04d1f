//! Text that is no Unicode, as Go's decoder takes it.

use super::cursor::replace_invalid;

/// The document with U+FFFD where Go's decoder reads it: for bytes that are not UTF-8, and for escaped surrogates without
/// a partner, as a text leaves them that was cut within an emoji. For decoders that refuse both.
pub fn replace_invalid_text(document: &[u8]) -> String {
    let text = replace_invalid(document);
    let mut out = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('\\') {
        let (before, escaped) = rest.split_at(at);
        out.push_str(before);
        let length = match code_unit(escaped) {
            Some(0xd800..=0xdbff) if matches!(code_unit(&escaped[6..]), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                out.push_str("\\ufffd");
                rest = &escaped[6..];
                continue;
            }
            Some(_) => 6,
            None => 1 + escaped[1..].chars().next().map_or(0, char::len_utf8),
        };
        let (escape, after) = escaped.split_at(length);
        out.push_str(escape);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The value of `\uXXXX` at the beginning.
fn code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    // `from_str_radix` takes a sign too.
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_unicode_is_replaced_and_nothing_else() {
        for (document, expected) in [
            (&br#"{"a":"b"}"#[..], r#"{"a":"b"}"#),
            (br#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (br#""\ud83d""#, r#""\ufffd""#),
            (br#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
            (br#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (br#""\ud83dx""#, r#""\ufffdx""#),
            (br#""\\ud83d""#, r#""\\ud83d""#),
            (br#""\\\ud83d""#, r#""\\\ufffd""#),
            (br#""\u+12 \u12""#, r#""\u+12 \u12""#),
            (b"\"a\xffb\"", "\"a\u{fffd}b\""),
            (b"\\", "\\"),
            ("\\\u{e9}".as_bytes(), "\\\u{e9}"),
        ] {
            assert_eq!(replace_invalid_text(document), expected);
        }
    }
}
