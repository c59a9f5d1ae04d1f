//! JSON for people: Go's `json.Indent` with two spaces, within bounds.

/// Indents compact JSON; `None` if that would take more than `limit` bytes.
///
/// Indentation is not bounded by the size of the value: a value of 3 MiB that is 5,000 levels deep would fill
/// gigabytes.
pub(super) fn indent(json: &[u8], limit: usize) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(json.len() + json.len() / 2);
    walk(json, |piece| {
        let more = match piece {
            Piece::Bytes(bytes) => bytes.len(),
            Piece::Line(depth) => 1 + 2 * depth,
        };
        if out.len() + more > limit {
            return false;
        }
        match piece {
            Piece::Bytes(bytes) => out.extend_from_slice(bytes),
            Piece::Line(_) => {
                out.push(b'\n');
                out.resize(out.len() + more - 1, b' ');
            }
        }
        true
    })
    .then_some(out)
}

enum Piece<'a> {
    Bytes(&'a [u8]),
    /// A line break, and the number of levels that the next line is indented.
    Line(usize),
}

/// Hands over what indented JSON consists of, until `take` says that it is enough; says whether it came to the end.
fn walk<'a>(json: &'a [u8], mut take: impl FnMut(Piece<'a>) -> bool) -> bool {
    let mut depth = 0_usize;
    let mut rest = json;
    while let Some((&byte, after)) = rest.split_first() {
        let empty = matches!((byte, after.first()), (b'{', Some(b'}')) | (b'[', Some(b']')));
        let length = match byte {
            b'"' => string_length(rest),
            _ if empty => 2,
            b'{' | b'[' | b'}' | b']' | b',' | b':' => 1,
            _ => rest.iter().position(|byte| b",]}".contains(byte)).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        let more = match byte {
            b'{' | b'[' if !empty => {
                depth += 1;
                take(Piece::Bytes(token)) && take(Piece::Line(depth))
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                take(Piece::Line(depth)) && take(Piece::Bytes(token))
            }
            b',' => take(Piece::Bytes(token)) && take(Piece::Line(depth)),
            b':' => take(Piece::Bytes(b": ")),
            _ => take(Piece::Bytes(token)),
        };
        if !more {
            return false;
        }
    }
    true
}

/// Bytes of the string that a text begins with, both quotes included.
fn string_length(text: &[u8]) -> usize {
    let mut escaped = false;
    for (at, &byte) in text.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn empty_objects_and_arrays_stay_on_their_line() {
        let json = br#"{"a":{},"b":[],"c":[1,-2.5,"x, {\"y\"}: \\"],"d":{"e":null}}"#;
        let expected = "{\n  \"a\": {},\n  \"b\": [],\n  \"c\": [\n    1,\n    -2.5,\n    \"x, {\\\"y\\\"}: \\\\\"\n  ],\n  \
                        \"d\": {\n    \"e\": null\n  }\n}";
        assert_eq!(String::from_utf8(indent(json, 1000).unwrap()).unwrap(), expected);
    }

    #[test]
    fn what_would_take_too_much_is_not_indented() {
        let deep = format!("{}{}1{}", "[".repeat(5_000), "1,".repeat(1_000_000), "]".repeat(5_000));
        assert!(indent(deep.as_bytes(), 1 << 24).is_none());
    }

    proptest! {
        #[test]
        fn it_is_what_serde_writes(keys in prop::collection::vec("[a-z\"\\\\{,:]{0,5}", 0..6), n: i32) {
            let value = serde_json::json!({"k": keys, "n": [n, {}, [], {"m": keys}], "s": keys.join("]")});
            let compact = serde_json::to_vec(&value).unwrap();
            let pretty = serde_json::to_vec_pretty(&value).unwrap();
            prop_assert_eq!(indent(&compact, pretty.len() - 1), None);
            prop_assert_eq!(indent(&compact, pretty.len()).unwrap(), pretty);
        }
    }
}
