use super::{Error, cursor::Cursor};

/// A value as far as its type, and its text if it is a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outline {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number, which may be too large for `float64`.
    Number,
    /// A string.
    String(Box<str>),
    /// An array.
    Array,
    /// An object.
    Object,
}

/// The fields of the object that a text holds, in the order of the text and with those that repeat; none if it holds
/// anything else.
///
/// For decoding into a Go struct, which takes fields in this order and knows keys by more than their exact text. A text
/// that [`decode`](super::decode) finds a syntax error in has no fields after that, and may have none.
pub fn outline(text: &[u8]) -> Vec<(Box<str>, Outline)> {
    let mut fields = Vec::new();
    let mut cursor = Cursor::new(text);
    if cursor.peek() == Some(b'{') {
        // What is wrong with the text is for `decode` to say.
        let _ = read_fields(&mut cursor, &mut fields);
    }
    fields
}

fn read_fields(cursor: &mut Cursor<'_>, fields: &mut Vec<(Box<str>, Outline)>) -> Result<(), Error> {
    cursor.advance();
    while cursor.peek() == Some(b'"') {
        let key = cursor.string()?.into();
        // The colon.
        cursor.peek();
        cursor.advance();
        let value = read_value(cursor)?;
        fields.push((key, value));
        if cursor.peek() != Some(b',') {
            break;
        }
        cursor.advance();
    }
    Ok(())
}

fn read_value(cursor: &mut Cursor<'_>) -> Result<Outline, Error> {
    let outline = match cursor.peek() {
        Some(b'"') => return Ok(Outline::String(cursor.string()?.into())),
        Some(b'{') => Outline::Object,
        Some(b'[') => Outline::Array,
        Some(b't' | b'f') => Outline::Bool,
        Some(b'n') => Outline::Null,
        _ => Outline::Number,
    };
    let mut depth = 0_usize;
    loop {
        match cursor.peek() {
            Some(b'"') => {
                cursor.string()?;
                continue;
            }
            Some(b'{' | b'[') => depth += 1,
            Some(b'}' | b']') if depth > 0 => depth -= 1,
            Some(b',' | b'}' | b']') | None if depth == 0 => return Ok(outline),
            None => return Err(cursor.unexpected("")),
            Some(_) => {}
        }
        cursor.advance();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_and_repetition() {
        let text = br#" {"b": 1e400, "a": "x\u00e9", "b": {"c": ["}", 1]}, "a": [[], {}], "n": null, "t": true} "#;
        let fields = outline(text);
        let keys: Vec<_> = fields.iter().map(|(key, _)| &**key).collect();
        assert_eq!(keys, ["b", "a", "b", "a", "n", "t"]);
        let values: Vec<_> = fields.into_iter().map(|(_, value)| value).collect();
        assert_eq!(
            values,
            [
                Outline::Number,
                Outline::String("xé".into()),
                Outline::Object,
                Outline::Array,
                Outline::Null,
                Outline::Bool
            ]
        );
    }

    #[test]
    fn has_no_fields_of_anything_else() {
        for text in ["", "null", "[{\"a\":1}]", "{}", "{\"a\"", "{\"a\":[[", "{\"a\":}}", "x"] {
            assert!(outline(text.as_bytes()).iter().all(|(key, _)| &**key == "a"), "{text}");
        }
    }
}
