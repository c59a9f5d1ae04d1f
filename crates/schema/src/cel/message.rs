//! Messages of protocol buffers that an expression can make: the well-known types, which are all that Kubernetes'
//! environment knows (`common/types/pb` and `common/types/provider.go` of cel-go).
//!
//! None stays a message but `Empty`: a wrapper is the value that it wraps, a `Struct` a map, and so on. Two things are
//! different from Kubernetes: the bytes of an `Any` are not unpacked, and a `Timestamp` is one that `timestamp()` could
//! give too.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::cost::Meter;
use super::error::{EvalError, Outcome};
use super::eval::go_type_name;
use super::time::{Duration, Timestamp};
use super::types::Type;
use super::value::{List, Map, Value};
use crate::value::deeper;

/// Integers up to this size are numbers in JSON, larger ones strings (`maxIntJSON`).
const MAX_JSON_INT: u64 = (1 << 53) - 1;
/// Steps that a value counts for which is converted: each is a new one, however often the old one was shared.
const CONVERSION_WORK: usize = 32;
const NANOS: i128 = 1_000_000_000;

/// A kind of message.
#[derive(Debug)]
pub(crate) struct Message {
    /// The name that expressions write.
    pub(crate) name: &'static str,
    fields: &'static [Field],
    kind: Kind,
}

/// A field of a message.
#[derive(Debug)]
struct Field {
    name: &'static str,
    native: Native,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// The value of its only field, or what stands for none.
    Only,
    /// The same, and its type agrees with null.
    Wrapper,
    Duration,
    Timestamp,
    Empty,
    /// `google.protobuf.Value`: the field that is set, or null.
    OneOf,
    Any,
}

/// What a field holds in Go.
#[derive(Clone, Copy, Debug)]
enum Native {
    Bool,
    Bytes,
    Double,
    Float,
    Int32,
    Int64,
    Uint32,
    Uint64,
    String,
    /// `google.protobuf.NullValue`
    Null,
    /// `repeated Value`
    Values,
    /// `map<string, Value>`
    Fields,
    /// `ListValue`
    List,
    /// `Struct`
    Struct,
}

const fn wrapper(name: &'static str, fields: &'static [Field]) -> Message {
    Message {
        name,
        fields,
        kind: Kind::Wrapper,
    }
}

const fn field(name: &'static str, native: Native) -> Field {
    Field { name, native }
}

const MESSAGES: &[Message] = &[
    wrapper("google.protobuf.BoolValue", &[field("value", Native::Bool)]),
    wrapper("google.protobuf.BytesValue", &[field("value", Native::Bytes)]),
    wrapper("google.protobuf.DoubleValue", &[field("value", Native::Double)]),
    wrapper("google.protobuf.FloatValue", &[field("value", Native::Float)]),
    wrapper("google.protobuf.Int32Value", &[field("value", Native::Int32)]),
    wrapper("google.protobuf.Int64Value", &[field("value", Native::Int64)]),
    wrapper("google.protobuf.UInt32Value", &[field("value", Native::Uint32)]),
    wrapper("google.protobuf.UInt64Value", &[field("value", Native::Uint64)]),
    wrapper("google.protobuf.StringValue", &[field("value", Native::String)]),
    Message {
        name: "google.protobuf.Duration",
        fields: &[field("seconds", Native::Int64), field("nanos", Native::Int32)],
        kind: Kind::Duration,
    },
    Message {
        name: "google.protobuf.Timestamp",
        fields: &[field("seconds", Native::Int64), field("nanos", Native::Int32)],
        kind: Kind::Timestamp,
    },
    Message {
        name: "google.protobuf.Empty",
        fields: &[],
        kind: Kind::Empty,
    },
    Message {
        name: "google.protobuf.Struct",
        fields: &[field("fields", Native::Fields)],
        kind: Kind::Only,
    },
    Message {
        name: "google.protobuf.ListValue",
        fields: &[field("values", Native::Values)],
        kind: Kind::Only,
    },
    Message {
        name: "google.protobuf.Value",
        fields: &[
            field("null_value", Native::Null),
            field("number_value", Native::Double),
            field("string_value", Native::String),
            field("bool_value", Native::Bool),
            field("struct_value", Native::Struct),
            field("list_value", Native::List),
        ],
        kind: Kind::OneOf,
    },
    Message {
        name: "google.protobuf.Any",
        fields: &[field("type_url", Native::String), field("value", Native::Bytes)],
        kind: Kind::Any,
    },
];

