//! In which format a body comes in and an answer goes out, as `apiserver/pkg/endpoints/handlers/negotiation` decides.
//!
//! Custom resources are JSON and YAML. Kubernetes names protobuf in its refusals too, so the texts here do; protobuf
//! itself is refused like any other format that is not served.

mod accept;
mod media_type;

use std::borrow::Cow;

use http::HeaderMap;
use http::header::{ACCEPT, AsHeaderName, CONTENT_TYPE, USER_AGENT};
use http::request::Parts;

use accept::Clause;
pub(crate) use accept::parse as parse_accept;

use crate::fault::{ClientFault, Fault};
use crate::options::parameters;

/// What Kubernetes says that it accepts.
const MEDIA_TYPES: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// A format of bodies.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Media {
    /// `application/json`.
    #[default]
    Json,
    /// `application/yaml`.
    Yaml,
}

impl Media {
    /// In the order in which a wildcard picks them.
    const ALL: [Self; 2] = [Self::Json, Self::Yaml];

    /// The media type.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
        }
    }

    fn subtype(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Yaml => "yaml",
        }
    }
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Form {
    /// The format.
    pub media: Media,
    /// Indented for people; YAML always is.
    pub pretty: bool,
}

impl Form {
    /// What a client gets that cannot be given what it wants: `responsewriters.WriteRawJSON`.
    pub const FALLBACK: Self = Self {
        media: Media::Json,
        pretty: true,
    };
}

/// What an answer is to be, and how it is written; by default an object or list as it is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Output<T = Option<Transform>> {
    /// How it is written.
    pub form: Form,
    /// What it is turned into.
    pub target: T,
}

/// What an object or list is turned into before it is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Transform {
    /// `Table`.
    Table(MetaVersion),
    /// `PartialObjectMetadata`.
    PartialObjectMetadata(MetaVersion),
    /// `PartialObjectMetadataList`.
    PartialObjectMetadataList(MetaVersion),
}

/// A version of the group `meta.k8s.io`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MetaVersion {
    /// `v1`.
    V1,
    /// `v1beta1`.
    V1beta1,
}

impl MetaVersion {
    /// The `apiVersion`.
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// A version of the group `apidiscovery.k8s.io`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DiscoveryVersion {
    /// `v2`.
    V2,
    /// `v2beta1`.
    V2beta1,
}

impl DiscoveryVersion {
    /// The version without its group.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2 => "v2",
            Self::V2beta1 => "v2beta1",
        }
    }
}

/// How an object or list of a resource is answered.
pub fn negotiate_output(parts: &Parts) -> Result<Output, Fault> {
    negotiate(
        parts,
        &Endpoint {
            server_version: Some("v1"),
            target: transform,
        },
    )
    .ok_or_else(not_acceptable)
}

/// How a document that cannot be transformed is answered: discovery, and every error.
pub fn negotiate_plain(parts: &Parts) -> Result<Form, Fault> {
    let target = |target: Option<Target<'_>>| target.map_or(Ok(()), |_| Err(NotServed));
    let output = negotiate(
        parts,
        &Endpoint {
            server_version: None,
            target,
        },
    )
    .ok_or_else(not_acceptable)?;
    Ok(output.form)
}

/// How an error is answered: as wanted if possible, else as JSON for people, as `WriteObjectNegotiated` does.
pub fn negotiate_error(parts: &Parts) -> Form {
    negotiate_plain(parts).unwrap_or(Form::FALLBACK)
}

/// How aggregated discovery is answered, if the client asks for it anywhere in its `Accept`.
pub fn negotiate_discovery(parts: &Parts) -> Option<Output<DiscoveryVersion>> {
    let target = |target: Option<Target<'_>>| match target {
        Some(Target {
            group: "apidiscovery.k8s.io",
            version,
            kind: "APIGroupDiscoveryList",
        }) => match version {
            "v2" => Ok(DiscoveryVersion::V2),
            "v2beta1" => Ok(DiscoveryVersion::V2beta1),
            _ => Err(NotServed),
        },
        _ => Err(NotServed),
    };
    negotiate(
        parts,
        &Endpoint {
            server_version: None,
            target,
        },
    )
}

