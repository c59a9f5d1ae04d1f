//! A kcp of several shards, small enough to read: what this project's server and its consumers see of kcp, and nothing
//! else.
//!
//! A front serves every logical cluster by name or path; each shard serves its own by name, and the virtual workspaces
//! of APIExports. Users have client certificates, or tokens. A bound resource with `storage.virtual` is forwarded as kcp
//! forwards it: the shard picks an endpoint of the slice, appends the logical cluster as text, and says in headers who
//! asked. Nothing is validated by schemas, and nothing has finalizers.
//!
//! * [`FakeKcp`] is the installation; everything that a test does to it is a method there.
//! * `api` finds out what a path looks at (`scope`); `objects`, `watch` and `discovery` answer it, `forward` has somebody
//!   else answer it (`endpoints` says who).
//! * `world` is all state: a `store` for each shard, where `fields` knows who owns what; `controllers` run after every
//!   write; `rbac` decides.
//! * [`RealKcp`] is the same made of kcp's own programs, for the tests that have them.

mod api;
mod controllers;
mod discovery;
mod endpoints;
mod failure;
mod fields;
mod forward;
mod kubeconfig;
mod objects;
mod rbac;
mod real;
mod resource;
mod scope;
mod server;
mod store;
mod watch;
mod world;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tempfile::TempDir;

use self::api::Entry;
pub use self::rbac::{Question, SCOPES, User};
pub use self::real::RealKcp;
use self::server::Listener;
use self::store::{Change, Key, Store, Write};
pub use self::world::Asked;
use self::world::{Shard, Workspace, World};
use crate::client::Client;
use crate::pki::{Authority, Identity};

/// An installation of kcp. It ends when it is dropped.
pub struct FakeKcp {
    shared: Arc<Shared>,
    front: Listener,
    shards: Vec<Listener>,
    serving: Authority,
    clients: Authority,
    requestheader: Authority,
    directory: TempDir,
    files: AtomicUsize,
}

/// What all connections share.
struct Shared {
    world: Mutex<World>,
    changes: tokio::sync::watch::Sender<u64>,
    tokens: Mutex<BTreeMap<String, User>>,
    away: Mutex<BTreeSet<usize>>,
    /// The CA of the server certificates that shards trust, PEM.
    serving_ca: String,
    shard_identities: Vec<Identity>,
}

impl FakeKcp {
    /// Starts two shards, `root` and `shard-1`, labelled with their names.
    pub async fn start() -> Self {
        Self::with_shards(&[("root", &[("name", "root")]), ("shard-1", &[("name", "shard-1")])]).await
    }

    /// Starts shards with these names and labels.
    pub async fn with_shards(shards: &[(&str, &[(&str, &str)])]) -> Self {
        let serving = Authority::new("kcp-server-ca");
        let clients = Authority::new("kcp-client-ca");
        let tls = server::tls(&serving.server(&["localhost", "127.0.0.1"]), &clients);
        let mut bound = Vec::new();
        let mut states = Vec::new();
        for (number, (name, labels)) in shards.iter().enumerate() {
            let (listener, address) = Listener::bind().await;
            bound.push(listener);
            states.push(Shard {
                name: (*name).to_owned(),
                labels: labels
                    .iter()
                    .map(|&(key, value)| (key.to_owned(), value.to_owned()))
                    .collect(),
                url: format!("https://{address}"),
                // Each shard counts for itself.
                store: Store::new(1000 * (number as u64 + 1)),
            });
        }
        let identities = (0..shards.len()).map(|n| clients.client(&format!("kcp-shard-{n}"), &["system:masters"]));
        let shared = Arc::new(Shared {
            world: Mutex::new(World::new(states)),
            changes: tokio::sync::watch::Sender::new(0),
            tokens: Mutex::default(),
            away: Mutex::default(),
            serving_ca: serving.cert_pem(),
            shard_identities: identities.collect(),
        });
        let serve = |listener, entry| Listener::serve(listener, tls.clone(), entry, shared.clone());
        let shards = bound
            .into_iter()
            .enumerate()
            .map(|(at, listener)| serve(listener, Entry::Shard(at)));
        let shards = shards.collect();
        let (listener, _) = Listener::bind().await;
        let front = serve(listener, Entry::Front);
        let directory = tempfile::tempdir().expect("a temporary directory");
        let requestheader = Authority::new("kcp-requestheader-ca");
        serving.write(directory.path(), "server-ca");
        clients.write(directory.path(), "client-ca");
        requestheader.write(directory.path(), "requestheader-ca");
        Self {
            shared,
            front,
            shards,
            serving,
            clients,
            requestheader,
            directory,
            files: AtomicUsize::new(0),
        }
    }

