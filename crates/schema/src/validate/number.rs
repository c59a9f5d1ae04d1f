//! Numbers: kube-openapi's `numberValidator`. An integer is compared with bounds cut to integers; bounds that are none of
//! the schema's type are errors of the value, which is then compared, and named, as a float.

use super::outcome::Outcome;
use super::walk::{Target, Walk};
use crate::field::{ErrorKind, Path};
use crate::go;
use crate::node::{Bound, Checks, FormatOf, Node, Type, Types};
use crate::value::Value;

/// The largest float that is still a JSON integer to go-openapi: 2^53 - 1.
const MAX_JSON_FLOAT: f64 = 9_007_199_254_740_991.0;
/// How far from an integer a float may be, relative to it.
const EPSILON: f64 = 1e-9;

/// `swag.IsFloat64AJSONInteger`.
pub(super) fn is_whole(f: f64) -> bool {
    if !(-MAX_JSON_FLOAT..=MAX_JSON_FLOAT).contains(&f) {
        return false;
    }
    let rounded = f.round();
    let difference = (f - rounded).abs();
    difference == 0.0 || (rounded != 0.0 && difference < EPSILON * rounded.abs())
}

#[derive(Clone, Copy)]
enum Side {
    Minimum,
    Maximum,
}

impl Side {
    const fn words(self, exclusive: bool) -> &'static str {
        match (self, exclusive) {
            (Self::Maximum, false) => "less than or equal to",
            (Self::Maximum, true) => "less than",
            (Self::Minimum, false) => "greater than or equal to",
            (Self::Minimum, true) => "greater than",
        }
    }

    fn broken<N: PartialOrd>(self, value: &N, bound: &N, exclusive: bool) -> bool {
        let beyond = match self {
            Self::Maximum => value > bound,
            Self::Minimum => value < bound,
        };
        beyond || (exclusive && value == bound)
    }
}

impl Walk {
    pub(super) fn number(
        &mut self,
        node: &Node,
        checks: Option<&Checks>,
        value: &Value,
        path: &Path<'_>,
        out: &mut Outcome,
    ) {
        self.range(node, value, "Checked", path, out);
        let Some(checks) = checks else { return };
        if let Some(factor) = checks.multiple_of {
            self.multiple_of(node, value, factor, path, out);
        }
        if let Some(bound) = checks.minimum {
            self.bound(node, value, bound, Side::Minimum, path, out);
        }
        if let Some(bound) = checks.maximum {
            self.bound(node, value, bound, Side::Maximum, path, out);
        }
        self.enumeration(Some(checks), Target::Value(value), path, out);
    }

    /// Whether a number, of the object or of the schema, is of the schema's type and format.
    fn range(&mut self, node: &Node, value: &Value, what: &str, path: &Path<'_>, out: &mut Outcome) -> bool {
        let format = node.format.as_ref().map(|format| format.of);
        let (of, fits) = match (node.types, format) {
            (Types::One(Type::Integer), Some(FormatOf::Int32)) => (
                "integer with format int32",
                as_integer(value).is_some_and(|i| i32::try_from(i).is_ok()),
            ),
            (Types::One(Type::Integer), Some(FormatOf::Int64)) => {
                ("integer with format int64", as_integer(value).is_some())
            }
            (Types::One(Type::Integer), _) => ("integer (default format)", as_integer(value).is_some()),
            (Types::One(Type::Number), Some(FormatOf::Float)) => ("number with format float", fits_float32(value)),
            _ => return true,
        };
        if !fits {
            let message = format!("{what} value must be of type {of} in {}", path.joined());
            self.limits.fail_whole(out, message);
        }
        fits
    }

    fn multiple_of(&mut self, node: &Node, value: &Value, factor: f64, path: &Path<'_>, out: &mut Outcome) {
        let fits = self.range(node, &Value::Float(factor), "MultipleOf", path, out);
        let general = Value::Float(as_float(value));
        let value = if fits { value } else { &general };
        let (factor, is_multiple) = match value {
            Value::Int(i) => {
                let factor = go::to_int64(factor);
                (Value::Int(factor), (factor > 0).then(|| i % factor == 0))
            }
            other => {
                let product = if factor < 1.0 {
                    1.0 / factor * as_float(other)
                } else {
                    as_float(other) / factor
                };
                (Value::Float(factor), (factor > 0.0).then(|| is_whole(product)))
            }
        };
        let printed = print(&factor);
        match is_multiple {
            Some(true) => {}
            Some(false) => {
                let message = format!("{} in body should be a multiple of {printed}", path.joined());
                self.limits.fail(out, ErrorKind::Invalid, path, value, message);
            }
            None => {
                let message = format!(
                    "factor MultipleOf declared for {} must be positive: {printed}",
                    path.joined()
                );
                self.limits.fail(out, ErrorKind::Invalid, path, &factor, message);
            }
        }
    }

    fn bound(&mut self, node: &Node, value: &Value, bound: Bound, side: Side, path: &Path<'_>, out: &mut Outcome) {
        let what = match side {
            Side::Minimum => "Minimum boundary",
            Side::Maximum => "Maximum boundary",
        };
        let Bound {
            value: limit,
            exclusive,
        } = bound;
        let fits = self.range(node, &Value::Float(limit), what, path, out);
        let general = Value::Float(as_float(value));
        let value = if fits { value } else { &general };
        let (limit, broken) = match value {
            Value::Int(i) => {
                let limit = go::to_int64(limit);
                (Value::Int(limit), side.broken(i, &limit, exclusive))
            }
            other => (Value::Float(limit), side.broken(&as_float(other), &limit, exclusive)),
        };
        if broken {
            let message = format!(
                "{} in body should be {} {}",
                path.joined(),
                side.words(exclusive),
                print(&limit)
            );
            self.limits.fail(out, ErrorKind::Invalid, path, value, message);
        }
    }
}

#[allow(clippy::cast_precision_loss)]
fn as_float(value: &Value) -> f64 {
    match value {
        Value::Int(i) => *i as f64,
        Value::Float(f) => *f,
        _ => 0.0,
    }
}

/// The number as an integer, if its decimal digits are those of an `int64`.
fn as_integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(i) => Some(*i),
        Value::Float(f) if f.fract() == 0.0 => go::float_as_f(*f).parse().ok(),
        _ => None,
    }
}

fn fits_float32(value: &Value) -> bool {
    /// Below this no decimal rounds to infinity.
    const SAFE: f64 = 3.4e38;
    let f = as_float(value);
    f.abs() < SAFE || go::float_as_f(f).parse::<f32>().is_ok_and(f32::is_finite)
}

fn print(number: &Value) -> String {
    match number {
        Value::Int(i) => i.to_string(),
        other => go::float_as_v(as_float(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_floats_are_those_of_go_openapi() {
        for (f, whole) in [
            (0.0, true),
            (3.0, true),
            (3.000_000_000_1, true),
            (0.000_000_000_1, false),
            (3.5, false),
            (9_007_199_254_740_991.0, true),
            (9_007_199_254_740_992.0, false),
            (f64::INFINITY, false),
        ] {
            assert_eq!(is_whole(f), whole, "{f}");
        }
    }
}