/// Refuses, before anything else is looked at, what a go-restful container finds no representation for. It compares
/// media types whole: `application/*` is none of them.
pub fn check_representation(headers: &HeaderMap) -> Result<(), Fault> {
    let accept = first(headers, ACCEPT);
    let acceptable = accept.is_empty()
        || accept.split(',').any(|part| {
            let media_type = part.split(';').next().unwrap_or_default().trim_matches(' ');
            media_type == "*/*" || MEDIA_TYPES.split(", ").any(|known| known == media_type)
        });
    if acceptable {
        Ok(())
    } else {
        Err(ClientFault::NoRepresentation(MEDIA_TYPES).into())
    }
}

/// In which format a body is that Kubernetes would begin to decode.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Input {
    /// One that is read here.
    Read(Media),
    /// Protobuf, which Kubernetes accepts here and fails to decode.
    Protobuf,
}

impl Input {
    /// The format, when it comes to decoding: not before, since Kubernetes tells of bad options first.
    pub fn media(self) -> Result<Media, Fault> {
        match self {
            Self::Read(media) => Ok(media),
            Self::Protobuf => Err(unsupported()),
        }
    }
}

/// In which format a body is.
pub fn negotiate_input(headers: &HeaderMap) -> Result<Input, Fault> {
    let content_type = first(headers, CONTENT_TYPE);
    if content_type.is_empty() {
        return Ok(Input::Read(Media::Json));
    }
    let media_type = media_type::parse(&content_type);
    let media_type = media_type.as_deref().unwrap_or_default();
    if media_type == "application/vnd.kubernetes.protobuf" {
        return Ok(Input::Protobuf);
    }
    let read = Media::ALL.into_iter().find(|media| media_type == media.as_str());
    read.map(Input::Read).ok_or_else(unsupported)
}

fn unsupported() -> Fault {
    ClientFault::UnsupportedMediaType(MEDIA_TYPES).into()
}

/// The text of a header; of several the first, as Go's `Header.Get`.
pub(crate) fn first(headers: &HeaderMap, name: impl AsHeaderName) -> Cow<'_, str> {
    headers
        .get(name)
        .map(|value| String::from_utf8_lossy(value.as_bytes()))
        .unwrap_or_default()
}

fn not_acceptable() -> Fault {
    ClientFault::NotAcceptable(MEDIA_TYPES).into()
}

/// What `as`, `g` and `v` of a clause ask for.
#[derive(Clone, Copy, Default)]
struct Target<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

/// What an endpoint can answer: Kubernetes' `EndpointRestrictions`.
struct Endpoint<F> {
    /// The value of `sv` that is allowed.
    server_version: Option<&'static str>,
    /// What is answered to a client that asks for this target, or for none.
    target: F,
}

/// A clause asks for what the endpoint does not have.
struct NotServed;

fn transform(target: Option<Target<'_>>) -> Result<Option<Transform>, NotServed> {
    let Some(target) = target else { return Ok(None) };
    let version = match (target.group, target.version) {
        ("meta.k8s.io", "v1") => MetaVersion::V1,
        ("meta.k8s.io", "v1beta1") => MetaVersion::V1beta1,
        _ => return Err(NotServed),
    };
    let transform = match target.kind {
        "Table" => Transform::Table(version),
        "PartialObjectMetadata" => Transform::PartialObjectMetadata(version),
        "PartialObjectMetadataList" => Transform::PartialObjectMetadataList(version),
        _ => return Err(NotServed),
    };
    Ok(Some(transform))
}

