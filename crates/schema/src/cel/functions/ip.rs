//! IP addresses: `library/ip.go` over Go's `net/netip`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::super::cost::Meter;
use super::super::error::{EvalError, Outcome};
use super::super::library::{Function, IP, Overload, Pattern};
use super::super::value::Value;
use crate::go::quote;
use Pattern::{Bool, Int, String};

/// The address functions.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("ip", &[Overload::global("string_to_ip", &[String], IP, ip)]),
    Function::new("family", &[Overload::member("ip_family", &[IP], Int, family)]),
    Function::new(
        "ip.isCanonical",
        &[Overload::global("ip_is_canonical", &[String], Bool, is_canonical)],
    ),
    Function::new(
        "isUnspecified",
        &[Overload::member("ip_is_unspecified", &[IP], Bool, |_, args| {
            test(&args[0], IpAddr::is_unspecified)
        })],
    ),
    Function::new(
        "isLoopback",
        &[Overload::member("ip_is_loopback", &[IP], Bool, |_, args| {
            test(&args[0], IpAddr::is_loopback)
        })],
    ),
    Function::new(
        "isLinkLocalMulticast",
        &[Overload::member(
            "ip_is_link_local_multicast",
            &[IP],
            Bool,
            |_, args| test(&args[0], is_link_local_multicast),
        )],
    ),
    Function::new(
        "isLinkLocalUnicast",
        &[Overload::member("ip_is_link_local_unicast", &[IP], Bool, |_, args| {
            test(&args[0], is_link_local_unicast)
        })],
    ),
    Function::new(
        "isGlobalUnicast",
        &[Overload::member("ip_is_global_unicast", &[IP], Bool, |_, args| {
            test(&args[0], is_global_unicast)
        })],
    ),
    Function::new(
        "isIP",
        &[Overload::global("is_ip", &[String], Bool, |_, args| {
            Ok(Value::Bool(Ip::parse(args[0].as_str()?).is_ok()))
        })],
    ),
    Function::new(
        "string",
        &[Overload::global("ip_to_string", &[IP], String, |_, args| {
            Ok(Value::string(of(&args[0])?.to_string()))
        })],
    ),
];

/// An IP address, without zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip(pub(super) IpAddr);

impl Ip {
    /// Reads an address as Kubernetes does: no zones, no IPv4 in IPv6.
    pub(crate) fn parse(text: &str) -> Result<Self, std::string::String> {
        let (address, zone) = parse_address(text).map_err(|error| {
            format!(
                "IP Address {} parse error during conversion from string: {error}",
                quote(text)
            )
        })?;
        if zone {
            return Err(format!("IP address {} with zone value is not allowed", quote(text)));
        }
        if is_mapped(address) {
            return Err(format!("IPv4-mapped IPv6 address {} is not allowed", quote(text)));
        }
        Ok(Self(address))
    }

    /// The size in bytes, which costs are computed from.
    pub(crate) fn octets(&self) -> usize {
        if self.0.is_ipv4() { 4 } else { 16 }
    }
}

impl fmt::Display for Ip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_address(self.0, f)
    }
}

/// Go compresses zeros as RFC 5952 says, and writes IPv4 only into mapped addresses; Rust does so into others too.
pub(super) fn write_address(address: IpAddr, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let IpAddr::V6(v6) = address else {
        return write!(f, "{address}");
    };
    if is_mapped(address) {
        return write!(f, "{v6}");
    }
    let groups = v6.segments();
    let (start, len) = longest_zeros(&groups);
    for (i, group) in groups.iter().enumerate() {
        if len > 1 && i == start {
            f.write_str("::")?;
        }
        if len > 1 && (start..start + len).contains(&i) {
            continue;
        }
        if i > 0 && !(len > 1 && i == start + len) {
            f.write_str(":")?;
        }
        write!(f, "{group:x}")?;
    }
    Ok(())
}

/// The first longest run of zero groups.
fn longest_zeros(groups: &[u16; 8]) -> (usize, usize) {
    let mut best = (0, 0);
    let mut start = 0;
    for i in 0..=groups.len() {
        if groups.get(i) == Some(&0) {
            continue;
        }
        if i - start > best.1 {
            best = (start, i - start);
        }
        start = i + 1;
    }
    best
}

/// Whether an address is IPv4 in IPv6.
pub(super) fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

/// `netip.ParseAddr`: the address, and whether it had a zone.
///
/// # Errors
///
/// Go's words.
pub(super) fn parse_address(text: &str) -> Result<(IpAddr, bool), std::string::String> {
    let error = |message: &str| format!("ParseAddr({}): {message}", quote(text));
    match text.bytes().find(|b| matches!(b, b'.' | b':' | b'%')) {
        Some(b'.') => parse_v4(text, text).map(|address| (address.into(), false)),
        Some(b':') => parse_v6(text),
        Some(_) => Err(error("missing IPv6 address")),
        None => Err(error("unable to parse IP")),
    }
}

