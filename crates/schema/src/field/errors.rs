//! The errors of one object, of which so many are kept as a person may read.

use std::ops::Deref;

use super::{BadValue, Error};

/// Errors of one object that are kept, bytes of text and values. Each stands twice in an answer, and a small object can
/// have more of them than memory holds: a thousand rules may quote the same long string. Kubernetes tells them all.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Field errors in the order in which they were found. The first is always kept, and of the others as many as take
/// some MiB; those beyond are not told.
///
/// ```
/// use structural_schema::field::{Error, Errors, Path};
///
/// let mut errors = Errors::new();
/// errors.push(Error::required(&Path::root().child("spec"), ""));
/// assert_eq!(errors[0].to_string(), "spec: Required value");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Errors {
    kept: Vec<Error>,
    bytes: usize,
    is_full: bool,
}

impl Errors {
    /// None.
    pub const fn new() -> Self {
        Self {
            kept: Vec::new(),
            bytes: 0,
            is_full: false,
        }
    }

    /// Adds an error, unless there are too many already.
    pub fn push(&mut self, error: Error) {
        let bytes = self.bytes.saturating_add(size(&error));
        self.is_full |= bytes > MAX_BYTES && !self.kept.is_empty();
        if !self.is_full {
            self.bytes = bytes;
            self.kept.push(error);
        }
    }

    /// Whether nothing more is kept, so that looking for more is of no use.
    pub const fn is_full(&self) -> bool {
        self.is_full
    }

    /// Keeps those that `keep` says.
    pub fn retain(&mut self, keep: impl FnMut(&Error) -> bool) {
        self.kept.retain(keep);
    }

    /// What was kept.
    pub fn into_vec(self) -> Vec<Error> {
        self.kept
    }
}

impl Deref for Errors {
    type Target = [Error];

    fn deref(&self) -> &[Error] {
        &self.kept
    }
}

impl Extend<Error> for Errors {
    fn extend<I: IntoIterator<Item = Error>>(&mut self, errors: I) {
        for error in errors {
            self.push(error);
            if self.is_full {
                return;
            }
        }
    }
}

/// Bytes that an error takes, and about as many as it takes to tell it.
fn size(error: &Error) -> usize {
    let value = match &error.bad_value {
        BadValue::Omitted => 0,
        BadValue::Value(value) => value.memory(),
        BadValue::Json(json) => json.len(),
    };
    size_of::<Error>() + error.field.len() + error.detail.len() + value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Path;

    fn error(length: usize) -> Error {
        Error::invalid(&Path::root(), "x".repeat(length), "no")
    }

    #[test]
    fn the_first_is_kept_whole_and_of_the_others_what_fits() {
        let mut errors = Errors::new();
        errors.push(error(2 * MAX_BYTES));
        assert_eq!((errors.len(), errors.is_full()), (1, false));
        errors.push(error(1));
        assert_eq!((errors.len(), errors.is_full()), (1, true));

        let mut errors = Errors::new();
        errors.extend(std::iter::repeat_with(|| error(MAX_BYTES / 4)));
        assert_eq!((errors.len(), errors.is_full()), (3, true));
        errors.push(error(1));
        assert_eq!(
            errors.len(),
            3,
            "what was left out once is not skipped for something smaller"
        );
    }
}
