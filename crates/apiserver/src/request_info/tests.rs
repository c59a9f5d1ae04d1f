use proptest::prelude::*;

use super::*;

const ENDPOINT: &str = "/services/ephemeral/2p/s3.example.com";

fn get(path: &str) -> Result<Route<'_>, u16> {
    with(&Method::GET, path, None)
}

fn with<'a>(method: &Method, path: &'a str, query: Option<&str>) -> Result<Route<'a>, u16> {
    parse(method, path, query, UnionPaths::Served).map_err(|fault| crate::Fault::from(fault).status().code)
}

/// A path below an endpoint, parsed to what it leads to.
fn target_of(rest: &str) -> Result<Target<'static>, u16> {
    let path = format!("{ENDPOINT}/clusters/2c{rest}").leak();
    get(path).map(|route| match route {
        Route::Api(info) => info.target,
        other => panic!("{other:?}"),
    })
}

fn resource(rest: &str) -> ResourceInfo<'static> {
    match target_of(rest) {
        Ok(Target::Resource(info)) => info,
        other => panic!("{rest}: {other:?}"),
    }
}

#[test]
fn the_paths_that_a_shard_sends() {
    let path = "/services/ephemeral/2p/s3.example.com/clusters/%2A/apis/s3.example.com/v1alpha1";
    assert_eq!(
        get(path),
        Ok(Route::Api(RequestInfo {
            api: Api::Export {
                provider: ClusterName("2p".into()),
                export: "s3.example.com".into()
            },
            consumer: Consumer::Wildcard,
            target: Target::Discovery(Discovery::Version("s3.example.com".into(), "v1alpha1".into())),
        }))
    );
    let path = "/services/ephemeral/2p/s3.example.com/clusters/202rflx5btegbqb3\
                /apis/s3.example.com/v1alpha1/namespaces/default/bucketinfos";
    assert_eq!(
        with(
            &Method::POST,
            path,
            Some("fieldManager=kubectl-create&fieldValidation=Strict")
        ),
        Ok(Route::Api(RequestInfo {
            api: Api::Export {
                provider: ClusterName("2p".into()),
                export: "s3.example.com".into()
            },
            consumer: Consumer::Cluster(ClusterName("202rflx5btegbqb3".into())),
            target: Target::Resource(ResourceInfo {
                verb: Verb::Create,
                group: "s3.example.com".into(),
                version: "v1alpha1".into(),
                namespace: Some("default".into()),
                resource: "bucketinfos".into(),
                name: None,
                has_subresource: false,
            }),
        }))
    );
}

#[test]
fn discovery_is_served_at_the_root_of_an_endpoint_and_in_a_cluster() {
    let documents = [
        ("/api", Discovery::Legacy),
        ("/api/v1", Discovery::LegacyVersion("v1".into())),
        ("/apis", Discovery::Groups),
        ("/apis/", Discovery::Groups),
        ("/apis/g", Discovery::Group("g".into())),
        ("/apis/g/v1", Discovery::Version("g".into(), "v1".into())),
        ("/apis/g/v1/", Discovery::Version("g".into(), "v1".into())),
        ("/openapi/v2", Discovery::OpenApiV2),
        ("/openapi/v3", Discovery::OpenApiV3),
        (
            "/openapi/v3/apis/g/v1",
            Discovery::OpenApiV3Version("g".into(), "v1".into()),
        ),
        ("/version", Discovery::ServerVersion),
    ];
    let places = [
        (ENDPOINT, Consumer::None),
        (&format!("{ENDPOINT}/clusters/*"), Consumer::Wildcard),
        (&format!("{ENDPOINT}/clusters/%2a"), Consumer::Wildcard),
        (
            &format!("{ENDPOINT}/clusters/2c"),
            Consumer::Cluster(ClusterName("2c".into())),
        ),
        ("/clusters/root", Consumer::Cluster(ClusterName("root".into()))),
    ];
    for (place, consumer) in places {
        for (path, document) in &documents {
            let path = format!("{place}{path}");
            let Ok(Route::Api(info)) = get(&path) else {
                panic!("{path}")
            };
            assert_eq!(
                (&info.consumer, &info.target),
                (&consumer, &Target::Discovery(document.clone())),
                "{path}"
            );
        }
    }
}

