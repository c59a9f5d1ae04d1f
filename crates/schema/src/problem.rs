//! Why a schema cannot be used.

use std::fmt;

use crate::cel;
use crate::field::{self, Path};
use crate::regexp;

/// One fault of a schema document.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Where in the document, in Kubernetes' notation: `openAPIV3Schema.properties[spec].pattern`.
    pub path: String,
    /// What is wrong there.
    pub reason: Reason,
}

/// What is wrong with a schema document.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// A keyword holds a value of the wrong JSON type.
    #[error("must be {expected}")]
    WrongType {
        /// What it must hold.
        expected: &'static str,
    },
    /// Kubernetes refuses the schema (`ValidateStructural`, `ValidateCustomResourceDefinitionOpenAPISchema`).
    #[error("{0}")]
    NotStructural(String),
    /// The pattern is none of Go's, or too large.
    #[error("must be a valid regular expression, but isn't: {0}")]
    Pattern(#[source] regexp::Error),
    /// All patterns of the schema together take more memory than a schema may.
    #[error("the patterns of the schema are too large")]
    PatternsTooLarge,
    /// A rule (`x-kubernetes-validations`) cannot be used.
    #[error("{0}")]
    Rule(#[source] cel::RuleError),
    /// The default does not satisfy the schema it is part of.
    #[error("the default is invalid: {}", .0.aggregate())]
    InvalidDefault(field::Errors),
    /// The schema nests deeper, or has more parts, than this crate takes.
    #[error("the schema must have at most {limit} {of}")]
    TooLarge {
        /// The most that is taken.
        limit: usize,
        /// Of what.
        of: &'static str,
    },
}

impl Problem {
    pub(crate) fn new(path: &Path<'_>, reason: Reason) -> Self {
        Self {
            path: path.to_string(),
            reason,
        }
    }

    pub(crate) fn not_structural(path: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(path, Reason::NotStructural(detail.into()))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}

impl std::error::Error for Problem {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.reason)
    }
}
