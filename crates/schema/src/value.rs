//! Objects as the API server holds them: Go's `map[string]interface{}` after `unstructured` decoding.
//!
//! Integers that fit `int64` and were written without fraction or exponent are [`Value::Int`]; every other number
//! is a finite [`Value::Float`]. Keys are kept in the byte order in which Go's encoder writes them. Unlike
//! `serde_json::Value`, none of this changes with the Cargo features of some other crate in the build, and values
//! nested as deep as Kubernetes decodes them (10,000 levels) can be cloned, compared and dropped on any thread.

use std::borrow::Borrow;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Stack that must be left before a walk goes one level deeper; below it, the walk continues on a new segment.
const RED_ZONE: usize = 64 * 1024;
/// Size of the segments that deep walks continue on, bytes.
const SEGMENT: usize = 1024 * 1024;

/// Runs one level of a recursive walk over a value, on more stack where the thread's own is nearly used up.
#[inline]
pub(crate) fn deeper<R>(walk: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(RED_ZONE, SEGMENT, walk)
}

/// A JSON value as Kubernetes' `unstructured` decoding leaves it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number written without fraction or exponent that fits `int64`.
    Int(i64),
    /// Any other number; always finite, since JSON has neither NaN nor infinities.
    Float(f64),
    /// A string.
    String(Box<str>),
    /// An array.
    Array(List),
    /// An object.
    Object(Map),
}

impl Value {
    /// The string, if this is one.
    #[inline]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(s) => Some(s),
            _ => None,
        }
    }

    /// The boolean, if this is one.
    #[inline]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// The integer, if this is one; a float is none, whatever its value.
    #[inline]
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Self::Int(i) => Some(*i),
            _ => None,
        }
    }

    /// The items, if this is an array.
    #[inline]
    pub fn as_array(&self) -> Option<&List> {
        match self {
            Self::Array(list) => Some(list),
            _ => None,
        }
    }

    /// The fields, if this is an object.
    #[inline]
    pub fn as_object(&self) -> Option<&Map> {
        match self {
            Self::Object(map) => Some(map),
            _ => None,
        }
    }

    /// The fields, if this is an object.
    #[inline]
    pub fn as_object_mut(&mut self) -> Option<&mut Map> {
        match self {
            Self::Object(map) => Some(map),
            _ => None,
        }
    }

    /// The value of a field, if this is an object that has it.
    #[inline]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object().and_then(|map| map.get(key))
    }

    /// Its type as Go's `encoding/json` names it in errors: `number` for integers and floats, `bool` for booleans.
    pub fn json_type(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::Float(_) => "number",
            Self::String(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// Whether this is `null`.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Self {
        Self::String(s.into())
    }
}

impl From<String> for Value {
    fn from(s: String) -> Self {
        Self::String(s.into_boxed_str())
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}

impl From<i64> for Value {
    fn from(i: i64) -> Self {
        Self::Int(i)
    }
}

impl From<Vec<Self>> for Value {
    fn from(items: Vec<Self>) -> Self {
        Self::Array(List(items))
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Self::Object(map)
    }
}

/// The items of an array; reads and writes like the `Vec` it holds.
#[derive(Default)]
pub struct List(Vec<Value>);

impl List {
    /// Takes the items out.
    pub fn into_vec(mut self) -> Vec<Value> {
        std::mem::take(&mut self.0)
    }
}

impl From<Vec<Value>> for List {
    fn from(items: Vec<Value>) -> Self {
        Self(items)
    }
}

impl FromIterator<Value> for List {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl Deref for List {
    type Target = Vec<Value>;

    fn deref(&self) -> &Vec<Value> {
        &self.0
    }
}

impl DerefMut for List {
    fn deref_mut(&mut self) -> &mut Vec<Value> {
        &mut self.0
    }
}

impl Clone for List {
    fn clone(&self) -> Self {
        deeper(|| Self(self.0.clone()))
    }
}

impl PartialEq for List {
    fn eq(&self, other: &Self) -> bool {
        deeper(|| self.0 == other.0)
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        deeper(|| self.0.fmt(f))
    }
}

impl Drop for List {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            deeper(|| self.0.clear());
        }
    }
}