#[test]
fn resource_paths_are_taken_apart_as_kubernetes_does() {
    // path below /apis/g/v1, namespace, resource, name, subresource
    let rows = [
        ("/ks", None, "ks", None, false),
        ("/ks/", None, "ks", None, false),
        ("/ks/n", None, "ks", Some("n"), false),
        ("/ks/n/status", None, "ks", Some("n"), true),
        ("/ks/n/proxy/a/b/c/d", None, "ks", Some("n"), true),
        ("/namespaces/ns/ks", Some("ns"), "ks", None, false),
        ("/namespaces/ns/ks/n", Some("ns"), "ks", Some("n"), false),
        ("/namespaces/ns/ks/n/status", Some("ns"), "ks", Some("n"), true),
        ("/namespaces", None, "namespaces", None, false),
        ("/namespaces/ns", Some("ns"), "namespaces", Some("ns"), false),
        ("/namespaces/ns/status", Some("ns"), "namespaces", Some("ns"), true),
        ("/namespaces/ns/finalize", Some("ns"), "namespaces", Some("ns"), true),
        ("/ks/a%3Ab", None, "ks", Some("a:b"), false),
        ("/watch/ks", None, "watch", Some("ks"), false),
    ];
    for (path, namespace, plural, name, has_subresource) in rows {
        let info = resource(&format!("/apis/g/v1{path}"));
        let found = (
            info.namespace.as_deref(),
            &*info.resource,
            info.name.as_deref(),
            info.has_subresource,
        );
        assert_eq!(found, (namespace, plural, name, has_subresource), "{path}");
    }
}

#[test]
fn verbs_follow_method_name_and_watch() {
    let (collection, object) = ("/clusters/c/apis/g/v1/ks", "/clusters/c/apis/g/v1/ks/n");
    let rows = [
        ("GET", collection, "", Verb::List),
        ("HEAD", collection, "", Verb::List),
        ("GET", collection, "watch=true", Verb::Watch),
        ("GET", collection, "limit=5&watch", Verb::Watch),
        ("GET", collection, "watch=False", Verb::List),
        ("GET", collection, "watch=0&watch=1", Verb::List),
        ("GET", object, "watch=true", Verb::Get),
        ("POST", collection, "watch=1", Verb::Create),
        ("POST", object, "", Verb::Create),
        ("PUT", object, "", Verb::Update),
        ("PATCH", object, "", Verb::Patch),
        ("DELETE", object, "", Verb::Delete),
        ("DELETE", collection, "", Verb::DeleteCollection),
        ("OPTIONS", collection, "", Verb::Other),
        ("BREW", collection, "", Verb::Other),
        ("post", collection, "", Verb::Other),
    ];
    for (method, path, query, verb) in rows {
        match with(&method.parse().unwrap(), path, Some(query)) {
            Ok(Route::Api(RequestInfo {
                target: Target::Resource(info),
                ..
            })) => {
                assert_eq!(info.verb, verb, "{method} {path}?{query}");
            }
            other => panic!("{method} {path}: {other:?}"),
        }
    }
}

#[test]
fn live_checks_and_the_version_need_no_cluster() {
    let health = |endpoint, check: Option<&'static str>| Route::Health {
        endpoint,
        check: check.map(Cow::from),
    };
    assert_eq!(get("/livez"), Ok(health(HealthEndpoint::Livez, None)));
    assert_eq!(get("/readyz/ping"), Ok(health(HealthEndpoint::Readyz, Some("ping"))));
    assert_eq!(get("/healthz"), Ok(health(HealthEndpoint::Healthz, None)));
    assert_eq!(get("/version"), Ok(Route::Version));
    for root in [
        "/clusters/consumer",
        "/services/ephemeral/2abcdefgh/s3.example.com",
        "/services/ephemeral/2abcdefgh/s3.example.com/clusters/consumer",
    ] {
        assert_eq!(get(&format!("{root}/livez")), Ok(health(HealthEndpoint::Livez, None)));
        assert_eq!(
            get(&format!("{root}/readyz/ping")),
            Ok(health(HealthEndpoint::Readyz, Some("ping")))
        );
        assert_eq!(get(&format!("{root}/healthz/a/b")), Err(404));
    }
    for path in [
        "/",
        "/readyz/a/b",
        "/livezz",
        "/version/x",
        "/metrics",
        "/debug/pprof",
        "livez",
        "*",
        "",
    ] {
        assert_eq!(get(path), Err(404), "{path}");
    }
}

