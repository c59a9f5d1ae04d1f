//! What ends the program from outside.

use tokio::signal::unix::{SignalKind, signal};

/// Catches SIGTERM and SIGINT (Ctrl-C) from now on; what is returned completes at the first of them.
///
/// Called first of all: a signal that comes before it would end the program at once.
pub(crate) fn shutdown() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
