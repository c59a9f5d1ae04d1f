//! OpenAPI v2 as protobuf: the messages of gnostic's `openapi.v2`, as far as the documents here use them.
//!
//! kubectl reads nothing else from `/openapi/v2`. Field numbers are those of gnostic's `OpenAPIv2.proto`.

use prost::{Message, Oneof};
use structural_schema::{Map, Value, json};

/// Encodes a document.
pub(super) fn encode(document: &Value) -> Vec<u8> {
    Document::from(document).encode_to_vec()
}

/// The whole.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Document {
    #[prost(string, tag = "1")]
    pub(super) swagger: String,
    #[prost(message, optional, tag = "2")]
    info: Option<Info>,
    #[prost(message, optional, tag = "8")]
    paths: Option<Paths>,
    #[prost(message, optional, tag = "9")]
    definitions: Option<NamedSchemas>,
}

#[derive(Clone, PartialEq, Message)]
struct Info {
    #[prost(string, tag = "1")]
    title: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, Message)]
struct Paths {
    #[prost(message, repeated, tag = "2")]
    path: Vec<NamedPathItem>,
}

#[derive(Clone, PartialEq, Message)]
struct NamedPathItem {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<PathItem>,
}

#[derive(Clone, PartialEq, Message)]
struct PathItem {
    #[prost(message, optional, tag = "4")]
    post: Option<Operation>,
    #[prost(message, repeated, tag = "9")]
    parameters: Vec<ParametersItem>,
}

#[derive(Clone, PartialEq, Message)]
struct Operation {
    #[prost(string, repeated, tag = "1")]
    tags: Vec<String>,
    #[prost(string, tag = "3")]
    description: String,
    #[prost(string, tag = "5")]
    id: String,
    #[prost(string, repeated, tag = "6")]
    produces: Vec<String>,
    #[prost(string, repeated, tag = "7")]
    consumes: Vec<String>,
    #[prost(message, repeated, tag = "8")]
    parameters: Vec<ParametersItem>,
    #[prost(message, optional, tag = "9")]
    responses: Option<Responses>,
    #[prost(string, repeated, tag = "10")]
    schemes: Vec<String>,
    #[prost(message, repeated, tag = "13")]
    vendor_extension: Vec<NamedAny>,
}

/// `ParametersItem` of `Parameter`.
#[derive(Clone, PartialEq, Message)]
struct ParametersItem {
    #[prost(message, optional, tag = "1")]
    parameter: Option<Parameter>,
}

#[derive(Clone, PartialEq, Message)]
struct Parameter {
    #[prost(oneof = "ParameterKind", tags = "1, 2")]
    kind: Option<ParameterKind>,
}

#[derive(Clone, PartialEq, Oneof)]
enum ParameterKind {
    #[prost(message, tag = "1")]
    Body(BodyParameter),
    #[prost(message, tag = "2")]
    NonBody(NonBodyParameter),
}

#[derive(Clone, PartialEq, Message)]
struct BodyParameter {
    #[prost(string, tag = "1")]
    description: String,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(string, tag = "3")]
    place: String,
    #[prost(bool, tag = "4")]
    required: bool,
    #[prost(message, optional, boxed, tag = "5")]
    schema: Option<Box<Schema>>,
}

#[derive(Clone, PartialEq, Message)]
struct NonBodyParameter {
    #[prost(oneof = "NonBodyKind", tags = "3, 4")]
    kind: Option<NonBodyKind>,
}

#[derive(Clone, PartialEq, Oneof)]
enum NonBodyKind {
    #[prost(message, tag = "3")]
    Query(QueryParameter),
    #[prost(message, tag = "4")]
    Path(PathParameter),
}

/// `QueryParameterSubSchema`.
#[derive(Clone, PartialEq, Message)]
struct QueryParameter {
    #[prost(string, tag = "2")]
    place: String,
    #[prost(string, tag = "3")]
    description: String,
    #[prost(string, tag = "4")]
    name: String,
    #[prost(string, tag = "6")]
    value_type: String,
}

/// `PathParameterSubSchema`.
#[derive(Clone, PartialEq, Message)]
struct PathParameter {
    #[prost(bool, tag = "1")]
    required: bool,
    #[prost(string, tag = "2")]
    place: String,
    #[prost(string, tag = "3")]
    description: String,
    #[prost(string, tag = "4")]
    name: String,
    #[prost(string, tag = "5")]
    value_type: String,
}

#[derive(Clone, PartialEq, Message)]
struct Responses {
    #[prost(message, repeated, tag = "1")]
    response_code: Vec<NamedResponseValue>,
}

#[derive(Clone, PartialEq, Message)]
struct NamedResponseValue {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<ResponseValue>,
}

/// `ResponseValue` of `Response`.
#[derive(Clone, PartialEq, Message)]
struct ResponseValue {
    #[prost(message, optional, tag = "1")]
    response: Option<Response>,
}

#[derive(Clone, PartialEq, Message)]
struct Response {
    #[prost(string, tag = "1")]
    description: String,
    #[prost(message, optional, tag = "2")]
    schema: Option<SchemaItem>,
}

