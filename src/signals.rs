//! What ends the program from outside.

use tokio::signal::unix::{SignalKind, signal};

/// Completes at the first SIGTERM or SIGINT (Ctrl-C).
pub(crate) async fn shutdown() -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
