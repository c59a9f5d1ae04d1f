//! Observations of a real API server, to be repeated by this one; the format is in `tests/vectors/README.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::Value;

use super::resources::Resource;

/// One file: a category.
#[derive(Debug, Deserialize)]
pub struct Category {
    /// Resources by id.
    pub schemas: BTreeMap<String, Schema>,
    /// Requests and their answers.
    pub cases: Vec<Case>,
}

/// One version of a `CustomResourceDefinition`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Schema {
    group: String,
    version: String,
    scope: String,
    names: Value,
    #[serde(rename = "openAPIV3Schema")]
    document: Value,
    #[serde(default)]
    subresources: Value,
    #[serde(default)]
    additional_printer_columns: Value,
}

/// One request and its answer.
#[derive(Debug, Deserialize)]
pub struct Case {
    /// Unique in its category.
    pub name: String,
    /// Cases of one kind of behaviour.
    pub family: String,
    /// The resource, or none for built-in reviews.
    pub schema: Option<String>,
    /// Who sent it.
    #[serde(rename = "as")]
    pub caller: String,
    /// What was sent.
    pub request: Request,
    /// What came back.
    pub response: Response,
    /// Facts that normalising would hide.
    #[serde(default)]
    pub observed: BTreeMap<String, Value>,
    /// Set where repeated runs answered differently.
    #[serde(default)]
    pub unstable: Option<Value>,
    /// Further answers that were seen.
    #[serde(default)]
    #[serde(rename = "otherResponses")]
    pub other_responses: Vec<Response>,
}

/// A request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// HTTP method.
    pub method: String,
    /// Path below the workspace.
    pub path: String,
    /// Raw query.
    pub query: String,
    /// All headers but `Host`, `Content-Length` and `Authorization`.
    pub headers: BTreeMap<String, String>,
    body: Option<String>,
    body_base64: Option<String>,
    body_parts: Option<Vec<Part>>,
}

#[derive(Debug, Deserialize)]
struct Part {
    text: String,
    repeat: usize,
}

/// An answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// The media type.
    pub content_type: Option<String>,
    /// `Warning` headers in order.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Some headers, those that were there.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// JSON, or a string for YAML and text.
    #[serde(default)]
    pub body: Value,
    /// Exact bytes.
    pub body_text: Option<String>,
    /// A body that is no text.
    pub body_base64: Option<String>,
    /// kcp panicked.
    #[serde(default)]
    pub connection_aborted: bool,
}

impl Category {
    /// Reads a category from `CREATE_VECTORS`, by default from the copies in this repository; `None` where that folder
    /// does not have it.
    pub fn read(name: &str) -> Option<Self> {
        let folder = std::env::var_os("CREATE_VECTORS").map(PathBuf::from);
        let default = || super::root().join("tests/vectors/create");
        let path = folder.unwrap_or_else(default).join(format!("{name}.json"));
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => panic!("{}: {error}", path.display()),
        };
        Some(serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    }
}

impl Schema {
    /// As a resource to be nominated.
    pub fn resource(&self) -> Resource {
        Resource {
            group: self.group.clone(),
            version: self.version.clone(),
            scope: self.scope.clone(),
            names: self.names.clone(),
            schema: self.document.clone(),
            subresources: self.subresources.clone(),
            printer_columns: self.additional_printer_columns.clone(),
            further: Value::Null,
        }
    }
}

impl Request {
    /// The bytes of the body.
    pub fn body(&self) -> Vec<u8> {
        if let Some(text) = &self.body {
            return text.clone().into_bytes();
        }
        if let Some(base64) = &self.body_base64 {
            return BASE64_STANDARD.decode(base64).expect("base64");
        }
        self.body_parts
            .iter()
            .flatten()
            .flat_map(|part| part.text.repeat(part.repeat).into_bytes())
            .collect()
    }
}
