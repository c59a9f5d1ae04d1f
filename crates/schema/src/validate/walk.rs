//! The OpenAPI schema: `k8s.io/kube-openapi/pkg/validation/validate`, with its order, wording and oddities.

use super::ValidateOptions;
use super::outcome::{Limits, Outcome};
use crate::field::{Error, ErrorKind, Errors, Path};
use crate::go;
use crate::node::{Additional, Checks, FormatOf, Node, Type, Types};
use crate::value::{List, Map, Value, deeper};

/// Validates an object.
pub(crate) fn validate_object(node: &Node, object: &Map, options: ValidateOptions<'_>, errors: &mut Errors) {
    run(
        node,
        Target::Object(object),
        options.ignore_required_status,
        false,
        errors,
    );
}

/// Validates the default of a schema against that schema.
pub(crate) fn validate_default(node: &Node, default: &Value, errors: &mut Errors) {
    run(node, Target::new(default), false, true, errors);
}

fn run(node: &Node, target: Target<'_>, ignore_required_status: bool, structural: bool, errors: &mut Errors) {
    let mut walk = Walk {
        ignore_required_status,
        structural,
        limits: Limits::default(),
    };
    let mut out = Outcome::default();
    walk.apply(node, target, &Path::root(), &mut out);
    errors.extend(out.into_errors());
    if walk.limits.out_of_steps() {
        let detail = "the object is too complex for its schema to be validated";
        errors.push(Error::new(ErrorKind::Internal, &Path::root(), "", detail));
    }
}

