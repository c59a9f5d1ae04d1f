//! How an answer is compared with what was recorded.

use std::collections::BTreeMap;
use std::io::Read as _;

use ephemeral_testing::client::Answer;
use flate2::read::GzDecoder;
use regex::Regex;
use serde_json::Value;
use serde_json::value::RawValue;

use super::differences::Expected;
use crate::support::vectors::Case;

/// The headers that were recorded where they were there.
const HEADERS: [&str; 10] = [
    "allow",
    "location",
    "cache-control",
    "content-encoding",
    "vary",
    "www-authenticate",
    "retry-after",
    "etag",
    "x-content-type-options",
    "connection",
];

/// Every way in which an answer differs from what is expected.
pub(super) fn compare(case: &Case, expected: &Expected, answer: &Answer) -> Vec<String> {
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
    for name in HEADERS {
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

/// The body as recorded ones were normalised.
fn body(answer: &Answer) -> Value {
    let text = text(answer);
    let mut body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    let metadata = body.get_mut("metadata").and_then(Value::as_object_mut);
    metadata.and_then(|metadata| metadata.remove("resourceVersion"));
    body
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
        (Value::String(expected), Value::String(found)) => expected == "<server>" || same_text(expected, found),
        _ => expected == found,
    }
}

fn spec_text(answer: &Answer) -> String {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_slice(&answer.body).unwrap_or_default();
    fields.get("spec").map(|spec| spec.get().to_owned()).unwrap_or_default()
}
