use std::fs;
use std::time::Duration;

use ephemeral_testing::pki::{Authority, Leaf, Validity};
use rcgen::ExtendedKeyUsagePurpose;
use tempfile::TempDir;

use super::*;

/// kcp's way: one CA for shards and users, one for front-proxies.
struct Kcp {
    client_ca: Authority,
    proxy_ca: Authority,
    dir: TempDir,
    trust: Trust,
}

fn kcp() -> Kcp {
    let (client_ca, proxy_ca) = (Authority::new("client-ca"), Authority::new("requestheader-ca"));
    let dir = tempfile::tempdir().unwrap();
    let client_file = client_ca.write(dir.path(), "client-ca");
    let proxy_file = proxy_ca.write(dir.path(), "requestheader-ca");
    let config = TrustConfig {
        shard: Some(NamedCa::new(client_file.clone(), ["shard-0", "shard-1"].map(str::to_owned)).unwrap()),
        front_proxy: Some(NamedCa::new(proxy_file, ["front-proxy".to_owned()]).unwrap()),
        user: Some(client_file),
    };
    Kcp {
        client_ca,
        proxy_ca,
        dir,
        trust: Trust::load(config).unwrap(),
    }
}

impl Kcp {
    fn judge(&self, ca: &Authority, leaf: &Leaf) -> Peer {
        self.trust.judge(&ca.issue(leaf).chain(), UnixTime::now()).peer
    }
}

fn user(name: &str, groups: &[&str]) -> Peer {
    let groups = groups.iter().map(|&group| group.to_owned()).collect();
    Peer::User(Arc::new(UserInfo {
        username: name.to_owned(),
        groups,
        ..UserInfo::default()
    }))
}

const UNTRUSTED: Peer = Peer::Anonymous { presented: true };

#[test]
fn a_certificate_is_what_its_chain_and_its_name_say() {
    let kcp = kcp();
    let other = Authority::new("client-ca");
    let (clients, proxies) = (&kcp.client_ca, &kcp.proxy_ca);
    let leaf = |name: &str| Leaf::client(name, &["team"]);
    let server_only = |name: &str| Leaf {
        usages: vec![ExtendedKeyUsagePurpose::ServerAuth],
        ..leaf(name)
    };
    let rows = [
        ("a shard", clients, leaf("shard-0"), Peer::Shard("shard-0".into())),
        ("another shard", clients, leaf("shard-1"), Peer::Shard("shard-1".into())),
        (
            "a front-proxy",
            proxies,
            leaf("front-proxy"),
            Peer::FrontProxy("front-proxy".into()),
        ),
        ("a user", clients, leaf("ada"), user("ada", &["team"])),
        (
            "a name that only begins like one",
            clients,
            leaf("shard-01"),
            user("shard-01", &["team"]),
        ),
        (
            "a name in another case",
            clients,
            leaf("Shard-0"),
            user("Shard-0", &["team"]),
        ),
        (
            "a front-proxy's name from the users' CA",
            clients,
            leaf("front-proxy"),
            UNTRUSTED,
        ),
        (
            "a shard's name from the front-proxies' CA",
            proxies,
            leaf("shard-0"),
            UNTRUSTED,
        ),
        (
            "an unlisted name from the front-proxies' CA",
            proxies,
            leaf("ada"),
            UNTRUSTED,
        ),
        (
            "a CA of the same name and another key",
            &other,
            leaf("shard-0"),
            UNTRUSTED,
        ),
        ("a user of another CA", &other, leaf("ada"), UNTRUSTED),
        ("no name", clients, leaf(""), UNTRUSTED),
        ("a server's certificate", clients, server_only("ada"), UNTRUSTED),
        (
            "an expired shard is no user either",
            clients,
            leaf("shard-0").validity(Validity::Expired),
            UNTRUSTED,
        ),
        (
            "an expired user",
            clients,
            leaf("ada").validity(Validity::Expired),
            UNTRUSTED,
        ),
        (
            "a user to be",
            clients,
            leaf("ada").validity(Validity::NotYet),
            UNTRUSTED,
        ),
    ];
    for (what, ca, leaf, peer) in rows {
        assert_eq!(kcp.judge(ca, &leaf), peer, "{what}");
    }
    assert_eq!(
        kcp.trust.judge(&[], UnixTime::now()).peer,
        Peer::Anonymous { presented: false }
    );
    let garbage = CertificateDer::from(vec![0x30, 0x82, 1, 2, 3]);
    assert_eq!(kcp.trust.judge(&[garbage], UnixTime::now()).peer, UNTRUSTED);
}

