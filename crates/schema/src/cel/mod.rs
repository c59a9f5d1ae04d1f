//! Validation rules, `x-kubernetes-validations`, as the API server runs them.

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
pub use types::{ObjectType, Type};
pub use value::{List, Map, Text, Value};
