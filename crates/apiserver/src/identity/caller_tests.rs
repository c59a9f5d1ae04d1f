use std::collections::BTreeMap;

use ephemeral_testing::pki::Authority;
use http::StatusCode;

use super::super::trust::{NamedCa, TrustConfig};
use super::*;

fn trust() -> Trust {
    let dir = tempfile::tempdir().unwrap();
    let file = Authority::new("ca").write(dir.path(), "ca");
    let shard = NamedCa::new(file, ["shard-0".to_owned()]).unwrap();
    Trust::load(TrustConfig {
        shard: Some(shard),
        ..TrustConfig::default()
    })
    .unwrap()
}

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let parse = |&(name, value): &(&str, &str)| -> (HeaderName, HeaderValue) {
        (
            name.parse().unwrap(),
            HeaderValue::from_bytes(value.as_bytes()).unwrap(),
        )
    };
    let mut headers = HeaderMap::new();
    for (name, value) in lines.iter().map(parse) {
        headers.append(name, value);
    }
    headers
}

fn shard() -> Peer {
    Peer::Shard("shard-0".into())
}

fn front_proxy() -> Peer {
    Peer::FrontProxy("front-proxy".into())
}

fn user() -> Peer {
    Peer::User(Arc::new(UserInfo {
        username: "ada".into(),
        groups: vec!["team".into()],
        ..UserInfo::default()
    }))
}

fn ask(peer: &Peer, lines: &[(&str, &str)]) -> Result<Identity, u16> {
    caller(&trust(), peer, &headers(lines)).map_err(|fault| fault.status().code)
}

fn remote(lines: &[(&str, &str)]) -> UserInfo {
    match ask(&shard(), lines) {
        Ok(Identity::Caller(caller)) => UserInfo::clone(&caller.user),
        other => panic!("{other:?}"),
    }
}

