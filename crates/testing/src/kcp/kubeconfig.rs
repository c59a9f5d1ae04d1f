//! Kubeconfigs.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::pki::Identity;

/// Writes `dir/<name>` for somebody who reaches `server`, whose certificate `dir/server-ca.crt` vouches for; beside it
/// the certificate and its key.
pub(super) fn write(dir: &Path, name: &str, user: &Identity, server: &str) -> PathBuf {
    let (certificate, key) = user.write(dir, name);
    // In the kubeconfig of the root shard kcp asks for the context `shard-base`.
    let contexts = ["kcp", "shard-base"];
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "kcp",
        "contexts": contexts.map(|name| json!({"name": name, "context": {"cluster": "kcp", "user": "user"}})),
        "clusters": [{"name": "kcp", "cluster": {
            "server": server, "certificate-authority": dir.join("server-ca.crt"),
        }}],
        "users": [{"name": "user", "user": {"client-certificate": certificate, "client-key": key}}],
    });
    let path = dir.join(name);
    std::fs::write(&path, config.to_string()).expect("the directory is writable");
    path
}
