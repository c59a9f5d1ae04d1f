//! Errors in words.

/// An error and its causes in one line. Some errors tell their cause themselves; it is not said again.
pub(crate) fn one_line(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |line, cause| {
        let cause = cause.to_string();
        if line.ends_with(&cause) {
            line
        } else {
            format!("{line}: {cause}")
        }
    })
}
