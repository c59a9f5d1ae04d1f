//! The log: standard error, as text or JSON, without the content of objects.

use std::io::{IsTerminal, Write as _, stderr};
use std::str::FromStr;

use tracing_subscriber::EnvFilter;

use crate::cli::{LogFormat, LoggingArgs};

/// What is left out unless `--log-level` names it. kube's client logs each failed request as an error, where whoever
/// asked knows better what it means, and says it in a line of its own.
const QUIET: &str = "kube_client=off";

/// The levels, as `--log-level` takes them.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Starts logging.
pub(crate) fn init(args: &LoggingArgs) {
    let builder = tracing_subscriber::fmt()
        .with_writer(stderr)
        // It would say so on standard error, which is what failed, and panic there.
        .log_internal_errors(false)
        .with_env_filter(args.log_level.filter())
        .with_ansi(stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()));
    match args.log_format {
        LogFormat::Text => builder.init(),
        LogFormat::Json => builder.json().flatten_event(true).init(),
    }
}

/// What to log: a level, or directives of `EnvFilter`.
#[derive(Clone, Debug)]
pub(crate) struct LogLevel(String);

/// Not a level, nor directives.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LogLevelInvalid {
    /// A word that is no level. `EnvFilter` would take it for a target, and log nothing else.
    #[error("{0:?} is none of {levels}", levels = LEVELS.join(", "))]
    Word(String),
    /// A directive that cannot be read.
    #[error(transparent)]
    Directive(#[from] tracing_subscriber::filter::ParseError),
}

impl FromStr for LogLevel {
    type Err = LogLevelInvalid;

    fn from_str(directives: &str) -> Result<Self, Self::Err> {
        for directive in directives.split(',') {
            let is_word = !directive.contains(['=', '[']);
            if is_word && !LEVELS.iter().any(|level| level.eq_ignore_ascii_case(directive)) {
                return Err(LogLevelInvalid::Word(directive.to_owned()));
            }
        }
        EnvFilter::try_new(directives)?;
        Ok(Self(directives.to_owned()))
    }
}

impl LogLevel {
    /// Of two directives for one target, the later counts.
    fn filter(&self) -> EnvFilter {
        EnvFilter::new(format!("{QUIET},{}", self.0))
    }
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
            let filter = directives.parse::<LogLevel>().unwrap().filter().to_string();
            assert_eq!(
                filter
                    .split(',')
                    .filter(|part| part.contains("kube"))
                    .collect::<Vec<_>>(),
                [kube]
            );
        }
    }

    #[test]
    fn what_is_no_level_is_refused() {
        for directives in ["", "inof", "WARNING", "info,garbage", "info,=", "debug=x", "info,"] {
            assert!(directives.parse::<LogLevel>().is_err(), "{directives:?}");
        }
        for directives in ["WARN", "off", "info,ephemeral_index=debug", "ephemeral_index=off"] {
            assert!(directives.parse::<LogLevel>().is_ok(), "{directives:?}");
        }
    }
}
