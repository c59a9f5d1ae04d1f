//! What a request is about, read from its method, path and query alone.
//!
//! The path is text that a provider wrote and a shard completed: the URL of an `APIExportEndpointSlice`, then
//! `/clusters/<consumer>`, then the path of the consumer's request. Nothing in it is proven. What this parser
//! guarantees is that a path has one reading: it is split first, each segment is percent-decoded once, and a segment
//! that could be read as more than one, or as less, ends the request. Names that pass are still only claims.

use std::borrow::Cow;
use std::fmt;

use http::Method;
use percent_encoding::percent_decode_str;

use crate::fault::ClientFault;
use crate::options::parameters;

/// What a path leads to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Route<'a> {
    /// `/livez`, `/readyz`, `/healthz`, alone or with the name of one check.
    Health {
        /// Which of the three.
        endpoint: HealthEndpoint,
        /// One check by name.
        check: Option<Cow<'a, str>>,
    },
    /// `/version` of the server itself.
    Version,
    /// Anything that a caller must be known for.
    Api(RequestInfo<'a>),
}

/// Which live check.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HealthEndpoint {
    /// The process works.
    Livez,
    /// The process can answer requests and has not begun to end.
    Readyz,
    /// The older name, without the state of the shutdown.
    Healthz,
}

/// A request on one of the APIs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RequestInfo<'a> {
    /// Whose API.
    pub api: Api<'a>,
    /// In which logical cluster.
    pub consumer: Consumer<'a>,
    /// What of it.
    pub target: Target<'a>,
}

/// Which exports a path shows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Api<'a> {
    /// `/services/ephemeral/<provider>/<export>`: one export.
    Export {
        /// The provider's logical cluster.
        provider: ClusterName<'a>,
        /// The name of the `APIExport` in it.
        export: Cow<'a, str>,
    },
    /// `/clusters/<consumer>`: all exports, as in a workspace that bound them. Only where the server is told so.
    Union,
}

/// In which logical cluster the request is made.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Consumer<'a> {
    /// The path names none: the root of an endpoint, good for discovery alone.
    None,
    /// `*`, how a shard asks for discovery.
    Wildcard,
    /// One logical cluster.
    Cluster(ClusterName<'a>),
}

/// The name of a logical cluster: 1 to 63 lower-case letters, digits and hyphens, as kcp's `logicalcluster` has it for
/// one word. A path such as `root:org` is none, nor is `*`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct ClusterName<'a>(Cow<'a, str>);

/// What a path below an API leads to.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Target<'a> {
    /// Something that is only read.
    Discovery(Discovery<'a>),
    /// A resource, a collection of it, or what is below one object.
    Resource(ResourceInfo<'a>),
}

/// Documents about an API, and the method that asks for them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Discovery<'a> {
    /// `/api`: the legacy group.
    Legacy,
    /// `/api/<version>`.
    LegacyVersion(Cow<'a, str>),
    /// `/apis`: all groups.
    Groups,
    /// `/apis/<group>`.
    Group(Cow<'a, str>),
    /// `/apis/<group>/<version>`.
    Version(Cow<'a, str>, Cow<'a, str>),
    /// `/openapi/v2`.
    OpenApiV2,
    /// `/openapi/v3`: which documents there are.
    OpenApiV3,
    /// `/openapi/v3/apis/<group>/<version>`.
    OpenApiV3Version(Cow<'a, str>, Cow<'a, str>),
    /// `/version`.
    ServerVersion,
}

impl Discovery<'_> {
    /// Whether it is a document of OpenAPI.
    pub fn is_openapi(&self) -> bool {
        matches!(self, Self::OpenApiV2 | Self::OpenApiV3 | Self::OpenApiV3Version(..))
    }
}

/// The resource part of a path, as Kubernetes' `RequestInfo` has it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ResourceInfo<'a> {
    /// What is to be done.
    pub verb: Verb,
    /// API group.
    pub group: Cow<'a, str>,
    /// API version.
    pub version: Cow<'a, str>,
    /// The namespace, if the path has one.
    pub namespace: Option<Cow<'a, str>>,
    /// Plural name of the resource.
    pub resource: Cow<'a, str>,
    /// Name of an object.
    pub name: Option<Cow<'a, str>>,
    /// Whether the path goes on below the object: a subresource, which no resource here has.
    pub has_subresource: bool,
}

/// What is to be done with a resource.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verb {
    /// GET or HEAD of a name.
    Get,
    /// GET or HEAD of a collection.
    List,
    /// GET of a collection with `watch`.
    Watch,
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH.
    Patch,
    /// DELETE of a name.
    Delete,
    /// DELETE of a collection.
    DeleteCollection,
    /// A method that Kubernetes has no verb for, `post` in lower case among them.
    Other,
}

impl Verb {
    /// The verb as the authorizer and Forbidden messages have it; empty for [`Verb::Other`], as in Kubernetes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other => "",
        }
    }
}

