//! `enum`: kube-openapi's `basicCommonValidator`.

use crate::go;
use crate::json;
use crate::value::{Map, Value};

/// The values of an `enum`, arranged for looking one up.
#[derive(Debug)]
pub(crate) struct Enumeration {
    /// In the order of the document, for messages.
    values: Box<[Value]>,
    /// Sorted.
    strings: Box<[Box<str>]>,
    /// Sorted.
    integers: Box<[i64]>,
    /// Everything else but `null`, which nothing equals.
    others: Box<[Value]>,
}

impl Enumeration {
    pub(crate) fn new(values: Vec<Value>) -> Self {
        let mut strings = Vec::new();
        let mut integers = Vec::new();
        let mut others = Vec::new();
        for value in &values {
            match value {
                Value::Null => {}
                Value::String(s) => strings.push(s.clone()),
                Value::Int(i) => integers.push(*i),
                other => others.push(other.clone()),
            }
        }
        strings.sort_unstable();
        integers.sort_unstable();
        Self {
            values: values.into(),
            strings: strings.into(),
            integers: integers.into(),
            others: others.into(),
        }
    }

    /// Whether a value is listed. Go converts the value to the type of each listed one before it compares: a fraction
    /// is cut off, and an integer becomes the character it is the code of.
    pub(crate) fn contains(&self, value: &Value) -> bool {
        match value {
            Value::Null => false,
            Value::String(s) => self.has_string(s),
            Value::Int(i) => self.has_integer(*i) || self.has_float(as_float(*i)) || self.has_character(*i),
            Value::Float(f) => self.has_float(*f) || self.has_integer(go::to_int64(*f)),
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => self.others.contains(value),
        }
    }

    /// Whether an object is listed.
    pub(crate) fn contains_object(&self, map: &Map) -> bool {
        self.others.iter().any(|listed| listed.as_object() == Some(map))
    }

    fn has_string(&self, s: &str) -> bool {
        self.strings.binary_search_by(|listed| (**listed).cmp(s)).is_ok()
    }

    fn has_character(&self, code: i64) -> bool {
        if self.strings.is_empty() {
            return false;
        }
        let c = u32::try_from(code).ok().and_then(char::from_u32);
        self.has_string(c.unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut [0; 4]))
    }

    fn has_integer(&self, i: i64) -> bool {
        self.integers.binary_search(&i).is_ok()
    }

    fn has_float(&self, f: f64) -> bool {
        self.others.contains(&Value::Float(f))
    }

    /// The values as `NotSupported` lists them: strings as they are, others as JSON.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> + '_ {
        self.values.iter().map(|value| match value {
            Value::String(s) => s.to_string(),
            other => {
                let mut json = String::new();
                json::write_json(other, &mut json);
                json
            }
        })
    }
}

#[allow(clippy::cast_precision_loss)]
fn as_float(i: i64) -> f64 {
    i as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_converted_to_the_listed_type() {
        let of = |values: &[Value]| Enumeration::new(values.to_vec());
        assert!(of(&[Value::Int(1)]).contains(&Value::Float(1.5)));
        assert!(of(&[Value::Float(1.0)]).contains(&Value::Int(1)));
        assert!(!of(&[Value::Float(1.5)]).contains(&Value::Int(1)));
        assert!(of(&[Value::from("a")]).contains(&Value::Int(97)));
        assert!(!of(&[Value::from("a")]).contains(&Value::Float(97.0)));
        assert!(!of(&[Value::Null]).contains(&Value::Null));
        assert!(of(&[Value::Bool(true)]).contains(&Value::Bool(true)));
        assert!(of(&[vec![Value::Int(1)].into()]).contains(&vec![Value::Int(1)].into()));
    }
}
