//! What each target does with its input. `tests/it/fuzz.rs` replays the corpora through the same functions.

pub mod create;

use ephemeral_apiserver::identity::{self, Identity, Peer, Trust, TrustConfig};
use ephemeral_apiserver::negotiate;
use ephemeral_apiserver::options::{self, CreateOptions, ListOptions};
use ephemeral_apiserver::request_info::{self, UnionPaths};
use http::{HeaderName, HeaderValue, Request};
use structural_schema::cel::{Environment, OBJECT_WORK, PER_CALL_LIMIT, Program, Type};
use structural_schema::{Map, Schema, ValidateOptions, Value, json, yaml};

use create::Server;

/// A body: what is read is written so that it is read as the same.
pub fn decode(data: &[u8]) {
    if let Ok(decoded) = json::decode(data) {
        let mut written = Vec::new();
        json::encode(&decoded.value, &mut written);
        let again = json::decode(&written).expect("what was written is read");
        let mut value = decoded.value;
        if let Value::Object(object) = &mut value {
            json::settle_numbers(object);
            assert!(again.value == value, "another value after JSON");
        }
    }
    if let Ok(decoded) = yaml::decode(data) {
        // Some strings cannot be YAML; that is an error and no panic.
        let _ = yaml::encode(&decoded.value, &mut Vec::new());
    }
}

/// `{"schema": …, "object": …}`: what a create does with an object, twice, since what is answered is read again.
pub fn schema(data: &[u8]) {
    let Some(mut input) = object(data) else { return };
    let (Some(document), Some(Value::Object(mut object))) = (input.remove("schema"), input.remove("object")) else {
        return;
    };
    let Ok(schema) = Schema::compile(&document) else { return };
    if schema.coerce(&mut object).is_err() || schema.apply_defaults(&mut object).is_err() {
        return;
    }
    let errors = schema.validate(&object, ValidateOptions::default());
    assert!(
        errors.iter().all(|error| !error.to_string().is_empty()),
        "an error without words"
    );
    let unknown = schema.coerce(&mut object).expect("metadata was read before");
    assert!(unknown.is_empty(), "what was pruned is unknown again: {unknown:?}");
}

/// The text of a rule: compiled, and evaluated within its budget.
pub fn cel(data: &[u8]) {
    let Ok(source) = std::str::from_utf8(data) else { return };
    let environment = Environment::kubernetes();
    if let Ok(program) = Program::compile(&environment, source, &[("self", Type::Dyn)], &Type::Bool) {
        let evaluation = program.evaluate(&[None], PER_CALL_LIMIT, OBJECT_WORK);
        assert!(
            evaluation.cost <= PER_CALL_LIMIT || evaluation.result.is_err(),
            "over its budget"
        );
    }
}

/// `METHOD target`, then a header a line: the path, the query and the caller are read, and the forms of question and
/// answer are negotiated.
pub fn request(data: &[u8]) {
    let Some(request) = parse_request(data) else { return };
    let (parts, ()) = request.into_parts();
    for union in [UnionPaths::Served, UnionPaths::NotServed] {
        let _ = request_info::parse(&parts.method, parts.uri.path(), parts.uri.query(), union);
    }
    let query = parts.uri.query().unwrap_or_default();
    let _ = options::timeout(query);
    let _ = CreateOptions::from_query(query);
    if let Ok(options) = ListOptions::from_query(query) {
        assert_ne!(options.name(), Some(""), "a name without a letter");
    }
    let trust = Trust::load(TrustConfig::default()).expect("no file is read");
    for peer in [Peer::Shard("shard".into()), Peer::FrontProxy("proxy".into())] {
        if let Ok(Identity::Caller(caller)) = identity::caller(&trust, &peer, &parts.headers) {
            assert!(!caller.user.username.is_empty(), "a caller without a name");
        }
    }
    let _ = negotiate::negotiate_output(&parts);
    let _ = negotiate::negotiate_discovery(&parts);
    let _ = negotiate::negotiate_error(&parts);
    let _ = negotiate::negotiate_input(&parts.headers);
    let _ = negotiate::check_representation(&parts.headers);
}

/// The body of a webhook's answer, and what a create makes of it. The uid of the review is [`create::UID`] in it.
pub fn answer(data: &[u8]) {
    thread_local! {
        static SERVER: Server = Server::new();
    }
    let Some(object) = SERVER.with(|server| server.create(data)) else {
        return;
    };
    assert_eq!(object.get("kind").and_then(Value::as_str), Some("A"), "another kind");
    let name = object.get("metadata").and_then(|metadata| metadata.get("name"));
    assert_eq!(name.and_then(Value::as_str), Some("n"), "another name");
    let status = object.get("status").expect("a required status");
    assert!(status.get("n").is_some(), "without a default");
    let mut written = Vec::new();
    json::encode_object(&object, &mut written);
    assert!(json::decode(&written).is_ok(), "what was written is read");
}

fn object(data: &[u8]) -> Option<Map> {
    match json::decode(data).ok()?.value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

fn parse_request(data: &[u8]) -> Option<Request<()>> {
    let mut lines = data.split(|byte| *byte == b'\n');
    let first = std::str::from_utf8(lines.next()?).ok()?;
    let (method, target) = first.split_once(' ')?;
    let mut request = Request::builder().method(method).uri(target).body(()).ok()?;
    for line in lines {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let name = HeaderName::from_bytes(&line[..colon]);
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            request.headers_mut().append(name, value);
        }
    }
    Some(request)
}
