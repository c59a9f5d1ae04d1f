use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request as HttpRequest;
use axum::response::{IntoResponse, Response as HttpResponse};
use axum::routing::post;
use bytes::Bytes;
use ephemeral_review::{
    Export, MAX_REQUEST_BYTES, MAX_RESPONSE_BYTES, Request, Response, ReviewRequest, ReviewResponse, ReviewVersion,
    Verdict,
};
use futures::FutureExt as _;
use http::{HeaderMap, StatusCode, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tracing::Instrument as _;

use crate::{Answer, Denied, Exports, Review, VerifiedClient};

/// The time for one review, from its first byte to the answer: the longest `timeoutSeconds` of a nomination, after which
/// nobody waits any more.
const DEADLINE: Duration = Duration::from_secs(30);

/// The reviews that are in memory at one time; more wait for their turn. With the largest bodies that is 1 GiB.
const MAX_IN_FLIGHT: usize = 256;

/// A webhook for one kind of object: the exports that it serves and the function that answers.
///
/// It answers with status 200 whatever the function decides; other statuses say that the review itself was not good:
/// 400 malformed or of an unknown version, 401 without a client certificate, 413 larger than 4 MiB, 415 not JSON,
/// 500 after a panic, 503 after 30 seconds, when nobody waits any more.
#[derive(Clone)]
pub struct Webhook {
    exports: Arc<Exports>,
    answer: Arc<AnswerFn>,
    turns: Arc<Semaphore>,
}

type Object = Map<String, Value>;
type Decision = Result<(Object, Vec<String>), Denied>;
type AnswerFn = dyn Fn(Request<Object>) -> Pin<Box<dyn Future<Output = Decision> + Send>> + Send + Sync;

impl Webhook {
    /// A webhook that serves these exports and no other. `answer` gets each review with its spec read as `Spec`; one
    /// that does not fit is denied as invalid without a call.
    pub fn new<Spec, Status, F, A>(exports: impl Into<Exports>, answer: F) -> Self
    where
        F: Fn(Review<Spec>) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Answer<Status>, Denied>> + Send + 'static,
        Spec: DeserializeOwned + Send + 'static,
        Status: Serialize + Send + 'static,
    {
        let answer = Arc::new(answer);
        let answer = move |request| -> Pin<Box<dyn Future<Output = Decision> + Send>> {
            let answer = Arc::clone(&answer);
            Box::pin(async move {
                let review = Review::new(request)?;
                let object = review.shared_object();
                let answer = answer(review).await?;
                // The review is gone by now, as a rule, so that nothing is copied.
                answer.into_object(Arc::unwrap_or_clone(object))
            })
        };
        Self {
            exports: Arc::new(exports.into()),
            answer: Arc::new(answer),
            turns: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
        }
    }

    /// The webhook at `path` of a router, to be served by [`Server`](crate::Server) or merged into an existing one.
    pub fn route(self, path: &str) -> Router {
        Router::new().route(path, post(move |request: HttpRequest| self.handle(request)))
    }

    async fn handle(self, request: HttpRequest) -> HttpResponse {
        match tokio::time::timeout(DEADLINE, self.review(request)).await {
            Ok(Ok(body)) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
            Ok(Err(refused)) => refused.into_response(),
            Err(_) => Refused(StatusCode::SERVICE_UNAVAILABLE, "the answer took too long".into()).into_response(),
        }
    }

    async fn review(&self, request: HttpRequest) -> Result<Vec<u8>, Refused> {
        let (parts, body) = request.into_parts();
        if parts.extensions.get::<VerifiedClient>().is_none() {
            return Err(Refused(
                StatusCode::UNAUTHORIZED,
                "a verified client certificate is required".into(),
            ));
        }
        require_json(&parts.headers)?;
        let _turn = self.turns.acquire().await.map_err(|_| Refused::internal())?;
        let body = read(body).await?;
        let envelope: ReviewRequest<IgnoredAny> =
            serde_json::from_slice(&body).map_err(|error| Refused(StatusCode::BAD_REQUEST, error.to_string()))?;
        let (version, envelope) = (envelope.api_version, envelope.request);
        let span = tracing::info_span!(
            "review",
            uid = ?envelope.uid,
            cluster = ?envelope.cluster,
            export = ?envelope.export,
            traceparent = ?parts.headers.get("traceparent"),
        );
        let decision = self.decide(envelope.export, body).instrument(span);
        // A panic ends this review and no other on the connection.
        let decision = AssertUnwindSafe(decision)
            .catch_unwind()
            .await
            .map_err(|_| Refused::internal())?;
        Ok(write(version, envelope.uid, decision))
    }

    async fn decide(&self, export: Export, body: Bytes) -> Decision {
        if !self.exports.contains(&export) {
            tracing::warn!(?export, "denied a review for an export that is not served");
            return Err(Denied::forbidden(
                "this webhook does not serve the export of the review",
            ));
        }
        let request = serde_json::from_slice(&body).map(|Asked { request }| request);
        drop(body);
        // The envelope is known to be good, so that what is wrong now is the object: nested too deep, say.
        let unreadable = |error| Denied::new(422, "Invalid", format!("the object cannot be read: {error}"));
        (self.answer)(request.map_err(unreadable)?).await
    }
}

/// What is read once the envelope is known to be good.
#[derive(Deserialize)]
struct Asked {
    request: Request<Object>,
}

/// A request that is no review, or not one that is answered.
#[derive(Debug)]
struct Refused(StatusCode, String);

impl Refused {
    fn internal() -> Self {
        Self(StatusCode::INTERNAL_SERVER_ERROR, "the webhook failed".into())
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> HttpResponse {
        let Self(status, message) = self;
        tracing::warn!(%status, message, "refused a request");
        (status, message + "\n").into_response()
    }
}

fn require_json(headers: &HeaderMap) -> Result<(), Refused> {
    let media_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Refused(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "a review is application/json".into(),
    ))
}

async fn read(body: Body) -> Result<Bytes, Refused> {
    match Limited::new(body, MAX_REQUEST_BYTES).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Refused(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("a review has at most {MAX_REQUEST_BYTES} bytes"),
        )),
        Err(error) => {
            tracing::debug!(%error, "the body broke off");
            Err(Refused(StatusCode::BAD_REQUEST, "the body broke off".into()))
        }
    }
}

fn write(version: ReviewVersion, uid: String, decision: Decision) -> Vec<u8> {
    let (verdict, warnings) = match decision {
        Ok((object, warnings)) => (Verdict::Allowed { object: Some(object) }, warnings),
        Err(denied) => denied_parts(denied),
    };
    let body = encode(&ReviewResponse::new(
        version,
        Response {
            uid: uid.clone(),
            verdict,
            warnings,
        },
    ));
    if body.len() <= MAX_RESPONSE_BYTES {
        return body;
    }
    let (verdict, warnings) = denied_parts(Denied::internal("the answer is larger than the contract allows"));
    encode(&ReviewResponse::new(version, Response { uid, verdict, warnings }))
}

fn denied_parts(denied: Denied) -> (Verdict<Object>, Vec<String>) {
    let (status, warnings) = denied.into_parts();
    (Verdict::Denied { status }, warnings)
}

fn encode(review: &ReviewResponse<Object>) -> Vec<u8> {
    serde_json::to_vec(review).expect("strings, numbers and JSON values are JSON")
}
