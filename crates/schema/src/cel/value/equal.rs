//! Equality: cel-go's for what expressions make, Kubernetes' for data of the object.

use std::collections::{BTreeMap, BTreeSet};

use super::compare::compare_numbers;
use super::data::{ListType, read};
use super::map::Key;
use super::{Items, List, Map, Value};
use crate::cel::cost::Meter;
use crate::cel::error::{EvalError, Outcome};
use crate::value::{Value as Json, deeper};

/// `==`: cel-go's `types.Equal`, which settles `null` before it asks the left value.
pub(crate) fn equal(left: &Value<'_>, right: &Value<'_>, meter: &mut Meter) -> Outcome<bool> {
    match (left, right) {
        (Value::Null, Value::Null) => Ok(true),
        (Value::Null, _) | (_, Value::Null) => Ok(false),
        _ => method(left, right, meter),
    }
}

/// The left value's own `Equal` method, which decides what the right one may be.
pub(crate) fn method(left: &Value<'_>, right: &Value<'_>, meter: &mut Meter) -> Outcome<bool> {
    meter.work(1)?;
    match (left, right) {
        (Value::Null, _) => Ok(matches!(right, Value::Null)),
        (Value::Bool(l), Value::Bool(r)) => Ok(l == r),
        (Value::Int(_) | Value::Uint(_) | Value::Double(_), _) => {
            Ok(compare_numbers(left, right) == Some(std::cmp::Ordering::Equal))
        }
        (Value::String(l), Value::String(r)) => {
            meter.read(l.as_str().len().min(r.as_str().len()))?;
            Ok(l.as_str() == r.as_str())
        }
        (Value::Bytes(l), Value::Bytes(r)) => {
            meter.read(l.len().min(r.len()))?;
            Ok(l == r)
        }
        (Value::Duration(l), Value::Duration(r)) => Ok(l == r),
        (Value::Timestamp(l), Value::Timestamp(r)) => Ok(l.instant() == r.instant()),
        (Value::Type(l), Value::Type(r)) => Ok(l == r),
        (Value::List(l), _) => deeper(|| lists(l, right, meter)),
        (Value::Map(l), _) => deeper(|| maps(l, right, meter)),
        (Value::Optional(l), Value::Optional(r)) => match (l, r) {
            (None, None) => Ok(true),
            (Some(l), Some(r)) => deeper(|| method(l, r, meter)),
            _ => Ok(false),
        },
        (Value::Url(l), Value::Url(r)) => Ok(l.to_string() == r.to_string()),
        (Value::Ip(l), Value::Ip(r)) => Ok(l == r),
        (Value::Cidr(l), Value::Cidr(r)) => Ok(l == r),
        (Value::Quantity(l), Value::Quantity(r)) => Ok(l.compare(r).is_eq()),
        (Value::Semver(l), Value::Semver(r)) => Ok(l.compare(r).is_eq()),
        (Value::Empty, Value::Empty) => Ok(true),
        (Value::Format(l), Value::Format(r)) => Ok(l.name == r.name),
        (
            Value::Url(_) | Value::Ip(_) | Value::Cidr(_) | Value::Quantity(_) | Value::Semver(_) | Value::Format(_),
            _,
        ) => Err(EvalError::no_such_overload()),
        (Value::Unknown(l), Value::Unknown(r)) => Ok(l == r),
        _ => Ok(false),
    }
}

fn lists(left: &List<'_>, right: &Value<'_>, meter: &mut Meter) -> Outcome<bool> {
    let data = left.as_data();
    let Value::List(right) = right else {
        // A view on the data insists on a list, a list that the expression made is just not equal.
        return if data.is_some() {
            Err(EvalError::no_such_overload())
        } else {
            Ok(false)
        };
    };
    if left.len() != right.len() {
        return Ok(false);
    }
    match data {
        None => made_lists(left, right, meter),
        Some((items, shape)) => match &shape.list_type {
            ListType::Atomic => atomic_lists(left, right, meter),
            ListType::Set => set_lists(left, right, meter),
            ListType::Map(keys) => map_lists(items, shape, keys, right, meter),
        },
    }
}

/// Elements that cannot be compared do not make two lists different (`baseList.Equal`).
fn made_lists(left: &List<'_>, right: &List<'_>, meter: &mut Meter) -> Outcome<bool> {
    for (l, r) in left.iter().zip(right.iter()) {
        match l.and_then(|l| equal(&l, &r?, meter)) {
            Ok(false) => return Ok(false),
            Err(error) if error.is_final() => return Err(error),
            _ => {}
        }
    }
    Ok(true)
}

