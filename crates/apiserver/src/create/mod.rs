//! The way of a create, in the seven steps of the design.

mod answer;
mod decode;
mod heavy;
mod question;
mod review;

use std::sync::Arc;

use bytes::Bytes;
use ephemeral_index::{FailurePolicy, Nomination, Problem, ResourceSchema, Usable};
use http::HeaderValue;
use http::request::Parts;
use http_body::Body;
use structural_schema::Map;
use tokio::time::Instant;

use crate::fault::{ClientFault, Fault, PlatformFault, ProviderFault, qualified};
use crate::flow::{Flow, Room};
use crate::identity::Caller;
use crate::negotiate::{self, Media, Output};
use crate::options::{self, CreateOptions};
use crate::table::IncludeObject;
use crate::warning::Warnings;
use crate::webhook::{Call, CallError, Handle};
pub use heavy::Heavy;
use question::{Asked, Question};
use review::Sent;

/// Bodies from this size on, bytes, are read off the threads that serve connections: a parse of 3 MiB takes as long as
/// a thousand small requests.
const LARGE_BODY: usize = 128 * 1024;

/// What a consumer is told when the webhook could not be reached and the provider chose to ignore that.
const NOT_ANSWERED: &str = "this resource could not be answered at the moment; the object is returned as it was submitted, \
     without a status";

/// A create whose caller is known and allowed.
pub struct Create<'a> {
    /// The caller.
    pub caller: &'a Caller,
    /// The consumer's logical cluster.
    pub consumer: &'a str,
    /// The nomination.
    pub nomination: &'a Nomination<Handle>,
    /// The resource as the consumer sees it.
    pub resource: Arc<ResourceSchema>,
    /// The version in the path.
    pub version: &'a str,
    /// The namespace in the path.
    pub namespace: Option<&'a str>,
    /// When the request arrived.
    pub received: Instant,
    /// W3C trace context, passed on to the webhook as it came.
    pub trace_parent: Option<HeaderValue>,
}

/// The object that the consumer gets, and in which form.
#[derive(Debug)]
pub struct Answered {
    /// The object.
    pub object: Map,
    /// The form.
    pub(crate) output: Output,
    /// What of the object is in the rows of a `Table`.
    pub(crate) include: IncludeObject,
}

/// What the webhook is to be asked.
struct Calling<'a> {
    usable: &'a Usable<Handle>,
    asked: Arc<Asked>,
    question: Question,
    /// When the answer must be there.
    deadline: Instant,
}

/// What the steps need of the server.
#[derive(Clone, Debug)]
pub struct Means {
    /// Limits.
    pub flow: Arc<Flow>,
    /// Places for work that would hold up the threads which serve connections.
    pub heavy: Arc<Heavy>,
}

