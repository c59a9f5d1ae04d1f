//! What a walk has found: kube-openapi's `validate.Result`.

use std::collections::HashSet;

use crate::field::{BadValue, Error, ErrorKind, Path};
use crate::value::Value;

/// Errors of one walk, as text and values, that are kept, bytes. A small object can break a schema in more ways than
/// memory holds; the walk ends at the first error beyond. Of each alternative (`anyOf`, `oneOf`) there are some, of which
/// only the best are told, so that this is more than the text that [`Errors`](crate::field::Errors) keeps.
const ERROR_BYTES: usize = 8 << 20;
/// Schemas that one walk applies to values before it gives up: some seconds' work.
const STEPS: u64 = 50_000_000;

/// The errors of a schema and how well it matched.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    failures: Vec<Failure>,
    /// How many validators were satisfied, roughly; `anyOf` and `oneOf` tell the errors of the best match.
    pub(super) matches: u64,
}

impl Outcome {
    pub(super) fn is_valid(&self) -> bool {
        self.failures.is_empty()
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.failures.extend(other.failures);
        self.matches += other.matches;
    }

    /// The field errors, each message once.
    pub(super) fn into_errors(self) -> impl Iterator<Item = Error> {
        let mut seen = HashSet::new();
        self.failures
            .into_iter()
            .filter_map(move |failure| seen.insert(failure.message).then_some(failure.error))
    }
}

/// An error of kube-openapi, and what the API server makes of it.
#[derive(Debug)]
struct Failure {
    /// kube-openapi's message, by which repeated errors are told apart.
    message: String,
    error: Error,
}

/// What is left to one walk.
#[derive(Debug)]
pub(super) struct Limits {
    bytes: usize,
    steps: u64,
    omitted: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: ERROR_BYTES,
            steps: STEPS,
            omitted: 0,
        }
    }
}

impl Limits {
    /// Takes a step, unless nothing is left.
    pub(super) fn step(&mut self, cost: u64) -> bool {
        self.steps = self.steps.saturating_sub(cost);
        self.steps > 0 && self.bytes > 0
    }

    /// Whether the walk ended because it took too long, not because of its errors.
    pub(super) fn out_of_steps(&self) -> bool {
        self.steps == 0
    }

    /// The errors that were found and not kept; with the first of them the walk ends.
    pub(super) fn omitted(&self) -> usize {
        self.omitted
    }

    /// Adds an error with the message as its detail.
    pub(super) fn fail(&mut self, out: &mut Outcome, kind: ErrorKind, path: &Path<'_>, value: &Value, message: String) {
        let detail = message.clone();
        self.push(out, message, path, kind, value, detail);
    }

    /// Adds an error without a field: what kube-openapi reports as plain text.
    pub(super) fn fail_whole(&mut self, out: &mut Outcome, message: String) {
        self.push(
            out,
            message.clone(),
            &Path::root(),
            ErrorKind::Invalid,
            &Value::from(""),
            message,
        );
    }

    /// Adds an error whose detail is not kube-openapi's message.
    pub(super) fn push(
        &mut self,
        out: &mut Outcome,
        message: String,
        path: &Path<'_>,
        kind: ErrorKind,
        value: &Value,
        detail: String,
    ) {
        let field = match path.joined() {
            dotted if dotted.is_empty() => path.to_string(),
            dotted => dotted,
        };
        let size = message.len() + field.len() + detail.len() + size_of::<Failure>() + value.memory();
        // The first error is always told.
        if self.bytes == 0 || (size > self.bytes && !out.failures.is_empty()) {
            self.bytes = 0;
            self.omitted += 1;
            return;
        }
        self.bytes = self.bytes.saturating_sub(size);
        out.failures.push(Failure {
            message,
            error: Error {
                kind,
                field,
                bad_value: BadValue::Value(value.clone()),
                detail,
            },
        });
    }
}
