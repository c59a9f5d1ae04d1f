//! The create handler of an API server, as far as it is about the object.

use structural_schema::meta::{self, MetaOptions, Scope};
use structural_schema::{Map, Schema, ValidateOptions, Value, field, json};

/// What generated names end in.
const SUFFIX: &str = "zzzzz";

/// A version of a custom resource definition.
pub(crate) struct Resource {
    schema: Schema,
    kind: String,
    version: String,
    scope: Scope,
    has_status: bool,
}

impl Resource {
    pub(crate) fn new(recorded: &Value) -> Self {
        let text = |key| recorded.get(key).and_then(Value::as_str).unwrap().to_owned();
        let names = recorded.get("names").unwrap();
        let status = recorded.get("subresources").and_then(|all| all.get("status"));
        Self {
            schema: Schema::compile(recorded.get("openAPIV3Schema").unwrap()).unwrap(),
            kind: names.get("kind").and_then(Value::as_str).unwrap().to_owned(),
            version: text("version"),
            scope: if text("scope") == "Namespaced" {
                Scope::Namespaced
            } else {
                Scope::Cluster
            },
            has_status: status.is_some(),
        }
    }
}

pub(crate) struct Request<'r> {
    pub(crate) body: &'r [u8],
    pub(crate) namespace: Option<&'r str>,
    pub(crate) query: &'r str,
}

#[derive(Debug)]
pub(crate) enum Answer {
    Created { object: Value, warnings: Vec<String> },
    BadRequest(String),
    Invalid(Vec<field::Error>),
}

impl Answer {
    pub(crate) fn status(&self) -> i64 {
        match self {
            Self::Created { .. } => 201,
            Self::BadRequest(_) => 400,
            Self::Invalid(_) => 422,
        }
    }
}

pub(crate) fn create(resource: &Resource, request: &Request<'_>) -> Answer {
    let cannot = |error: String| {
        let (kind, version) = (&resource.kind, &resource.version);
        Answer::BadRequest(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: {error}"
        ))
    };
    let decoded = match json::decode(request.body) {
        Ok(decoded) => decoded.value,
        Err(error) => return cannot(error.to_string()),
    };
    let Value::Object(mut object) = decoded else {
        return cannot("not an object".to_owned());
    };
    let unknown = match resource.schema.coerce(&mut object) {
        Ok(unknown) => unknown,
        Err(error) => return cannot(error.to_string()),
    };
    let unknown: Vec<_> = unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
    if request.query.contains("fieldValidation=Strict") && !unknown.is_empty() {
        return cannot(format!("strict decoding error: {}", unknown.join(", ")));
    }
    let mut warnings = if request.query.contains("fieldValidation=Ignore") {
        Vec::new()
    } else {
        unknown
    };
    resource.schema.apply_defaults(&mut object).unwrap();
    if resource.has_status {
        object.remove("status");
    }
    prepare_metadata(resource, request, &mut object, &mut warnings);
    let metadata = object.get("metadata").and_then(Value::as_object).unwrap();
    let mut errors = meta::validate(metadata, MetaOptions::stored(resource.scope));
    resource
        .schema
        .validate_after(&object, ValidateOptions::default(), &mut errors);
    if !errors.is_empty() {
        return Answer::Invalid(errors.into_vec());
    }
    warnings.extend(meta::finalizer_warnings(metadata));
    // What is stored is decoded again for the answer.
    resource.schema.apply_defaults(&mut object).unwrap();
    Answer::Created {
        object: Value::Object(object),
        warnings,
    }
}

fn prepare_metadata(resource: &Resource, request: &Request<'_>, object: &mut Map, warnings: &mut Vec<String>) {
    if !object.contains_key("metadata") {
        object.insert("metadata", Map::new());
    }
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut).unwrap();
    meta::drop_server_managed(metadata);
    warnings.extend(meta::dedup_owner_references(metadata));
    if let (Scope::Namespaced, Some(namespace)) = (resource.scope, request.namespace) {
        metadata.insert("namespace", namespace);
    }
    let text = |key| metadata.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (name, generate_name) = (text("name"), text("generateName"));
    if name.is_empty() && !generate_name.is_empty() {
        let prefix: String = generate_name.chars().take(58).collect();
        metadata.insert("name", prefix + SUFFIX);
    }
}
