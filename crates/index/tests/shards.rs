//! Logical clusters keep apart, move, and stay while shards are away.

mod common;

use common::*;
use ephemeral_index::kinds::Kind;
use ephemeral_index::{Event, Source};
use serde_json::json;

fn reset(source: &Source, kind: Kind, objects: Vec<serde_json::Value>) -> Event {
    Event::Reset {
        source: source.clone(),
        kind,
        objects: objects.into_iter().map(object).collect(),
    }
}

#[test]
fn equal_names_in_many_logical_clusters_never_meet() {
    let mut world = World::complete();
    let clusters: Vec<_> = (0..50).map(|n| format!("c{n}")).collect();
    for (n, cluster) in clusters.iter().enumerate() {
        // On different shards, with webhooks of their own.
        let shard = shard(["a", "b", "c"][n % 3]);
        let mut webhook = webhook(cluster, "w", "things");
        webhook["spec"]["url"] = json!(format!("https://{cluster}.example.org/"));
        world.apply([
            apply(&shard, schema(cluster, "v1", "things")),
            apply(&shard, export(cluster, "e", &["things"])),
            apply(&shard, webhook),
        ]);
    }
    world.apply([delete(&shard("b"), Kind::EphemeralWebhook, "c1", "w")]);
    let snapshot = world.snapshot();
    assert_eq!(snapshot.len(), 49);
    assert!(snapshot.find("c1", "e").is_none());
    for cluster in clusters.iter().filter(|cluster| *cluster != "c1") {
        let usable = find(&snapshot, cluster, "things").state.as_ref().unwrap();
        assert_eq!(usable.handle.url, format!("https://{cluster}.example.org/"));
        assert_eq!(&*snapshot.schema(cluster, "v1.things.g.io").unwrap().cluster, *cluster);
    }
}

/// A delete in one logical cluster names an object of another one that the shard has as well.
#[test]
fn a_delete_by_a_source_that_does_not_have_the_object_does_nothing() {
    let mut world = World::complete();
    world.apply(nomination(&shard("a"), "c"));
    let snapshot = world
        .apply([delete(&shard("b"), Kind::EphemeralWebhook, "c", "w")])
        .snapshot;
    assert_eq!(snapshot.len(), 1);
}

#[test]
fn a_logical_cluster_moves_without_a_gap() {
    let mut world = World::complete();
    let (a, b) = (shard("a"), shard("b"));
    world.apply(nomination(&a, "c"));
    let before = find(&world.snapshot(), "c", "things")
        .state
        .as_ref()
        .unwrap()
        .handle
        .number;
    for event in nomination(&b, "c") {
        assert_eq!(world.apply([event]).snapshot.len(), 1);
    }
    for (kind, name) in [
        (Kind::EphemeralWebhook, "w"),
        (Kind::APIExport, "e"),
        (Kind::APIResourceSchema, "v1.things.g.io"),
    ] {
        let snapshot = world.apply([delete(&a, kind, "c", name)]).snapshot;
        let usable = find(&snapshot, "c", "things").state.as_ref().unwrap();
        assert_eq!(usable.handle.number, before, "the same object keeps its handle");
    }
    assert_eq!(world.index.compilations(), 1);

    let mut later = webhook("c", "w", "things");
    later["metadata"]["generation"] = json!(2);
    later["spec"]["url"] = json!("https://later.example.org/");
    world.apply([apply(&b, later)]);
    // Shard a is late with what it still believes.
    world.apply([apply(&a, webhook("c", "w", "things"))]);
    let snapshot = world.snapshot();
    let usable = find(&snapshot, "c", "things").state.as_ref().unwrap();
    assert_eq!(usable.handle.url, "https://later.example.org/");
}

#[test]
fn a_shard_that_is_away_keeps_its_nominations() {
    let mut world = World::new();
    let (a, b) = (shard("a"), shard("b"));
    world.apply([
        Event::Sources([a.clone(), b.clone()].into()),
        Event::Complete(a.clone()),
    ]);
    world.apply(nomination(&a, "c"));
    world.apply(nomination(&b, "d"));
    assert!(!world.snapshot().is_complete());
    assert_eq!(world.index.awaited().collect::<Vec<_>>(), [&b]);
    let update = world.apply([Event::Away(b.clone())]);
    assert!(update.snapshot.is_complete(), "a dead shard does not hold up the rest");
    assert!(!update.snapshot.is_whole(), "and nobody knows what else it has");
    assert_eq!(update.snapshot.len(), 2);

    let update = world.apply([Event::Complete(b.clone())]);
    assert!(update.snapshot.is_whole());
    world.apply([Event::Away(a.clone())]);
    let snapshot = world.snapshot();
    assert!(snapshot.is_complete(), "once complete, always complete");
    assert!(snapshot.is_whole(), "it was read");
    assert_eq!(snapshot.len(), 2);

    // What was deleted meanwhile is missing from the first list after the return.
    let snapshot = world
        .apply([
            reset(&b, Kind::EphemeralWebhook, vec![]),
            reset(&b, Kind::APIExport, vec![export("d", "e", &["things"])]),
        ])
        .snapshot;
    assert_eq!(snapshot.len(), 1);
    assert!(snapshot.find("d", "e").is_none());

    let snapshot = world.apply([Event::Removed(a)]).snapshot;
    assert_eq!(snapshot.len(), 0);
}

