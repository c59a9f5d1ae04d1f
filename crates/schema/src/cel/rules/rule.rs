//! One rule: its texts and its compiled expressions.

use crate::cel::library::Environment;
use crate::cel::program::{CompileError, Program};
use crate::cel::types::Type;
use crate::field::{self, BadValue, ErrorKind, Path};
use crate::node::Node;
use crate::regexp::Patterns;
use crate::value::{Map, Value};

use super::field_path;

/// The place of `self` among a rule's variables.
pub(super) const SELF: usize = 0;
/// The place of `oldSelf` among a rule's variables.
pub(super) const OLD_SELF: usize = 1;

/// What is wrong with a rule.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// The rule says nothing, or what it says is of the wrong kind.
    #[error("{0}")]
    Malformed(&'static str),
    /// Expressions can say nothing about the place of the rule.
    #[error("failed to convert to declType for CEL validation rules")]
    NoType,
    /// The rule cannot be compiled.
    #[error("rule compile error: compilation failed: {0}")]
    Rule(#[source] CompileError),
    /// The `messageExpression` cannot be compiled.
    #[error("messageExpression compilation failed: {0}")]
    Message(#[source] CompileError),
    /// The `fieldPath` leads nowhere.
    #[error("fieldPath is invalid: {0}")]
    FieldPath(String),
    /// A rule or message is longer than all of a schema's may be.
    #[error("the rules of the schema are too large")]
    TooLarge,
}

/// A rule that can be evaluated.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) program: Program,
    /// What errors call the rule: its message, or its text.
    pub(super) name: Box<str>,
    message: Option<Box<str>>,
    pub(super) message_expression: Option<Program>,
    pub(super) message_source: Box<str>,
    reason: ErrorKind,
    field_path: Option<Box<str>>,
    pub(super) optional_old_self: bool,
}

impl Rule {
    /// Compiles a rule for values of a type.
    pub(super) fn compile(
        environment: &Environment,
        fields: &Map,
        ty: &Type,
        node: &Node,
        patterns: &mut Patterns,
    ) -> Result<Self, Vec<RuleError>> {
        let text = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => Ok(""),
            Some(Value::String(text)) => Ok(&**text),
            Some(_) => Err(vec![RuleError::Malformed("must be a string")]),
        };
        let (source, message) = (text("rule")?, text("message")?.trim());
        if source.trim().is_empty() {
            return Err(vec![RuleError::Malformed("rule is not specified")]);
        }
        let optional_old_self = match fields.get("optionalOldSelf") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(flag)) => *flag,
            Some(_) => return Err(vec![RuleError::Malformed("must be a boolean")]),
        };
        let old = if optional_old_self {
            Type::optional(ty.clone())
        } else {
            ty.clone()
        };
        let variables = [("self", ty.clone()), ("oldSelf", old)];
        let mut errors = Vec::new();
        let program = Program::compile_with(environment, source, &variables, &Type::Bool, patterns);
        let message_source = text("messageExpression")?;
        let message_expression = (!message_source.is_empty())
            .then(|| Program::compile_with(environment, message_source, &variables, &Type::String, patterns))
            .transpose();
        let reason = reason(text("reason")?);
        let field_path = match text("fieldPath")? {
            "" => Ok(None),
            path => field_path::normalize(path, node).map(Some),
        };
        match (program, message_expression, reason, field_path) {
            (Ok(program), Ok(message_expression), Ok(reason), Ok(field_path)) => Ok(Self {
                program,
                name: if message.is_empty() { source.trim() } else { message }.into(),
                message: (!message.is_empty()).then(|| message.into()),
                message_expression,
                message_source: message_source.into(),
                reason,
                field_path: field_path.filter(|path| !path.is_empty()).map(Into::into),
                optional_old_self,
            }),
            (program, message_expression, reason, field_path) => {
                errors.extend(program.err().map(RuleError::Rule));
                errors.extend(message_expression.err().map(RuleError::Message));
                errors.extend(reason.err());
                errors.extend(field_path.err().map(RuleError::FieldPath));
                Err(errors)
            }
        }
    }

    /// Whether the rule compares with the object before an update, which a create does not have.
    pub(super) fn is_transition(&self) -> bool {
        self.program.uses(OLD_SELF) && !self.optional_old_self
    }

    /// The message where there is no expression for it, or none that gives one.
    pub(super) fn fallback_message(&self) -> String {
        match &self.message {
            Some(message) => message.to_string(),
            None => format!("failed rule: {}", self.name),
        }
    }

    /// Whether evaluating the rule may take long.
    pub(super) fn is_costly(&self) -> bool {
        self.program.is_costly() || self.message_expression.as_ref().is_some_and(Program::is_costly)
    }

    /// The place that errors name.
    fn at<R>(&self, path: &Path<'_>, error: impl FnOnce(&Path<'_>) -> R) -> R {
        match &self.field_path {
            Some(field_path) => error(&path.child(field_path)),
            None => error(path),
        }
    }

    /// The error of a message that would cost too much.
    pub(super) fn failure_of_message(&self, path: &Path<'_>, type_name: &str, detail: String) -> field::Error {
        self.at(path, |path| field::Error::invalid(path, type_name, detail))
    }

    /// The error of a value that does not satisfy the rule (`fieldErrorForReason`).
    pub(super) fn failure(&self, path: &Path<'_>, value: BadValue, message: String) -> field::Error {
        self.at(path, |path| match self.reason {
            ErrorKind::Forbidden => field::Error::forbidden(path, message),
            ErrorKind::Required => field::Error::required(path, message),
            ErrorKind::Duplicate => field::Error::duplicate(path, value),
            _ => field::Error::invalid(path, value, message),
        })
    }
}

fn reason(text: &str) -> Result<ErrorKind, RuleError> {
    match text {
        "" | "FieldValueInvalid" => Ok(ErrorKind::Invalid),
        "FieldValueForbidden" => Ok(ErrorKind::Forbidden),
        "FieldValueRequired" => Ok(ErrorKind::Required),
        "FieldValueDuplicate" => Ok(ErrorKind::Duplicate),
        _ => Err(RuleError::Malformed(
            "reason must be FieldValueInvalid, FieldValueForbidden, FieldValueRequired or FieldValueDuplicate",
        )),
    }
}
