//! Reads fields of an object. As in Go, `null` and a field of the wrong shape on the way are an absent field.

use structural_schema::{Map, Value};

use crate::problem::FieldInvalid;

/// The fields of an object that may not be there.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(Option<&'a Map>);

impl<'a> Fields<'a> {
    pub(super) fn of(value: &'a Value) -> Self {
        Self(value.as_object())
    }

    /// The fields of a field.
    pub(super) fn at(self, key: &str) -> Self {
        Self(self.get(key).and_then(Value::as_object))
    }

    pub(super) fn get(self, key: &str) -> Option<&'a Value> {
        self.0?.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn has(self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The string, or nothing where there is none.
    pub(super) fn str(self, key: &str) -> Option<&'a str> {
        self.get(key).and_then(Value::as_str)
    }

    pub(super) fn bool(self, key: &str) -> bool {
        self.get(key).and_then(Value::as_bool).unwrap_or_default()
    }

    /// The items of an array, none where there is none.
    pub(super) fn items(self, key: &str) -> impl Iterator<Item = &'a Value> {
        self.get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flat_map(|items| items.iter())
    }

    pub(super) fn entries(self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.0.into_iter().flat_map(Map::iter)
    }

    /// A string that must be there and not be empty.
    pub(super) fn required(self, key: &str, field: &'static str) -> Result<&'a str, FieldInvalid> {
        self.optional(key, field)?.ok_or(FieldInvalid {
            field,
            must: "a string that is not empty",
        })
    }

    /// A string that may be absent or empty, which is the same.
    pub(super) fn optional(self, key: &str, field: &'static str) -> Result<Option<&'a str>, FieldInvalid> {
        match self.get(key).map(Value::as_str) {
            None | Some(Some("")) => Ok(None),
            Some(Some(text)) => Ok(Some(text)),
            Some(None) => Err(FieldInvalid {
                field,
                must: "a string",
            }),
        }
    }
}
