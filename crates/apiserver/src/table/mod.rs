//! Objects as rows for people: `Table` with the columns of the version, as the API server of custom resources makes it.

mod age;
mod jsonpath;

use std::borrow::Cow;

use ephemeral_index::{PrinterColumn, Version};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;
use structural_schema::{Value, field, go, json};

use crate::fault::ClientFault;
use crate::list::ListMeta;
use crate::negotiate::{MetaVersion, Transform};
use crate::options::parameters;
use crate::partial::PartialObject;
use crate::respond::Document;
use jsonpath::JsonPath;

/// Where an object says when it came into being.
const CREATION: &str = ".metadata.creationTimestamp";

/// How much of an object its row carries.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum IncludeObject {
    /// Nothing.
    None,
    /// Its metadata.
    #[default]
    Metadata,
    /// All of it.
    Object,
}

impl IncludeObject {
    /// Reads `includeObject` where a `Table` is asked for, as `ValidateTableOptions` takes it.
    pub(crate) fn of(target: Option<Transform>, query: &str) -> Result<Self, ClientFault> {
        if !matches!(target, Some(Transform::Table(_))) {
            return Ok(Self::default());
        }
        match parameters(query)
            .find(|(key, _)| key == "includeObject")
            .as_ref()
            .map(|(_, value)| &**value)
        {
            None | Some("" | "Metadata") => Ok(Self::Metadata),
            Some("None") => Ok(Self::None),
            Some("Object") => Ok(Self::Object),
            Some(other) => {
                let detail = "must be 'Metadata', 'Object', 'None', or empty";
                let error = field::Error::invalid(&field::Path::root().child("includeObject"), other, detail);
                Err(ClientFault::BadRequest(
                    format!("Unable to convert to Table as requested: {error}").into(),
                ))
            }
        }
    }
}

/// The columns of a version, ready to be filled.
pub(crate) struct Columns<'a> {
    definitions: Vec<Definition<'a>>,
    /// The paths of the columns behind the name; `None` shows the age of the object.
    cells: Vec<Option<JsonPath>>,
}

impl<'a> Columns<'a> {
    /// The name, then `additionalPrinterColumns` up to the first one that cannot be read; without any, the age.
    pub(crate) fn new(version: &'a Version) -> Self {
        let mut columns = Self {
            definitions: vec![Definition::name()],
            cells: Vec::new(),
        };
        for column in &version.printer_columns {
            let Ok(path) = JsonPath::parse(&column.json_path) else {
                return columns;
            };
            columns.definitions.push(Definition::of(column));
            columns.cells.push((&*column.json_path != CREATION).then_some(path));
        }
        if columns.cells.is_empty() {
            columns.definitions.push(Definition::age());
            columns.cells.push(None);
        }
        columns
    }

    /// One object as a table of one row.
    pub(crate) fn of_object(
        &self,
        object: &Value,
        include: IncludeObject,
        version: MetaVersion,
        now: Timestamp,
    ) -> Document {
        let row = Row {
            cells: self.cells(object, now),
            object: match include {
                IncludeObject::None => None,
                IncludeObject::Metadata => Some(raw_json(PartialObject::of(object, version).document().json())),
                IncludeObject::Object => Some(raw(object)),
            },
        };
        self.document(version, ListMeta::default(), &[row])
    }

    /// A table without rows.
    pub(crate) fn of_nothing(&self, version: MetaVersion) -> Document {
        self.document(version, ListMeta::EMPTY, &[])
    }

    fn document(&self, version: MetaVersion, metadata: ListMeta, rows: &[Row]) -> Document {
        Document::new(&Table {
            kind: "Table",
            api_version: version.api_version(),
            metadata,
            column_definitions: &self.definitions,
            rows,
        })
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Box<RawValue>> {
        let name = object
            .get("metadata")
            .and_then(|metadata| metadata.get("name")?.as_str())
            .unwrap_or_default();
        let mut cells = vec![raw(&Value::from(name))];
        for (definition, path) in self.definitions[1..].iter().zip(&self.cells) {
            let found = match path {
                Some(path) => path
                    .first(object)
                    .map_or(Value::Null, |found| cell(definition.column_type, found, now)),
                // Made for this request, and never stored.
                None if definition.column_type == "date" => Value::from("0s"),
                None => Value::Null,
            };
            cells.push(raw(&found));
        }
        cells
    }
}

/// What a column of a type shows of a value: `cellForJSONValue`, for strings `PrintResults`.
fn cell(column_type: &str, value: &Value, now: Timestamp) -> Value {
    match (column_type, value) {
        ("string", value) => print(value).into(),
        ("integer", Value::Int(int)) => Value::Int(*int),
        ("integer", Value::Float(float)) => Value::Int(go::to_int64(*float)),
        #[expect(clippy::cast_precision_loss, reason = "as Go converts")]
        ("number", Value::Int(int)) => Value::Float(*int as f64),
        ("number", Value::Float(float)) => Value::Float(*float),
        ("boolean", Value::Bool(bool)) => Value::Bool(*bool),
        ("date", Value::String(text)) => age::of_text(text, now).into(),
        _ => Value::Null,
    }
}

/// A value as Go prints it, arrays and objects as JSON.
fn print(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".into(),
        Value::String(text) => text.to_string(),
        Value::Float(float) => go::float_as_v(*float),
        other => String::from_utf8(encode(other)).expect("JSON is UTF-8"),
    }
}