/// The fields of an object, sorted by the bytes of their keys, each key once.
///
/// A sorted vector: objects of an API are small, mostly read and written out in order, and take a third of the
/// memory of a B-tree.
#[derive(Default)]
pub struct Map(Vec<(Box<str>, Value)>);

impl Map {
    /// An object without fields.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Makes an object of fields in any order. Where a key repeats, the last value wins, as in Go.
    pub fn from_fields(mut fields: Vec<(Box<str>, Value)>) -> Self {
        let sorted = fields.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if !sorted {
            // Stable, so that of equal keys the last one written comes last and is the one kept.
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            fields.reverse();
            fields.dedup_by(|later, kept| later.0 == kept.0);
            fields.reverse();
        }
        Self(fields)
    }

    fn position(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(k, _)| (**k).cmp(key))
    }

    /// The number of fields.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no field.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a field.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.position(key).ok().map(|i| &self.0[i].1)
    }

    /// The value of a field, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.position(key).ok().map(|i| &mut self.0[i].1)
    }

    /// Whether the field is there, `null` included.
    pub fn contains_key(&self, key: &str) -> bool {
        self.position(key).is_ok()
    }

    /// Sets a field and returns what it held.
    pub fn insert(&mut self, key: impl Into<Box<str>> + Borrow<str>, value: impl Into<Value>) -> Option<Value> {
        let value = value.into();
        match self.position(key.borrow()) {
            Ok(i) => Some(std::mem::replace(&mut self.0[i].1, value)),
            Err(i) => {
                self.0.insert(i, (key.into(), value));
                None
            }
        }
    }

    /// Takes a field out.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.position(key).ok().map(|i| self.0.remove(i).1)
    }

    /// Keeps the fields for which `keep` says yes, asked in order.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &mut Value) -> bool) {
        self.0.retain_mut(|(key, value)| keep(key, value));
    }

    /// The fields in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (&**key, value))
    }

    /// The fields in order, values to be changed.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&str, &mut Value)> {
        self.0.iter_mut().map(|(key, value)| (&**key, value))
    }

    /// The keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|(key, _)| &**key)
    }

    /// Takes the fields out, in order.
    pub fn into_fields(mut self) -> Vec<(Box<str>, Value)> {
        std::mem::take(&mut self.0)
    }
}

impl<K: Into<Box<str>>, V: Into<Value>> FromIterator<(K, V)> for Map {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(fields: I) -> Self {
        Self::from_fields(
            fields
                .into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }
}

impl Clone for Map {
    fn clone(&self) -> Self {
        deeper(|| Self(self.0.clone()))
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        deeper(|| self.0 == other.0)
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        deeper(|| f.debug_map().entries(self.iter()).finish())
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            deeper(|| self.0.clear());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_equal_keys_is_kept() {
        let fields = [("b", 1), ("a", 2), ("b", 3), ("a", 4), ("b", 5)];
        let map: Map = fields.into_iter().map(|(key, n)| (key, Value::Int(n))).collect();
        assert_eq!(
            map.iter().collect::<Vec<_>>(),
            [("a", &Value::Int(4)), ("b", &Value::Int(5))]
        );
    }

    #[test]
    fn values_as_deep_as_kubernetes_decodes_live_and_die_on_a_small_stack() {
        let walk = || {
            let mut value = Value::Null;
            for level in 0..10_000 {
                value = if level % 2 == 0 {
                    Value::from(vec![value])
                } else {
                    Value::from([("a", value)].into_iter().collect::<Map>())
                };
            }
            assert_eq!(value.clone(), value);
        };
        std::thread::Builder::new()
            .stack_size(256 * 1024)
            .spawn(walk)
            .unwrap()
            .join()
            .unwrap();
    }
}
