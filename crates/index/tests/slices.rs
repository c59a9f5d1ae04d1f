//! What is to be published, withdrawn or left alone.

mod common;

use common::*;
use ephemeral_index::kinds::{Kind, ShardSelection};
use ephemeral_index::{Event, Publisher, SliceAction, SliceReading, Update};
use serde_json::{Value, json};

const OWN_URL: &str = "https://vw.example.org:6443/services/ephemeral/c/e";

fn own_entry() -> Value {
    json!([{"url": OWN_URL, "shards": {"matchAll": true}}])
}

fn kcp_entry() -> Value {
    json!({"url": "https://shard-0.example.org/services/apiexport/c/e"})
}

fn action(update: &Update<Handle>) -> Option<&SliceAction> {
    update
        .slices
        .iter()
        .find(|slice| &*slice.name == "e.ephemeral")
        .map(|slice| &slice.action)
}

/// A world with a nomination whose slice was read like this.
fn world(slice: Value) -> (World, Update<Handle>) {
    let mut world = World::complete();
    let update = world.apply(nomination(&shard("a"), "c"));
    assert_eq!(action(&update), Some(&SliceAction::Read), "nothing is known of it yet");
    let update = world.apply([slice_found(slice)]);
    (world, update)
}

#[test]
fn the_endpoint_is_published_beside_kcps_own() {
    let (mut world, update) = world(owned(slice("c", "e", &json!([kcp_entry()])), "kcp"));
    assert_eq!(action(&update), Some(&SliceAction::Publish(OWN_URL.into())));
    assert_eq!(world.condition("w", "EndpointPublished"), ("Unknown", "Pending".into()));

    let update = world.apply([slice_found(owned(slice("c", "e", &own_entry()), "kcp-ephemeral"))]);
    assert_eq!(action(&update), Some(&SliceAction::Keep));
    assert_eq!(world.condition("w", "Ready").0, "True");
    assert_eq!(update.statuses.len(), 1, "the provider is told");

    let update = world.apply([slice_found(slice("c", "e", &json!([])))]);
    assert_eq!(
        action(&update),
        Some(&SliceAction::Publish(OWN_URL.into())),
        "somebody removed it"
    );
}

#[test]
fn an_entry_of_an_earlier_external_url_is_replaced() {
    let former = json!([{"url": "https://former.example.org/x", "shards": {"matchAll": true}}]);
    let (_, update) = world(owned(slice("c", "e", &former), "kcp-ephemeral"));
    assert_eq!(action(&update), Some(&SliceAction::Publish(OWN_URL.into())));
}

#[test]
fn another_publisher_is_left_alone_unless_it_selects_the_same_shards() {
    let entry = |shards: Value| json!([{"url": "https://eu.example.org/x", "shards": shards}]);
    let eu = json!({"selector": {"matchLabels": {"region": "eu"}}});
    for (ours, theirs, expected) in [
        (ShardSelection::MatchAll, json!({"matchAll": true}), SliceAction::Keep),
        (
            ShardSelection::MatchAll,
            eu.clone(),
            SliceAction::Publish(OWN_URL.into()),
        ),
        (
            ShardSelection::Selector(serde_json::from_value(eu["selector"].clone()).unwrap()),
            eu,
            SliceAction::Keep,
        ),
    ] {
        let mut publisher = publisher();
        publisher.shards = ours;
        let mut world = World::with_publisher(Some(publisher));
        world.apply([Event::Sources([shard("a")].into()), Event::Complete(shard("a"))]);
        world.apply(nomination(&shard("a"), "c"));
        let update = world.apply([slice_found(owned(slice("c", "e", &entry(theirs)), "kcp-ephemeral-eu"))]);
        assert_eq!(action(&update), Some(&expected));
    }
}

#[test]
fn the_entry_is_withdrawn_with_the_last_nomination_and_stays_with_a_broken_one() {
    let (mut world, _) = world(owned(slice("c", "e", &own_entry()), "kcp-ephemeral"));
    let mut broken = webhook("c", "w", "things");
    broken["spec"]["url"] = json!("http://");
    world.apply([apply(&shard("a"), broken)]);
    let update = world.apply([delete(&shard("a"), Kind::APIResourceSchema, "c", "v1.things.g.io")]);
    assert_ne!(action(&update), Some(&SliceAction::Withdraw));

    let update = world.apply([delete(&shard("a"), Kind::EphemeralWebhook, "c", "w")]);
    assert_eq!(action(&update), Some(&SliceAction::Withdraw));
    // The export alone is enough to be looked at each minute.
    assert!(world.index.slices().any(|slice| slice.action == SliceAction::Withdraw));
    let update = world.apply([slice_found(slice("c", "e", &json!([])))]);
    assert_eq!(action(&update), Some(&SliceAction::Keep));
}

