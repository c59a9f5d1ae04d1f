//! A URL of kcp below which logical clusters are found, and requests to it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::TryStreamExt;
use http::{Method, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};
use kube::Config;
use kube::client::Body;
use kube::config::KubeconfigError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::credentials::{Credentials, Site};
use crate::request::segment;

/// What a request may take, the body of the answer included; watches have bounds of their own.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
/// What an answer may hold, bytes. kcp's own answers are far smaller, a page of a list with many large schemas
/// included; without a bound, whoever poses as kcp could fill the memory.
const MAX_ANSWER: usize = 512 * 1024 * 1024;
/// What an error of kcp may hold, bytes; of longer ones only the code counts.
const MAX_STATUS: usize = 64 * 1024;

/// A URL of kcp below which `/clusters/<logical cluster>` are, with the credentials to use there.
///
/// Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Base {
    site: Arc<Site>,
}

impl Base {
    /// The base URL that a context of a kubeconfig names, the current one by default. `/clusters/<path>` in the URL of
    /// the server is accepted and cut off, as kcp's own kubeconfigs have it.
    ///
    /// Must be called within a Tokio runtime.
    pub async fn from_kubeconfig(path: &Path, context: Option<&str>) -> Result<Self, BaseError> {
        let (credentials, url) = Credentials::from_kubeconfig(path, context).await?;
        Self::new(&url, Arc::new(credentials))
    }

    /// The base URL of a configuration.
    pub fn from_config(config: Config) -> Result<Self, BaseError> {
        let (credentials, url) = Credentials::from_config(config);
        Self::new(&url, Arc::new(credentials))
    }

    pub(crate) fn new(url: &Uri, credentials: Arc<Credentials>) -> Result<Self, BaseError> {
        let site = Site::new(without_cluster(url)?, credentials)?;
        Ok(Self { site: Arc::new(site) })
    }

    /// Reads the kubeconfig, and the certificates, keys and tokens that it refers to, again when they change, until
    /// `stop`; for this base and all that were made [`at`](Self::at) other URLs of it. The URL stays: another server in
    /// the kubeconfig is in effect after a restart alone.
    pub async fn follow_kubeconfig(self, stop: CancellationToken) {
        self.site.credentials().follow(self.site.url(), stop).await;
    }

    /// Another URL with the same credentials and CA, such as that of a virtual workspace.
    pub fn at(&self, url: &str) -> Result<Self, BaseError> {
        let unusable = || BaseError::Url(url.to_owned());
        let parsed: Uri = url.parse().map_err(|_| unusable())?;
        if parsed.scheme() != self.site.url().scheme() {
            // Credentials must not leave in the clear because of what a slice says.
            return Err(unusable());
        }
        Self::new(&parsed, Arc::clone(self.site.credentials()))
    }

    /// The URL, without a slash at the end.
    pub fn url(&self) -> String {
        self.site.url().to_string().trim_end_matches('/').to_owned()
    }

    /// A logical cluster, by name, by the path of its workspace, or `*` for all that a virtual workspace has.
    pub fn cluster(&self, name_or_path: &str) -> Cluster {
        Cluster {
            site: Arc::clone(&self.site),
            prefix: format!("/clusters/{}", segment(name_or_path)),
        }
    }
}

impl fmt::Debug for Base {
    /// Without the credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Base").field(&self.url()).finish()
    }
}

/// Cuts `/clusters/…` off the path of a URL, and with it everything that follows.
fn without_cluster(url: &Uri) -> Result<Uri, BaseError> {
    let unusable = || BaseError::Url(url.to_string());
    let path = url.path().split("/clusters/").next().unwrap_or_default();
    let path = path.trim_end_matches('/');
    let mut parts = url.clone().into_parts();
    parts.path_and_query = Some(format!("{path}/").parse().map_err(|_| unusable())?);
    if parts.scheme.is_none() || parts.authority.is_none() {
        return Err(unusable());
    }
    Uri::from_parts(parts).map_err(|_| unusable())
}

