//! After a batch: judges anew what was touched, and carries it over into the snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rpds::HashTrieMapSync;

use super::Index;
use super::cluster::{Cluster, Compiled};
use super::relations::Dirty;
use crate::compile::Compiler;
use crate::conditions::{Finding, Findings};
use crate::endpoint::EndpointFactory;
use crate::kinds::{GroupResource, Target};
use crate::problem::Problem;
use crate::resource::ResourceSchema;
use crate::snapshot::{ByCluster, Export, Nomination, Origin, Snapshot, Subject};

/// The nominations of one export that changed, with `None` for those that are gone.
type Changes<W> = BTreeMap<GroupResource, Option<Arc<Nomination<W>>>>;

impl<F: EndpointFactory> Index<F> {
    pub(super) fn settle(&mut self, name: &Arc<str>) {
        let Some(mut cluster) = self.clusters.remove(name) else {
            return;
        };
        self.compile(&mut cluster);
        let mut changes = BTreeMap::<Arc<str>, Changes<F::Handle>>::new();
        let Dirty {
            mut targets,
            mut origins,
            mut slices,
            ..
        } = std::mem::take(&mut cluster.dirty);
        // What was observed of a candidate alone is judged with its target.
        targets.extend(origins.iter().filter_map(|origin| cluster.target_of(origin)));
        for target in &targets {
            let nomination = self.settle_target(&mut cluster, target, &mut origins);
            slices.extend(cluster.slice_of(target));
            changes
                .entry(target.export.clone())
                .or_default()
                .insert(target.resource.clone(), nomination.map(Arc::new));
        }
        for origin in &origins {
            self.settle_loser(&mut cluster, origin);
        }
        for (export, changes) in changes {
            if self.snapshot.change_export(name, &export, changes) {
                slices.extend(cluster.slices_of_export(&export));
            }
        }
        for slice in slices {
            cluster.forget_slice_of_nobody(&slice, self.publisher.as_ref());
            self.slices.insert((name.clone(), slice));
        }
        if !cluster.is_empty() {
            self.clusters.insert(name.clone(), cluster);
        }
    }

    /// Compiles the schemas that appeared and are of nominated resources, and forgets those that are not any more.
    fn compile(&mut self, cluster: &mut Cluster<F::Handle>) {
        for name in std::mem::take(&mut cluster.dirty.schemas) {
            cluster.dirty.targets.extend(cluster.nominated_users_of_schema(&name));
            let schema = cluster.compile(&name, &mut self.compiler);
            put(&mut self.snapshot.schemas, cluster.name(), &name, schema);
        }
    }

    /// Judges a resource, if something nominates it. What counted and counts no more goes to the losers.
    fn settle_target(
        &mut self,
        cluster: &mut Cluster<F::Handle>,
        target: &Target,
        losers: &mut BTreeSet<Origin>,
    ) -> Option<Nomination<F::Handle>> {
        let winner = cluster
            .relations
            .winner(target)
            .map(|(rank, candidate)| (rank.clone(), candidate.clone()));
        let before = match &winner {
            Some((rank, _)) => cluster.winners.insert(target.clone(), rank.origin.clone()),
            None => cluster.winners.remove(target),
        };
        losers.extend(before);
        let (rank, candidate) = winner?;
        losers.remove(&rank.origin);
        let (nomination, findings) = cluster.judge(target, &rank, &candidate, &self.factory, self.publisher.as_ref());
        self.tell(cluster, &rank.origin, Some(findings));
        Some(nomination)
    }

    /// What nominates and does not count: malformed, in conflict, or gone.
    fn settle_loser(&mut self, cluster: &mut Cluster<F::Handle>, origin: &Origin) {
        // It may have been retracted from one resource and count for another.
        let target = cluster.target_of(origin);
        if target.is_some_and(|target| cluster.winners.get(&target) == Some(origin)) {
            return;
        }
        cluster.made.remove(origin);
        let problem = match origin {
            Origin::Inline(target) => cluster.nominates_inline(target).then_some(Problem::Conflicted),
            Origin::Webhook(name) => cluster.webhook(name).map(|(_, webhook)| match &webhook.target {
                Ok(_) => Problem::Conflicted,
                Err(invalid) => (*invalid).into(),
            }),
        };
        let findings = problem.map(|problem| Findings {
            accepted: Finding::Bad(problem),
            ..Findings::default()
        });
        self.tell(cluster, origin, findings);
    }

