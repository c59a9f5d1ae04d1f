//! Every way to get a nomination wrong has its reason, on the right condition, and harms no other nomination.

mod common;

use common::*;
use ephemeral_index::kinds::Kind;
use ephemeral_index::{Calls, ConditionType, Event, FieldInvalid, Problem, SchemaProblem, SliceReading, Source};
use serde_json::{Value, json};

const OWN_URL: &str = "https://vw.example.org:6443/services/ephemeral/c/e";

/// A world in which `w` nominates `things` and all is well, after some objects were changed first.
fn world(change: impl Fn(&mut Value)) -> World {
    let mut world = World::complete();
    let endpoints = json!([{"url": OWN_URL, "shards": {"matchAll": true}}]);
    let mut objects = json!({
        "schema": schema("c", "v1", "things"),
        "export": export("c", "e", &["things", "others"]),
        "webhook": webhook("c", "w", "things"),
        "slice": owned(slice("c", "e", &endpoints), "kcp-ephemeral"),
    });
    change(&mut objects);
    world.apply([
        apply(&shard("a"), objects["schema"].take()),
        apply(&shard("a"), objects["export"].take()),
        apply(&shard("a"), objects["webhook"].take()),
        slice_found(objects["slice"].take()),
        // A nomination that must stay well.
        apply(&shard("a"), schema("c", "v1", "others")),
        apply(&shard("a"), webhook("c", "other", "others")),
    ]);
    world
}

fn is_well(world: &World, name: &str) {
    assert_eq!(world.condition(name, "Ready"), ("True", "Ready".into()), "{name}");
}

#[test]
fn all_is_well() {
    let mut world = world(|_| {});
    is_well(&world, "w");
    is_well(&world, "other");
    let status = world.status("c", "w");
    assert_eq!(status.endpoint.as_deref(), Some(OWN_URL));
    assert_eq!(status.observed_generation, 1);
    let snapshot = world.snapshot();
    assert_eq!(snapshot.problems().count(), 0);
    assert_eq!(
        find(&snapshot, "c", "things").state.as_ref().unwrap().handle.url,
        "https://w.example.org/"
    );
}

/// What is wrong with the webhook itself: it stays known, cannot be used, and says why.
#[test]
fn a_webhook_that_cannot_be_used() {
    for (field, value, condition, reason) in [
        ("timeoutSeconds", json!(0), "Accepted", "FieldInvalid"),
        ("timeoutSeconds", json!(31), "Accepted", "FieldInvalid"),
        ("timeoutSeconds", json!("10"), "Accepted", "FieldInvalid"),
        ("failurePolicy", json!("Retry"), "Accepted", "FieldInvalid"),
        ("specOwnership", json!("Nobody"), "Accepted", "FieldInvalid"),
        ("maxInFlight", json!(0), "Accepted", "FieldInvalid"),
        ("reviewVersions", json!(["apis.kcp.io/v2"]), "Accepted", "FieldInvalid"),
        ("url", json!(["https://a"]), "Accepted", "FieldInvalid"),
        ("caBundle", json!(7), "Accepted", "FieldInvalid"),
        ("url", json!(""), "EphemeralEndpointsValid", "URLInvalid"),
        (
            "url",
            json!("http://w.example.org"),
            "EphemeralEndpointsValid",
            "URLInvalid",
        ),
        (
            "url",
            json!("https://127.0.0.1"),
            "EphemeralEndpointsValid",
            "URLRefused",
        ),
        (
            "caBundle",
            json!("hollow"),
            "EphemeralEndpointsValid",
            "CABundleInvalid",
        ),
    ] {
        let mut world = world(|objects| objects["webhook"]["spec"][field] = value.clone());
        assert_eq!(
            world.condition("w", condition),
            ("False", reason.into()),
            "{field}: {value}"
        );
        assert_eq!(
            world.condition("w", "Ready"),
            ("False", reason.into()),
            "{field}: {value}"
        );
        is_well(&world, "other");
        let snapshot = world.snapshot();
        let problem = find(&snapshot, "c", "things").state.as_ref().unwrap_err();
        assert_eq!(problem.reason(), reason);
    }
}

/// Without these there is no resource that could be nominated.
#[test]
fn a_webhook_without_a_target() {
    for field in ["export", "group", "resource"] {
        for value in [Value::Null, json!(""), json!(1)] {
            let mut world = world(|objects| objects["webhook"]["spec"][field] = value.clone());
            assert_eq!(world.condition("w", "Accepted"), ("False", "FieldInvalid".into()));
            assert_eq!(world.snapshot().len(), 1, "only the other one");
            is_well(&world, "other");
        }
    }
}

