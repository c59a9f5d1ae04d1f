use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use hyper::body::{Body, Frame};
use serde_json::{Value, json};
use tokio::time::Sleep;

use super::Recorded;

/// What the webhook does with one request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Answers.
    Answer {
        /// The HTTP status.
        status: StatusCode,
        /// The headers, beside those that HTTP itself needs.
        headers: HeaderMap,
        /// The body.
        body: Script,
    },
    /// Never answers; the connection stays open.
    Hang,
    /// Closes the connection (HTTP/1.1) or resets the stream (HTTP/2) without an answer.
    Close,
    /// Does something else after a while.
    After(Duration, Box<Self>),
}

impl Reply {
    /// Allows the submitted object as it is, in the version asked.
    pub fn echo(request: &Recorded) -> Self {
        let mut body = Vec::from(r#"{"apiVersion":"#);
        body.extend(quoted(&request.text(&["apiVersion"])));
        body.extend(br#","kind":"EphemeralReview","response":{"uid":"#);
        body.extend(quoted(&request.text(&["request", "uid"])));
        body.extend(br#","allowed":true,"object":"#);
        body.extend(request.object());
        body.extend(b"}}");
        Self::body(StatusCode::OK, body)
    }

    /// Allows `object`, in the version asked.
    pub fn allow(request: &Recorded, object: &Value) -> Self {
        Self::respond(request, json!({"allowed": true, "object": object}))
    }

    /// Allows the submitted object with this status, in the version asked.
    pub fn with_status(request: &Recorded, status: Value) -> Self {
        let mut object: Value = serde_json::from_slice(request.object()).expect("the object of a review");
        object["status"] = status;
        Self::allow(request, &object)
    }

    /// Denies with this `metav1.Status`, in the version asked.
    pub fn deny(request: &Recorded, status: &Value) -> Self {
        Self::respond(request, json!({"allowed": false, "status": status}))
    }

    /// Answers with this `response`, to which the uid is added unless it has one, in the version asked.
    pub fn respond(request: &Recorded, mut response: Value) -> Self {
        if response.get("uid").is_none() {
            response["uid"] = request.text(&["request", "uid"]).into();
        }
        let review = json!({
            "apiVersion": request.text(&["apiVersion"]),
            "kind": "EphemeralReview",
            "response": response,
        });
        Self::json(StatusCode::OK, &review)
    }

    /// Answers with any JSON.
    pub fn json(status: StatusCode, body: &Value) -> Self {
        Self::body(status, body.to_string())
    }

    /// Answers with any body, called `application/json`.
    pub fn body(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self::script(status, Script::new(body))
    }

    /// Answers with a body that comes as the script says, called `application/json`.
    pub fn script(status: StatusCode, body: Script) -> Self {
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        Self::Answer { status, headers, body }
    }

    /// The same with a header set; only an answer has headers.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.insert(name, value.parse().expect("a valid header value"));
        }
        self
    }

    /// The same after a while.
    #[must_use]
    pub fn after(self, pause: Duration) -> Self {
        Self::After(pause, Box::new(self))
    }

    pub(super) async fn play(self) -> io::Result<Response<Script>> {
        let mut reply = self;
        loop {
            match reply {
                Self::After(pause, next) => {
                    tokio::time::sleep(pause).await;
                    reply = *next;
                }
                Self::Hang => return pending().await,
                Self::Close => return Err(io::ErrorKind::ConnectionAborted.into()),
                Self::Answer { status, headers, body } => {
                    let mut response = Response::new(body);
                    *response.status_mut() = status;
                    *response.headers_mut() = headers;
                    return Ok(response);
                }
            }
        }
    }
}

/// How a body comes to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// As it should.
    #[default]
    Finish,
    /// Never: nothing more comes and the connection stays open.
    Hang,
    /// Not at all: the connection is closed.
    Close,
}

/// A body in pieces.
#[derive(Debug)]
pub struct Script {
    pieces: VecDeque<Bytes>,
    pause: Duration,
    end: End,
    pausing: Option<Pin<Box<Sleep>>>,
}

impl Script {
    /// A body in one piece.
    pub fn new(body: impl Into<Bytes>) -> Self {
        Self {
            pieces: VecDeque::from([body.into()]),
            pause: Duration::ZERO,
            end: End::Finish,
            pausing: None,
        }
    }

    /// A body in pieces of `size` bytes, with a pause before each.
    pub fn drip(body: impl Into<Bytes>, size: usize, pause: Duration) -> Self {
        let mut rest: Bytes = body.into();
        let mut pieces = VecDeque::new();
        while !rest.is_empty() {
            pieces.push_back(rest.split_to(size.clamp(1, rest.len())));
        }
        Self {
            pieces,
            pause,
            ..Self::new(Bytes::new())
        }
    }

    /// `length` bytes of spaces, which JSON skips, made as they are read.
    pub fn spaces(length: usize) -> Self {
        let piece = Bytes::from(vec![b' '; 64 * 1024]);
        let (whole, rest) = (length / piece.len(), length % piece.len());
        let pieces = std::iter::repeat_n(piece.clone(), whole)
            .chain([piece.slice(..rest)])
            .collect();
        Self {
            pieces,
            ..Self::new(Bytes::new())
        }
    }

    /// The same with another end.
    #[must_use]
    pub fn end(mut self, end: End) -> Self {
        self.end = end;
        self
    }
}

impl Clone for Script {
    fn clone(&self) -> Self {
        Self {
            pieces: self.pieces.clone(),
            pause: self.pause,
            end: self.end,
            pausing: None,
        }
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.pieces.is_empty() {
            return match self.end {
                End::Finish => Poll::Ready(None),
                End::Hang => Poll::Pending,
                End::Close => Poll::Ready(Some(Err(io::ErrorKind::ConnectionAborted.into()))),
            };
        }
        if !self.pause.is_zero() {
            let pause = self.pause;
            let pausing = self.pausing.get_or_insert_with(|| Box::pin(tokio::time::sleep(pause)));
            ready!(pausing.as_mut().poll(cx));
            self.pausing = None;
        }
        Poll::Ready(self.pieces.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty() && self.end == End::Finish
    }
}

fn quoted(text: &str) -> Vec<u8> {
    serde_json::to_vec(text).expect("a string is JSON")
}
