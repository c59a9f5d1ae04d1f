use bytes::Bytes;
use http::{HeaderMap, Method, Uri, Version};
use rustls_pki_types::CertificateDer;
use serde_json::Value;

use crate::json;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The method.
    pub method: Method,
    /// The URI, with scheme and authority on HTTP/2.
    pub uri: Uri,
    /// The protocol that was spoken.
    pub version: Version,
    /// All headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
    /// The client's certificate chain; empty when it sent none.
    pub certificates: Vec<CertificateDer<'static>>,
    /// The number of the connection, from zero; two requests with the same number shared one.
    pub connection: usize,
}

impl Recorded {
    /// The body as JSON; panics with the body if it is not.
    pub fn json(&self) -> Value {
        let text = || String::from_utf8_lossy(&self.body).into_owned();
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", text()))
    }

    /// The exact bytes of `request.object`; `null` if there is none.
    pub fn object(&self) -> &[u8] {
        json::raw(&self.body, &["request", "object"]).unwrap_or(b"null")
    }

    /// The string at `path` of the body; empty if there is none.
    pub fn text(&self, path: &[&str]) -> String {
        let text = json::raw(&self.body, path).and_then(|raw| serde_json::from_slice(raw).ok());
        text.unwrap_or_default()
    }
}