fn encode(value: &Value) -> Vec<u8> {
    let mut json = Vec::new();
    json::encode(value, &mut json);
    json
}

fn raw(value: &Value) -> Box<RawValue> {
    raw_json(&encode(value))
}

fn raw_json(json: &[u8]) -> Box<RawValue> {
    let json = String::from_utf8(json.to_vec()).expect("JSON is UTF-8");
    RawValue::from_string(json).expect("what was encoded can be decoded")
}

/// `metav1.Table`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Table<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: ListMeta,
    column_definitions: &'a [Definition<'a>],
    rows: &'a [Row],
}

/// `metav1.TableColumnDefinition`.
#[derive(Debug, Serialize)]
struct Definition<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    column_type: &'a str,
    format: &'a str,
    description: Cow<'a, str>,
    priority: i32,
}

impl<'a> Definition<'a> {
    fn name() -> Self {
        let description = "Name must be unique within a namespace. Is required when creating resources, although \
                           some resources may allow a client to request the generation of an appropriate name \
                           automatically. Name is primarily intended for creation idempotence and configuration \
                           definition. Cannot be updated. More info: \
                           https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
        Self {
            name: "Name",
            column_type: "string",
            format: "name",
            description: Cow::Borrowed(description),
            priority: 0,
        }
    }

    fn age() -> Self {
        let description = "CreationTimestamp is a timestamp representing the server time when this object was \
                           created. It is not guaranteed to be set in happens-before order across separate \
                           operations. Clients may not set this value. It is represented in RFC3339 form and is in \
                           UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: \
                           https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
        Self {
            name: "Age",
            column_type: "date",
            format: "",
            description: Cow::Borrowed(description),
            priority: 0,
        }
    }

    fn of(column: &'a PrinterColumn) -> Self {
        let description = if column.description.is_empty() {
            format!(
                "Custom resource definition column (in JSONPath format): {}",
                column.json_path
            )
            .into()
        } else {
            Cow::Borrowed(&*column.description)
        };
        Self {
            name: &column.name,
            column_type: &column.column_type,
            format: &column.format,
            description,
            priority: column.priority,
        }
    }
}

/// `metav1.TableRow`.
#[derive(Serialize)]
struct Row {
    cells: Vec<Box<RawValue>>,
    object: Option<Box<RawValue>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::fixture;

    fn version(columns: &[(&str, &str, &str)]) -> Version {
        let column = |&(name, column_type, json_path): &(&str, &str, &str)| PrinterColumn {
            name: name.into(),
            column_type: column_type.into(),
            format: "".into(),
            description: "".into(),
            priority: 0,
            json_path: json_path.into(),
        };
        Version {
            printer_columns: columns.iter().map(column).collect(),
            ..fixture::version("v1", "{}")
        }
    }

    fn table(version: &Version, object: &str, include: IncludeObject) -> serde_json::Value {
        let object = json::decode(object.as_bytes()).unwrap().value;
        let now = "2026-02-03T04:05:06Z".parse().unwrap();
        let document = Columns::new(version).of_object(&object, include, MetaVersion::V1, now);
        serde_json::from_slice(document.json()).unwrap()
    }

    fn cell_of(column_type: &str, path: &str, object: &str) -> serde_json::Value {
        table(&version(&[("C", column_type, path)]), object, IncludeObject::None)["rows"][0]["cells"][1].clone()
    }

