use std::fmt;

use crate::json;

/// Why a text is not taken, in the words of go-yaml, of `sigs.k8s.io/yaml` or of Go's `encoding/json`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The text is no YAML, or none that go-yaml takes.
    #[error("yaml: {}{problem}", Line(*.line))]
    Yaml {
        /// The line as go-yaml counts it: off by one for what its parser finds, none for what is on the first line.
        line: Option<usize>,
        /// What is wrong.
        problem: Box<str>,
    },
    /// A mapping has a key that has no form in JSON.
    #[error("unsupported map key of type: {kind}, key: {key}, value: {value}")]
    Key {
        /// The Go type of the key.
        kind: &'static str,
        /// The key in Go syntax.
        key: Box<str>,
        /// The value in Go syntax.
        value: Box<str>,
    },
    /// A number has no form in JSON.
    #[error("json: unsupported value: {0}")]
    Number(&'static str),
    /// The JSON that the text stands for is not taken.
    #[error(transparent)]
    Json(#[from] json::Error),
}

impl Error {
    pub(super) fn at_line(line: usize, problem: impl Into<Box<str>>) -> Self {
        Self::Yaml {
            line: (line != 0).then_some(line),
            problem: problem.into(),
        }
    }

    pub(super) fn without_line(problem: impl Into<Box<str>>) -> Self {
        Self::at_line(0, problem)
    }
}

struct Line(Option<usize>);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(line) => write!(f, "line {line}: "),
            None => Ok(()),
        }
    }
}

/// Mappings name keys more than once. Displays as the one strict error that Kubernetes makes of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("yaml: unmarshal errors:\n  {}", .0.join("\n  "))]
pub struct DuplicateKeys(pub(super) Vec<String>);

impl DuplicateKeys {
    /// One message for each such key (`line 7: key "a" already set in map`), in order.
    pub fn messages(&self) -> &[String] {
        &self.0
    }
}
