//! Resources for tests.

use std::sync::Arc;

use bytes::Bytes;
use ephemeral_index::{
    Export, NameValidation, Nomination, Problem, ResourceNames, ResourceSchema, SchemaProblem, Scope, Version,
};
use futures::FutureExt as _;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Request, Response};
use http_body_util::BodyExt as _;
use structural_schema::{Value, json};

use crate::respond::Body;
use crate::webhook::Handle;

pub(crate) fn value(text: &str) -> Value {
    json::decode(text.as_bytes()).unwrap().value
}

/// A served version with a schema that is published but cannot be enforced.
pub(crate) fn version(name: &str, document: &str) -> Version {
    Version {
        name: name.into(),
        served: true,
        storage: false,
        deprecation: None,
        schema: Err(SchemaProblem::Version {
            version: name.into(),
            fault: "not compiled".into(),
        }),
        document: Arc::new(value(document)),
        printer_columns: Box::default(),
        selectable_fields: Box::default(),
        has_status: true,
        scale: None,
    }
}

/// A namespaced resource of a group.
pub(crate) fn resource(group: &str, kind: &str, versions: Vec<Version>) -> ResourceSchema {
    let singular = kind.to_lowercase();
    ResourceSchema {
        cluster: "provider".into(),
        name: format!("v1.{singular}s.{group}").into(),
        group: group.into(),
        names: ResourceNames {
            plural: format!("{singular}s").into(),
            singular: singular.into(),
            kind: kind.into(),
            list_kind: format!("{kind}List").into(),
            short_names: Box::default(),
            categories: Box::default(),
        },
        scope: Scope::Namespaced,
        name_validation: NameValidation::default(),
        versions: versions.into(),
    }
}

/// An export of resources whose webhooks cannot be called.
pub(crate) fn export(name: &str, resources: Vec<ResourceSchema>) -> Arc<Export<Handle>> {
    let nomination = |schema: ResourceSchema| {
        Arc::new(Nomination {
            webhook_name: "webhook".into(),
            cluster: "provider".into(),
            export: name.into(),
            group: Arc::clone(&schema.group),
            resource: Arc::clone(&schema.names.plural),
            schema: Ok(Arc::new(schema)),
            state: Err(Problem::UrlInvalid),
        })
    };
    Arc::new(Export {
        cluster: "provider".into(),
        name: name.into(),
        resources: resources.into_iter().map(nomination).collect(),
    })
}

/// A GET with headers.
pub(crate) fn parts(uri: &str, headers: &[(HeaderName, &'static str)]) -> Parts {
    let (mut parts, ()) = Request::get(uri).body(()).unwrap().into_parts();
    parts.headers = headers
        .iter()
        .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)))
        .collect();
    parts
}

/// The body of an answer.
pub(crate) fn body(response: Response<Body>) -> Bytes {
    response
        .into_body()
        .collect()
        .now_or_never()
        .expect("a whole body is there at once")
        .unwrap()
        .to_bytes()
}
