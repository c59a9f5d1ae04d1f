//! URLs: `library/urls.go` over Go's `net/url`.
//!
//! Rules compare what Go's parser makes of a URL, which is not what the WHATWG's makes of it, so Go's is followed here.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::super::cost::Meter;
use super::super::error::{EvalError, Outcome};
use super::super::library::{Function, Overload, Pattern, URL};
use super::super::value::{Key, Map as CelMap, Value};
use super::ip;
use crate::go::quote;
use Pattern::{Bool, List, Map, String};

/// The URL functions.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("url", &[Overload::global("string_to_url", &[String], URL, url)]),
    Function::new(
        "getScheme",
        &[Overload::member("url_get_scheme", &[URL], String, |_, args| {
            Ok(Value::string(&*of(&args[0])?.scheme))
        })],
    ),
    Function::new(
        "getHost",
        &[Overload::member("url_get_host", &[URL], String, |_, args| {
            Ok(text(&of(&args[0])?.host))
        })],
    ),
    Function::new(
        "getHostname",
        &[Overload::member("url_get_hostname", &[URL], String, |_, args| {
            Ok(text(split_host_port(&of(&args[0])?.host).0))
        })],
    ),
    Function::new(
        "getPort",
        &[Overload::member("url_get_port", &[URL], String, |_, args| {
            Ok(text(split_host_port(&of(&args[0])?.host).1))
        })],
    ),
    Function::new(
        "getEscapedPath",
        &[Overload::member("url_get_escaped_path", &[URL], String, |_, args| {
            Ok(Value::string(of(&args[0])?.escaped_path()))
        })],
    ),
    Function::new(
        "getQuery",
        &[Overload::member(
            "url_get_query",
            &[URL],
            Map(&String, &List(&String)),
            get_query,
        )],
    ),
    Function::new(
        "isURL",
        &[Overload::global("is_url_string", &[String], Bool, |_, args| {
            Ok(Value::Bool(Url::check_request_uri(args[0].as_str()?).is_ok()))
        })],
    ),
];

/// A URL as Go's `net/url` parses it. What is unescaped is bytes: an escape may stand for any.
#[derive(Debug, Default)]
pub struct Url {
    scheme: std::string::String,
    opaque: std::string::String,
    user: Option<(Vec<u8>, Option<Vec<u8>>)>,
    host: Vec<u8>,
    omit_host: bool,
    path: Vec<u8>,
    raw_path: std::string::String,
    force_query: bool,
    raw_query: std::string::String,
    fragment: Vec<u8>,
    raw_fragment: std::string::String,
}

/// Which characters must be escaped depends on where they stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Path,
    Host,
    Zone,
    UserPassword,
    Fragment,
    Query,
}

impl Url {
    /// `url.ParseRequestURI`, for its errors.
    pub(crate) fn check_request_uri(text: &str) -> Result<(), std::string::String> {
        Self::parse(text, true).map(|_| ()).map_err(|error| wrap(text, &error))
    }

    /// Parses as `url()` does: checked as a request's URI, then read with its fragment.
    pub(crate) fn convert(text: &str) -> Result<Self, std::string::String> {
        Self::check_request_uri(text)?;
        let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = Self::parse(rest, false).map_err(|error| wrap(rest, &error))?;
        if !fragment.is_empty() {
            url.fragment = unescape(fragment, Mode::Fragment).map_err(|error| wrap(text, &error))?;
            if escape(&url.fragment, Mode::Fragment) != fragment {
                fragment.clone_into(&mut url.raw_fragment);
            }
        }
        Ok(url)
    }

    fn parse(text: &str, via_request: bool) -> Result<Self, std::string::String> {
        if text.bytes().any(|b| b < b' ' || b == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        if text.is_empty() && via_request {
            return Err("empty url".to_owned());
        }
        let mut url = Self::default();
        if text == "*" {
            url.path = b"*".to_vec();
            return Ok(url);
        }
        let (scheme, mut rest) = split_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        if rest.ends_with('?') && rest.matches('?').count() == 1 {
            url.force_query = true;
            rest = &rest[..rest.len() - 1];
        } else if let Some((before, query)) = rest.split_once('?') {
            rest = before;
            query.clone_into(&mut url.raw_query);
        }
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                rest.clone_into(&mut url.opaque);
                return Ok(url);
            }
            if via_request {
                return Err("invalid URI for request".to_owned());
            }
            if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        let may_have_host = !url.scheme.is_empty() || !via_request && !rest.starts_with("///");
        if let Some(authority) = rest.strip_prefix("//").filter(|_| may_have_host) {
            let (authority, path) = authority.split_at(authority.find('/').unwrap_or(authority.len()));
            url.parse_authority(authority)?;
            rest = path;
        } else if !url.scheme.is_empty() && rest.starts_with('/') {
            url.omit_host = true;
        }
        url.path = unescape(rest, Mode::Path)?;
        if escape(&url.path, Mode::Path) != rest {
            rest.clone_into(&mut url.raw_path);
        }
        Ok(url)
    }

