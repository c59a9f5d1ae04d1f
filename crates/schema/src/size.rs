//! How much memory a value takes.

use crate::value::{Map, Value, deeper};

impl Value {
    /// About the memory that a copy of the value takes, bytes.
    pub(crate) fn memory(&self) -> usize {
        let content = match self {
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) => 0,
            Self::String(s) => s.len(),
            Self::Array(items) => deeper(|| items.iter().map(Self::memory).sum()),
            Self::Object(map) => map.memory(),
        };
        size_of::<Self>() + content
    }
}

impl Map {
    fn memory(&self) -> usize {
        let field = |(key, value): (&str, &Value)| size_of::<Box<str>>() + key.len() + value.memory();
        deeper(|| self.iter().map(field).sum())
    }
}
