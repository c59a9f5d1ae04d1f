//! Values of expressions.
//!
//! Data of an object is not copied: [`List`] and [`Map`] look at it through the [`Shape`] that its schema gives it,
//! and read an element when it is asked for, as Kubernetes does (`apiserver/pkg/cel/common/valuesunstructured.go`).

mod compare;
mod data;
mod display;
mod equal;
mod list;
mod map;

use std::sync::Arc;

pub(crate) use compare::{compare, is_comparable, lossless_int, lossless_uint};
pub(crate) use data::{Format, Items, Kind, ListType, Shape};
pub(crate) use data::{read, read_all};
pub(crate) use equal::{Members, contains, equal, item_key, method, value_key};
pub use list::List;
pub(crate) use map::Key;
pub use map::Map;

use super::error::{EvalError, Outcome};
use super::functions::cidr::Cidr;
use super::functions::format::NamedFormat;
use super::functions::ip::Ip;
use super::functions::quantity::Quantity;
use super::functions::semver::Semver;
use super::functions::url::Url;
use super::time::{Duration, Timestamp};
use crate::value::Value as Json;

/// A string, borrowed from the object where it comes from there.
#[derive(Clone, Debug)]
pub enum Text<'a> {
    /// Part of the object or of the expression.
    Borrowed(&'a str),
    /// Made by the expression.
    Shared(Arc<str>),
}

impl Text<'_> {
    /// The text.
    #[inline]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

/// A value of an expression.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `bool`
    Bool(bool),
    /// `int`
    Int(i64),
    /// `uint`
    Uint(u64),
    /// `double`
    Double(f64),
    /// `string`
    String(Text<'a>),
    /// `bytes`
    Bytes(Arc<[u8]>),
    /// `google.protobuf.Duration`
    Duration(Duration),
    /// `google.protobuf.Timestamp`
    Timestamp(Timestamp),
    /// A type, by its name.
    Type(&'static str),
    /// `list`
    List(List<'a>),
    /// `map`; objects are maps too when an expression runs.
    Map(Map<'a>),
    /// `optional_type`
    Optional(Option<Arc<Value<'a>>>),
    /// `kubernetes.URL`
    Url(Arc<Url>),
    /// `net.IP`
    Ip(Ip),
    /// `net.CIDR`
    Cidr(Cidr),
    /// `kubernetes.Quantity`
    Quantity(Arc<Quantity>),
    /// `kubernetes.Semver`
    Semver(Arc<Semver>),
    /// `kubernetes.NamedFormat`
    Format(&'static NamedFormat),
    /// `google.protobuf.Empty`
    Empty,
    /// Data that `x-kubernetes-preserve-unknown-fields` kept and no type describes: it can only be compared.
    Unknown(&'a Json),
}

impl<'a> Value<'a> {
    /// A string that the expression made.
    pub(crate) fn string(text: impl Into<Arc<str>>) -> Self {
        Self::String(Text::Shared(text.into()))
    }

    /// A list that the expression made.
    pub(crate) fn list(items: Vec<Self>) -> Self {
        Self::List(List::from(items))
    }

    /// A list of strings that the expression made.
    pub(crate) fn strings<S: Into<Arc<str>>>(items: impl IntoIterator<Item = S>) -> Self {
        Self::list(items.into_iter().map(Self::string).collect())
    }

    /// An optional with a value.
    pub(crate) fn some(value: Self) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// The name of the value's type, as error messages and `type()` give it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Type(_) => "type",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Optional(_) => "optional_type",
            Self::Url(_) => "kubernetes.URL",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Empty => "google.protobuf.Empty",
            Self::Unknown(_) => "unknown",
        }
    }

    /// The size that costs are computed from: `actualSize` in cel-go and in Kubernetes' cost library.
    ///
    /// The size of an optional is that of its value in cel-go and 1 in Kubernetes; see [`Self::plain_size`].
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Optional(Some(value)) => value.size(),
            other => other.plain_size(),
        }
    }

    /// The size, where an optional counts as 1.
    pub(crate) fn plain_size(&self) -> usize {
        match self {
            Self::String(text) => text.as_str().chars().count(),
            Self::Bytes(bytes) => bytes.len(),
            Self::List(list) => list.len(),
            Self::Map(map) => map.len(),
            Self::Ip(ip) => ip.octets(),
            Self::Cidr(cidr) => cidr.prefix_octets(),
            _ => 1,
        }
    }

    /// Whether cel-go counts the value as zero (`traits.Zeroer`).
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Null | Self::Empty => true,
            Self::Bool(b) => !b,
            Self::Int(i) => *i == 0,
            Self::Uint(u) => *u == 0,
            Self::Double(d) => *d == 0.0,
            Self::String(text) => text.as_str().is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::Duration(duration) => duration.nanoseconds() == 0,
            Self::Timestamp(time) => time.is_go_zero(),
            // The views on an object's data are no Zeroers in Kubernetes.
            Self::List(list) => !list.is_data() && list.is_empty(),
            Self::Map(map) => !map.is_data() && map.is_empty(),
            _ => false,
        }
    }

    /// The boolean, or cel-go's error for anything else.
    pub(crate) fn as_bool(&self) -> Outcome<bool> {
        match self {
            Self::Bool(b) => Ok(*b),
            _ => Err(EvalError::no_such_overload()),
        }
    }

    /// The integer, or cel-go's error for anything else.
    pub(crate) fn as_int(&self) -> Outcome<i64> {
        match self {
            Self::Int(i) => Ok(*i),
            _ => Err(EvalError::no_such_overload()),
        }
    }

    /// The text, or cel-go's error for anything else.
    pub(crate) fn as_str(&self) -> Outcome<&str> {
        match self {
            Self::String(text) => Ok(text.as_str()),
            _ => Err(EvalError::no_such_overload()),
        }
    }

    /// The list, or cel-go's error for anything else.
    pub(crate) fn as_list(&self) -> Outcome<&List<'a>> {
        match self {
            Self::List(list) => Ok(list),
            _ => Err(EvalError::no_such_overload()),
        }
    }
}

impl From<bool> for Value<'_> {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}

impl From<i64> for Value<'_> {
    fn from(i: i64) -> Self {
        Self::Int(i)
    }
}

impl From<f64> for Value<'_> {
    fn from(d: f64) -> Self {
        Self::Double(d)
    }
}

/// A size as an `int`; no value is anywhere near as large as `i64::MAX`.
pub(crate) fn int(size: usize) -> Value<'static> {
    Value::Int(i64::try_from(size).unwrap_or(i64::MAX))
}
