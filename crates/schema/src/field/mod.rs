//! Field errors: `k8s.io/apimachinery/pkg/util/validation/field`.

mod error;
mod errors;
mod path;

pub use error::{BadValue, Error, ErrorKind, aggregate};
pub use errors::Errors;
pub use path::Path;
