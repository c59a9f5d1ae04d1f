//! What a real API server answered to creates, asked of this server over HTTPS with an echoing webhook.
//!
//! `CREATE_VECTORS` names another folder of the same format to run instead of the copies in `tests/vectors/create`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;

use ephemeral_testing::client::{Answer, Connection};
use flate2::read::GzDecoder;
use http::{Method, Request};
use regex::Regex;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::support::Dev;
use crate::support::resources::Provider;
use crate::support::vectors::{Case, Category, Response};

/// Where this server answers differently on purpose.
struct Difference {
    /// What the product promises instead.
    reason: &'static str,
    /// What is expected instead of the recorded answer, where the difference applies.
    expected: fn(&Case) -> Option<Expected>,
}

/// What an answer must be.
enum Expected {
    /// As recorded, with this change.
    Recorded(Box<Response>),
    /// As recorded, whatever the status of the object.
    ButStatus(Box<Response>),
    /// A status; the rest follows from other cases.
    Status(u16),
    /// Nothing that this server is about.
    Skipped,
}

const DIFFERENCES: &[Difference] = &[
    Difference {
        reason: "built-in reviews are the model for wording, not served here",
        expected: |case| case.schema.is_none().then_some(Expected::Skipped),
    },
    Difference {
        reason: "every caller here is authorised; RBAC is asked of kcp",
        expected: |case| (!case.caller.ends_with("-admin")).then_some(Expected::Skipped),
    },
    Difference {
        reason: "a question needs no name",
        expected: |case| {
            without_causes(case, |cause| {
                cause["field"] == "metadata.name"
                    && cause["message"] == "Required value: name or generateName is required"
            })
        },
    },
    Difference {
        reason: "the namespace is not looked up",
        expected: |case| {
            let message = case.response.body["message"].as_str().unwrap_or_default();
            let missing = case.response.status == 404 && message.starts_with("namespaces ");
            missing.then_some(Expected::Status(if case.name.ends_with("-invalid") {
                422
            } else {
                201
            }))
        },
    },
    Difference {
        reason: "what only storing would have caused does not happen",
        expected: |case| {
            let stored = ["size-2-mib", "server-owned-resource-version"].contains(&&*case.name);
            stored.then_some(Expected::Status(201))
        },
    },
    Difference {
        reason: "a required status is asked of the answer, and an echo has none",
        expected: |case| (case.name == "status-on-required").then_some(Expected::Status(500)),
    },
    Difference {
        reason: "client-sent status is dropped whether or not the schema has a status subresource",
        expected: |case| {
            let sent: Value = serde_json::from_slice(&case.request.body()).ok()?;
            sent.get("status")?;
            if case.response.status == 422 {
                return without_causes(case, |cause| {
                    cause["field"].as_str().is_some_and(|f| f.starts_with("status"))
                });
            }
            let stored = case.response.body.get("status").is_some();
            stored.then(|| Expected::ButStatus(Box::new(case.response.clone())))
        },
    },
    Difference {
        reason: "what is not served is always a Status, never plain text",
        expected: |case| {
            (case.response.content_type.as_deref() == Some("text/plain; charset=utf-8"))
                .then_some(Expected::Status(404))
        },
    },
    Difference {
        reason: "an error for who also reads JSON is JSON, not protobuf",
        expected: |case| {
            (case.response.content_type.as_deref() == Some("application/vnd.kubernetes.protobuf"))
                .then_some(Expected::Status(case.response.status))
        },
    },
    Difference {
        reason: "an answer that kcp never gave is none to compare with",
        expected: |case| case.response.connection_aborted.then_some(Expected::Status(415)),
    },
];

/// The recorded answer less some causes; without any cause left, a success.
fn without_causes(case: &Case, dropped: impl Fn(&Value) -> bool) -> Option<Expected> {
    let mut response = case.response.clone();
    let causes = response.body.get_mut("details")?.get_mut("causes")?.as_array_mut()?;
    let texts = |causes: &[Value]| -> Vec<String> {
        let text = |cause: &Value| Some(format!("{}: {}", cause["field"].as_str()?, cause["message"].as_str()?));
        causes.iter().filter_map(text).collect()
    };
    let before = texts(causes);
    causes.retain(|cause| !dropped(cause));
    let after = texts(causes);
    if after.len() == before.len() {
        return None;
    }
    if after.is_empty() {
        return Some(Expected::Status(201));
    }
    let joined = |texts: &[String]| {
        if texts.len() == 1 {
            texts[0].clone()
        } else {
            format!("[{}]", texts.join(", "))
        }
    };
    let message = response.body["message"]
        .as_str()?
        .replace(&joined(&before), &joined(&after));
    response.body["message"] = message.into();
    Some(Expected::Recorded(Box::new(response)))
}

