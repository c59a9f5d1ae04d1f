//! Networks: `library/cidr.go` over Go's `net/netip`.

use std::fmt;
use std::net::IpAddr;

use super::super::cost::Meter;
use super::super::error::{EvalError, Outcome};
use super::super::library::{CIDR, Function, IP, Overload, Pattern};
use super::super::value::Value;
use super::ip::{self, Ip};
use crate::go::quote;
use Pattern::{Bool, Int, String};

/// The network functions.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("cidr", &[Overload::global("string_to_cidr", &[String], CIDR, cidr)]),
    Function::new(
        "containsIP",
        &[
            Overload::member("cidr_contains_ip_string", &[CIDR, String], Bool, contains_ip),
            Overload::member("cidr_contains_ip_ip", &[CIDR, IP], Bool, contains_ip),
        ],
    ),
    Function::new(
        "containsCIDR",
        &[
            Overload::member("cidr_contains_cidr_string", &[CIDR, String], Bool, contains_cidr),
            Overload::member("cidr_contains_cidr", &[CIDR, CIDR], Bool, contains_cidr),
        ],
    ),
    Function::new(
        "ip",
        &[Overload::member("cidr_ip", &[CIDR], IP, |_, args| {
            Ok(Value::Ip(Ip(of(&args[0])?.address)))
        })],
    ),
    Function::new(
        "prefixLength",
        &[Overload::member("cidr_prefix_length", &[CIDR], Int, |_, args| {
            Ok(Value::Int(of(&args[0])?.bits.into()))
        })],
    ),
    Function::new(
        "masked",
        &[Overload::member("cidr_masked", &[CIDR], CIDR, |_, args| {
            Ok(Value::Cidr(of(&args[0])?.masked()))
        })],
    ),
    Function::new(
        "isCIDR",
        &[Overload::global("is_cidr", &[String], Bool, |_, args| {
            Ok(Value::Bool(Cidr::parse(args[0].as_str()?).is_ok()))
        })],
    ),
    Function::new(
        "string",
        &[Overload::global("cidr_to_string", &[CIDR], String, |_, args| {
            Ok(Value::string(of(&args[0])?.to_string()))
        })],
    ),
];

/// An address with the length of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    address: IpAddr,
    bits: u8,
}

impl Cidr {
    /// Reads a network as Kubernetes does.
    pub(crate) fn parse(text: &str) -> Result<Self, std::string::String> {
        let network = parse_prefix(text)
            .map_err(|error| format!("network address parse error during conversion from string: {error}"))?;
        if ip::is_mapped(network.address) {
            return Err(format!("IPv4-mapped IPv6 address {} is not allowed", quote(text)));
        }
        Ok(network)
    }

    /// Bytes that the prefix covers, which costs are computed from.
    pub(crate) fn prefix_octets(&self) -> usize {
        usize::from(self.bits).div_ceil(8)
    }

    fn masked(self) -> Self {
        Self {
            address: mask(self.address, self.bits),
            bits: self.bits,
        }
    }

    fn contains(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4() && mask(address, self.bits) == mask(self.address, self.bits)
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ip::write_address(self.address, f)?;
        write!(f, "/{}", self.bits)
    }
}

/// The address with everything after its first `bits` bits zero.
fn mask(address: IpAddr, bits: u8) -> IpAddr {
    let bits = u32::from(bits);
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            IpAddr::V4((u32::from(v4) & mask).into())
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            IpAddr::V6((u128::from(v6) & mask).into())
        }
    }
}

/// `netip.ParsePrefix`
fn parse_prefix(text: &str) -> Result<Cidr, std::string::String> {
    let error = |message: &str| format!("netip.ParsePrefix({}): {message}", quote(text));
    let (address, bits) = text.rsplit_once('/').ok_or_else(|| error("no '/'"))?;
    let (address, zone) = ip::parse_address(address).map_err(|message| error(&message))?;
    if zone {
        return Err(error("IPv6 zones cannot be present in a prefix"));
    }
    let bad = || error(&format!("bad bits after slash: {}", quote(bits)));
    if bits.len() > 1 && !matches!(bits.as_bytes()[0], b'1'..=b'9') {
        return Err(bad());
    }
    let length: u64 = match bits.parse::<i64>() {
        Ok(length) => u64::try_from(length).map_err(|_| error("prefix length out of range"))?,
        Err(_) => return Err(bad()),
    };
    let max = if address.is_ipv4() { 32 } else { 128 };
    match u8::try_from(length) {
        Ok(bits) if bits <= max => Ok(Cidr { address, bits }),
        _ => Err(error("prefix length out of range")),
    }
}

fn of(value: &Value<'_>) -> Outcome<Cidr> {
    match value {
        Value::Cidr(cidr) => Ok(*cidr),
        _ => Err(EvalError::no_such_overload()),
    }
}

/// A network from a string; Kubernetes says twice what was wrong.
fn convert(text: &str) -> Outcome<Cidr> {
    Cidr::parse(text).map_err(|error| {
        EvalError::failed(format!(
            "network address parse error during conversion from string: {error}"
        ))
    })
}

fn cidr<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    convert(args[0].as_str()?).map(Value::Cidr)
}

fn contains_ip<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let address = match &args[1] {
        // What is wrong with the text is not told: Kubernetes asks the network whether it is an error.
        Value::String(text) => Ip::parse(text.as_str()).map_err(|_| EvalError::no_such_overload())?,
        other => ip::of(other)?,
    };
    Ok(Value::Bool(of(&args[0])?.contains(address.0)))
}

fn contains_cidr<'a>(_: &mut Meter, args: &[Value<'a>]) -> Outcome<Value<'a>> {
    let other = match &args[1] {
        Value::String(text) => convert(text.as_str())?,
        other => of(other)?,
    };
    let network = of(&args[0])?;
    Ok(Value::Bool(
        network.bits <= other.bits && network.contains(other.address),
    ))
}
