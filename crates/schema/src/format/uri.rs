//! URIs as Go's `url.ParseRequestURI` takes them.

use std::net::Ipv6Addr;

/// An absolute URI or an absolute path.
pub(super) fn is_request_uri(s: &str) -> bool {
    if s.is_empty() || s.bytes().any(|b| b < b' ' || b == 0x7f) {
        return false;
    }
    if s == "*" {
        return true;
    }
    let Some((scheme, rest)) = split_scheme(s) else {
        return false;
    };
    let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
    if !rest.starts_with('/') {
        // Without a slash the rest is opaque; without a scheme there is nothing that a request could ask for.
        return !scheme.is_empty();
    }
    let Some(authority) = rest.strip_prefix("//").filter(|_| !scheme.is_empty()) else {
        return is_escaped_well(rest);
    };
    let (authority, path) = authority.split_at(authority.find('/').unwrap_or(authority.len()));
    is_authority(scheme, authority) && is_escaped_well(path)
}

/// The scheme, empty where there is none, and the rest; nothing where the scheme before the colon is missing.
fn split_scheme(s: &str) -> Option<(&str, &str)> {
    let end = s.find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)));
    match end {
        Some(0) if s.starts_with(':') => None,
        Some(end) if s[end..].starts_with(':') && s.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            Some((&s[..end], &s[end + 1..]))
        }
        _ => Some(("", s)),
    }
}

fn is_authority(scheme: &str, authority: &str) -> bool {
    match authority.rsplit_once('@') {
        Some((user, host)) => is_user_info(user) && is_host(scheme, host),
        None => is_host(scheme, authority),
    }
}

fn is_user_info(s: &str) -> bool {
    s.chars()
        .all(|c| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c))
        && is_escaped_well(s)
}

fn is_host(scheme: &str, host: &str) -> bool {
    match host.rfind('[') {
        Some(0) => return is_ip_literal(host),
        Some(_) => return false,
        None => {}
    }
    let strict = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let colon = if strict { host.find(':') } else { host.rfind(':') };
    colon.is_none_or(|colon| is_port(&host[colon..])) && is_host_text(host)
}

/// `[address]`, `[address%25zone]`, with or without a port.
fn is_ip_literal(host: &str) -> bool {
    let Some((inside, port)) = host[1..].rsplit_once(']') else {
        return false;
    };
    if !is_port(port) {
        return false;
    }
    let (address, zone) = match inside.find("%25") {
        Some(at) => (&inside[..at], Some(&inside[at + 3..])),
        None => (inside, None),
    };
    address.parse::<Ipv6Addr>().is_ok() && zone.is_none_or(|zone| !zone.is_empty() && is_zone(zone))
}

fn is_port(s: &str) -> bool {
    s.is_empty()
        || s.strip_prefix(':')
            .is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether each `%` begins an escape.
fn is_escaped_well(s: &str) -> bool {
    escapes(s).all(|escape| escape.is_some())
}

/// The bytes that are escaped, nothing for a `%` without two digits.
fn escapes(s: &str) -> impl Iterator<Item = Option<u8>> {
    s.match_indices('%').map(|(at, _)| {
        let digits = s.get(at + 1..at + 3)?;
        let hexadecimal = digits.bytes().all(|b| b.is_ascii_hexdigit());
        hexadecimal.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
    })
}

/// Whether a byte may stand in a host unescaped.
fn is_host_byte(b: u8) -> bool {
    b >= 0x80 || b.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"%".contains(&b)
}

/// A host escapes only what is not ASCII, and the percent sign.
fn is_host_text(s: &str) -> bool {
    s.bytes().all(is_host_byte) && escapes(s).all(|escape| escape.is_some_and(|b| b >= 0x80 || b == b'%'))
}

/// A zone escapes what a host could hold, the percent sign and spaces.
fn is_zone(s: &str) -> bool {
    s.bytes().all(is_host_byte)
        && escapes(s).all(|escape| escape.is_some_and(|b| b == b'%' || b == b' ' || (b < 0x80 && is_host_byte(b))))
}
