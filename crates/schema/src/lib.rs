#![doc = include_str!("../README.md")]

pub mod cel;
mod default;
mod embedded;
pub mod field;
mod format;
pub mod go;
pub mod json;
pub mod meta;
mod node;
mod problem;
mod prune;
mod regexp;
mod scale;
mod schema;
mod serde_impls;
mod size;
mod unknown;
mod validate;
pub mod value;
pub mod yaml;

pub use default::DefaultsTooLarge;
pub use problem::{Problem, Reason};
pub use regexp::Error as PatternError;
pub use scale::Scale;
pub use schema::{CoerceError, Schema};
pub use validate::ValidateOptions;
pub use value::{List, Map, Value};
