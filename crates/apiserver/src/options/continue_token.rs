//! Whether a text is a continue token, as `storage.DecodeContinue` judges it.
//!
//! A list of nothing has no second part, so a token comes from another server or from nowhere. What it says of itself
//! is checked, and then the list is empty all the same.

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, NO_PAD};
use structural_schema::{Map, Value, json};

/// Go's `RawURLEncoding` does not look at the bits that are left over.
const ENCODING: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::URL_SAFE,
    GeneralPurposeConfig::with_decode_allow_trailing_bits(NO_PAD, true),
);

/// Why a text is no continue token.
#[derive(Debug, thiserror::Error)]
#[error("invalid continue token: continue key is not valid{0}")]
pub(super) struct ContinueTokenError(Fault);

#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(": illegal base64 data at input byte {0}")]
    Base64(usize),
    #[error(": {0}")]
    Json(#[source] json::Error),
    #[error(": json: cannot unmarshal {value} into Go value of type storage.continueToken")]
    NoObject { value: &'static str },
    #[error(": json: cannot unmarshal {value} into Go struct field continueToken.{field} of type {kind}")]
    Field {
        value: String,
        field: &'static str,
        kind: &'static str,
    },
    #[error(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)")]
    NoResourceVersion,
    #[error(": encoded start key empty (version meta.k8s.io/v1)")]
    NoKey,
    #[error(": {0}")]
    Key(String),
    #[error(": server does not recognize this encoded version {0}")]
    Version(String),
}

/// Refuses what `storage.DecodeContinue` refuses.
pub(super) fn check(token: &str) -> Result<(), ContinueTokenError> {
    decode(token).map_err(ContinueTokenError)
}

fn decode(token: &str) -> Result<(), Fault> {
    let document = json::decode(&from_base64(token)?).map_err(Fault::Json)?.value;
    let fields = match &document {
        Value::Object(fields) => fields,
        Value::Null => &Map::new(),
        other => return Err(Fault::NoObject { value: kind_of(other) }),
    };
    let version = text(fields, "v")?;
    let resource_version = match field(fields, "rv") {
        None | Some(Value::Null) => 0,
        Some(Value::Int(number)) => *number,
        Some(other) => return Err(mistyped(other, "rv", "int64")),
    };
    let key = text(fields, "start")?;
    if version != "meta.k8s.io/v1" {
        return Err(Fault::Version(version.to_owned()));
    }
    if resource_version == 0 {
        return Err(Fault::NoResourceVersion);
    }
    if key.is_empty() {
        return Err(Fault::NoKey);
    }
    // As `path.Clean` would leave it: nothing that leads out of the place where it is looked for.
    let segments = key.strip_prefix('/').unwrap_or(key);
    let clean = segments.is_empty() || segments.split('/').all(|segment| !matches!(segment, "" | "." | ".."));
    if clean { Ok(()) } else { Err(Fault::Key(key.to_owned())) }
}

/// Says, as Go does, at which byte a text stops being base64; ends of lines are no part of it.
fn from_base64(token: &str) -> Result<Vec<u8>, Fault> {
    let is_symbol = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'\r' | b'\n');
    if let Some(at) = token.bytes().position(|byte| !is_symbol(&byte)) {
        return Err(Fault::Base64(at));
    }
    let symbols: Vec<u8> = token.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    ENCODING
        .decode(symbols)
        .map_err(|_| Fault::Base64(token.len().saturating_sub(1)))
}

fn text<'a>(fields: &'a Map, name: &'static str) -> Result<&'a str, Fault> {
    match field(fields, name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(mistyped(other, name, "string")),
    }
}

/// A field whatever the case of its name, as Go's decoder finds it.
fn field<'a>(fields: &'a Map, name: &str) -> Option<&'a Value> {
    let found = fields.get(name);
    found.or_else(|| {
        fields
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    })
}

fn mistyped(value: &Value, field: &'static str, kind: &'static str) -> Fault {
    let value = match value {
        Value::Float(number) if kind == "int64" => format!("number {number}"),
        other => kind_of(other).to_owned(),
    };
    Fault::Field { value, field, kind }
}

/// `json.UnmarshalTypeError.Value`.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str) -> String {
        ENCODING.encode(text)
    }

    #[test]
    fn a_token_of_any_server_is_one() {
        for text in [
            r#"{"v":"meta.k8s.io/v1","rv":5,"start":"a/b"}"#,
            r#"{"V":"meta.k8s.io/v1","RV":-1,"Start":"/"}"#,
        ] {
            assert!(check(&token(text)).is_ok(), "{text}");
        }
    }

    #[test]
    fn what_is_none_is_refused_in_the_words_of_kubernetes() {
        let of = |start: &str| token(&format!(r#"{{"v":"meta.k8s.io/v1","rv":5,"start":"{start}"}}"#));
        for (token, message) in [
            ("x".into(), ": illegal base64 data at input byte 0"),
            ("a=".into(), ": illegal base64 data at input byte 1"),
            ("a\n".into(), ": illegal base64 data at input byte 1"),
            ("abc".into(), ": invalid character 'i' looking for beginning of value"),
            (token("{"), ": unexpected end of JSON input"),
            (
                token("[]"),
                ": json: cannot unmarshal array into Go value of type storage.continueToken",
            ),
            (
                token(r#"{"v":1}"#),
                ": json: cannot unmarshal number into Go struct field continueToken.v of type string",
            ),
            (
                token(r#"{"rv":1.5}"#),
                ": json: cannot unmarshal number 1.5 into Go struct field continueToken.rv of type int64",
            ),
            (token("null"), ": server does not recognize this encoded version "),
            (
                token(r#"{"v":"meta.k8s.io/v1"}"#),
                ": incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
            ),
            (of(""), ": encoded start key empty (version meta.k8s.io/v1)"),
            (of("../a"), ": ../a"),
            (of("a//b"), ": a//b"),
            (of("a/"), ": a/"),
        ] {
            let error = check(&token).unwrap_err().to_string();
            let expected = format!("invalid continue token: continue key is not valid{message}");
            assert_eq!(error, expected, "{token}");
        }
    }
}
