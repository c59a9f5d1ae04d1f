//! The query of a request: `metav1.CreateOptions`, `metav1.ListOptions`, and the client's `timeout`.

mod continue_token;
mod field_selector;
mod label_selector;
mod list;

use std::borrow::Cow;
use std::time::Duration;

use percent_encoding::percent_decode;
use structural_schema::field::{self, Path};
use structural_schema::go::parse_duration;
use structural_schema::{Value, meta};

use crate::fault::{ClientFault, Invalid};
pub use list::ListOptions;

/// What the client asks of a create; valid values only.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct CreateOptions {
    /// `dryRun=All`.
    pub dry_run: bool,
    /// `fieldManager`, at most 128 bytes of printable characters; empty if not given.
    pub field_manager: String,
    /// `fieldValidation`.
    pub field_validation: FieldValidation,
}

/// What becomes of unknown and duplicate fields.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum FieldValidation {
    /// They are dropped silently.
    Ignore,
    /// They are dropped and each is a warning; also what an absent or empty parameter means.
    #[default]
    Warn,
    /// They are an error.
    Strict,
}

impl FieldValidation {
    /// The word in the query.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ignore => "Ignore",
            Self::Warn => "Warn",
            Self::Strict => "Strict",
        }
    }
}

impl CreateOptions {
    /// Reads the options as `ParameterCodec.DecodeParameters` does (of a repeated parameter that is no list, the first
    /// counts) and validates them as `ValidateCreateOptions` does, in its order.
    pub fn from_query(query: &str) -> Result<Self, ClientFault> {
        let mut dry_run = Vec::new();
        let mut field_manager = None;
        let mut field_validation = None;
        for (key, value) in parameters(query) {
            match &*key {
                "dryRun" => dry_run.push(value),
                "fieldManager" => _ = field_manager.get_or_insert(value),
                "fieldValidation" => _ = field_validation.get_or_insert(value),
                _ => {}
            }
        }

        let field_manager = field_manager.unwrap_or_default();
        let root = Path::root();
        let mut errors = field::Errors::new();
        meta::validate_manager(&field_manager, &root.child("fieldManager"), &mut errors);
        if dry_run.iter().any(|value| value != "All") {
            let values: Vec<Value> = dry_run.iter().map(|value| Value::from(&**value)).collect();
            errors.push(field::Error::not_supported(
                &root.child("dryRun"),
                Value::from(values),
                ["All"],
            ));
        }
        let parsed = match field_validation.as_deref() {
            None | Some("" | "Warn") => Some(FieldValidation::Warn),
            Some("Ignore") => Some(FieldValidation::Ignore),
            Some("Strict") => Some(FieldValidation::Strict),
            Some(other) => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                errors.push(field::Error::not_supported(
                    &root.child("fieldValidation"),
                    other,
                    supported,
                ));
                None
            }
        };
        match parsed {
            Some(field_validation) if errors.is_empty() => Ok(Self {
                dry_run: !dry_run.is_empty(),
                field_manager: field_manager.into_owned(),
                field_validation,
            }),
            _ => Err(invalid_options("CreateOptions", errors.into_vec())),
        }
    }
}

fn invalid_options(kind: &str, errors: Vec<field::Error>) -> ClientFault {
    ClientFault::Invalid(Box::new(Invalid {
        group: "meta.k8s.io".into(),
        kind: kind.into(),
        name: String::new(),
        errors,
    }))
}

/// How long the client is willing to wait; `None` when it does not say, or says zero or less, which is no limit
/// (`WithRequestDeadline`).
pub fn timeout(query: &str) -> Result<Option<Duration>, ClientFault> {
    let Some(value) = parameters(query)
        .find(|(key, _)| key == "timeout")
        .map(|(_, value)| value)
    else {
        return Ok(None);
    };
    if value.is_empty() {
        return Ok(None);
    }
    let parsed = parse_duration(&value).map_err(|error| {
        ClientFault::BadRequest(format!("invalid timeout specified in the request URL - {error}").into())
    })?;
    Ok(u64::try_from(parsed)
        .ok()
        .filter(|nanoseconds| *nanoseconds > 0)
        .map(Duration::from_nanos))
}

/// The parameters of a query in order, as Go's `url.ParseQuery` reads them: a pair with a semicolon or a broken escape
/// is skipped, a plus is a space, and what is not UTF-8 becomes U+FFFD.
pub(crate) fn parameters(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(';'))
        .filter_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((unescape(key)?, unescape(value)?))
        })
}

fn unescape(text: &str) -> Option<Cow<'_, str>> {
    if !text.bytes().any(|byte| matches!(byte, b'%' | b'+')) {
        return Some(Cow::Borrowed(text));
    }
    let escapes = text
        .match_indices('%')
        .map(|(at, _)| text.as_bytes().get(at + 1..at + 3));
    for escape in escapes {
        if !escape?.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
    }
    let spaced = text.replace('+', " ");
    Some(Cow::Owned(
        percent_decode(spaced.as_bytes()).decode_utf8_lossy().into_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(query: &str) -> String {
        CreateOptions::from_query(query).unwrap_err().to_string()
    }

    #[test]
    fn options_are_read_as_the_api_server_reads_them() {
        let options = CreateOptions::from_query("dryRun=All&fieldManager=me&fieldValidation=Strict&x=1").unwrap();
        assert_eq!(
            options,
            CreateOptions {
                dry_run: true,
                field_manager: "me".into(),
                field_validation: FieldValidation::Strict
            }
        );
        let first_counts = CreateOptions::from_query("fieldValidation=Ignore&fieldValidation=Bogus").unwrap();
        assert_eq!(first_counts.field_validation, FieldValidation::Ignore);
        for skipped in ["dryRun=%zz", "dryRun=All;fieldManager=x", "", "&&", "fieldValidation="] {
            assert_eq!(
                CreateOptions::from_query(skipped).unwrap(),
                CreateOptions::default(),
                "{skipped}"
            );
        }
    }

    #[test]
    fn bad_options_are_all_named_in_the_order_of_kubernetes() {
        assert_eq!(
            message("dryRun=bad&fieldManager=a%00b&fieldValidation=Bogus"),
            "CreateOptions.meta.k8s.io \"\" is invalid: [fieldManager: Invalid value: \"a\\x00b\": invalid character \
             U+0000 (at position 1), dryRun: Unsupported value: [\"bad\"]: supported values: \"All\", fieldValidation: \
             Unsupported value: \"Bogus\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"]"
        );
        assert_eq!(
            message("dryRun"),
            "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"\"]: supported values: \"All\""
        );
    }

    #[test]
    fn a_timeout_of_zero_or_less_is_none() {
        for (query, expected) in [
            ("", None),
            ("timeout=", None),
            ("timeout=0s", None),
            ("timeout=-5s", None),
            ("timeout=1m", Some(Duration::from_mins(1))),
            ("timeout=1.5s&timeout=9s", Some(Duration::from_millis(1500))),
        ] {
            assert_eq!(timeout(query).unwrap(), expected, "{query}");
        }
        assert_eq!(
            timeout("timeout=10").unwrap_err().to_string(),
            "invalid timeout specified in the request URL - time: missing unit in duration \"10\""
        );
    }
}
