//! Step 6 of a create: the webhook's answer, held against the question and the schema.

use std::borrow::Cow;

use ephemeral_index::SpecOwnership;
use ephemeral_review::{self as wire, ReviewResponse, Verdict};
use serde_json::value::RawValue;
use structural_schema::{Map, Schema, Value, field, json, meta};

use super::question::{Asked, Question};
use super::review::Sent;
use crate::fault::{ClientFault, Fault, ProviderFault, qualified};
use crate::status::{Cause, Details, Status};

/// Longest message of a denial, bytes: much for people, little for a tunnel through the control plane.
const MAX_MESSAGE: usize = 8 * 1024;
/// Most causes of a denial.
const MAX_CAUSES: usize = 64;

/// Most field errors of one answer that are logged.
const MAX_LOGGED: usize = 10;

/// Most warnings of a webhook. hyper's clients, kube-rs among them, read no answer of more than 100 headers.
const MAX_WARNINGS: usize = 32;

/// Reads the answer to a question and makes of it the object that the consumer gets.
pub(crate) fn read(
    asked: &Asked,
    question: &Question,
    sent: &Sent,
    body: &[u8],
    warnings: &mut Vec<String>,
) -> Result<Map, Fault> {
    let faults = Faults {
        resource: qualified(&asked.resource.names.plural, &asked.resource.group),
    };
    // Providers cut texts within a character. Go's decoder reads what is left; the one here does once it is replaced.
    let replaced;
    let review: ReviewResponse<&RawValue> = if let Ok(review) = serde_json::from_slice(body) {
        review
    } else {
        replaced = json::replace_invalid_text(body);
        serde_json::from_str(&replaced).map_err(|_| faults.bad_answer("it is no EphemeralReview with a verdict"))?
    };
    if review.api_version != sent.version {
        return Err(faults.bad_answer("it is of another version than the review"));
    }
    if review.response.uid != sent.uid {
        return Err(faults.bad_answer("it has another uid than the review"));
    }
    warnings.extend(review.response.warnings.into_iter().take(MAX_WARNINGS));
    let object = match review.response.verdict {
        Verdict::Denied { status } => {
            return Err(ClientFault::Denied(Box::new(denial(*status, asked, question))).into());
        }
        Verdict::Allowed { object: None } => return Err(faults.broken("it carries no object")),
        Verdict::Allowed { object: Some(object) } => object,
    };
    let Value::Object(answer) = json::decode(object.get().as_bytes())
        .map_err(|_| faults.bad_answer("its object is no JSON that Kubernetes reads"))?
        .value
    else {
        return Err(faults.broken("its object is not an object"));
    };
    let mut object = merge(answer, &question.object, sent.spec_ownership, &faults)?;
    asked
        .schema
        .coerce(&mut object)
        .map_err(|_| faults.broken("its object has metadata of a wrong type"))?;
    asked
        .schema
        .apply_defaults(&mut object)
        .map_err(|_| faults.broken("its object is too large"))?;
    let mut errors = match object.get("metadata") {
        Some(Value::Object(metadata)) => meta::validate(metadata, asked.meta_options()),
        _ => field::Errors::new(),
    };
    asked
        .schema
        .validate_after(&object, asked.validate_options(), &mut errors);
    if !errors.is_empty() {
        // The question was judged before its numbers lost their points, which can make two items of a set the same:
        // what is wrong with the question itself is not the webhook's fault.
        let mut excused = field::Errors::new();
        let options = asked.validate_options().ignoring_required_status();
        asked.schema.validate_after(&question.object, options, &mut excused);
        errors.excuse(&excused);
    }
    if errors.is_empty() {
        json::settle_numbers(&mut object);
        Ok(object)
    } else {
        Err(faults.invalid(&errors, &asked.schema))
    }
}