#[test]
fn a_chain_may_lead_through_intermediates() {
    let kcp = kcp();
    let intermediate = kcp.client_ca.intermediate("intermediate");
    assert_eq!(kcp.judge(&intermediate, &Leaf::client("ada", &[])), user("ada", &[]));
    let chain = intermediate.client("ada", &[]).chain();
    assert_eq!(
        kcp.trust.judge(&chain[..1], UnixTime::now()).peer,
        UNTRUSTED,
        "it has to be presented"
    );
}

#[test]
fn groups_that_only_kcp_may_give_are_dropped() {
    let kcp = kcp();
    let rows = [
        (["system:masters", "team"], vec!["team"]),
        (
            ["system:kcp:logical-cluster-admin", "system:kcp:admin"],
            vec!["system:kcp:admin"],
        ),
        (
            ["system:kcp:initializer:root:x", "system:kcp:terminator:root:x"],
            vec![],
        ),
        (
            ["system:kcp:external-logical-cluster-admin", "system:masters2"],
            vec!["system:kcp:external-logical-cluster-admin", "system:masters2"],
        ),
    ];
    for (groups, kept) in rows {
        assert_eq!(
            kcp.judge(&kcp.client_ca, &Leaf::client("ada", &groups)),
            user("ada", &kept),
            "{groups:?}"
        );
    }
}

#[test]
fn without_a_ca_there_is_no_way_in() {
    let kcp = kcp();
    let trust = Trust::load(TrustConfig::default()).unwrap();
    let chain = kcp.client_ca.client("shard-0", &[]).chain();
    assert_eq!(trust.judge(&chain, UnixTime::now()).peer, UNTRUSTED);
}

#[test]
fn a_ca_needs_names() {
    for names in [vec![], vec![String::new()]] {
        assert_eq!(NamedCa::new("ca.crt".into(), names).unwrap_err(), NoNames);
    }
}

#[test]
fn a_verdict_holds_until_a_certificate_or_a_ca_changes() {
    let kcp = kcp();
    let chain = kcp.client_ca.client("ada", &[]).chain();
    let now = UnixTime::now();
    let later = |hours| UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs()) + Duration::from_hours(hours));
    let verdict = kcp.trust.judge(&chain, now);
    assert!(kcp.trust.still_holds(&verdict, now));
    assert!(kcp.trust.still_holds(&verdict, later(23)));
    assert!(
        !kcp.trust.still_holds(&verdict, later(25)),
        "the certificate has expired"
    );
    let earlier = UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs() - 1));
    assert!(!kcp.trust.still_holds(&verdict, earlier), "the clock was set back");
    assert_eq!(kcp.trust.judge(&chain, later(25)).peer, UNTRUSTED);

    let to_be = kcp
        .client_ca
        .issue(&Leaf::client("ada", &[]).validity(Validity::NotYet))
        .chain();
    let verdict = kcp.trust.judge(&to_be, now);
    assert_eq!(verdict.peer, UNTRUSTED);
    assert!(
        !kcp.trust.still_holds(&verdict, later(2)),
        "the certificate has become valid"
    );

    let verdict = kcp.trust.judge(&chain, now);
    fs::write(kcp.dir.path().join("client-ca.crt"), Authority::new("new").cert_pem()).unwrap();
    kcp.trust.bundles().for_each(Watched::reload);
    assert!(!kcp.trust.still_holds(&verdict, now), "the CA was replaced");
    assert_eq!(kcp.trust.judge(&chain, now).peer, UNTRUSTED);
}
