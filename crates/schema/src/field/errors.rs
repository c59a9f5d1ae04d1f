//! The errors of one object, bounded.

use std::collections::HashSet;
use std::ops::Deref;

use super::Error;

/// Text of errors that are kept, bytes: a third more than the largest body (3 MiB), so that each of its values can be
/// told once, with what is said around them.
const KEPT_BYTES: usize = 4 << 20;

/// Field errors in the order in which they were found.
///
/// Kubernetes has no such limit: there, a megabyte of labels that are none makes a hundred megabytes of errors, and each
/// level of an object may quote all that is below it. Here errors are kept until their text is some megabytes, the first
/// of them whatever its size; from then on they are counted, and not even made.
///
/// ```
/// use structural_schema::field::{Error, Errors, Path};
///
/// let mut errors = Errors::new();
/// errors.push(Error::required(&Path::root().child("spec"), ""));
/// assert_eq!(errors.aggregate(), "spec: Required value");
/// assert_eq!(errors.omitted(), 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Errors {
    kept: Vec<Error>,
    bytes: usize,
    omitted: usize,
}

impl Errors {
    /// No errors yet.
    pub const fn new() -> Self {
        Self {
            kept: Vec::new(),
            bytes: 0,
            omitted: 0,
        }
    }

    /// Adds an error.
    pub fn push(&mut self, error: Error) {
        self.push_with(|| error);
    }

    /// Adds an error that is made only if it is kept. Whoever quotes a value, or tells a path of keys that may be long,
    /// must add the error this way: as many copies as there are errors would take quadratic time.
    pub fn push_with(&mut self, error: impl FnOnce() -> Error) {
        if self.is_full() {
            self.omit(1);
            return;
        }
        let error = error();
        let bytes = size_of::<Error>() + error.field.len() + error.body().len();
        if self.bytes + bytes > KEPT_BYTES && !self.kept.is_empty() {
            self.omit(1);
            return;
        }
        self.bytes += bytes;
        self.kept.push(error);
    }

    /// Counts errors that nobody has made.
    pub fn omit(&mut self, count: usize) {
        self.omitted = self.omitted.saturating_add(count);
    }

    /// Whether further errors are only counted.
    pub const fn is_full(&self) -> bool {
        self.omitted > 0
    }

    /// How many errors are not kept, at least: a search that has found too many may have ended.
    pub const fn omitted(&self) -> usize {
        self.omitted
    }

    /// Whether nothing is wrong.
    pub const fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.omitted == 0
    }

    /// Forgets the errors that are among `excused` too.
    pub fn excuse(&mut self, excused: &Self) {
        let texts: HashSet<_> = excused.iter().map(ToString::to_string).collect();
        self.kept.retain(|error| !texts.contains(&error.to_string()));
    }

    /// All errors in one line, as `NewInvalid` tells them: each message once, several in brackets, and how many more
    /// there are.
    pub fn aggregate(&self) -> String {
        let messages: Vec<_> = self.kept.iter().map(ToString::to_string).collect();
        let mut seen = HashSet::new();
        let mut told: Vec<_> = messages
            .iter()
            .map(String::as_str)
            .filter(|message| seen.insert(*message))
            .collect();
        let more;
        if self.omitted > 0 {
            more = format!("and at least {} more", self.omitted);
            told.push(&more);
        }
        match *told.as_slice() {
            [] => String::new(),
            [one] => one.to_owned(),
            ref several => format!("[{}]", several.join(", ")),
        }
    }
}

/// Those that are kept.
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
        }
    }
}

impl FromIterator<Error> for Errors {
    fn from_iter<I: IntoIterator<Item = Error>>(errors: I) -> Self {
        let mut all = Self::new();
        all.extend(errors);
        all
    }
}

impl From<Error> for Errors {
    fn from(error: Error) -> Self {
        Self::from_iter([error])
    }
}

impl<'a> IntoIterator for &'a Errors {
    type Item = &'a Error;
    type IntoIter = std::slice::Iter<'a, Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.kept.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Path;

    fn required(field: &str) -> Error {
        Error::required(&Path::root().child(field), "")
    }

    #[test]
    fn an_aggregate_tells_each_message_once() {
        let of = |fields: &[&str]| fields.iter().copied().map(required).collect::<Errors>().aggregate();
        assert_eq!(of(&[]), "");
        assert_eq!(of(&["a", "a"]), "a: Required value");
        assert_eq!(of(&["a", "b", "a"]), "[a: Required value, b: Required value]");
    }

    #[test]
    fn the_first_error_is_kept_and_what_is_too_much_is_counted() {
        let long = "x".repeat(2 * KEPT_BYTES);
        let mut errors = Errors::from(required(&long));
        assert_eq!((errors.len(), errors.omitted()), (1, 0));
        errors.push(required("a"));
        errors.push_with(|| unreachable!("nobody would see it"));
        assert_eq!((errors.len(), errors.omitted()), (1, 2));
        let aggregate = errors.aggregate();
        assert!(aggregate.starts_with("[xxx") && aggregate.ends_with("x: Required value, and at least 2 more]"));
    }

    #[test]
    fn each_value_of_the_largest_body_can_be_told() {
        let piece = "x".repeat(1 << 20);
        let errors: Errors = ["a", "b", "c"]
            .into_iter()
            .map(|field| Error::invalid(&Path::root().child(field), &*piece, "no"))
            .collect();
        assert_eq!((errors.len(), errors.omitted()), (3, 0));
    }

    #[test]
    fn small_errors_without_number_take_little_memory() {
        let errors: Errors = (0..1_000_000).map(|_| required("a")).collect();
        assert_eq!(errors.len() + errors.omitted(), 1_000_000);
        assert!(errors.len() * size_of::<Error>() <= KEPT_BYTES, "{}", errors.len());
    }

    #[test]
    fn excuses_are_for_what_is_kept() {
        let mut errors: Errors = ["a", "b"].into_iter().map(required).collect();
        errors.excuse(&Errors::from(required("a")));
        assert_eq!(errors.aggregate(), "b: Required value");
        errors.excuse(&Errors::from(required("b")));
        assert!(errors.is_empty());
        errors.omit(1);
        assert!(!errors.is_empty());
    }
}