impl ClusterName<'_> {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClusterName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether `/clusters/<name>` shows the union of all exports.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum UnionPaths {
    /// As in `dev`.
    Served,
    /// As on kcp, where every path names an export.
    NotServed,
}

/// Reads a request; 404 for what no path here can be, 400 for a broken percent-encoding.
///
/// An empty segment is 404 too, where Go's `ServeMux` would redirect to the cleaned path. A shard cleans a consumer's
/// path before it forwards it, so what arrives here with `//` comes from a provider's URL, and a redirect would make
/// the consumer repeat the request, with the consumer's own credentials, at a path of that provider's choice
/// (compare CVE-2022-3172). This server never redirects. One slash at the end is no segment, as in Kubernetes.
pub fn parse<'a>(
    method: &Method,
    path: &'a str,
    query: Option<&str>,
    union: UnionPaths,
) -> Result<Route<'a>, ClientFault> {
    let mut segments = Segments::new(path)?;
    let route = if let Some(health) = health(&mut segments)? {
        health
    } else {
        match &*segments.require()? {
            "version" => Route::Version,
            "services" => endpoint(method, query, &mut segments)?,
            "clusters" if union == UnionPaths::Served => {
                let consumer = Consumer::Cluster(ClusterName::parse(segments.require()?)?);
                below(Api::Union, consumer, method, query, &mut segments)?
            }
            _ => return Err(ClientFault::NotFound),
        }
    };
    segments.end()?;
    Ok(route)
}

/// A live check, where the path leads to one.
fn health<'a>(segments: &mut Segments<'a>) -> Result<Option<Route<'a>>, ClientFault> {
    let endpoint = match segments.peek() {
        Some("livez") => HealthEndpoint::Livez,
        Some("readyz") => HealthEndpoint::Readyz,
        Some("healthz") => HealthEndpoint::Healthz,
        _ => return Ok(None),
    };
    segments.require()?;
    let check = segments.next()?;
    Ok(Some(Route::Health { endpoint, check }))
}

/// `/services/ephemeral/<provider>/<export>[/clusters/<consumer>]/…`
fn endpoint<'a>(method: &Method, query: Option<&str>, segments: &mut Segments<'a>) -> Result<Route<'a>, ClientFault> {
    if segments.require()? != "ephemeral" {
        return Err(ClientFault::NotFound);
    }
    let api = Api::Export {
        provider: ClusterName::parse(segments.require()?)?,
        export: segments.require()?,
    };
    let consumer = if segments.peek() == Some("clusters") {
        segments.require()?;
        Consumer::parse(segments.require()?)?
    } else {
        Consumer::None
    };
    below(api, consumer, method, query, segments)
}

/// What is below the root of an API: live checks, as in a workspace of kcp, and the API itself.
fn below<'a>(
    api: Api<'a>,
    consumer: Consumer<'a>,
    method: &Method,
    query: Option<&str>,
    segments: &mut Segments<'a>,
) -> Result<Route<'a>, ClientFault> {
    if let Some(health) = health(segments)? {
        return Ok(health);
    }
    let target = target(method, query, segments)?;
    Ok(Route::Api(RequestInfo { api, consumer, target }))
}

/// Discovery, or a resource.
fn target<'a>(method: &Method, query: Option<&str>, segments: &mut Segments<'a>) -> Result<Target<'a>, ClientFault> {
    let discovery = match &*segments.require()? {
        "api" => segments.next()?.map_or(Discovery::Legacy, Discovery::LegacyVersion),
        "apis" => return apis(method, query, segments),
        "openapi" => openapi(segments)?,
        "version" => Discovery::ServerVersion,
        _ => return Err(ClientFault::NotFound),
    };
    Ok(Target::Discovery(discovery))
}

fn openapi<'a>(segments: &mut Segments<'a>) -> Result<Discovery<'a>, ClientFault> {
    match &*segments.require()? {
        "v2" => Ok(Discovery::OpenApiV2),
        "v3" => match segments.next()?.as_deref() {
            None => Ok(Discovery::OpenApiV3),
            Some("apis") => Ok(Discovery::OpenApiV3Version(segments.require()?, segments.require()?)),
            Some(_) => Err(ClientFault::NotFound),
        },
        _ => Err(ClientFault::NotFound),
    }
}