fn parse_v4(whole: &str, text: &str) -> Result<Ipv4Addr, std::string::String> {
    let error = |message: &str| Err(format!("ParseAddr({}): {message}", quote(whole)));
    let at = |message: &str, rest: &str| Err(format!("ParseAddr({}): {message} (at {})", quote(whole), quote(rest)));
    let bytes = text.as_bytes();
    let mut fields = [0u8; 4];
    let (mut place, mut value, mut digits) = (0, 0u32, 0);
    for (i, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return error("IPv4 field has octet with leading zero");
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return error("IPv4 field has value >255");
                }
            }
            b'.' => {
                if i == 0 || i + 1 == bytes.len() || bytes[i - 1] == b'.' {
                    return at("IPv4 field must have at least one digit", &text[i..]);
                }
                if place == 3 {
                    return error("IPv4 address too long");
                }
                fields[place] = u8::try_from(value).unwrap_or(u8::MAX);
                place += 1;
                (value, digits) = (0, 0);
            }
            _ => return at("unexpected character", &text[i..]),
        }
    }
    if place < 3 {
        return error("IPv4 address too short");
    }
    fields[3] = u8::try_from(value).unwrap_or(u8::MAX);
    Ok(fields.into())
}

fn parse_v6(whole: &str) -> Result<(IpAddr, bool), std::string::String> {
    let error = |message: &str| Err(format!("ParseAddr({}): {message}", quote(whole)));
    let at = |message: &str, rest: &str| Err(format!("ParseAddr({}): {message} (at {})", quote(whole), quote(rest)));
    let (mut rest, zone) = match whole.split_once('%') {
        Some((_, "")) => return error("zone must be a non-empty string"),
        Some((address, _)) => (address, true),
        None => (whole, false),
    };
    let mut octets = [0u8; 16];
    let mut ellipsis = None;
    if let Some(after) = rest.strip_prefix("::") {
        ellipsis = Some(0);
        rest = after;
        if rest.is_empty() {
            return Ok((Ipv6Addr::UNSPECIFIED.into(), zone));
        }
    }
    let mut i = 0;
    while i < 16 {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > 4 {
            return at("each group must have 4 or less digits", rest);
        }
        if digits == 0 {
            return at("each colon-separated field must have at least one digit", rest);
        }
        if rest[digits..].starts_with('.') {
            if ellipsis.is_none() && i != 12 {
                return at(
                    "embedded IPv4 address must replace the final 2 fields of the address",
                    rest,
                );
            }
            if i + 4 > 16 {
                return at(
                    "too many hex fields to fit an embedded IPv4 at the end of the address",
                    rest,
                );
            }
            octets[i..i + 4].copy_from_slice(&parse_v4(whole, rest)?.octets());
            rest = "";
            i += 4;
            break;
        }
        let group = u16::from_str_radix(&rest[..digits], 16).unwrap_or(u16::MAX);
        octets[i..i + 2].copy_from_slice(&group.to_be_bytes());
        i += 2;
        rest = &rest[digits..];
        if rest.is_empty() {
            break;
        }
        let Some(after) = rest.strip_prefix(':') else {
            return at("unexpected character, want colon", rest);
        };
        if after.is_empty() {
            return at("colon must be followed by more characters", rest);
        }
        rest = after;
        if let Some(after) = rest.strip_prefix(':') {
            if ellipsis.is_some() {
                return at("multiple :: in address", rest);
            }
            ellipsis = Some(i);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
    }
    if !rest.is_empty() {
        return at("trailing garbage after address", rest);
    }
    match ellipsis {
        None if i < 16 => return error("address string too short"),
        Some(_) if i == 16 => return error("the :: must expand to at least one field of zeros"),
        Some(start) => {
            octets.copy_within(start..i, start + 16 - i);
            octets[start..start + 16 - i].fill(0);
        }
        None => {}
    }
    Ok((Ipv6Addr::from(octets).into(), zone))
}

pub(super) fn of(value: &Value<'_>) -> Outcome<Ip> {
    match value {
        Value::Ip(ip) => Ok(*ip),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn test<'a>(value: &Value<'a>, property: fn(&IpAddr) -> bool) -> Outcome<Value<'a>> {
    Ok(Value::Bool(property(&of(value)?.0)))
}

fn is_link_local_multicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.octets()[..3] == [224, 0, 0],
        IpAddr::V6(v6) => v6.segments()[0] & 0xff0f == 0xff02,
    }
}

fn is_link_local_unicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.segments()[0] & 0xffc0 == 0xfe80,
    }
}

fn is_global_unicast(address: &IpAddr) -> bool {
    !(address.is_unspecified()
        || matches!(address, IpAddr::V4(v4) if v4.is_broadcast())
        || address.is_loopback()
        || address.is_multicast()
        || is_link_local_unicast(address))
}

fn ip<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ip::parse(args[0].as_str()?).map(Value::Ip).map_err(EvalError::failed)
}

fn family<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    Ok(Value::Int(if of(&args[0])?.0.is_ipv4() { 4 } else { 6 }))
}

fn is_canonical<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let text = args[0].as_str()?;
    let address = Ip::parse(text).map_err(EvalError::failed)?;
    Ok(Value::Bool(address.to_string() == text))
}
