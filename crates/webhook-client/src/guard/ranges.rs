//! The addresses that are not the public internet, and the IPv4 addresses that hide in IPv6 ones.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

const fn v4(a: u8, b: u8, c: u8, d: u8, length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6(groups: [u16; 8], length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::from_segments(groups), length)
}

/// The IANA IPv4 Special-Purpose Address Registry, whether or not it calls a range globally reachable, with
/// multicast (RFC 5771) and the platform addresses that clouds took from public space.
const IPV4: &[(Ipv4Net, &str)] = &[
    (v4(0, 0, 0, 0, 8), "this network"),
    (v4(10, 0, 0, 0, 8), "private use"),
    (v4(100, 64, 0, 0, 10), "shared address space"),
    (v4(127, 0, 0, 0, 8), "loopback"),
    (v4(168, 63, 129, 16, 32), "Azure platform"),
    (v4(169, 254, 0, 0, 16), "link local"),
    (v4(172, 16, 0, 0, 12), "private use"),
    (v4(192, 0, 0, 0, 24), "IETF protocol assignments"),
    (v4(192, 0, 2, 0, 24), "documentation"),
    (v4(192, 31, 196, 0, 24), "AS112"),
    (v4(192, 52, 193, 0, 24), "AMT"),
    (v4(192, 88, 99, 0, 24), "6to4 relay anycast"),
    (v4(192, 168, 0, 0, 16), "private use"),
    (v4(192, 175, 48, 0, 24), "AS112"),
    (v4(198, 18, 0, 0, 15), "benchmarking"),
    (v4(198, 51, 100, 0, 24), "documentation"),
    (v4(203, 0, 113, 0, 24), "documentation"),
    (v4(224, 0, 0, 0, 4), "multicast"),
    (v4(240, 0, 0, 0, 4), "reserved"),
];

/// All that IANA has handed out as global unicast; everything else is refused, assigned or not.
const IPV6_GLOBAL_UNICAST: Ipv6Net = v6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3);

/// The IANA IPv6 Special-Purpose Address Registry, multicast (RFC 4291), and what was deprecated.
/// Ranges outside global unicast are listed for their names.
const IPV6: &[(Ipv6Net, &str)] = &[
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 128), "unspecified"),
    (v6([0, 0, 0, 0, 0, 0, 0, 1], 128), "loopback"),
    (v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96), "IPv4-mapped"),
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 96), "IPv4-compatible"),
    (v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96), "IPv4-translated"),
    (v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96), "NAT64"),
    (v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), "local NAT64"),
    (v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64), "discard only"),
    (v6([0x100, 0, 0, 1, 0, 0, 0, 0], 64), "dummy prefix"),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32), "Teredo"),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), "IETF protocol assignments"),
    (v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), "documentation"),
    (v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), "6to4"),
    (v6([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48), "AS112"),
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), "documentation"),
    (v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16), "segment routing"),
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7), "unique local"),
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), "link local"),
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), "site local"),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), "multicast"),
];

/// The name of the special-purpose range that holds the address; `None` for a public one.
pub(super) fn special_purpose(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(v4) => IPV4.iter().find(|(net, _)| net.contains(&v4)).map(|&(_, name)| name),
        IpAddr::V6(v6) => IPV6
            .iter()
            .find(|(net, _)| net.contains(&v6))
            .map(|&(_, name)| name)
            .or_else(|| (!IPV6_GLOBAL_UNICAST.contains(&v6)).then_some("not global unicast")),
    }
}

/// The IPv4 addresses that a packet to this IPv6 address may end up at, by any translation or tunnel.
pub(super) fn embedded(address: IpAddr) -> Vec<Ipv4Addr> {
    let IpAddr::V6(address) = address else {
        return Vec::new();
    };
    let octets = address.octets();
    let at = |i: usize| Ipv4Addr::new(octets[i], octets[i + 1], octets[i + 2], octets[i + 3]);
    let flipped = |i: usize| Ipv4Addr::from_bits(!at(i).to_bits());
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => vec![],
        // Compatible and mapped (RFC 4291), translated (RFC 2765), NAT64 (RFC 6052), ISATAP below any prefix (RFC 5214).
        [0, 0, 0, 0, 0, 0 | 0xffff, ..]
        | [0, 0, 0, 0, 0xffff, 0, ..]
        | [0x64, 0xff9b, 0, 0, 0, 0, ..]
        | [_, _, _, _, 0 | 0x200, 0x5efe, ..] => vec![at(12)],
        // The local NAT64 prefix (RFC 8215) may be used with any length; these are the first and the last.
        [0x64, 0xff9b, 1, ..] => {
            let first = Ipv4Addr::new(octets[6], octets[7], octets[9], octets[10]);
            let last = at(12);
            if first.is_unspecified() {
                vec![last]
            } else {
                vec![first, last]
            }
        }
        // Teredo (RFC 4380): the server, and the client with its bits flipped.
        [0x2001, 0, ..] => vec![at(4), flipped(12)],
        // 6to4 (RFC 3056).
        [0x2002, ..] => vec![at(2)],
        _ => vec![],
    }
}
