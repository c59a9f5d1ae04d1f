//! A change costs what it changes: counted in compilations, handles and replaced objects, never in time.

mod common;

use std::sync::Arc;

use common::*;
use ephemeral_index::kinds::Kind;
use ephemeral_index::{Event, Snapshot};
use serde_json::json;

/// How many exports are not the same objects as before.
fn replaced(before: &Snapshot<Handle>, after: &Snapshot<Handle>) -> usize {
    after
        .exports()
        .filter(|export| {
            before
                .find(&export.cluster, &export.name)
                .is_none_or(|old| !Arc::ptr_eq(old, export))
        })
        .count()
}

fn two_nominations(cluster: &str) -> Vec<Event> {
    let a = shard("a");
    let mut events = nomination(&a, cluster);
    events[1] = apply(&a, export(cluster, "e", &["things", "others"]));
    events.push(apply(&a, schema(cluster, "v1", "others")));
    events.push(apply(&a, webhook(cluster, "other", "others")));
    events
}

#[test]
fn ten_thousand_nominations() {
    let mut world = World::complete();
    for n in 0..5000 {
        world.apply(two_nominations(&format!("c{n}")));
    }
    let before = world.snapshot();
    assert_eq!((before.len(), before.exports().count()), (10_000, 5_000));
    assert!(
        before
            .exports()
            .all(|export| export.resources.iter().all(|n| n.state.is_ok()))
    );
    assert_eq!(world.factory.made.get(), 10_000);
    assert_eq!(world.index.compilations(), 2, "equal schemas are shared");

    let mut changed = webhook("c7", "w", "things");
    changed["spec"]["url"] = json!("https://elsewhere.example.org/");
    let update = world.apply([apply(&shard("a"), changed)]);
    assert_eq!(world.factory.made.get(), 10_001);
    assert_eq!(world.index.compilations(), 2);
    assert_eq!(replaced(&before, &update.snapshot), 1);
    assert_eq!(update.statuses.len(), 1);

    let before = update.snapshot;
    let update = world.apply([delete(&shard("a"), Kind::APIExport, "c8", "e")]);
    assert_eq!(world.factory.made.get(), 10_001);
    assert_eq!(replaced(&before, &update.snapshot), 1);
    assert_eq!(update.snapshot.len(), 10_000, "broken, but known");
}

#[test]
fn what_a_handle_is_not_made_of_keeps_it() {
    let mut world = World::complete();
    world.apply(nomination(&shard("a"), "c"));
    let mut changed = webhook("c", "w", "things");
    let mut made = 1;
    for (field, value, makes) in [
        ("timeoutSeconds", json!(3), false),
        ("failurePolicy", json!("Ignore"), false),
        ("specOwnership", json!("User"), false),
        ("reviewVersions", json!(["ephemeral.contrib.kcp.io/v1alpha1"]), false),
        ("maxInFlight", json!(7), true),
        ("caBundle", json!("LS0t"), true),
        ("url", json!("https://elsewhere.example.org/"), true),
    ] {
        changed["spec"][field] = value;
        world.apply([apply(&shard("a"), changed.clone())]);
        made += usize::from(makes);
        assert_eq!(world.factory.made.get(), made, "{field}");
    }
    // The same text in another object is another webhook.
    changed["metadata"]["uid"] = json!("another");
    world.apply([apply(&shard("a"), changed.clone())]);
    assert_eq!(world.factory.made.get(), made + 1);
    // Its status, and labels that nobody reads here.
    changed["metadata"]["resourceVersion"] = json!("2");
    changed["status"] = json!({"observedGeneration": 1});
    world.apply([apply(&shard("a"), changed)]);
    assert_eq!(world.factory.made.get(), made + 1);
}

