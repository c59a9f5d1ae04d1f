//! Validation rules, `x-kubernetes-validations`, as the API server runs them.
//!
//! The module has two parts, and the first knows nothing of the second or of schemas:
//!
//! - **The language**: [`Program::compile`] parses an expression with the `cel` crate's parser, checks it against the
//!   types of its variables and of the functions that [`Environment::kubernetes`] declares, and plans it;
//!   [`Program::evaluate`] computes it. Both charge what cel-go and Kubernetes charge, unit for unit, and stop at the
//!   limit. What Kubernetes does for free is counted too ([`OBJECT_WORK`]), so that no rule can run for long.
//! - **The rules** of a schema, in `rules`: their declarations of types, the views on an object's data, and the errors.
//!   [`Schema::compile`](crate::Schema::compile) compiles them: a rule that Kubernetes would refuse is a
//!   [`Problem`](crate::Problem) with the [`RuleError`]. [`Schema::validate`](crate::Schema::validate) runs them if
//!   nothing else is wrong that would make them pointless.
//!
//! `tests/oracle/cel` records what Kubernetes' own library makes of some thousands of expressions, and `oracle` compares
//! results, the texts of errors, and costs. What differs, on purpose:
//!
//! - Maps are visited in the order of their keys. Go visits them in no order, so where it matters any order is right.
//! - Where Kubernetes' cost tracking panics on an argument that is an error itself, the error is told instead.
//! - `message` says what is different about the messages of protocol buffers.

mod ast;
mod check;
mod cost;
mod error;
mod escape;
mod eval;
mod functions;
mod go;
mod library;
mod macros;
mod message;
#[cfg(test)]
mod oracle;
mod parse;
mod plan;
mod price;
mod program;
mod rules;
mod time;
mod types;
mod value;

pub use cost::{OBJECT_BUDGET, OBJECT_WORK, PER_CALL_LIMIT};
pub use error::EvalError;
pub use escape::{escape, unescape};
pub use library::Environment;
pub use parse::ParseError;
pub use program::{CompileError, Evaluation, Program};
pub use rules::RuleError;
pub(crate) use rules::Rules;
pub use time::{Duration, Timestamp};
pub use types::{ObjectType, Type};
pub use value::{List, Map, Text, Value};
