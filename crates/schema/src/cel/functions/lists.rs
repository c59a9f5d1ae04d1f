//! Lists: cel-go's extension (`ext/lists.go`) and Kubernetes' own (`library/lists.go`).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::super::cost::Meter;
use super::super::error::{EvalError, Outcome};
use super::super::library::{A, Function, LIST_A, Overload, Pattern};
use super::super::time;
use super::super::value::{
    List as CelList, ListType, Value, compare, equal, int, is_comparable, item_key, method, read_all, value_key,
};
use super::operators;
use Pattern::{Bool, Bytes, Double, Duration, Dyn, Int, List, String, Timestamp, Uint};

/// Overloads of a function for lists of each comparable type, with cel-go's names.
macro_rules! comparable {
    ($id:ident, $result:ident, $call:expr) => {
        &[
            Overload::member($id!("int"), &[List(&Int)], $result!(Int), $call),
            Overload::member($id!("uint"), &[List(&Uint)], $result!(Uint), $call),
            Overload::member($id!("double"), &[List(&Double)], $result!(Double), $call),
            Overload::member($id!("bool"), &[List(&Bool)], $result!(Bool), $call),
            Overload::member($id!("duration"), &[List(&Duration)], $result!(Duration), $call),
            Overload::member($id!("timestamp"), &[List(&Timestamp)], $result!(Timestamp), $call),
            Overload::member($id!("string"), &[List(&String)], $result!(String), $call),
            Overload::member($id!("bytes"), &[List(&Bytes)], $result!(Bytes), $call),
        ]
    };
}

/// Names of overloads of `isSorted`.
macro_rules! is_sorted_id {
    ($ty:literal) => {
        concat!("list_", $ty, "_is_sorted_bool")
    };
}

/// Names of overloads of `max`.
macro_rules! max_id {
    ($ty:literal) => {
        concat!("list_", $ty, "_max_", $ty)
    };
}

/// Names of overloads of `min`.
macro_rules! min_id {
    ($ty:literal) => {
        concat!("list_", $ty, "_min_", $ty)
    };
}

/// Names of overloads of `sort`, which has the types' full names.
macro_rules! sort_id {
    ("duration") => {
        "list_google.protobuf.Duration_sort"
    };
    ("timestamp") => {
        "list_google.protobuf.Timestamp_sort"
    };
    ($ty:literal) => {
        concat!("list_", $ty, "_sort")
    };
}

/// The result is an element.
macro_rules! element {
    ($ty:ident) => {
        $ty
    };
}

/// The result is a list of elements.
macro_rules! list {
    ($ty:ident) => {
        List(&$ty)
    };
}

/// The result is a boolean.
macro_rules! boolean {
    ($ty:ident) => {
        Bool
    };
}

/// Overloads of `@sortByAssociatedKeys` for keys of each comparable type.
const SORT_BY: &[Overload] = &[
    Overload::member("list_int_sortByAssociatedKeys", &[LIST_A, List(&Int)], LIST_A, sort_by),
    Overload::member(
        "list_uint_sortByAssociatedKeys",
        &[LIST_A, List(&Uint)],
        LIST_A,
        sort_by,
    ),
    Overload::member(
        "list_double_sortByAssociatedKeys",
        &[LIST_A, List(&Double)],
        LIST_A,
        sort_by,
    ),
    Overload::member(
        "list_bool_sortByAssociatedKeys",
        &[LIST_A, List(&Bool)],
        LIST_A,
        sort_by,
    ),
    Overload::member(
        "list_google.protobuf.Duration_sortByAssociatedKeys",
        &[LIST_A, List(&Duration)],
        LIST_A,
        sort_by,
    ),
    Overload::member(
        "list_google.protobuf.Timestamp_sortByAssociatedKeys",
        &[LIST_A, List(&Timestamp)],
        LIST_A,
        sort_by,
    ),
    Overload::member(
        "list_string_sortByAssociatedKeys",
        &[LIST_A, List(&String)],
        LIST_A,
        sort_by,
    ),
    Overload::member(
        "list_bytes_sortByAssociatedKeys",
        &[LIST_A, List(&Bytes)],
        LIST_A,
        sort_by,
    ),
];

