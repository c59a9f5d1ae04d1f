use super::{Error, cursor::Cursor, duplicates};
use crate::value::{Map, Value};

/// Number of arrays and objects that may be open at once; Go's `encoding/json` has the same limit.
pub const MAX_DEPTH: usize = 10_000;

/// What a text holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The value. Where a field is given more than once, the last one counts.
    pub value: Value,
    /// The paths of such fields (`spec.l[0].k`), each once, in the order in which they repeat. The first hundred, as
    /// in Go, and fewer if their text would be much longer than the one decoded.
    pub duplicates: Vec<String>,
}

/// Decodes a text as `sigs.k8s.io/json` `UnmarshalStrict` does into a `map[string]interface{}`.
///
/// An integer that fits `int64` is [`Value::Int`], every other number [`Value::Float`]. Bytes that are no UTF-8 and
/// surrogates without their other half become U+FFFD. Takes time linear in the text, memory of no more than some
/// twenty times its length, and no stack that grows with its depth.
pub fn decode(text: &[u8]) -> Result<Decoded, Error> {
    let mut decoder = Decoder {
        cursor: Cursor::new(text),
        builder: Builder::default(),
        number_error: None,
    };
    let value = decoder.value()?;
    if let Some(error) = decoder.number_error {
        return Err(error);
    }
    let duplicates = if decoder.builder.repeated {
        duplicates::find(text)
    } else {
        Vec::new()
    };
    Ok(Decoded { value, duplicates })
}

struct Decoder<'a> {
    cursor: Cursor<'a>,
    builder: Builder,
    /// Go looks for syntax errors first, so a number that is too large is reported only at the end.
    number_error: Option<Error>,
}

impl Decoder<'_> {
    fn value(&mut self) -> Result<Value, Error> {
        loop {
            // At the beginning of a value.
            let mut value = match self.cursor.peek() {
                Some(b'{') => {
                    self.open(Container::Object)?;
                    if self.cursor.peek() != Some(b'}') {
                        self.key()?;
                        continue;
                    }
                    self.cursor.advance();
                    self.builder.close()
                }
                Some(b'[') => {
                    self.open(Container::Array)?;
                    if self.cursor.peek() != Some(b']') {
                        continue;
                    }
                    self.cursor.advance();
                    self.builder.close()
                }
                _ => self.scalar()?,
            };
            // After a value, which may be the last of what is open, and that again.
            loop {
                let Some(container) = self.builder.container() else {
                    return match self.cursor.peek() {
                        Some(_) => Err(self.cursor.unexpected("after top-level value")),
                        None => Ok(value),
                    };
                };
                self.builder.push(value);
                match (container, self.cursor.peek()) {
                    (Container::Object, Some(b',')) => {
                        self.cursor.advance();
                        self.key()?;
                        break;
                    }
                    (Container::Array, Some(b',')) => {
                        self.cursor.advance();
                        break;
                    }
                    (Container::Object, Some(b'}')) | (Container::Array, Some(b']')) => {
                        self.cursor.advance();
                        value = self.builder.close();
                    }
                    (Container::Object, _) => return Err(self.cursor.unexpected("after object key:value pair")),
                    (Container::Array, _) => return Err(self.cursor.unexpected("after array element")),
                }
            }
        }
    }

    fn open(&mut self, container: Container) -> Result<(), Error> {
        if self.builder.depth() == MAX_DEPTH {
            return Err(self.cursor.unexpected("exceeded max depth"));
        }
        self.cursor.advance();
        self.builder.open(container);
        Ok(())
    }

    /// Reads a key and the colon after it.
    fn key(&mut self) -> Result<(), Error> {
        if self.cursor.peek() != Some(b'"') {
            return Err(self.cursor.unexpected("looking for beginning of object key string"));
        }
        let key = self.cursor.string()?.into();
        self.builder.key(key);
        if self.cursor.peek() != Some(b':') {
            return Err(self.cursor.unexpected("after object key"));
        }
        self.cursor.advance();
        Ok(())
    }

    fn scalar(&mut self) -> Result<Value, Error> {
        match self.cursor.peek() {
            Some(b'"') => Ok(Value::String(self.cursor.string()?.into())),
            Some(b'-' | b'0'..=b'9') => {
                let literal = self.cursor.number()?;
                Ok(parse_number(literal).unwrap_or_else(|| {
                    let offset = self.cursor.offset();
                    self.number_error.get_or_insert_with(|| Error::NumberRange {
                        literal: literal.into(),
                        offset,
                    });
                    Value::Null
                }))
            }
            Some(b't') => {
                const CONTEXTS: [&str; 3] = [
                    "in literal true (expecting 'r')",
                    "in literal true (expecting 'u')",
                    "in literal true (expecting 'e')",
                ];
                self.cursor.literal(b"true", &CONTEXTS)?;
                Ok(Value::Bool(true))
            }
            Some(b'f') => {
                const CONTEXTS: [&str; 4] = [
                    "in literal false (expecting 'a')",
                    "in literal false (expecting 'l')",
                    "in literal false (expecting 's')",
                    "in literal false (expecting 'e')",
                ];
                self.cursor.literal(b"false", &CONTEXTS)?;
                Ok(Value::Bool(false))
            }
            Some(b'n') => {
                const CONTEXTS: [&str; 3] = [
                    "in literal null (expecting 'u')",
                    "in literal null (expecting 'l')",
                    "in literal null (expecting 'l')",
                ];
                self.cursor.literal(b"null", &CONTEXTS)?;
                Ok(Value::Null)
            }
            _ => Err(self.cursor.unexpected("looking for beginning of value")),
        }
    }
}

