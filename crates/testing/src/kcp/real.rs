//! A real kcp of two shards, with front-proxy and cache server, as child processes on loopback.
//!
//! kcp's own `sharded-test-server` has fixed ports, and ends everything when one shard ends. This starts the same
//! programs with the same flags and a PKI of the same shape.

mod etcd;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

use super::kubeconfig;
use crate::client::Client;
use crate::pki::{Authority, Identity};
use crate::process::Process;

/// How long a component may take until it is ready, on a busy machine.
const PATIENCE: Duration = Duration::from_mins(5);
const LOOPBACK: &str = "127.0.0.1";
/// The names of the shards.
const SHARDS: [&str; 2] = ["root", "shard-1"];

/// An installation of kcp; it ends when it is dropped, and when the process that started it ends.
pub struct RealKcp {
    // In the order in which they end.
    front_proxy: Process,
    shards: [Option<Process>; 2],
    cache: Process,
    setup: Setup,
}

impl RealKcp {
    /// Starts `kcp` twice, `kcp-front-proxy` and `cache-server`, which are in the directory `binaries`, and waits until
    /// they are ready. The front-proxy forwards `/services/ephemeral/` to the URL `ephemeral`.
    pub async fn start(binaries: &Path, ephemeral: &str) -> Self {
        let setup = Setup::new(binaries);
        let mut cache = setup.start_cache();
        setup.wait("cache-server", &mut cache, setup.ports.cache).await;
        let mut root = setup.start_shard(0);
        let mut second = setup.start_shard(1);
        setup.wait("root", &mut root, setup.ports.shards[0].secure).await;
        setup.wait("shard-1", &mut second, setup.ports.shards[1].secure).await;
        let mut front_proxy = setup.start_front_proxy(ephemeral);
        setup
            .wait("front-proxy", &mut front_proxy, setup.ports.front_proxy)
            .await;
        Self {
            front_proxy,
            shards: [Some(root), Some(second)],
            cache,
            setup,
        }
    }

    /// The base URL, that of the front-proxy.
    pub fn url(&self) -> String {
        url(self.setup.ports.front_proxy)
    }

    /// The URL of a shard.
    pub fn shard_url(&self, shard: usize) -> String {
        url(self.setup.ports.shards[shard].secure)
    }

    /// A directory with `server-ca.crt`, `client-ca.crt` (also of shards) and `requestheader-ca.crt`, and for more files.
    pub fn directory(&self) -> &Path {
        self.setup.directory.path()
    }

    /// The CA of servers that shards trust.
    pub fn serving_ca(&self) -> &Authority {
        &self.setup.serving
    }

    /// The CA of the front-proxy's certificate.
    pub fn requestheader_ca(&self) -> &Authority {
        &self.setup.requestheader
    }

    /// The certificate that a shard presents to virtual workspaces, `CN=kcp-shard-<number>`.
    pub fn shard_identity(&self, shard: usize) -> &Identity {
        &self.setup.shard_identities[shard]
    }

    /// A certificate of a user.
    pub fn user(&self, name: &str, groups: &[&str]) -> Identity {
        self.setup.clients.client(name, groups)
    }

    /// A certificate of somebody who may do everything.
    pub fn admin(&self) -> Identity {
        self.user("kcp-admin", &["system:kcp:admin"])
    }

    /// A client of the front-proxy.
    pub fn client(&self, user: &Identity) -> Client {
        self.setup.client(self.setup.ports.front_proxy).with_identity(user)
    }

    /// A kubeconfig of a user for the workspace with this path or logical cluster name.
    pub fn kubeconfig(&self, user: &Identity, workspace: &str) -> PathBuf {
        self.setup
            .kubeconfig(user, &format!("{}/clusters/{workspace}", self.url()))
    }

    /// A kubeconfig of a user for any URL below kcp's.
    pub fn kubeconfig_at(&self, user: &Identity, url: &str) -> PathBuf {
        self.setup.kubeconfig(user, url)
    }

    /// A kubeconfig of a shard's own admin for its `system:admin`.
    pub fn shard_kubeconfig(&self, shard: usize) -> PathBuf {
        let server = format!("{}/clusters/system:admin", self.shard_url(shard));
        self.setup.kubeconfig(&self.setup.masters(), &server)
    }

    /// The keys in the etcd of a shard that begin with `prefix`; all of kcp's begin with `/registry/`.
    pub async fn stored(&self, shard: usize, prefix: &str) -> Vec<String> {
        let port = self.setup.ports.shards[shard].etcd_client;
        etcd::keys(&self.setup.etcd(SHARDS[shard]), port, prefix).await
    }

    /// Kills a shard.
    pub fn kill_shard(&mut self, shard: usize) {
        self.shards[shard] = None;
    }

