//! What commands answer, on standard output.

use std::io::{ErrorKind, Write as _};

use anyhow::{Context as _, Result};

/// Prints a text. Colours in it are for terminals, and not where `NO_COLOR` is set.
pub(crate) fn print(text: &str) -> Result<()> {
    match anstream::stdout().write_all(text.as_bytes()) {
        // A reader that has seen enough, such as `head`, is no failure.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("cannot write to standard output"),
        _ => Ok(()),
    }
}
