//! Addresses: `net.ParseIP`, `net.ParseMAC`, and the forms with leading zeros that Go took before 1.17 and Kubernetes
//! still does (`netutils.ParseIPSloppy`, `ParseCIDRSloppy`).

use std::net::Ipv6Addr;

pub(super) fn is_ipv4(s: &str) -> bool {
    s.contains('.') && (is_sloppy_ipv4(s) || is_sloppy_ipv6(s))
}

pub(super) fn is_ipv6(s: &str) -> bool {
    s.contains(':') && s.parse::<Ipv6Addr>().is_ok()
}

pub(super) fn is_cidr(s: &str) -> bool {
    let Some((address, length)) = s.split_once('/') else {
        return false;
    };
    let bits = if is_sloppy_ipv4(address) {
        32
    } else if is_sloppy_ipv6(address) {
        128
    } else {
        return false;
    };
    is_number_up_to(length, bits)
}

/// Decimal digits, leading zeros allowed.
fn is_number_up_to(s: &str, max: u32) -> bool {
    !s.is_empty()
        && s.bytes().all(|b| b.is_ascii_digit())
        && s.trim_start_matches('0').len() <= 3
        && s.parse::<u32>().is_ok_and(|n| n <= max)
}

fn is_sloppy_ipv4(s: &str) -> bool {
    let mut octets = 0;
    s.split('.').all(|octet| {
        octets += 1;
        is_number_up_to(octet, 255)
    }) && octets == 4
}

/// As the strict form, but groups may have leading zeros beyond four digits, and so may octets.
fn is_sloppy_ipv6(s: &str) -> bool {
    let (mut rest, mut elided) = match s.strip_prefix("::") {
        Some("") => return true,
        Some(rest) => (rest, true),
        None => (s, false),
    };
    let mut groups = 0;
    while groups < 8 {
        let end = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
        let (digits, after) = rest.split_at(end);
        if after.starts_with('.') {
            return is_ipv4_tail(rest, groups, elided);
        }
        if digits.is_empty() || digits.trim_start_matches('0').len() > 4 {
            return false;
        }
        groups += 1;
        if after.is_empty() {
            rest = after;
            break;
        }
        let Some(next) = after.strip_prefix(':').filter(|next| !next.is_empty()) else {
            return false;
        };
        rest = next;
        if let Some(next) = rest.strip_prefix(':') {
            if elided {
                return false;
            }
            elided = true;
            rest = next;
            if rest.is_empty() {
                break;
            }
        }
    }
    rest.is_empty() && (groups == 8) != elided
}

/// The last two groups may be written as an IPv4 address.
fn is_ipv4_tail(rest: &str, groups: usize, elided: bool) -> bool {
    let room = if elided { groups + 2 < 8 } else { groups + 2 == 8 };
    room && is_sloppy_ipv4(rest)
}

/// 6, 8 or 20 bytes: pairs of digits with colons, dashes or nothing between them, or groups of four with dots.
pub(super) fn is_mac(s: &str) -> bool {
    let is_hexadecimal = |s: &str| s.bytes().all(|b| b.is_ascii_hexdigit());
    let (separator, width) = match (s.as_bytes().get(2), s.as_bytes().get(4)) {
        (Some(b':'), _) => (':', 2),
        (Some(b'-'), _) => ('-', 2),
        (_, Some(b'.')) => ('.', 4),
        _ => return matches!(s.len(), 12 | 16 | 40) && is_hexadecimal(s),
    };
    let mut bytes = 0;
    s.split(separator).all(|group| {
        bytes += width / 2;
        group.len() == width && is_hexadecimal(group)
    }) && matches!(bytes, 6 | 8 | 20)
}