/// The list functions.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new(
        "slice",
        &[Overload::member("list_slice", &[LIST_A, Int, Int], LIST_A, slice)],
    ),
    Function::unguarded(
        "flatten",
        &[
            Overload::member("list_flatten", &[List(&LIST_A)], LIST_A, flatten),
            Overload::member("list_flatten_int", &[List(&Dyn), Int], List(&Dyn), flatten),
        ],
    ),
    Function::singleton("sort", comparable!(sort_id, list, sort), is_list),
    Function::singleton("@sortByAssociatedKeys", SORT_BY, is_list),
    Function::new(
        "lists.range",
        &[Overload::global("lists_range", &[Int], List(&Int), range)],
    ),
    Function::new(
        "reverse",
        &[Overload::member("list_reverse", &[LIST_A], LIST_A, reverse)],
    ),
    Function::new(
        "distinct",
        &[Overload::member("list_distinct", &[LIST_A], LIST_A, distinct)],
    ),
    Function::new("isSorted", comparable!(is_sorted_id, boolean, is_sorted)),
    Function::new(
        "sum",
        &[
            Overload::member("list_int_sum_int", &[List(&Int)], Int, |meter, args| {
                sum(&args[0], Value::Int(0), meter)
            }),
            Overload::member("list_uint_sum_uint", &[List(&Uint)], Uint, |meter, args| {
                sum(&args[0], Value::Uint(0), meter)
            }),
            Overload::member("list_double_sum_double", &[List(&Double)], Double, |meter, args| {
                sum(&args[0], Value::Double(0.0), meter)
            }),
            Overload::member(
                "list_duration_sum_duration",
                &[List(&Duration)],
                Duration,
                |meter, args| sum(&args[0], Value::Duration(time::Duration::from_nanoseconds(0)), meter),
            ),
        ],
    ),
    Function::new(
        "max",
        comparable!(max_id, element, |meter, args| extreme(
            "max",
            &args[0],
            Ordering::Less,
            meter
        )),
    ),
    Function::new(
        "min",
        comparable!(min_id, element, |meter, args| extreme(
            "min",
            &args[0],
            Ordering::Greater,
            meter
        )),
    ),
    Function::new(
        "indexOf",
        &[Overload::member("list_a_index_of_int", &[LIST_A, A], Int, index_of)],
    ),
    Function::new(
        "lastIndexOf",
        &[Overload::member(
            "list_a_last_index_of_int",
            &[LIST_A, A],
            Int,
            last_index_of,
        )],
    ),
];

/// Elements that `lists.range` makes at most.
const MAX_RANGE: i64 = 1_000_000;

fn is_list(value: &Value<'_>) -> bool {
    matches!(value, Value::List(_))
}

/// `a + b`: a keyed list or set of the object is merged with what is added (`addToMapList`, `addToSetList`).
pub(super) fn concatenate<'a>(left: &CelList<'a>, right: &CelList<'a>, meter: &mut Meter) -> Outcome<CelList<'a>> {
    let Some((_, shape)) = left.as_data() else {
        return Ok(left.clone().join(right.clone()));
    };
    match &shape.list_type {
        ListType::Atomic => Ok(left.clone().join(right.clone())),
        ListType::Set => {
            let mut merged = read_all(left)?;
            for item in right {
                let item = item?;
                let mut known = false;
                for other in &merged {
                    if equal(other, &item, meter)? {
                        known = true;
                        break;
                    }
                }
                if !known {
                    merged.push(item);
                }
            }
            Ok(merged.into())
        }
        ListType::Map(keys) => {
            meter.work(left.len() + right.len())?;
            let mut merged = read_all(left)?;
            let mut places: BTreeMap<_, _> = left
                .as_data()
                .map(|(items, _)| items.iter().map(|item| item_key(item, keys)).zip(0..).collect())
                .unwrap_or_default();
            for item in right {
                let item = item?;
                let key = value_key(&item, keys);
                if let Some(place) = places.get(&key) {
                    merged[*place] = item;
                } else {
                    places.insert(key, merged.len());
                    merged.push(item);
                }
            }
            Ok(merged.into())
        }
    }
}

fn slice<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let list = args[0].as_list()?;
    let (start, end) = (args[1].as_int()?, args[2].as_int()?);
    let (Ok(from), Ok(to)) = (usize::try_from(start), usize::try_from(end)) else {
        return Err(EvalError::failed(format!(
            "cannot slice({start}, {end}), negative indexes not supported"
        )));
    };
    if from > to {
        return Err(EvalError::failed(format!(
            "cannot slice({start}, {end}), start index must be less than or equal to end index"
        )));
    }
    if list.len() < to {
        return Err(EvalError::failed(format!(
            "cannot slice({start}, {end}), list is length {}",
            list.len()
        )));
    }
    meter.ensure((to - from) as u64)?;
    let mut items = Vec::with_capacity(to - from);
    for index in from..to {
        items.extend(list.get(index).transpose()?);
    }
    Ok(Value::list(items))
}

fn flatten<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let Value::List(list) = &args[0] else {
        let suffix = args.get(1).map_or("", Value::type_name);
        return Err(EvalError::failed(format!(
            "no such overload: {}.flatten({suffix})",
            args[0].type_name()
        )));
    };
    let depth = match args.get(1) {
        None => 1,
        Some(Value::Int(depth)) => *depth,
        Some(other) => {
            return Err(EvalError::failed(format!(
                "no such overload: {}.flatten({})",
                args[0].type_name(),
                other.type_name()
            )));
        }
    };
    if depth < 0 {
        return Err(EvalError::failed("level must be non-negative"));
    }
    let mut items = Vec::new();
    flatten_into(list, depth, &mut items, meter)?;
    Ok(Value::list(items))
}

fn flatten_into<'a>(list: &CelList<'a>, depth: i64, items: &mut Vec<Value<'a>>, meter: &mut Meter) -> Outcome<()> {
    crate::value::deeper(|| {
        for item in list {
            meter.work(8)?;
            match item? {
                Value::List(inner) if depth > 0 => flatten_into(&inner, depth - 1, items, meter)?,
                item => items.push(item),
            }
        }
        Ok(())
    })
}

