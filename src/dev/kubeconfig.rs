//! The kubeconfig that `dev` writes: a user in a consumer's workspace.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::pki::{CA, Pki, write_private};

/// The workspace that the kubeconfig points to. `dev` serves every name alike.
pub(crate) const CONSUMER: &str = "consumer";

/// Writes the kubeconfig: self-contained, so that it can be moved and mounted.
pub(crate) fn write(path: &Path, server: &str, pki: &Pki) -> Result<()> {
    let user = pki.pair("user");
    let config = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CONSUMER, "cluster": {
            "server": format!("{server}/clusters/{CONSUMER}"),
            "certificate-authority-data": base64(&pki.pair(CA).cert)?,
        }}],
        "users": [{"name": "developer", "user": {
            "client-certificate-data": base64(&user.cert)?,
            "client-key-data": base64(&user.key)?,
        }}],
        "contexts": [{"name": CONSUMER, "context": {
            "cluster": CONSUMER, "user": "developer", "namespace": "default",
        }}],
        "current-context": CONSUMER,
    });
    // JSON is YAML, and kubectl reads both.
    write_private(path, format!("{config:#}\n").as_bytes())
}

fn base64(path: &Path) -> Result<String> {
    let content = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(BASE64_STANDARD.encode(content))
}