/// `SchemaItem` of `Schema`.
#[derive(Clone, PartialEq, Message)]
struct SchemaItem {
    #[prost(message, optional, boxed, tag = "1")]
    schema: Option<Box<Schema>>,
}

/// `Definitions` and `Properties`, which are alike.
#[derive(Clone, PartialEq, Message)]
struct NamedSchemas {
    #[prost(message, repeated, tag = "1")]
    additional_properties: Vec<NamedSchema>,
}

#[derive(Clone, PartialEq, Message)]
struct NamedSchema {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<Schema>,
}

#[derive(Clone, PartialEq, Message)]
struct Schema {
    #[prost(string, tag = "1")]
    reference: String,
    #[prost(string, tag = "2")]
    format: String,
    #[prost(string, tag = "3")]
    title: String,
    #[prost(string, tag = "4")]
    description: String,
    #[prost(message, optional, tag = "5")]
    default: Option<Any>,
    #[prost(double, tag = "6")]
    multiple_of: f64,
    #[prost(double, tag = "7")]
    maximum: f64,
    #[prost(bool, tag = "8")]
    exclusive_maximum: bool,
    #[prost(double, tag = "9")]
    minimum: f64,
    #[prost(bool, tag = "10")]
    exclusive_minimum: bool,
    #[prost(int64, tag = "11")]
    max_length: i64,
    #[prost(int64, tag = "12")]
    min_length: i64,
    #[prost(string, tag = "13")]
    pattern: String,
    #[prost(int64, tag = "14")]
    max_items: i64,
    #[prost(int64, tag = "15")]
    min_items: i64,
    #[prost(bool, tag = "16")]
    unique_items: bool,
    #[prost(int64, tag = "17")]
    max_properties: i64,
    #[prost(int64, tag = "18")]
    min_properties: i64,
    #[prost(string, repeated, tag = "19")]
    required: Vec<String>,
    #[prost(message, repeated, tag = "20")]
    allowed: Vec<Any>,
    #[prost(message, optional, tag = "21")]
    additional_properties: Option<AdditionalProperties>,
    #[prost(message, optional, tag = "22")]
    value_type: Option<TypeItem>,
    #[prost(message, optional, tag = "23")]
    items: Option<ItemsItem>,
    #[prost(message, optional, tag = "25")]
    properties: Option<NamedSchemas>,
    #[prost(message, optional, tag = "29")]
    external_docs: Option<ExternalDocs>,
    #[prost(message, optional, tag = "30")]
    example: Option<Any>,
    #[prost(message, repeated, tag = "31")]
    vendor_extension: Vec<NamedAny>,
}

/// `AdditionalPropertiesItem`.
#[derive(Clone, PartialEq, Message)]
struct AdditionalProperties {
    #[prost(oneof = "AdditionalKind", tags = "1, 2")]
    kind: Option<AdditionalKind>,
}

#[derive(Clone, PartialEq, Oneof)]
enum AdditionalKind {
    #[prost(message, tag = "1")]
    Schema(Box<Schema>),
    #[prost(bool, tag = "2")]
    Allowed(bool),
}

#[derive(Clone, PartialEq, Message)]
struct TypeItem {
    #[prost(string, repeated, tag = "1")]
    value: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct ItemsItem {
    #[prost(message, repeated, tag = "1")]
    schema: Vec<Schema>,
}

#[derive(Clone, PartialEq, Message)]
struct ExternalDocs {
    #[prost(string, tag = "1")]
    description: String,
    #[prost(string, tag = "2")]
    url: String,
}

#[derive(Clone, PartialEq, Message)]
struct NamedAny {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<Any>,
}

/// Any value, as YAML; JSON is YAML.
#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "2")]
    yaml: String,
}

impl From<&Value> for Document {
    fn from(value: &Value) -> Self {
        let info = value.get("info");
        Self {
            swagger: text(value, "swagger"),
            info: info.map(|info| Info {
                title: text(info, "title"),
                version: text(info, "version"),
            }),
            paths: value.get("paths").and_then(Value::as_object).map(|paths| Paths {
                path: named(paths, |name, item| NamedPathItem {
                    name,
                    value: Some(item.into()),
                }),
            }),
            definitions: value
                .get("definitions")
                .and_then(Value::as_object)
                .map(NamedSchemas::from),
        }
    }
}

impl From<&Value> for PathItem {
    fn from(value: &Value) -> Self {
        Self {
            post: value.get("post").map(Operation::from),
            parameters: each(value, "parameters"),
        }
    }
}

impl From<&Value> for Operation {
    fn from(value: &Value) -> Self {
        Self {
            tags: texts(value, "tags"),
            description: text(value, "description"),
            id: text(value, "operationId"),
            produces: texts(value, "produces"),
            consumes: texts(value, "consumes"),
            parameters: each(value, "parameters"),
            responses: value
                .get("responses")
                .and_then(Value::as_object)
                .map(|responses| Responses {
                    response_code: named(responses, |name, response| NamedResponseValue {
                        name,
                        value: Some(ResponseValue {
                            response: Some(response.into()),
                        }),
                    }),
                }),
            schemes: texts(value, "schemes"),
            vendor_extension: extensions(value),
        }
    }
}