/// `/apis[/<group>[/<version>[/[namespaces/<namespace>/]<resource>[/<name>[/…]]]]]`, taken apart as
/// `RequestInfoFactory.NewRequestInfo` does.
fn apis<'a>(method: &Method, query: Option<&str>, segments: &mut Segments<'a>) -> Result<Target<'a>, ClientFault> {
    let Some(group) = segments.next()? else {
        return Ok(Target::Discovery(Discovery::Groups));
    };
    let Some(version) = segments.next()? else {
        return Ok(Target::Discovery(Discovery::Group(group)));
    };
    let Some(first) = segments.next()? else {
        return Ok(Target::Discovery(Discovery::Version(group, version)));
    };
    let mut parts = [Some(first), segments.next()?, segments.next()?];
    let mut namespace = None;
    if parts[0].as_deref() == Some("namespaces") {
        namespace.clone_from(&parts[1]);
        // `namespaces/<name>/status` and `…/finalize` are subresources of a namespace, no resources in it.
        if parts[2]
            .as_deref()
            .is_some_and(|part| !matches!(part, "status" | "finalize"))
        {
            let [_, _, resource] = parts;
            parts = [resource, segments.next()?, segments.next()?];
        }
    }
    let [resource, name, subresource] = parts;
    while segments.next()?.is_some() {}
    Ok(Target::Resource(ResourceInfo {
        verb: verb(method, name.is_some(), query),
        group,
        version,
        namespace,
        resource: resource.ok_or(ClientFault::NotFound)?,
        name,
        has_subresource: subresource.is_some(),
    }))
}

fn verb(method: &Method, named: bool, query: Option<&str>) -> Verb {
    match (method, named) {
        (&Method::POST, _) => Verb::Create,
        (&Method::PUT, _) => Verb::Update,
        (&Method::PATCH, _) => Verb::Patch,
        (&Method::GET | &Method::HEAD, true) => Verb::Get,
        (&Method::GET | &Method::HEAD, false) if asks_to_watch(query) => Verb::Watch,
        (&Method::GET | &Method::HEAD, false) => Verb::List,
        (&Method::DELETE, true) => Verb::Delete,
        (&Method::DELETE, false) => Verb::DeleteCollection,
        _ => Verb::Other,
    }
}

/// As `Convert_Slice_string_To_bool` reads `watch`: the first value counts, and only `0` and `false` mean no.
fn asks_to_watch(query: Option<&str>) -> bool {
    parameters(query.unwrap_or_default())
        .find(|(key, _)| key == "watch")
        .is_some_and(|(_, value)| value != "0" && !value.eq_ignore_ascii_case("false"))
}

impl<'a> Consumer<'a> {
    fn parse(segment: Cow<'a, str>) -> Result<Self, ClientFault> {
        if segment == "*" {
            Ok(Self::Wildcard)
        } else {
            ClusterName::parse(segment).map(Self::Cluster)
        }
    }
}

impl<'a> ClusterName<'a> {
    /// As kcp's `lclusterNameFmt`: `[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`.
    fn parse(segment: Cow<'a, str>) -> Result<Self, ClientFault> {
        let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = segment.as_bytes();
        let valid = bytes.len() <= 63
            && bytes.first().is_some_and(alphanumeric)
            && bytes.last().is_some_and(alphanumeric)
            && bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-');
        if valid {
            Ok(Self(segment))
        } else {
            Err(ClientFault::NotFound)
        }
    }
}

/// The segments of a path, decoded one by one.
struct Segments<'a> {
    rest: Option<&'a str>,
}

impl<'a> Segments<'a> {
    fn new(path: &'a str) -> Result<Self, ClientFault> {
        let path = path.strip_prefix('/').ok_or(ClientFault::NotFound)?;
        let path = path.strip_suffix('/').unwrap_or(path);
        Ok(Self { rest: Some(path) })
    }

    /// The next segment as it stands in the path.
    fn peek(&self) -> Option<&'a str> {
        self.rest
            .map(|rest| rest.split_once('/').map_or(rest, |(segment, _)| segment))
    }

    fn next(&mut self) -> Result<Option<Cow<'a, str>>, ClientFault> {
        let Some(segment) = self.peek() else { return Ok(None) };
        self.rest = self.rest.and_then(|rest| rest.split_once('/')).map(|(_, rest)| rest);
        decode(segment).map(Some)
    }

    fn require(&mut self) -> Result<Cow<'a, str>, ClientFault> {
        self.next()?.ok_or(ClientFault::NotFound)
    }

    fn end(&self) -> Result<(), ClientFault> {
        if self.rest.is_none() {
            Ok(())
        } else {
            Err(ClientFault::NotFound)
        }
    }
}

/// Decodes a segment once and refuses what another reader of the same path could take for something else: separators
/// of a path or a URL, dot segments, control characters, bytes that are no text.
fn decode(segment: &str) -> Result<Cow<'_, str>, ClientFault> {
    if has_broken_escape(segment) {
        return Err(ClientFault::BadRequest(
            "invalid percent-encoding in the path of the request".into(),
        ));
    }
    let segment = percent_decode_str(segment)
        .decode_utf8()
        .map_err(|_| ClientFault::NotFound)?;
    let ambiguous = matches!(&*segment, "" | "." | "..")
        || segment
            .contains(|character: char| matches!(character, '/' | '\\' | '#' | '?' | '%') || character.is_control());
    if ambiguous {
        Err(ClientFault::NotFound)
    } else {
        Ok(segment)
    }
}

fn has_broken_escape(segment: &str) -> bool {
    let mut bytes = segment.bytes();
    while let Some(byte) = bytes.next() {
        let digits = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_hexdigit());
        if byte == b'%' && !(digits(bytes.next()) && digits(bytes.next())) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests;
