use crate::go;
use crate::value::{Map, Value, deeper};

/// Bytes of indentation beyond which a value is written on one line: what is nested deep would take the square of its
/// length.
pub(crate) const MAX_INDENTATION: usize = 16 * 1024 * 1024;

/// Appends a value as Go's `json.NewEncoder(w).Encode` writes it, without the line break at the end: keys sorted,
/// `<`, `>`, `&`, U+2028 and U+2029 escaped.
pub fn encode(value: &Value, out: &mut Vec<u8>) {
    let mut encoder = Encoder {
        out,
        depth: None,
        indentation: 0,
    };
    encoder.value(value);
}

/// Appends an object; the same as [`encode`] of the value that holds it.
pub fn encode_object(object: &Map, out: &mut Vec<u8>) {
    let mut encoder = Encoder {
        out,
        depth: None,
        indentation: 0,
    };
    encoder.object(object);
}

/// Appends a value as Go's `json.MarshalIndent` writes it with an indent of two spaces, which is what Kubernetes
/// answers to `pretty=true`; without indentation if that would be more than 16 MiB.
pub fn encode_pretty(value: &Value, out: &mut Vec<u8>) {
    let start = out.len();
    let mut encoder = Encoder {
        out,
        depth: Some(0),
        indentation: 0,
    };
    encoder.value(value);
    if encoder.indentation > MAX_INDENTATION {
        out.truncate(start);
        encode(value, out);
    }
}

/// Makes of the numbers of an object what encoding and decoding it would make of them, as happens to an object that
/// Kubernetes stores: 1.0 is written as `1`, which reads as an integer, and -0.0 as `-0`, the integer 0.
pub fn settle_numbers(object: &mut Map) {
    for (_, value) in object.iter_mut() {
        settle(value);
    }
}

fn settle(value: &mut Value) {
    match value {
        Value::Float(float) if float.fract() == 0.0 => {
            // Not the float's own digits: 2^62 is written as `4611686018427388000`.
            if let Ok(int) = go::float_as_json(*float).parse() {
                *value = Value::Int(int);
            }
        }
        Value::Array(items) => deeper(|| items.iter_mut().for_each(settle)),
        Value::Object(map) => deeper(|| settle_numbers(map)),
        _ => {}
    }
}

/// Appends a value to a text, as a message has it.
pub(crate) fn write_json(value: &Value, out: &mut String) {
    let mut bytes = Vec::new();
    encode(value, &mut bytes);
    out.push_str(str::from_utf8(&bytes).expect("JSON of valid strings is UTF-8"));
}

struct Encoder<'a> {
    out: &'a mut Vec<u8>,
    /// Number of arrays and objects that are open, if each item goes on a line of its own.
    depth: Option<usize>,
    /// Bytes of indentation so far.
    indentation: usize,
}

impl Encoder<'_> {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Bool(true) => self.out.extend_from_slice(b"true"),
            Value::Bool(false) => self.out.extend_from_slice(b"false"),
            Value::Int(int) => write_int(*int, self.out),
            Value::Float(float) if float.is_finite() => {
                self.out.extend_from_slice(go::float_as_json(*float).as_bytes());
            }
            Value::Null | Value::Float(_) => self.out.extend_from_slice(b"null"),
            Value::String(string) => write_string(string, self.out),
            Value::Array(list) => self.items(b'[', b']', list.iter(), |encoder, item| {
                deeper(|| encoder.value(item));
            }),
            Value::Object(map) => self.object(map),
        }
    }

    fn object(&mut self, map: &Map) {
        self.items(b'{', b'}', map.iter(), |encoder, (key, item)| {
            write_string(key, encoder.out);
            encoder.out.push(b':');
            if encoder.depth.is_some() {
                encoder.out.push(b' ');
            }
            deeper(|| encoder.value(item));
        });
    }

    fn items<T>(&mut self, open: u8, close: u8, items: impl ExactSizeIterator<Item = T>, write: impl Fn(&mut Self, T)) {
        self.out.push(open);
        let is_empty = items.len() == 0;
        self.depth = self.depth.map(|depth| depth + 1);
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            self.line();
            write(self, item);
        }
        self.depth = self.depth.map(|depth| depth - 1);
        if !is_empty {
            self.line();
        }
        self.out.push(close);
    }

    fn line(&mut self) {
        let Some(depth) = self.depth else { return };
        self.indentation += 2 * depth;
        if self.indentation <= MAX_INDENTATION {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + 2 * depth, b' ');
        }
    }
}