fn atomic_lists(left: &List<'_>, right: &List<'_>, meter: &mut Meter) -> Outcome<bool> {
    for (l, r) in left.iter().zip(right.iter()) {
        if !method(&l?, &r?, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Equality of `x-kubernetes-list-type: set` ignores the order.
fn set_lists(left: &List<'_>, right: &List<'_>, meter: &mut Meter) -> Outcome<bool> {
    meter.work(left.len())?;
    let keys = left
        .iter()
        .map(|item| Ok(set_key(&item?)))
        .collect::<Outcome<BTreeSet<_>>>()?;
    let mut seen = BTreeSet::new();
    for item in right {
        let key = set_key(&item?);
        if !keys.contains(&key) {
            return Ok(false);
        }
        seen.insert(key);
    }
    Ok(seen.len() == keys.len())
}

/// Elements of a set by what they are compared by; numbers by value, whatever their type.
fn set_key(item: &Value<'_>) -> String {
    match item {
        Value::Int(i) => format!("n{i}"),
        Value::Uint(u) => format!("n{u}"),
        Value::Double(d) => match super::compare::lossless_int(*d) {
            Some(i) => format!("n{i}"),
            None => format!("n{d:?}"),
        },
        Value::Null => "null".to_owned(),
        other => format!("{}:{other}", other.type_name()),
    }
}

/// Equality of `x-kubernetes-list-type: map` finds elements by their keys.
fn map_lists(items: &[Json], shape: &Items, keys: &[Box<str>], right: &List<'_>, meter: &mut Meter) -> Outcome<bool> {
    meter.work(items.len())?;
    let by_key: BTreeMap<_, _> = items.iter().map(|item| (item_key(item, keys), item)).collect();
    let mut seen = BTreeSet::new();
    for item in right {
        let item = item?;
        let key = value_key(&item, keys);
        let Some(other) = by_key.get(&key) else {
            return Ok(false);
        };
        if !method(&read(other, &shape.item)?, &item, meter)? {
            return Ok(false);
        }
        seen.insert(key);
    }
    Ok(seen.len() == by_key.len())
}

/// The keys of an element as one text. Kubernetes looks the escaped names up in the data, so a key whose name needs
/// escaping is the same in every element; so it is here.
pub(crate) fn item_key(item: &Json, keys: &[Box<str>]) -> String {
    let values: Vec<_> = keys.iter().map(|key| item.get(key)).collect();
    format!("{values:?}")
}

/// [`item_key`] of an element as a value: only data has keys.
pub(crate) fn value_key(item: &Value<'_>, keys: &[Box<str>]) -> String {
    let values: Vec<_> = keys
        .iter()
        .map(|key| match item {
            Value::Map(map) => map.as_data().and_then(|(fields, _)| fields.get(key)),
            _ => None,
        })
        .collect();
    format!("{values:?}")
}

fn maps(left: &Map<'_>, right: &Value<'_>, meter: &mut Meter) -> Outcome<bool> {
    let data = left.as_data();
    let Value::Map(right) = right else {
        return if data.is_some() {
            Err(EvalError::no_such_overload())
        } else {
            Ok(false)
        };
    };
    if left.len() != right.len() {
        return Ok(false);
    }
    let Some((fields, shape)) = data else {
        return made_maps(left, right, meter);
    };
    for (name, value) in fields.iter() {
        if shape.field(name).is_none() {
            // Not in the schema: compared as the data it is, and only where the other object has it.
            let Some((others, _)) = right.as_data() else {
                return Err(EvalError::no_such_overload());
            };
            meter.work(1)?;
            if others.get(name).is_some_and(|other| other != value) {
                return Ok(false);
            }
            continue;
        }
        let key = Value::String(super::Text::Borrowed(name));
        match (left.find(&key)?, right.find(&key)?) {
            (None, None) => {}
            (Some(l), Some(r)) => {
                if !method(&l, &r, meter)? {
                    return Ok(false);
                }
            }
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Values that cannot be compared do not make two maps different (`baseMap.Equal`).
fn made_maps(left: &Map<'_>, right: &Map<'_>, meter: &mut Meter) -> Outcome<bool> {
    for key in left.keys() {
        let Some(r) = right.find(&key)? else {
            return Ok(false);
        };
        let Some(l) = left.find(&key)? else { continue };
        match equal(&l, &r, meter) {
            Ok(false) => return Ok(false),
            Err(error) if error.is_final() => return Err(error),
            _ => {}
        }
    }
    Ok(true)
}

/// Whether a list has an element equal to a value: `in`, `includes` and the set functions.
///
/// cel-go asks the needle's own `Equal` (`baseList.Contains`), Kubernetes the element's (`unstructuredList.Contains`).
pub(crate) fn contains(list: &List<'_>, needle: &Value<'_>, meter: &mut Meter) -> Outcome<bool> {
    let is_data = list.is_data();
    let mut failure = None;
    for item in list {
        let found = item.and_then(|item| {
            if is_data {
                method(&item, needle, meter)
            } else {
                method(needle, &item, meter)
            }
        });
        match found {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(error) if error.is_final() => return Err(error),
            Err(error) => failure = failure.or(is_data.then_some(error)),
        }
    }
    failure.map_or(Ok(false), Err)
}

/// The members of a constant list of numbers, strings and booleans, for a fast `in` (`decOptimize`).
#[derive(Debug)]
pub(crate) struct Members(BTreeSet<Key>);

impl Members {
    /// The members, unless some element is of another type.
    pub(crate) fn of(list: &List<'_>) -> Option<Self> {
        let mut members = BTreeSet::new();
        for item in list {
            let item = item.ok()?;
            if matches!(item, Value::Bytes(_)) {
                return None;
            }
            members.insert(Key::of(&item)?);
        }
        Some(Self(members))
    }

    /// Whether the value is a member, numbers of any type by value.
    pub(crate) fn contain(&self, value: &Value<'_>) -> bool {
        let Some(key) = Key::of(value) else { return false };
        self.0.contains(&key)
            || match value {
                Value::Int(_) | Value::Uint(_) | Value::Double(_) => self
                    .0
                    .iter()
                    .any(|member| compare_numbers(&member.to_value(), value) == Some(std::cmp::Ordering::Equal)),
                _ => false,
            }
    }
}
