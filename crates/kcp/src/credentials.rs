//! Credentials for kcp that are replaced while they are in use.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use http::Uri;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::base::BaseError;

/// How often the files are compared. Their contents and not their times: a mounted Secret is replaced by a symbolic link.
const RELOAD_INTERVAL: Duration = Duration::from_secs(2);
/// What establishing a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Makes the client for a URL.
pub(crate) type Connect = dyn Fn(&Uri) -> Result<Client, BaseError> + Send + Sync;

/// How clients are made at the moment, shared by all URLs of one installation.
pub(crate) struct Credentials {
    connect: RwLock<Arc<Connect>>,
    file: Option<File>,
}

/// The kubeconfig that they are from.
struct File {
    path: PathBuf,
    context: Option<String>,
    /// The contents that were looked at last, of it and of what it refers to.
    seen: Mutex<Fingerprint>,
}

type Fingerprint = [u8; 32];

impl Credentials {
    /// Those of a kubeconfig, with the URL of its server.
    pub(crate) async fn from_kubeconfig(path: &Path, context: Option<&str>) -> Result<(Self, Uri), BaseError> {
        let (config, seen) = read(path, context).await?;
        let url = config.cluster_url.clone();
        let file = File {
            path: path.to_owned(),
            context: context.map(str::to_owned),
            seen: Mutex::new(seen),
        };
        Ok((Self::new(connect(config), Some(file)), url))
    }

    /// Those of a configuration, with its URL.
    pub(crate) fn from_config(config: Config) -> (Self, Uri) {
        let url = config.cluster_url.clone();
        (Self::new(connect(config), None), url)
    }

    /// Those that stay as they are.
    #[cfg(test)]
    pub(crate) fn fixed(connect: Arc<Connect>) -> Self {
        Self::new(connect, None)
    }

    fn new(connect: Arc<Connect>, file: Option<File>) -> Self {
        Self {
            connect: RwLock::new(connect),
            file,
        }
    }