/// The copy that a dead shard holds must not come to life again.
#[test]
fn what_moved_off_a_dead_shard_can_be_deleted() {
    for away_first in [true, false] {
        let mut world = World::complete();
        let (a, b) = (shard("a"), shard("b"));
        world.apply(nomination(&a, "c"));
        if away_first {
            world.apply([Event::Away(a.clone())]);
            world.apply(nomination(&b, "c"));
        } else {
            world.apply(nomination(&b, "c"));
            world.apply([Event::Away(a)]);
        }
        assert_eq!(world.snapshot().len(), 1);
        let snapshot = world.apply([delete(&b, Kind::EphemeralWebhook, "c", "w")]).snapshot;
        assert_eq!(snapshot.len(), 0, "away first: {away_first}");
    }
}

#[test]
fn what_was_made_anew_elsewhere_counts_over_a_stale_copy() {
    let mut world = World::complete();
    let (a, b) = (shard("a"), shard("b"));
    world.apply(nomination(&a, "c"));
    world.apply([Event::Away(a)]);
    let mut anew = webhook("c", "w", "things");
    anew["metadata"]["uid"] = json!("another");
    anew["metadata"]["creationTimestamp"] = json!("2026-03-01T00:00:00Z");
    anew["spec"]["url"] = json!("https://anew.example.org/");
    let snapshot = world.apply([apply(&b, anew)]).snapshot;
    assert_eq!(snapshot.len(), 1);
    assert_eq!(
        find(&snapshot, "c", "things").state.as_ref().unwrap().handle.url,
        "https://anew.example.org/"
    );
}

#[test]
fn a_relist_removes_what_it_lacks_of_its_kind_and_source() {
    let mut world = World::complete();
    let (a, b) = (shard("a"), shard("b"));
    world.apply(nomination(&a, "c"));
    world.apply(nomination(&a, "d"));
    world.apply(nomination(&b, "x"));
    let snapshot = world
        .apply([reset(&a, Kind::EphemeralWebhook, vec![webhook("d", "w", "things")])])
        .snapshot;
    assert_eq!(snapshot.len(), 2);
    assert!(snapshot.find("c", "e").is_none());
    assert!(
        snapshot.schema("c", "v1.things.g.io").is_none(),
        "of no nominated resource"
    );
    // The export was not relisted and is still there.
    let snapshot = world.apply([apply(&a, webhook("c", "w", "things"))]).snapshot;
    assert!(find(&snapshot, "c", "things").state.is_ok());
}

/// A server that starts must not take what it has not read yet for missing, and write so.
#[test]
fn nothing_is_told_before_the_first_read_is_complete() {
    let mut world = World::new();
    let a = shard("a");
    let update = world.apply([
        Event::Sources([a.clone()].into()),
        apply(&a, webhook("c", "w", "things")),
    ]);
    assert_eq!((update.statuses.len(), update.slices.len()), (0, 0));
    assert_eq!(world.index.statuses().count(), 0);
    world.apply([
        apply(&a, export("c", "e", &["things"])),
        apply(&a, schema("c", "v1", "things")),
    ]);
    let update = world.apply([Event::Complete(a)]);
    assert_eq!((update.statuses.len(), update.slices.len()), (1, 1));
    let status = update.statuses[0].to_write(NOW, None).unwrap();
    assert!(status.conditions.iter().all(|c| &*c.reason != "ExportNotFound"));
}

#[test]
fn without_sources_nothing_is_ever_complete() {
    let mut world = World::new();
    world.apply([Event::Complete(shard("a"))]);
    assert!(!world.snapshot().is_complete());
    world.apply([Event::Sources([].into())]);
    assert!(
        world.snapshot().is_complete(),
        "no shard has a workspace that binds the export yet"
    );
}
