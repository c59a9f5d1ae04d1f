//! A context of a kubeconfig, as kubectl reads it.

use std::path::Path;

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::base::{Base, BaseError};

/// Where a context of a kubeconfig leads, and with which credentials.
#[derive(Clone, Debug)]
pub struct Login {
    config: Config,
}

impl Login {
    /// Reads a context, the current one by default, of a kubeconfig; without a path of those that `$KUBECONFIG` names,
    /// or of `~/.kube/config`.
    pub async fn load(path: Option<&Path>, context: Option<&str>) -> Result<Self, BaseError> {
        let unusable = |source| BaseError::Kubeconfig {
            path: path.map_or_else(|| "of this user".into(), Path::to_owned),
            source: Box::new(source),
        };
        let kubeconfig = path.map_or_else(Kubeconfig::read, Kubeconfig::read_from);
        let options = KubeConfigOptions {
            context: context.map(str::to_owned),
            ..KubeConfigOptions::default()
        };
        let config = Config::from_custom_kubeconfig(kubeconfig.map_err(unusable)?, &options).await;
        Ok(Self {
            config: config.map_err(unusable)?,
        })
    }

    /// The base URL, with the credentials. Must be called within a Tokio runtime.
    pub fn base(&self) -> Result<Base, BaseError> {
        Base::from_config(self.config.clone())
    }

    /// The workspace in the URL of the server (`…/clusters/<path>`), as kcp's own kubeconfigs have it.
    pub fn workspace(&self) -> Option<&str> {
        let (_, path) = self.config.cluster_url.path().split_once("/clusters/")?;
        path.split('/').next().filter(|path| !path.is_empty())
    }

    /// The CA certificates of the context, DER; none where the system's trust store counts.
    pub fn root_certificates(&self) -> &[Vec<u8>] {
        self.config.root_cert.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn login(server: &str) -> Login {
        let file = tempfile::NamedTempFile::new().unwrap();
        let config = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "users": [{"name": "u", "user": {}}],
        });
        std::fs::write(file.path(), config.to_string()).unwrap();
        Login::load(Some(file.path()), None).await.unwrap()
    }

    #[tokio::test]
    async fn the_workspace_is_the_one_in_the_url() {
        for (server, expected) in [
            ("https://kcp:6443/clusters/root:consumer", Some("root:consumer")),
            ("https://kcp:6443/clusters/root:consumer/", Some("root:consumer")),
            ("https://kcp:6443/base/clusters/2k3/apis", Some("2k3")),
            ("https://kcp:6443", None),
            ("https://kcp:6443/clusters/", None),
        ] {
            assert_eq!(login(server).await.workspace(), expected, "{server}");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_named() {
        let error = Login::load(Some(Path::new("/nowhere/kubeconfig")), None)
            .await
            .unwrap_err();
        assert!(error.to_string().contains("/nowhere/kubeconfig"), "{error}");
    }
}