    fn current(&self) -> Arc<Connect> {
        Arc::clone(&self.connect.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the files again when they change, until `stop`. What cannot be used keeps what was read before.
    pub(crate) async fn follow(&self, url: &Uri, stop: CancellationToken) {
        let Some(file) = &self.file else { return };
        while stop
            .run_until_cancelled(tokio::time::sleep(RELOAD_INTERVAL))
            .await
            .is_some()
        {
            match self.reload(file, url).await {
                Ok(false) => {}
                Ok(true) => tracing::info!(kubeconfig = %file.path.display(), "reloaded the credentials for kcp"),
                Err(error) => tracing::warn!(
                    kubeconfig = %file.path.display(),
                    error = &error as &dyn std::error::Error,
                    "the credentials for kcp cannot be reloaded and stay as they were"
                ),
            }
        }
    }

    /// Whether there are others now. What cannot be used is an error once.
    async fn reload(&self, file: &File, url: &Uri) -> Result<bool, BaseError> {
        let found = fingerprint_at(&file.path);
        {
            let mut seen = file.seen.lock().unwrap_or_else(PoisonError::into_inner);
            if *seen == found {
                return Ok(false);
            }
            *seen = found;
        }
        let (config, _) = read(&file.path, file.context.as_deref()).await?;
        let connect = connect(config);
        // A key that does not fit its certificate, for a moment.
        connect(url)?;
        *self.connect.write().unwrap_or_else(PoisonError::into_inner) = connect;
        Ok(true)
    }
}

/// A URL, with the client that is used there at the moment.
pub(crate) struct Site {
    url: Uri,
    credentials: Arc<Credentials>,
    client: Mutex<(Arc<Connect>, Client)>,
}

impl Site {
    pub(crate) fn new(url: Uri, credentials: Arc<Credentials>) -> Result<Self, BaseError> {
        let connect = credentials.current();
        let client = connect(&url)?;
        Ok(Self {
            url,
            credentials,
            client: Mutex::new((connect, client)),
        })
    }

    pub(crate) const fn url(&self) -> &Uri {
        &self.url
    }

    pub(crate) const fn credentials(&self) -> &Arc<Credentials> {
        &self.credentials
    }

    /// A client with the credentials of now. What is under way keeps the one that it has.
    pub(crate) fn client(&self) -> Client {
        let now = self.credentials.current();
        let mut client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&client.0, &now) {
            match now(&self.url) {
                Ok(made) => client.1 = made,
                Err(error) => tracing::warn!(
                    url = %self.url,
                    error = &error as &dyn std::error::Error,
                    "no client with the new credentials"
                ),
            }
            client.0 = now;
        }
        client.1.clone()
    }
}

fn connect(mut config: Config) -> Arc<Connect> {
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    // Whoever asks knows better when and whether to ask again.
    config.default_retry = false;
    let own = config.cluster_url.authority().cloned();
    Arc::new(move |url: &Uri| {
        let mut config = config.clone();
        config.cluster_url = url.clone();
        if url.authority() != own.as_ref() {
            // It is the name of the server of the kubeconfig.
            config.tls_server_name = None;
        }
        Client::try_from(config).map_err(|source| BaseError::Client(Box::new(source)))
    })
}

async fn read(path: &Path, context: Option<&str>) -> Result<(Config, Fingerprint), BaseError> {
    let unusable = |source| BaseError::Kubeconfig {
        path: path.to_owned(),
        source: Box::new(source),
    };
    // Before the files are read: what changes meanwhile is read again.
    let seen = fingerprint_at(path);
    let kubeconfig = Kubeconfig::read_from(path).map_err(unusable)?;
    let options = KubeConfigOptions {
        context: context.map(str::to_owned),
        ..KubeConfigOptions::default()
    };
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    Ok((config.map_err(unusable)?, seen))
}

/// Of a kubeconfig and all that it refers to; of what cannot be read, that it cannot.
fn fingerprint_at(path: &Path) -> Fingerprint {
    let mut hash = Sha256::new();
    let mut take = |path: &Path| match std::fs::read(path) {
        Ok(contents) => hash.update(Sha256::digest(contents)),
        Err(error) => hash.update(Sha256::digest(error.kind().to_string())),
    };
    take(path);
    // With the paths in it made absolute.
    for file in Kubeconfig::read_from(path).iter().flat_map(files) {
        take(Path::new(file));
    }
    hash.finalize().into()
}

fn files(kubeconfig: &Kubeconfig) -> Vec<&str> {
    let clusters = kubeconfig.clusters.iter().filter_map(|named| named.cluster.as_ref());
    let users = kubeconfig
        .auth_infos
        .iter()
        .filter_map(|named| named.auth_info.as_ref());
    clusters
        .filter_map(|cluster| cluster.certificate_authority.as_deref())
        .chain(users.flat_map(|user| {
            [&user.client_certificate, &user.client_key, &user.token_file]
                .into_iter()
                .filter_map(|file| file.as_deref())
        }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a user of another context, whose files are followed all the same.
    const KUBECONFIG: &str = "
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: 'https://kcp.example.org/clusters/root'}}]
users: [{name: u, user: {tokenFile: token}}, {name: v, user: {client-certificate: v.crt, client-key: v.key}}]
";

    #[tokio::test]
    async fn every_file_that_a_kubeconfig_names_is_followed() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let write = |name: &str, text: &str| std::fs::write(at(name), text).unwrap();
        write("token", "one");
        write("kubeconfig", KUBECONFIG);
        let (credentials, url) = Credentials::from_kubeconfig(&at("kubeconfig"), None).await.unwrap();
        let file = credentials.file.as_ref().unwrap();
        assert!(!credentials.reload(file, &url).await.unwrap(), "nothing changed");
        for (name, text) in [("token", "two"), ("v.crt", "x"), ("v.key", "x")] {
            write(name, text);
            assert!(credentials.reload(file, &url).await.unwrap(), "{name}");
            assert!(!credentials.reload(file, &url).await.unwrap(), "{name} once");
        }
        let before = credentials.current();
        write("kubeconfig", "{");
        assert!(credentials.reload(file, &url).await.is_err());
        assert!(!credentials.reload(file, &url).await.unwrap(), "told once");
        assert!(Arc::ptr_eq(&before, &credentials.current()), "stays as it was");
        write("kubeconfig", KUBECONFIG);
        assert!(credentials.reload(file, &url).await.unwrap());
        assert!(!Arc::ptr_eq(&before, &credentials.current()));
    }
}
