use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::object::{self, Object};
use crate::{KIND, ReviewVersion, Status, null_as_default};

/// The answer as the webhook sends it: `{apiVersion, kind, response}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    from = "Object<Envelope<O>>",
    bound(deserialize = "O: Deserialize<'de>")
)]
pub struct ReviewResponse<O> {
    /// The version of the review that this answers.
    pub api_version: ReviewVersion,
    kind: Kind,
    /// The answer.
    pub response: Response<O>,
}

impl<O> ReviewResponse<O> {
    /// The answer to a review that was spoken in `api_version`.
    pub const fn new(api_version: ReviewVersion, response: Response<O>) -> Self {
        Self {
            api_version,
            kind: Kind,
            response,
        }
    }
}

/// The wire form of an answer, as it is read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<O> {
    api_version: ReviewVersion,
    kind: Kind,
    response: Response<O>,
}

impl<O> From<Object<Envelope<O>>> for ReviewResponse<O> {
    fn from(Object(envelope): Object<Envelope<O>>) -> Self {
        let Envelope {
            api_version,
            kind,
            response,
        } = envelope;
        Self {
            api_version,
            kind,
            response,
        }
    }
}

/// What a webhook answers to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response<O> {
    /// The uid of the request. A reader must compare it.
    pub uid: String,
    /// Allowed with an object, or denied with a status.
    pub verdict: Verdict<O>,
    /// Warnings for the consumer, each best within 120 characters; absent on the wire when there are none.
    pub warnings: Vec<String>,
}

/// The two ways to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<O> {
    /// `allowed: true`. A `status` beside it is not looked at, as in `AdmissionReview`.
    Allowed {
        /// The answered object. An answer without it is well-formed and breaks the contract; who writes one gives it.
        object: Option<O>,
    },
    /// `allowed: false`. An `object` beside it is not looked at.
    Denied {
        /// Why; empty where the answer had none.
        status: Box<Status>,
    },
}

impl<O: Serialize> Serialize for Response<O> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (allowed, object, status) = match &self.verdict {
            Verdict::Allowed { object } => (true, object.as_ref(), None),
            Verdict::Denied { status } => (false, None, Some(&**status)),
        };
        Written {
            uid: &self.uid,
            allowed,
            object,
            status,
            warnings: &self.warnings,
        }
        .serialize(serializer)
    }
}

impl<'de, O: Deserialize<'de>> Deserialize<'de> for Response<O> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Object(Read {
            uid,
            allowed,
            object,
            status,
            warnings,
        }) = Object::deserialize(deserializer)?;
        let verdict = if allowed {
            Verdict::Allowed { object }
        } else {
            Verdict::Denied {
                status: Box::new(status.unwrap_or_default()),
            }
        };
        Ok(Self { uid, verdict, warnings })
    }
}

/// The wire form of a response, as it is written.
#[derive(Serialize)]
struct Written<'a, O> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'a O>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a Status>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
}

/// The wire form of a response, as it is read. `allowed` has no default: an answer must say it.
#[derive(Deserialize)]
struct Read<O> {
    uid: String,
    allowed: bool,
    object: Option<O>,
    #[serde(default, deserialize_with = "object::optional")]
    status: Option<Status>,
    #[serde(default, deserialize_with = "null_as_default")]
    warnings: Vec<String>,
}

/// The `kind` field, which has one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind;

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(KIND)
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(KindVisitor)
    }
}

struct KindVisitor;

impl de::Visitor<'_> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the kind {KIND}")
    }

    fn visit_str<E: de::Error>(self, kind: &str) -> Result<Self::Value, E> {
        if kind == KIND {
            Ok(Kind)
        } else {
            Err(E::custom(format_args!("unknown kind, expected {KIND}")))
        }
    }
}
