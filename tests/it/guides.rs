//! The guides' commands, run in their order on the fake kcp: what a reader copies must work.
//!
//! Blocks are marked: `sh` runs, `sh serve` runs beside the rest, `sh settings` is what the reader sets and the test
//! sets otherwise, `sh later` runs after all guides.

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ephemeral_testing::kcp::FakeKcp;
use ephemeral_testing::pki::Authority;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

/// How long one guide may take, with all that it waits for.
const PATIENCE: Duration = Duration::from_mins(5);

/// A shell block of a guide.
struct Block {
    mark: String,
    script: String,
}

fn blocks(guide: &str) -> Vec<Block> {
    let text = fs::read_to_string(crate::support::root().join("docs").join(guide)).expect("a guide");
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(mark) = line.strip_prefix("```sh") {
            let script: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push(Block {
                mark: mark.trim().to_owned(),
                script: script.join("\n"),
            });
        }
    }
    blocks
}

/// Where the commands run, and with what.
struct Reader {
    directory: tempfile::TempDir,
    settings: BTreeMap<&'static str, String>,
    /// Where that which runs beside listens, in its order.
    ports: [u16; 2],
    beside: Vec<Child>,
}

impl Reader {
    fn bash(&self, script: &str) -> Command {
        let mut bash = Command::new("bash");
        let path = std::env::var("PATH").unwrap_or_default();
        // What one shell exports the next one has, as if they were one.
        let script = format!("if [ -f exported ]; then . ./exported; fi\n{script}");
        bash.args(["-euo", "pipefail", "-c", &script])
            .current_dir(self.directory.path())
            .env("HOME", self.directory.path())
            .env(
                "PATH",
                format!("{}:{path}", self.directory.path().join("bin").display()),
            )
            .envs(&self.settings)
            .kill_on_drop(true);
        bash
    }

    /// Runs a script to its end; it must succeed.
    async fn run(&self, what: &str, script: &str) {
        let run = self.bash(&format!("{script}\nexport -p > exported")).output();
        let output = tokio::time::timeout(PATIENCE, run)
            .await
            .expect("in time")
            .expect("bash starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            output.status.success(),
            "{what}: {script}\n{}{}\n{}",
            text(&output.stdout),
            text(&output.stderr),
            self.logs()
        );
    }