/// Takes from the answer what is the webhook's to say, and the rest from the question.
fn merge(mut answer: Map, asked: &Map, ownership: SpecOwnership, faults: &Faults) -> Result<Map, Fault> {
    if ["apiVersion", "kind"]
        .iter()
        .any(|key| answer.get(key) != asked.get(key))
    {
        return Err(faults.broken("its object is of another kind"));
    }
    meta::coerce(&mut answer).map_err(|_| faults.broken("its object has metadata of a wrong type"))?;
    let mut metadata = match asked.get("metadata") {
        Some(Value::Object(metadata)) => metadata.clone(),
        _ => Map::new(),
    };
    if let Some(Value::Object(theirs)) = answer.remove("metadata") {
        let same = |key| matches!(theirs.get(key), None | Some(Value::Null)) || theirs.get(key) == metadata.get(key);
        if !(same("name") && same("namespace")) {
            return Err(faults.broken("its object has another name or namespace"));
        }
        for (key, value) in theirs.into_fields() {
            if matches!(&*key, "labels" | "annotations") {
                metadata.insert(key, value);
            }
        }
    }
    let mut object = match ownership {
        SpecOwnership::Provider => answer,
        SpecOwnership::User => {
            let mut asked = asked.clone();
            if let Some(status) = answer.remove("status") {
                asked.insert("status", status);
            }
            asked
        }
    };
    object.insert("metadata", metadata);
    Ok(object)
}

/// A denial as the consumer gets it: always a failure, with a code that is one, and bounded text.
fn denial(status: wire::Status, asked: &Asked, question: &Question) -> Status {
    let code = u16::try_from(status.code)
        .ok()
        .filter(|code| (400..600).contains(code))
        .unwrap_or(403);
    let code_is_theirs = i32::from(code) == status.code;
    let reason: Cow<'static, str> = if code_is_theirs && !status.reason.is_empty() {
        truncated(status.reason, 256).into()
    } else {
        reason_of(code).into()
    };
    let message = if status.message.is_empty() {
        let resource = qualified(&asked.resource.names.plural, &asked.resource.group);
        format!("{resource} {} was denied by its webhook", json::quote(&question.name))
    } else {
        truncated(status.message, MAX_MESSAGE)
    };
    let details = status.details.map(|details| Details {
        name: truncated(details.name, 1024),
        group: truncated(details.group, 1024),
        kind: truncated(details.kind, 1024),
        uid: truncated(details.uid, 1024),
        causes: details.causes.into_iter().take(MAX_CAUSES).map(cause).collect(),
        // Told in the body, and never as `Retry-After`: that makes clients ask again by themselves, which is not for a
        // webhook to order.
        retry_after_seconds: u32::try_from(details.retry_after_seconds)
            .ok()
            .filter(|seconds| *seconds > 0),
    });
    let details = details.filter(|details| *details != Details::default());
    Status {
        details,
        ..Status::new(code, reason, message)
    }
}

fn cause(cause: wire::StatusCause) -> Cause {
    Cause {
        reason: truncated(cause.reason, 256).into(),
        message: truncated(cause.message, 1024),
        field: truncated(cause.field, 1024),
    }
}

/// The `metav1.StatusReason` that goes with a code.
fn reason_of(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        406 => "NotAcceptable",
        409 => "Conflict",
        410 => "Gone",
        413 => "RequestEntityTooLarge",
        415 => "UnsupportedMediaType",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    }
}

fn truncated(mut text: String, bytes: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes));
    text
}

/// Makes the faults of one answer.
struct Faults {
    resource: String,
}

impl Faults {
    fn bad_answer(&self, why: &'static str) -> Fault {
        ProviderFault::BadAnswer {
            resource: self.resource.clone(),
            why,
        }
        .into()
    }

    fn broken(&self, what: &'static str) -> Fault {
        ProviderFault::BrokenContract {
            resource: self.resource.clone(),
            what,
            fields: Vec::new(),
        }
        .into()
    }

    fn invalid(&self, errors: &[field::Error], schema: &Schema) -> Fault {
        let what = "its object is not valid by the schema";
        // The rest of a path may be the keys of a map, which are content.
        let path = |error: &field::Error| (schema.known_path(&error.field).to_owned(), error.kind);
        let fields = errors.iter().take(MAX_LOGGED).map(path).collect();
        ProviderFault::BrokenContract {
            resource: self.resource.clone(),
            what,
            fields,
        }
        .into()
    }
}
