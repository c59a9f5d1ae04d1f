//! Answers as bytes: the format that was negotiated, the headers that Kubernetes sends, compression where it pays.

mod indent;

use std::io::Write as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, RETRY_AFTER, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;
use sha2::{Digest, Sha512};
use structural_schema::{Value, json, yaml};

use crate::fault::{ClientFault, Fault, MAX_BODY_BYTES};
use crate::negotiate::{Form, Media, negotiate_error};
use crate::status::Status;

/// The body of every answer.
pub type Body = Full<Bytes>;

/// Largest indented JSON. Beyond that, it is written without indentation.
const MAX_INDENTED_BYTES: usize = 4 * MAX_BODY_BYTES;

/// What of a request decides how any answer to it is sent.
#[derive(Clone, Debug)]
pub struct Responder {
    accept_encoding: Option<HeaderValue>,
    errors: Form,
    if_none_match: Option<HeaderValue>,
}

impl Responder {
    /// Reads method, query and headers of a request.
    pub fn new(parts: &Parts) -> Self {
        Self {
            accept_encoding: parts.headers.get(ACCEPT_ENCODING).cloned(),
            errors: negotiate_error(parts),
            if_none_match: parts.headers.get(IF_NONE_MATCH).cloned(),
        }
    }

    /// An object.
    pub fn object(&self, code: StatusCode, object: &Value, form: Form) -> Response<Body> {
        self.written(code, form, encode_value(object, form))
    }

    /// A document whose fields have an order of their own.
    pub fn document(&self, code: StatusCode, document: &Document, form: Form) -> Response<Body> {
        self.written(code, form, document.encode(form))
    }

    /// What was written, or, as `SerializeObject`, why it could not be, in place of it; an error keeps its code.
    fn written(&self, code: StatusCode, form: Form, body: Result<Bytes, yaml::Error>) -> Response<Body> {
        let (code, body) = match body {
            Ok(body) => (code, body),
            Err(error) => {
                let status = Status::new(500, "", error.to_string());
                let code = if code.is_success() {
                    StatusCode::INTERNAL_SERVER_ERROR
                } else {
                    code
                };
                let body = Document::of_status(&status).encode(form);
                (code, body.expect("words of this crate have no control characters"))
            }
        };
        self.send(code, form.media.as_str(), body, Gzip::Objects)
    }

    /// An error.
    pub fn fault(&self, fault: &Fault) -> Response<Body> {
        let status = fault.status();
        let mut response = self.status(&status);
        if let (Some(seconds), false) = (
            status.retry_after(),
            matches!(fault, Fault::Client(ClientFault::Denied(_))),
        ) {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        // As the API server's `responsewriters.Forbidden`.
        if matches!(
            fault,
            Fault::Client(ClientFault::Forbidden(_) | ClientFault::NotAllowed(_))
        ) {
            let headers = response.headers_mut();
            headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        }
        response
    }

    /// The same, when its status is known already.
    pub fn status(&self, status: &Status) -> Response<Body> {
        let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        self.document(code, &Document::of_status(status), self.errors)
    }

    /// Something that clients cache: with an `ETag`, and 304 for those that have it.
    pub(crate) fn cached(&self, cached: &Cached<'_>) -> Response<Body> {
        let known = self
            .if_none_match
            .as_ref()
            .is_some_and(|known| names(known, cached.etag));
        let mut response = if known {
            empty(StatusCode::NOT_MODIFIED)
        } else {
            self.send(StatusCode::OK, &cached.content_type, cached.body.clone(), cached.gzip)
        };
        let headers = response.headers_mut();
        headers.insert(ETAG, cached.etag.clone());
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(cached.cache_control));
        let compressed = headers.remove(VARY);
        match cached.gzip {
            Gzip::Objects => {
                headers.insert(VARY, HeaderValue::from_static("Accept"));
                if let Some(compressed) = compressed {
                    headers.append(VARY, compressed);
                }
            }
            Gzip::Documents => {
                headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
                headers.append(VARY, HeaderValue::from_static("Accept"));
            }
        }
        response
    }

