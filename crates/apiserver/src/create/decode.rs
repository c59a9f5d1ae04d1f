//! The body of a create as an object with `apiVersion` and `kind`: what apimachinery's `serializer/json` and the codec
//! of custom resources do, in their words, with strict errors collected.

use std::fmt;

use structural_schema::json::{self, Outline, outline, quote};
use structural_schema::{Map, Value, yaml};

use crate::negotiate::Media;

/// Bytes of the body that a message shows.
const SUMMARY_LENGTH: usize = 30;

/// What a body holds.
#[derive(Debug)]
pub(crate) struct DecodedObject {
    /// The object as it was sent.
    pub(crate) object: Map,
    /// Its `apiVersion`; empty if it has none.
    pub(crate) api_version: String,
    /// Its `kind`, never empty.
    pub(crate) kind: String,
    /// The errors of a strict decoder that are known so far: fields that are given more than once.
    pub(crate) strict: Vec<String>,
}

/// What a client is warned of for a strict error: the one error of a YAML decoder is many (`parseYAMLWarnings`).
pub(crate) fn warnings(strict_error: &str) -> Vec<String> {
    match strict_error.strip_prefix("yaml: unmarshal errors:\n") {
        Some(lines) => lines.split('\n').map(|line| line.trim().to_owned()).collect(),
        None => vec![strict_error.to_owned()],
    }
}

/// Why a body holds no object, as a client is told.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DecodeError {
    /// Its kind is not known.
    #[error("the object provided is unrecognized (must be of type {expected}): {problem} ({summary})")]
    Unrecognized {
        /// The kind of the resource.
        expected: String,
        /// What is wrong.
        #[source]
        problem: Problem,
        /// The beginning of the body.
        summary: String,
    },
    /// Its kind is known.
    #[error("{kind} in version {} cannot be handled as a {expected}: {problem}", quote(.version))]
    Unhandled {
        /// The kind of the object.
        kind: String,
        /// The version of the object.
        version: String,
        /// The kind of the resource.
        expected: String,
        /// What is wrong.
        #[source]
        problem: Problem,
    },
}

/// What is wrong with a body.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// It is no YAML that has a form in JSON.
    #[error(transparent)]
    Yaml(yaml::Error),
    /// It is no JSON.
    #[error("couldn't get version/kind; json parse error: {0}")]
    Json(json::Error),
    /// It is no object.
    #[error(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {0} into Go value of type \
         struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
    )]
    NoObject(&'static str),
    /// `apiVersion` or `kind` is no string.
    #[error(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go struct field .{field} of \
         type string"
    )]
    NoString {
        /// The type of the field.
        found: &'static str,
        /// Its name.
        field: &'static str,
    },
    /// `apiVersion` has more than one slash.
    #[error("unexpected GroupVersion string: {0}")]
    GroupVersion(String),
    /// There is no `kind`.
    #[error("Object 'Kind' is missing in '{0}'")]
    MissingKind(String),
    /// A number is no `float64`.
    #[error(transparent)]
    Number(json::Error),
    /// `apiVersion` is `null` beside a field that only differs from it in case.
    #[error(".apiVersion accessor error: <nil> is of the type <nil>, expected string")]
    NullApiVersion,
}

/// What a body is expected to hold.
#[derive(Debug)]
pub(crate) struct Expected<'a> {
    /// The kind of the resource.
    pub(crate) kind: &'a str,
    /// `<group>/<version>` of the path.
    pub(crate) api_version: &'a str,
    /// Whether the decoder is the strict one, as for every `fieldValidation` but `Ignore`. The other one says otherwise
    /// that the kind is missing.
    pub(crate) is_strict: bool,
}

/// Decodes the body of a create.
pub(crate) fn decode(media: Media, body: &[u8], expected: &Expected<'_>) -> Result<DecodedObject, DecodeError> {
    let unrecognized = |problem| DecodeError::Unrecognized {
        expected: expected.kind.to_owned(),
        problem,
        summary: summary(body),
    };
    let Document { value, found, strict } = match media {
        Media::Json => read_json(body).map_err(unrecognized)?,
        Media::Yaml => read_yaml(body).map_err(unrecognized)?,
    };
    let found = found.map_err(unrecognized)?;
    if !is_group_version(&found.api_version) {
        return Err(unrecognized(Problem::GroupVersion(found.api_version)));
    }
    let unhandled = |problem| found.unhandled(expected, problem);
    let value = value.map_err(|error| unhandled(Problem::Number(error)))?;
    // From here on only the exact names count.
    let text = |field| value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let object = match value {
        Value::Object(object) if !kind.is_empty() && is_group_version(&api_version) => object,
        _ if expected.is_strict => return Err(unrecognized(Problem::MissingKind(lossy(body)))),
        value => return Err(unhandled(Problem::MissingKind(read_text(media, body, &value)))),
    };
    if object.get("apiVersion").is_some_and(Value::is_null) {
        return Err(DecodeError::Unhandled {
            kind,
            version: String::new(),
            expected: expected.kind.to_owned(),
            problem: Problem::NullApiVersion,
        });
    }
    Ok(DecodedObject {
        object,
        // As `ParseGroupVersion` and back.
        api_version: api_version.strip_prefix('/').unwrap_or(&api_version).to_owned(),
        kind,
        strict,
    })
}