    #[test]
    fn cells_are_what_a_recording_has() {
        let version = version(&[
            ("A", "string", ".spec.a"),
            ("N", "integer", ".spec.n"),
            ("When", "date", ".spec.when"),
            ("List", "string", ".spec.l"),
            ("Obj", "string", ".spec.o"),
            ("Absent", "string", ".spec.zz"),
            ("NumFromString", "integer", ".spec.a"),
            ("First", "string", ".spec.l[0]"),
        ]);
        let object = r#"{"metadata":{"name":"one"},"spec":{"a":"x","n":5,"when":"2001-02-03T04:05:06Z",
                         "l":["p","q"],"o":{"x":"y"}}}"#;
        let table = table(&version, object, IncludeObject::None);
        assert_eq!(
            table["rows"][0]["cells"],
            serde_json::json!(["one", "x", 5, "25y", "[\"p\",\"q\"]", "{\"x\":\"y\"}", null, null, "p"])
        );
        assert_eq!(
            table["columnDefinitions"][2],
            serde_json::json!({"name": "N", "type": "integer", "format": "", "priority": 0,
                "description": "Custom resource definition column (in JSONPath format): .spec.n"})
        );
    }

    #[test]
    fn without_columns_the_age_is_that_of_a_new_object() {
        let table = table(
            &version(&[]),
            r#"{"metadata":{"labels":{"a":"b"}},"spec":1.0}"#,
            IncludeObject::Metadata,
        );
        assert_eq!(table["rows"][0]["cells"], serde_json::json!(["", "0s"]));
        assert_eq!(
            table["rows"][0]["object"],
            serde_json::json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                "metadata": {"labels": {"a": "b"}}})
        );
        assert_eq!(table["columnDefinitions"][1]["name"], "Age");
        assert_eq!(cell_of("date", CREATION, r#"{"metadata":{}}"#), "0s");
    }

    #[test]
    fn an_object_is_included_byte_for_byte() {
        let version = version(&[]);
        let object = json::decode(br#"{"spec":{"f":5.0,"s":"<"}}"#).unwrap().value;
        let table =
            Columns::new(&version).of_object(&object, IncludeObject::Object, MetaVersion::V1beta1, Timestamp::now());
        let json = String::from_utf8(table.json().to_vec()).unwrap();
        assert!(
            json.ends_with("\"object\":{\"spec\":{\"f\":5,\"s\":\"\\u003c\"}}}]}"),
            "{json}"
        );
        assert!(json.starts_with("{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1beta1\",\"metadata\":{},"));
    }

    #[test]
    fn a_column_that_cannot_be_read_ends_the_columns() {
        let columns = version(&[("A", "string", ".a"), ("B", "string", ".b["), ("C", "string", ".c")]);
        let table = table(
            &columns,
            r#"{"metadata":{"name":"n"},"a":"x","c":"y"}"#,
            IncludeObject::None,
        );
        assert_eq!(
            table["rows"][0],
            serde_json::json!({"cells": ["n", "x"], "object": null})
        );
    }

    #[test]
    fn columns_convert_by_their_type() {
        for (column_type, json, expected) in [
            ("string", "5", serde_json::json!("5")),
            ("string", "1.50", serde_json::json!("1.5")),
            ("string", "1e-5", serde_json::json!("1e-05")),
            ("string", "1e21", serde_json::json!("1e+21")),
            ("string", "12345678.9", serde_json::json!("1.23456789e+07")),
            ("string", "123456789", serde_json::json!("123456789")),
            ("string", "999999.5", serde_json::json!("999999.5")),
            ("string", "true", serde_json::json!("true")),
            ("string", "null", serde_json::json!("<no value>")),
            ("string", "\"<\"", serde_json::json!("<")),
            ("string", "[\"<\"]", serde_json::json!("[\"\\u003c\"]")),
            ("integer", "5.9", serde_json::json!(5)),
            ("integer", "1e21", serde_json::json!(i64::MIN)),
            ("integer", "\"5\"", serde_json::json!(null)),
            ("number", "5", serde_json::json!(5)),
            ("number", "5.5", serde_json::json!(5.5)),
            ("boolean", "true", serde_json::json!(true)),
            ("boolean", "\"true\"", serde_json::json!(null)),
            ("date", "5", serde_json::json!(null)),
            ("date", "\"x\"", serde_json::json!("<invalid>")),
            ("other", "5", serde_json::json!(null)),
        ] {
            assert_eq!(
                cell_of(column_type, ".v", &format!("{{\"v\":{json}}}")),
                expected,
                "{column_type} {json}"
            );
        }
    }

    #[test]
    fn include_object_is_checked_where_it_counts() {
        let table = Some(Transform::Table(MetaVersion::V1));
        for (query, expected) in [
            ("", IncludeObject::Metadata),
            ("includeObject=", IncludeObject::Metadata),
            ("includeObject=Metadata", IncludeObject::Metadata),
            ("includeObject=None&includeObject=Bogus", IncludeObject::None),
            ("includeObject=Object", IncludeObject::Object),
        ] {
            assert_eq!(IncludeObject::of(table, query).unwrap(), expected, "{query}");
        }
        assert_eq!(
            IncludeObject::of(table, "includeObject=Bogus").unwrap_err().to_string(),
            "Unable to convert to Table as requested: includeObject: Invalid value: \"Bogus\": must be 'Metadata', \
             'Object', 'None', or empty"
        );
        assert_eq!(
            IncludeObject::of(None, "includeObject=Bogus").unwrap(),
            IncludeObject::Metadata
        );
    }
}
