//! Reading the keywords of one schema object.

use std::cell::RefCell;

use crate::field::Path;
use crate::problem::{Problem, Reason};
use crate::value::{List, Map, Value};

/// The keywords of a schema object. What cannot be read is noted and counts as absent; so does `null`, as in Go.
#[derive(Clone, Copy)]
pub(super) struct Reader<'d> {
    pub(super) fields: &'d Map,
    pub(super) path: &'d Path<'d>,
    problems: &'d RefCell<Vec<Problem>>,
}

impl<'d> Reader<'d> {
    pub(super) fn new(fields: &'d Map, path: &'d Path<'d>, problems: &'d RefCell<Vec<Problem>>) -> Self {
        Self { fields, path, problems }
    }

    /// Notes a problem of a keyword.
    pub(super) fn note(&self, keyword: &str, reason: Reason) {
        self.problems
            .borrow_mut()
            .push(Problem::new(&self.path.child(keyword), reason));
    }

    /// Notes what Kubernetes says about a keyword.
    pub(super) fn refuse(&self, keyword: &str, detail: impl Into<String>) {
        self.note(keyword, Reason::NotStructural(detail.into()));
    }

    /// Whether the keyword is there with another value than Go's zero value.
    pub(super) fn is_set(&self, keyword: &str) -> bool {
        match self.fields.get(keyword) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::String(s)) => !s.is_empty(),
            Some(_) => true,
        }
    }

    /// Whether the keyword is there, other than as `null`.
    pub(super) fn has(&self, keyword: &str) -> bool {
        self.fields.get(keyword).is_some_and(|value| !value.is_null())
    }

    fn read<T>(&self, keyword: &str, expected: &'static str, read: impl FnOnce(&'d Value) -> Option<T>) -> Option<T> {
        let value = self.fields.get(keyword).filter(|value| !value.is_null())?;
        let read = read(value);
        if read.is_none() {
            self.note(keyword, Reason::WrongType { expected });
        }
        read
    }

    pub(super) fn flag(&self, keyword: &str) -> bool {
        self.read(keyword, "a boolean", Value::as_bool).unwrap_or_default()
    }

    pub(super) fn string(&self, keyword: &str) -> Option<&'d str> {
        self.read(keyword, "a string", Value::as_str).filter(|s| !s.is_empty())
    }

    pub(super) fn integer(&self, keyword: &str) -> Option<i64> {
        self.read(keyword, "an integer", Value::as_int)
    }

    pub(super) fn number(&self, keyword: &str) -> Option<f64> {
        self.read(keyword, "a number", |value| match value {
            #[allow(clippy::cast_precision_loss)]
            Value::Int(i) => Some(*i as f64),
            Value::Float(f) => Some(*f),
            _ => None,
        })
    }

    pub(super) fn list(&self, keyword: &str) -> Option<&'d List> {
        self.read(keyword, "a list", Value::as_array)
    }

    pub(super) fn strings(&self, keyword: &str) -> Box<[Box<str>]> {
        let strings = self.read(keyword, "a list of strings", |value| {
            value
                .as_array()?
                .iter()
                .map(|item| item.as_str().map(Into::into))
                .collect()
        });
        strings.unwrap_or_default()
    }

    /// A keyword that holds a schema.
    pub(super) fn schema(&self, keyword: &str) -> Option<&'d Map> {
        self.read(keyword, "a schema", Value::as_object)
    }

    /// A keyword that holds a list of schemas.
    pub(super) fn schemas(&self, keyword: &str) -> Vec<&'d Map> {
        let schemas = self.read(keyword, "a list of schemas", |value| {
            value.as_array()?.iter().map(Value::as_object).collect()
        });
        schemas.unwrap_or_default()
    }

    /// A keyword that holds schemas by name.
    pub(super) fn named_schemas(&self, keyword: &str) -> Vec<(&'d str, &'d Map)> {
        let schemas = self.read(keyword, "schemas by name", |value| {
            let fields = value.as_object()?;
            fields
                .iter()
                .map(|(name, schema)| Some((name, schema.as_object()?)))
                .collect()
        });
        schemas.unwrap_or_default()
    }
}
