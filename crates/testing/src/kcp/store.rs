//! What one shard stores: objects under a revision that grows, and the events that a watch tells.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::failure::Failure;
use super::fields::{Manager, Operation, Owners};
use super::resource::Resource;

/// Where an object is in the store of its shard.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) group: String,
    pub(super) plural: String,
    pub(super) cluster: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

/// A write as it was asked for.
pub(super) struct Write {
    pub(super) manager: String,
    /// Empty, or `status`.
    pub(super) subresource: &'static str,
    pub(super) change: Change,
}

/// What a write does.
pub(super) enum Change {
    Create(Value),
    Update(Value),
    Merge(Value),
    Apply { config: Value, force: bool },
}

/// An object and the owners of its fields.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) object: Value,
    owners: Owners,
}

/// What happened to an object.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) revision: u64,
    /// `ADDED`, `MODIFIED` or `DELETED`.
    pub(super) kind: &'static str,
    pub(super) key: Key,
    pub(super) object: Value,
}

/// The store of one shard.
#[derive(Clone, Debug)]
pub(super) struct Store {
    revision: u64,
    /// Watches from before it get a 410.
    compacted: u64,
    objects: BTreeMap<Key, Stored>,
    events: Vec<Event>,
}

impl Store {
    /// A store whose revisions begin at some number; those of different shards have nothing to do with each other.
    pub(super) fn new(revision: u64) -> Self {
        Self {
            revision,
            compacted: revision,
            objects: BTreeMap::new(),
            events: Vec::new(),
        }
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Value> {
        self.objects.get(key).map(|stored| &stored.object)
    }

    pub(super) fn objects(&self) -> impl Iterator<Item = (&Key, &Value)> {
        self.objects.iter().map(|(key, stored)| (key, &stored.object))
    }

    /// The objects of a resource in all logical clusters.
    pub(super) fn of(&self, group: &str, plural: &str) -> impl Iterator<Item = (&Key, &Value)> {
        self.objects()
            .filter(move |(key, _)| key.group == group && key.plural == plural)
    }

    /// What happened after a revision.
    pub(super) fn since(&self, revision: u64) -> Result<&[Event], Failure> {
        if revision < self.compacted {
            return Err(Failure::expired());
        }
        let start = self.events.partition_point(|event| event.revision <= revision);
        Ok(&self.events[start..])
    }

    /// Forgets all events.
    pub(super) fn compact(&mut self) {
        self.revision += 1;
        self.compacted = self.revision;
        self.events.clear();
    }

    /// Carries out a write and returns the object as it is then.
    pub(super) fn write(&mut self, key: &Key, resource: &Resource, write: Write, uid: &str) -> Result<Value, Failure> {
        let qualified = format!("{}.{}", key.plural, key.group);
        let old = self.objects.get(key);
        if let (Change::Create(_), Some(_)) = (&write.change, old) {
            return Err(Failure::already_exists(&qualified, &key.name));
        }
        let upserts = matches!(write.change, Change::Create(_) | Change::Apply { .. }) && write.subresource.is_empty();
        if old.is_none() && !upserts {
            return Err(Failure::not_found(&qualified, &key.name));
        }
        let new = next(old, key, resource, write, uid)?;
        if old.is_some_and(|old| old.object == new.object && old.owners == new.owners) {
            return Ok(new.object);
        }
        let kind = if old.is_some() { "MODIFIED" } else { "ADDED" };
        Ok(self.put(kind, key.clone(), new))
    }

    fn put(&mut self, kind: &'static str, key: Key, mut stored: Stored) -> Value {
        self.revision += 1;
        stored.object["metadata"]["resourceVersion"] = self.revision.to_string().into();
        let object = stored.object.clone();
        self.objects.insert(key.clone(), stored);
        self.events.push(Event {
            revision: self.revision,
            kind,
            key,
            object: object.clone(),
        });
        object
    }

    /// Deletes an object at once; nothing here has finalizers.
    pub(super) fn delete(&mut self, key: &Key) -> Option<Stored> {
        let stored = self.objects.remove(key)?;
        self.revision += 1;
        let mut object = stored.object.clone();
        object["metadata"]["resourceVersion"] = self.revision.to_string().into();
        self.events.push(Event {
            revision: self.revision,
            kind: "DELETED",
            key: key.clone(),
            object,
        });
        Some(stored)
    }

    /// Takes in an object of another store as it is, but for the resource version.
    pub(super) fn take_in(&mut self, key: Key, stored: Stored) {
        self.put("ADDED", key, stored);
    }

    /// The objects of a logical cluster.
    pub(super) fn of_cluster(&self, cluster: &str) -> Vec<(Key, Stored)> {
        let objects = self.objects.iter().filter(|(key, _)| key.cluster == cluster);
        objects.map(|(key, stored)| (key.clone(), stored.clone())).collect()
    }
}

/// The object after a write.
fn next(old: Option<&Stored>, key: &Key, resource: &Resource, write: Write, uid: &str) -> Result<Stored, Failure> {
    let before = old.map_or_else(|| json!({}), |old| old.object.clone());
    let mut owners = old.map(|old| old.owners.clone()).unwrap_or_default();
    let Write {
        manager,
        subresource,
        change,
    } = write;
    let mut manager = Manager {
        name: manager,
        operation: Operation::Update,
        subresource,
    };
    let applies = matches!(change, Change::Apply { .. });
    let wanted = match change {
        Change::Create(object) | Change::Update(object) => object,
        Change::Merge(patch) => {
            let mut object = before.clone();
            merge(&mut object, &patch);
            object
        }
        Change::Apply { config, force } => {
            manager.operation = Operation::Apply;
            let mut object = before.clone();
            let config = only(config, subresource, resource);
            owners
                .apply(&mut object, &config, &manager, force)
                .map_err(Failure::conflict)?;
            object
        }
    };
    let asked = &wanted["metadata"]["resourceVersion"];
    if old.is_some() && asked.is_string() && *asked != before["metadata"]["resourceVersion"] {
        return Err(Failure::conflict(format!(
            "Operation cannot be fulfilled on {}.{} {:?}: the object has been modified; please apply your changes to the \
             latest version and try again",
            key.plural, key.group, key.name
        )));
    }
    let mut object = combine(&before, wanted, subresource, resource);
    if !applies {
        owners.update(&before, &object, &manager);
    }
    identify(&mut object, &before, key, resource, uid);
    object["metadata"]["managedFields"] = owners.managed_fields(&resource.api_version());
    Ok(Stored { object, owners })
}

/// The part of a configuration that a subresource may write.
fn only(mut config: Value, subresource: &str, resource: &Resource) -> Value {
    if let Some(fields) = config.as_object_mut() {
        match subresource {
            "status" => fields.retain(|field, _| field == "status"),
            _ if resource.has_status() => {
                fields.remove("status");
            }
            _ => {}
        }
    }
    config
}

/// Writes to the object leave its status alone, and the other way round.
fn combine(before: &Value, wanted: Value, subresource: &str, resource: &Resource) -> Value {
    let (mut object, from, field) = match subresource {
        "status" => (before.clone(), wanted, "status"),
        _ if resource.has_status() => (wanted, before.clone(), "status"),
        _ => return wanted,
    };
    match from.get(field) {
        Some(value) => object[field] = value.clone(),
        None => {
            object.as_object_mut().map(|fields| fields.remove(field));
        }
    }
    object
}

/// What the server says of an object, whatever the client sent.
fn identify(object: &mut Value, before: &Value, key: &Key, resource: &Resource, uid: &str) {
    let changed = |object: &Value| {
        let spec = |object: &Value| {
            let mut object = object.clone();
            if let Some(fields) = object.as_object_mut() {
                fields.retain(|field, _| !matches!(field.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
            }
            object
        };
        spec(object) != spec(before)
    };
    let generation = before["metadata"]["generation"].as_i64().unwrap_or_default() + i64::from(changed(object));
    object["apiVersion"] = resource.api_version().into();
    object["kind"] = resource.kind.clone().into();
    let known = &before["metadata"];
    let keep = |field: &str, new: Value| known.get(field).cloned().unwrap_or(new);
    let created = keep("creationTimestamp", now().into());
    let (uid, version) = (keep("uid", uid.into()), keep("resourceVersion", Value::Null));
    let metadata = &mut object["metadata"];
    metadata["name"] = key.name.clone().into();
    if resource.namespaced {
        metadata["namespace"] = key.namespace.clone().into();
    }
    metadata["uid"] = uid;
    metadata["generation"] = generation.max(1).into();
    metadata["creationTimestamp"] = created;
    metadata["resourceVersion"] = version;
    metadata["annotations"]["kcp.io/cluster"] = key.cluster.clone().into();
}

/// Seconds are all that Kubernetes tells; objects made in the same second are ordered by name.
fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// RFC 7386.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (field, value) in fields {
        if value.is_null() {
            target.as_object_mut().map(|target| target.remove(field));
        } else {
            merge(&mut target[field], value);
        }
    }
}
