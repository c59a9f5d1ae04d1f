//! Data of an object, read through the shape that its schema gives it.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;

use super::{List, Map, Text, Value};
use crate::cel::error::{EvalError, Outcome};
use crate::cel::time::{Duration, Timestamp};
use crate::value::Value as Json;

/// How data at one place of an object is read.
///
/// This is what `UnstructuredToVal` looks up in a schema for every value; here it is taken from the schema once.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Whether `null` is a value here.
    pub(crate) nullable: bool,
    /// What the data is read as.
    pub(crate) kind: Kind,
}

/// What data is read as.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// `x-kubernetes-int-or-string`
    IntOrString,
    /// An object with named properties.
    Object(BTreeMap<Box<str>, Arc<Shape>>),
    /// An object whose values are all alike.
    Map(Arc<Shape>),
    /// An object that no schema describes: nothing can be found in it.
    Opaque,
    /// An array.
    List(Items),
    /// An array without `items`.
    ListWithoutItems,
    /// A string.
    String(Format),
    /// A number; integers are read as `double` too.
    Number,
    /// An integer.
    Integer,
    /// A boolean.
    Boolean,
    /// Anything, by `x-kubernetes-preserve-unknown-fields` without a type.
    Preserved,
    /// Nothing: the schema has no type.
    Untyped(Box<str>),
}

/// How the elements of an array are read and compared.
#[derive(Clone, Debug)]
pub(crate) struct Items {
    /// The elements.
    pub(crate) item: Arc<Shape>,
    /// What makes two arrays equal.
    pub(crate) list_type: ListType,
}

/// `x-kubernetes-list-type`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListType {
    /// Elements are equal in order.
    Atomic,
    /// Elements are equal in any order.
    Set,
    /// Elements are equal by their keys, escaped as Kubernetes escapes them here.
    Map(Vec<Box<str>>),
}

/// The formats that give a string another type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// `string`
    None,
    /// `bytes`, in base64.
    Byte,
    /// A duration.
    Duration,
    /// A timestamp without time.
    Date,
    /// A timestamp.
    DateTime,
}

/// Reads the value of a place.
///
/// # Errors
///
/// Data that the shape does not fit is an error where it is used, not before: Kubernetes runs rules on objects that
/// have some kinds of validation errors.
pub(crate) fn read<'a>(json: &'a Json, shape: &'a Shape) -> Outcome<Value<'a>> {
    if json.is_null() {
        return if shape.nullable {
            Ok(Value::Null)
        } else {
            Err(EvalError::failed(
                "invalid data, got null for schema with nullable=false",
            ))
        };
    }
    if let Json::Object(fields) = json
        && let Kind::Object(_) | Kind::Map(_) | Kind::Opaque = shape.kind
    {
        return Ok(Value::Map(Map::data(fields, shape)));
    }
    match (&shape.kind, json) {
        (Kind::IntOrString, Json::String(text)) => Ok(Value::String(Text::Borrowed(text))),
        (Kind::IntOrString | Kind::Integer, Json::Int(i)) => Ok(Value::Int(*i)),
        (Kind::IntOrString, _) => invalid("expected XIntOrString value to be either a string or integer"),
        (Kind::Object(_) | Kind::Map(_) | Kind::Opaque, _) => {
            invalid("expected a map for the provided schema with type=object")
        }
        (Kind::List(items), Json::Array(list)) => Ok(Value::List(List::data(list, items))),
        (Kind::ListWithoutItems, Json::Array(_)) => Err(EvalError::failed(
            "invalid array type, expected Items with a non-empty Schema",
        )),
        (Kind::List(_) | Kind::ListWithoutItems, _) => {
            invalid("expected an array for the provided schema with type=array")
        }
        (Kind::String(format), Json::String(text)) => read_string(text, *format),
        (Kind::String(_), other) => invalid(&format!("expected string, got {}", go_type(other))),
        #[expect(clippy::cast_precision_loss, reason = "Go converts int64 to float64 here too")]
        (Kind::Number, Json::Int(i)) => Ok(Value::Double(*i as f64)),
        (Kind::Number, Json::Float(d)) => Ok(Value::Double(*d)),
        (Kind::Number, other) => invalid(&format!("expected float, got {}", go_type(other))),
        (Kind::Integer, other) => invalid(&format!("expected int, got {}", go_type(other))),
        (Kind::Boolean, Json::Bool(b)) => Ok(Value::Bool(*b)),
        (Kind::Boolean, other) => invalid(&format!("expected bool, got {}", go_type(other))),
        (Kind::Preserved, _) => Ok(Value::Unknown(json)),
        (Kind::Untyped(name), _) => Err(EvalError::failed(format!(
            "invalid type, expected object, array, number, integer, boolean or string, or no type with \
             x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got {name}"
        ))),
    }
}

/// Reads elements, stopping at the first that cannot be read.
pub(crate) fn read_all<'a>(list: &List<'a>) -> Outcome<Vec<Value<'a>>> {
    list.iter().collect()
}

fn invalid<T>(what: &str) -> Outcome<T> {
    Err(EvalError::failed(format!("invalid data, {what}")))
}

fn read_string(text: &str, format: Format) -> Outcome<Value<'_>> {
    match format {
        Format::None => Ok(Value::String(Text::Borrowed(text))),
        // Kubernetes decodes with the URL alphabet here (strfmt.Base64.UnmarshalText), although the format is
        // validated with the standard one.
        Format::Byte => match base64::engine::general_purpose::URL_SAFE.decode(text) {
            Ok(bytes) => Ok(Value::Bytes(bytes.into())),
            Err(_) => Err(EvalError::failed(format!(
                "Invalid byte formatted string {text}: illegal base64 data at input byte {}",
                illegal_base64(text)
            ))),
        },
        Format::Duration => match crate::format::parse_duration(text) {
            Ok(nanoseconds) => Ok(Value::Duration(Duration::from_nanoseconds(nanoseconds))),
            Err(error) => Err(EvalError::failed(format!("Invalid duration {text}: {error}"))),
        },
        Format::Date => match Timestamp::parse_date(text) {
            Ok(time) => Ok(Value::Timestamp(time)),
            Err(error) => Err(EvalError::failed(format!(
                "Invalid date formatted string {text}: {error}"
            ))),
        },
        Format::DateTime => match Timestamp::parse_date_time(text) {
            Ok(time) => Ok(Value::Timestamp(time)),
            Err(error) => Err(EvalError::failed(format!(
                "Invalid date-time formatted string {text}: {error}"
            ))),
        },
    }
}

/// Where Go's decoder stops: the first byte outside the alphabet, or the length where the padding is missing.
fn illegal_base64(text: &str) -> usize {
    text.bytes()
        .position(|b| !(b.is_ascii_alphanumeric() || b == b'-' || b == b'_' || b == b'\n' || b == b'\r'))
        .unwrap_or_else(|| text.len() / 4 * 4)
}

/// Go's name of the type that decoding gives a value (`%T`).
fn go_type(json: &Json) -> &'static str {
    match json {
        Json::Null => "<nil>",
        Json::Bool(_) => "bool",
        Json::Int(_) => "int64",
        Json::Float(_) => "float64",
        Json::String(_) => "string",
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
    }
}
