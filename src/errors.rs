//! Errors in words.

/// An error and its causes in one line.
pub(crate) fn one_line(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |line, cause| format!("{line}: {cause}"))
}