impl Create<'_> {
    /// Steps 3 to 7 (1 and 2 found the caller and the nomination): the object that the consumer gets, and in which
    /// form. Warnings are collected on the way, for an error too.
    pub async fn run<B>(
        self,
        means: &Means,
        parts: &Parts,
        body: B,
        room: &mut Room,
        warnings: &mut Warnings,
    ) -> Result<Answered, Fault>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let client_timeout = options::timeout(parts.uri.query().unwrap_or_default())?;
        let usable = self.usable()?;
        means.flow.take_token(self.consumer, &self.webhook_key())?;
        let query = parts.uri.query().unwrap_or_default();
        let output = negotiate::negotiate_output(parts)?;
        let input = negotiate::negotiate_input(&parts.headers)?;
        let body = means.flow.read(&parts.headers, body, room).await?;
        let asked = Arc::new(self.asked(query)?);
        let question = means
            .read(self.nomination, &asked, input.media()?, body, warnings)
            .await?;
        // Kubernetes judges it when the object is created already; here nothing has been asked yet.
        let include = IncludeObject::of(output.target, query)?;
        // The webhook's time begins when it is called, the client's when the request came.
        let given = Instant::now() + usable.timeout;
        let deadline = client_timeout.map_or(given, |timeout| given.min(self.received + timeout));
        let call = Calling {
            usable,
            asked,
            question,
            deadline,
        };
        let object = self.answer(means, call, room, warnings).await?;
        Ok(Answered {
            object,
            output,
            include,
        })
    }

    /// How the webhook can be called, or 503 with the reason. A refused URL reads like any webhook that does not
    /// answer: what the operator's policy refuses is not for consumers to find out.
    fn usable(&self) -> Result<&Usable<Handle>, Fault> {
        self.nomination.state.as_ref().map_err(|problem| match problem {
            Problem::UrlRefused => self.unreachable(),
            problem => not_usable(self.nomination, problem),
        })
    }

    fn asked(&self, query: &str) -> Result<Asked, Fault> {
        let options = CreateOptions::from_query(query)?;
        let version = self
            .resource
            .version(self.version)
            .ok_or(ClientFault::NotFound)?
            .clone();
        let schema = match &version.schema {
            Ok(schema) => Arc::clone(schema),
            Err(problem) => {
                return Err(not_usable(
                    self.nomination,
                    &Problem::SchemaUnsupported(problem.clone()),
                ));
            }
        };
        let namespace = self.namespace.map(str::to_owned);
        Ok(Asked {
            resource: Arc::clone(&self.resource),
            version,
            schema,
            namespace,
            options,
        })
    }

    /// Steps 5 and 6: one review, and what its answer makes of the question.
    async fn answer(
        &self,
        means: &Means,
        calling: Calling<'_>,
        room: &mut Room,
        warnings: &mut Warnings,
    ) -> Result<Map, Fault> {
        let Calling {
            usable,
            asked,
            question,
            deadline,
        } = calling;
        let sent = Sent::new(usable.review_version, usable.spec_ownership);
        let body = sent
            .encode(&asked, &question, self.nomination, self.consumer, &self.caller.user)
            .map_err(|_| PlatformFault::Internal("the review could not be encoded".into()))?;
        // Defaults can make much of a small body.
        if body.len() > ephemeral_review::MAX_REQUEST_BYTES {
            return Err(ClientFault::BodyTooLarge.into());
        }
        // The answer is counted where it is read.
        room.resize(question.memory + body.len())?;
        let call = Call {
            body,
            consumer: self.consumer.into(),
            deadline,
            trace_parent: self.trace_parent.clone(),
        };
        match usable.handle.call(call).await {
            Ok(answer) => {
                means
                    .check(self.nomination, asked, question, sent, answer, warnings)
                    .await
            }
            Err(CallError::Full) => Err(ClientFault::TooManyRequests {
                message: "too many requests to this resource are under way, please try again later",
                retry_after: 1,
            }
            .into()),
            Err(CallError::Unreachable) if usable.failure_policy == FailurePolicy::Ignore => {
                warnings.add(NOT_ANSWERED);
                Ok(question.object)
            }
            Err(CallError::Unreachable) => Err(self.unreachable()),
            Err(CallError::Overloaded) => Err(PlatformFault::Overloaded.into()),
            Err(CallError::BadAnswer) => Err(ProviderFault::BadAnswer {
                resource: self.resource_name(),
                why: "it is not HTTP 200, or too large",
            }
            .into()),
        }
    }

    /// Distinguishes the webhooks of all providers.
    fn webhook_key(&self) -> String {
        let Nomination {
            cluster, webhook_name, ..
        } = self.nomination;
        format!("{cluster}/{webhook_name}")
    }

    fn resource_name(&self) -> String {
        qualified(&self.nomination.resource, &self.nomination.group)
    }

    fn unreachable(&self) -> Fault {
        ProviderFault::Unreachable {
            resource: self.resource_name(),
        }
        .into()
    }
}

/// 503 with the reason of a problem.
pub(crate) fn not_usable(nomination: &Nomination<Handle>, problem: &Problem) -> Fault {
    let resource = qualified(&nomination.resource, &nomination.group);
    ProviderFault::NotUsable {
        resource,
        reason: problem.reason(),
        message: problem.message(),
    }
    .into()
}

impl Means {
    /// Step 4.
    async fn read(
        &self,
        nomination: &Nomination<Handle>,
        asked: &Arc<Asked>,
        media: Media,
        body: Bytes,
        warnings: &mut Warnings,
    ) -> Result<Question, Fault> {
        let heavy = body.len() >= LARGE_BODY || asked.schema.has_costly_rules();
        let asked = Arc::clone(asked);
        let read = move || {
            let mut warnings = Vec::new();
            (asked.read(media, &body, &mut warnings), warnings)
        };
        let (question, texts) = self.perform(nomination, heavy, read).await?;
        warnings.extend(texts);
        question
    }

    /// Step 6.
    async fn check(
        &self,
        nomination: &Nomination<Handle>,
        asked: Arc<Asked>,
        question: Question,
        sent: Sent,
        body: Bytes,
        warnings: &mut Warnings,
    ) -> Result<Map, Fault> {
        let heavy = body.len() >= LARGE_BODY || asked.schema.has_costly_rules();
        let check = move || {
            let mut warnings = Vec::new();
            (answer::read(&asked, &question, &sent, &body, &mut warnings), warnings)
        };
        let (object, texts) = self.perform(nomination, heavy, check).await?;
        warnings.extend(texts);
        object
    }

    /// Works here, or, where that could hold up other requests, on a thread for it, of which there are few.
    async fn perform<T: Send + 'static>(
        &self,
        nomination: &Nomination<Handle>,
        heavy: bool,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Fault> {
        if !heavy {
            return Ok(work());
        }
        let internal = || PlatformFault::Internal("the object could not be processed".into());
        let place = self.heavy.enter(&nomination.cluster, &nomination.webhook_name).await;
        let place = place.map_err(|_| internal())?;
        let worked = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(place);
            done
        });
        Ok(worked.await.map_err(|_| internal())?)
    }
}