    fn parse_authority(&mut self, authority: &str) -> Result<(), std::string::String> {
        let Some((user, host)) = authority.rsplit_once('@') else {
            self.host = parse_host(&self.scheme, authority)?;
            return Ok(());
        };
        self.host = parse_host(&self.scheme, host)?;
        if !user
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c))
        {
            return Err("net/url: invalid userinfo".to_owned());
        }
        self.user = Some(match user.split_once(':') {
            None => (unescape(user, Mode::UserPassword)?, None),
            Some((name, password)) => (
                unescape(name, Mode::UserPassword)?,
                Some(unescape(password, Mode::UserPassword)?),
            ),
        });
        Ok(())
    }

    /// `EscapedPath`
    fn escaped_path(&self) -> std::string::String {
        if !self.raw_path.is_empty()
            && is_valid_encoded(&self.raw_path, Mode::Path)
            && unescape(&self.raw_path, Mode::Path).as_ref() == Ok(&self.path)
        {
            return self.raw_path.clone();
        }
        if self.path == b"*" {
            return "*".to_owned();
        }
        escape(&self.path, Mode::Path)
    }

    fn escaped_fragment(&self) -> std::string::String {
        if !self.raw_fragment.is_empty()
            && is_valid_encoded(&self.raw_fragment, Mode::Fragment)
            && unescape(&self.raw_fragment, Mode::Fragment).as_ref() == Ok(&self.fragment)
        {
            return self.raw_fragment.clone();
        }
        escape(&self.fragment, Mode::Fragment)
    }

    fn authority(&self) -> std::string::String {
        let has_authority = !self.scheme.is_empty() || !self.host.is_empty() || self.user.is_some();
        if !has_authority || self.omit_host && self.host.is_empty() && self.user.is_none() {
            return std::string::String::new();
        }
        let mut text = std::string::String::new();
        if !self.host.is_empty() || !self.path.is_empty() || self.user.is_some() {
            text.push_str("//");
        }
        if let Some((name, password)) = &self.user {
            text.push_str(&escape(name, Mode::UserPassword));
            if let Some(password) = password {
                text.push(':');
                text.push_str(&escape(password, Mode::UserPassword));
            }
            text.push('@');
        }
        text.push_str(&escape(&self.host, Mode::Host));
        text
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.scheme.is_empty() {
            write!(f, "{}:", self.scheme)?;
        }
        if self.opaque.is_empty() {
            f.write_str(&self.authority())?;
            let path = self.escaped_path();
            if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
                f.write_str("/")?;
            }
            f.write_str(&path)?;
        } else {
            f.write_str(&self.opaque)?;
        }
        if self.force_query || !self.raw_query.is_empty() {
            write!(f, "?{}", self.raw_query)?;
        }
        if !self.fragment.is_empty() {
            write!(f, "#{}", self.escaped_fragment())?;
        }
        Ok(())
    }
}

/// How Go reports an error of parsing.
fn wrap(text: &str, error: &str) -> std::string::String {
    format!("parse {}: {error}", quote(text))
}

