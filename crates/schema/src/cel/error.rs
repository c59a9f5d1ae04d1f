//! What stops an evaluation.

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// A CEL error value, in cel-go's words: `no such key: x`, `division by zero`, …
    ///
    /// `&&`, `||` and the macros built on them absorb it; everything else hands it on.
    #[error("{0}")]
    Failed(Box<str>),
    /// The expression cost more than its limit allows. Nothing absorbs it.
    #[error("operation cancelled: actual cost limit exceeded")]
    CostLimit,
    /// The steps that Kubernetes does not charge for ([`OBJECT_WORK`](super::OBJECT_WORK)) are used up. Nothing absorbs
    /// it.
    #[error("operation cancelled: too many steps")]
    WorkLimit,
}

impl EvalError {
    /// A CEL error value.
    pub(crate) fn failed(message: impl Into<Box<str>>) -> Self {
        Self::Failed(message.into())
    }

    /// cel-go's error for arguments that no overload takes.
    pub(crate) fn no_such_overload() -> Self {
        Self::failed("no such overload")
    }

    /// Whether the evaluation is over, rather than this value an error.
    pub(crate) fn is_final(&self) -> bool {
        !matches!(self, Self::Failed(_))
    }
}

/// A value or the error in its place.
pub(crate) type Outcome<T> = Result<T, EvalError>;