    /// Starts a shard that was killed, with all that it has stored, and waits until it is ready.
    pub async fn restart_shard(&mut self, shard: usize) {
        let mut process = self.setup.start_shard(shard);
        let port = self.setup.ports.shards[shard].secure;
        self.setup.wait(SHARDS[shard], &mut process, port).await;
        self.shards[shard] = Some(process);
    }

    /// The last lines that each component printed.
    pub fn logs(&self) -> String {
        let shards = self.shards.iter().flatten();
        let all = [&self.front_proxy, &self.cache].into_iter().chain(shards);
        all.map(Process::tail).collect::<Vec<_>>().join("\n---\n")
    }
}

/// Where everything listens.
struct Ports {
    front_proxy: u16,
    cache: u16,
    cache_etcd: [u16; 2],
    shards: [ShardPorts; 2],
}

#[derive(Clone, Copy)]
struct ShardPorts {
    secure: u16,
    etcd_client: u16,
    etcd_peer: u16,
}

impl Ports {
    /// Ports that nobody listens on. kcp cannot be told to take a free one, since others must know it before.
    fn free() -> Self {
        let listeners = [(); 10].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port"));
        let ports = listeners.map(|listener| listener.local_addr().expect("bound").port());
        let [front_proxy, cache, cache_client, cache_peer, shards @ ..] = ports;
        let [secure, etcd_client, etcd_peer, second, second_client, second_peer] = shards;
        let root = ShardPorts {
            secure,
            etcd_client,
            etcd_peer,
        };
        let second = ShardPorts {
            secure: second,
            etcd_client: second_client,
            etcd_peer: second_peer,
        };
        Self {
            front_proxy,
            cache,
            cache_etcd: [cache_client, cache_peer],
            shards: [root, second],
        }
    }
}

/// Everything but the processes.
struct Setup {
    binaries: PathBuf,
    ports: Ports,
    serving: Authority,
    clients: Authority,
    requestheader: Authority,
    shard_identities: [Identity; 2],
    kubeconfigs: AtomicUsize,
    directory: TempDir,
}

impl Setup {
    fn new(binaries: &Path) -> Self {
        let clients = Authority::new("kcp-client-ca");
        let shard = |number: usize| clients.client(&format!("kcp-shard-{number}"), &["system:masters"]);
        let setup = Self {
            binaries: binaries.to_owned(),
            ports: Ports::free(),
            serving: Authority::new("kcp-serving-ca"),
            requestheader: Authority::new("kcp-front-proxy-requestheader-ca"),
            shard_identities: [shard(0), shard(1)],
            clients,
            kubeconfigs: AtomicUsize::new(0),
            directory: tempfile::tempdir().expect("a temporary directory"),
        };
        let directory = setup.directory.path();
        setup.serving.write(directory, "server-ca");
        setup.clients.write(directory, "client-ca");
        setup.requestheader.write(directory, "requestheader-ca");
        setup.serving.server(&["localhost", LOOPBACK]).write(directory, "kcp");
        let front_proxy = setup.requestheader.client("kcp-front-proxy", &[]);
        front_proxy.write(directory, "front-proxy");
        for (number, identity) in setup.shard_identities.iter().enumerate() {
            identity.write(directory, &format!("kcp-shard-{number}"));
        }
        setup
    }

    fn start_cache(&self) -> Process {
        let [client, peer] = self.ports.cache_etcd;
        let etcd = self.etcd("cache");
        self.start(
            "cache-server",
            "cache",
            self.ports.cache,
            &[
                ("client-ca-file", self.file("client-ca.crt")),
                ("embedded-etcd-directory", text(&etcd)),
                ("embedded-etcd-client-port", client.to_string()),
                ("embedded-etcd-peer-port", peer.to_string()),
            ],
        )
    }