/// What a provider may write into a slice's URL, and what else a path may try.
#[test]
fn no_path_is_read_in_two_ways() {
    let rest = "/apis/g/v1/ks";
    let victims = [
        // a fragment or a query that was to cut off the shard's own `/clusters/<consumer>`
        ("/services/ephemeral/2p/e/clusters/victim%23/clusters/2c", 404),
        ("/services/ephemeral/2p/e/clusters/victim%3F/clusters/2c", 404),
        // another `/clusters/` before it
        ("/services/ephemeral/2p/e/clusters/victim/clusters/2c", 404),
        ("/services/ephemeral/2p/clusters/victim/clusters/2c", 404),
        // dot segments, plain and encoded once or twice
        ("/services/ephemeral/2p/e/../../2v/e/clusters/2c", 404),
        ("/services/ephemeral/2p/e/%2e%2e/%2E./2v/e/clusters/2c", 404),
        ("/services/ephemeral/2p/e/%252e%252e/clusters/2c", 404),
        ("/services/ephemeral/2p/./clusters/2c", 404),
        // empty segments and encoded slashes
        ("/services/ephemeral/2p//clusters/2c", 404),
        ("//services/ephemeral/2p/e/clusters/2c", 404),
        ("/services/ephemeral/2p/e/clusters/2c/", 404),
        ("/services/ephemeral/2p/e%2Fclusters%2Fvictim/clusters/2c", 404),
        ("/services/ephemeral/2p/e%5C..%5Cx/clusters/2c", 404),
        // names that are none
        ("/services/ephemeral/root:org/e/clusters/2c", 404),
        ("/services/ephemeral/*/e/clusters/2c", 404),
        ("/services/ephemeral/2p/e/clusters/root:org:team", 404),
        ("/services/ephemeral/2p/e/clusters/system:admin", 404),
        ("/services/ephemeral/2p/e/clusters/UPPER", 404),
        ("/services/ephemeral/2p/e/clusters/-a", 404),
        ("/services/ephemeral/2p/e/clusters/**", 404),
        ("/services/ephemeral/2p/e/clusters/%252A", 404),
        ("/services/ephemeral/2p/e/clusters/a%00", 404),
        ("/services/ephemeral/2p/e/clusters/a%0d%0ab", 404),
        ("/services/ephemeral/2p/e/clusters/%ff", 404),
        ("/services/ephemeral/2p/e/clusters/a%zz", 400),
        ("/services/ephemeral/2p/e/clusters/a%2", 400),
        // the wildcard is a shard's, on an endpoint
        ("/clusters/*", 404),
        ("/services/other/2p/e/clusters/2c", 404),
    ];
    for (path, code) in victims {
        let path = format!("{path}{rest}");
        assert_eq!(get(&path).map(|route| format!("{route:?}")), Err(code), "{path}");
    }
    assert!(get(&format!("{ENDPOINT}/clusters/{}/apis", "a".repeat(63))).is_ok());
    assert_eq!(get(&format!("{ENDPOINT}/clusters/{}/apis", "a".repeat(64))), Err(404));
}

#[test]
fn union_paths_exist_only_where_they_are_served() {
    let path = "/clusters/2c/apis";
    assert!(parse(&Method::GET, path, None, UnionPaths::Served).is_ok());
    assert!(matches!(
        parse(&Method::GET, path, None, UnionPaths::NotServed),
        Err(ClientFault::NotFound)
    ));
}

#[test]
fn plain_paths_are_borrowed() {
    let Ok(Route::Api(info)) = get("/clusters/2c/apis/g/v1/namespaces/ns/ks/n") else {
        panic!("a resource")
    };
    let Target::Resource(info) = info.target else {
        panic!("a resource")
    };
    for part in [
        Some(info.group),
        Some(info.version),
        info.namespace,
        Some(info.resource),
        info.name,
    ] {
        assert!(matches!(part, Some(Cow::Borrowed(_))), "{part:?}");
    }
}

fn every_segment<'a>(route: &'a Route<'_>) -> Vec<&'a str> {
    fn document<'a>(discovery: &'a Discovery<'_>) -> Vec<&'a str> {
        match discovery {
            Discovery::Group(group) => vec![group],
            Discovery::Version(group, version) | Discovery::OpenApiV3Version(group, version) => vec![group, version],
            _ => vec![],
        }
    }
    let Route::Api(info) = route else { return vec![] };
    let mut segments = match &info.target {
        Target::Discovery(discovery) => document(discovery),
        Target::Resource(info) => [Some(&info.group), Some(&info.version), Some(&info.resource)]
            .into_iter()
            .chain([info.namespace.as_ref(), info.name.as_ref()])
            .flatten()
            .map(|segment| &**segment)
            .collect(),
    };
    if let Consumer::Cluster(name) = &info.consumer {
        segments.push(name.as_str());
    }
    if let Api::Export { provider, export } = &info.api {
        segments.extend([provider.as_str(), export]);
    }
    segments
}

proptest! {
    /// Pieces that meet the parser's own words are likelier to get deep than random text.
    #[test]
    fn a_segment_never_holds_a_separator(
        pieces in prop::collection::vec(
            prop_oneof![
                Just("services"), Just("ephemeral"), Just("clusters"), Just("apis"), Just("namespaces"), Just("*"),
                Just("%2A"), Just("2c"), Just("%2e"), Just(".."), Just("."), Just(""), Just("%2F"), Just("%252F"),
                Just("#"), Just("?"), Just("%23"), Just("%00"), Just("v1"), Just("%"), Just("é"), Just("%c3%a9"),
            ],
            0..14,
        ),
        anything in "\\PC{0,12}",
    ) {
        for path in [format!("/{}", pieces.join("/")), format!("/services/ephemeral/2p/e/{anything}"), anything] {
            if let Ok(route) = get(&path) {
                for segment in every_segment(&route) {
                    prop_assert!(!segment.is_empty() && segment != "." && segment != ".." , "{path}");
                    prop_assert!(!segment.contains(['/', '#', '?', '%', '\0', '\\']), "{path}");
                }
            }
        }
    }
}