    // --- who connects, and where

    /// The base URL.
    pub fn url(&self) -> String {
        format!("https://{}", self.front.address)
    }

    /// The URL of a shard, which its virtual workspaces are below.
    pub fn shard_url(&self, shard: usize) -> String {
        format!("https://{}", self.shards[shard].address)
    }

    /// A directory with `server-ca.crt`, `client-ca.crt` (also of shards) and `requestheader-ca.crt`, and for more files.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The CA of servers that shards trust.
    pub fn serving_ca(&self) -> &Authority {
        &self.serving
    }

    /// The CA of the certificates that shards and users have.
    pub fn client_ca(&self) -> &Authority {
        &self.clients
    }

    /// The CA of the front-proxy's certificate.
    pub fn requestheader_ca(&self) -> &Authority {
        &self.requestheader
    }

    /// The certificate that a shard presents to virtual workspaces, `CN=kcp-shard-<number>`.
    pub fn shard_identity(&self, shard: usize) -> &Identity {
        &self.shared.shard_identities[shard]
    }

    /// A certificate of a user.
    pub fn user(&self, name: &str, groups: &[&str]) -> Identity {
        self.clients.client(name, groups)
    }

    /// A certificate of somebody who may do everything.
    pub fn admin(&self) -> Identity {
        self.user("kcp-admin", &["system:kcp:admin"])
    }

    /// Makes a bearer token stand for somebody, extras included, as a service account or a scoped user.
    pub fn token(&self, token: &str, user: User) {
        lock(&self.shared.tokens).insert(token.to_owned(), user);
    }

    /// A client of the front.
    pub fn client(&self, user: &Identity) -> Client {
        Client::new(self.front.address, &self.serving).with_identity(user)
    }

    /// A client of a shard.
    pub fn shard_client(&self, shard: usize, user: &Identity) -> Client {
        Client::new(self.shards[shard].address, &self.serving).with_identity(user)
    }

    /// A kubeconfig of a user for the workspace with this path or logical cluster name.
    pub fn kubeconfig(&self, user: &Identity, workspace: &str) -> PathBuf {
        self.write_kubeconfig(user, &format!("{}/clusters/{workspace}", self.url()))
    }

    /// A kubeconfig of a shard's own admin for its `system:admin`.
    pub fn shard_kubeconfig(&self, shard: usize) -> PathBuf {
        let admin = self.user("shard-admin", &["system:masters"]);
        self.write_kubeconfig(&admin, &format!("{}/clusters/system:admin", self.shard_url(shard)))
    }

    fn write_kubeconfig(&self, user: &Identity, server: &str) -> PathBuf {
        let name = format!("kubeconfig-{}", self.files.fetch_add(1, Ordering::SeqCst));
        kubeconfig::write(self.directory(), &name, user, server)
    }

    // --- what there is

    /// Makes a workspace on a shard and returns the name of its logical cluster.
    pub fn workspace(&self, path: &str, shard: usize) -> String {
        let mut world = self.shared.world();
        let cluster = format!("{:x}{:0>14}", shard + 2, world.workspaces.len() * 7919 + 10007);
        let workspace = Workspace {
            path: path.to_owned(),
            shard,
        };
        world.workspaces.insert(cluster.clone(), workspace);
        cluster
    }

    /// Creates or replaces an object of a logical cluster (by name or path), its status left alone.
    pub fn put(&self, workspace: &str, object: &Value) {
        let change = |exists| {
            if exists {
                Change::Update(object.clone())
            } else {
                Change::Create(object.clone())
            }
        };
        self.write(workspace, object, "", "test", change)
            .expect("it is written");
    }

    /// Applies the status of an object server-side as a field manager; whether that was possible without force.
    pub fn apply_status(&self, workspace: &str, object: &Value, manager: &str) -> bool {
        let change = |_| Change::Apply {
            config: object.clone(),
            force: false,
        };
        self.write(workspace, object, "status", manager, change).is_ok()
    }

    /// Replaces the status of an object, as its own controllers or an admin with an editor would.
    pub fn put_status(&self, workspace: &str, object: &Value) {
        let change = |_| Change::Update(object.clone());
        self.write(workspace, object, "status", "editor", change)
            .expect("it is written");
    }

