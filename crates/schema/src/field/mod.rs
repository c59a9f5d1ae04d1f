//! Field errors: `k8s.io/apimachinery/pkg/util/validation/field`.

mod error;
mod path;

pub use error::{BadValue, Error, ErrorKind, aggregate};
pub use path::Path;
