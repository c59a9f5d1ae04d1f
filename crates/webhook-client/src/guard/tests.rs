use std::net::{Ipv4Addr, Ipv6Addr};

use super::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn at(text: &str, port: u16) -> SocketAddr {
    SocketAddr::new(ip(text), port)
}

fn judge(policy: &AddressPolicy, address: &str) -> Result<(), Refusal> {
    policy
        .check("provider", at(address, 443), &OurAddresses::default())
        .map(|_| ())
}

fn allowing(rules: &[&str]) -> AddressPolicy {
    AddressPolicy {
        allow: rules.iter().map(|rule| rule.parse().unwrap()).collect(),
        ..AddressPolicy::default()
    }
}

/// Every row of <https://www.iana.org/assignments/iana-ipv4-special-registry> and
/// <https://www.iana.org/assignments/iana-ipv6-special-registry>, multicast and reserved space.
const SPECIAL: &[&str] = &[
    "0.0.0.0/8",
    "0.0.0.0/32",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.0.0/29",
    "192.0.0.8/32",
    "192.0.0.9/32",
    "192.0.0.10/32",
    "192.0.0.170/32",
    "192.0.0.171/32",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "::1/128",
    "::/128",
    "::ffff:0:0/96",
    "64:ff9b::/96",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "2001::/23",
    "2001::/32",
    "2001:1::1/128",
    "2001:1::2/128",
    "2001:1::3/128",
    "2001:2::/48",
    "2001:3::/32",
    "2001:4:112::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:30::/28",
    "2001:db8::/32",
    "2002::/16",
    "2620:4f:8000::/48",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
    "::/96",
    "::ffff:0:0:0/96",
];

#[test]
fn every_special_purpose_range_is_refused_from_its_first_to_its_last_address() {
    let policy = AddressPolicy::default();
    for range in SPECIAL {
        let net: IpNet = range.parse().unwrap();
        for address in [net.network(), net.broadcast()] {
            let refusal = policy.check("provider", SocketAddr::new(address, 443), &OurAddresses::default());
            assert!(matches!(refusal, Err(Refusal::SpecialPurpose(_))), "{range}: {address}");
        }
    }
}

#[test]
fn metadata_and_platform_addresses_are_refused() {
    for address in [
        "168.63.129.16",
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd20:ce::254",
    ] {
        assert!(judge(&AddressPolicy::default(), address).is_err(), "{address}");
    }
}

#[test]
fn the_neighbours_of_special_purpose_ranges_and_other_public_addresses_pass() {
    for address in [
        "1.0.0.0",
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.31.195.255",
        "192.31.197.0",
        "192.52.192.255",
        "192.52.194.0",
        "192.88.98.255",
        "192.88.100.0",
        "192.167.255.255",
        "192.169.0.0",
        "192.175.47.255",
        "192.175.49.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.99.255",
        "198.51.101.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        "93.184.216.34",
        "2000::",
        "2001:200::",
        "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
        "2001:db9::",
        "2003::",
        "2606:4700:4700::1111",
        "2620:4f:7fff:ffff::1",
        "2620:4f:8001::",
        "2a00:1450:4001::1",
        "3ffe:ffff::1",
        "3fff:1000::",
    ] {
        assert_eq!(judge(&AddressPolicy::default(), address), Ok(()), "{address}");
    }
}

#[test]
fn unassigned_ipv6_is_refused() {
    for address in [
        "::2:0:0:0",
        "200::1",
        "4000::1",
        "8000::1",
        "c000::1",
        "e000::1",
        "fe00::1",
    ] {
        assert!(judge(&AddressPolicy::default(), address).is_err(), "{address}");
    }
}

