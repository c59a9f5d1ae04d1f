//! Where this server answers differently from the recorded one on purpose, and why.

use serde_json::{Value, json};

use crate::support::vectors::{Case, Response};

/// Where this server answers differently on purpose.
struct Difference {
    /// What the product promises instead.
    reason: &'static str,
    /// What is expected instead of the recorded answer, where the difference applies.
    expected: fn(&Case) -> Option<Expected>,
}

/// What an answer must be.
pub(super) enum Expected {
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
        reason: "every caller with a certificate is authorised by `dev`; `denied.rs` asks for these on a kcp",
        expected: |case| case.caller.starts_with("user-").then_some(Expected::Skipped),
    },
    Difference {
        reason: "nobody is anonymous: who has no certificate is unknown",
        expected: |case| (case.caller == "anonymous").then_some(Expected::Status(401)),
    },
    Difference {
        reason: "other verbs and paths follow the built-in reviews",
        expected: |case| match (&*case.family, &*case.name) {
            ("custom", "custom-list-empty" | "custom-head") => None,
            ("custom", _) if case.response.status == 405 || case.name.ends_with("-collection") => {
                Some(not_allowed(case))
            }
            ("custom", _) | (_, "unknown-custom-subresource") => Some(not_found(case)),
            _ => None,
        },
    },
    Difference {
        reason: "a list of nothing is served",
        expected: |case| {
            let lists = ["-list", "-head", "-list-yaml"]
                .iter()
                .any(|end| case.name.ends_with(end));
            match (case.schema.is_none() && lists, &*case.name) {
                (true, "discovery-head-version") | (false, _) => None,
                _ => Some(Expected::Status(200)),
            }
        },
    },
    Difference {
        reason: "objects, their options and forms follow custom resources",
        expected: |case| {
            let status = match &*case.name {
                _ if case.schema.is_some() => return None,
                "ssar-create-named"
                | "ssar-create-finalizer"
                | "ssar-create-empty-spec"
                | "token-create-empty"
                | "sar-create-no-user" => 201,
                "ssar-create-no-type-meta" | "ssar-create-null" => 400,
                "ssar-create-html" | "ssar-list-html" => 406,
                "ssar-create-bad-name" | "ssar-create-wrong-kind" => 422,
                _ => return None,
            };
            Some(Expected::Status(status))
        },
    },
    Difference {
        reason: "the status of a built-in review is its own; an echo has none",
        expected: |case| {
            let mut response = Box::new(case.response.clone());
            match &mut response.body {
                _ if case.schema.is_some() || response.status != 201 => None,
                Value::String(yaml) => {
                    yaml.truncate(yaml.find("\nstatus:")? + 1);
                    Some(Expected::Recorded(response))
                }
                _ => Some(Expected::ButStatus(response)),
            }
        },
    },
    Difference {
        reason: "nothing is redirected: what is not the clean path comes from a provider's URL",
        expected: |case| (case.response.status == 307).then(|| not_found(case)),
    },
    Difference {
        reason: "discovery tells of creates alone",
        expected: |case| {
            let mut response = case.response.clone();
            let resources = response.body.get_mut("resources")?.as_array_mut()?;
            let before = resources.clone();
            resources.retain(|resource| resource["name"].as_str().is_some_and(|name| !name.contains('/')));
            for resource in &mut *resources {
                resource["verbs"] = json!(["create"]);
            }
            (*resources != before).then(|| Expected::Recorded(Box::new(response)))
        },
    },
    Difference {
        reason: "aggregated discovery is served",
        expected: |case| {
            let accept = case.request.headers.get("Accept")?;
            let aggregated = case.request.path == "/apis" && accept.contains("as=APIGroupDiscoveryList");
            aggregated.then_some(Expected::Status(200))
        },
    },
    Difference {
        reason: "an unknown version of a known group is not found",
        expected: |case| (case.name == "discovery-custom-unknown-version").then(|| not_found(case)),
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

/// What a case must be answered, and why.
pub(super) fn expected(case: &Case) -> (&'static str, Expected) {
    let mut differences = DIFFERENCES
        .iter()
        .filter_map(|difference| Some((difference.reason, (difference.expected)(case)?)));
    let recorded = || ("as recorded", Expected::Recorded(Box::new(case.response.clone())));
    differences.next().unwrap_or_else(recorded)
}

/// As built-in reviews answer below a name, and where nothing is served.
fn not_found(case: &Case) -> Expected {
    failure(
        case,
        404,
        "NotFound",
        "the server could not find the requested resource",
    )
}

/// As built-in reviews answer what is no create on the collection.
fn not_allowed(case: &Case) -> Expected {
    let message = "the server does not allow this method on the requested resource";
    failure(case, 405, "MethodNotAllowed", message)
}

fn failure(case: &Case, code: u16, reason: &str, message: &str) -> Expected {
    let mut response = case.response.clone();
    response.status = code;
    response.content_type = Some("application/json".into());
    response.warnings.clear();
    response.headers = [("cache-control".into(), "no-cache, private".into())].into();
    response.body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
        "reason": reason, "details": {}, "code": code,
    });
    Expected::Recorded(Box::new(response))
}

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