    /// Starts what runs beside the rest, and waits until it listens, as a reader would see it say.
    async fn run_beside(&mut self, script: &str) {
        let port = self.ports[self.beside.len()];
        let log = fs::File::create(self.directory.path().join(format!("{}.log", self.beside.len()))).expect("a file");
        let child = self.bash(&format!("exec {}", script.trim_start())).stderr(log).spawn();
        self.beside.push(child.expect("bash starts"));
        let listens = async {
            while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_err() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let listens = tokio::time::timeout(PATIENCE, listens).await;
        assert!(listens.is_ok(), "{script}\n{}", self.logs());
    }

    fn logs(&self) -> String {
        let logs = (0..self.beside.len()).map(|at| self.directory.path().join(format!("{at}.log")));
        logs.map(|log| fs::read_to_string(log).unwrap_or_default()).collect()
    }

    /// Follows a guide. Blocks between those that run beside them share a shell, as a reader's do.
    async fn follow(&mut self, guide: &str) {
        let mut script = String::new();
        for block in blocks(guide) {
            match block.mark.as_str() {
                "" => {
                    script.push_str(&block.script);
                    script.push('\n');
                }
                "serve" => {
                    self.run(guide, &script).await;
                    self.run_beside(&block.script).await;
                    script.clear();
                }
                "settings" | "later" => {}
                other => panic!("{guide}: no such mark: {other}"),
            }
        }
        self.run(guide, &script).await;
    }
}

fn executable(path: &Path, script: &str) {
    fs::write(path, script).expect("the directory is writable");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

/// What a reader has before they begin: kcp, credentials, certificates, and the binaries on their `PATH`.
fn reader(kcp: &FakeKcp, sample: &Path) -> Reader {
    kcp.workspace("root:platform", 0);
    kcp.workspace("root:provider", 0);
    kcp.workspace("root:consumer", 1);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| directory.path().join(name);
    let admin = kcp.admin();
    for (name, kubeconfig) in [
        ("shard-0", kcp.shard_kubeconfig(0)),
        ("shard-1", kcp.shard_kubeconfig(1)),
        ("platform", kcp.kubeconfig(&admin, "root:platform")),
        ("server", kcp.kubeconfig(&kcp.user("kcp-ephemeral", &[]), "root")),
        ("provider", kcp.kubeconfig(&admin, "root:provider")),
        ("consumer", kcp.kubeconfig(&admin, "root:consumer")),
    ] {
        fs::copy(kubeconfig, at(&format!("{name}.kubeconfig"))).expect("a kubeconfig");
    }
    kcp.serving_ca()
        .server(&["127.0.0.1"])
        .write(directory.path(), "server");
    kcp.serving_ca().write(directory.path(), "server-ca");
    kcp.client_ca().write(directory.path(), "client-ca");
    let shown = Authority::new("webhook-client-ca");
    shown.write(directory.path(), "webhook-client-ca");
    shown
        .client("kcp-ephemeral", &[])
        .write(directory.path(), "webhook-client");
    let webhook_ca = Authority::new("webhook-ca");
    webhook_ca.write(directory.path(), "webhook-ca");
    webhook_ca.server(&["localhost"]).write(directory.path(), "webhook");
    fs::create_dir_all(at("buckets/photos")).expect("writable");
    fs::write(at("buckets/photos/beach.jpg"), "sand").expect("writable");
    symlink(crate::support::root().join("examples"), at("examples")).expect("writable");

    let (port, webhook_port) = (crate::support::free_port(), crate::support::free_port());
    fs::create_dir(at("bin")).expect("writable");
    // On one machine the server takes a port that it is given, and webhooks are on loopback.
    let local = format!(
        "--bind-address 127.0.0.1 --secure-port {port} --webhook-allow-cidr 127.0.0.0/8 --webhook-allow-port {webhook_port}"
    );
    let binary = crate::support::BINARY;
    executable(
        &at("bin/kcp-ephemeral"),
        &format!("#!/bin/sh\n[ \"$1\" = serve ] && exec {binary} \"$@\" {local}\nexec {binary} \"$@\"\n"),
    );
    symlink(sample, at("bin/bucketinfo")).expect("writable");
    let settings = [
        ("PLATFORM", "root:platform".to_owned()),
        ("EXTERNAL_URL", format!("https://127.0.0.1:{port}")),
        (
            "WEBHOOK_URL",
            format!("https://localhost:{webhook_port}/ephemeral/bucketinfos"),
        ),
        ("WEBHOOK_LISTEN", format!("127.0.0.1:{webhook_port}")),
    ];
    Reader {
        directory,
        settings: settings.into(),
        ports: [port, webhook_port],
        beside: Vec::new(),
    }
}

/// The sample webhook's binary, which is built beside this package's when the whole workspace is.
fn sample() -> Option<PathBuf> {
    let sample = Path::new(crate::support::BINARY).with_file_name("bucketinfo");
    sample.exists().then_some(sample)
}

#[tokio::test]
async fn the_guides_lead_from_nothing_to_an_answer() {
    let Some(sample) = sample() else {
        return crate::support::skipped(
            "the guides: the sample webhook is not built (cargo test --workspace builds it)",
        );
    };
    if !crate::support::has_kubectl().await {
        return;
    }
    let kcp = FakeKcp::start().await;
    let mut reader = reader(&kcp, &sample);
    let guides = ["operator-guide.md", "provider-guide.md", "consumer.md"];
    for guide in guides {
        reader.follow(guide).await;
    }
    for block in guides
        .iter()
        .flat_map(|guide| blocks(guide))
        .filter(|block| block.mark == "later")
    {
        reader.run("later", &block.script).await;
    }
}
