//! Kubernetes structural schemas: parse, prune, default and validate objects as the API server does.

pub mod json;
mod serde_impls;
pub mod value;

pub use value::{List, Map, Value};
