//! What Kubernetes asks of an object whose resource has the subresource `scale` (`ValidateScaleSpec`,
//! `ValidateScaleStatus`).

use std::fmt::Write as _;

use crate::field::{Error, Errors, Path};
use crate::go;
use crate::value::{Map, Value, deeper};

/// The subresource `scale` of a version, as a `CustomResourceDefinition` describes it. Paths are names with dots
/// before them, such as `.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Where the wanted number of replicas is.
    pub spec_replicas_path: Box<str>,
    /// Where the counted number of replicas is.
    pub status_replicas_path: Box<str>,
    /// Where the selector is, if there is one.
    pub label_selector_path: Option<Box<str>>,
}

/// Checks the fields that `scale` reads and writes. Those that are absent are fine.
pub(crate) fn validate_scale(scale: &Scale, object: &Map, errors: &mut Errors) {
    validate_replicas(&scale.spec_replicas_path, object, errors);
    validate_replicas(&scale.status_replicas_path, object, errors);
    if let Some(path) = &scale.label_selector_path {
        let found = nested(object, path).and_then(|value| match value {
            None | Some(Value::String(_)) => Ok(()),
            Some(other) => Err(accessor_error(names(path).count(), path, other, "string")),
        });
        if let Err(detail) = found {
            errors.push(Error::invalid(&Path::root().child(path), "", detail));
        }
    }
}

fn validate_replicas(path: &str, object: &Map, errors: &mut Errors) {
    let replicas = nested(object, path).and_then(|value| match value {
        None => Ok(0),
        Some(Value::Int(replicas)) => Ok(*replicas),
        Some(other) => Err(accessor_error(names(path).count(), path, other, "int64")),
    });
    let (replicas, detail) = match replicas {
        Err(detail) => (0, detail),
        Ok(replicas) if replicas < 0 => (replicas, "should be a non-negative integer".to_owned()),
        Ok(replicas) if replicas > i64::from(i32::MAX) => {
            (replicas, format!("should be less than or equal to {}", i32::MAX))
        }
        Ok(_) => return,
    };
    errors.push(Error::invalid(&Path::root().child(path), replicas, detail));
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('.').unwrap_or(path).split('.')
}

/// The value at a path (`NestedFieldNoCopy`); `null` on the way is as good as nothing.
fn nested<'a>(object: &'a Map, path: &str) -> Result<Option<&'a Value>, String> {
    let mut names = names(path);
    let mut found = names.next().and_then(|name| object.get(name));
    for (depth, name) in (2..).zip(names) {
        found = match found {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Object(map)) => map.get(name),
            Some(other) => return Err(accessor_error(depth, path, other, "map[string]interface{}")),
        };
    }
    Ok(found)
}

/// What is wrong at the first names of a path.
fn accessor_error(depth: usize, path: &str, found: &Value, expected: &str) -> String {
    let mut text = String::new();
    for name in names(path).take(depth) {
        text.push('.');
        text.push_str(name);
    }
    text.push_str(" accessor error: ");
    write_v(found, &mut text);
    let _ = write!(text, " is of the type {}, expected {expected}", type_name(found));
    text
}

/// `%T`.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// `%v`.
fn write_v(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
        Value::Int(int) => {
            let _ = write!(out, "{int}");
        }
        Value::Float(float) => out.push_str(&go::float_as_v(*float)),
        Value::String(string) => out.push_str(string),
        Value::Array(items) => deeper(|| {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                write_v(item, out);
            }
            out.push(']');
        }),
        Value::Object(map) => deeper(|| {
            out.push_str("map[");
            for (index, (key, item)) in map.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                write_v(item, out);
            }
            out.push(']');
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn errors(object: &str) -> Vec<String> {
        let scale = Scale {
            spec_replicas_path: ".spec.replicas".into(),
            status_replicas_path: ".status.replicas".into(),
            label_selector_path: Some(".status.selector".into()),
        };
        let object = json::decode(object.as_bytes()).unwrap().value;
        let mut errors = Errors::new();
        validate_scale(&scale, object.as_object().unwrap(), &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn fields_that_are_absent_or_in_range_are_fine() {
        for object in [
            "{}",
            r#"{"spec":null}"#,
            r#"{"spec":{}}"#,
            r#"{"spec":{"replicas":0},"status":{"replicas":2147483647,"selector":"a=b"}}"#,
        ] {
            assert_eq!(errors(object), [""; 0], "{object}");
        }
    }

    #[test]
    fn fields_of_a_wrong_type_or_out_of_range_are_told_in_gos_words() {
        for (object, error) in [
            (
                r#"{"spec":{"replicas":-1}}"#,
                ".spec.replicas: Invalid value: -1: should be a non-negative integer",
            ),
            (
                r#"{"status":{"replicas":2147483648}}"#,
                ".status.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647",
            ),
            (
                r#"{"spec":{"replicas":null}}"#,
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: <nil> is of the type <nil>, \
                 expected int64",
            ),
            (
                r#"{"spec":{"replicas":1.5}}"#,
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: 1.5 is of the type float64, \
                 expected int64",
            ),
            (
                r#"{"spec":["a",null,{"k":1}]}"#,
                ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: [a <nil> map[k:1]] is of the type \
                 []interface {}, expected map[string]interface{}",
            ),
            (
                r#"{"status":{"selector":{}}}"#,
                ".status.selector: Invalid value: \"\": .status.selector accessor error: map[] is of the type \
                 map[string]interface {}, expected string",
            ),
        ] {
            assert_eq!(errors(object), [error], "{object}");
        }
    }
}