#[tokio::test]
async fn schema_validation() {
    replay("schema-validation").await;
}

#[tokio::test]
async fn pruning() {
    replay("pruning").await;
}

#[tokio::test]
async fn defaulting() {
    replay("defaulting").await;
}

#[tokio::test]
async fn metadata() {
    replay("metadata").await;
}

#[tokio::test]
async fn typemeta_and_body() {
    replay("typemeta-and-body").await;
}

#[tokio::test]
async fn field_validation() {
    replay("field-validation").await;
}

#[tokio::test]
async fn query_options() {
    replay("query-options").await;
}

#[tokio::test]
async fn negotiation() {
    replay("negotiation").await;
}

#[tokio::test]
async fn cel() {
    replay("cel").await;
}

/// Runs all cases of a category and fails with everything that differs.
async fn replay(category: &str) {
    let Some(Category { schemas, cases }) = Category::read(category) else {
        crate::support::skipped(&format!("no vectors of the category {category}"));
        return;
    };
    let provider = Provider::echoing().await;
    for (id, schema) in &schemas {
        provider.nominate(&cluster(id), &schema.resource());
    }
    let manifests = provider.directory().to_str().expect("a path");
    let dev = Dev::start(&["--manifests", manifests, "--no-sample-webhook"]).await;
    let groups: BTreeMap<&String, String> = schemas
        .iter()
        .map(|(id, schema)| (id, schema.resource().group))
        .collect();

    let mut report = String::new();
    for case in &cases {
        let differences: Vec<_> = DIFFERENCES
            .iter()
            .filter_map(|d| Some((d.reason, (d.expected)(case)?)))
            .collect();
        let (reason, expected) = differences
            .into_iter()
            .next()
            .unwrap_or_else(|| ("as recorded", Expected::Recorded(Box::new(case.response.clone()))));
        if matches!(expected, Expected::Skipped) {
            continue;
        }
        let id = case.schema.as_ref().expect("cases without a schema are skipped");
        let base = format!("/services/ephemeral/{}/{}/clusters/consumer", cluster(id), groups[id]);
        let answer = match ask(&dev, &base, case).await {
            Ok(answer) => answer,
            Err(error) => {
                let _ = writeln!(report, "\n{}: no answer: {error:#}", case.name);
                continue;
            }
        };
        let faults = compare(case, &expected, &answer);
        if !faults.is_empty() {
            let _ = writeln!(report, "\n{} ({reason}):\n  {}", case.name, faults.join("\n  "));
        }
    }
    if !report.is_empty() {
        let (_, log) = dev.end("-TERM").await;
        panic!(
            "{} cases of {category}, these differ:{report}
log:
{log}",
            cases.len()
        );
    }
}

/// Each resource of a category is a provider's own, since different resources of a category may share names.
fn cluster(id: &str) -> String {
    format!("provider-{id}")
}

async fn ask(dev: &Dev, base: &str, case: &Case) -> anyhow::Result<Answer> {
    let mut connection: Connection = dev.client("user").connect().await?;
    let query = if case.request.query.is_empty() {
        String::new()
    } else {
        format!("?{}", case.request.query)
    };
    let mut request = Request::builder()
        .method(Method::from_bytes(case.request.method.as_bytes())?)
        .uri(format!("{base}{}{query}", case.request.path));
    for (name, value) in &case.request.headers {
        request = request.header(name, value);
    }
    connection.send(request.body(case.request.body().into())?).await
}