/// A logical cluster of kcp, or all of a virtual workspace.
///
/// Paths begin with a slash (`/apis/…`), are below the logical cluster, and hold nothing of others that was not
/// escaped before.
#[derive(Clone)]
pub struct Cluster {
    site: Arc<Site>,
    prefix: String,
}

impl Cluster {
    /// Reads what is at a path. Not for what may nest more than 128 levels deep.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, RequestError> {
        decode(&self.get_bytes(path).await?)
    }

    /// Reads the text of what is at a path.
    pub async fn get_bytes(&self, path: &str) -> Result<Bytes, RequestError> {
        self.request(Method::GET, path, None).await
    }

    /// Creates an object.
    pub async fn post<T: DeserializeOwned>(&self, path: &str, object: &impl Serialize) -> Result<T, RequestError> {
        let body = Payload::json("application/json", object)?;
        decode(&self.request(Method::POST, path, Some(body)).await?)
    }

    /// Replaces an object.
    pub async fn put<T: DeserializeOwned>(&self, path: &str, object: &impl Serialize) -> Result<T, RequestError> {
        let body = Payload::json("application/json", object)?;
        decode(&self.request(Method::PUT, path, Some(body)).await?)
    }

    /// Changes an object by a JSON merge patch (RFC 7386).
    pub async fn merge_patch(&self, path: &str, changes: &impl Serialize) -> Result<Bytes, RequestError> {
        let body = Payload::json("application/merge-patch+json", changes)?;
        self.request(Method::PATCH, path, Some(body)).await
    }

    /// Changes an object by server-side apply; the field manager is part of the query of `path`.
    pub async fn apply(&self, path: &str, object: &impl Serialize) -> Result<Bytes, RequestError> {
        // JSON is YAML.
        let body = Payload::json("application/apply-patch+yaml", object)?;
        self.request(Method::PATCH, path, Some(body)).await
    }

    /// Asks, and reads the answer to its end.
    async fn request(&self, method: Method, path: &str, payload: Option<Payload>) -> Result<Bytes, RequestError> {
        let answer = async {
            let body = self.send(method, path, payload).await?;
            collect(body, MAX_ANSWER).await
        };
        tokio::time::timeout(REQUEST_TIMEOUT, answer)
            .await
            .map_err(|_| RequestError::TimedOut)?
    }

    /// Asks for a stream, as a watch is. The answer must begin in time; how long it may last is for the caller to say.
    pub(crate) async fn stream(
        &self,
        path: &str,
    ) -> Result<impl futures::Stream<Item = Result<Bytes, RequestError>> + Send + use<>, RequestError> {
        let body = tokio::time::timeout(REQUEST_TIMEOUT, self.send(Method::GET, path, None))
            .await
            .map_err(|_| RequestError::TimedOut)??;
        Ok(body
            .into_data_stream()
            .map_err(|error| RequestError::Body(Box::new(error))))
    }

    async fn send(&self, method: Method, path: &str, payload: Option<Payload>) -> Result<Body, RequestError> {
        let mut request = http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.prefix))
            .header(http::header::ACCEPT, "application/json");
        let body = match payload {
            Some(payload) => {
                request = request.header(http::header::CONTENT_TYPE, payload.media_type);
                Body::from(payload.text)
            }
            None => Body::empty(),
        };
        let request = request.body(body).map_err(RequestError::Path)?;
        let answer = self
            .site
            .client()
            .send(request)
            .await
            .map_err(|source| RequestError::Transport(Box::new(source)))?;
        let code = answer.status();
        if code.is_success() {
            return Ok(answer.into_body());
        }
        let text = collect(answer.into_body(), MAX_STATUS).await.unwrap_or_default();
        Err(RequestError::refused(code, &text))
    }
}

/// The body of a request.
struct Payload {
    media_type: &'static str,
    text: Vec<u8>,
}

impl Payload {
    fn json(media_type: &'static str, value: &impl Serialize) -> Result<Self, RequestError> {
        let text = serde_json::to_vec(value).map_err(RequestError::Encode)?;
        Ok(Self { media_type, text })
    }
}

