//! The seam to whatever calls webhooks: a nomination's endpoint goes in, an opaque handle comes out.

use std::fmt;

use crate::problem::Problem;

/// Makes the handle through which the webhook of a nomination is called.
///
/// A handle is made once for what it is made of: a nomination whose endpoint did not change keeps its handle, and
/// with it its connections.
pub trait EndpointFactory {
    /// What a consumer of the snapshot calls the webhook through; cloned into each snapshot that holds it.
    type Handle: Clone + Send + Sync + 'static;

    /// Judges an endpoint and makes its handle. Must not block: nothing is connected to or resolved here.
    fn make(&self, endpoint: &EndpointInput<'_>) -> Result<Self::Handle, EndpointProblem>;

    /// Judges an endpoint anew without making anything: certificates expire, and begin to be valid.
    fn check(&self, endpoint: &EndpointInput<'_>) -> Result<(), EndpointProblem> {
        self.make(endpoint).map(drop)
    }
}

/// What a handle is made of.
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct EndpointInput<'a> {
    /// The provider's logical cluster, for address rules that name it.
    pub cluster: &'a str,
    /// The name of the EphemeralWebhook, to tell what its calls meet; `None` for what an APIExport has inline.
    pub webhook: Option<&'a str>,
    /// The URL as the provider wrote it.
    pub url: &'a str,
    /// The text of `caBundle` (base64 of PEM) as the provider wrote it; `None` where the field is absent or empty,
    /// which alone means the system's trust store.
    pub ca_bundle: Option<&'a str>,
    /// Calls that may be in flight at once, as the provider wished; the operator's maximum is the factory's to apply.
    pub max_in_flight: Option<u32>,
}

/// URL and bundle are left out: a log line about an endpoint must not carry what only its provider should read.
impl fmt::Debug for EndpointInput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointInput")
            .field("cluster", &self.cluster)
            .field("max_in_flight", &self.max_in_flight)
            .finish_non_exhaustive()
    }
}

/// Why no handle can be made. A closed list without detail: what a URL resolves to must not reach its provider.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, thiserror::Error)]
pub enum EndpointProblem {
    /// Not an https URL without userinfo and fragment.
    #[error("the URL is not usable")]
    UrlInvalid,
    /// The operator's address or port policy refuses it.
    #[error("the URL is refused by the operator's policy")]
    UrlRefused,
    /// The bundle holds no certificate that can be used.
    #[error("the CA bundle is not usable")]
    CaBundleInvalid,
    /// Every certificate of the bundle has expired.
    #[error("the CA bundle has expired")]
    CaBundleExpired,
}

impl From<EndpointProblem> for Problem {
    fn from(problem: EndpointProblem) -> Self {
        match problem {
            EndpointProblem::UrlInvalid => Self::UrlInvalid,
            EndpointProblem::UrlRefused => Self::UrlRefused,
            EndpointProblem::CaBundleInvalid => Self::CaBundleInvalid,
            EndpointProblem::CaBundleExpired => Self::CaBundleExpired,
        }
    }
}
