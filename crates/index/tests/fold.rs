//! Whatever the order in which sources tell what they have, the same state follows from the same objects.

mod common;

use std::collections::BTreeMap;

use common::*;
use ephemeral_index::kinds::{Kind, Object};
use ephemeral_index::{Event, ObjectRef, Source};
use proptest::prelude::*;
use serde_json::{Value, json};

const CLUSTERS: [&str; 2] = ["c", "d"];
const RESOURCES: [&str; 2] = ["things", "others"];
const KINDS: [Kind; 3] = [Kind::APIExport, Kind::APIResourceSchema, Kind::EphemeralWebhook];

fn sources() -> [Source; 3] {
    [Source::Manifests, shard("a"), shard("b")]
}

/// One of few objects, so that they meet, in one of few states.
#[derive(Clone, Debug)]
struct Draft {
    kind: Kind,
    cluster: usize,
    name: usize,
    state: u8,
}

impl Draft {
    fn object(&self) -> Object {
        let cluster = CLUSTERS[self.cluster];
        let bit = |n: u8| self.state & (1 << n) != 0;
        let mut value = match self.kind {
            Kind::APIExport => {
                let mut export = export(cluster, ["e", "f"][self.name], &RESOURCES[..=usize::from(bit(0))]);
                let entry = &mut export["spec"]["resources"][0];
                if bit(1) {
                    entry["storage"] = json!({"ephemeral": {"url": "https://inline.example.org/"}});
                }
                if bit(2) {
                    entry["schema"] = json!("v1.others.g.io");
                }
                export
            }
            Kind::APIResourceSchema => {
                let mut schema = schema(cluster, "v1", RESOURCES[self.name]);
                if bit(0) {
                    schema["spec"]["versions"][0]["schema"] = Value::Null;
                }
                schema
            }
            _ => {
                let mut webhook = webhook(cluster, ["w", "x"][self.name], RESOURCES[usize::from(bit(0))]);
                if bit(1) {
                    webhook["spec"]["export"] = json!("f");
                }
                if bit(2) {
                    webhook["spec"]["url"] = json!("https://127.0.0.1/");
                }
                if bit(3) {
                    webhook["spec"]["timeoutSeconds"] = json!(0);
                }
                if bit(4) {
                    webhook["spec"]["group"] = Value::Null;
                }
                webhook
            }
        };
        let metadata = &mut value["metadata"];
        metadata["generation"] = json!(self.state >> 4);
        metadata["uid"] = json!(format!("{cluster}-{}-{}", self.name, bit(5)));
        if bit(6) {
            metadata["creationTimestamp"] = json!("2026-04-01T00:00:00Z");
        }
        // No two states of an object share a version, as on a real shard.
        metadata["resourceVersion"] = json!(self.state.to_string());
        object(value)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Apply(Draft),
    Delete(Draft),
    Relist(Kind, Vec<Draft>),
}

fn draft() -> impl Strategy<Value = Draft> {
    (0..KINDS.len(), 0..2usize, 0..2usize, any::<u8>()).prop_map(|(kind, cluster, name, state)| Draft {
        kind: KINDS[kind],
        cluster,
        name,
        state,
    })
}

fn step() -> impl Strategy<Value = (usize, Step)> {
    let relist = (0..KINDS.len(), prop::collection::vec(draft(), 0..4)).prop_map(|(kind, mut drafts)| {
        for draft in &mut drafts {
            draft.kind = KINDS[kind];
        }
        Step::Relist(KINDS[kind], drafts)
    });
    let step = prop_oneof![
        6 => draft().prop_map(Step::Apply),
        2 => draft().prop_map(Step::Delete),
        1 => relist,
    ];
    (0..3usize, step)
}

type Held = BTreeMap<(Source, ObjectRef), Object>;

/// The event of a step, and what the source has afterwards.
fn play(source: &Source, step: &Step, held: &mut Held) -> Event {
    match step {
        Step::Apply(draft) => {
            let object = draft.object();
            held.insert((source.clone(), ObjectRef::from(&object)), object.clone());
            Event::Apply(source.clone(), Box::new(object))
        }
        Step::Delete(draft) => {
            let object = ObjectRef::from(&draft.object());
            held.remove(&(source.clone(), object.clone()));
            Event::Delete(source.clone(), object)
        }
        Step::Relist(kind, drafts) => {
            held.retain(|(from, object), _| from != source || object.kind != *kind);
            let objects: BTreeMap<_, _> = drafts
                .iter()
                .map(Draft::object)
                .map(|object| (ObjectRef::from(&object), object))
                .collect();
            held.extend(
                objects
                    .clone()
                    .into_iter()
                    .map(|(key, object)| ((source.clone(), key), object)),
            );
            Event::Reset {
                source: source.clone(),
                kind: *kind,
                objects: objects.into_values().collect(),
            }
        }
    }
}

fn all_read() -> Vec<Event> {
    let complete = sources().map(Event::Complete);
    [Event::Sources(sources().into())].into_iter().chain(complete).collect()
}

/// Everything that the outside can see: the snapshot, every status, every slice.
fn state(world: &mut World) -> String {
    let snapshot = world.snapshot();
    let mut statuses: Vec<_> = world
        .index
        .statuses()
        .map(|status| format!("{:?} {:?}", status.meta(), status.to_write(NOW, None)))
        .collect();
    let mut slices: Vec<_> = world.index.slices().map(|slice| format!("{slice:?}")).collect();
    statuses.sort();
    slices.sort();
    format!("{}{}\n{}", render(&snapshot), statuses.join("\n"), slices.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_fold_of_changes_is_a_fold_of_what_is_left(
        steps in prop::collection::vec(step(), 0..40),
        batch in 1..6usize,
    ) {
        let mut held = Held::new();
        let events: Vec<_> = steps.iter().map(|(source, step)| play(&sources()[*source], step, &mut held)).collect();

        let mut changing = World::new();
        changing.apply(all_read());
        for events in events.chunks(batch) {
            changing.apply(events.to_vec());
        }

        let mut fresh = World::new();
        fresh.apply(held.into_iter().rev().map(|((source, _), object)| Event::Apply(source, Box::new(object))));
        fresh.apply(all_read());

        prop_assert_eq!(state(&mut changing), state(&mut fresh));
    }

    #[test]
    fn how_sources_interleave_does_not_matter(
        mut steps in prop::collection::vec(step(), 0..40),
    ) {
        let run = |steps: &[(usize, Step)]| {
            let mut world = World::new();
            world.apply(all_read());
            for (source, step) in steps {
                world.apply([play(&sources()[*source], step, &mut Held::new())]);
            }
            state(&mut world)
        };
        let interleaved = run(&steps);
        // Stable: each source's own order stays.
        steps.sort_by_key(|(source, _)| *source);
        prop_assert_eq!(interleaved, run(&steps));
    }
}
