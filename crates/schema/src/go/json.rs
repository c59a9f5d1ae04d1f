//! `json.Marshal`: what messages hold where a value is neither a string nor a plain number.

use std::fmt::Write;

use super::number::write_json_float;
use crate::value::{Value, deeper};

/// A value as `encoding/json` writes it, `<`, `>` and `&` escaped.
pub(crate) fn write_json(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Int(i) => {
            let _ = write!(out, "{i}");
        }
        Value::Float(f) => write_json_float(*f, out),
        Value::String(s) => write_json_string(s, out),
        Value::Array(items) => deeper(|| {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json(item, out);
            }
            out.push(']');
        }),
        Value::Object(map) => deeper(|| {
            out.push('{');
            for (i, (key, item)) in map.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json_string(key, out);
                out.push(':');
                write_json(item, out);
            }
            out.push('}');
        }),
    }
}

/// A string as `encoding/json` writes it.
pub(crate) fn write_json_string(s: &str, out: &mut String) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\x1f' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Map;

    #[test]
    fn values_encode_as_encoding_json_encodes_them() {
        let map: Map = [("b", Value::from("<a>\u{1}\u{2028}")), ("a", Value::Float(1.0))]
            .into_iter()
            .collect();
        let mut out = String::new();
        write_json(
            &Value::from(vec![Value::Null, Value::from(map), Value::Int(-1)]),
            &mut out,
        );
        assert_eq!(out, r#"[null,{"a":1,"b":"\u003ca\u003e\u0001\u2028"},-1]"#);
    }
}
