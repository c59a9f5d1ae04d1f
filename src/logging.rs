//! The log: standard error, as text or JSON, without the content of objects.

use std::io::{IsTerminal, Write as _, stderr};

use tracing_subscriber::EnvFilter;

use crate::cli::{LogFormat, LoggingArgs};

/// What is left out unless `--log-level` names it. kube's client logs each failed request as an error, where whoever
/// asked knows better what it means, and says it in a line of its own.
const QUIET: &str = "kube_client=off";

/// Starts logging. A filter that cannot be read is reported and replaced by `info`: logging less than asked for must
/// not keep the server from running.
pub(crate) fn init(args: &LoggingArgs) {
    let filter = filter(&args.log_level);
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

/// Of two directives for one target, the later counts.
fn filter(directives: &str) -> Result<EnvFilter, tracing_subscriber::filter::ParseError> {
    EnvFilter::try_new(format!("{QUIET},{directives}"))
}

/// Says in one line why the program ends.
pub(crate) fn fatal(error: &anyhow::Error) {
    // Nothing is left to be done where even standard error is closed.
    let _ = writeln!(stderr(), "kcp-ephemeral: {error:#}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noise_of_libraries_is_left_out_unless_it_is_asked_for() {
        for (directives, kube) in [
            ("info", "kube_client=off"),
            ("debug", "kube_client=off"),
            ("info,kube_client=debug", "kube_client=debug"),
        ] {
            let filter = filter(directives).unwrap().to_string();
            assert_eq!(
                filter
                    .split(',')
                    .filter(|part| part.contains("kube"))
                    .collect::<Vec<_>>(),
                [kube]
            );
        }
        assert!(filter("info,=").is_err());
    }
}