#[test]
fn an_expired_bundle_is_found_when_endpoints_are_judged_anew() {
    let mut world = world(|objects| objects["webhook"]["spec"]["caBundle"] = json!("expiring"));
    is_well(&world, "w");
    let number = |world: &mut World| {
        find(&world.snapshot(), "c", "things")
            .state
            .as_ref()
            .unwrap()
            .handle
            .number
    };
    let before = number(&mut world);
    world.apply([Event::JudgeEndpoints]);
    assert_eq!(number(&mut world), before, "the handle and its connections stay");
    world.factory.clock_is_past_expiry.set(true);
    world.apply([Event::JudgeEndpoints]);
    assert_eq!(
        world.condition("w", "EphemeralEndpointsValid"),
        ("False", "CABundleExpired".into())
    );
    world.factory.clock_is_past_expiry.set(false);
    world.apply([Event::JudgeEndpoints]);
    is_well(&world, "w");
    assert_eq!(
        world.apply([Event::JudgeEndpoints]).statuses.len(),
        0,
        "nothing to tell"
    );
}

/// What cannot be resolved, or only in part.
#[test]
fn a_resource_that_cannot_be_resolved() {
    let schema_name = "/export/spec/resources/0/schema";
    let rows = [
        ("ExportNotFound", "/webhook/spec/export", json!("x")),
        ("ResourceNotInExport", "/webhook/spec/resource", json!("x")),
        ("ExportInvalid", schema_name, json!(5)),
        ("SchemaNotFound", schema_name, json!("v2.things.g.io")),
        ("SchemaOfOtherResource", schema_name, json!("v1.others.g.io")),
        ("SchemaUnsupported", "/schema/spec/versions/0/schema", json!("none")),
        ("SchemaUnsupported", "/schema/spec/versions", json!([])),
    ];
    for (reason, field, value) in rows {
        let mut world = world(|objects| *objects.pointer_mut(field).unwrap() = value.clone());
        assert_eq!(world.condition("w", "ResourceResolved"), ("False", reason.into()));
        assert_eq!(world.condition("w", "Ready"), ("False", reason.into()));
        is_well(&world, "other");
        let snapshot = world.snapshot();
        assert_eq!(snapshot.len(), 2);
        assert_eq!(
            snapshot
                .problems()
                .map(|(_, problem)| problem.reason())
                .collect::<Vec<_>>(),
            [reason]
        );
    }
}

#[test]
fn an_export_whose_resources_are_no_list_says_so() {
    for value in [json!(5), json!({"name": "things"}), json!("things")] {
        let world = world(|objects| objects["export"]["spec"]["resources"] = value.clone());
        for name in ["w", "other"] {
            assert_eq!(
                world.condition(name, "ResourceResolved"),
                ("False", "ExportInvalid".into()),
                "{value}"
            );
        }
    }
}

#[test]
fn a_version_that_cannot_be_enforced_is_refused_alone() {
    let mut world = world(|objects| {
        let versions = &mut objects["schema"]["spec"]["versions"];
        let broken = json!({"name": "v2", "served": true, "storage": false, "schema": null});
        versions.as_array_mut().unwrap().push(broken);
    });
    assert_eq!(
        world.condition("w", "ResourceResolved"),
        ("False", "SchemaUnsupported".into())
    );
    let snapshot = world.snapshot();
    let schema = find(&snapshot, "c", "things").schema.as_ref().unwrap();
    assert!(schema.version("v1").unwrap().schema.is_ok());
    assert!(schema.version("v2").unwrap().schema.is_err());
    let (_, problem) = snapshot.problems().next().unwrap();
    assert!(problem.message().contains("version v2"), "{problem}");
}

#[test]
fn a_pattern_that_is_not_gos_is_named_and_refuses_its_resource_alone() {
    for pattern in [r"^(a)\1$", "([a-z", "^(?!x).*$"] {
        let mut world = world(|objects| {
            objects["schema"]["spec"]["versions"][0]["schema"]["properties"]["spec"]["properties"]["q"]["pattern"] =
                json!(pattern);
        });
        assert_eq!(
            world.condition("w", "ResourceResolved"),
            ("False", "SchemaUnsupported".into())
        );
        is_well(&world, "other");
        let snapshot = world.snapshot();
        let version = find(&snapshot, "c", "things").schema.as_ref().unwrap().version("v1");
        assert!(version.unwrap().schema.is_err());
        let (_, problem) = snapshot.problems().next().unwrap();
        assert!(problem.message().contains("properties[q].pattern"), "{problem}");
    }
}

