//! Types that the checker computes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The type of an expression.
#[derive(Clone, Debug)]
pub enum Type {
    /// Known only when the expression runs.
    Dyn,
    /// The type of what is wrong; it agrees with every other, so that one mistake is told once.
    Error,
    /// `null_type`
    Null,
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `uint`
    Uint,
    /// `double`
    Double,
    /// `string`
    String,
    /// `bytes`
    Bytes,
    /// `google.protobuf.Duration`
    Duration,
    /// `google.protobuf.Timestamp`
    Timestamp,
    /// `wrapper(T)`: a primitive type that agrees with null, of a message that wraps it
    Wrapper(Arc<Type>),
    /// `list(T)`
    List(Arc<Type>),
    /// `map(K, V)`
    Map(Arc<Type>, Arc<Type>),
    /// `type(T)`
    Type(Arc<Type>),
    /// `optional_type(T)`
    Optional(Arc<Type>),
    /// A type of a library that cel-go calls opaque: `net.IP`, `net.CIDR`.
    Opaque(&'static str),
    /// A type of a library that cel-go calls a struct: `kubernetes.URL`, `kubernetes.Quantity`, …
    Struct(&'static str),
    /// An object with declared fields.
    Object(Arc<ObjectType>),
    /// A type parameter, by its number.
    Param(u32),
}

/// An object with declared fields. Two places of a schema have two types, however alike they look, as in Kubernetes.
#[derive(Debug)]
pub struct ObjectType {
    /// The name that messages tell.
    pub name: String,
    /// The fields by the names that expressions write.
    pub fields: BTreeMap<Box<str>, Type>,
}

impl Type {
    /// `list(item)`
    pub fn list(item: Self) -> Self {
        Self::List(Arc::new(item))
    }

    /// `map(key, value)`
    pub fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new(key), Arc::new(value))
    }

    /// `optional_type(value)`
    pub fn optional(value: Self) -> Self {
        Self::Optional(Arc::new(value))
    }

    /// Whether the types are the same (`IsExactType`).
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.agrees(other, true)
    }

    /// Whether the types are the same but for which type parameters they have (`IsEquivalentType`).
    pub(crate) fn is_equivalent(&self, other: &Self) -> bool {
        self.agrees(other, false)
    }

    fn agrees(&self, other: &Self, exact: bool) -> bool {
        match (self, other) {
            (Self::Wrapper(inner), other) | (other, Self::Wrapper(inner)) => inner.agrees(other, exact),
            (Self::Dyn, Self::Dyn)
            | (Self::Error, Self::Error)
            | (Self::Null, Self::Null)
            | (Self::Bool, Self::Bool)
            | (Self::Int, Self::Int)
            | (Self::Uint, Self::Uint)
            | (Self::Double, Self::Double)
            | (Self::String, Self::String)
            | (Self::Bytes, Self::Bytes)
            | (Self::Duration, Self::Duration)
            | (Self::Timestamp, Self::Timestamp) => true,
            (Self::List(l), Self::List(r))
            | (Self::Type(l), Self::Type(r))
            | (Self::Optional(l), Self::Optional(r)) => l.agrees(r, exact),
            (Self::Map(lk, lv), Self::Map(rk, rv)) => lk.agrees(rk, exact) && lv.agrees(rv, exact),
            (Self::Opaque(l), Self::Opaque(r)) | (Self::Struct(l), Self::Struct(r)) => l == r,
            (Self::Object(l), Self::Object(r)) => Arc::ptr_eq(l, r),
            (Self::Param(l), Self::Param(r)) => !exact || l == r,
            _ => false,
        }
    }

    /// Whether the checker leaves the type to the run time.
    pub(crate) fn is_dyn_or_error(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// The type inside an optional, and whether it was one.
    pub(crate) fn unwrap_optional(self) -> (Self, bool) {
        match self {
            Self::Optional(inner) => ((*inner).clone(), true),
            other => (other, false),
        }
    }

    /// The name without parameters, as the run time knows it.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Dyn => "dyn",
            Self::Error => "*error*",
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Duration => "google.protobuf.Duration",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Wrapper(inner) => inner.name(),
            Self::List(_) => "list",
            Self::Map(..) => "map",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Opaque(name) | Self::Struct(name) => name,
            Self::Object(object) => &object.name,
            Self::Param(_) => "_",
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error => f.write_str("!error!"),
            Self::Null => f.write_str("null"),
            Self::Duration => f.write_str("duration"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Wrapper(inner) => write!(f, "wrapper({inner})"),
            Self::List(item) => write!(f, "list({item})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Type(of) => write!(f, "type({of})"),
            Self::Optional(value) => write!(f, "optional_type({value})"),
            other => f.write_str(other.name()),
        }
    }
}