    fn send(&self, code: StatusCode, content_type: &str, body: Bytes, gzip: Gzip) -> Response<Body> {
        let mut response = empty(code);
        let headers = response.headers_mut();
        let content_type = HeaderValue::from_str(content_type).expect("media types are ASCII");
        headers.insert(CONTENT_TYPE, content_type);
        if body.len() > gzip.threshold()
            && self
                .accept_encoding
                .as_ref()
                .is_some_and(|accepted| gzip.is_in(accepted))
        {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
            *response.body_mut() = Full::new(compress(&body));
        } else {
            *response.body_mut() = Full::new(body);
        }
        response
    }
}

/// Answers with an error.
pub fn fault(fault: &Fault, parts: &Parts) -> Response<Body> {
    Responder::new(parts).fault(fault)
}

/// The tag of a document: its SHA-512 in quotes, as `calculateETag`.
pub(crate) fn etag(document: &[u8]) -> HeaderValue {
    HeaderValue::try_from(format!("\"{:X}\"", Sha512::digest(document))).expect("a hash is hexadecimal")
}

/// Something that clients cache.
pub(crate) struct Cached<'a> {
    pub(crate) content_type: String,
    pub(crate) body: Bytes,
    /// In its quotes.
    pub(crate) etag: &'a HeaderValue,
    pub(crate) cache_control: &'static str,
    pub(crate) gzip: Gzip,
}

/// When an answer is compressed, for clients that accept it; Kubernetes has two ways.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Gzip {
    /// Of objects, discovery and errors: those that are large, for clients that say the bare word (`responsewriters`).
    Objects,
    /// Of OpenAPI: whatever is worth it, for clients that give the word any quality; `Vary` always says so
    /// (`gziphandler`).
    Documents,
}

impl Gzip {
    /// What is larger is compressed, bytes: `defaultGzipThresholdBytes`, `gziphandler.DefaultMinSize`.
    const fn threshold(self) -> usize {
        match self {
            Self::Objects => 128 * 1024,
            Self::Documents => 1400,
        }
    }

    /// Whether an `Accept-Encoding` asks for it.
    fn is_in(self, accepted: &HeaderValue) -> bool {
        let mut encodings = accepted.to_str().unwrap_or_default().split(',').map(str::trim);
        match self {
            Self::Objects => encodings.any(|encoding| encoding == "gzip"),
            Self::Documents => encodings
                .filter_map(quality_of_gzip)
                .next_back()
                .is_some_and(|q| q > 0.0),
        }
    }
}

/// An answer without a body, with the headers that every answer has.
pub(crate) fn empty(code: StatusCode) -> Response<Body> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = code;
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// A document as compact JSON, its fields in the order in which Go's struct has them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Document(Bytes);

impl Document {
    /// Serializes as Go does: `<`, `>`, `&`, U+2028 and U+2029 are escaped.
    pub(crate) fn new(document: &impl serde::Serialize) -> Self {
        let json = serde_json::to_vec(document).expect("documents have string keys only and writing to memory works");
        Self(escape_html(json).into())
    }

    fn of_status(status: &Status) -> Self {
        Self(status.to_json().into())
    }

    /// The compact JSON.
    pub(crate) fn json(&self) -> &Bytes {
        &self.0
    }

    /// The document in the wanted form, as Kubernetes' serializers end it: a line end but after indented JSON.
    ///
    /// Fails where YAML cannot hold a string of it.
    pub(crate) fn encode(&self, form: Form) -> Result<Bytes, yaml::Error> {
        match form.media {
            Media::Json => Ok(finish_json(self.0.to_vec(), form.pretty)),
            Media::Yaml => yaml(&json::decode(&self.0).expect("a document is valid JSON").value),
        }
    }
}

fn encode_value(value: &Value, form: Form) -> Result<Bytes, yaml::Error> {
    match form.media {
        Media::Json => {
            let mut json = Vec::new();
            json::encode(value, &mut json);
            Ok(finish_json(json, form.pretty))
        }
        Media::Yaml => yaml(value),
    }
}