#[test]
fn claims_that_are_not_accepted_explain_why_nothing_is_found() {
    let mut world = World::complete();
    world.apply([apply(&shard("a"), webhook("c", "w", "things"))]);
    assert_eq!(
        world.condition("w", "ResourceResolved"),
        ("False", "ExportNotFound".into())
    );
    let claims = |accepted| Event::Claims {
        cluster: "c".into(),
        accepted,
    };
    world.apply([claims(false)]);
    assert_eq!(
        world.condition("w", "ResourceResolved"),
        ("False", "ClaimsNotAccepted".into())
    );
    world.apply([claims(true)]);
    assert_eq!(
        world.condition("w", "ResourceResolved"),
        ("False", "ExportNotFound".into())
    );
}

/// What is wrong with publishing never stops a call.
#[test]
fn an_endpoint_that_cannot_be_published() {
    let storage = "/export/spec/resources/0/storage";
    let reference = |kind: &str, name: &str| json!({"virtual": {"reference": {"apiGroup": "apis.kcp.io", "kind": kind, "name": name}}});
    let foreign = json!([{"url": "https://other.example.org", "shards": {"matchAll": true}}]);
    let rows = [
        ("StorageNotVirtual", storage, json!({"crd": {}})),
        ("StorageNotVirtual", storage, Value::Null),
        ("ReferenceNotEndpointSlice", storage, reference("Bucket", "e.ephemeral")),
        (
            "EndpointSliceIsDefault",
            storage,
            reference("APIExportEndpointSlice", "e"),
        ),
        ("EndpointSliceOfOtherExport", "/slice/spec/export/name", json!("other")),
        ("EndpointConflict", "/slice", slice("c", "e", &foreign)),
    ];
    for (reason, field, value) in rows {
        let mut world = world(|objects| *objects.pointer_mut(field).unwrap() = value.clone());
        assert_eq!(world.condition("w", "EndpointPublished"), ("False", reason.into()));
        assert_eq!(world.condition("w", "Ready"), ("False", reason.into()));
        let snapshot = world.snapshot();
        assert!(find(&snapshot, "c", "things").state.is_ok(), "{reason}");
    }
    let readings = [
        (SliceReading::Missing, "EndpointSliceNotFound"),
        (SliceReading::Forbidden, "SliceRightsMissing"),
    ];
    for (reading, reason) in readings {
        let mut world = world(|_| {});
        world.apply([Event::Slice {
            cluster: "c".into(),
            name: "e.ephemeral".into(),
            reading,
        }]);
        assert_eq!(world.condition("w", "EndpointPublished"), ("False", reason.into()));
    }
}

#[test]
fn a_slice_of_two_exports_is_shared_until_one_lets_go() {
    let mut world = world(|_| {});
    let mut second = export("c", "e2", &["more"]);
    second["spec"]["resources"][0]["storage"]["virtual"]["reference"]["name"] = json!("e.ephemeral");
    world.apply([apply(&shard("a"), second)]);
    assert_eq!(
        world.condition("w", "EndpointPublished"),
        ("False", "EndpointSliceShared".into())
    );
    world.apply([delete(&shard("a"), Kind::APIExport, "c", "e2")]);
    is_well(&world, "w");
}

#[test]
fn a_slice_names_the_workspace_of_its_export_by_path_or_logical_cluster() {
    for (path, known, well) in [
        ("", None, true),
        ("c", None, true),
        ("root:provider", None, true),
        ("root:provider", Some("root:provider"), true),
        ("root:other", Some("root:provider"), false),
    ] {
        let world = world(|objects| {
            objects["slice"]["spec"]["export"]["path"] = json!(path);
            objects["export"]["metadata"]["annotations"]["kcp.io/path"] = json!(known);
        });
        let expected = if well { "True" } else { "False" };
        assert_eq!(
            world.condition("w", "EndpointPublished").0,
            expected,
            "{path} {known:?}"
        );
    }
}

