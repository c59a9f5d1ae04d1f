//! Evaluation of rules on an object: `Validator.validate` of the apiextensions API server.

use super::rule::{OLD_SELF, Rule, SELF};
use super::{Budget, Place};
use crate::cel::cost::PER_CALL_LIMIT;
use crate::cel::error::EvalError;
use crate::cel::program::{Evaluation, Program};
use crate::cel::value::{Kind, Map as CelMap, Value as CelValue, read};
use crate::field::{self, BadValue, Path};
use crate::value::{Map, Value, deeper};

/// Bytes that a message which an expression makes may have: `MaxEvaluatedMessageExpressionSizeBytes`.
const MAX_MESSAGE: usize = 5 * 1024;

/// No further rules are evaluated: the budget of the object is used up.
pub(super) struct Exhausted;

/// A variable of an evaluation, if it has a value.
type Variable<'a> = Option<Result<CelValue<'a>, EvalError>>;

impl Place {
    /// Evaluates the rules of an object and of what it holds.
    pub(super) fn validate_object(
        &self,
        fields: &Map,
        path: &Path<'_>,
        budget: &mut Budget,
        errors: &mut field::Errors,
    ) -> Result<(), Exhausted> {
        deeper(|| {
            let this = Ok(CelValue::Map(CelMap::data(fields, &self.shape)));
            self.validate_rules(&this, &BadValue::Omitted, path, budget, errors)?;
            for place in &self.all_of {
                place.validate_object(fields, path, budget, errors)?;
            }
            if let Some(place) = &self.additional {
                for (name, value) in fields.iter() {
                    place.validate(value, &path.key(name), budget, errors)?;
                }
            }
            for (name, place) in &self.properties {
                if let Some(value) = fields.get(name) {
                    place.validate(value, &path.child(name), budget, errors)?;
                }
            }
            Ok(())
        })
    }

    /// Evaluates the rules of a value and of what it holds.
    fn validate(
        &self,
        value: &Value,
        path: &Path<'_>,
        budget: &mut Budget,
        errors: &mut field::Errors,
    ) -> Result<(), Exhausted> {
        let shown = match value {
            // Whether a null is right is for the rules above it to say.
            Value::Null => return Ok(()),
            Value::Object(fields) if self.is_object() => return self.validate_object(fields, path, budget, errors),
            Value::Object(_) | Value::Array(_) => BadValue::Omitted,
            scalar => BadValue::Value(scalar.clone()),
        };
        deeper(|| {
            self.validate_rules(&read(value, &self.shape), &shown, path, budget, errors)?;
            for place in &self.all_of {
                place.validate(value, path, budget, errors)?;
            }
            if let (Value::Array(items), Some(place)) = (value, &self.items) {
                for (i, item) in items.iter().enumerate() {
                    place.validate(item, &path.index(i), budget, errors)?;
                }
            }
            Ok(())
        })
    }

    fn is_object(&self) -> bool {
        matches!(self.shape.kind, Kind::Object(_) | Kind::Map(_) | Kind::Opaque)
    }

    fn validate_rules<'v>(
        &'v self,
        this: &Result<CelValue<'v>, EvalError>,
        shown: &BadValue,
        path: &Path<'_>,
        budget: &mut Budget,
        errors: &mut field::Errors,
    ) -> Result<(), Exhausted> {
        if self.rules.is_empty() {
            return Ok(());
        }
        if budget.cost == 0 {
            errors.push(self.out_of_budget(path));
            return Err(Exhausted);
        }
        for rule in self.rules.iter().filter(|rule| !rule.is_transition()) {
            let mut variables: [Variable<'_>; 2] = [None, None];
            variables[SELF] = Some(this.clone());
            if rule.optional_old_self {
                variables[OLD_SELF] = Some(Ok(CelValue::Optional(None)));
            }
            let evaluation = evaluate(&rule.program, &variables, budget);
            if !budget.spend(&evaluation) {
                errors.push(self.out_of_budget(path));
                return Err(Exhausted);
            }
            match evaluation.result {
                Ok(CelValue::Bool(true)) => {}
                Ok(_) => {
                    // The message sees no `oldSelf`, not even an empty one.
                    variables[OLD_SELF] = None;
                    let message = self.message(rule, &variables, path, budget, errors)?;
                    errors.push(rule.failure(path, shown.clone(), message));
                    if errors.is_full() {
                        return Err(Exhausted);
                    }
                }
                Err(error) => self.report(&error, rule, path, errors)?,
            }
        }
        Ok(())
    }

    fn out_of_budget(&self, path: &Path<'_>) -> field::Error {
        field::Error::invalid(
            path,
            self.type_name,
            "validation failed due to running out of cost budget, no further validation rules will be run",
        )
    }

    /// Tells why a rule has no value.
    fn report(
        &self,
        error: &EvalError,
        rule: &Rule,
        path: &Path<'_>,
        errors: &mut field::Errors,
    ) -> Result<(), Exhausted> {
        let name = &rule.name;
        let detail = match error {
            EvalError::Failed(message) if message.starts_with("no such overload") => format!(
                "'{error}': call arguments did not match a supported operator, function or macro signature for rule: \
                 {name}"
            ),
            EvalError::Failed(message) => format!("{message} evaluating rule: {name}"),
            EvalError::CostLimit | EvalError::WorkLimit => format!(
                "'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {name}"
            ),
        };
        errors.push(field::Error::invalid(path, self.type_name, detail));
        if error.is_final() { Err(Exhausted) } else { Ok(()) }
    }

    /// The message of a failure: what the rule's expression for it gives, or its fixed text.
    fn message(
        &self,
        rule: &Rule,
        variables: &[Variable<'_>],
        path: &Path<'_>,
        budget: &mut Budget,
        errors: &mut field::Errors,
    ) -> Result<String, Exhausted> {
        let Some(expression) = &rule.message_expression else {
            return Ok(rule.fallback_message());
        };
        let evaluation = evaluate(expression, variables, budget);
        let detail = if budget.spend(&evaluation) {
            match evaluation.result {
                Ok(message) => return Ok(usable(&message).unwrap_or_else(|| rule.fallback_message())),
                Err(EvalError::Failed(_)) => return Ok(rule.fallback_message()),
                Err(EvalError::CostLimit | EvalError::WorkLimit) => format!(
                    "no further validation rules will be run due to call cost exceeds limit for messageExpression: {}",
                    crate::go::quote(&rule.message_source)
                ),
            }
        } else {
            "messageExpression evaluation failed due to running out of cost budget, no further validation rules will \
             be run"
                .to_owned()
        };
        errors.push(rule.failure_of_message(path, self.type_name, detail));
        Err(Exhausted)
    }
}

/// The message, if it is one: a text of one line, neither empty nor too long.
fn usable(message: &CelValue<'_>) -> Option<String> {
    let CelValue::String(text) = message else {
        return None;
    };
    let text = text.as_str().trim();
    (!text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n')).then(|| text.to_owned())
}

fn evaluate<'a>(program: &'a Program, variables: &[Variable<'a>], budget: &Budget) -> Evaluation<'a> {
    program.evaluate(variables, PER_CALL_LIMIT, budget.work)
}

impl Budget {
    /// Takes what an evaluation cost; false when there is not so much left.
    fn spend(&mut self, evaluation: &Evaluation<'_>) -> bool {
        self.work = evaluation.work;
        match self.cost.checked_sub(evaluation.cost) {
            Some(rest) if !matches!(evaluation.result, Err(EvalError::WorkLimit)) => {
                self.cost = rest;
                true
            }
            _ => false,
        }
    }
}