/// A JSON number literal as a value; none if it is not finite. Without a fraction and within `int64` it is an
/// integer, also `-0`; an exponent makes it a float.
pub(crate) fn parse_number(literal: &str) -> Option<Value> {
    if let Ok(int) = literal.parse() {
        return Some(Value::Int(int));
    }
    let float: f64 = literal.parse().ok()?;
    float.is_finite().then_some(Value::Float(float))
}

#[derive(Clone, Copy)]
enum Container {
    Array,
    Object,
}

/// Arrays and objects under construction.
///
/// The items of all that are open lie on two stacks, and move into a vector of exactly their number when it closes.
#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    items: Vec<Value>,
    fields: Vec<(Box<str>, Value)>,
    /// Whether a key came twice in one object.
    repeated: bool,
}

/// What is open: where on its stack its items begin.
enum Open {
    Array(usize),
    Object(usize),
}

impl Builder {
    fn depth(&self) -> usize {
        self.open.len()
    }

    fn open(&mut self, container: Container) {
        self.open.push(match container {
            Container::Array => Open::Array(self.items.len()),
            Container::Object => Open::Object(self.fields.len()),
        });
    }

    /// What the next value goes into; none if it is the top-level value.
    fn container(&self) -> Option<Container> {
        self.open.last().map(|open| match open {
            Open::Array(_) => Container::Array,
            Open::Object(_) => Container::Object,
        })
    }

    /// Names the next value of the innermost object.
    fn key(&mut self, key: Box<str>) {
        self.fields.push((key, Value::Null));
    }

    fn push(&mut self, value: Value) {
        match self.open.last() {
            Some(Open::Array(_)) => self.items.push(value),
            Some(Open::Object(_)) => self.fields.last_mut().expect("a value follows its key").1 = value,
            None => {}
        }
    }

    /// The innermost array or object, complete.
    fn close(&mut self) -> Value {
        match self.open.pop().expect("what closes has been opened") {
            Open::Array(start) => Value::from(self.items.drain(start..).collect::<Vec<_>>()),
            Open::Object(start) => {
                let fields: Vec<_> = self.fields.drain(start..).collect();
                let written = fields.len();
                let map = Map::from_fields(fields);
                self.repeated |= map.len() != written;
                Value::Object(map)
            }
        }
    }
}
