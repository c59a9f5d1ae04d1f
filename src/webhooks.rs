//! Webhooks as the server calls them: what the index nominates, made callable by the webhook client.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use ephemeral_apiserver::Webhook;
use ephemeral_apiserver::webhook::{Call, CallError, Handle};
use ephemeral_index::{EndpointFactory, EndpointInput, EndpointProblem};
use ephemeral_webhook_client::{self as client, Endpoint, EndpointSpec, Failure, WebhookClient};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::calls::{Observed, Tally};
use crate::errors::one_line;

/// Makes the handles of nominations.
#[derive(Debug)]
pub(crate) struct Webhooks {
    /// Calls webhooks.
    pub(crate) client: WebhookClient,
    /// Where it is noted what calls meet, if anybody is to be told.
    pub(crate) observed: Option<Arc<Observed>>,
    /// `--webhook-max-in-flight`: what a webhook gets that asks for more, or for nothing.
    pub(crate) max_in_flight: NonZeroU32,
}

impl EndpointFactory for Webhooks {
    type Handle = Handle;

    fn make(&self, input: &EndpointInput<'_>) -> Result<Handle, EndpointProblem> {
        match self.endpoint(input) {
            Ok(endpoint) => Ok(Arc::new(Remote {
                endpoint,
                tally: self
                    .observed
                    .as_ref()
                    .zip(input.webhook)
                    .map(|(observed, webhook)| observed.begin(input.cluster, webhook)),
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
                Err(told(&error))
            }
        }
    }

    fn check(&self, input: &EndpointInput<'_>) -> Result<(), EndpointProblem> {
        self.endpoint(input).map(drop).map_err(|error| told(&error))
    }
}

impl Webhooks {
    fn endpoint(&self, input: &EndpointInput<'_>) -> Result<Endpoint, client::EndpointProblem> {
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
        self.client.endpoint(&spec, SystemTime::now())
    }
}

/// What providers are told of it.
const fn told(problem: &client::EndpointProblem) -> EndpointProblem {
    match problem {
        client::EndpointProblem::UrlInvalid(_) => EndpointProblem::UrlInvalid,
        client::EndpointProblem::UrlRefused(_) => EndpointProblem::UrlRefused,
        client::EndpointProblem::CaBundleInvalid(_) => EndpointProblem::CaBundleInvalid,
        client::EndpointProblem::CaBundleExpired => EndpointProblem::CaBundleExpired,
    }
}

/// A webhook somewhere on the network.
struct Remote {
    endpoint: Endpoint,
    tally: Option<Arc<Tally>>,
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
            let given = deadline.saturating_duration_since(Instant::now());
            match self.endpoint.call(call).await {
                Ok(answer) => {
                    if let Some(tally) = &self.tally {
                        tally.answered(answer.client_certificate_requested);
                    }
                    Ok(answer.body)
                }
                Err(error) => {
                    if let Some(tally) = self.tally.as_ref().filter(|_| is_the_webhooks(&error, given)) {
                        tally.failed();
                    }
                    Err(self.failure(&error))
                }
            }
        }
        .boxed()
    }
}

/// Whether a failure says anything of the webhook. Not where there was no room for the call or this host could not make
/// it; and not where its consumer gave it less time than any `timeoutSeconds` would: consumers must not be able to have
/// a provider told that calls fail.
fn is_the_webhooks(error: &client::CallError, given: Duration) -> bool {
    match error.failure() {
        Failure::Full | Failure::Local => false,
        Failure::Unreachable | Failure::BadAnswer => {
            given >= LEAST_TIMEOUT || !matches!(error, client::CallError::TimedOut(_))
        }
    }
}

/// The smallest `timeoutSeconds`, less what a create takes before it calls.
const LEAST_TIMEOUT: Duration = Duration::from_millis(900);

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
            Failure::Local => CallError::Overloaded,
        }
    }
}
