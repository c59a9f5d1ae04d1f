//! `x-kubernetes-list-type`: items of a set, and keys of a map, are there once
//! (`k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype`).

use std::collections::HashMap;
use std::hash::Hash;

use crate::field::{Error, Errors, Path};
use crate::json;
use crate::node::{ListType, Node};
use crate::value::{List, Map, Value, deeper};

/// Adds an error for each item that is there a second time.
pub(crate) fn validate_keyed_lists(node: &Node, map: &Map, path: &Path<'_>, errors: &mut Errors) {
    if !node.within.keyed_lists {
        return;
    }
    deeper(|| {
        if let Some(schema) = node.additional.schema() {
            for (key, value) in map.iter() {
                visit(schema, value, &path.key(key), errors);
            }
        }
        for (name, value) in map.iter() {
            if let Some(schema) = node.property(name) {
                visit(schema, value, &path.child(name), errors);
            }
        }
    });
}

fn visit(node: &Node, value: &Value, path: &Path<'_>, errors: &mut Errors) {
    match value {
        Value::Object(map) => validate_keyed_lists(node, map, path, errors),
        Value::Array(items) if node.within.keyed_lists => {
            match &node.list_type {
                ListType::Atomic => {}
                ListType::Set => validate_set(items, path, errors),
                ListType::Map(keys) => validate_map(keys, items, path, errors),
            }
            if let Some(schema) = &node.items {
                deeper(|| {
                    for (i, item) in items.iter().enumerate() {
                        visit(schema, item, &path.index(i), errors);
                    }
                });
            }
        }
        _ => {}
    }
}

fn validate_set(items: &List, path: &Path<'_>, errors: &mut Errors) {
    for i in repeated(items.iter().map(Identity::of)) {
        errors.push(Error::duplicate(&path.index(i), items[i].clone()));
    }
}

fn validate_map(keys: &[Box<str>], items: &List, path: &Path<'_>, errors: &mut Errors) {
    let is_other = |item: &Value| !item.is_null() && item.as_object().is_none();
    if let Some(i) = items.iter().position(is_other) {
        let detail = "must be an object for an array of list-type map";
        errors.push(Error::invalid(&path.index(i), items[i].clone(), detail));
        return;
    }
    let key_of = |item: &Value| -> Map {
        let values = keys
            .iter()
            .filter_map(|key| item.get(key).map(|value| (key.clone(), value.clone())));
        values.collect()
    };
    let second = if let [key] = keys {
        repeated(items.iter().map(|item| item.get(key).map(Identity::of)))
    } else {
        // Several keys are compared as the JSON of them all, in which 1 is 1.0.
        repeated(items.iter().map(|item| Identity::of_json(&key_of(item).into())))
    };
    for i in second {
        errors.push(Error::duplicate(&path.index(i), key_of(&items[i])));
    }
}

/// The indices at which something is there for the second time; a third is not told.
fn repeated<K: Eq + Hash>(items: impl ExactSizeIterator<Item = K>) -> Vec<usize> {
    if items.len() <= 1 {
        return Vec::new();
    }
    let mut times: HashMap<K, u32> = HashMap::with_capacity(items.len());
    let mut second = Vec::new();
    for (i, item) in items.enumerate() {
        let seen = times.entry(item).or_default();
        *seen = seen.saturating_add(1);
        if *seen == 2 {
            second.push(i);
        }
    }
    second
}

/// What makes two items the same: scalars by type and value, the rest by its JSON.
#[derive(PartialEq, Eq, Hash)]
enum Identity<'v> {
    Null,
    Bool(bool),
    Int(i64),
    Float(u64),
    String(&'v str),
    Json(String),
}

impl<'v> Identity<'v> {
    fn of(value: &'v Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(b) => Self::Bool(*b),
            Value::Int(i) => Self::Int(*i),
            // The two zeros are one.
            Value::Float(f) => Self::Float((f + 0.0).to_bits()),
            Value::String(s) => Self::String(s),
            compound @ (Value::Array(_) | Value::Object(_)) => Self::of_json(compound),
        }
    }

    fn of_json(value: &Value) -> Self {
        let mut json = String::new();
        json::write_json(value, &mut json);
        Self::Json(json)
    }
}