/// Whether `ParseGroupVersion` takes a text.
fn is_group_version(text: &str) -> bool {
    text.matches('/').count() <= 1
}

/// The JSON that was read, without the space around it, which for YAML is what that was converted to.
fn read_text(media: Media, body: &[u8], value: &Value) -> String {
    match media {
        Media::Json => lossy(body.trim_ascii()),
        Media::Yaml => {
            let mut converted = Vec::new();
            json::encode(value, &mut converted);
            lossy(&converted)
        }
    }
}

/// A body that has been read.
struct Document {
    /// The value, or a number in it that is too large.
    value: Result<Value, json::Error>,
    found: Result<TypeMeta, Problem>,
    strict: Vec<String>,
}

/// `apiVersion` and `kind` as Go's `encoding/json` finds them, whatever the case of their names
/// (`SimpleMetaFactory.Interpret`).
#[derive(Debug, Default)]
struct TypeMeta {
    api_version: String,
    kind: String,
}

impl TypeMeta {
    /// The error for an object of which this is known, with what is expected for what is not (`gvkWithDefaults`).
    fn unhandled(&self, expected: &Expected<'_>, problem: Problem) -> DecodeError {
        let (group, version) = group_version(&self.api_version);
        let (default_group, default_version) = group_version(expected.api_version);
        let is_default = version.is_empty() && (group.is_empty() || group == default_group);
        DecodeError::Unhandled {
            kind: if self.kind.is_empty() {
                expected.kind
            } else {
                &self.kind
            }
            .to_owned(),
            version: if is_default { default_version } else { version }.to_owned(),
            expected: expected.kind.to_owned(),
            problem,
        }
    }
}

fn read_yaml(body: &[u8]) -> Result<Document, Problem> {
    let decoded = yaml::decode(body).map_err(|error| match error {
        yaml::Error::Json(error) => Problem::Json(error),
        error => Problem::Yaml(error),
    })?;
    Ok(Document {
        // What is read is JSON with sorted keys, so their order in the body does not count.
        found: type_meta_of(&decoded.value),
        value: Ok(decoded.value),
        strict: decoded.duplicates.iter().map(ToString::to_string).collect(),
    })
}

fn read_json(body: &[u8]) -> Result<Document, Problem> {
    match json::decode(body) {
        Ok(decoded) => {
            let found = match type_meta_of(&decoded.value) {
                Ok(found) if decoded.duplicates.is_empty() && has_exact_names_only(&decoded.value) => Ok(found),
                Err(problem @ Problem::NoObject(_)) => Err(problem),
                // The order of the fields matters.
                _ => type_meta_in(body),
            };
            let duplicate = |path: &String| format!("duplicate field {}", quote(path));
            Ok(Document {
                found,
                value: Ok(decoded.value),
                strict: decoded.duplicates.iter().map(duplicate).collect(),
            })
        }
        Err(error @ json::Error::NumberRange { .. }) => Ok(Document {
            found: match body.trim_ascii_start().first() {
                Some(b'{') => type_meta_in(body),
                Some(b'[') => Err(Problem::NoObject("array")),
                _ => Err(Problem::NoObject("number")),
            },
            value: Err(error),
            strict: Vec::new(),
        }),
        Err(error) => Err(Problem::Json(error)),
    }
}

/// Whether the order of fields cannot matter, since each name is there in one spelling.
fn has_exact_names_only(value: &Value) -> bool {
    value.as_object().is_none_or(|object| {
        object
            .keys()
            .all(|key| matches!(key, "apiVersion" | "kind") || name(key).is_none())
    })
}

fn type_meta_of(value: &Value) -> Result<TypeMeta, Problem> {
    match value {
        Value::Null => Ok(TypeMeta::default()),
        Value::Object(object) => {
            let fields = object
                .iter()
                .map(|(key, value)| (key, value.as_str(), value.json_type()));
            collect(fields)
        }
        other => Err(Problem::NoObject(other.json_type())),
    }
}

