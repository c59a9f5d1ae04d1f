//! Compiled expressions.

use super::ast::Ast;
use super::check::check;
use super::cost::Meter;
use super::error::{EvalError, Outcome};
use super::eval::evaluate;
use super::library::Environment;
use super::parse::{ParseError, parse};
use super::plan::{Plan, plan};
use super::types::Type;
use super::value::Value;
use crate::regexp::Patterns;

/// Why an expression cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The text is no expression.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// Something in it is not declared, or does not fit.
    #[error("{}", .0.join("; "))]
    Check(Vec<String>),
    /// It has another type than the one asked for.
    #[error("expression must evaluate to a {wanted}, and evaluates to {found}")]
    Output {
        /// The type that was asked for.
        wanted: String,
        /// The type that the expression has.
        found: String,
    },
    /// A constant in it cannot be converted, or is no pattern.
    #[error("program instantiation failed: {0}")]
    Plan(String),
}

/// A compiled expression.
#[derive(Debug)]
pub struct Program {
    plan: Plan,
    uses: Vec<bool>,
}

/// What came of evaluating an expression.
#[derive(Debug)]
pub struct Evaluation<'a> {
    /// The value, or why there is none.
    pub result: Result<Value<'a>, EvalError>,
    /// What was charged; more than the limit when that was exceeded.
    pub cost: u64,
    /// Uncharged steps that are left.
    pub work: u64,
}

impl Program {
    /// Compiles an expression over declared variables, which must evaluate to a type.
    pub fn compile(
        environment: &Environment,
        source: &str,
        variables: &[(&str, Type)],
        output: &Type,
    ) -> Result<Self, CompileError> {
        Self::compile_with(environment, source, variables, output, &mut Patterns::default())
    }

    /// The same for one of many expressions, whose constant patterns are bounded together.
    pub(crate) fn compile_with(
        environment: &Environment,
        source: &str,
        variables: &[(&str, Type)],
        output: &Type,
        patterns: &mut Patterns,
    ) -> Result<Self, CompileError> {
        Self::compile_if(environment, source, variables, patterns, |found| {
            if found.is(output) {
                return Ok(());
            }
            Err(CompileError::Output {
                wanted: output.to_string(),
                found: found.to_string(),
            })
        })
    }

    /// Compiles an expression of any type.
    #[cfg(test)]
    pub(super) fn compile_any(
        environment: &Environment,
        source: &str,
        variables: &[(&str, Type)],
    ) -> Result<Self, CompileError> {
        Self::compile_if(environment, source, variables, &mut Patterns::default(), |_| Ok(()))
    }

    fn compile_if(
        environment: &Environment,
        source: &str,
        variables: &[(&str, Type)],
        patterns: &mut Patterns,
        accept: impl FnOnce(&Type) -> Result<(), CompileError>,
    ) -> Result<Self, CompileError> {
        let ast: Ast = parse(source)?;
        let checked = check(&ast, environment, variables).map_err(CompileError::Check)?;
        accept(checked.ty(ast.root()))?;
        let names: Vec<_> = variables.iter().map(|(name, _)| *name).collect();
        let uses = names.iter().map(|name| checked.uses(name)).collect();
        let plan = plan(&ast, &checked, &names, patterns).map_err(CompileError::Plan)?;
        Ok(Self { plan, uses })
    }

    /// Whether the expression mentions the variable at a place.
    pub fn uses(&self, place: usize) -> bool {
        self.uses.get(place).copied().unwrap_or(false)
    }

    /// Whether evaluating may take long: it loops, or calls functions whose cost grows with their arguments.
    pub fn is_costly(&self) -> bool {
        self.plan.is_costly()
    }

    /// Evaluates the expression over the variables' values, in the order of their declaration.
    ///
    /// `limit` is what it may cost, in Kubernetes' units; `work` what it may do beyond what those charge for.
    pub fn evaluate<'a>(&'a self, variables: &[Option<Outcome<Value<'a>>>], limit: u64, work: u64) -> Evaluation<'a> {
        let mut meter = Meter::new(limit, work);
        let result = evaluate(&self.plan, variables, &mut meter);
        Evaluation {
            result,
            cost: meter.cost(),
            work: meter.remaining_work(),
        }
    }
}
