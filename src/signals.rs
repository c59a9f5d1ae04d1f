//! What ends the program from outside.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Catches SIGTERM and SIGINT (Ctrl-C) from now on; what is returned completes at the first of them. The second ends
/// the program at once, with exit code 1, whatever is still under way, as `SetupSignalHandler` of `k8s.io/apiserver`.
///
/// Called first of all: a signal that comes before it would end the program at once.
pub(crate) fn shutdown() -> anyhow::Result<impl Future<Output = ()>> {
    let mut signals = Signals {
        terminate: signal(SignalKind::terminate())?,
        interrupt: signal(SignalKind::interrupt())?,
    };
    Ok(async move {
        signals.next().await;
        tracing::info!("shutting down: requests under way are finished; a second signal ends them");
        tokio::spawn(async move {
            signals.next().await;
            tracing::warn!("ended by a second signal");
            std::process::exit(1);
        });
    })
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
