//! What calls cost: cel-go's defaults, those of its list and set extensions, and Kubernetes' own.

use super::cost::{LIST_CREATE, Meter, REGEX_LENGTH, STRING_TRAVERSAL, STRUCT_CREATE, traversal};
use super::error::Outcome;
use super::value::Value;

/// Requirements that a selector is taken to have, by its characters (`selectorLengthToRequirementCount`).
const REQUIREMENTS: f64 = 0.5;

/// How the cost of a call is computed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Price {
    /// The same for every call.
    Fixed(u64),
    /// From the arguments, so that it is charged before the call is made.
    Arguments(fn(&[Value<'_>], &mut Meter) -> Outcome<u64>),
    /// From the size of the result.
    Result(fn(usize) -> u64),
}

/// The price of a call of a function. `overload` is empty when types left several.
pub(crate) fn price(function: &str, overload: &str) -> Price {
    tracked(overload)
        .or_else(|| kubernetes(function, overload))
        .unwrap_or_else(|| standard(overload))
}

/// Prices that the extensions of cel-go set for their overloads (`ext/lists.go`, `ext/sets.go`).
fn tracked(overload: &str) -> Option<Price> {
    Some(match overload {
        "list_slice" | "lists_range" | "list_reverse" => Price::Result(|size| size as u64 + 1 + LIST_CREATE),
        "list_flatten" | "list_flatten_int" => Price::Arguments(|args, _| {
            let depth = match args.get(1) {
                #[expect(clippy::cast_precision_loss, reason = "cel-go computes in float64")]
                Some(Value::Int(depth)) if *depth >= 0 => *depth as f64,
                _ => 1.0,
            };
            Ok(factored(args[0].plain_size() as u64, depth))
        }),
        "list_distinct" => Price::Arguments(|args, _| Ok(self_compare(&args[0]))),
        "list_sets_contains_list" | "list_sets_intersects_list" => Price::Arguments(|args, _| Ok(sets(args, 1))),
        "list_sets_equivalent_list" => Price::Arguments(|args, _| Ok(sets(args, 2))),
        _ if overload.starts_with("list_") && overload.ends_with("_sortByAssociatedKeys") => {
            Price::Arguments(|args, _| Ok(self_compare(&args[1])))
        }
        _ if overload.starts_with("list_") && overload.ends_with("_sort") => {
            Price::Arguments(|args, _| Ok(self_compare(&args[0])))
        }
        _ => return None,
    })
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "cel-go computes in float64"
)]
fn factored(size: u64, factor: f64) -> u64 {
    ((size as f64 * factor) as u64).saturating_add(1 + LIST_CREATE)
}

fn self_compare(list: &Value<'_>) -> u64 {
    let size = list.plain_size() as u64;
    let textual = match list {
        Value::List(list) => matches!(list.get(0), Some(Ok(Value::String(_) | Value::Bytes(_)))),
        _ => false,
    };
    let factor = if textual { 2.0 + STRING_TRAVERSAL } else { 2.0 };
    factored(size.saturating_mul(size), factor)
}

fn sets(args: &[Value<'_>], factor: u64) -> u64 {
    let product = (args[0].plain_size() as u64).saturating_mul(args[1].plain_size() as u64);
    product.saturating_mul(factor).saturating_add(1)
}

/// Kubernetes' prices, by the name of the function (`CostEstimator.CallCost`).
fn kubernetes(function: &str, overload: &str) -> Option<Price> {
    Some(match function {
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes" => {
            Price::Arguments(|args, meter| walk(&args[0], meter))
        }
        "ip" if overload == "cidr_ip" => Price::Fixed(1),
        "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "cidr" | "isIP" | "isCIDR" | "ip" | "quantity"
        | "isQuantity" | "semver" | "isSemver" => {
            Price::Arguments(|args, meter| Ok(traversal(read_size(&args[0], meter)?, STRING_TRAVERSAL)))
        }
        "replace" | "split" | "ip.isCanonical" => {
            Price::Arguments(|args, meter| Ok(traversal(read_size(&args[0], meter)?, 2.0 * STRING_TRAVERSAL)))
        }
        "check" => Price::Fixed(350_000),
        "fieldSelector" | "labelSelector" => Price::Arguments(|args, meter| {
            let size = read_size(&args[1], meter)?;
            let requirements = traversal(size, REQUIREMENTS).saturating_mul(LIST_CREATE + STRUCT_CREATE);
            Ok(LIST_CREATE + traversal(size, STRING_TRAVERSAL) + requirements)
        }),
        "join" => Price::Result(|size| traversal(size, 2.0 * STRING_TRAVERSAL)),
        "find" | "findAll" => Price::Arguments(pattern),
        "containsIP" if overload == "cidr_contains_ip_string" => {
            Price::Arguments(|args, _| Ok(contains_ip(args) + traversal(args[1].plain_size(), STRING_TRAVERSAL)))
        }
        "containsIP" => Price::Arguments(|args, _| Ok(contains_ip(args))),
        "containsCIDR" if overload == "cidr_contains_cidr_string" => {
            Price::Arguments(|args, _| Ok(contains_cidr(args) + traversal(args[1].plain_size(), STRING_TRAVERSAL)))
        }
        "containsCIDR" => Price::Arguments(|args, _| Ok(contains_cidr(args))),
        "validate" => Price::Arguments(|args, meter| match &args[0] {
            Value::Format(format) => {
                let text = traversal(1 + read_size(&args[1], meter)?, STRING_TRAVERSAL);
                Ok(text.saturating_mul(traversal(format.max_regex_size, REGEX_LENGTH)))
            }
            _ => Ok(1),
        }),
        "_==_" => Price::Arguments(|args, meter| match &args[0] {
            Value::Quantity(_)
            | Value::Ip(_)
            | Value::Cidr(_)
            | Value::Format(_)
            | Value::Url(_)
            | Value::Semver(_) => Ok(1),
            _ => shorter(args, meter),
        }),
        _ => return None,
    })
}

/// cel-go's prices of its own overloads (`CostTracker.costCall`).
fn standard(overload: &str) -> Price {
    match overload {
        "starts_with_string" | "ends_with_string" => {
            Price::Arguments(|args, meter| Ok(traversal(read_full_size(&args[1], meter)?, STRING_TRAVERSAL)))
        }
        "string_to_bytes" | "bytes_to_string" | "strings_quote" | "string_format" => {
            Price::Arguments(|args, meter| Ok(traversal(read_full_size(&args[0], meter)?, STRING_TRAVERSAL)))
        }
        "in_list" => Price::Arguments(|args, _| Ok(args[1].size() as u64)),
        "less_string"
        | "greater_string"
        | "less_equals_string"
        | "greater_equals_string"
        | "less_bytes"
        | "greater_bytes"
        | "less_equals_bytes"
        | "greater_equals_bytes"
        | "equals"
        | "not_equals" => Price::Arguments(shorter),
        "add_string" | "add_bytes" => Price::Arguments(|args, meter| {
            let size = read_full_size(&args[0], meter)? + read_full_size(&args[1], meter)?;
            Ok(traversal(size, STRING_TRAVERSAL))
        }),
        "matches" | "matches_string" => Price::Arguments(pattern),
        "contains_string" => Price::Arguments(|args, meter| {
            let text = traversal(read_full_size(&args[0], meter)?, STRING_TRAVERSAL);
            let part = traversal(read_full_size(&args[1], meter)?, STRING_TRAVERSAL);
            Ok(text.saturating_mul(part))
        }),
        _ => Price::Fixed(1),
    }
}

/// The size, counted as text that is read where it is a string.
fn read_size(value: &Value<'_>, meter: &mut Meter) -> Outcome<usize> {
    if let Value::String(text) = value {
        meter.read(text.as_str().len())?;
    }
    Ok(value.plain_size())
}

/// [`read_size`], where an optional has the size of its value.
fn read_full_size(value: &Value<'_>, meter: &mut Meter) -> Outcome<usize> {
    if let Value::String(text) = value {
        meter.read(text.as_str().len())?;
    }
    Ok(value.size())
}

fn shorter(args: &[Value<'_>], meter: &mut Meter) -> Outcome<u64> {
    let size = match (&args[0], &args[1]) {
        // A string has at least a quarter as many characters as bytes: the longer one need not be counted to its end.
        (Value::String(l), Value::String(r)) => {
            let (short, long) = if l.as_str().len() <= r.as_str().len() {
                (l, r)
            } else {
                (r, l)
            };
            meter.read(short.as_str().len())?;
            let size = short.as_str().chars().count();
            size.min(long.as_str().chars().take(size).count())
        }
        (l, r) => read_full_size(l, meter)?.min(read_full_size(r, meter)?),
    };
    Ok(traversal(size, STRING_TRAVERSAL))
}

fn pattern(args: &[Value<'_>], meter: &mut Meter) -> Outcome<u64> {
    let text = traversal(1 + read_full_size(&args[0], meter)?, STRING_TRAVERSAL);
    let pattern = traversal(read_full_size(&args[1], meter)?, REGEX_LENGTH);
    Ok(text.saturating_mul(pattern))
}

fn contains_ip(args: &[Value<'_>]) -> u64 {
    traversal(2 * args[0].plain_size(), STRING_TRAVERSAL)
}

fn contains_cidr(args: &[Value<'_>]) -> u64 {
    contains_ip(args) + traversal(args[0].plain_size(), STRING_TRAVERSAL) + 1
}

/// The cost of walking a value as a tree of data (`traversalCost`): a tenth of the bytes of each string, rounded
/// down, and one for everything else.
fn walk(value: &Value<'_>, meter: &mut Meter) -> Outcome<u64> {
    crate::value::deeper(|| {
        meter.work(1)?;
        match value {
            Value::String(text) => Ok(tenth(text.as_str().len())),
            Value::Bytes(bytes) => Ok(tenth(bytes.len())),
            Value::List(list) => {
                let mut cost = 0u64;
                for item in list {
                    cost = cost.saturating_add(item.map_or(Ok(1), |item| walk(&item, meter))?);
                }
                Ok(cost)
            }
            Value::Map(map) => {
                let mut cost = 0u64;
                for key in map.keys() {
                    let value = match map.find(&key) {
                        Ok(Some(value)) => walk(&value, meter)?,
                        _ => 1,
                    };
                    cost = cost.saturating_add(walk(&key, meter)?).saturating_add(value);
                }
                Ok(cost)
            }
            _ => Ok(1),
        }
    })
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "cel-go computes in float64"
)]
fn tenth(size: usize) -> u64 {
    (size as f64 * STRING_TRAVERSAL) as u64
}
