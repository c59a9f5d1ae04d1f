//! Lists as sets: `ext/sets.go`.

use super::super::cost::Meter;
use super::super::error::Outcome;
use super::super::library::{Function, LIST_A, Overload, Pattern};
use super::super::value::{Value, contains as list_contains};
use Pattern::Bool;

/// The set functions.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new(
        "sets.contains",
        &[Overload::global(
            "list_sets_contains_list",
            &[LIST_A, LIST_A],
            Bool,
            |meter, args| contains(&args[0], &args[1], meter).map(Value::Bool),
        )],
    ),
    Function::new(
        "sets.equivalent",
        &[Overload::global(
            "list_sets_equivalent_list",
            &[LIST_A, LIST_A],
            Bool,
            |meter, args| {
                let both = contains(&args[0], &args[1], meter)? && contains(&args[1], &args[0], meter)?;
                Ok(Value::Bool(both))
            },
        )],
    ),
    Function::new(
        "sets.intersects",
        &[Overload::global(
            "list_sets_intersects_list",
            &[LIST_A, LIST_A],
            Bool,
            intersects,
        )],
    ),
];

/// Whether the first list has every element of the second.
fn contains(list: &Value<'_>, sublist: &Value<'_>, meter: &mut Meter) -> Outcome<bool> {
    let list = list.as_list()?;
    for item in sublist.as_list()? {
        if !list_contains(list, &item?, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn intersects<'a>(meter: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let other = args[1].as_list()?;
    for item in args[0].as_list()? {
        // Elements that cannot be compared are in neither.
        match list_contains(other, &item?, meter) {
            Ok(true) => return Ok(Value::Bool(true)),
            Err(error) if error.is_final() => return Err(error),
            _ => {}
        }
    }
    Ok(Value::Bool(false))
}