    /// Keeps what was found out, and notes that its provider is to be told.
    fn tell(&mut self, cluster: &mut Cluster<F::Handle>, origin: &Origin, findings: Option<Findings>) {
        let subject = Subject {
            cluster: cluster.name().clone(),
            origin: origin.clone(),
        };
        let problems: Arc<[Problem]> = findings.iter().flat_map(Findings::problems).cloned().collect();
        if problems.is_empty() {
            self.snapshot.problems.remove_mut(&subject);
        } else {
            self.snapshot.problems.insert_mut(subject, problems);
        }
        match findings {
            Some(findings) => cluster.findings.insert(origin.clone(), findings),
            None => cluster.findings.remove(origin),
        };
        if let Origin::Webhook(name) = origin {
            if cluster.webhook(name).is_none() {
                cluster.forget_calls(name);
            }
            self.statuses.insert((cluster.name().clone(), name.clone()));
        }
    }
}

impl<W> Cluster<W> {
    /// The schema in its compiled form, where it is one of a nominated resource.
    fn compile(&mut self, name: &Arc<str>, compiler: &mut Compiler) -> Option<Arc<ResourceSchema>> {
        let wanted = self.schema(name).map(|(_, object)| object.clone()).filter(|object| {
            object
                .spec
                .as_ref()
                .is_ok_and(|spec| self.relations.is_nominated(&spec.resource()))
        });
        let Some(object) = wanted else {
            self.compiled.remove(name);
            return None;
        };
        let known = self
            .compiled
            .get(name)
            .is_some_and(|known| Arc::ptr_eq(&known.object, &object));
        if !known {
            let schema = compiler.compile(&object).map(Arc::new);
            self.compiled.insert(name.clone(), Compiled { object, schema });
        }
        self.compiled.get(name)?.schema.clone().ok()
    }
}

impl<W> Snapshot<W> {
    /// Replaces the nominations of an export that changed; the others stay the same objects. Whether the export got
    /// its first or lost its last one.
    fn change_export(&mut self, cluster: &Arc<str>, name: &Arc<str>, mut changes: Changes<W>) -> bool {
        let before = self.find(cluster, name).cloned();
        let mut resources: Vec<_> = Vec::new();
        for old in before.iter().flat_map(|export| &export.resources) {
            let key = GroupResource {
                group: old.group.clone(),
                resource: old.resource.clone(),
            };
            resources.extend(changes.remove(&key).unwrap_or_else(|| Some(old.clone())));
        }
        resources.extend(changes.into_values().flatten());
        resources.sort_by(|a, b| (&a.group, &a.resource).cmp(&(&b.group, &b.resource)));

        self.nominations -= before.as_ref().map_or(0, |export| export.resources.len());
        self.nominations += resources.len();
        let turned = before.is_some() == resources.is_empty();
        let export = (!resources.is_empty()).then(|| {
            Arc::new(Export {
                cluster: cluster.clone(),
                name: name.clone(),
                resources: resources.into(),
            })
        });
        put(&mut self.exports, cluster, name, export);
        turned
    }
}

/// Sets or removes a value, and with the last one of a logical cluster that cluster.
fn put<T>(clusters: &mut ByCluster<T>, cluster: &Arc<str>, name: &Arc<str>, value: Option<Arc<T>>) {
    let mut values = clusters.get(cluster).cloned().unwrap_or_else(HashTrieMapSync::default);
    match value {
        Some(value) => values.insert_mut(name.clone(), value),
        None => {
            if !values.remove_mut(name) {
                return;
            }
        }
    }
    if values.is_empty() {
        clusters.remove_mut(cluster);
    } else {
        clusters.insert_mut(cluster.clone(), values);
    }
}