/// Every way in which an answer differs from what is expected.
fn compare(case: &Case, expected: &Expected, answer: &Answer) -> Vec<String> {
    let mut faults = Vec::new();
    let mut differ = |what: &str, expected: &dyn std::fmt::Display, found: &dyn std::fmt::Display| {
        faults.push(format!("{what}:\n    expected {expected}\n    found    {found}"));
    };
    let but_status = matches!(expected, Expected::ButStatus(_));
    let expected = match expected {
        Expected::Status(status) => {
            if answer.status != *status {
                differ("status", status, &format!("{} {}", answer.status, answer.text()));
            }
            return faults;
        }
        Expected::Recorded(expected) | Expected::ButStatus(expected) => expected,
        Expected::Skipped => return faults,
    };
    if answer.status != expected.status {
        differ("status", &expected.status, &answer.status);
    }
    let content_type = answer
        .header_values("content-type")
        .first()
        .map(|value| (*value).to_owned());
    if content_type != expected.content_type {
        differ(
            "content type",
            &format!("{:?}", expected.content_type),
            &format!("{content_type:?}"),
        );
    }
    let order_differs = case.unstable.is_some();
    let only_order = case
        .unstable
        .as_ref()
        .is_none_or(|unstable| unstable["onlyOrderDiffers"] == true);
    let (wanted, found) = (
        sorted_if(order_differs, expected.warnings.clone()),
        sorted_if(order_differs, warnings(answer)),
    );
    if wanted != found {
        differ("warnings", &format!("{wanted:#?}"), &format!("{found:#?}"));
    }
    for name in ["cache-control", "content-encoding", "retry-after", "allow"] {
        let wanted = expected.headers.get(name).map(String::as_str);
        let found = answer.header_values(name).first().copied();
        if wanted != found {
            differ(name, &format!("{wanted:?}"), &format!("{found:?}"));
        }
    }
    if let Some(text) = &expected.body_text {
        if *text != answer.text() {
            differ("exact body", text, &answer.text());
        }
    } else if let Value::String(text) = &expected.body {
        let found = self::text(answer);
        if !same_text(text, &found) {
            differ("body", &format!("\n{text}"), &format!("\n{found}"));
        }
    } else if expected.body_base64.is_none() {
        let (wanted, found) = (expected.body.clone(), body(answer));
        let (wanted, found) = if order_differs {
            (unordered(wanted, only_order), unordered(found, only_order))
        } else {
            (wanted, found)
        };
        let (wanted, found) = if but_status {
            (without_status(wanted), without_status(found))
        } else {
            (wanted, found)
        };
        if !same(&wanted, &found) {
            differ("body", &wanted, &found);
        }
    }
    if let Some(Value::String(text)) = case.observed.get("specText") {
        let found = spec_text(answer);
        if *text != found {
            differ("bytes of spec", text, &found);
        }
    }
    faults
}

fn warnings(answer: &Answer) -> Vec<String> {
    let values = answer.headers.get_all("warning").iter();
    values
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .collect()
}

fn sorted_if(yes: bool, mut values: Vec<String>) -> Vec<String> {
    if yes {
        values.sort();
    }
    values
}

/// The body as text, unpacked if it is compressed.
fn text(answer: &Answer) -> String {
    if answer.header_values("content-encoding") == ["gzip"] {
        let mut text = String::new();
        GzDecoder::new(&*answer.body).read_to_string(&mut text).expect("gzip");
        return text;
    }
    answer.text()
}

/// Whether a text is the recorded one, a generated name of which only the beginning is known.
fn same_text(expected: &str, found: &str) -> bool {
    let pattern = regex::escape(expected).replace("<generated>", "[bcdfghjklmnpqrstvwxz2456789]{5}");
    Regex::new(&format!("^(?s:{pattern})$"))
        .expect("an escaped pattern")
        .is_match(found)
}

fn body(answer: &Answer) -> Value {
    let text = text(answer);
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

fn without_status(mut object: Value) -> Value {
    object.as_object_mut().and_then(|object| object.remove("status"));
    object
}

/// A Status whose causes come in no order, or, where more than the order depends on Go's maps, at no certain field.
fn unordered(mut status: Value, only_order_differs: bool) -> Value {
    let details = status.get_mut("details");
    let causes = details
        .and_then(|details| details.get_mut("causes"))
        .and_then(Value::as_array_mut);
    if let Some(causes) = causes {
        for cause in causes.iter_mut().filter(|_| !only_order_differs) {
            cause["field"] = Value::Null;
        }
        causes.sort_by_key(Value::to_string);
        status["message"] = Value::Null;
    }
    status
}

/// Whether a value is the recorded one, long strings and deep objects told by what was kept of them.
fn same(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Object(expected), found) if expected.contains_key("$longString") => {
            let long = &expected["$longString"];
            let (Some(head), Some(tail)) = (long["head"].as_str(), long["tail"].as_str()) else {
                return false;
            };
            found.as_str().is_some_and(|text| {
                long["chars"] == text.chars().count() && text.starts_with(head) && text.ends_with(tail)
            })
        }
        (Value::Object(expected), _) if expected.contains_key("$tooDeepToParse") => true,
        (Value::Object(expected), Value::Object(found)) => {
            expected.len() == found.len()
                && expected
                    .iter()
                    .all(|(key, value)| found.get(key).is_some_and(|found| same(value, found)))
        }
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len()
                && expected
                    .iter()
                    .zip(found)
                    .all(|(expected, found)| same(expected, found))
        }
        (Value::Number(expected), Value::Number(found)) => expected == found || expected.as_f64() == found.as_f64(),
        (Value::String(expected), Value::String(found)) => same_text(expected, found),
        _ => expected == found,
    }
}

fn spec_text(answer: &Answer) -> String {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_slice(&answer.body).unwrap_or_default();
    fields.get("spec").map(|spec| spec.get().to_owned()).unwrap_or_default()
}
