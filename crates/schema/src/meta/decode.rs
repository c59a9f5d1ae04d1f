//! A typed `metav1.ObjectMeta` and back: unknown fields are dropped, times normalised, empty fields left out
//! (`objectmeta.GetObjectMetaWithOptions` and `SetObjectMeta` of the apiextensions API server).

use super::time;
use crate::json;
use crate::value::{Map, Value};

/// Unknown fields that Kubernetes' strict decoding tells at most.
const MAX_UNKNOWN_FIELDS: usize = 100;

/// A metadata field of the wrong type, worded as Go's decoder words it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TypeError(String);

/// Replaces the metadata of an object by what the typed `ObjectMeta` holds of it, and returns the paths of the fields
/// that it does not know (`metadata.bogus`). `null` becomes an empty object.
pub fn coerce(object: &mut Map) -> Result<Vec<String>, TypeError> {
    let Some(metadata) = object.get_mut("metadata") else {
        return Ok(Vec::new());
    };
    let (decoded, unknown) = decode(metadata)?;
    *metadata = Value::Object(decoded);
    Ok(unknown.into_iter().map(|path| format!("metadata.{path}")).collect())
}

/// The metadata as the typed `ObjectMeta` holds it, and the fields that it does not know.
pub(crate) fn decode(metadata: &Value) -> Result<(Map, Vec<String>), TypeError> {
    let fields = match metadata {
        Value::Null => return Ok((Map::new(), Vec::new())),
        Value::Object(fields) => fields,
        other => {
            let found = other.json_type();
            return Err(TypeError(format!(
                "json: cannot unmarshal {found} into Go value of type v1.ObjectMeta"
            )));
        }
    };
    let mut decoder = Decoder::default();
    let typed = decoder.structure(&OBJECT_META, fields, "", "").map_err(TypeError)?;
    match decoder.first_error {
        Some(error) => Err(TypeError(error)),
        None => Ok((typed, decoder.unknown)),
    }
}

/// A Go struct: its name and its fields, sorted.
struct Struct {
    name: &'static str,
    fields: &'static [(&'static str, Kind)],
}

/// What a field holds, and with it when it is left out.
#[derive(Clone, Copy)]
enum Kind {
    /// A string of a Go type; left out when empty.
    Text(&'static str),
    /// A string; never left out.
    RequiredText(&'static str),
    /// An integer; left out when zero.
    Integer,
    /// A pointer to an integer.
    OptionalInteger,
    /// A pointer to a boolean.
    OptionalBool,
    /// A time; left out when zero.
    Time,
    /// A pointer to a time, `null` when zero.
    OptionalTime,
    /// `map[string]string`; left out when empty.
    Map,
    /// `[]string`; left out when empty.
    Texts,
    /// A list of structs; left out when empty.
    List(&'static Struct),
    /// Any JSON.
    Raw,
}

static OBJECT_META: Struct = Struct {
    name: "ObjectMeta",
    fields: &[
        ("annotations", Kind::Map),
        ("creationTimestamp", Kind::Time),
        ("deletionGracePeriodSeconds", Kind::OptionalInteger),
        ("deletionTimestamp", Kind::OptionalTime),
        ("finalizers", Kind::Texts),
        ("generateName", Kind::Text("string")),
        ("generation", Kind::Integer),
        ("labels", Kind::Map),
        ("managedFields", Kind::List(&MANAGED_FIELDS_ENTRY)),
        ("name", Kind::Text("string")),
        ("namespace", Kind::Text("string")),
        ("ownerReferences", Kind::List(&OWNER_REFERENCE)),
        ("resourceVersion", Kind::Text("string")),
        ("selfLink", Kind::Text("string")),
        ("uid", Kind::Text("types.UID")),
    ],
};

static OWNER_REFERENCE: Struct = Struct {
    name: "OwnerReference",
    fields: &[
        ("apiVersion", Kind::RequiredText("string")),
        ("blockOwnerDeletion", Kind::OptionalBool),
        ("controller", Kind::OptionalBool),
        ("kind", Kind::RequiredText("string")),
        ("name", Kind::RequiredText("string")),
        ("uid", Kind::RequiredText("types.UID")),
    ],
};

static MANAGED_FIELDS_ENTRY: Struct = Struct {
    name: "ManagedFieldsEntry",
    fields: &[
        ("apiVersion", Kind::Text("string")),
        ("fieldsType", Kind::Text("string")),
        ("fieldsV1", Kind::Raw),
        ("manager", Kind::Text("string")),
        ("operation", Kind::Text("v1.ManagedFieldsOperationType")),
        ("subresource", Kind::Text("string")),
        ("time", Kind::OptionalTime),
    ],
};

/// Most structs in one list. A struct of Go has all of its fields, so that `{}` takes hundreds of times its three bytes;
/// owner references that say what they must are never so many in a body of 3 MiB.
const MAX_STRUCTS: usize = 1 << 16;

/// Decoding goes on after a value of the wrong type, and the first such error is the one told; but a time that cannot
/// be read ends it at once.
#[derive(Default)]
struct Decoder {
    first_error: Option<String>,
    unknown: Vec<String>,
}

/// The struct and the path of the field that is decoded, for errors.
#[derive(Clone, Copy)]
struct Place<'p> {
    structure: &'p str,
    path: &'p str,
}

impl Place<'_> {
    fn wrong_type(self, found: &str, go_type: &str) -> String {
        let Self { structure, path } = self;
        format!("json: cannot unmarshal {found} into Go struct field {structure}.{path} of type {go_type}")
    }
}

impl Decoder {
    /// Decodes the fields of a struct. `go_path` is how errors name the struct, `path` how unknown fields name it.
    fn structure(&mut self, of: &Struct, fields: &Map, go_path: &str, path: &str) -> Result<Map, String> {
        let mut decoded = Vec::new();
        for (name, value) in fields.iter() {
            let Ok(found) = of.fields.binary_search_by(|(known, _)| (*known).cmp(name)) else {
                if self.unknown.len() < MAX_UNKNOWN_FIELDS {
                    self.unknown.push(format!("{path}{name}"));
                }
                continue;
            };
            let (name, kind) = of.fields[found];
            let go_path = format!("{go_path}{name}");
            let place = Place {
                structure: of.name,
                path: &go_path,
            };
            if let Some(value) = self.field(kind, value, place, &format!("{path}{name}"))? {
                decoded.push((Box::from(name), value));
            }
        }
        for (name, kind) in of.fields {
            if matches!(kind, Kind::RequiredText(_)) && !fields.contains_key(name) {
                decoded.push((Box::from(*name), Value::from("")));
            }
        }
        Ok(Map::from_fields(decoded))
    }