fn type_meta_in(body: &[u8]) -> Result<TypeMeta, Problem> {
    let fields = outline(body);
    collect(fields.iter().map(|(key, value)| match value {
        Outline::String(text) => (&**key, Some(&**text), "string"),
        Outline::Null => (&**key, None, "null"),
        Outline::Bool => (&**key, None, "bool"),
        Outline::Number => (&**key, None, "number"),
        Outline::Array => (&**key, None, "array"),
        Outline::Object => (&**key, None, "object"),
    }))
}

/// Sets the fields as Go does: the last one wins, `null` sets nothing, the first of another type is the error.
fn collect<'a>(fields: impl Iterator<Item = (&'a str, Option<&'a str>, &'static str)>) -> Result<TypeMeta, Problem> {
    let mut found = TypeMeta::default();
    let mut problem = None;
    for (key, text, type_name) in fields {
        let Some(field) = name(key) else { continue };
        match text {
            Some(text) if field == "kind" => text.clone_into(&mut found.kind),
            Some(text) => text.clone_into(&mut found.api_version),
            None if type_name == "null" => {}
            None => {
                problem.get_or_insert(Problem::NoString {
                    found: type_name,
                    field,
                });
            }
        }
    }
    problem.map_or(Ok(found), Err)
}

/// The field that a key names to `encoding/json`, which folds case, U+017F to `s` and U+212A to `k` included.
fn name(key: &str) -> Option<&'static str> {
    let folded = |wanted: &str| {
        key.chars()
            .map(|c| match c {
                '\u{17f}' => 's',
                '\u{212a}' => 'k',
                _ => c.to_ascii_lowercase(),
            })
            .eq(wanted.chars().map(|c| c.to_ascii_lowercase()))
    };
    ["apiVersion", "kind"].into_iter().find(|wanted| folded(wanted))
}