impl From<&Value> for ParametersItem {
    fn from(value: &Value) -> Self {
        let (place, name, description) = (text(value, "in"), text(value, "name"), text(value, "description"));
        let (required, value_type) = (flag(value, "required"), text(value, "type"));
        let kind = match &*place {
            "body" => {
                let schema = value.get("schema").map(|schema| Box::new(schema.into()));
                ParameterKind::Body(BodyParameter {
                    description,
                    name,
                    place,
                    required,
                    schema,
                })
            }
            "path" => {
                let parameter = PathParameter {
                    required,
                    place,
                    description,
                    name,
                    value_type,
                };
                ParameterKind::NonBody(NonBodyParameter {
                    kind: Some(NonBodyKind::Path(parameter)),
                })
            }
            _ => {
                let parameter = QueryParameter {
                    place,
                    description,
                    name,
                    value_type,
                };
                ParameterKind::NonBody(NonBodyParameter {
                    kind: Some(NonBodyKind::Query(parameter)),
                })
            }
        };
        Self {
            parameter: Some(Parameter { kind: Some(kind) }),
        }
    }
}

impl From<&Value> for Response {
    fn from(value: &Value) -> Self {
        Self {
            description: text(value, "description"),
            schema: value.get("schema").map(|schema| SchemaItem {
                schema: Some(Box::new(schema.into())),
            }),
        }
    }
}

impl From<&Map> for NamedSchemas {
    fn from(schemas: &Map) -> Self {
        let schema = |name, schema: &Value| NamedSchema {
            name,
            value: Some(schema.into()),
        };
        Self {
            additional_properties: named(schemas, schema),
        }
    }
}

impl From<&Value> for Schema {
    fn from(value: &Value) -> Self {
        Self {
            reference: text(value, "$ref"),
            format: text(value, "format"),
            title: text(value, "title"),
            description: text(value, "description"),
            default: value.get("default").map(Any::from),
            multiple_of: number(value, "multipleOf"),
            maximum: number(value, "maximum"),
            exclusive_maximum: flag(value, "exclusiveMaximum"),
            minimum: number(value, "minimum"),
            exclusive_minimum: flag(value, "exclusiveMinimum"),
            max_length: integer(value, "maxLength"),
            min_length: integer(value, "minLength"),
            pattern: text(value, "pattern"),
            max_items: integer(value, "maxItems"),
            min_items: integer(value, "minItems"),
            unique_items: flag(value, "uniqueItems"),
            max_properties: integer(value, "maxProperties"),
            min_properties: integer(value, "minProperties"),
            required: texts(value, "required"),
            allowed: each(value, "enum"),
            additional_properties: value.get("additionalProperties").map(AdditionalProperties::from),
            value_type: value.get("type").and_then(Value::as_str).map(|value_type| TypeItem {
                value: vec![value_type.to_owned()],
            }),
            items: value.get("items").map(|items| ItemsItem {
                schema: vec![items.into()],
            }),
            properties: value
                .get("properties")
                .and_then(Value::as_object)
                .map(NamedSchemas::from),
            external_docs: value.get("externalDocs").map(|docs| ExternalDocs {
                description: text(docs, "description"),
                url: text(docs, "url"),
            }),
            example: value.get("example").map(Any::from),
            vendor_extension: extensions(value),
        }
    }
}

impl From<&Value> for AdditionalProperties {
    fn from(value: &Value) -> Self {
        let kind = match value {
            Value::Bool(allowed) => AdditionalKind::Allowed(*allowed),
            schema => AdditionalKind::Schema(Box::new(schema.into())),
        };
        Self { kind: Some(kind) }
    }
}

impl From<&Value> for Any {
    fn from(value: &Value) -> Self {
        let mut json = Vec::new();
        json::encode(value, &mut json);
        Self {
            yaml: String::from_utf8(json).expect("JSON is UTF-8"),
        }
    }
}

fn named<T>(map: &Map, make: impl Fn(String, &Value) -> T) -> Vec<T> {
    map.iter().map(|(name, value)| make(name.to_owned(), value)).collect()
}

fn each<T: for<'a> From<&'a Value>>(value: &Value, key: &str) -> Vec<T> {
    value
        .get(key)
        .and_then(Value::as_array)
        .map(|items| items.iter().map(T::from).collect())
        .unwrap_or_default()
}

fn extensions(value: &Value) -> Vec<NamedAny> {
    let fields = value
        .as_object()
        .into_iter()
        .flat_map(Map::iter)
        .filter(|(name, _)| name.starts_with("x-"));
    fields
        .map(|(name, value)| NamedAny {
            name: name.to_owned(),
            value: Some(value.into()),
        })
        .collect()
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    let items = value
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flat_map(|items| items.iter());
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or_default()
}

fn integer(value: &Value, key: &str) -> i64 {
    value.get(key).and_then(Value::as_int).unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "gnostic has doubles for all numbers")]
fn number(value: &Value, key: &str) -> f64 {
    match value.get(key) {
        Some(Value::Int(int)) => *int as f64,
        Some(Value::Float(float)) => *float,
        _ => 0.0,
    }
}
