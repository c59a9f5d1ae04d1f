//! What go-yaml makes of a document, before it becomes JSON.

use std::borrow::Cow;

use super::error::Error;
use crate::go;
use crate::json::parse_number;
use crate::value::{List, Map, Value, deeper};

/// A value with the type that it has in Go. As deep as JSON may be, like [`Value`].
pub(super) enum Tree<'a> {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer beyond `int64`.
    Uint(u64),
    Float(f64),
    String(Cow<'a, str>),
    Sequence(Items<'a>),
    Mapping(Entries<'a>),
}

pub(super) struct Items<'a>(pub(super) Vec<Tree<'a>>);

/// The entries of a mapping, no key twice.
pub(super) struct Entries<'a>(pub(super) Vec<(Key<'a>, Tree<'a>)>);

/// A key with the type that it has in Go.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Key<'a> {
    Null,
    String(Cow<'a, str>),
    Int(i64),
    Uint(u64),
    /// The bits of a float.
    Float(u64),
    Bool(bool),
}

impl Drop for Items<'_> {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            deeper(|| self.0.clear());
        }
    }
}

impl Drop for Entries<'_> {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            deeper(|| self.0.clear());
        }
    }
}

/// A value as it is after a way through JSON, if it has one.
///
/// A key without a form in JSON is found before a number without one, as `sigs.k8s.io/yaml` finds it first.
pub(super) fn into_json(tree: Tree<'_>) -> Result<Value, Error> {
    let mut converter = Converter { number_error: None };
    let value = converter.convert(tree)?;
    match converter.number_error {
        Some(error) => Err(error),
        None => Ok(value),
    }
}

struct Converter {
    /// The first number without a form in JSON.
    number_error: Option<Error>,
}

impl Converter {
    fn convert(&mut self, tree: Tree<'_>) -> Result<Value, Error> {
        Ok(match tree {
            Tree::Null => Value::Null,
            Tree::Bool(bool) => Value::Bool(bool),
            Tree::Int(int) => Value::Int(int),
            Tree::Uint(int) => number(&int.to_string()),
            Tree::Float(float) if float.is_finite() => number(&go::float_as_json(float)),
            Tree::Float(float) => {
                self.number_error.get_or_insert(Error::Number(not_finite(float)));
                Value::Null
            }
            Tree::String(string) => Value::String(string.into()),
            Tree::Sequence(mut items) => {
                let items = std::mem::take(&mut items.0).into_iter();
                let items = deeper(|| items.map(|item| self.convert(item)).collect::<Result<List, _>>());
                Value::Array(items?)
            }
            Tree::Mapping(mut entries) => {
                let entries = std::mem::take(&mut entries.0).into_iter();
                let fields = deeper(|| {
                    entries
                        .map(|(key, value)| self.field(&key, value))
                        .collect::<Result<_, _>>()
                });
                Value::Object(Map::from_fields(fields?))
            }
        })
    }

    fn field(&mut self, key: &Key<'_>, value: Tree<'_>) -> Result<(Box<str>, Value), Error> {
        match key.name() {
            Ok(name) => Ok((name, self.convert(value)?)),
            Err(kind) => Err(Error::Key {
                kind,
                key: key.go_syntax().into_boxed_str(),
                value: value.go_syntax().into_boxed_str(),
            }),
        }
    }
}

fn number(literal: &str) -> Value {
    parse_number(literal).expect("the number is finite")
}

/// A number that is not finite, as Go's `FormatFloat` writes it.
fn not_finite(float: f64) -> &'static str {
    if float.is_nan() {
        "NaN"
    } else if float > 0.0 {
        "+Inf"
    } else {
        "-Inf"
    }
}

impl Tree<'_> {
    /// The value as Go's verb `%#v` writes it.
    pub(super) fn go_syntax(&self) -> String {
        let mut out = String::new();
        match self {
            Self::Null => out.push_str("<nil>"),
            _ => self.write_go_syntax(&mut out),
        }
        out
    }

    fn write_go_syntax(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("interface {}(nil)"),
            Self::Bool(bool) => out.push_str(&Key::Bool(*bool).go_syntax()),
            Self::Int(int) => out.push_str(&Key::Int(*int).go_syntax()),
            Self::Uint(int) => out.push_str(&Key::Uint(*int).go_syntax()),
            Self::Float(float) => out.push_str(&float_go_syntax(*float)),
            Self::String(string) => out.push_str(&go::quote(string)),
            Self::Sequence(items) => {
                out.push_str("[]interface {}{");
                for (index, item) in items.0.iter().enumerate() {
                    out.push_str(if index > 0 { ", " } else { "" });
                    deeper(|| item.write_go_syntax(out));
                }
                out.push('}');
            }
            Self::Mapping(entries) => {
                out.push_str("map[interface {}]interface {}{");
                let mut entries: Vec<_> = entries.0.iter().collect();
                entries.sort_by(|(a, _), (b, _)| a.cmp(b));
                for (index, (key, value)) in entries.into_iter().enumerate() {
                    out.push_str(if index > 0 { ", " } else { "" });
                    match key {
                        Key::Null => out.push_str("interface {}(nil)"),
                        _ => out.push_str(&key.go_syntax()),
                    }
                    out.push(':');
                    deeper(|| value.write_go_syntax(out));
                }
                out.push('}');
            }
        }
    }
}

impl Key<'_> {
    pub(super) fn is_nan(&self) -> bool {
        matches!(self, Self::Float(bits) if f64::from_bits(*bits).is_nan())
    }

    /// The key as it is compared: there is one zero.
    pub(super) fn normal(&self) -> Self {
        match self {
            Self::Float(bits) => Self::Float((f64::from_bits(*bits) + 0.0).to_bits()),
            other => other.clone(),
        }
    }

    /// The key as a string, or the Go type that has no string.
    fn name(&self) -> Result<Box<str>, &'static str> {
        match self {
            Self::Null => Err("%!s(<nil>)"),
            Self::Uint(_) => Err("uint64"),
            Self::Bool(bool) => Ok(bool.to_string().into()),
            Self::Int(int) => Ok(int.to_string().into()),
            Self::Float(bits) => Ok(float_name(f64::from_bits(*bits)).into()),
            Self::String(string) => Ok((**string).into()),
        }
    }

    /// The key as Go's verb `%#v` writes it.
    pub(super) fn go_syntax(&self) -> String {
        match self {
            Self::Null => "<nil>".to_owned(),
            Self::Uint(int) => format!("{int:#x}"),
            Self::Bool(bool) => bool.to_string(),
            Self::Int(int) => int.to_string(),
            Self::Float(bits) => float_go_syntax(f64::from_bits(*bits)),
            Self::String(string) => go::quote(string),
        }
    }
}

fn float_go_syntax(float: f64) -> String {
    if float.is_finite() {
        go::Shortest::of(float).general_form()
    } else {
        not_finite(float).to_owned()
    }
}

/// A float as a key: `sigs.k8s.io/yaml` writes it with single precision.
#[expect(clippy::cast_possible_truncation, reason = "that is what single precision means")]
fn float_name(float: f64) -> String {
    let single = float as f32;
    if single.is_finite() {
        return go::Shortest::of_single(single).general_form();
    }
    match not_finite(single.into()) {
        "NaN" => ".nan",
        "+Inf" => ".inf",
        _ => "-.inf",
    }
    .to_owned()
}