impl Message {
    /// The message of a name.
    pub(crate) fn of(name: &str) -> Option<&'static Self> {
        MESSAGES.iter().find(|message| message.name == name)
    }

    /// The type of what becomes of it.
    pub(crate) fn ty(&self) -> Type {
        match (self.kind, self.fields) {
            (Kind::Wrapper, [only, ..]) => Type::Wrapper(only.native.ty().into()),
            (Kind::Only, [only, ..]) => only.native.ty(),
            (Kind::Duration, _) => Type::Duration,
            (Kind::Timestamp, _) => Type::Timestamp,
            (Kind::Empty, _) => Type::Struct("google.protobuf.Empty"),
            _ => Type::Dyn,
        }
    }

    /// Whether its name has a value too: a type.
    pub(crate) fn is_type(&self) -> bool {
        matches!(self.kind, Kind::Duration | Kind::Timestamp | Kind::Empty)
    }

    /// The place and the type of a field.
    pub(crate) fn field(&self, name: &str) -> Option<(usize, Type)> {
        let place = self.fields.iter().position(|field| field.name == name)?;
        Some((place, self.fields[place].native.ty()))
    }

    /// The name of the field at a place.
    pub(crate) fn field_name(&self, place: usize) -> &'static str {
        self.fields[place].name
    }

    /// Makes a message of the values of its fields, by place (`Registry.NewValue`).
    pub(crate) fn make<'a>(&self, values: &[Option<Value<'a>>], meter: &mut Meter) -> Outcome<Value<'a>> {
        let mut set = Vec::with_capacity(self.fields.len());
        for (field, value) in self.fields.iter().zip(values) {
            set.push(match value {
                Some(value) => Some(self.convert(field, value, meter)?),
                None => None,
            });
        }
        let whole = |place: usize| match set.get(place) {
            Some(Some(Value::Int(i))) => *i,
            _ => 0,
        };
        match self.kind {
            Kind::Only | Kind::Wrapper => Ok(match (set.into_iter().flatten().next(), self.fields) {
                (Some(value), _) => value,
                (None, [only, ..]) => only.native.zero(),
                (None, []) => Value::Null,
            }),
            Kind::Duration => Ok(Value::Duration(duration(whole(0), whole(1)))),
            Kind::Timestamp => {
                let nanos = Duration::from_nanoseconds(whole(1));
                Timestamp::from_unix(whole(0))?.add(nanos).map(Value::Timestamp)
            }
            Kind::Empty => Ok(Value::Empty),
            Kind::OneOf => Ok(set.into_iter().flatten().next_back().unwrap_or(Value::Null)),
            Kind::Any => Err(EvalError::failed("unsupported conversion to ref.Val: (*anypb.Any)")),
        }
    }

    fn convert<'a>(&self, field: &Field, value: &Value<'a>, meter: &mut Meter) -> Outcome<Value<'a>> {
        let (message, name) = (self.name, field.name);
        match (field.native, value) {
            (Native::Values, Value::List(_)) | (Native::Fields, Value::Map(_)) => {}
            (Native::Values | Native::Fields, other) => {
                let ty = match other.type_name() {
                    "list" => "list(dyn)",
                    "map" => "map(dyn, dyn)",
                    "optional_type" => "optional_type(dyn)",
                    name => name,
                };
                return Err(EvalError::failed(format!(
                    "unsupported field type for {message}.{name}: {ty}"
                )));
            }
            _ => {}
        }
        field.native.of(value, meter).map_err(|error| match error {
            EvalError::Failed(text) => EvalError::failed(format!(
                "field type conversion error for {message}.{name} value type: {text}"
            )),
            last => last,
        })
    }
}

