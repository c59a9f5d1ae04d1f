//! OpenAPI of an API: `/openapi/v2`, `/openapi/v3` and its documents, served as `kube-openapi`'s handlers serve them.

mod meta;
mod paths;
mod protobuf;
mod schema;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, ETAG, EXPIRES, HeaderValue, LOCATION, VARY};
use http::request::Parts;
use http::{Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use structural_schema::{Map, Value, json};

use crate::discovery::{Catalog, Group, GroupVersion};
use crate::fault::{ClientFault, Fault};
use crate::negotiate::{first, parse_accept};
use crate::options::parameters;
use crate::respond::{Body, Cached, Gzip, Responder, empty, etag};

/// For how long a document under its hash never changes.
const IMMUTABLE_FOR: SignedDuration = SignedDuration::from_hours(365 * 24);

const JSON: &str = "application/json";
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// The subtypes in which v2 is asked for, and what they get.
const V2_SUBTYPES: [(&str, Format); 3] = [
    ("json", Format::Json),
    ("com.github.proto-openapi.spec.v2@v1.0+protobuf", Format::Protobuf),
    ("com.github.proto-openapi.spec.v2.v1.0+protobuf", Format::Protobuf),
];
const V2_ACCEPTED: &str = "application/json, application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// A version of OpenAPI.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Dialect {
    V2,
    V3,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Format {
    Json,
    Protobuf,
}

/// The documents of one API, each made when it is first asked for.
#[derive(Debug, Default)]
pub(crate) struct OpenApi {
    v2: OnceLock<V2>,
    /// The index, and the document of each version of each group, in the order of the catalog.
    v3: OnceLock<V3>,
}

#[derive(Debug)]
struct V2 {
    json: Tagged,
    protobuf: Bytes,
}

#[derive(Debug)]
struct V3 {
    index: Tagged,
    documents: Vec<Vec<Tagged>>,
}

/// A document and its hash in quotes.
#[derive(Debug)]
struct Tagged {
    body: Bytes,
    etag: HeaderValue,
}

impl Tagged {
    fn new(document: &Value) -> Self {
        let mut json = Vec::new();
        json::encode(document, &mut json);
        Self {
            etag: etag(&json),
            body: json.into(),
        }
    }

    /// The hash without its quotes.
    fn hash(&self) -> &str {
        self.etag.to_str().unwrap_or_default().trim_matches('"')
    }

    fn json(&self) -> Cached<'_> {
        self.cached(JSON, &self.body)
    }

    fn cached(&self, content_type: &str, body: &Bytes) -> Cached<'_> {
        Cached {
            content_type: content_type.into(),
            body: body.clone(),
            etag: &self.etag,
            cache_control: "no-cache, private",
            gzip: Gzip::Documents,
        }
    }
}

impl OpenApi {
    /// `/openapi/v2`: all groups in one document, as JSON or protobuf.
    pub(crate) fn v2(&self, catalog: &Catalog, responder: &Responder, parts: &Parts) -> Result<Response<Body>, Fault> {
        let format = accepted(parts, &V2_SUBTYPES).ok_or(ClientFault::NotAcceptable(V2_ACCEPTED))?;
        let v2 = self.v2.get_or_init(|| V2::new(catalog));
        // One tag for both: `Vary: Accept` keeps them apart.
        Ok(responder.cached(&match format {
            Format::Json => v2.json.json(),
            Format::Protobuf => v2.json.cached(V2_PROTOBUF, &v2.protobuf),
        }))
    }

    /// `/openapi/v3`: where each document is, with its hash.
    pub(crate) fn index(&self, catalog: &Catalog, responder: &Responder) -> Response<Body> {
        responder.cached(&self.v3(catalog).index.json())
    }

    /// `/openapi/v3/apis/<group>/<version>`: one document. Asked for under its hash, it may be kept for ever; asked for
    /// under another, the client is sent to the right one.
    pub(crate) fn version(
        &self,
        catalog: &Catalog,
        (group, version): (&str, &str),
        responder: &Responder,
        parts: &Parts,
    ) -> Result<Response<Body>, Fault> {
        accepted(parts, &[("json", Format::Json)]).ok_or(ClientFault::NotAcceptable(JSON))?;
        let document = self.find(catalog, group, version).ok_or(ClientFault::NotFound)?;
        let query = parts.uri.query().unwrap_or_default();
        let wanted = parameters(query)
            .find(|(key, _)| key == "hash")
            .map(|(_, hash)| hash)
            .filter(|h| !h.is_empty());
        match wanted {
            None => Ok(responder.cached(&document.json())),
            Some(hash) if hash == document.hash() => {
                let immutable = Cached {
                    cache_control: "public, immutable",
                    ..document.json()
                };
                let mut response = responder.cached(&immutable);
                response.headers_mut().insert(EXPIRES, expires());
                Ok(response)
            }
            Some(_) => Ok(moved(document)),
        }
    }