#[test]
fn failing_calls_are_told_and_change_nothing_else() {
    for (calls, reason) in [
        (Calls::Failing, "CallsFailing"),
        (Calls::ClientCertificateNotRequested, "ClientCertificateNotRequested"),
    ] {
        let mut world = world(|_| {});
        let observed = |calls| Event::Calls {
            cluster: "c".into(),
            webhook: "w".into(),
            calls,
        };
        world.apply([observed(calls)]);
        assert_eq!(world.condition("w", "CallsSucceeding"), ("False", reason.into()));
        is_well(&world, "w");
        assert!(find(&world.snapshot(), "c", "things").state.is_ok());
        world.apply([observed(Calls::Succeeding)]);
        assert_eq!(world.condition("w", "CallsSucceeding").0, "True");
    }
}

#[test]
fn the_older_nomination_counts_then_the_first_by_name() {
    let mut world = world(|_| {});
    let mut younger = webhook("c", "a-younger", "things");
    younger["metadata"]["creationTimestamp"] = json!("2026-02-01T00:00:00Z");
    let same_age = webhook("c", "z", "things");
    world.apply([apply(&shard("a"), younger), apply(&shard("a"), same_age)]);
    for name in ["a-younger", "z"] {
        assert_eq!(world.condition(name, "Accepted"), ("False", "Conflicted".into()));
    }
    is_well(&world, "w");

    world.apply([delete(&shard("a"), Kind::EphemeralWebhook, "c", "w")]);
    assert_eq!(&*find(&world.snapshot(), "c", "things").webhook_name, "z");
    is_well(&world, "z");
    world.apply([delete(&shard("a"), Kind::EphemeralWebhook, "c", "z")]);
    is_well(&world, "a-younger");
    assert_eq!(world.snapshot().problems().count(), 0);
}

/// The targets are such that the new one is judged before the old one is left, and the other way round.
#[test]
fn a_webhook_that_is_made_anew_for_another_resource_counts_there() {
    for (before, after) in [("things", "others"), ("others", "things")] {
        let mut world = World::complete();
        let a = shard("a");
        world.apply([
            apply(&a, export("c", "e", &["things", "others"])),
            apply(&a, schema("c", "v1", "things")),
            apply(&a, schema("c", "v1", "others")),
            apply(&a, webhook("c", "w", before)),
        ]);
        let mut anew = webhook("c", "w", after);
        anew["metadata"]["uid"] = json!("another");
        let snapshot = world.apply([apply(&a, anew)]).snapshot;
        assert_eq!(snapshot.len(), 1);
        assert!(find(&snapshot, "c", after).state.is_ok());
        assert_eq!(world.condition("w", "Accepted").0, "True");
    }
}

/// Nothing is published from a directory, so nothing about publishing is asked of it; it wins over kcp.
#[test]
fn manifests_need_no_slice_and_win() {
    let mut world = world(|_| {});
    let mut inline = export("c", "e", &["things"]);
    // As in a file: kcp's copy has a uid and is younger.
    inline["metadata"] = json!({"name": "e", "annotations": {"kcp.io/cluster": "c"}});
    inline["spec"]["resources"][0]["storage"] = json!({"ephemeral": {"url": "https://inline.example.org/"}});
    let snapshot = world.apply([apply(&Source::Manifests, inline)]).snapshot;
    let nomination = find(&snapshot, "c", "things");
    assert_eq!(
        nomination.state.as_ref().unwrap().handle.url,
        "https://inline.example.org/"
    );
    assert_eq!(&*nomination.webhook_name, "things.g.io");
    assert_eq!(world.condition("w", "Accepted"), ("False", "Conflicted".into()));
    // The operator's export does not list it.
    assert_eq!(
        world.condition("other", "ResourceResolved"),
        ("False", "ResourceNotInExport".into())
    );

    world.apply([delete(&Source::Manifests, Kind::APIExport, "c", "e")]);
    is_well(&world, "w");
    is_well(&world, "other");
}

#[test]
fn manifests_alone_are_enough() {
    let mut world = World::with_publisher(None);
    let mut events = nomination(&Source::Manifests, "c");
    if let Event::Apply(_, object) = &mut events[1] {
        let mut crd = export("c", "e", &["things"]);
        crd["spec"]["resources"][0]["storage"] = json!({"crd": {}});
        **object = common::object(crd);
    }
    events.push(Event::Sources([Source::Manifests].into()));
    events.push(Event::Complete(Source::Manifests));
    let update = world.apply(events);
    assert!(update.snapshot.is_complete());
    assert!(find(&update.snapshot, "c", "things").state.is_ok());
    assert_eq!(update.snapshot.problems().count(), 0);
    assert_eq!(
        (update.statuses.len(), update.slices.len()),
        (0, 0),
        "nothing is written"
    );
}