#[test]
fn an_export_change_touches_the_resources_that_changed() {
    let mut world = World::complete();
    let names: Vec<_> = (0..100).map(|n| format!("r{n}")).collect();
    let resources: Vec<_> = names.iter().map(String::as_str).collect();
    let a = shard("a");
    world.apply([apply(&a, export("c", "e", &resources))]);
    for name in &names {
        world.apply([apply(&a, webhook("c", name, name)), apply(&a, schema("c", "v1", name))]);
    }
    let before = world.snapshot();
    assert_eq!(world.index.compilations(), 100);
    let mut changed = export("c", "e", &resources);
    changed["spec"]["resources"][42]["schema"] = json!("v2.r42.g.io");
    world.apply([apply(&a, schema("c", "v2", "r42"))]);
    let after = world.apply([apply(&a, changed)]).snapshot;
    let (before, after) = (before.find("c", "e").unwrap(), after.find("c", "e").unwrap());
    let changed: Vec<_> = after
        .resources
        .iter()
        .zip(&before.resources)
        .filter(|(after, before)| !Arc::ptr_eq(after, before))
        .map(|(after, _)| &*after.resource)
        .collect();
    assert_eq!(changed, ["r42"]);
    assert_eq!(world.index.compilations(), 101);
    assert_eq!(world.factory.made.get(), 100);
}

#[test]
fn an_unchanged_relist_changes_nothing() {
    let mut world = World::complete();
    for n in 0..20 {
        world.apply(two_nominations(&format!("c{n}")));
    }
    let before = world.snapshot();
    let webhooks = (0..20).flat_map(|n| {
        let cluster = format!("c{n}");
        [webhook(&cluster, "w", "things"), webhook(&cluster, "other", "others")]
    });
    let schemas = (0..20).flat_map(|n| {
        let cluster = format!("c{n}");
        [schema(&cluster, "v1", "things"), schema(&cluster, "v1", "others")]
    });
    let update = world.apply([
        Event::Reset {
            source: shard("a"),
            kind: Kind::EphemeralWebhook,
            objects: webhooks.map(object).collect(),
        },
        Event::Reset {
            source: shard("a"),
            kind: Kind::APIResourceSchema,
            objects: schemas.map(object).collect(),
        },
    ]);
    assert_eq!(replaced(&before, &update.snapshot), 0);
    assert_eq!((update.statuses.len(), update.slices.len()), (0, 0));
    assert_eq!((world.factory.made.get(), world.index.compilations()), (40, 2));
}

#[test]
fn only_schemas_of_nominated_resources_are_compiled() {
    let mut world = World::complete();
    let a = shard("a");
    for n in 0..50 {
        world.apply([apply(&a, schema("c", &format!("v{n}"), "unrelated"))]);
    }
    world.apply(nomination(&a, "c"));
    assert_eq!(world.index.compilations(), 1);
    assert!(world.snapshot().schema("c", "v1.unrelated.g.io").is_none());
}

/// A provider rolls out a schema: consumers that are bound to the former one still see it.
#[test]
fn a_schema_that_the_export_no_longer_names_is_kept() {
    let mut world = World::complete();
    let a = shard("a");
    world.apply(nomination(&a, "c"));
    let mut rolled_out = export("c", "e", &["things"]);
    rolled_out["spec"]["resources"][0]["schema"] = json!("v2.things.g.io");
    let snapshot = world
        .apply([apply(&a, schema("c", "v2", "things")), apply(&a, rolled_out)])
        .snapshot;
    assert_eq!(
        &*find(&snapshot, "c", "things").schema.as_ref().unwrap().name,
        "v2.things.g.io"
    );
    assert!(snapshot.schema("c", "v1.things.g.io").is_some());
    assert_eq!((world.factory.made.get(), world.index.compilations()), (1, 2));

    let snapshot = world
        .apply([delete(&a, Kind::APIResourceSchema, "c", "v1.things.g.io")])
        .snapshot;
    assert!(snapshot.schema("c", "v1.things.g.io").is_none());
}

/// Whoever floods a workspace of its own with nominations of one resource costs itself a rank, not a judgement each.
#[test]
fn a_thousand_conflicting_nominations_make_one_handle() {
    let mut world = World::complete();
    let a = shard("a");
    world.apply(nomination(&a, "c"));
    for n in 0..1000 {
        let update = world.apply([apply(&a, webhook("c", &format!("x{n}"), "things"))]);
        assert!(update.statuses.len() <= 2, "the new one, and the one that counts");
    }
    assert_eq!(world.factory.made.get(), 1);
    assert_eq!(world.snapshot().problems().count(), 1000);
    let update = world.apply([delete(&a, Kind::EphemeralWebhook, "c", "w")]);
    assert_eq!(&*find(&update.snapshot, "c", "things").webhook_name, "x0");
    assert_eq!(world.factory.made.get(), 2);
}
