//! Webhooks as the server calls them: what the index nominates, made callable by the webhook client.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use ephemeral_apiserver::Webhook;
use ephemeral_apiserver::webhook::{Call, CallError, Handle};
use ephemeral_index::{EndpointFactory, EndpointInput, EndpointProblem};
use ephemeral_webhook_client::{self as client, Endpoint, EndpointSpec, Failure, WebhookClient};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tracing::{debug, warn};

use crate::errors::one_line;

/// Makes the handles of nominations.
#[derive(Debug)]
pub(crate) struct Webhooks {
    /// Calls webhooks.
    pub(crate) client: WebhookClient,
    /// `--webhook-max-in-flight`: what a webhook gets that asks for more, or for nothing.
    pub(crate) max_in_flight: NonZeroU32,
}

impl EndpointFactory for Webhooks {
    type Handle = Handle;

    fn make(&self, input: &EndpointInput<'_>) -> Result<Handle, EndpointProblem> {
        let wished = input
            .max_in_flight
            .and_then(NonZeroU32::new)
            .unwrap_or(self.max_in_flight);
        let spec = EndpointSpec {
            cluster: input.cluster,
            url: input.url,
            ca_bundle: input.ca_bundle,
            max_in_flight: wished.min(self.max_in_flight),
        };
        match self.client.endpoint(&spec, SystemTime::now()) {
            Ok(endpoint) => Ok(Arc::new(Remote {
                endpoint,
                cluster: input.cluster.into(),
                url: input.url.into(),
            })),
            Err(error) => {
                // Only the operator learns what exactly was refused.
                warn!(
                    provider = input.cluster,
                    url = input.url,
                    error = one_line(&error),
                    "a webhook cannot be used"
                );
                Err(match error {
                    client::EndpointProblem::UrlInvalid(_) => EndpointProblem::UrlInvalid,
                    client::EndpointProblem::UrlRefused(_) => EndpointProblem::UrlRefused,
                    client::EndpointProblem::CaBundleInvalid(_) => EndpointProblem::CaBundleInvalid,
                    client::EndpointProblem::CaBundleExpired => EndpointProblem::CaBundleExpired,
                })
            }
        }
    }
}

/// A webhook somewhere on the network.
struct Remote {
    endpoint: Endpoint,
    cluster: Box<str>,
    url: Box<str>,
}

impl Webhook for Remote {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Bytes, CallError>> {
        let Call {
            body,
            consumer,
            deadline,
            trace_parent,
        } = call;
        let call = client::Call {
            body,
            consumer,
            deadline,
            traceparent: trace_parent,
        };
        async move {
            match self.endpoint.call(call).await {
                Ok(answer) => Ok(answer.body),
                Err(error) => Err(self.failure(&error)),
            }
        }
        .boxed()
    }
}

impl Remote {
    fn failure(&self, error: &client::CallError) -> CallError {
        let failure = error.failure();
        if failure == Failure::Full {
            debug!(
                provider = &*self.cluster,
                url = &*self.url,
                "a webhook has no room for another call"
            );
        } else {
            let kind = error.kind();
            warn!(
                provider = &*self.cluster,
                url = &*self.url,
                kind,
                error = one_line(error),
                "a webhook did not answer"
            );
        }
        match failure {
            Failure::Full => CallError::Full,
            Failure::Unreachable => CallError::Unreachable,
            Failure::BadAnswer => CallError::BadAnswer,
            Failure::Local => CallError::NotMade,
        }
    }
}
