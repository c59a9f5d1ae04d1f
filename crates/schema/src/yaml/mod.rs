//! YAML as Kubernetes reads and writes it: `sigs.k8s.io/yaml` on top of go-yaml v2.
//!
//! Neither YAML crate can stand in for go-yaml here. `libyaml-safer` is the same scanner, but a body of two bytes
//! (`"\`) or four (`[!a,`) makes it panic, and each token costs it a look at every open bracket, which is
//! CVE-2019-11254; `saphyr-parser` reads YAML 1.2, so that other documents are valid and other values come out.
//! Clients see go-yaml's messages and line numbers, odd as they are, so `scanner` and `parser` follow the states of
//! libyaml that go-yaml keeps, in bounded memory and without recursion. The table in `tests/data/yaml.json` holds what
//! the Go libraries answered.

mod base64;
mod compose;
mod construct;
mod emitter;
mod encode;
mod error;
mod input;
mod merge_sort;
mod parser;
mod reader;
mod resolve;
mod scalar;
mod scanner;
mod tag;
mod timestamp;
mod token;
mod tree;

pub use construct::{Decoded, decode};
pub use encode::encode;
pub use error::{DuplicateKeys, Error};
