//! [`Value`] in the formats that serde knows. Numbers become [`Value::Int`] and [`Value::Float`] as the type says;
//! none that is not finite is taken.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::value::{List, Map, Value};

/// Stack that must be left before a format goes one level deeper, bytes. The frames of a level are the format's, not
/// ours: those of a YAML reader that was built without optimisation take more than 64 KiB.
const RED_ZONE: usize = 512 * 1024;
/// Size of the segments that deep values continue on, bytes.
const SEGMENT: usize = 4 * 1024 * 1024;

fn deeper<R>(walk: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(RED_ZONE, SEGMENT, walk)
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(bool) => serializer.serialize_bool(*bool),
            Self::Int(int) => serializer.serialize_i64(*int),
            Self::Float(float) => serializer.serialize_f64(*float),
            Self::String(string) => serializer.serialize_str(string),
            Self::Array(list) => list.serialize(serializer),
            Self::Object(map) => map.serialize(serializer),
        }
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        deeper(|| serializer.collect_seq(self.iter()))
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        deeper(|| {
            let mut fields = serializer.serialize_map(Some(self.len()))?;
            for (key, value) in self.iter() {
                fields.serialize_entry(key, value)?;
            }
            fields.end()
        })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deeper(|| deserializer.deserialize_any(ValueVisitor))
    }
}

impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deeper(|| deserializer.deserialize_map(MapVisitor))
    }
}

struct MapVisitor;

impl<'de> Visitor<'de> for MapVisitor {
    type Value = Map;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Map, A::Error> {
        let mut fields = Vec::new();
        while let Some((key, value)) = access.next_entry::<String, Value>()? {
            fields.push((key.into_boxed_str(), value));
        }
        Ok(Map::from_fields(fields))
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E>(self, bool: bool) -> Result<Value, E> {
        Ok(Value::Bool(bool))
    }

    fn visit_i64<E>(self, int: i64) -> Result<Value, E> {
        Ok(Value::Int(int))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "what does not fit int64 is a float64, as in Go"
    )]
    fn visit_u64<E>(self, int: u64) -> Result<Value, E> {
        Ok(i64::try_from(int).map_or(Value::Float(int as f64), Value::Int))
    }

    fn visit_f64<E: de::Error>(self, float: f64) -> Result<Value, E> {
        if !float.is_finite() {
            return Err(E::invalid_value(de::Unexpected::Float(float), &"a finite number"));
        }
        Ok(Value::Float(float))
    }

    fn visit_str<E>(self, string: &str) -> Result<Value, E> {
        Ok(Value::from(string))
    }

    fn visit_string<E>(self, string: String) -> Result<Value, E> {
        Ok(Value::from(string))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Value::from(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<Value, A::Error> {
        MapVisitor.visit_map(access).map(Value::Object)
    }
}