/// The list is closed: whoever adds a reason adds it here, and to the tests of the whole server.
#[test]
fn every_problem_has_a_reason_of_its_own_and_a_message_that_names_the_fix() {
    let field = FieldInvalid {
        field: "spec.timeoutSeconds",
        must: "an integer from 1 to 30",
    };
    let (accepted, resolved) = (ConditionType::Accepted, ConditionType::ResourceResolved);
    let (published, valid) = (ConditionType::EndpointPublished, ConditionType::EphemeralEndpointsValid);
    let calls = ConditionType::CallsSucceeding;
    let all = [
        (Problem::FieldInvalid(field), accepted, "must be"),
        (Problem::Conflicted, accepted, "Delete"),
        (Problem::ClaimsNotAccepted, resolved, "Accept"),
        (Problem::ExportNotFound, resolved, "Create"),
        (Problem::ExportInvalid(field), resolved, "Correct"),
        (Problem::ResourceNotInExport, resolved, "Add"),
        (Problem::SchemaNotFound, resolved, "Create"),
        (Problem::SchemaOfOtherResource, resolved, "Correct"),
        (
            Problem::SchemaUnsupported(SchemaProblem::from(field)),
            resolved,
            "Publish",
        ),
        (Problem::StorageNotVirtual, published, "Set"),
        (Problem::ReferenceNotEndpointSlice, published, "must have"),
        (Problem::EndpointSliceNotFound, published, "Create"),
        (Problem::EndpointSliceOfOtherExport, published, "Refer"),
        (Problem::EndpointSliceShared, published, "Give"),
        (Problem::EndpointSliceIsDefault, published, "Create"),
        (Problem::EndpointConflict, published, "Remove"),
        (Problem::SliceRightsMissing, published, "Apply"),
        (Problem::UrlInvalid, valid, "must be"),
        (Problem::UrlRefused, valid, "Use"),
        (Problem::CaBundleInvalid, valid, "must be"),
        (Problem::CaBundleExpired, valid, "Replace"),
        (Problem::CallsFailing, calls, "Check"),
        (Problem::ClientCertificateNotRequested, calls, "Let it"),
    ];
    // Does not compile when there is a problem that is not listed above.
    let listed = |problem: &Problem| match problem {
        Problem::FieldInvalid(_)
        | Problem::Conflicted
        | Problem::ClaimsNotAccepted
        | Problem::ExportNotFound
        | Problem::ExportInvalid(_)
        | Problem::ResourceNotInExport
        | Problem::SchemaNotFound
        | Problem::SchemaOfOtherResource
        | Problem::SchemaUnsupported(_)
        | Problem::StorageNotVirtual
        | Problem::ReferenceNotEndpointSlice
        | Problem::EndpointSliceNotFound
        | Problem::EndpointSliceOfOtherExport
        | Problem::EndpointSliceShared
        | Problem::EndpointSliceIsDefault
        | Problem::EndpointConflict
        | Problem::SliceRightsMissing
        | Problem::UrlInvalid
        | Problem::UrlRefused
        | Problem::CaBundleInvalid
        | Problem::CaBundleExpired
        | Problem::CallsFailing
        | Problem::ClientCertificateNotRequested => (),
    };
    let mut reasons = std::collections::BTreeSet::new();
    for (problem, condition, fix) in &all {
        listed(problem);
        let (reason, message) = (problem.reason(), problem.message());
        assert_eq!(problem.condition(), *condition, "{reason}");
        assert!(reasons.insert(reason), "{reason} is there twice");
        // metav1.Condition: reasons are CamelCase, messages at most 32768 characters.
        assert!(reason.starts_with(|c: char| c.is_ascii_uppercase()), "{reason}");
        assert!(reason.chars().all(|c| c.is_ascii_alphanumeric()), "{reason}");
        assert!(message.contains(fix), "{reason} names no fix: {message}");
        assert!(message.ends_with('.') && message.len() < 1000, "{message}");
        // Nothing that was found out on the network: no address, no URL, no error of a library.
        assert!(!message.contains("://") && !message.contains("error"), "{message}");
    }
    let examples = Problem::examples().map(|problem| problem.reason());
    assert_eq!(reasons, examples.collect(), "the reference tells of all");
}
