//! `dev` as a child process, and what tests ask it with.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

pub mod installation;
pub mod resources;
pub mod serve;
pub mod vectors;

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use ephemeral_testing::client::Client;
use ephemeral_testing::pki::Identity;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long anything that must happen may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// The binary under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_kcp-ephemeral");

/// A running `dev`; killed when dropped.
pub struct Dev {
    child: Child,
    address: SocketAddr,
    directory: TempDir,
    log: JoinHandle<String>,
}

impl Dev {
    /// Starts `dev` in a new directory on a free port and waits until it is ready.
    pub async fn start(arguments: &[&str]) -> Self {
        Self::start_in(tempfile::tempdir().expect("a temporary directory"), arguments).await
    }

    /// The same in a directory that exists.
    pub async fn start_in(directory: TempDir, arguments: &[&str]) -> Self {
        Self::spawn(directory, arguments, &[]).await
    }

    /// The same in a new directory, with these variables in the environment.
    pub async fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        Self::spawn(
            tempfile::tempdir().expect("a temporary directory"),
            arguments,
            environment,
        )
        .await
    }

    async fn spawn(directory: TempDir, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut child = command()
            .args(["dev", "--port", "0", "--dir"])
            .arg(directory.path())
            .args(arguments)
            .envs(environment.iter().copied())
            .spawn()
            .expect("the binary starts");
        let mut stderr = child.stderr.take().expect("a pipe");
        let log = tokio::spawn(async move {
            let mut log = Vec::new();
            let _ = stderr.read_to_end(&mut log).await;
            String::from_utf8_lossy(&log).into_owned()
        });
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let ready = timeout(PATIENCE, async {
            while let Some(line) = lines.next_line().await.expect("lines of text") {
                if line.starts_with("ready") {
                    return Some(line);
                }
            }
            None
        });
        let Some(line) = ready.await.expect("ready in time") else {
            panic!("dev ended before it was ready: {}", log.await.expect("a log"));
        };
        // Nobody reads the rest, but a closed pipe must not be what ends the process.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let address = line
            .split("https://")
            .nth(1)
            .and_then(|rest| rest.split_whitespace().next());
        let address = address.and_then(|address| address.trim_end_matches([',', ';', '.']).parse().ok());
        let address = address.unwrap_or_else(|| panic!("no address in {line:?}"));
        Self {
            child,
            address,
            directory,
            log,
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Its kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.path().join("kubeconfig")
    }

    /// The id of its process.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// A client without a certificate.
    pub fn anonymous(&self) -> Client {
        Client::trusting(self.address, &self.pem("ca.crt"))
    }

    /// A client with one of the certificates in `pki/`.
    pub fn client(&self, name: &str) -> Client {
        self.anonymous().with_identity(&self.identity(name))
    }

    /// One of the certificates in `pki/`, with its key.
    pub fn identity(&self, name: &str) -> Identity {
        Identity {
            cert_pem: self.pem(&format!("{name}.crt")),
            key_pem: self.pem(&format!("{name}.key")),
        }
    }

    /// A file in `pki/`.
    pub fn pem(&self, file: &str) -> String {
        fs::read_to_string(self.directory.path().join("pki").join(file)).expect("a file of the PKI")
    }

    /// Sends a signal.
    pub async fn signal(&self, signal: &str) {
        send_signal(&self.child, signal).await;
    }

    /// Sends a signal, waits for the end and returns the exit code and the log.
    pub async fn end(mut self, signal: &str) -> (Option<i32>, String) {
        self.signal(signal).await;
        let status = timeout(PATIENCE, self.child.wait())
            .await
            .expect("it ends in time")
            .expect("a status");
        (status.code(), self.log.await.expect("a log"))
    }
}

/// Sends a signal to a process that runs.
pub async fn send_signal(child: &Child, signal: &str) {
    let pid = child.id().expect("it runs").to_string();
    let sent = Command::new("kill").args([signal, &pid]).status().await;
    assert!(sent.expect("kill runs").success());
}

/// The binary with pipes for its output, killed when dropped.
pub fn command() -> Command {
    let mut command = Command::new(BINARY);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// What `manifests` prints.
pub async fn manifests(arguments: &[&str]) -> String {
    let output = command().arg("manifests").args(arguments).output().await;
    let output = output.expect("the binary starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Says, where nobody can overlook it, what was not tested.
#[allow(clippy::print_stderr, reason = "a skip must be seen")]
pub fn skipped(what: &str) {
    eprintln!("SKIPPED: {what}");
}

/// Whether there is a kubectl; says so where there is none, and fails where one is required.
pub async fn has_kubectl() -> bool {
    let found = Command::new("kubectl").args(["version", "--client"]).output().await;
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        let required = std::env::var_os("KCP_EPHEMERAL_REQUIRE_KUBECTL").is_some();
        assert!(!required, "kubectl is not on PATH");
        skipped("kubectl is not on PATH, so nothing here was tested with it");
    }
    found
}

/// A port that nobody listens on. Shards must know it before the server starts.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("bound").port()
}

/// Waits for something that must come true soon.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !holds().await {
        assert!(tokio::time::Instant::now() < deadline, "{what}: not in time");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
