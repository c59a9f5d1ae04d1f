//! The compiled form of a schema.
//!
//! Kubernetes holds a schema twice: as a structural schema, which says what there is (pruning, defaulting, list types,
//! embedded resources), and as an OpenAPI schema, which says what is valid. Both are the same tree, so one node serves
//! both. Below `allOf`, `anyOf`, `oneOf` and `not` only the second meaning is used.

mod complete;
mod enumeration;
mod parse;
mod reader;
mod structural;

use crate::format::Format;
use crate::regexp::Regexp;
use crate::value::Value;

pub(crate) use enumeration::Enumeration;
pub(crate) use parse::parse;

/// One schema of the tree.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) types: Types,
    pub(crate) nullable: bool,
    pub(crate) format: Option<FormatCheck>,
    /// Sorted by name.
    pub(crate) properties: Box<[(Box<str>, Node)]>,
    pub(crate) additional: Additional,
    pub(crate) items: Option<Box<Node>>,
    pub(crate) default: Option<Value>,
    pub(crate) preserve_unknown_fields: bool,
    pub(crate) embedded_resource: bool,
    pub(crate) list_type: ListType,
    pub(crate) checks: Option<Box<Checks>>,
    pub(crate) logic: Option<Box<Logic>>,
    pub(crate) within: Within,
}

impl Node {
    /// The schema of a property.
    pub(crate) fn property(&self, name: &str) -> Option<&Self> {
        let found = self.properties.binary_search_by(|(key, _)| (**key).cmp(name));
        found.ok().map(|i| &self.properties[i].1)
    }

    /// The schema of a field: its property, or the one of additional properties.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        self.property(name).or_else(|| self.additional.schema())
    }
}

/// `additionalProperties`.
#[derive(Debug, Default)]
pub(crate) enum Additional {
    /// Not specified: pruned, but not invalid.
    #[default]
    Unset,
    /// `true`.
    Any,
    /// `false`.
    Forbidden,
    /// What each must be.
    Schema(Box<Node>),
}

impl Additional {
    pub(crate) fn schema(&self) -> Option<&Node> {
        match self {
            Self::Schema(node) => Some(node),
            _ => None,
        }
    }

    pub(crate) fn is_set(&self) -> bool {
        !matches!(self, Self::Unset)
    }
}

/// `x-kubernetes-list-type`.
#[derive(Debug, Default)]
pub(crate) enum ListType {
    #[default]
    Atomic,
    Set,
    /// By the values of these keys.
    Map(Box<[Box<str>]>),
}

/// The type of a JSON value, in OpenAPI's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Array,
    Boolean,
    Integer,
    Number,
    Object,
    String,
}

impl Type {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Array => "array",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Object => "object",
            Self::String => "string",
        }
    }

    pub(crate) fn by_name(name: &str) -> Option<Self> {
        [
            Self::Array,
            Self::Boolean,
            Self::Integer,
            Self::Number,
            Self::Object,
            Self::String,
        ]
        .into_iter()
        .find(|t| t.name() == name)
    }
}

/// The types that a value may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Types {
    /// No type is asked for.
    #[default]
    Any,
    /// This one.
    One(Type),
    /// `x-kubernetes-int-or-string`.
    IntOrString,
}

impl Types {
    pub(crate) fn contains(self, t: Type) -> bool {
        match self {
            Self::Any => false,
            Self::One(one) => one == t,
            Self::IntOrString => matches!(t, Type::Integer | Type::String),
        }
    }

    /// The types as messages name them.
    pub(crate) const fn names(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::One(one) => one.name(),
            Self::IntOrString => "integer,string",
        }
    }
}

/// A format that is checked; others are left out when a schema is compiled.
#[derive(Debug)]
pub(crate) struct FormatCheck {
    /// As the schema spells it.
    pub(crate) name: Box<str>,
    pub(crate) of: FormatOf,
}

/// What a format is a format of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormatOf {
    String(Format),
    Int32,
    Int64,
    Float,
    Double,
}

/// The value validations of a schema, without the logical ones.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub(crate) multiple_of: Option<f64>,
    pub(crate) minimum: Option<Bound>,
    pub(crate) maximum: Option<Bound>,
    pub(crate) min_length: Option<i64>,
    pub(crate) max_length: Option<i64>,
    pub(crate) pattern: Option<Regexp>,
    pub(crate) min_items: Option<i64>,
    pub(crate) max_items: Option<i64>,
    pub(crate) min_properties: Option<i64>,
    pub(crate) max_properties: Option<i64>,
    pub(crate) required: Box<[Box<str>]>,
    pub(crate) enumeration: Option<Enumeration>,
}

/// `minimum` or `maximum`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) value: f64,
    pub(crate) exclusive: bool,
}

/// The logical validations of a schema.
#[derive(Debug, Default)]
pub(crate) struct Logic {
    pub(crate) any_of: Box<[Node]>,
    pub(crate) one_of: Box<[Node]>,
    pub(crate) all_of: Box<[Node]>,
    pub(crate) not: Option<Box<Node>>,
}

/// What there is in a schema or below it: walks that look for something else turn back here.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Within {
    pub(crate) defaults: bool,
    pub(crate) keyed_lists: bool,
    pub(crate) embedded_resources: bool,
}

impl std::ops::BitOrAssign for Within {
    fn bitor_assign(&mut self, other: Self) {
        self.defaults |= other.defaults;
        self.keyed_lists |= other.keyed_lists;
        self.embedded_resources |= other.embedded_resources;
    }
}