/// A duration as `AsDuration` makes it: the nearest that there is.
fn duration(seconds: i64, nanos: i64) -> Duration {
    let total = i128::from(seconds) * NANOS + i128::from(nanos);
    let nearest = total.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    Duration::from_nanoseconds(i64::try_from(nearest).unwrap_or(i64::MAX))
}

impl Native {
    fn ty(self) -> Type {
        match self {
            Self::Bool => Type::Bool,
            Self::Bytes => Type::Bytes,
            Self::Double | Self::Float => Type::Double,
            Self::Int32 | Self::Int64 | Self::Null => Type::Int,
            Self::Uint32 | Self::Uint64 => Type::Uint,
            Self::String => Type::String,
            Self::Values | Self::List => Type::list(Type::Dyn),
            Self::Fields | Self::Struct => Type::map(Type::String, Type::Dyn),
        }
    }

    fn zero(self) -> Value<'static> {
        match self {
            Self::Bool => Value::Bool(false),
            Self::Bytes => Value::Bytes([].into()),
            Self::Double | Self::Float => Value::Double(0.0),
            Self::Int32 | Self::Int64 => Value::Int(0),
            Self::Uint32 | Self::Uint64 => Value::Uint(0),
            Self::String => Value::string(""),
            Self::Null => Value::Null,
            Self::Values | Self::List => Value::list(Vec::new()),
            Self::Fields | Self::Struct => Value::Map(Map::from(std::collections::BTreeMap::new())),
        }
    }

    /// Go's name.
    fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Bytes => "[]uint8",
            Self::Double => "float64",
            Self::Float => "float32",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::String => "string",
            Self::Null => "protoreflect.EnumNumber",
            Self::Values => "[]*structpb.Value",
            Self::Fields => "map[string]*structpb.Value",
            Self::List => "*structpb.ListValue",
            Self::Struct => "*structpb.Struct",
        }
    }

    /// `ConvertToNative`
    #[expect(
        clippy::cast_possible_truncation,
        reason = "Go rounds to a float32, or to an infinity, too"
    )]
    fn of<'a>(self, value: &Value<'a>, meter: &mut Meter) -> Outcome<Value<'a>> {
        match (self, value) {
            (_, Value::Optional(Some(value))) => self.of(value, meter),
            (Self::Bool, Value::Bool(_))
            | (Self::Bytes, Value::Bytes(_))
            | (Self::Double, Value::Double(_))
            | (Self::Int64, Value::Int(_))
            | (Self::Uint64, Value::Uint(_))
            | (Self::String, Value::String(_)) => Ok(value.clone()),
            (Self::Float, Value::Double(d)) => Ok(Value::Double(f64::from(*d as f32))),
            (Self::Int32, Value::Int(i)) => in_range(i32::try_from(*i).is_ok(), "integer", value),
            (Self::Null, Value::Int(i)) => in_range(i32::try_from(*i).is_ok(), "integer", &Value::Null),
            (Self::Uint32, Value::Uint(u)) => in_range(u32::try_from(*u).is_ok(), "unsigned integer", value),
            // Views on an object's data are read item by item, and are no messages themselves.
            (Self::Values, Value::List(list)) => json_list(list, meter),
            (Self::Fields, Value::Map(map)) => json_map(map, meter),
            (Self::List, Value::List(list)) if !list.is_data() => json_list(list, meter),
            (Self::Struct, Value::Map(map)) if !map.is_data() => json_map(map, meter),
            (_, other) => Err(failure(other, self.name())),
        }
    }
}

fn in_range<'a>(fits: bool, what: &str, value: &Value<'a>) -> Outcome<Value<'a>> {
    if fits {
        Ok(value.clone())
    } else {
        Err(EvalError::failed(format!("{what} overflow")))
    }
}