/// The parts of an `apiVersion` around its slash.
fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// The beginning of a body, as `summarizeData`: in hexadecimal unless it looks like JSON.
fn summary(body: &[u8]) -> String {
    let (shown, more) = match body.get(..SUMMARY_LENGTH) {
        Some(shown) if shown.len() < body.len() => (shown, " ..."),
        _ => (body, ""),
    };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => lossy(shown) + more,
        Some(_) => format!("{}{more}", Hex(shown)),
    }
}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A body in a message: the JSON of the message has U+FFFD for each byte that is no UTF-8.
fn lossy(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode_tm(media: Media, body: &[u8], is_strict: bool) -> Result<DecodedObject, String> {
        let expected = Expected {
            kind: "Tm",
            api_version: "vec.example.com/v1",
            is_strict,
        };
        decode(media, body, &expected).map_err(|error| error.to_string())
    }

    fn refused(body: &[u8]) -> String {
        decode_tm(Media::Json, body, true).unwrap_err()
    }

    /// Checks a message that goes on from Kubernetes' words for a body of unknown kind.
    fn assert_unrecognized(body: &str, problem: &str) {
        let expected = format!("the object provided is unrecognized (must be of type Tm): {problem}");
        assert_eq!(refused(body.as_bytes()), expected);
    }

    #[test]
    fn bodies_that_are_no_json_are_refused_in_the_recorded_words() {
        for (body, problem) in [
            ("", "unexpected end of JSON input (<empty>)"),
            ("  \n ", "unexpected end of JSON input (20200a20)"),
            ("{", "unexpected end of JSON input ({)"),
            (
                "<html></html>",
                "invalid character '<' looking for beginning of value (3c68746d6c3e3c2f68746d6c3e)",
            ),
            (
                "{\"apiVersion\":\"vec.example.com/v1\",\"kind\":\"Tm\"}}",
                "invalid character '}' after top-level value ({\"apiVersion\":\"vec.example.com ...)",
            ),
        ] {
            assert_unrecognized(body, &format!("couldn't get version/kind; json parse error: {problem}"));
        }
    }

    #[test]
    fn bodies_without_a_kind_are_refused_in_the_recorded_words() {
        let no_struct = "into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind \
                         string \"json:\\\"kind,omitempty\\\"\" }";
        let parse_error = "couldn't get version/kind; json parse error: json: cannot unmarshal";
        assert_unrecognized("[]", &format!("{parse_error} array {no_struct} (5b5d)"));
        assert_unrecognized("5", &format!("{parse_error} number {no_struct} (35)"));
        assert_unrecognized("true", &format!("{parse_error} bool {no_struct} (74727565)"));
        assert_unrecognized(
            r#"{"kind": 5}"#,
            &format!("{parse_error} number into Go struct field .kind of type string ({{\"kind\": 5}})"),
        );
        assert_unrecognized("null", "Object 'Kind' is missing in 'null' (6e756c6c)");
        assert_unrecognized(
            r#"{"apiVersion":"v1"}"#,
            r#"Object 'Kind' is missing in '{"apiVersion":"v1"}' ({"apiVersion":"v1"})"#,
        );
        assert_unrecognized(
            r#"{"apiVersion": "a/b/c", "kind": "Tm", "metadata": {}}"#,
            r#"unexpected GroupVersion string: a/b/c ({"apiVersion": "a/b/c", "kind" ...)"#,
        );
    }

    #[test]
    fn what_is_wrong_with_an_object_of_known_kind_is_said_of_that_kind() {
        let number = "json: cannot unmarshal number 1e400 into Go value of type float64";
        for (body, kind, version) in [
            (r#"{"apiVersion":"other/v2","kind":"Other","a":1e400}"#, "Other", "v2"),
            (r#"{"a":[{"b":1e400}]}"#, "Tm", "v1"),
            (
                r#"{"apiVersion":"vec.example.com/","KIND":"Other","a":1e400}"#,
                "Other",
                "v1",
            ),
        ] {
            let expected = format!("{kind} in version \"{version}\" cannot be handled as a Tm: {number}");
            assert_eq!(refused(body.as_bytes()), expected);
        }
        assert_eq!(
            refused(r#"{"kind":"Tm","apiVersion":null,"a\u0070iver\u017fion":"v1"}"#.as_bytes()),
            "Tm in version \"\" cannot be handled as a Tm: .apiVersion accessor error: <nil> is of the type <nil>, \
             expected string"
        );
    }

    #[test]
    fn the_decoder_that_is_not_strict_speaks_of_the_kind_that_was_expected() {
        assert_eq!(
            decode_tm(Media::Yaml, b"apiVersion: v2\n", false).unwrap_err(),
            r#"Tm in version "v2" cannot be handled as a Tm: Object 'Kind' is missing in '{"apiVersion":"v2"}'"#
        );
    }

    #[test]
    fn names_count_whatever_their_case_but_only_exact_ones_are_kept() {
        // The last one is what a Go struct gets, and a type error in any of them is an error.
        let error = refused(br#"{"kind":"Tm","KIND":[]}"#);
        assert!(
            error.contains("cannot unmarshal array into Go struct field .kind"),
            "{error}"
        );
        let error = refused("{\"\u{212a}ind\":\"Tm\"}".as_bytes());
        assert!(error.contains("Object 'Kind' is missing in"), "{error}");
        let object = decode_tm(Media::Json, br#"{"kind":"Tm","apiVersion":"/v1"}"#, true).unwrap();
        assert_eq!(object.api_version, "v1");
        let object = decode_tm(Media::Json, br#"{"kind":"Tm","apiVersion":"/","Kind":"Other"}"#, true).unwrap();
        assert_eq!((&*object.kind, &*object.api_version), ("Tm", ""));
    }

    #[test]
    fn fields_given_twice_are_strict_errors_and_the_last_counts() {
        let body = br#"{"kind":"Other","kind":"Tm","spec":{"a":1,"a":2}}"#;
        let decoded = decode_tm(Media::Json, body, true).unwrap();
        assert_eq!(decoded.kind, "Tm");
        assert_eq!(
            decoded.strict,
            ["duplicate field \"kind\"", "duplicate field \"spec.a\""]
        );
        assert_eq!(warnings(&decoded.strict[0]), ["duplicate field \"kind\""]);

        let body = b"kind: Tm\nspec:\n  a: 1\n  a: 2\n  y: 3\n  on: 4\n  yes: 5\n";
        let decoded = decode_tm(Media::Yaml, body, true).unwrap();
        assert_eq!(decoded.strict.len(), 1);
        assert_eq!(
            warnings(&decoded.strict[0]),
            [
                "line 4: key \"a\" already set in map",
                "line 6: key true already set in map",
                "line 7: key true already set in map"
            ]
        );
    }

    #[test]
    fn yaml_is_refused_in_the_recorded_words() {
        let refused = |body: &[u8]| decode_tm(Media::Yaml, body, true).unwrap_err();
        assert_eq!(
            refused(b"kind: Tm\nspec:\n  a: x\n\tq: 1\n"),
            "the object provided is unrecognized (must be of type Tm): yaml: line 4: found a tab character that violates \
             indentation (6b696e643a20546d0a737065633a0a2020613a20780a09713a20310a)"
        );
        assert!(refused(b"kind: Tm\nz: .nan\n").contains("(must be of type Tm): json: unsupported value: NaN ("));
        assert!(refused(b"~\n").ends_with("Object 'Kind' is missing in '~\n' (7e0a)"));
        assert!(refused(b"hello\n").contains("json parse error: json: cannot unmarshal string into Go value"));
    }
}
