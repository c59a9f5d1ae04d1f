//! How Go prints values: Kubernetes' messages are made with `fmt` and `strconv`, and clients compare
//! them as text.

mod duration;
mod number;
mod quote;

pub use duration::{DurationError, parse_duration};
pub(crate) use number::{Shortest, float_as_f, float_as_json};
pub use number::{float_as_v, to_int64};
pub(crate) use quote::{is_print, quote};