fn sort<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    sort_by_keys(&args[0], &args[0], meter)
}

fn sort_by<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    sort_by_keys(&args[0], &args[1], meter)
}

fn sort_by_keys<'a>(list: &Value<'a>, keys: &Value<'a>, meter: &mut Meter) -> Outcome<Value<'a>> {
    let (items, keys) = (list.as_list()?, keys.as_list()?);
    if items.len() != keys.len() {
        return Err(EvalError::failed(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} \
             elements respectively",
            items.len(),
            keys.len()
        )));
    }
    if items.is_empty() {
        return Ok(list.clone());
    }
    meter.work(items.len())?;
    let keys = read_all(keys)?;
    if !is_comparable(&keys[0]) {
        return Err(EvalError::failed("list elements must be comparable"));
    }
    // A single element is never compared, and so never found to be of another type.
    if keys.len() > 1 && keys.iter().any(|key| key.type_name() != keys[0].type_name()) {
        return Err(EvalError::failed("list elements must have the same type"));
    }
    let mut pairs: Vec<_> = keys.into_iter().zip(read_all(items)?).collect();
    pairs.sort_by(|(left, _), (right, _)| compare(left, right).unwrap_or(Ordering::Equal));
    Ok(Value::list(pairs.into_iter().map(|(_, item)| item).collect()))
}

fn range<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let size = args[0].as_int()?;
    if size < 0 {
        return Err(EvalError::failed(format!(
            "lists.range: size must be non-negative, got {size}"
        )));
    }
    if size > MAX_RANGE {
        return Err(EvalError::failed(format!(
            "lists.range: size {size} exceeds maximum allowed ({MAX_RANGE})"
        )));
    }
    meter.ensure(size.unsigned_abs())?;
    Ok(Value::list((0..size).map(Value::Int).collect()))
}

fn reverse<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let list = args[0].as_list()?;
    meter.ensure(list.len() as u64)?;
    let mut items = read_all(list)?;
    items.reverse();
    Ok(Value::list(items))
}

fn distinct<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let list = args[0].as_list()?;
    let mut unique: Vec<Value<'a>> = Vec::new();
    for (place, item) in list.iter().enumerate() {
        let item = item?;
        let mut seen = false;
        for (other_place, other) in unique.iter().enumerate() {
            if place == other_place {
                continue;
            }
            match method(&item, other, meter) {
                Ok(true) => {
                    seen = true;
                    break;
                }
                Err(error) if error.is_final() => return Err(error),
                _ => {}
            }
        }
        if !seen {
            unique.push(item);
        }
    }
    Ok(Value::list(unique))
}

fn is_sorted<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let mut previous: Option<Value<'a>> = None;
    for item in args[0].as_list()? {
        meter.work(1)?;
        let item = item?;
        if !is_comparable(&item) {
            return Err(EvalError::no_such_overload());
        }
        if let Some(previous) = previous
            && compare(&previous, &item) == Ok(Ordering::Greater)
        {
            return Ok(Value::Bool(false));
        }
        previous = Some(item);
    }
    Ok(Value::Bool(true))
}

fn sum<'a>(list: &Value<'a>, zero: Value<'a>, meter: &mut Meter) -> Outcome<Value<'a>> {
    let mut total = zero;
    for item in list.as_list()? {
        meter.work(1)?;
        total = operators::add(meter, &[total, item?])?;
    }
    Ok(total)
}

/// The first element that no other is beyond; `beyond` is the order of the one kept to the one that replaces it.
fn extreme<'a>(name: &str, list: &Value<'a>, beyond: Ordering, meter: &mut Meter) -> Outcome<Value<'a>> {
    let mut kept: Option<Value<'a>> = None;
    for item in list.as_list()? {
        meter.work(1)?;
        let item = item?;
        if !is_comparable(&item) {
            return Err(EvalError::no_such_overload());
        }
        if kept.as_ref().is_none_or(|kept| compare(kept, &item) == Ok(beyond)) {
            kept = Some(item);
        }
    }
    kept.ok_or_else(|| EvalError::failed(format!("{name} called on empty list")))
}

fn index_of<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let list = args[0].as_list()?;
    for (index, item) in list.iter().enumerate() {
        if is_item(item, &args[1], meter)? {
            return Ok(int(index));
        }
    }
    Ok(Value::Int(-1))
}

fn last_index_of<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let list = args[0].as_list()?;
    for index in (0..list.len()).rev() {
        if let Some(item) = list.get(index)
            && is_item(item, &args[1], meter)?
        {
            return Ok(int(index));
        }
    }
    Ok(Value::Int(-1))
}

/// Elements that cannot be compared are not the one.
fn is_item(item: Outcome<Value<'_>>, wanted: &Value<'_>, meter: &mut Meter) -> Outcome<bool> {
    match item.and_then(|item| method(&item, wanted, meter)) {
        Err(error) if error.is_final() => Err(error),
        outcome => Ok(outcome == Ok(true)),
    }
}
