//! How Go prints values: Kubernetes' messages are made with `fmt`, `strconv` and `encoding/json`, and clients compare
//! them as text.

mod json;
mod number;
mod quote;

pub(crate) use json::{write_json, write_json_string};
pub(crate) use number::{float_as_f, float_as_v, to_int64};
pub(crate) use quote::{is_print, quote};
