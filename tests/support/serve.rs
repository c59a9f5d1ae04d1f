//! How `serve` is started beside a kcp, fake or real.

use std::path::{Path, PathBuf};

use tokio::process::Command;

/// What differs from one `serve` to another.
pub struct Serve<'a> {
    /// Holds `server`, `webhook-client`, `webhook-client-ca` and `client-ca`.
    pub directory: &'a Path,
    /// The server's own credentials.
    pub kubeconfig: PathBuf,
    /// The workspace of the export.
    pub workspace: &'a str,
    /// The port in the external URL.
    pub external_port: u16,
    /// The port to listen on.
    pub port: u16,
    /// Where webhooks may listen.
    pub webhook_ports: &'a [u16],
}

impl Serve<'_> {
    /// The whole command, whose log goes to standard error.
    pub fn command(self) -> Command {
        let file = |name: &str| self.directory.join(name);
        let mut command = super::command();
        command
            .arg("serve")
            .args(["--export-workspace", self.workspace, "--bind-address", "127.0.0.1"])
            .args(["--external-url", &format!("https://127.0.0.1:{}", self.external_port)])
            .args(["--secure-port", &self.port.to_string()])
            .args(["--shard-client-names", "kcp-shard-0,kcp-shard-1"])
            .args(["--webhook-allow-cidr", "127.0.0.0/8"])
            .arg("--kubeconfig")
            .arg(self.kubeconfig);
        for port in self.webhook_ports {
            command.args(["--webhook-allow-port", &port.to_string()]);
        }
        for (flag, name) in [
            ("--tls-cert-file", "server.crt"),
            ("--tls-private-key-file", "server.key"),
            ("--shard-client-ca-file", "client-ca.crt"),
            ("--webhook-client-cert-file", "webhook-client.crt"),
            ("--webhook-client-key-file", "webhook-client.key"),
            ("--webhook-client-ca-file", "webhook-client-ca.crt"),
        ] {
            command.arg(flag).arg(file(name));
        }
        command
    }
}