    /// The value of a field as it is encoded again; nothing where it is left out.
    fn field(&mut self, kind: Kind, value: &Value, place: Place<'_>, path: &str) -> Result<Option<Value>, String> {
        if value.is_null() {
            return Ok(matches!(kind, Kind::RequiredText(_)).then(|| Value::from("")));
        }
        Ok(match kind {
            Kind::Text(go_type) => self
                .text(value, place, go_type)
                .filter(|s| !s.is_empty())
                .map(Value::from),
            Kind::RequiredText(go_type) => Some(Value::from(self.text(value, place, go_type).unwrap_or_default())),
            Kind::Integer => self.integer(value, place).filter(|i| *i != 0).map(Value::Int),
            Kind::OptionalInteger => self.integer(value, place).map(Value::Int),
            Kind::OptionalBool => {
                if value.as_bool().is_none() {
                    self.wrong_type(value, place, "bool");
                }
                value.as_bool().map(Value::Bool)
            }
            Kind::Time => decode_time(value, place)?.map(Value::from),
            Kind::OptionalTime => Some(decode_time(value, place)?.map_or(Value::Null, Value::from)),
            Kind::Map => self.map(value, place).filter(|map| !map.is_empty()).map(Value::Object),
            Kind::Texts => {
                let texts = self.items(value, place, "[]string");
                let texts: Vec<_> = texts
                    .iter()
                    .map(|item| Value::from(self.element_text(item, place)))
                    .collect();
                (!texts.is_empty()).then(|| Value::from(texts))
            }
            Kind::List(of) => {
                let structs = self.structs(of, value, place, path)?;
                (!structs.is_empty()).then(|| Value::from(structs))
            }
            Kind::Raw => Some(value.clone()),
        })
    }

    fn wrong_type(&mut self, value: &Value, place: Place<'_>, go_type: &str) {
        self.first_error
            .get_or_insert_with(|| place.wrong_type(value.json_type(), go_type));
    }

    fn text(&mut self, value: &Value, place: Place<'_>, go_type: &str) -> Option<String> {
        if value.as_str().is_none() {
            self.wrong_type(value, place, go_type);
        }
        value.as_str().map(str::to_owned)
    }

    /// A string in a map or list, where `null` is the empty string.
    fn element_text(&mut self, value: &Value, place: Place<'_>) -> String {
        if value.is_null() {
            return String::new();
        }
        self.text(value, place, "string").unwrap_or_default()
    }

    /// Whatever JSON has no fraction or exponent once Go has written it.
    fn integer(&mut self, value: &Value, place: Place<'_>) -> Option<i64> {
        let number = match value {
            Value::Int(_) | Value::Float(_) => {
                let mut json = String::new();
                json::write_json(value, &mut json);
                json
            }
            _ => {
                self.wrong_type(value, place, "int64");
                return None;
            }
        };
        let integer = number.parse().ok();
        if integer.is_none() {
            self.first_error
                .get_or_insert_with(|| place.wrong_type(&format!("number {number}"), "int64"));
        }
        integer
    }

    fn map(&mut self, value: &Value, place: Place<'_>) -> Option<Map> {
        let Some(fields) = value.as_object() else {
            self.wrong_type(value, place, "map[string]string");
            return None;
        };
        let decoded = fields.iter().map(|(key, value)| (key, self.element_text(value, place)));
        Some(decoded.collect())
    }

    fn items<'v>(&mut self, value: &'v Value, place: Place<'_>, go_type: &str) -> &'v [Value] {
        if value.as_array().is_none() {
            self.wrong_type(value, place, go_type);
        }
        value.as_array().map_or(&[], |items| items.as_slice())
    }

    fn structs(
        &mut self,
        of: &'static Struct,
        value: &Value,
        place: Place<'_>,
        path: &str,
    ) -> Result<Vec<Value>, String> {
        let empty = Map::new();
        let mut decoded = Vec::new();
        let items = self.items(value, place, &format!("[]v1.{}", of.name));
        if items.len() > MAX_STRUCTS {
            return Err(format!("{path}: must have at most {MAX_STRUCTS} items"));
        }
        for (i, item) in items.iter().enumerate() {
            let fields = match item {
                Value::Object(fields) => fields,
                Value::Null => &empty,
                other => {
                    self.wrong_type(other, place, &format!("v1.{}", of.name));
                    continue;
                }
            };
            let go_path = format!("{}.", place.path);
            let structure = self.structure(of, fields, &go_path, &format!("{path}[{i}]."))?;
            decoded.push(Value::Object(structure));
        }
        Ok(decoded)
    }
}

/// A time; nothing for the zero time.
fn decode_time(value: &Value, place: Place<'_>) -> Result<Option<String>, String> {
    match value.as_str() {
        Some(s) => time::normalize(s),
        None => Err(place.wrong_type(value.json_type(), "string")),
    }
}
