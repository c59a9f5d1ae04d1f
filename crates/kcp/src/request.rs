//! Paths of requests.

use std::fmt::Write;

/// One segment of a path, escaped: what a provider wrote must not lead anywhere else.
///
/// `.` and `..` cannot be escaped in a URL; kcp has nothing of such a name, and neither has what they become here.
pub(crate) fn segment(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let dots_only = text.chars().all(|c| c == '.');
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b':' | b'*' => escaped.push(char::from(byte)),
            b'.' if !dots_only => escaped.push('.'),
            // Writing to a string cannot fail. An escaped escape is no dot for anyone who normalises paths.
            b'.' => escaped.push_str("%252E"),
            byte => write!(escaped, "%{byte:02X}").unwrap_or_default(),
        }
    }
    if escaped.is_empty() {
        // Nothing at all would be the collection.
        escaped.push_str("%20");
    }
    escaped
}

/// A value in a query.
pub(crate) fn value(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leaves_its_segment() {
        for (name, expected) in [
            ("s3.example.com.ephemeral", "s3.example.com.ephemeral"),
            ("root:platform", "root:platform"),
            ("a/../b", "a%2F..%2Fb"),
            ("..", "%252E%252E"),
            ("", "%20"),
            ("a?b#c%2f", "a%3Fb%23c%252f"),
            ("ü", "%C3%BC"),
        ] {
            assert_eq!(segment(name), expected);
        }
    }
}