fn split_scheme(text: &str) -> Result<(&str, &str), std::string::String> {
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if i > 0 => {}
            b':' if i == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..i], &text[i + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn parse_host(scheme: &str, host: &str) -> Result<Vec<u8>, std::string::String> {
    match host.rfind('[') {
        Some(0) => return parse_literal(host),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    if let Some(first) = host.find(':') {
        // Several hosts in one are taken where the scheme is not HTTP's.
        let colon = match host.rfind(':') {
            Some(last) if !matches!(scheme, "http" | "https") => last,
            _ => first,
        };
        check_port(&host[colon..])?;
    }
    unescape(host, Mode::Host)
}

/// A host in brackets.
fn parse_literal(host: &str) -> Result<Vec<u8>, std::string::String> {
    let close = host.rfind(']').ok_or("missing ']' in host")?;
    let port = &host[close + 1..];
    check_port(port)?;
    let name = &host[1..close];
    let name = match name.find("%25") {
        Some(zone) => [
            unescape(&name[..zone], Mode::Host)?,
            unescape(&name[zone..], Mode::Zone)?,
        ]
        .concat(),
        None => unescape(name, Mode::Host)?,
    };
    let text = std::string::String::from_utf8_lossy(&name);
    let (address, _) = ip::parse_address(&text).map_err(|error| format!("invalid host: {error}"))?;
    if address.is_ipv4() {
        return Err("invalid IP-literal".to_owned());
    }
    Ok([b"[", name.as_slice(), b"]", port.as_bytes()].concat())
}

fn check_port(port: &str) -> Result<(), std::string::String> {
    if is_optional_port(port.as_bytes()) {
        Ok(())
    } else {
        Err(format!("invalid port {} after host", quote(port)))
    }
}

fn is_optional_port(port: &[u8]) -> bool {
    match port {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

fn split_host_port(host: &[u8]) -> (&[u8], &[u8]) {
    let (mut name, mut port): (&[u8], &[u8]) = (host, &[]);
    if let Some(colon) = host.iter().rposition(|b| *b == b':')
        && is_optional_port(&host[colon..])
    {
        (name, port) = (&host[..colon], &host[colon + 1..]);
    }
    if let [b'[', inner @ .., b']'] = name {
        name = inner;
    }
    (name, port)
}

fn is_hex(byte: Option<&u8>) -> Option<u8> {
    byte.and_then(|b| char::from(*b).to_digit(16))
        .and_then(|digit| u8::try_from(digit).ok())
}

fn unescape(text: &str, mode: Mode) -> Result<Vec<u8>, std::string::String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'%' => {
                let (Some(high), Some(low)) = (is_hex(bytes.get(i + 1)), is_hex(bytes.get(i + 2))) else {
                    let end = (i + 3).min(bytes.len());
                    let part = std::string::String::from_utf8_lossy(&bytes[i..end]);
                    return Err(format!("invalid URL escape {}", quote(&part)));
                };
                let byte = high << 4 | low;
                let percent = &bytes[i..i + 3] == b"%25";
                let refused = match mode {
                    Mode::Host => high < 8 && !percent,
                    Mode::Zone => !percent && byte != b' ' && must_escape(byte, Mode::Host),
                    _ => false,
                };
                if refused {
                    return Err(format!("invalid URL escape {}", quote(&text[i..i + 3])));
                }
                out.push(byte);
                i += 3;
            }
            b'+' if mode == Mode::Query => {
                out.push(b' ');
                i += 1;
            }
            byte => {
                if matches!(mode, Mode::Host | Mode::Zone) && byte < 0x80 && must_escape(byte, mode) {
                    return Err(format!("invalid character {} in host name", quote(&text[i..=i])));
                }
                out.push(byte);
                i += 1;
            }
        }
    }
    Ok(out)
}

fn must_escape(byte: u8, mode: Mode) -> bool {
    if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        return false;
    }
    match mode {
        Mode::Path => !b"$&+,/:;=@".contains(&byte),
        Mode::Host | Mode::Zone => !b"!\"$&'()*+,:;<=>[]".contains(&byte),
        Mode::UserPassword => !b"$&+,;=".contains(&byte),
        Mode::Fragment => !b"!$&()*+,/:;=?@".contains(&byte),
        Mode::Query => true,
    }
}

fn escape(bytes: &[u8], mode: Mode) -> std::string::String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = std::string::String::with_capacity(bytes.len());
    for byte in bytes {
        if must_escape(*byte, mode) {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        } else {
            out.push(char::from(*byte));
        }
    }
    out
}

fn is_valid_encoded(text: &str, mode: Mode) -> bool {
    text.bytes()
        .all(|b| b"!$&'()*+,;=:@[]%".contains(&b) || !must_escape(b, mode))
}

/// `url.ParseQuery`, what cannot be read left out.
fn parse_query(query: &str) -> BTreeMap<std::string::String, Vec<std::string::String>> {
    /// Parameters that Go reads at most.
    const MAX_PARAMETERS: usize = 10_000;
    let mut values: BTreeMap<_, Vec<_>> = BTreeMap::new();
    if query.matches('&').count() + 1 > MAX_PARAMETERS {
        return values;
    }
    let decode =
        |text: &str| unescape(text, Mode::Query).map(|bytes| std::string::String::from_utf8_lossy(&bytes).into_owned());
    for pair in query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let (Ok(key), Ok(value)) = (decode(key), decode(value)) {
            values.entry(key).or_default().push(value);
        }
    }
    values
}

fn of<'v>(value: &'v Value<'_>) -> Outcome<&'v Url> {
    match value {
        Value::Url(url) => Ok(url),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn text<'a>(bytes: &[u8]) -> Value<'a> {
    Value::string(std::string::String::from_utf8_lossy(bytes).as_ref())
}

fn url<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Url::convert(args[0].as_str()?)
        .map(|url| Value::Url(Arc::new(url)))
        .map_err(|error| EvalError::failed(format!("URL parse error during conversion from string: {error}")))
}

fn get_query<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let values: BTreeMap<_, _> = parse_query(&of(&args[0])?.raw_query)
        .into_iter()
        .map(|(key, values)| (Key::String(key.into()), Value::strings(values)))
        .collect();
    Ok(Value::Map(CelMap::from(values)))
}