fn yaml(value: &Value) -> Result<Bytes, yaml::Error> {
    let mut yaml = Vec::new();
    yaml::encode(value, &mut yaml)?;
    Ok(yaml.into())
}

fn finish_json(mut json: Vec<u8>, pretty: bool) -> Bytes {
    if pretty && let Some(indented) = indent::indent(&json, MAX_INDENTED_BYTES) {
        return indented.into();
    }
    json.push(b'\n');
    json.into()
}

/// Escapes what may be taken for markup. In JSON these characters are only ever part of strings.
fn escape_html(json: Vec<u8>) -> Vec<u8> {
    let separator = |at: usize| matches!(json.get(at..at + 3), Some([0xe2, 0x80, 0xa8 | 0xa9]));
    if !json
        .iter()
        .enumerate()
        .any(|(at, byte)| b"<>&".contains(byte) || separator(at))
    {
        return json;
    }
    let mut out = Vec::with_capacity(json.len() + 64);
    let mut at = 0;
    while let Some(&byte) = json.get(at) {
        match byte {
            b'<' => out.extend_from_slice(b"\\u003c"),
            b'>' => out.extend_from_slice(b"\\u003e"),
            b'&' => out.extend_from_slice(b"\\u0026"),
            _ if separator(at) => {
                out.extend_from_slice(if json[at + 2] == 0xa8 { b"\\u2028" } else { b"\\u2029" });
                at += 2;
            }
            other => out.push(other),
        }
        at += 1;
    }
    out
}

/// The quality that one encoding of an `Accept-Encoding` gives gzip, if it is about gzip (`parseCoding`).
fn quality_of_gzip(encoding: &str) -> Option<f64> {
    let mut parts = encoding.split(';').map(str::trim);
    if !parts.next()?.eq_ignore_ascii_case("gzip") {
        return None;
    }
    match parts.filter_map(|part| part.strip_prefix("q=")).next_back() {
        Some(quality) => quality.parse().ok(),
        None => Some(1.0),
    }
}

/// Compresses at the level of kube-apiserver, which trades size for time.
fn compress(body: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    encoder
        .write_all(body)
        .and_then(|()| encoder.finish())
        .expect("writing to memory works")
        .into()
}