    fn start_shard(&self, number: usize) -> Process {
        let name = SHARDS[number];
        let ports = self.ports.shards[number];
        let file = |name: &str| self.file(name);
        let base = |group: &str, port: u16| {
            let admin = self.clients.client(group, &[group]);
            text(&self.kubeconfig(&admin, &url(port)))
        };
        let (root, front_proxy) = (self.ports.shards[0].secure, self.ports.front_proxy);
        let mut flags = vec![
            ("shard-name", name.to_owned()),
            ("embedded-etcd-directory", text(&self.etcd(name))),
            ("embedded-etcd-client-port", ports.etcd_client.to_string()),
            ("embedded-etcd-peer-port", ports.etcd_peer.to_string()),
            ("client-ca-file", file("client-ca.crt")),
            ("requestheader-client-ca-file", file("requestheader-ca.crt")),
            ("requestheader-username-headers", "X-Remote-User".to_owned()),
            ("requestheader-group-headers", "X-Remote-Group".to_owned()),
            ("requestheader-extra-headers-prefix", "X-Remote-Extra-".to_owned()),
            ("shard-external-url", url(front_proxy)),
            (
                "cache-kubeconfig",
                text(&self.kubeconfig(&self.masters(), &url(self.ports.cache))),
            ),
            // Other shards are reached with these credentials, whatever the URL in them.
            (
                "logical-cluster-admin-kubeconfig",
                base("system:kcp:logical-cluster-admin", root),
            ),
            (
                "external-logical-cluster-admin-kubeconfig",
                base("system:kcp:external-logical-cluster-admin", front_proxy),
            ),
            // What a virtual resource needs: it is off by default, and the shard must trust and be known.
            ("feature-gates", "CacheAPIs=true".to_owned()),
            ("shard-virtual-workspace-ca-file", file("server-ca.crt")),
            ("shard-client-cert-file", file(&format!("kcp-shard-{number}.crt"))),
            ("shard-client-key-file", file(&format!("kcp-shard-{number}.key"))),
        ];
        if number > 0 {
            flags.push((
                "root-shard-kubeconfig-file",
                text(&self.kubeconfig(&self.masters(), &url(root))),
            ));
        }
        self.start("kcp", name, ports.secure, &flags)
    }

    fn start_front_proxy(&self, ephemeral: &str) -> Process {
        let file = |name: &str| self.file(name);
        let backend = |path: &str, backend: &str| {
            json!({
                "path": path, "backend": backend, "backend_server_ca": file("server-ca.crt"),
                "proxy_client_cert": file("front-proxy.crt"), "proxy_client_key": file("front-proxy.key"),
            })
        };
        let root = url(self.ports.shards[0].secure);
        let mapping = self.directory.path().join("mapping.yaml");
        let mappings = json!([backend("/services/ephemeral/", ephemeral), backend("/clusters/", &root)]);
        std::fs::write(&mapping, mappings.to_string()).expect("the directory is writable");
        let masters = text(&self.kubeconfig(&self.masters(), &root));
        self.start(
            "kcp-front-proxy",
            "front-proxy",
            self.ports.front_proxy,
            &[
                ("mapping-file", text(&mapping)),
                ("root-kubeconfig", masters.clone()),
                ("shards-kubeconfig", masters),
                ("client-ca-file", file("client-ca.crt")),
            ],
        )
    }

    /// Starts a component that serves on `port`.
    fn start(&self, program: &str, name: &str, port: u16, flags: &[(&str, String)]) -> Process {
        let dir = self.directory.path();
        let common = [
            ("root-directory", text(&dir.join(name))),
            ("bind-address", LOOPBACK.to_owned()),
            ("secure-port", port.to_string()),
            ("tls-cert-file", self.file("kcp.crt")),
            ("tls-private-key-file", self.file("kcp.key")),
        ];
        let mut command = Command::new(self.binaries.join(program));
        if program == "kcp" {
            command.arg("start");
        }
        let flags = common.iter().chain(flags);
        command
            .args(flags.map(|(flag, value)| format!("--{flag}={value}")))
            .current_dir(dir)
            // An etcd of a test need not outlive a loss of power.
            .env("UNSAFE_E2E_HACK_DISABLE_ETCD_FSYNC", "true");
        Process::start(&command, dir.join(format!("{name}.log")))
    }

    /// Waits until a component says that it is ready.
    async fn wait(&self, name: &str, process: &mut Process, port: u16) {
        let client = self.client(port).with_identity(&self.masters());
        let end = Instant::now() + PATIENCE;
        loop {
            let answer = client.get("/readyz").await;
            if answer.is_ok_and(|answer| answer.status == 200) {
                return;
            }
            if let Some(status) = process.ended() {
                panic!("{name} ended with {status} before it was ready:\n{}", process.tail());
            }
            assert!(Instant::now() < end, "{name} is not ready in time:\n{}", process.tail());
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }

    fn client(&self, port: u16) -> Client {
        Client::new(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), &self.serving).host(LOOPBACK)
    }

    /// A certificate of somebody whom no shard refuses anything.
    fn masters(&self) -> Identity {
        self.clients.client("shard-admin", &["system:masters"])
    }

    fn kubeconfig(&self, user: &Identity, server: &str) -> PathBuf {
        let name = format!("kubeconfig-{}", self.kubeconfigs.fetch_add(1, Ordering::SeqCst));
        kubeconfig::write(self.directory.path(), &name, user, server)
    }

    fn etcd(&self, name: &str) -> PathBuf {
        self.directory.path().join(name).join("etcd-server")
    }

    fn file(&self, name: &str) -> String {
        text(&self.directory.path().join(name))
    }
}

fn url(port: u16) -> String {
    format!("https://{LOOPBACK}:{port}")
}

fn text(path: &Path) -> String {
    path.to_str()
        .expect("temporary directories have printable names")
        .to_owned()
}