#[test]
fn an_embedded_address_is_judged_even_where_its_wrapper_is_allowed() {
    let wrappers = allowing(&["::/3", "2001::/32", "2002::/16"]);
    let flipped = |v4: [u8; 4]| Ipv4Addr::from_bits(!Ipv4Addr::from(v4).to_bits());
    let teredo = |server: [u8; 4], client: [u8; 4]| {
        let (server, client) = (Ipv4Addr::from(server).octets(), flipped(client).octets());
        let pair = |o: [u8; 4], i: usize| u16::from_be_bytes([o[i], o[i + 1]]);
        Ipv6Addr::new(
            0x2001,
            0,
            pair(server, 0),
            pair(server, 2),
            0,
            0,
            pair(client, 0),
            pair(client, 2),
        )
        .to_string()
    };
    for (address, passes) in [
        ("::ffff:93.184.216.34", true),
        ("::ffff:10.1.2.3", false),
        ("::93.184.216.34", true),
        ("::127.0.0.1", false),
        ("::ffff:0:93.184.216.34", true),
        ("::ffff:0:127.0.0.1", false),
        ("64:ff9b::93.184.216.34", true),
        ("64:ff9b::169.254.169.254", false),
        ("64:ff9b:1::93.184.216.34", true),
        ("64:ff9b:1::10.0.0.1", false),
        ("64:ff9b:1:a00:0:100:5db8:d822", false),
        ("2002:5db8:d822::1", true),
        ("2002:7f00:1::1", false),
        ("2a00:1::5efe:93.184.216.34", true),
        ("2a00:1::5efe:10.0.0.1", false),
        ("2a00:1::200:5efe:10.0.0.1", false),
        (&teredo([93, 184, 216, 34], [93, 184, 216, 34]), true),
        (&teredo([127, 0, 0, 1], [93, 184, 216, 34]), false),
        (&teredo([93, 184, 216, 34], [10, 0, 0, 1]), false),
    ] {
        assert_eq!(judge(&wrappers, address).is_ok(), passes, "{address}");
    }
}

#[test]
fn allow_opens_exactly_what_it_names() {
    let policy = allowing(&["10.1.0.0/16", "other=10.2.0.0/16", "provider=10.3.0.0/16", "fd00::/8"]);
    for (address, passes) in [
        ("10.1.2.3", true),
        ("10.2.2.3", false),
        ("10.3.2.3", true),
        ("10.4.2.3", false),
        ("fd12::1", true),
        ("fc12::1", false),
        ("::ffff:10.1.2.3", false),
        ("64:ff9b::10.1.2.3", false),
        ("127.0.0.1", false),
        ("93.184.216.34", true),
    ] {
        assert_eq!(judge(&policy, address).is_ok(), passes, "{address}");
    }
}

#[test]
fn deny_is_stronger_than_allow_and_sees_through_wrappers() {
    let policy = AddressPolicy {
        deny: vec!["93.184.216.0/24".parse().unwrap(), "10.1.1.0/24".parse().unwrap()],
        allow_loopback: true,
        ..allowing(&["0.0.0.0/0", "::/0"])
    };
    for (address, expected) in [
        ("93.184.216.34", Err(Refusal::Denied)),
        ("::ffff:93.184.216.34", Err(Refusal::Denied)),
        ("2002:5db8:d822::1", Err(Refusal::Denied)),
        ("10.1.1.1", Err(Refusal::Denied)),
        ("10.1.2.1", Ok(())),
        ("1.1.1.1", Ok(())),
    ] {
        assert_eq!(judge(&policy, address), expected, "{address}");
    }
    let policy = AddressPolicy {
        deny: vec!["127.0.0.0/8".parse().unwrap()],
        ..policy
    };
    assert_eq!(judge(&policy, "127.0.0.1"), Err(Refusal::Denied));
}

#[test]
fn ports_are_443_8443_and_what_is_allowed() {
    let policy = AddressPolicy {
        extra_ports: vec![9443, 0],
        ..AddressPolicy::default()
    };
    for (port, passes) in [
        (443, true),
        (8443, true),
        (9443, true),
        (80, false),
        (6443, false),
        (0, false),
    ] {
        let judged = policy.check("provider", at("1.1.1.1", port), &OurAddresses::default());
        assert_eq!(judged.is_ok(), passes, "{port}");
        assert_eq!(policy.check_port(port).is_ok(), passes, "{port}");
    }
}