/// Header names arrive in many cases, extra keys percent-encoded; nothing is split, added or left out.
#[test]
fn remote_headers_become_a_user() {
    let user = remote(&[
        ("X-Remote-User", "ada"),
        ("X-Remote-Group", "team:blue"),
        ("x-remote-GROUP", "auditors"),
        ("X-Remote-Group", ""),
        ("X-Remote-Uid", "7"),
        ("X-Remote-Extra-example.org%2Fpod-name", "p1"),
        ("X-Remote-Extra-Example.org%2FPod-Name", "p2"),
        ("X-Remote-Extra-twice%252Fkept", "v"),
        ("X-Remote-Extra-broken%2", "b"),
        ("X-Remote-Extra-broken%zz%2f", "b"),
        ("X-Remote-Extra-no%fftext", "b"),
        ("X-Remote-Extra-upper%41", "u"),
        ("X-Remote-Extra-plain", "a, b"),
        ("X-Remote-Extra-scopes", r#"["cluster:a","cluster:b"]"#),
        ("X-Remote-Extra-empty", ""),
        ("Impersonate-User", "root"),
        ("X-Remote-Extr", "no"),
    ]);
    let extra: BTreeMap<String, Vec<String>> = [
        ("example.org/pod-name", vec!["p1", "p2"]),
        ("twice%2fkept", vec!["v"]),
        ("broken%2", vec!["b"]),
        ("broken%zz%2f", vec!["b"]),
        ("no%fftext", vec!["b"]),
        ("upperA", vec!["u"]),
        ("plain", vec!["a, b"]),
        ("scopes", vec![r#"["cluster:a","cluster:b"]"#]),
        ("empty", vec![""]),
    ]
    .map(|(key, values)| (key.to_owned(), values.into_iter().map(str::to_owned).collect()))
    .into();
    let groups = vec!["team:blue".to_owned(), "auditors".to_owned()];
    assert_eq!(
        user,
        UserInfo {
            username: "ada".into(),
            uid: "7".into(),
            groups,
            extra
        }
    );
}

#[test]
fn hundreds_of_groups_keep_their_order() {
    let names: Vec<_> = (0..900).map(|n| format!("group-{n}")).collect();
    let mut lines = vec![("X-Remote-User", "ada")];
    lines.extend(names.iter().map(|name| ("X-Remote-Group", name.as_str())));
    assert_eq!(remote(&lines).groups, names);
}

#[test]
fn of_several_users_the_first_counts_and_an_empty_one_is_none() {
    assert_eq!(
        remote(&[("X-Remote-User", "ada"), ("x-remote-user", "root")]).username,
        "ada"
    );
    let itself = Ok(Identity::ShardItself("shard-0".into()));
    for lines in [
        &[][..],
        &[("X-Remote-User", "")],
        &[("X-Remote-User", ""), ("X-Remote-User", "root")],
        &[("X-Remote-Group", "system:masters")],
        &[("X_Remote_User", "root")],
    ] {
        assert_eq!(ask(&shard(), lines), itself, "{lines:?}");
        assert_eq!(ask(&front_proxy(), lines), Err(401), "{lines:?}");
    }
}

#[test]
fn the_way_of_a_request_is_kept() {
    let lines = [("X-Remote-User", "ada")];
    let expected = |via| {
        Ok(Identity::Caller(Caller {
            user: Arc::new(remote(&lines)),
            via,
        }))
    };
    assert_eq!(ask(&shard(), &lines), expected(Via::Shard("shard-0".into())));
    assert_eq!(
        ask(&front_proxy(), &lines),
        expected(Via::FrontProxy("front-proxy".into()))
    );
}

#[test]
fn headers_add_nothing_to_a_user_or_to_nobody() {
    let lines = [
        ("X-Remote-User", "root"),
        ("X-Remote-Group", "system:masters"),
        ("Impersonate-User", "root"),
    ];
    match ask(&user(), &lines) {
        Ok(Identity::Caller(Caller { user, via: Via::Direct })) => {
            assert_eq!((&*user.username, &*user.groups), ("ada", &["team".to_owned()][..]));
        }
        other => panic!("{other:?}"),
    }
    for presented in [true, false] {
        assert_eq!(ask(&Peer::Anonymous { presented }, &lines), Err(401));
    }
}

#[test]
fn a_shard_that_nobody_listed_is_told_so() {
    let hops = [("X-Kcp-Virtual-Resource-Hops", "1"), ("X-Remote-User", "ada")];
    assert_eq!(ask(&user(), &hops), Err(403));
    assert_eq!(ask(&Peer::Anonymous { presented: true }, &hops), Err(403));
    assert_eq!(ask(&Peer::Anonymous { presented: false }, &hops), Err(401));
}

#[test]
fn a_lost_caller_is_refused_with_the_remedy() {
    let lines = [("X-Remote-User", "shard-0"), ("X-Remote-Group", "system:masters")];
    for peer in [front_proxy(), shard()] {
        let status = caller(&trust(), &peer, &headers(&lines)).unwrap_err().status();
        assert_eq!(status.code, StatusCode::FORBIDDEN.as_u16());
        assert!(status.message.contains("publish the direct URL"), "{}", status.message);
    }
}

#[test]
fn hops_are_counted_as_kcp_counts_them() {
    let rows = [
        ("1", None),
        ("4", None),
        ("0", None),
        ("", None),
        ("5", Some(500)),
        ("99999999999999999999999", Some(500)),
        ("-1", Some(500)),
        ("one", Some(500)),
        ("1, 1", Some(500)),
        ("\u{e9}", Some(500)),
    ];
    for (hops, code) in rows {
        for peer in [shard(), front_proxy()] {
            let found = ask(
                &peer,
                &[("X-Remote-User", "ada"), ("X-Kcp-Virtual-Resource-Hops", hops)],
            );
            assert_eq!(found.err(), code, "{hops:?}");
        }
    }
}

#[test]
fn names_that_are_no_text_are_no_identity() {
    for name in ["x-remote-user", "x-remote-group", "x-remote-uid", "x-remote-extra-a"] {
        let mut headers = headers(&[("X-Remote-User", "ada")]);
        headers.insert(
            name.parse::<HeaderName>().unwrap(),
            HeaderValue::from_bytes(b"a\xff").unwrap(),
        );
        let fault = caller(&trust(), &shard(), &headers).unwrap_err();
        assert_eq!(fault.status().code, 401, "{name}");
    }
}