/// A value as JSON has it, which is how a `Value` holds it.
#[expect(clippy::cast_precision_loss, reason = "such integers are exact in a double")]
fn json<'a>(value: &Value<'a>, meter: &mut Meter) -> Outcome<Value<'a>> {
    meter.work(CONVERSION_WORK)?;
    Ok(match value {
        Value::Null | Value::Bool(_) | Value::Double(_) | Value::String(_) => value.clone(),
        Value::Int(i) if i.unsigned_abs() <= MAX_JSON_INT => Value::Double(*i as f64),
        Value::Int(i) => Value::string(i.to_string()),
        Value::Uint(u) if *u <= MAX_JSON_INT => Value::Double(*u as f64),
        Value::Uint(u) => Value::string(u.to_string()),
        Value::Bytes(bytes) => {
            meter.read(bytes.len())?;
            Value::string(STANDARD.encode(bytes))
        }
        Value::Duration(duration) => Value::string(duration.to_cel_string()),
        Value::Timestamp(time) => Value::string(time.to_rfc3339()),
        Value::Empty => Native::Struct.zero(),
        Value::List(list) if !list.is_data() => deeper(|| json_list(list, meter))?,
        Value::Map(map) if !map.is_data() => deeper(|| json_map(map, meter))?,
        Value::Optional(Some(value)) => deeper(|| json(value, meter))?,
        other => return Err(failure(other, "*structpb.Value")),
    })
}

fn json_list<'a>(list: &List<'a>, meter: &mut Meter) -> Outcome<Value<'a>> {
    let items: Outcome<Vec<_>> = list.iter().map(|item| json(&item?, meter)).collect();
    items.map(Value::list)
}

fn json_map<'a>(map: &Map<'a>, meter: &mut Meter) -> Outcome<Value<'a>> {
    let mut made = Map::from(std::collections::BTreeMap::new());
    for key in map.keys() {
        let name = Native::String.of(&key, meter)?;
        if let Some(value) = map.find(&key)? {
            made.insert(&name, json(&value, meter)?)?;
        }
    }
    Ok(Value::Map(made))
}

/// Why a value cannot be a Go value, as its type tells it.
fn failure(value: &Value<'_>, native: &str) -> EvalError {
    EvalError::failed(match value {
        Value::Null => format!("type conversion error from 'null_type' to '{native}'"),
        Value::Bool(_) => format!("type conversion error from bool to '{native}'"),
        Value::Int(_) => format!("unsupported type conversion from 'int' to {native}"),
        Value::Uint(_) => format!("unsupported type conversion from 'uint' to {native}"),
        Value::Double(_) => format!("type conversion error from Double to '{native}'"),
        Value::String(_) => format!("unsupported native conversion from string to '{native}'"),
        Value::Bytes(_) => format!("type conversion error from Bytes to '{native}'"),
        Value::Duration(_) => format!("type conversion error from 'Duration' to '{native}'"),
        Value::Timestamp(_) => format!("type conversion error from 'Timestamp' to '{native}'"),
        Value::Type(_) => "type conversion not supported for 'type'".to_owned(),
        Value::List(list) if list.is_data() => format!("type conversion error from 'list(dyn)' to '{native}'"),
        Value::List(_) => format!("type conversion error from list to '{native}'"),
        Value::Map(map) if map.is_data() => format!("type conversion error from 'map(dyn, dyn)' to '{native}'"),
        Value::Map(_) => format!("type conversion error from map to '{native}'"),
        Value::Optional(_) => "optional.none() dereference".to_owned(),
        Value::Empty => format!("type conversion error from '*dynamicpb.Message' to '{native}'"),
        Value::Unknown(_) => format!(
            "type conversion to '{native}' not supported for values preserved by x-kubernetes-preserve-unknown-fields"
        ),
        Value::Url(_) | Value::Ip(_) | Value::Cidr(_) | Value::Quantity(_) | Value::Semver(_) | Value::Format(_) => {
            let name = go_type_name(value).trim_start_matches("cel.");
            format!("type conversion error from '{name}' to '{native}'")
        }
    })
}
