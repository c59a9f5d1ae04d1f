//! Why a request failed, by whose fault, and the one table that turns that into a [`Status`].

use std::borrow::Cow;

use structural_schema::field;
use structural_schema::json::quote;
use tracing::{debug, warn};

use crate::status::{Cause, Details, Status};

/// Largest body of a request and of an answer, bytes; the limit of kube-apiserver (`MaxRequestBodyBytes`).
pub const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;

/// A failure by whose fault it is; that decides status, log level and metric.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The caller can mend it.
    #[error(transparent)]
    Client(#[from] ClientFault),
    /// The owner of the `APIExport` and its webhook can mend it.
    #[error(transparent)]
    Provider(#[from] ProviderFault),
    /// Whoever runs kcp and this server can mend it.
    #[error(transparent)]
    Platform(#[from] PlatformFault),
}

/// What the caller did wrong, or may not do.
#[derive(Debug, thiserror::Error)]
pub enum ClientFault {
    /// A request that cannot be read as one; the words are the answer's message.
    #[error("{0}")]
    BadRequest(Cow<'static, str>),
    /// No client certificate of ours, or one that cannot be trusted.
    #[error("Unauthorized")]
    Unauthorized,
    /// Refused before any resource is looked at: a certificate that may not do this at all.
    #[error("{0}")]
    Forbidden(Cow<'static, str>),
    /// Refused by the authorizer, worded as the API server's RBAC does.
    #[error("{}", .0.message())]
    NotAllowed(Box<NotAllowed>),
    /// Nothing is served at this path.
    #[error("the server could not find the requested resource")]
    NotFound,
    /// The path is served, but not with this method.
    #[error("the server does not allow this method on the requested resource")]
    MethodNotAllowed,
    /// None of the wanted forms of the answer exists; the media types that do.
    #[error("only the following media types are accepted: {0}")]
    NotAcceptable(&'static str),
    /// As [`Self::NotAcceptable`], in the words of the container that discovery is served from.
    #[error("406: Not Acceptable\n\nAvailable representations: {0}")]
    NoRepresentation(&'static str),
    /// The metadata of one object are wanted, of a list.
    #[error("you requested PartialObjectMetadata, but the requested object is a list (*unstructured.UnstructuredList)")]
    NotAnObject,
    /// The metadata of a list are wanted, of one object.
    #[error("content is not a list")]
    NotAList,
    /// The body is in a format that is not read here; the media types that are.
    #[error("the body of the request was in an unknown format - accepted media types include: {0}")]
    UnsupportedMediaType(&'static str),
    /// The body is larger than [`MAX_BODY_BYTES`].
    #[error("Request entity too large: limit is {MAX_BODY_BYTES}")]
    BodyTooLarge,
    /// The path and query are longer than what is read.
    #[error("Request URI too long")]
    UriTooLong,
    /// The headers are larger than what is read.
    #[error("Request header fields too large")]
    HeadersTooLarge,
    /// An object or options with field errors, in the order in which Kubernetes finds them.
    #[error("{}", .0.message())]
    Invalid(Box<Invalid>),
    /// More than this consumer's share.
    #[error("{message}")]
    TooManyRequests {
        /// For people.
        message: &'static str,
        /// Seconds, at least 1.
        retry_after: u32,
    },
    /// The webhook said no; its status, made safe.
    #[error("{}", .0.message)]
    Denied(Box<Status>),
}

/// What the provider did wrong. Words are fixed: nothing of a webhook's address, transport or text is in them.
#[derive(Debug, thiserror::Error)]
pub enum ProviderFault {
    /// The nomination is known, but something about it is broken; says what, from the closed list.
    #[error("{resource} cannot be served at the moment: {reason}: {message}")]
    NotUsable {
        /// `<plural>.<group>`.
        resource: String,
        /// Stable reason of the nomination's condition.
        reason: &'static str,
        /// Fixed message of that reason.
        message: Cow<'static, str>,
    },
    /// No answer from the webhook.
    #[error("the webhook of {resource} could not be reached in time")]
    Unreachable {
        /// `<plural>.<group>`.
        resource: String,
    },
    /// Something answered, but not with an `EphemeralReview` for this request.
    #[error("the webhook of {resource} did not answer with a valid EphemeralReview")]
    BadAnswer {
        /// `<plural>.<group>`.
        resource: String,
        /// For the log: in which way it is none.
        why: &'static str,
    },
    /// An object with a list `items`, which is taken for a list of objects when it is to be written.
    #[error("*unstructured.Unstructured is not a list: no Items field in this object")]
    LikeAList,
    /// A well-formed answer that breaks the contract.
    #[error("the answer of the webhook of {resource} breaks its contract: {what}")]
    BrokenContract {
        /// `<plural>.<group>`.
        resource: String,
        /// From a closed list.
        what: &'static str,
        /// For the log: some paths of a schema-invalid answer, as far as the schema knows them, and what is wrong there.
        fields: Vec<(String, field::ErrorKind)>,
    },
}

/// What the operator's side cannot do at the moment.
#[derive(Debug, thiserror::Error)]
pub enum PlatformFault {
    /// The first complete read of the nominations is still under way, or waits for a shard that is away.
    #[error("the server has not read all resources yet")]
    NotRead,
    /// kcp could not be asked whether the caller may do this.
    #[error("the authorization of this request cannot be checked at the moment")]
    AuthorizationUnavailable,
    /// Caps of the whole server on requests or body bytes in flight.
    #[error("the server has received too many requests and has asked us to try again later")]
    Overloaded,
    /// The request went through too many virtual resources, or says so in a way that is no number.
    #[error("{0}")]
    Hops(Cow<'static, str>),
    /// A defect of this server.
    #[error("{0}")]
    Internal(Cow<'static, str>),
}

/// Who may not do what.
#[derive(Debug)]
pub struct NotAllowed {
    /// Name of the caller.
    pub user: String,
    /// `create`, `list`, `get`.
    pub verb: String,
    /// API group of the resource.
    pub group: String,
    /// Plural name of the resource.
    pub resource: String,
    /// Namespace of the request, if it has one.
    pub namespace: Option<String>,
    /// Name in the request, if it has one.
    pub name: Option<String>,
    /// Why, in words that are safe for the caller.
    pub reason: std::sync::Arc<str>,
}

impl NotAllowed {
    /// As `apiserver/pkg/endpoints/handlers/responsewriters.forbiddenMessage` and `NewForbidden` word it.
    fn message(&self) -> String {
        let name = self
            .name
            .as_ref()
            .map(|name| format!(" {}", quote(name)))
            .unwrap_or_default();
        let scope = match &self.namespace {
            Some(namespace) => format!("in the namespace {}", quote(namespace)),
            None => "at the cluster scope".to_owned(),
        };
        format!(
            "{}{name} is forbidden: User {} cannot {} resource {} in API group {} {scope}: {}",
            qualified(&self.resource, &self.group),
            quote(&self.user),
            self.verb,
            quote(&self.resource),
            quote(&self.group),
            self.reason
        )
    }
}

/// An object, or the options of a request, and what is wrong with its fields.
#[derive(Debug)]
pub struct Invalid {
    /// API group of the kind.
    pub group: String,
    /// Kind of the object.
    pub kind: String,
    /// Name of the object; may be empty.
    pub name: String,
    /// At least one.
    pub errors: field::Errors,
}

impl Invalid {
    /// As `apierrors.NewInvalid` words it.
    fn message(&self) -> String {
        let kind = qualified(&self.kind, &self.group);
        format!("{kind} {} is invalid: {}", quote(&self.name), self.errors.aggregate())
    }
}

/// `<name>.<group>`, or the name alone in the core group: `GroupKind.String` and `GroupResource.String`.
pub(crate) fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() {
        name.to_owned()
    } else {
        format!("{name}.{group}")
    }
}

impl Fault {
    /// Tells the operator, at the level that is due to whose fault it is. Of an object that breaks its schema only the
    /// paths are told: its content is nobody's but the consumer's and the provider's.
    pub fn log(&self) {
        match self {
            Self::Client(fault) => debug!(%fault, "refused a request"),
            Self::Provider(ProviderFault::BadAnswer { resource, why }) => {
                warn!(resource, why, "a webhook did not answer with a valid EphemeralReview");
            }
            Self::Provider(ProviderFault::BrokenContract { resource, what, fields }) => {
                warn!(resource, what, ?fields, "an answer breaks its contract");
            }
            Self::Provider(fault) => debug!(%fault, "could not answer a request"),
            Self::Platform(fault) => warn!(%fault, "could not answer a request"),
        }
    }

    /// The table: what a client is answered for each fault.
    pub fn status(&self) -> Status {
        let message = self.to_string();
        let plain = |code, reason| Status::new(code, reason, message.clone());
        let empty_details = |code, reason| plain(code, reason).with_details(Details::default());
        match self {
            Self::Client(fault) => match fault {
                ClientFault::BadRequest(_) => plain(400, "BadRequest"),
                ClientFault::Unauthorized => plain(401, "Unauthorized"),
                ClientFault::Forbidden(_) => plain(403, "Forbidden"),
                ClientFault::NotAllowed(not) => plain(403, "Forbidden").with_details(Details {
                    name: not.name.clone().unwrap_or_default(),
                    group: not.group.clone(),
                    kind: not.resource.clone(),
                    ..Details::default()
                }),
                ClientFault::NotFound => empty_details(404, "NotFound"),
                ClientFault::MethodNotAllowed => empty_details(405, "MethodNotAllowed"),
                ClientFault::NotAcceptable(_) | ClientFault::NotAnObject => plain(406, "NotAcceptable"),
                ClientFault::NoRepresentation(_) => empty_details(406, "NotAcceptable"),
                ClientFault::NotAList => plain(500, ""),
                ClientFault::BodyTooLarge => plain(413, "RequestEntityTooLarge"),
                ClientFault::UnsupportedMediaType(_) => plain(415, "UnsupportedMediaType"),
                ClientFault::Invalid(invalid) => plain(422, "Invalid").with_details(Details {
                    name: invalid.name.clone(),
                    group: invalid.group.clone(),
                    kind: invalid.kind.clone(),
                    causes: invalid.errors.iter().map(Cause::from).collect(),
                    ..Details::default()
                }),
                ClientFault::TooManyRequests { retry_after, .. } => too_many_requests(message, *retry_after),
                ClientFault::UriTooLong => plain(414, ""),
                ClientFault::HeadersTooLarge => plain(431, ""),
                ClientFault::Denied(status) => (**status).clone(),
            },
            Self::Provider(fault) => match fault {
                ProviderFault::NotUsable { .. }
                | ProviderFault::Unreachable { .. }
                | ProviderFault::BadAnswer { .. } => plain(503, "ServiceUnavailable"),
                ProviderFault::LikeAList => plain(500, ""),
                ProviderFault::BrokenContract { .. } => internal_error(&message),
            },
            Self::Platform(fault) => match fault {
                PlatformFault::NotRead | PlatformFault::AuthorizationUnavailable => plain(503, "ServiceUnavailable"),
                PlatformFault::Overloaded => too_many_requests(message, 1),
                PlatformFault::Hops(_) | PlatformFault::Internal(_) => internal_error(&message),
            },
        }
    }
}

/// As `apierrors.NewTooManyRequests`.
fn too_many_requests(message: String, retry_after: u32) -> Status {
    Status::new(429, "TooManyRequests", message).with_details(Details {
        retry_after_seconds: Some(retry_after),
        ..Details::default()
    })
}

/// As `apierrors.NewInternalError`.
fn internal_error(message: &str) -> Status {
    let cause = Cause {
        message: message.to_owned(),
        ..Cause::default()
    };
    Status::new(500, "InternalError", format!("Internal error occurred: {message}")).with_details(Details {
        causes: vec![cause],
        ..Details::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_by_rbac_is_worded_as_the_api_server_words_it() {
        let mut refusal = NotAllowed {
            user: "alice".into(),
            verb: "create".into(),
            group: "vec.example.com".into(),
            resource: "rvs".into(),
            namespace: Some("default".into()),
            name: None,
            reason: "access denied".into(),
        };
        assert_eq!(
            refusal.message(),
            "rvs.vec.example.com is forbidden: User \"alice\" cannot create resource \"rvs\" \
             in API group \"vec.example.com\" in the namespace \"default\": access denied"
        );
        refusal.name = Some("one".into());
        refusal.namespace = None;
        assert_eq!(
            refusal.message(),
            "rvs.vec.example.com \"one\" is forbidden: User \"alice\" cannot create resource \"rvs\" \
             in API group \"vec.example.com\" at the cluster scope: access denied"
        );
    }

    #[test]
    fn a_503_never_tells_client_go_to_repeat_the_call() {
        let faults: [Fault; 4] = [
            ProviderFault::Unreachable { resource: "r".into() }.into(),
            ProviderFault::BadAnswer {
                resource: "r".into(),
                why: "w",
            }
            .into(),
            PlatformFault::NotRead.into(),
            PlatformFault::AuthorizationUnavailable.into(),
        ];
        for fault in faults {
            let status = fault.status();
            assert_eq!((status.code, status.retry_after()), (503, None), "{status:?}");
        }
    }
}
