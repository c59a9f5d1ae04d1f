//! What an API serves: groups, their versions, their resources.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use ephemeral_index::{Nomination, ResourceSchema, Version};

use super::versions::by_priority;

/// Everything that one API serves.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    /// Sorted by name.
    pub(crate) groups: Vec<Group>,
}

/// One API group; it has at least one version.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) name: Arc<str>,
    /// The one that clients should prefer first.
    pub(crate) versions: Vec<GroupVersion>,
}

/// One version of a group.
#[derive(Debug)]
pub(crate) struct GroupVersion {
    pub(crate) name: Arc<str>,
    /// Sorted by plural name.
    pub(crate) resources: Vec<Resource>,
}

/// One resource in one version.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub(crate) schema: Arc<ResourceSchema>,
    pub(crate) version: Version,
}

impl Catalog {
    /// The legacy group of a workspace, as far as it is there: its version without any resource. kubectl knows the
    /// kind `List`, which manifests of several objects are, as one of each version that discovery names, and of `v1`
    /// by this one (`restmapper.NewDiscoveryRESTMapper`).
    pub(crate) fn legacy() -> Self {
        Self {
            groups: vec![Group {
                name: "".into(),
                versions: vec![GroupVersion {
                    name: "v1".into(),
                    resources: Vec::new(),
                }],
            }],
        }
    }

    /// The resources of nominations, of which the first counts where two are of the same resource.
    ///
    /// A resource is there if its schema is known, whether or not it can be answered at the moment: clients that were
    /// told that it does not exist would not even ask, and never see why.
    pub(crate) fn new<'a, W: 'a>(nominations: impl Iterator<Item = &'a Nomination<W>>) -> Self {
        let mut seen = HashSet::new();
        let mut groups: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Vec<Resource>>> = BTreeMap::new();
        for nomination in nominations {
            if !seen.insert((&*nomination.group, &*nomination.resource)) {
                continue;
            }
            let Ok(schema) = &nomination.schema else { continue };
            for version in schema.served() {
                let resources = groups.entry(Arc::clone(&nomination.group)).or_default();
                let resource = Resource {
                    schema: Arc::clone(schema),
                    version: version.clone(),
                };
                resources.entry(Arc::clone(&version.name)).or_default().push(resource);
            }
        }
        Self {
            groups: groups.into_iter().map(Group::new).collect(),
        }
    }
}

impl Group {
    fn new((name, versions): (Arc<str>, BTreeMap<Arc<str>, Vec<Resource>>)) -> Self {
        let version = |(name, mut resources): (Arc<str>, Vec<Resource>)| {
            resources.sort_by(|a, b| a.schema.names.plural.cmp(&b.schema.names.plural));
            GroupVersion { name, resources }
        };
        let mut versions: Vec<_> = versions.into_iter().map(version).collect();
        versions.sort_by(|a, b| by_priority(&a.name, &b.name));
        Self { name, versions }
    }

    /// The version that clients should prefer.
    pub(crate) fn preferred(&self) -> Option<&GroupVersion> {
        self.versions.first()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{export, resource, version};
    use super::*;

    #[test]
    fn versions_and_resources_are_in_order_and_only_what_is_served_is_there() {
        let mut unserved = version("v3", "{}");
        unserved.served = false;
        let export = export(
            "e",
            vec![
                resource(
                    "b.example",
                    "Zebra",
                    vec![version("v1", "{}"), version("v2beta1", "{}"), unserved],
                ),
                resource("b.example", "Ant", vec![version("v2beta1", "{}"), version("v2", "{}")]),
                resource("a.example", "Cow", vec![version("x", "{}")]),
            ],
        );
        let catalog = Catalog::new(export.resources.iter().map(|nomination| &**nomination));
        let mut listed = Vec::new();
        for group in &catalog.groups {
            for version in &group.versions {
                let plurals: Vec<_> = version.resources.iter().map(|r| &*r.schema.names.plural).collect();
                listed.push(format!("{}/{}: {}", group.name, version.name, plurals.join(" ")));
            }
        }
        assert_eq!(
            listed,
            [
                "a.example/x: cows",
                "b.example/v2: ants",
                "b.example/v1: zebras",
                "b.example/v2beta1: ants zebras"
            ]
        );
    }

    #[test]
    fn of_two_nominations_of_a_resource_the_first_counts() {
        let first = export("a", vec![resource("g.example", "Cow", vec![version("v1", "{}")])]);
        let second = export(
            "b",
            vec![resource(
                "g.example",
                "Cow",
                vec![version("v1", "{}"), version("v2", "{}")],
            )],
        );
        let both = first
            .resources
            .iter()
            .chain(&second.resources)
            .map(|nomination| &**nomination);
        let catalog = Catalog::new(both);
        assert_eq!(catalog.groups[0].versions.len(), 1);
        assert!(Arc::ptr_eq(
            &catalog.groups[0].versions[0].resources[0].schema,
            first.resources[0].schema.as_ref().unwrap()
        ));
    }
}