async fn collect(body: Body, limit: usize) -> Result<Bytes, RequestError> {
    let collected = Limited::new(body, limit).collect().await;
    Ok(collected.map_err(RequestError::Body)?.to_bytes())
}

fn decode<T: DeserializeOwned>(text: &[u8]) -> Result<T, RequestError> {
    serde_json::from_slice(text).map_err(RequestError::Decode)
}

/// Why there is no [`Base`].
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// The kubeconfig cannot be read, or lacks the context or something that it refers to.
    #[error("kubeconfig {}", path.display())]
    Kubeconfig {
        /// Of the kubeconfig.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<KubeconfigError>,
    },
    /// Not an absolute URL, or one of another scheme than kcp's base URL.
    #[error("{0:?} is no URL of kcp that can be used")]
    Url(String),
    /// Its certificates or other credentials cannot be used.
    #[error("no client for kcp")]
    Client(#[source] Box<kube::Error>),
}

/// Why kcp did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// It said so.
    #[error("kcp answered {code}: {message}")]
    Refused {
        /// The HTTP status.
        code: StatusCode,
        /// The `message` of its metav1.Status, at most 1,000 characters; for the operator.
        message: String,
    },
    /// It could not be reached, or the connection broke.
    #[error("kcp cannot be reached")]
    Transport(#[source] Box<kube::Error>),
    /// It did not answer in time.
    #[error("kcp did not answer in time")]
    TimedOut,
    /// The answer broke off, or was too large.
    #[error("kcp's answer cannot be read")]
    Body(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The answer is not what was asked for.
    #[error("kcp's answer cannot be decoded")]
    Decode(#[source] serde_json::Error),
    /// What was to be sent has no JSON.
    #[error("the request cannot be encoded")]
    Encode(#[source] serde_json::Error),
    /// What was asked for has no URL.
    #[error("the request has no URL")]
    Path(#[source] http::Error),
}

impl RequestError {
    fn refused(code: StatusCode, text: &[u8]) -> Self {
        let status = serde_json::from_slice::<kube::core::Status>(text).unwrap_or_default();
        let printable = status.message.chars().filter(|c| !c.is_control());
        Self::Refused {
            code,
            message: printable.take(1000).collect(),
        }
    }

    /// The HTTP status with which kcp refused.
    pub const fn code(&self) -> Option<StatusCode> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Whether kcp answered 404.
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(StatusCode::NOT_FOUND)
    }

    /// Whether kcp answered 403.
    pub fn is_forbidden(&self) -> bool {
        self.code() == Some(StatusCode::FORBIDDEN)
    }

    /// Whether kcp answered 409.
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(StatusCode::CONFLICT)
    }

    /// Whether kcp answered 410: a resource version is too old.
    pub fn is_gone(&self) -> bool {
        self.code() == Some(StatusCode::GONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logical_cluster_is_cut_off_the_url() {
        let base = |url: &str| without_cluster(&url.parse().unwrap()).map(|url| url.to_string());
        for (url, expected) in [
            ("https://kcp:6443", "https://kcp:6443/"),
            ("https://kcp:6443/", "https://kcp:6443/"),
            ("https://kcp:6443/clusters/root", "https://kcp:6443/"),
            ("https://kcp:6443/clusters/root:platform/", "https://kcp:6443/"),
            (
                "https://kcp/services/apiexport/abc/e/clusters/*",
                "https://kcp/services/apiexport/abc/e/",
            ),
        ] {
            assert_eq!(base(url).unwrap(), expected, "{url}");
        }
        assert!(base("/clusters/root").is_err());
    }

    #[test]
    fn a_refusal_keeps_what_the_status_says() {
        let error = RequestError::refused(
            StatusCode::FORBIDDEN,
            br#"{"kind":"Status","message":"no\nway","code":403}"#,
        );
        assert!(error.is_forbidden());
        assert_eq!(error.to_string(), "kcp answered 403 Forbidden: noway");
        assert!(RequestError::refused(StatusCode::NOT_FOUND, b"<html>").is_not_found());
    }
}