fn write_int(int: i64, out: &mut Vec<u8>) {
    /// Length of `i64::MIN`.
    const MAX_LEN: usize = 20;
    let mut digits = [b'0'; MAX_LEN];
    let mut start = MAX_LEN;
    let mut rest = int.unsigned_abs();
    loop {
        start -= 1;
        digits[start] += u8::try_from(rest % 10).expect("a digit is small");
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if int < 0 {
        start -= 1;
        digits[start] = b'-';
    }
    out.extend_from_slice(&digits[start..]);
}

/// What stands for each byte in a string: nothing if it stands for itself, else the letter of its escape, `u` where
/// there is none. The first byte of U+2028 and U+2029 is marked, since it needs a closer look.
const ESCAPES: [u8; 256] = {
    let mut escapes = [0; 256];
    let mut control = 0;
    while control < 0x20 {
        escapes[control] = b'u';
        control += 1;
    }
    escapes[0x08] = b'b';
    escapes[0x0c] = b'f';
    escapes[b'\n' as usize] = b'n';
    escapes[b'\r' as usize] = b'r';
    escapes[b'\t' as usize] = b't';
    escapes[b'"' as usize] = b'"';
    escapes[b'\\' as usize] = b'\\';
    escapes[b'<' as usize] = b'u';
    escapes[b'>' as usize] = b'u';
    escapes[b'&' as usize] = b'u';
    escapes[0xe2] = SEPARATOR;
    escapes
};
const SEPARATOR: u8 = 1;

fn write_string(string: &str, out: &mut Vec<u8>) {
    const HEX: [u8; 16] = *b"0123456789abcdef";
    let bytes = string.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    let mut copied = 0;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escape = ESCAPES[usize::from(byte)];
        at += 1;
        if escape == 0 {
            continue;
        }
        let end = at - 1;
        match escape {
            SEPARATOR => {
                let Some(&[0x80, last @ (0xa8 | 0xa9)]) = bytes.get(at..at + 2) else {
                    continue;
                };
                out.extend_from_slice(&bytes[copied..end]);
                out.extend_from_slice(b"\\u202");
                out.push(HEX[usize::from(last & 0xf)]);
                at += 2;
            }
            b'u' => {
                out.extend_from_slice(&bytes[copied..end]);
                out.extend_from_slice(b"\\u00");
                out.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xf)]]);
            }
            letter => {
                out.extend_from_slice(&bytes[copied..end]);
                out.extend([b'\\', letter]);
            }
        }
        copied = at;
    }
    out.extend_from_slice(&bytes[copied..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::decode;

    #[test]
    fn values_in_messages_are_written_as_encoding_json_writes_them() {
        let map: Map = [("b", Value::from("<a>\u{1}\u{2028}")), ("a", Value::Float(1.0))]
            .into_iter()
            .collect();
        let mut out = String::from("is ");
        write_json(
            &Value::from(vec![Value::Null, Value::from(map), Value::Int(-1)]),
            &mut out,
        );
        assert_eq!(out, r#"is [null,{"a":1,"b":"\u003ca\u003e\u0001\u2028"},-1]"#);
    }

    #[test]
    fn numbers_settle_as_encoding_and_decoding_settles_them() {
        let text = br#"{"a":-0.0,"b":[-1.0,{"c":0.0,"d":-0.5}],"e":1e21,"f":-0,"g":4611686018427387904.0,"h":1e19}"#;
        let mut settled = decode(text).unwrap().value;
        settle_numbers(settled.as_object_mut().unwrap());
        let mut written = Vec::new();
        encode(&settled, &mut written);
        assert_eq!(
            str::from_utf8(&written).unwrap(),
            r#"{"a":0,"b":[-1,{"c":0,"d":-0.5}],"e":1e+21,"f":0,"g":4611686018427388000,"h":10000000000000000000}"#
        );
        assert_eq!(decode(&written).unwrap().value, settled);
    }
}