#[test]
fn the_entry_stays_while_the_export_of_a_nomination_cannot_be_seen() {
    let (mut world, _) = world(owned(slice("c", "e", &own_entry()), "kcp-ephemeral"));
    let withdraws = |world: &World| world.index.slices().any(|slice| slice.action == SliceAction::Withdraw);
    let update = world.apply([delete(&shard("a"), Kind::APIExport, "c", "e")]);
    assert_ne!(action(&update), Some(&SliceAction::Withdraw));
    assert!(!withdraws(&world));
    world.apply([delete(&shard("a"), Kind::EphemeralWebhook, "c", "w")]);
    assert!(withdraws(&world));
}

#[test]
fn an_entry_that_was_left_behind_while_the_server_was_down_is_withdrawn() {
    let mut world = World::complete();
    let update = world.apply([apply(&shard("a"), export("c", "e", &["things"]))]);
    assert_eq!(action(&update), Some(&SliceAction::Read));
    let update = world.apply([slice_found(owned(slice("c", "e", &own_entry()), "kcp-ephemeral"))]);
    assert_eq!(action(&update), Some(&SliceAction::Withdraw));
}

#[test]
fn a_slice_that_the_export_no_longer_refers_to_is_cleaned_and_forgotten() {
    let (mut world, _) = world(owned(slice("c", "e", &own_entry()), "kcp-ephemeral"));
    let mut elsewhere = export("c", "e", &["things"]);
    elsewhere["spec"]["resources"][0]["storage"]["virtual"]["reference"]["name"] = json!("e.second");
    let update = world.apply([apply(&shard("a"), elsewhere)]);
    assert_eq!(action(&update), Some(&SliceAction::Withdraw));
    let update = world.apply([Event::Slice {
        cluster: "c".into(),
        name: "e.ephemeral".into(),
        reading: SliceReading::Missing,
    }]);
    assert_eq!(action(&update), Some(&SliceAction::Keep));
    let names: Vec<_> = world.index.slices().map(|slice| slice.name.to_string()).collect();
    assert_eq!(names, ["e.second"]);
}

/// Two publishers see the same status and the same slice; in each case one of them writes, and stays the one.
#[test]
fn one_of_several_publishers_writes_the_status() {
    const FIRST: &str = "https://a.example.org";
    const SECOND: &str = "https://b.example.org";
    let endpoint = |base: &str| format!("{base}/services/ephemeral/c/e");
    let writes = |name: &str, base: &str, told: Option<&str>, in_slice: &[(&str, &str)], read: bool| {
        let mut world = World::with_publisher(Some(Publisher {
            name: name.into(),
            external_url: base.into(),
            shards: ShardSelection::MatchAll,
        }));
        world.apply([Event::Sources([shard("a")].into()), Event::Complete(shard("a"))]);
        world.apply(nomination(&shard("a"), "c"));
        let mut nominating = webhook("c", "w", "things");
        nominating["status"] = json!({"endpoint": told.map(endpoint)});
        world.apply([apply(&shard("a"), nominating)]);
        if read {
            let entries: Vec<_> = in_slice
                .iter()
                .map(|(_, base)| json!({"url": endpoint(base), "shards": {}}))
                .collect();
            let mut slice = slice("c", "e", &json!(entries));
            let fields: Vec<_> = in_slice
                .iter()
                .map(|(manager, base)| {
                    let key = format!("k:{{\"url\":\"{}\"}}", endpoint(base));
                    json!({"manager": manager, "fieldsV1": {"f:status": {"f:endpoints": {key: {}}}}})
                })
                .collect();
            slice["metadata"]["managedFields"] = json!(fields);
            world.apply([slice_found(slice)]);
        }
        let status = world
            .index
            .statuses()
            .find(|status| &*status.meta().name == "w")
            .unwrap();
        status.to_write(NOW, None).is_some()
    };
    let (first, second) = (("first", FIRST), ("second", SECOND));
    for (told, in_slice, expected) in [
        (None, &[][..], (true, true)),
        (Some(FIRST), &[first, second][..], (true, false)),
        (Some(SECOND), &[first, second][..], (false, true)),
        // Taken over, which leads to one of the rows where one writes.
        (Some(FIRST), &[second][..], (true, true)),
        (Some(SECOND), &[second][..], (false, true)),
        (Some(FIRST), &[][..], (true, false)),
        (Some(SECOND), &[][..], (true, true)),
    ] {
        let of = |(name, base): (&str, &str)| writes(name, base, told, in_slice, true);
        assert_eq!((of(first), of(second)), expected, "{told:?} {in_slice:?}");
    }
    assert!(
        !writes("second", SECOND, Some(FIRST), &[], false),
        "what is in the slice is not known yet"
    );
    // One that has moved replaces what it told before.
    assert!(writes("second", SECOND, Some(FIRST), &[("second", FIRST)], true));
}
