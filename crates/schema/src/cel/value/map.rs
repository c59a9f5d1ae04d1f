//! Maps: literals and views on objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::data::{Kind, Shape, read};
use super::{Text, Value};
use crate::cel::error::{EvalError, Outcome};
use crate::cel::escape::{escape, unescape};
use crate::value::Map as Fields;

/// A map, or an object while an expression runs.
#[derive(Clone, Debug)]
pub struct Map<'a>(Repr<'a>);

#[derive(Clone, Debug)]
enum Repr<'a> {
    Made(Arc<BTreeMap<Key, Value<'a>>>),
    Data { fields: &'a Fields, shape: &'a Shape },
}

/// A key of a map literal. Keys of one number in different types are the same key to look up, not to store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// `bool`
    Bool(bool),
    /// `int`
    Int(i64),
    /// `uint`
    Uint(u64),
    /// `double`, by its bits.
    Double(u64),
    /// `string`
    String(Arc<str>),
}

impl Key {
    /// The key that a value is; other types are no keys.
    pub(crate) fn of(value: &Value<'_>) -> Option<Self> {
        Some(match value {
            Value::Bool(b) => Self::Bool(*b),
            Value::Int(i) => Self::Int(*i),
            Value::Uint(u) => Self::Uint(*u),
            Value::Double(d) => Self::Double(d.to_bits()),
            Value::String(Text::Borrowed(text)) => Self::String((*text).into()),
            Value::String(Text::Shared(text)) => Self::String(text.clone()),
            _ => return None,
        })
    }

    /// The value that the key is.
    pub(crate) fn to_value<'a>(&self) -> Value<'a> {
        match self {
            Self::Bool(b) => Value::Bool(*b),
            Self::Int(i) => Value::Int(*i),
            Self::Uint(u) => Value::Uint(*u),
            Self::Double(d) => Value::Double(f64::from_bits(*d)),
            Self::String(text) => Value::String(Text::Shared(text.clone())),
        }
    }

    /// The same number in other types, in the order in which cel-go tries them (`refValMapAccessor.Find`).
    fn alternatives(&self) -> [Option<Self>; 2] {
        match self {
            Self::Int(i) => [u64::try_from(*i).ok().map(Self::Uint), None],
            Self::Uint(u) => [i64::try_from(*u).ok().map(Self::Int), None],
            Self::Double(bits) => {
                let number = f64::from_bits(*bits);
                [
                    super::compare::lossless_int(number).map(Self::Int),
                    super::compare::lossless_uint(number).map(Self::Uint),
                ]
            }
            Self::Bool(_) | Self::String(_) => [None, None],
        }
    }
}

impl<'a> From<BTreeMap<Key, Value<'a>>> for Map<'a> {
    fn from(entries: BTreeMap<Key, Value<'a>>) -> Self {
        Self(Repr::Made(Arc::new(entries)))
    }
}

impl<'a> Map<'a> {
    /// An object of the data.
    pub(crate) fn data(fields: &'a Fields, shape: &'a Shape) -> Self {
        Self(Repr::Data { fields, shape })
    }

    /// The fields and their shape, if this is a view on an object.
    pub(crate) fn as_data(&self) -> Option<(&'a Fields, &'a Shape)> {
        match self.0 {
            Repr::Data { fields, shape } => Some((fields, shape)),
            Repr::Made(_) => None,
        }
    }

    /// Whether this is a view on an object of the data.
    pub(crate) fn is_data(&self) -> bool {
        matches!(self.0, Repr::Data { .. })
    }

    /// The number of entries; of an object, all its fields, whether the schema knows them or not.
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Made(entries) => entries.len(),
            Repr::Data { fields, .. } => fields.len(),
        }
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key.
    ///
    /// # Errors
    ///
    /// A key that is no string is an error in a view on the data, as in Kubernetes' `unstructuredMap.Find`.
    pub fn find(&self, key: &Value<'_>) -> Outcome<Option<Value<'a>>> {
        match &self.0 {
            Repr::Made(entries) => {
                let Some(key) = Key::of(key) else { return Ok(None) };
                let found = entries
                    .get(&key)
                    .or_else(|| key.alternatives().iter().flatten().find_map(|other| entries.get(other)));
                Ok(found.cloned())
            }
            Repr::Data { fields, shape } => match key {
                Value::String(text) => find_field(fields, shape, text.as_str()),
                _ => Err(EvalError::no_such_overload()),
            },
        }
    }

    /// The keys, in order. Of an object, those that its schema knows, as expressions write them, and a null for each
    /// other: Kubernetes makes room for all of them and leaves what it does not know empty.
    pub fn keys(&self) -> Vec<Value<'a>> {
        match &self.0 {
            Repr::Made(entries) => entries.keys().map(Key::to_value).collect(),
            Repr::Data { fields, shape } => {
                let known = fields.keys().filter(|key| shape.field(key).is_some());
                let mut keys: Vec<_> = known
                    .map(|key| match shape.has_properties().then(|| escape(key)).flatten() {
                        Some(escaped) if escaped != *key => Value::string(escaped.as_ref()),
                        _ => Value::String(Text::Borrowed(key)),
                    })
                    .collect();
                keys.resize(fields.len(), Value::Null);
                keys
            }
        }
    }

    /// Adds an entry to a map that nothing else holds; a map that is shared is copied once.
    ///
    /// # Errors
    ///
    /// The key is there already, or is no key.
    pub(crate) fn insert(&mut self, key: &Value<'a>, value: Value<'a>) -> Outcome<()> {
        if self.find(key)?.is_some() {
            return Err(EvalError::failed(format!("insert failed: key {key} already exists")));
        }
        let Some(key) = Key::of(key) else {
            return Err(EvalError::failed("unsupported key type"));
        };
        if self.is_data() {
            let mut entries = BTreeMap::new();
            for key in self.keys() {
                if let (Some(entry), Some(value)) = (Key::of(&key), self.find(&key)?) {
                    entries.insert(entry, value);
                }
            }
            *self = Self::from(entries);
        }
        if let Repr::Made(entries) = &mut self.0 {
            Arc::make_mut(entries).insert(key, value);
        }
        Ok(())
    }
}

/// A field of an object, by the name that expressions write.
fn find_field<'a>(fields: &'a Fields, shape: &'a Shape, name: &str) -> Outcome<Option<Value<'a>>> {
    let is_object = shape.has_properties();
    let name = if is_object {
        match unescape(name) {
            Some(name) => name,
            None => return Ok(None),
        }
    } else {
        name.into()
    };
    let Some(value) = fields.get(&name) else {
        return Ok(None);
    };
    // A null in an object with properties is as good as absent; in a map it is a value.
    if is_object && value.is_null() {
        return Ok(None);
    }
    match shape.field(&name) {
        Some(shape) => read(value, shape).map(Some),
        None => Ok(None),
    }
}

impl Shape {
    /// The shape of a field.
    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        match &self.kind {
            Kind::Object(properties) => properties.get(name).map(AsRef::as_ref),
            Kind::Map(values) => Some(values),
            _ => None,
        }
    }

    /// Whether the schema names properties, so that expressions write escaped names.
    pub(super) fn has_properties(&self) -> bool {
        matches!(self.kind, Kind::Object(_))
    }
}
