//! JSON as Kubernetes reads and writes it for objects without a Go type.
//!
//! [`decode`] is `sigs.k8s.io/json`'s `UnmarshalStrict` with duplicate fields reported, [`encode`] is Go's
//! `encoding/json` on what that yields. Both agree with Go byte for byte, error texts included, since clients see
//! them; the table in `tests/data/json.json` holds what the Go libraries answered.

mod cursor;
mod decode;
mod duplicates;
mod encode;
mod error;
mod outline;
mod quote;
mod text;

pub use decode::{Decoded, MAX_DEPTH, decode};
pub use encode::{encode, encode_object, encode_pretty, settle_numbers};
pub use error::Error;
pub use outline::{Outline, outline};
pub use quote::quote;
pub use text::replace_invalid_text;

pub(crate) use cursor::replace_invalid;
pub(crate) use decode::parse_number;
pub(crate) use encode::{MAX_INDENTATION, write_json};