/// Whether an `If-None-Match` names a tag, weak or not, or any, as `checkIfNoneMatch` of `net/http` reads it: commas
/// may be missing, and what is no tag ends the list.
fn names(header: &HeaderValue, etag: &HeaderValue) -> bool {
    let mut rest = header.as_bytes();
    loop {
        while let [b',' | b' ' | b'\t', after @ ..] = rest {
            rest = after;
        }
        if rest.first() == Some(&b'*') {
            return true;
        }
        let tag = rest.strip_prefix(b"W/").unwrap_or(rest);
        let Some(text) = tag.strip_prefix(b"\"") else {
            return false;
        };
        let allowed = |byte: &u8| matches!(byte, 0x21 | 0x23..=0x7e | 0x80..);
        let length = text.iter().take_while(|byte| allowed(byte)).count();
        if text.get(length) != Some(&b'"') {
            return false;
        }
        let (tag, after) = tag.split_at(length + 2);
        if tag == etag.as_bytes() {
            return true;
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use futures::FutureExt as _;
    use http::Method;
    use http_body_util::BodyExt as _;

    use super::*;
    use crate::fault::{NotAllowed, PlatformFault};

    fn responder(method: &Method, query: &str, headers: &[(http::HeaderName, &'static str)]) -> Responder {
        let (mut parts, ()) = http::Request::get(format!("/?{query}"))
            .method(method)
            .body(())
            .unwrap()
            .into_parts();
        parts.headers = headers
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)))
            .collect();
        Responder::new(&parts)
    }

    fn body(response: Response<Body>) -> Bytes {
        response
            .into_body()
            .collect()
            .now_or_never()
            .expect("a whole body is there at once")
            .unwrap()
            .to_bytes()
    }

    fn object(json: &str) -> Value {
        json::decode(json.as_bytes()).unwrap().value
    }

    #[test]
    fn objects_end_as_kubernetes_ends_them() {
        let responder = responder(&Method::POST, "", &[]);
        let object = object(r#"{"kind":"K","a":{"b":[1]}}"#);
        for (form, content_type, expected) in [
            (
                Form {
                    media: Media::Json,
                    pretty: false,
                },
                "application/json",
                "{\"a\":{\"b\":[1]},\"kind\":\"K\"}\n",
            ),
            (
                Form {
                    media: Media::Json,
                    pretty: true,
                },
                "application/json",
                "{\n  \"a\": {\n    \"b\": [\n      1\n    ]\n  },\n  \"kind\": \"K\"\n}",
            ),
            (
                Form {
                    media: Media::Yaml,
                    pretty: true,
                },
                "application/yaml",
                "a:\n  b:\n  - 1\nkind: K\n",
            ),
        ] {
            let response = responder.object(StatusCode::CREATED, &object, form);
            assert_eq!(response.status(), StatusCode::CREATED);
            assert_eq!(response.headers()[CONTENT_TYPE], content_type);
            assert_eq!(response.headers()[CACHE_CONTROL], "no-cache, private");
            assert_eq!(body(response), expected);
        }
    }

    #[test]
    fn an_error_is_written_as_the_client_reads_it() {
        let not_found = Fault::from(ClientFault::NotFound);
        let yaml = responder(&Method::GET, "", &[(http::header::ACCEPT, "application/yaml")]).fault(&not_found);
        assert_eq!(yaml.status(), StatusCode::NOT_FOUND);
        assert_eq!(yaml.headers()[CONTENT_TYPE], "application/yaml");
        assert_eq!(
            body(yaml),
            "apiVersion: v1\ncode: 404\ndetails: {}\nkind: Status\nmessage: the server could not find the requested \
             resource\nmetadata: {}\nreason: NotFound\nstatus: Failure\n"
        );
        let html = responder(&Method::GET, "", &[(http::header::ACCEPT, "text/html")]).fault(&not_found);
        assert_eq!(html.headers()[CONTENT_TYPE], "application/json");
        assert!(body(html).starts_with(b"{\n  \"kind\": \"Status\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {},"));
        let plain = responder(&Method::GET, "", &[]).fault(&not_found);
        assert!(body(plain).ends_with(b"\"code\":404}\n"));
    }

    #[test]
    fn only_a_refusal_for_load_says_when_to_come_back() {
        let responder = responder(&Method::POST, "", &[]);
        let overloaded = responder.fault(&PlatformFault::Overloaded.into());
        assert_eq!(overloaded.headers()[RETRY_AFTER], "1");
        let starting = responder.fault(&PlatformFault::NotRead.into());
        assert!(!starting.headers().contains_key(RETRY_AFTER));
    }

    #[test]
    fn large_answers_are_compressed_for_clients_that_say_gzip() {
        let large = Value::from("x".repeat(Gzip::Objects.threshold()));
        for (accepts, compressed) in [
            ("gzip", true),
            ("deflate, gzip, br", true),
            ("gzip;q=0", false),
            ("gzip;q=1", false),
            ("br", false),
        ] {
            let responder = responder(&Method::POST, "", &[(ACCEPT_ENCODING, accepts)]);
            let response = responder.object(StatusCode::OK, &large, Form::default());
            assert_eq!(
                response.headers().contains_key(CONTENT_ENCODING),
                compressed,
                "{accepts}"
            );
            assert_eq!(response.headers().contains_key(VARY), compressed, "{accepts}");
            if compressed {
                let mut plain = Vec::new();
                flate2::read::GzDecoder::new(&*body(response))
                    .read_to_end(&mut plain)
                    .unwrap();
                assert_eq!(plain.len(), Gzip::Objects.threshold() + 3);
            }
        }
        let small = responder(&Method::POST, "", &[(ACCEPT_ENCODING, "gzip")]).object(
            StatusCode::OK,
            &Value::from("x"),
            Form::default(),
        );
        assert!(!small.headers().contains_key(CONTENT_ENCODING));
    }

    #[test]
    fn a_refusal_is_not_to_be_sniffed() {
        let refused = |fault: ClientFault| responder(&Method::POST, "", &[]).fault(&fault.into());
        let not_allowed = NotAllowed {
            user: "alice".into(),
            verb: "create".into(),
            group: "g".into(),
            resource: "r".into(),
            namespace: None,
            name: None,
            reason: "access denied".into(),
        };
        let response = refused(ClientFault::NotAllowed(Box::new(not_allowed)));
        assert_eq!(response.headers()[X_CONTENT_TYPE_OPTIONS], "nosniff");
        let response = refused(ClientFault::NotFound);
        assert!(!response.headers().contains_key(X_CONTENT_TYPE_OPTIONS));
    }

    #[test]
    fn a_deep_object_is_not_indented() {
        let mut deep = Value::from(vec![Value::from(1); 100_000]);
        for _ in 0..5_000 {
            deep = Value::from(vec![deep]);
        }
        let responder = responder(&Method::POST, "", &[]);
        for media in [Media::Json, Media::Yaml] {
            let response = responder.object(StatusCode::OK, &deep, Form { media, pretty: true });
            assert!(body(response).len() < 300_000, "{media:?}");
        }
    }

    #[test]
    fn a_client_that_has_the_tag_gets_no_body() {
        let etag = HeaderValue::from_static("\"AB\"");
        let cached = Cached {
            content_type: "application/json".into(),
            body: Bytes::from_static(b"{}"),
            etag: &etag,
            cache_control: "public",
            gzip: Gzip::Objects,
        };
        for (has, code) in [
            ("\"AB\"", 304),
            ("W/\"AB\"", 304),
            ("\"x\", \"AB\"", 304),
            ("\"x\",,W/\"y\" \"AB\" x", 304),
            ("*", 304),
            ("\"x\", *", 304),
            ("AB", 200),
            ("", 200),
            ("x, \"AB\"", 200),
            ("\"AB", 200),
            ("w/\"AB\"", 200),
            ("\"A B\", \"AB\"", 200),
        ] {
            let response =
                responder(&Method::GET, "", &[(IF_NONE_MATCH, has), (ACCEPT_ENCODING, "gzip")]).cached(&cached);
            assert_eq!(response.status().as_u16(), code, "{has}");
            assert_eq!(response.headers()[ETAG], "\"AB\"");
            assert_eq!(response.headers()[CACHE_CONTROL], "public");
            assert_eq!(response.headers()[VARY], "Accept");
            assert_eq!(body(response).is_empty(), code == 304);
        }
    }

    #[test]
    fn openapi_is_compressed_at_any_quality_and_says_that_it_varies() {
        let etag = HeaderValue::from_static("\"AB\"");
        let cached = Cached {
            content_type: "application/json".into(),
            body: vec![b' '; 2000].into(),
            etag: &etag,
            cache_control: "public",
            gzip: Gzip::Documents,
        };
        for (accepts, compressed) in [
            ("gzip", true),
            ("GZIP", true),
            ("br;q=1.0, gzip;q=0.8, *;q=0.1", true),
            ("gzip;q=0", false),
            ("gzip;q=x", false),
            ("identity", false),
            ("*", false),
        ] {
            let response = responder(&Method::GET, "", &[(ACCEPT_ENCODING, accepts)]).cached(&cached);
            let headers = response.headers();
            assert_eq!(headers.contains_key(CONTENT_ENCODING), compressed, "{accepts}");
            let vary: Vec<_> = headers.get_all(VARY).iter().collect();
            assert_eq!(vary, ["Accept-Encoding", "Accept"], "{accepts}");
        }
    }

    #[test]
    fn markup_is_escaped_as_go_does() {
        let document = Document::new(&["<a>&", "\u{2028}\u{2029}é…"]);
        assert_eq!(
            &**document.json(),
            "[\"\\u003ca\\u003e\\u0026\",\"\\u2028\\u2029é…\"]".as_bytes()
        );
    }
}