    fn write(
        &self,
        workspace: &str,
        object: &Value,
        subresource: &'static str,
        manager: &str,
        change: impl FnOnce(bool) -> Change,
    ) -> Result<Value, failure::Failure> {
        let mut world = self.shared.world();
        let cluster = world.cluster(workspace).expect("a workspace").to_owned();
        let shard = world.shard_of(&cluster).expect("a shard");
        let api_version = object["apiVersion"].as_str().expect("an apiVersion");
        let mut resources = world.resources(&cluster).into_iter();
        let resource =
            resources.find(|resource| resource.api_version() == api_version && object["kind"] == *resource.kind);
        let resource = resource.unwrap_or_else(|| panic!("no resource for {api_version} {}", object["kind"]));
        let key = Key {
            group: resource.group.clone(),
            plural: resource.plural.clone(),
            cluster,
            namespace: world::text(&object["metadata"]["namespace"]).to_owned(),
            name: world::text(&object["metadata"]["name"]).to_owned(),
        };
        let exists = world.shards[shard].store.get(&key).is_some();
        let write = Write {
            manager: manager.to_owned(),
            subresource,
            change: change(exists),
        };
        let written = world.write(shard, &key, &resource, write);
        drop(world);
        self.shared.changed();
        written
    }

    /// An object of a logical cluster (by name or path) by plural and name, in whatever namespace.
    pub fn get(&self, workspace: &str, plural: &str, name: &str) -> Option<Value> {
        let world = self.shared.world();
        let cluster = world.cluster(workspace)?;
        let mut objects = world.store_of(cluster)?.objects();
        let found = objects.find(|(key, _)| key.cluster == cluster && key.plural == plural && key.name == name);
        found.map(|(_, object)| object.clone())
    }

    /// Deletes an object; whether there was one.
    pub fn delete(&self, workspace: &str, plural: &str, name: &str) -> bool {
        let mut world = self.shared.world();
        let cluster = world.cluster(workspace).expect("a workspace").to_owned();
        let shard = world.shard_of(&cluster).expect("a shard");
        let key = {
            let mut keys = world.shards[shard].store.objects().map(|(key, _)| key);
            keys.find(|key| key.cluster == cluster && key.plural == plural && key.name == name)
                .cloned()
        };
        let deleted = key.is_some_and(|key| world.delete(shard, &key));
        drop(world);
        self.shared.changed();
        deleted
    }

    // --- what was asked

    /// Every write that anybody asked for through the API, oldest first.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.world().asked.clone()
    }

    /// The writes of one user but for those to Leases.
    pub fn writes_of(&self, user: &str) -> Vec<Asked> {
        let mut asked = self.asked();
        asked.retain(|asked| asked.user == user && asked.resource != "leases");
        asked
    }

    /// Every SubjectAccessReview, oldest first.
    pub fn reviews(&self) -> Vec<Question> {
        self.shared.world().reviews.clone()
    }

    // --- what happens to it

    /// Decides about requests and each `SubjectAccessReview`; `None` leaves it to RBAC.
    pub fn set_policy(&self, policy: impl Fn(&Question) -> Option<bool> + Send + Sync + 'static) {
        self.shared.world().policy = Box::new(policy);
    }

    /// Whether the status of APIBindings follows their exports; it does until told otherwise.
    pub fn bindings_follow(&self, follow: bool) {
        let mut world = self.shared.world();
        world.bindings_follow = follow;
        controllers::run(&mut world);
        drop(world);
        self.shared.changed();
    }

    /// Moves a logical cluster (by name or path) to another shard.
    pub fn move_workspace(&self, workspace: &str, shard: usize) {
        let mut world = self.shared.world();
        let cluster = world.cluster(workspace).expect("a workspace").to_owned();
        world.move_workspace(&cluster, shard);
        drop(world);
        self.shared.changed();
    }

    /// Makes a shard forget its past: watches end with a 410, and so does every watch from before.
    pub fn compact(&self, shard: usize) {
        self.shared.world().shards[shard].store.compact();
        self.shared.changed();
    }

    /// Breaks all connections to a shard and to the front.
    pub fn drop_connections(&self, shard: usize) {
        self.shards[shard].drop_connections();
        self.front.drop_connections();
    }

    /// Takes a shard away, or brings it back under the same address.
    pub fn set_away(&self, shard: usize, away: bool) {
        let mut shards = lock(&self.shared.away);
        if away {
            shards.insert(shard);
        } else {
            shards.remove(&shard);
        }
        drop(shards);
        self.shards[shard].set_away(away);
    }

    /// Takes the front away, or brings it back.
    pub fn set_front_away(&self, away: bool) {
        self.front.set_away(away);
    }
}

impl Shared {
    fn world(&self) -> MutexGuard<'_, World> {
        lock(&self.world)
    }

    /// Wakes the watches.
    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn user_of_token(&self, token: &str) -> Option<User> {
        lock(&self.tokens).get(token).cloned()
    }

    fn is_away(&self, shard: usize) -> bool {
        lock(&self.away).contains(&shard)
    }
}

/// A test that panics fails by itself; what it left behind is of no consequence.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