/// `NegotiateOutputMediaType`.
fn negotiate<T, F>(parts: &Parts, endpoint: &Endpoint<F>) -> Option<Output<T>>
where
    F: Fn(Option<Target<'_>>) -> Result<T, NotServed>,
{
    let accept = first(&parts.headers, ACCEPT);
    let mut output = if accept.is_empty() {
        Output {
            form: Form::default(),
            target: (endpoint.target)(None).ok()?,
        }
    } else {
        accept::parse(&accept).iter().find_map(|clause| {
            Media::ALL
                .into_iter()
                .filter(|media| clause.matches("application", media.subtype()))
                .find_map(|media| options(clause, media, endpoint))
        })?
    };
    output.form.pretty |= is_pretty(&parts.headers, parts.uri.query().unwrap_or_default());
    Some(output)
}

/// `acceptMediaTypeOptions`: what the parameters of a clause ask for, if that is served.
fn options<T, F>(clause: &Clause<'_>, media: Media, endpoint: &Endpoint<F>) -> Option<Output<T>>
where
    F: Fn(Option<Target<'_>>) -> Result<T, NotServed>,
{
    let mut target: Option<Target<'_>> = None;
    let mut pretty = false;
    for &(name, value) in &clause.parameters {
        match name {
            "as" => target.get_or_insert_default().kind = value,
            "g" => target.get_or_insert_default().group = value,
            "v" => target.get_or_insert_default().version = value,
            // Only JSON has a form that can be streamed.
            "stream" if !value.is_empty() && (media != Media::Json || value != "watch") => return None,
            "sv" if !value.is_empty() && endpoint.server_version != Some(value) => return None,
            "pretty" => pretty = value == "1",
            _ => {}
        }
    }
    Some(Output {
        form: Form { media, pretty },
        target: (endpoint.target)(target).ok()?,
    })
}

/// `isPrettyPrint`: the query decides, else whether the client looks like a person's.
fn is_pretty(headers: &HeaderMap, query: &str) -> bool {
    if query.contains("pretty")
        && let Some((_, value)) = parameters(query).find(|(key, _)| key == "pretty")
        && !value.is_empty()
    {
        return matches!(&*value, "1" | "t" | "T" | "true" | "TRUE" | "True");
    }
    let agent = first(headers, USER_AGENT);
    ["curl", "Wget", "Mozilla/5.0"]
        .iter()
        .any(|prefix| agent.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn headers(pairs: &[(http::HeaderName, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_bytes(value.as_bytes()).unwrap()))
            .collect()
    }

    fn parts(query: &str, pairs: &[(http::HeaderName, &str)]) -> Parts {
        let (mut parts, ()) = http::Request::get(format!("/?{query}")).body(()).unwrap().into_parts();
        parts.headers = headers(pairs);
        parts
    }

    fn output(accept: &str) -> Result<Output, Fault> {
        negotiate_output(&parts("", &[(ACCEPT, accept)]))
    }

    #[test]
    fn json_and_yaml_are_answered_as_wanted() {
        use Media::{Json, Yaml};
        for (accept, media) in [
            ("", Json),
            ("*/*", Json),
            ("application/*", Json),
            ("application/json", Json),
            ("application/yaml", Yaml),
            ("application/vnd.kubernetes.protobuf, application/json", Json),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Json),
            ("application/json;q=0.5, application/yaml;q=0.9", Yaml),
            ("application/yaml, application/json", Yaml),
            ("application/json;q=0, */*", Json),
            ("application/json;q=banana", Json),
            ("application/json;stream=watch", Json),
            ("application/json;sv=v1", Json),
            ("application/json;unknown=1", Json),
        ] {
            let output = output(accept).unwrap();
            assert_eq!((output.form.media, output.target), (media, None), "{accept}");
        }
    }

    #[test]
    fn what_is_not_served_is_406_in_the_words_of_kubernetes() {
        for accept in [
            "text/html",
            "text/yaml",
            "application/cbor",
            "application/vnd.kubernetes.protobuf",
            "text/event-stream",
            "Application/JSON",
            "nonsense",
            "application/json;as=Bogus;v=v1;g=meta.k8s.io",
            "application/json;as=Table;v=v1;g=other",
            "application/json;as=Table;v=v9;g=meta.k8s.io",
            "application/json;as=Table;v=v1",
            "application/json;v=v1;g=meta.k8s.io",
            "application/yaml;stream=watch",
            "application/json;stream=other",
            "application/json;sv=v2",
            "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io",
        ] {
            assert_eq!(
                output(accept).unwrap_err().to_string(),
                "only the following media types are accepted: application/json, application/yaml, \
                 application/vnd.kubernetes.protobuf",
                "{accept}"
            );
        }
    }

    #[test]
    fn transforms_are_those_of_meta() {
        use MetaVersion::{V1, V1beta1};
        for (accept, expected) in [
            ("application/json;as=Table;v=v1;g=meta.k8s.io", Transform::Table(V1)),
            (
                "application/yaml;as=Table;v=v1beta1;g=meta.k8s.io",
                Transform::Table(V1beta1),
            ),
            (
                "application/json;as=Table;v=v9;g=meta.k8s.io,application/json;as=Table;v=v1;g=meta.k8s.io",
                Transform::Table(V1),
            ),
            (
                "*/*;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
                Transform::PartialObjectMetadata(V1),
            ),
            (
                "application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io",
                Transform::PartialObjectMetadataList(V1beta1),
            ),
        ] {
            assert_eq!(output(accept).unwrap().target, Some(expected), "{accept}");
        }
        // What kubectl sends: the last clause serves clients of servers without tables.
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,\
                       application/json";
        assert_eq!(output(kubectl).unwrap().target, Some(Transform::Table(V1)));
    }

    #[test]
    fn an_error_is_never_transformed_and_always_readable() {
        let form = |accept: &str| negotiate_error(&parts("", &[(ACCEPT, accept)]));
        assert_eq!(
            form("application/yaml"),
            Form {
                media: Media::Yaml,
                pretty: false
            }
        );
        assert_eq!(
            form("application/vnd.kubernetes.protobuf,application/json"),
            Form::default()
        );
        assert_eq!(form("application/json;as=Table;v=v1;g=meta.k8s.io"), Form::FALLBACK);
        assert_eq!(form("text/html"), Form::FALLBACK);
    }

    #[test]
    fn pretty_is_for_people() {
        let pretty = |accept: &str, agent: &str, query: &str| {
            negotiate_output(&parts(query, &[(ACCEPT, accept), (USER_AGENT, agent)]))
                .unwrap()
                .form
                .pretty
        };
        assert!(pretty("*/*", "curl/8.0.1", ""));
        assert!(pretty("*/*", "Mozilla/5.0 (X11)", "pretty="));
        assert!(!pretty("*/*", "kubectl/v1.32", ""));
        assert!(!pretty("*/*", "curl/8.0.1", "pretty=false"));
        assert!(!pretty("*/*", "curl/8.0.1", "pretty=bogus&pretty=true"));
        assert!(pretty("*/*", "", "a=b&pretty=true"));
        assert!(pretty("application/json;pretty=1", "", "pretty=false"));
        assert!(!pretty("application/json;pretty=true", "", ""));
    }

    #[test]
    fn aggregated_discovery_is_taken_wherever_it_is_asked_for() {
        let version = |accept: &str| negotiate_discovery(&parts("", &[(ACCEPT, accept)])).map(|output| output.target);
        let (v2, v2beta1) = (
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        );
        assert_eq!(
            version(&format!("{v2},{v2beta1},application/json")),
            Some(DiscoveryVersion::V2)
        );
        assert_eq!(
            version(&format!("application/json, {v2beta1}")),
            Some(DiscoveryVersion::V2beta1)
        );
        assert_eq!(version("application/json"), None);
        assert_eq!(version(""), None);
    }

    #[test]
    fn a_container_compares_media_types_whole() {
        let check = |accept: &str| check_representation(&headers(&[(ACCEPT, accept)]));
        for accept in [
            "",
            "*/*",
            "application/yaml;q=0.1",
            "text/html, application/vnd.kubernetes.protobuf",
        ] {
            assert!(check(accept).is_ok(), "{accept}");
        }
        assert_eq!(
            check("application/*").unwrap_err().to_string(),
            "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, \
             application/vnd.kubernetes.protobuf"
        );
    }

    #[test]
    fn bodies_are_json_and_yaml() {
        let input = |content_type: &str| negotiate_input(&headers(&[(CONTENT_TYPE, content_type)])).ok();
        assert_eq!(negotiate_input(&HeaderMap::new()).unwrap(), Input::Read(Media::Json));
        assert_eq!(input("application/json; as=Table"), Some(Input::Read(Media::Json)));
        assert_eq!(input("application/yaml"), Some(Input::Read(Media::Yaml)));
        assert!(input("application/vnd.kubernetes.protobuf").unwrap().media().is_err());
        for refused in ["text/yaml", "application/cbor", "*/*", "json"] {
            assert_eq!(input(refused), None, "{refused}");
        }
    }

    proptest! {
        #[test]
        fn any_header_is_read(accept in "[ -~\u{80}-\u{ff}]{0,200}", query in "[a-z=&%;+]{0,60}") {
            let parts = parts(&query, &[(ACCEPT, &accept), (CONTENT_TYPE, &accept)]);
            let _ = negotiate_output(&parts);
            let _ = negotiate_discovery(&parts);
            let _ = negotiate_input(&parts.headers);
            let _ = check_representation(&parts.headers);
        }
    }
}
