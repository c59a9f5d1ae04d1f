//! The first two hops: the consumer's APIBinding, and the resource in it.

use ephemeral_kcp::{Cluster, RequestError};
use http::StatusCode;
use serde::Deserialize;

use super::report::Outcome;
use crate::cli::ResourceName;
use crate::errors::one_line;

const BINDINGS: &str = "/apis/apis.kcp.io/v1alpha2/apibindings";

/// What an APIBinding (`apis.kcp.io/v1alpha2`) says of what it is bound to.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Binding {
    metadata: Metadata,
    spec: Spec,
    status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Spec {
    reference: Reference,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Reference {
    export: Export,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Export {
    path: String,
    name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    phase: String,
    api_export_cluster_name: String,
    bound_resources: Vec<BoundResource>,
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BoundResource {
    group: String,
    resource: String,
    schema: Schema,
    storage_versions: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Schema {
    name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    message: String,
}

/// All bindings of a workspace.
pub(super) async fn read(workspace: &Cluster) -> Result<Vec<Binding>, RequestError> {
    #[derive(Deserialize)]
    struct List {
        #[serde(default)]
        items: Vec<Binding>,
    }
    Ok(workspace.get::<List>(BINDINGS).await?.items)
}

/// The binding that brings the resource, or that was likely meant to.
///
/// Which resources an export has the consumer cannot see. A binding that is not bound yet may be meant, and so may one
/// to an export that is named after the group, which is the convention, or that brings other resources of the group.
pub(super) fn choose<'a>(bindings: &'a [Binding], resource: &ResourceName) -> Option<&'a Binding> {
    let brings = |binding: &&Binding| binding.bound(resource).is_some();
    let named = |binding: &&Binding| binding.export() == resource.group || binding.brings_group(&resource.group);
    let unbound = |binding: &&Binding| !binding.is_bound();
    bindings
        .iter()
        .find(brings)
        .or_else(|| bindings.iter().find(named))
        .or_else(|| bindings.iter().find(unbound))
}

impl Binding {
    /// The name of the export.
    pub(super) fn export(&self) -> &str {
        &self.spec.reference.export.name
    }

    /// The workspace of the export: the logical cluster that kcp found, or else the path that the consumer wrote.
    pub(super) fn provider(&self) -> Option<&str> {
        let (found, written) = (&self.status.api_export_cluster_name, &self.spec.reference.export.path);
        [found, written]
            .into_iter()
            .find(|name| !name.is_empty())
            .map(String::as_str)
    }

    /// The logical cluster of the export, as kcp says it.
    pub(super) fn provider_cluster(&self) -> Option<&str> {
        Some(self.status.api_export_cluster_name.as_str()).filter(|name| !name.is_empty())
    }

    fn is_bound(&self) -> bool {
        self.status.phase == "Bound"
    }

    fn bound(&self, resource: &ResourceName) -> Option<&BoundResource> {
        let mut bound = self.status.bound_resources.iter();
        bound.find(|bound| bound.group == resource.group && bound.resource == resource.plural)
    }

    fn brings_group(&self, group: &str) -> bool {
        self.status.bound_resources.iter().any(|bound| bound.group == group)
    }

    /// The first hop.
    pub(super) fn judge(&self) -> Outcome {
        let export = &self.spec.reference.export;
        let (name, of) = (
            &self.metadata.name,
            format!("APIExport {} of {}", export.name, export.path),
        );
        let complaints = self.complaints();
        if self.is_bound() && complaints.is_empty() {
            return Outcome::good(format!("APIBinding {name} is Bound to {of}"));
        }
        let finding = if self.is_bound() {
            format!("APIBinding {name} is Bound to {of}, but {complaints}")
        } else {
            format!("APIBinding {name} to {of} is not Bound{}", prefixed(&complaints))
        };
        Outcome::broken(
            finding,
            "mend what its conditions say; without any, check that the export exists at that path and that you may bind \
             it (verb bind on apiexports), and wait some seconds",
        )
    }

    /// The second hop.
    pub(super) fn judge_resource(&self, resource: &ResourceName) -> Outcome {
        let name = &self.metadata.name;
        match self.bound(resource) {
            Some(bound) if !bound.storage_versions.is_empty() => Outcome::broken(
                format!("kcp stores {resource} itself: the binding lists storageVersions"),
                "the provider sets storage.virtual of the resource in the APIExport; the binding follows",
            ),
            Some(bound) => Outcome::good(format!("{resource} is bound with schema {}", bound.schema.name)),
            None => Outcome::broken(
                format!("APIBinding {name} does not bring {resource}"),
                format!(
                    "check the name of the resource, and that it is in spec.resources of APIExport {}; or bind the export \
                     that has it",
                    self.export()
                ),
            ),
        }
    }

    /// What its conditions complain of, but for what is said of a resource whose binding is under way.
    fn complaints(&self) -> String {
        let failed = self
            .status
            .conditions
            .iter()
            .filter(|condition| condition.status == "False");
        let words: Vec<_> = failed
            .map(|condition| format!("{}: {}", condition.kind, condition.message))
            .collect();
        words.join("; ")
    }
}

fn prefixed(complaints: &str) -> String {
    if complaints.is_empty() {
        String::new()
    } else {
        format!(": {complaints}")
    }
}

/// What to say where no binding is there at all.
pub(super) fn none(resource: &ResourceName) -> Outcome {
    Outcome::broken(
        format!("no APIBinding of this workspace brings {resource}"),
        "bind the provider's export: kubectl kcp bind apiexport <path of the provider's workspace>:<export>",
    )
}

/// What to say where the bindings could not be read.
pub(super) fn unread(error: &RequestError) -> Outcome {
    match error.code() {
        Some(StatusCode::FORBIDDEN) => Outcome::not_visible("not visible with these credentials"),
        Some(StatusCode::UNAUTHORIZED) => Outcome::broken(
            "kcp does not accept these credentials",
            "log in anew, or give the right --kubeconfig and --context",
        ),
        // Every workspace serves bindings.
        Some(StatusCode::NOT_FOUND) => Outcome::broken("there is no such workspace", "check --workspace"),
        Some(code) if code.is_server_error() => Outcome::broken(
            format!("kcp does not answer for this workspace ({code})"),
            "look whether the shard of the workspace runs",
        ),
        Some(_) => Outcome::not_visible(one_line(error)),
        None => Outcome::broken(
            one_line(error),
            "check the server and the CA in the kubeconfig, and whether kcp runs",
        ),
    }
}
