//! How much memory a value takes.

use crate::value::{Map, Value, deeper};

/// What an allocator adds to a small piece of memory, bytes.
const ALLOCATION: usize = 16;

impl Value {
    /// About the memory that a copy of the value takes, bytes: often several times its JSON, twelve times for a list of
    /// small numbers.
    pub fn memory(&self) -> usize {
        let content = match self {
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Float(_) => 0,
            Self::String(s) => s.len() + ALLOCATION,
            Self::Array(items) => deeper(|| items.iter().map(Self::memory).sum()),
            Self::Object(map) => map.memory(),
        };
        size_of::<Self>() + content
    }
}

impl Map {
    /// About the memory that a copy of the fields takes, bytes.
    pub fn memory(&self) -> usize {
        let field = |(key, value): (&str, &Value)| size_of::<Box<str>>() + key.len() + ALLOCATION + value.memory();
        deeper(|| self.iter().map(field).sum())
    }
}
