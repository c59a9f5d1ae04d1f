//! The log: standard error, as text or JSON, without the content of objects.

use std::io::{IsTerminal, Write as _, stderr};

use tracing_subscriber::EnvFilter;

use crate::cli::{LogFormat, LoggingArgs};

/// kube logs each failed request as an error, whatever its caller makes of it; what matters of that is logged there.
const QUIET: &str = "kube_client::client::builder=off";

/// Starts logging. A filter that cannot be read is reported and replaced by `info`: logging less than asked for must
/// not keep the server from running.
pub(crate) fn init(args: &LoggingArgs) {
    let filter = EnvFilter::try_new(format!("{QUIET},{}", args.log_level));
    let refused = filter.as_ref().err().map(ToString::to_string);
    let builder = tracing_subscriber::fmt()
        .with_writer(stderr)
        .with_env_filter(filter.unwrap_or_else(|_| EnvFilter::new(format!("{QUIET},info"))))
        .with_ansi(stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()));
    match args.log_format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
    if let Some(error) = refused {
        tracing::warn!(
            directives = args.log_level,
            error,
            "cannot read the log level, using info"
        );
    }
}

/// Says in one line why the program ends.
pub(crate) fn fatal(error: &anyhow::Error) {
    // Nothing is left to be done where even standard error is closed.
    let _ = writeln!(stderr(), "kcp-ephemeral: {error:#}");
}
