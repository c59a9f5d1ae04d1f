//! One field error.

use std::fmt;

use super::Path;
use crate::go;
use crate::json;
use crate::value::Value;

/// Why a field is refused; `field.ErrorType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A malformed value.
    Invalid,
    /// A value of another type than the schema's.
    TypeInvalid,
    /// A value that must be there and is not.
    Required,
    /// A value that must be unique and is not.
    Duplicate,
    /// A value that is none of those listed.
    NotSupported,
    /// A value that must not be there under the present conditions.
    Forbidden,
    /// A string that is too long.
    TooLong,
    /// A string that is too short.
    TooShort,
    /// A list or map with too many entries.
    TooMany,
    /// A list or map with too few entries.
    TooFew,
    /// A value that refers to something that is not there.
    NotFound,
    /// A fault that is not the object's.
    Internal,
}

impl ErrorKind {
    /// The `reason` of the cause in a `metav1.Status`.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooShort => "FieldValueTooShort",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::NotFound => "FieldValueNotFound",
            Self::Internal => "InternalError",
        }
    }

    /// The words a message begins with.
    const fn words(self) -> &'static str {
        match self {
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooShort => "Too short",
            Self::TooMany => "Too many",
            Self::TooFew => "Too few",
            Self::NotFound => "Not found",
            Self::Internal => "Internal error",
        }
    }

    /// Whether messages of this kind name the value.
    const fn names_value(self) -> bool {
        !matches!(
            self,
            Self::Required | Self::Forbidden | Self::TooLong | Self::TooShort | Self::Internal
        )
    }

    /// Whether rules (`x-kubernetes-validations`) are not evaluated when an error of this kind was found before
    /// (`hasBlockingErr` of the custom resource strategy).
    pub(crate) const fn blocks_rules(self) -> bool {
        matches!(
            self,
            Self::NotSupported | Self::Required | Self::TooLong | Self::TooMany | Self::TypeInvalid
        )
    }
}

/// The value that an error is about.
#[derive(Clone, Debug, PartialEq)]
pub enum BadValue {
    /// Not told.
    Omitted,
    /// A value of the object.
    Value(Value),
    /// The JSON of a typed value whose fields Go does not write in the order of their names.
    Json(Box<str>),
}

impl<V: Into<Value>> From<V> for BadValue {
    fn from(value: V) -> Self {
        Self::Value(value.into())
    }
}

/// What is wrong with one field; `field.Error`.
///
/// ```
/// use structural_schema::field::{Error, Path};
///
/// let error = Error::invalid(&Path::root().child("spec"), "x", "must be y");
/// assert_eq!(error.to_string(), r#"spec: Invalid value: "x": must be y"#);
/// assert_eq!(error.kind.reason(), "FieldValueInvalid");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    /// Why the field is refused.
    pub kind: ErrorKind,
    /// The path of the field, `<nil>` for the whole object.
    pub field: String,
    /// The refused value.
    pub bad_value: BadValue,
    /// What would be right.
    pub detail: String,
}

impl Error {
    /// An error of any kind.
    pub fn new(kind: ErrorKind, field: &Path<'_>, bad_value: impl Into<BadValue>, detail: impl Into<String>) -> Self {
        Self {
            kind,
            field: field.to_string(),
            bad_value: bad_value.into(),
            detail: detail.into(),
        }
    }

    /// A malformed value.
    pub fn invalid(field: &Path<'_>, bad_value: impl Into<BadValue>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, field, bad_value, detail)
    }

    /// A value that must be there.
    pub fn required(field: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Required, field, "", detail)
    }

    /// A value that must not be there.
    pub fn forbidden(field: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Forbidden, field, "", detail)
    }

    /// A value that was there before.
    pub fn duplicate(field: &Path<'_>, bad_value: impl Into<BadValue>) -> Self {
        Self::new(ErrorKind::Duplicate, field, bad_value, "")
    }

    /// A value that is none of `supported`, told in that order.
    pub fn not_supported<S: AsRef<str>>(
        field: &Path<'_>,
        bad_value: impl Into<BadValue>,
        supported: impl IntoIterator<Item = S>,
    ) -> Self {
        let quoted: Vec<_> = supported.into_iter().map(|s| go::quote(s.as_ref())).collect();
        let detail = if quoted.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", quoted.join(", "))
        };
        Self::new(ErrorKind::NotSupported, field, bad_value, detail)
    }

    /// A string longer than `max`; Kubernetes says bytes, whatever was counted.
    pub fn too_long(field: &Path<'_>, max: i64) -> Self {
        let detail = match max {
            1 => "may not be more than 1 byte".to_owned(),
            max if max < 0 => "value is too long".to_owned(),
            max => format!("may not be more than {max} bytes"),
        };
        Self::new(ErrorKind::TooLong, field, "<value omitted>", detail)
    }

    /// A list or map with more than `max` entries.
    pub fn too_many(field: &Path<'_>, actual: i64, max: i64) -> Self {
        let detail = match max {
            1 => "must have at most 1 item".to_owned(),
            max if max < 0 => "has too many items".to_owned(),
            max => format!("must have at most {max} items"),
        };
        Self::new(ErrorKind::TooMany, field, actual, detail)
    }

    /// The message without the field (`ErrorBody`), which is the `message` of the cause in a `metav1.Status`.
    pub fn body(&self) -> String {
        let mut body = self.kind.words().to_owned();
        if self.kind.names_value() {
            match &self.bad_value {
                BadValue::Omitted => {}
                BadValue::Json(json) => {
                    body.push_str(": ");
                    body.push_str(json);
                }
                BadValue::Value(value) => {
                    body.push_str(": ");
                    write_value(value, &mut body);
                }
            }
        }
        if !self.detail.is_empty() {
            body.push_str(": ");
            body.push_str(&self.detail);
        }
        body
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

impl std::error::Error for Error {}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::String(s) => out.push_str(&go::quote(s)),
        Value::Float(f) => out.push_str(&go::float_as_v(*f)),
        other => json::write_json(other, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Map;

    #[test]
    fn messages_name_values_as_kubernetes_does() {
        let root = Path::root();
        let path = root.child("spec");
        let map: Map = [("a", Value::Int(1))].into_iter().collect();
        for (value, body) in [
            (Value::from("a\"b"), r#"Invalid value: "a\"b": no"#),
            (Value::Int(5), "Invalid value: 5: no"),
            (Value::Float(1e21), "Invalid value: 1e+21: no"),
            (Value::Float(1.0), "Invalid value: 1: no"),
            (Value::Null, "Invalid value: null: no"),
            (Value::from(map), r#"Invalid value: {"a":1}: no"#),
        ] {
            assert_eq!(Error::invalid(&path, value, "no").body(), body);
        }
        assert_eq!(Error::required(&path, "").to_string(), "spec: Required value");
        assert_eq!(
            Error::too_long(&path, 1).body(),
            "Too long: may not be more than 1 byte"
        );
        assert_eq!(
            Error::too_many(&path, 3, 2).body(),
            "Too many: 3: must have at most 2 items"
        );
        assert_eq!(
            Error::not_supported(&path, "c", ["a", "b"]).body(),
            r#"Unsupported value: "c": supported values: "a", "b""#
        );
    }
}