    fn find(&self, catalog: &Catalog, group: &str, version: &str) -> Option<&Tagged> {
        let at = catalog.groups.iter().position(|known| &*known.name == group)?;
        let version = catalog.groups[at]
            .versions
            .iter()
            .position(|known| &*known.name == version)?;
        Some(&self.v3(catalog).documents[at][version])
    }

    fn v3(&self, catalog: &Catalog) -> &V3 {
        self.v3.get_or_init(|| V3::new(catalog))
    }
}

impl V2 {
    fn new(catalog: &Catalog) -> Self {
        let mut paths = Vec::new();
        let mut definitions = meta::definitions(Dialect::V2);
        for group in &catalog.groups {
            for version in &group.versions {
                paths.extend(paths::paths(group, version, Dialect::V2));
                define(&mut definitions, group, version, Dialect::V2);
            }
        }
        let document: Map = [
            ("swagger", Value::from("2.0")),
            ("info", info().into()),
            ("paths", paths.into_iter().collect::<Map>().into()),
            ("definitions", definitions.into()),
        ]
        .into_iter()
        .collect();
        let document = document.into();
        Self {
            protobuf: protobuf::encode(&document).into(),
            json: Tagged::new(&document),
        }
    }
}

impl V3 {
    fn new(catalog: &Catalog) -> Self {
        let of_group = |group: &Group| {
            group
                .versions
                .iter()
                .map(|version| Tagged::new(&v3(group, version)))
                .collect()
        };
        let documents: Vec<Vec<Tagged>> = catalog.groups.iter().map(of_group).collect();
        let mut paths = Vec::new();
        for (group, documents) in catalog.groups.iter().zip(&documents) {
            for (version, document) in group.versions.iter().zip(documents) {
                let path = format!("apis/{}/{}", group.name, version.name);
                let url = format!("/openapi/v3/{path}?hash={}", document.hash());
                let url: Map = [("serverRelativeURL", url)].into_iter().collect();
                paths.push((path, Value::from(url)));
            }
        }
        let index: Map = [("paths", paths.into_iter().collect::<Map>())].into_iter().collect();
        Self {
            index: Tagged::new(&index.into()),
            documents,
        }
    }
}

/// The document of one version of a group.
fn v3(group: &Group, version: &GroupVersion) -> Value {
    let mut schemas = meta::definitions(Dialect::V3);
    define(&mut schemas, group, version, Dialect::V3);
    let document: Map = [
        ("openapi", Value::from("3.0.0")),
        ("info", info().into()),
        (
            "paths",
            paths::paths(group, version, Dialect::V3).collect::<Map>().into(),
        ),
        ("components", [("schemas", schemas)].into_iter().collect::<Map>().into()),
    ]
    .into_iter()
    .collect();
    document.into()
}

/// Adds the definitions of a version's kinds.
fn define(definitions: &mut Map, group: &Group, version: &GroupVersion, dialect: Dialect) {
    for resource in &version.resources {
        let name = schema::model_name(&group.name, &version.name, &resource.schema.names.kind);
        definitions.insert(name, schema::definition(group, resource, dialect));
    }
}

fn info() -> Map {
    [
        ("title", "Ephemeral resources"),
        ("version", concat!("v", env!("CARGO_PKG_VERSION"))),
    ]
    .into_iter()
    .collect()
}

/// How a definition is referred to.
fn reference(name: &str, dialect: Dialect) -> String {
    match dialect {
        Dialect::V2 => format!("#/definitions/{name}"),
        Dialect::V3 => format!("#/components/schemas/{name}"),
    }
}

/// What the first clause that can be served asks for.
fn accepted(parts: &Parts, subtypes: &[(&str, Format)]) -> Option<Format> {
    let accept = first(&parts.headers, ACCEPT);
    let accept = if accept.is_empty() { "*/*" } else { &*accept };
    parse_accept(accept).iter().find_map(|clause| {
        let matches =
            |subtype: &str| matches!(clause.main, "application" | "*") && (clause.sub == subtype || clause.sub == "*");
        subtypes
            .iter()
            .find(|(subtype, _)| matches(subtype))
            .map(|(_, format)| *format)
    })
}

/// To the same path with the right hash: a relative reference, since the path may have been rewritten on its way here.
fn moved(document: &Tagged) -> Response<Body> {
    let mut response = empty(StatusCode::MOVED_PERMANENTLY);
    let location = HeaderValue::try_from(format!("?hash={}", document.hash())).expect("a hash is hexadecimal");
    let headers = response.headers_mut();
    headers.insert(LOCATION, location);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    headers.insert(ETAG, document.etag.clone());
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    response
}

fn expires() -> HeaderValue {
    let then = Timestamp::now().saturating_add(IMMUTABLE_FOR).unwrap_or(Timestamp::MAX);
    HeaderValue::try_from(then.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()).expect("a date is ASCII")
}