#[test]
fn loopback_on_any_port_is_for_developers() {
    let policy = AddressPolicy {
        allow_loopback: true,
        ..AddressPolicy::default()
    };
    let ours = OurAddresses {
        host: vec![ip("127.0.0.1"), ip("1.2.3.4")],
        ..OurAddresses::default()
    };
    for (address, port, passes) in [
        ("127.0.0.1", 12345, true),
        ("127.9.9.9", 443, true),
        ("::1", 12345, true),
        ("1.1.1.1", 443, true),
        ("1.1.1.1", 12345, false),
        ("1.2.3.4", 443, false),
        ("10.0.0.1", 443, false),
        ("0.0.0.0", 12345, false),
        ("::ffff:127.0.0.1", 12345, false),
    ] {
        assert_eq!(
            policy.check("p", at(address, port), &ours).is_ok(),
            passes,
            "{address}:{port}"
        );
    }
}

#[test]
fn our_own_addresses_are_refused_unless_allowed() {
    let ours = OurAddresses {
        host: vec![ip("1.2.3.4"), ip("2a00:1::1")],
        platform: vec![ip("5.6.7.8")],
    };
    let policy = AddressPolicy::default();
    for (address, refusal) in [
        ("1.2.3.4", Refusal::Host),
        ("2a00:1::1", Refusal::Host),
        ("5.6.7.8", Refusal::Platform),
    ] {
        assert_eq!(policy.check("p", at(address, 443), &ours), Err(refusal), "{address}");
        let open = allowing(&["1.2.3.4/32", "2a00:1::1/128", "5.6.7.8/32"]);
        assert!(open.check("p", at(address, 443), &ours).is_ok(), "{address}");
    }
}

#[test]
fn own_listeners_are_refused_whatever_is_allowed() {
    let ours = OurAddresses {
        host: vec![ip("1.2.3.4")],
        ..OurAddresses::default()
    };
    let everything = AddressPolicy {
        allow_loopback: true,
        extra_ports: vec![6443, 9090],
        own_listeners: vec!["0.0.0.0:6443".parse().unwrap(), "127.0.0.1:9090".parse().unwrap()],
        ..allowing(&["0.0.0.0/0", "::/0"])
    };
    for (address, port, refused) in [
        ("127.0.0.1", 6443, true),
        ("127.1.2.3", 6443, true),
        ("::1", 6443, true),
        ("0.0.0.0", 6443, true),
        ("::", 6443, true),
        ("1.2.3.4", 6443, true),
        ("::ffff:1.2.3.4", 6443, true),
        ("64:ff9b::127.0.0.1", 6443, true),
        ("127.0.0.1", 9090, true),
        ("0.0.0.0", 9090, true),
        ("::ffff:127.0.0.1", 9090, true),
        ("127.0.0.1", 443, false),
        ("1.2.3.4", 9090, false),
        ("1.2.3.5", 6443, false),
    ] {
        let judged = everything.check("p", at(address, port), &ours);
        assert_eq!(
            judged == Err(Refusal::OwnListener),
            refused,
            "{address}:{port}: {judged:?}"
        );
    }
}

#[test]
fn allow_rules_are_parsed_whole() {
    let rule: Allow = "root:org=10.0.0.0/8".parse().unwrap();
    assert_eq!(
        (rule.cluster.as_deref(), rule.net.to_string().as_str()),
        (Some("root:org"), "10.0.0.0/8")
    );
    for text in [
        "",
        "10.0.0.1",
        "=10.0.0.0/8",
        "a=",
        "10.0.0.0/33",
        "a=b=10.0.0.0/8",
        "10.0.0.0/8 ",
    ] {
        assert!(text.parse::<Allow>().is_err(), "{text:?}");
    }
}
