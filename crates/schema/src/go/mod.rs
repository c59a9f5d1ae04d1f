//! How Go prints values: Kubernetes' messages are made with `fmt` and `strconv`, and clients compare
//! them as text.

mod number;
mod quote;

pub(crate) use number::{Shortest, float_as_f, float_as_json, float_as_v, to_int64};
pub(crate) use quote::{is_print, quote};