/// What is validated: a value, where the root object need not be wrapped in one.
#[derive(Clone, Copy)]
pub(super) enum Target<'v> {
    Object(&'v Map),
    Value(&'v Value),
}

impl<'v> Target<'v> {
    fn new(value: &'v Value) -> Self {
        match value {
            Value::Object(map) => Self::Object(map),
            other => Self::Value(other),
        }
    }

    /// A copy for a message.
    fn to_value(self) -> Value {
        match self {
            Self::Object(map) => Value::Object(map.clone()),
            Self::Value(value) => value.clone(),
        }
    }

    /// The type and, for numbers, the format that kube-openapi sees.
    fn seen_as(self) -> (Type, &'static str) {
        match self {
            Self::Object(_) | Self::Value(Value::Object(_) | Value::Null) => (Type::Object, ""),
            Self::Value(Value::Bool(_)) => (Type::Boolean, ""),
            Self::Value(Value::Int(_)) => (Type::Integer, "int64"),
            Self::Value(Value::Float(_)) => (Type::Number, "float64"),
            Self::Value(Value::String(_)) => (Type::String, ""),
            Self::Value(Value::Array(_)) => (Type::Array, ""),
        }
    }
}

pub(super) struct Walk {
    /// See [`ValidateOptions`].
    ignore_required_status: bool,
    /// Whether the schema is taken as a structural one, as Kubernetes takes it for defaults: `x-kubernetes-int-or-string`
    /// alone then asks for no type.
    structural: bool,
    pub(super) limits: Limits,
}

impl Walk {
    /// Applies one schema to one value. The matches counted are those of `SchemaValidator.Validate`.
    pub(super) fn apply(&mut self, node: &Node, target: Target<'_>, path: &Path<'_>, out: &mut Outcome) {
        if !self.limits.step(1) {
            return;
        }
        if matches!(target, Target::Value(Value::Null)) {
            self.null(node, path, out);
            return;
        }
        let types = self.types_of(node);
        if types != Types::Any || node.format.is_some() {
            self.types(node, types, target, path, out);
            out.matches += 1;
        }
        if let Some(logic) = &node.logic {
            deeper(|| self.logic(logic, target, path, out));
        }
        // Of the logical validations, and of `enum`.
        out.matches += 3;
        let checks = node.checks.as_deref();
        match target {
            Target::Value(Value::String(s)) => {
                self.string(node, checks, s, path, out);
                self.enumeration(checks, target, path, out);
            }
            Target::Value(value @ (Value::Int(_) | Value::Float(_))) => {
                self.number(node, checks, value, path, out);
                out.matches += 2;
            }
            Target::Value(Value::Array(items)) => {
                self.items(node, checks, items, path, out);
                out.matches += 2;
                self.enumeration(checks, target, path, out);
            }
            Target::Object(map) | Target::Value(Value::Object(map)) => {
                self.enumeration(checks, target, path, out);
                self.fields(node, checks, map, path, out);
                out.matches += 1;
            }
            Target::Value(Value::Null | Value::Bool(_)) => self.enumeration(checks, target, path, out),
        }
        out.matches += 1;
    }

    fn types_of(&self, node: &Node) -> Types {
        match node.types {
            Types::IntOrString if self.structural => Types::Any,
            types => types,
        }
    }

    fn null(&mut self, node: &Node, path: &Path<'_>, out: &mut Outcome) {
        let types = self.types_of(node);
        if types == Types::Any || node.nullable {
            out.matches += 1;
        } else {
            self.wrong_type(path, types.names(), "null", out);
        }
        self.enumeration(node.checks.as_deref(), Target::Value(&Value::Null), path, out);
    }

    fn wrong_type(&mut self, path: &Path<'_>, expected: &str, found: &str, out: &mut Outcome) {
        let message = format!(
            "{} in body must be of type {expected}: {}",
            path.joined(),
            go::quote(found)
        );
        self.limits
            .fail(out, ErrorKind::TypeInvalid, path, &Value::from(found), message);
    }

    /// `typeValidator`.
    fn types(&mut self, node: &Node, types: Types, target: Target<'_>, path: &Path<'_>, out: &mut Outcome) {
        let (seen, seen_format) = target.seen_as();
        let whole_float = match target {
            Target::Value(Value::Float(f)) => types.contains(Type::Integer) && super::number::is_whole(*f),
            _ => false,
        };
        let fits = types.contains(seen) || whole_float || (seen == Type::Integer && types.contains(Type::Number));
        let text_like = matches!(seen, Type::String | Type::Array);
        match &node.format {
            Some(format) if !text_like && !fits && *format.name != *seen_format => {
                self.wrong_type(path, &format.name, seen_format, out);
                return;
            }
            // The format says what strings, and oddly lists, must be.
            Some(_) if text_like && !types.contains(Type::Number) && !types.contains(Type::Integer) => {
                out.matches += 1;
                return;
            }
            _ => {}
        }
        if fits {
            out.matches += 1;
        } else {
            self.wrong_type(path, types.names(), seen.name(), out);
        }
    }

    /// `basicCommonValidator`.
    pub(super) fn enumeration(
        &mut self,
        checks: Option<&Checks>,
        target: Target<'_>,
        path: &Path<'_>,
        out: &mut Outcome,
    ) {
        let Some(listed) = checks.and_then(|checks| checks.enumeration.as_ref()) else {
            return;
        };
        let found = match target {
            Target::Value(value) => listed.contains(value),
            Target::Object(map) => listed.contains_object(map),
        };
        if found {
            return;
        }
        let names: Vec<_> = listed.names().map(|name| go::quote(&name)).collect();
        let names = names.join(", ");
        let message = format!("{} in body should be one of {names}", path.joined());
        let detail = format!("supported values: {names}");
        let value = target.to_value();
        self.limits
            .push(out, message, path, ErrorKind::NotSupported, &value, detail);
    }

    /// `stringValidator`, `formatValidator`.
    fn string(&mut self, node: &Node, checks: Option<&Checks>, s: &str, path: &Path<'_>, out: &mut Outcome) {
        if let Some(checks) = checks {
            self.string_checks(checks, s, path, out);
        }
        out.matches += 1;
        let Some(format) = &node.format else { return };
        let FormatOf::String(of) = format.of else { return };
        if !of.accepts(s) {
            let quoted = go::quote(s);
            let message = format!("{} in body must be of type {}: {quoted}", path.joined(), format.name);
            self.limits
                .fail(out, ErrorKind::TypeInvalid, path, &Value::from(s), message);
        }
        out.matches += 1;
    }

    fn string_checks(&mut self, checks: &Checks, s: &str, path: &Path<'_>, out: &mut Outcome) {
        if let Some(max) = checks.max_length.filter(|max| longer_than(s, *max)) {
            let message = format!("{} in body should be at most {max} chars long", path.joined());
            let detail = Error::too_long(path, max).detail;
            let omitted = Value::from("<value omitted>");
            self.limits
                .push(out, message, path, ErrorKind::TooLong, &omitted, detail);
        } else if let Some(min) = checks.min_length.filter(|min| shorter_than(s, *min)) {
            let message = format!("{} in body should be at least {min} chars long", path.joined());
            self.limits
                .fail(out, ErrorKind::Invalid, path, &Value::from(s), message);
        } else if let Some(pattern) = &checks.pattern {
            self.limits.step(s.len() as u64 / 64);
            if !pattern.is_match(s) {
                let message = format!("{} in body should match '{}'", path.joined(), pattern.pattern());
                self.limits
                    .fail(out, ErrorKind::Invalid, path, &Value::from(s), message);
            }
        }
    }

    /// `schemaSliceValidator`.
    fn items(&mut self, node: &Node, checks: Option<&Checks>, items: &List, path: &Path<'_>, out: &mut Outcome) {
        if let Some(schema) = &node.items {
            deeper(|| {
                for (i, item) in items.iter().enumerate() {
                    self.apply(schema, Target::new(item), &path.index(i), out);
                }
            });
        }
        let Some(checks) = checks else { return };
        let size = count(items.len());
        if let Some(min) = checks.min_items.filter(|min| size < *min) {
            let message = format!("{} in body should have at least {min} items", path.joined());
            self.limits
                .fail(out, ErrorKind::Invalid, path, &Value::Int(size), message);
        }
        if let Some(max) = checks.max_items.filter(|max| size > *max) {
            self.too_many(path, "items", size, max, out);
        }
    }

    fn too_many(&mut self, path: &Path<'_>, of: &str, size: i64, max: i64, out: &mut Outcome) {
        let message = format!("{} in body should have at most {max} {of}", path.joined());
        let detail = Error::too_many(path, size, max).detail;
        self.limits
            .push(out, message, path, ErrorKind::TooMany, &Value::Int(size), detail);
    }

    /// `objectValidator`, fields in the order of their names where Go takes them in any order.
    fn fields(&mut self, node: &Node, checks: Option<&Checks>, map: &Map, path: &Path<'_>, out: &mut Outcome) {
        let size = count(map.len());
        if let Some(min) = checks
            .and_then(|checks| checks.min_properties)
            .filter(|min| size < *min)
        {
            let message = format!("{} in body should have at least {min} properties", path.joined());
            self.limits
                .fail(out, ErrorKind::Invalid, path, &Value::Int(size), message);
        }
        if let Some(max) = checks
            .and_then(|checks| checks.max_properties)
            .filter(|max| size > *max)
        {
            self.too_many(path, "properties", size, max, out);
        }
        deeper(|| {
            self.additional_properties(node, map, path, out);
            self.properties(node, map, path, out);
        });
        let required = checks.map_or(&[][..], |checks| &checks.required);
        for name in required {
            if map.contains_key(name) || (path.is_root() && self.ignore_required_status && **name == *"status") {
                continue;
            }
            if !self.limits.step(1) {
                return;
            }
            let path = path.child(name);
            let message = format!(".{} in body is required", path.joined());
            self.limits.push(
                out,
                message,
                &path,
                ErrorKind::Required,
                &Value::from(""),
                String::new(),
            );
        }
    }

    fn additional_properties(&mut self, node: &Node, map: &Map, path: &Path<'_>, out: &mut Outcome) {
        match &node.additional {
            Additional::Unset | Additional::Any => {}
            Additional::Forbidden => {
                for key in map.keys().filter(|key| node.property(key).is_none()) {
                    let message = format!("{}.{key} in body is a forbidden property", path.joined());
                    self.limits
                        .fail(out, ErrorKind::Invalid, path, &Value::from(key), message);
                }
            }
            Additional::Schema(schema) => {
                for (key, value) in map.iter().filter(|(key, _)| node.property(key).is_none()) {
                    self.apply(schema, Target::new(value), &path.child(key), out);
                }
            }
        }
    }

    /// Both sides are sorted, so that one pass over both finds the fields that have a schema.
    fn properties(&mut self, node: &Node, map: &Map, path: &Path<'_>, out: &mut Outcome) {
        let mut schemas = node.properties.iter().peekable();
        for (key, value) in map.iter() {
            while schemas.next_if(|(name, _)| **name < *key).is_some() {}
            if let Some((_, schema)) = schemas.next_if(|(name, _)| **name == *key) {
                self.apply(schema, Target::new(value), &path.child(key), out);
            }
        }
    }
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// Whether a string has more than `max` characters; bytes are counted first, which are never fewer.
fn longer_than(s: &str, max: i64) -> bool {
    count(s.len()) > max && count(s.chars().count()) > max
}

/// Whether a string has fewer than `min` characters.
fn shorter_than(s: &str, min: i64) -> bool {
    min > 0 && count(s.chars().count()) < min
}
