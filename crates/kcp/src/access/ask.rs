//! The two questions, as kcp is asked them.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use serde::Deserialize;

use super::question::Question;
use crate::base::{Base, RequestError};
use crate::request::value;

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
const BINDINGS: &str = "/apis/apis.kcp.io/v1alpha2/apibindings";
/// Bindings in one answer; a workspace has a few dozen.
const PAGE: usize = 100;

/// Whoever knows the answers: kcp.
pub(super) trait Ask: Send + Sync + 'static {
    /// Whether the caller may.
    fn may<'a>(&'a self, question: &'a Question<'_>) -> BoxFuture<'a, Result<bool, RequestError>>;

    /// The name of the APIResourceSchema with which the resource of the export is bound in the logical cluster.
    fn bound_schema<'a>(&'a self, question: &'a Question<'_>) -> BoxFuture<'a, Result<Option<Arc<str>>, RequestError>>;
}

impl Ask for Base {
    fn may<'a>(&'a self, question: &'a Question<'_>) -> BoxFuture<'a, Result<bool, RequestError>> {
        async move {
            let cluster = self.cluster(question.cluster);
            let review: SubjectAccessReview = cluster.post(REVIEWS, &review(question)).await?;
            // `denied` and `allowed` exclude each other; who says both says no.
            Ok(review
                .status
                .is_some_and(|status| status.allowed && status.denied != Some(true)))
        }
        .boxed()
    }

    fn bound_schema<'a>(&'a self, question: &'a Question<'_>) -> BoxFuture<'a, Result<Option<Arc<str>>, RequestError>> {
        async move {
            let cluster = self.cluster(question.cluster);
            let mut path = format!("{BINDINGS}?limit={PAGE}");
            loop {
                let page: Bindings = cluster.get(&path).await?;
                if let Some(schema) = page.items.iter().find_map(|binding| binding.schema(question)) {
                    return Ok(Some(schema.into()));
                }
                match page.metadata.next {
                    Some(next) if !next.is_empty() => {
                        path = format!("{BINDINGS}?limit={PAGE}&continue={}", value(&next));
                    }
                    _ => return Ok(None),
                }
            }
        }
        .boxed()
    }
}

fn review(question: &Question<'_>) -> SubjectAccessReview {
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: some(question.user),
            uid: some(question.uid),
            groups: Some(question.groups.iter().map(|&group| group.to_owned()).collect()),
            extra: Some(question.extra.clone()),
            resource_attributes: Some(ResourceAttributes {
                verb: some(question.verb),
                group: some(question.group),
                version: some(question.version),
                resource: some(question.resource),
                namespace: question.namespace.and_then(some),
                name: question.name.and_then(some),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    }
}

#[derive(Deserialize)]
struct Bindings {
    #[serde(default)]
    metadata: ListMeta,
    #[serde(default)]
    items: Vec<Binding>,
}

#[derive(Default, Deserialize)]
struct ListMeta {
    #[serde(rename = "continue")]
    next: Option<String>,
}

/// What an APIBinding (`apis.kcp.io/v1alpha2`) says of what it is bound to.
#[derive(Deserialize)]
struct Binding {
    #[serde(default)]
    spec: BindingSpec,
    #[serde(default)]
    status: BindingStatus,
}

#[derive(Default, Deserialize)]
struct BindingSpec {
    #[serde(default)]
    reference: BindingReference,
}

#[derive(Default, Deserialize)]
struct BindingReference {
    export: Option<ExportReference>,
}

#[derive(Deserialize)]
struct ExportReference {
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BindingStatus {
    #[serde(default)]
    phase: String,
    #[serde(default)]
    api_export_cluster_name: String,
    #[serde(default)]
    bound_resources: Vec<BoundResource>,
}

#[derive(Deserialize)]
struct BoundResource {
    #[serde(default)]
    group: String,
    resource: String,
    schema: BoundSchema,
}

#[derive(Deserialize)]
struct BoundSchema {
    name: String,
}

impl Binding {
    /// The schema with which the resource is bound, if this binding is bound to the export in question. Where the
    /// export is, kcp says in the status; the path in the spec is the consumer's text.
    fn schema(&self, question: &Question<'_>) -> Option<&str> {
        let export = self.spec.reference.export.as_ref()?;
        let to_export = self.status.phase == "Bound"
            && self.status.api_export_cluster_name == question.provider
            && export.name == question.export;
        let mut bound = self.status.bound_resources.iter().filter(|_| to_export);
        let bound = bound.find(|bound| bound.group == question.group && bound.resource == question.resource)?;
        (!bound.schema.name.is_empty()).then_some(&bound.schema.name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn question(extra: &BTreeMap<String, Vec<String>>) -> Question<'_> {
        Question {
            user: "ada",
            uid: "",
            groups: vec!["a,b", "system:authenticated"],
            extra,
            cluster: "consumer",
            verb: "create",
            group: "s3.example.com",
            version: "v1alpha1",
            resource: "bucketinfos",
            namespace: Some("default"),
            name: None,
            provider: "2k3",
            export: "s3.example.com",
        }
    }

    #[test]
    fn a_review_says_all_that_is_known_of_the_caller() {
        let scopes = "authentication.kcp.io/scopes".to_owned();
        let extra = BTreeMap::from([(scopes, vec!["cluster:a,cluster:b".to_owned(), "cluster:c".to_owned()])]);
        assert_eq!(
            serde_json::to_value(review(&question(&extra))).unwrap(),
            json!({
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "metadata": {},
                "spec": {
                    "user": "ada",
                    "groups": ["a,b", "system:authenticated"],
                    "extra": {"authentication.kcp.io/scopes": ["cluster:a,cluster:b", "cluster:c"]},
                    "resourceAttributes": {
                        "verb": "create", "group": "s3.example.com", "version": "v1alpha1", "resource": "bucketinfos",
                        "namespace": "default",
                    },
                },
            })
        );
    }

    /// A field that is not looked at may nest deeper than `serde_json` decodes.
    #[test]
    fn a_binding_is_read_however_deep_the_rest_of_it_is() {
        let deep = format!("{}1{}", r#"{"a":"#.repeat(9_000), "}".repeat(9_000));
        let list = format!(
            r#"{{"items": [{{
                "metadata": {{"managedFields": [{{"fieldsV1": {deep}}}]}},
                "spec": {{"reference": {{"export": {{"name": "s3.example.com"}}}}, "more": {deep}}},
                "status": {{"phase": "Bound", "apiExportClusterName": "2k3", "boundResources": [
                    {{"group": "s3.example.com", "resource": "bucketinfos", "schema": {{"name": "v1", "more": {deep}}}}}
                ]}}
            }}]}}"#
        );
        let list: Bindings = serde_json::from_str(&list).unwrap();
        assert_eq!(list.items[0].schema(&question(&BTreeMap::new())), Some("v1"));
    }

    #[test]
    fn a_binding_counts_where_kcp_says_that_it_is_bound_to_this_very_export() {
        let bound = json!({
            "metadata": {"name": "b"},
            "spec": {"reference": {"export": {"path": "root:provider", "name": "s3.example.com"}}},
            "status": {
                "phase": "Bound",
                "apiExportClusterName": "2k3",
                "boundResources": [
                    {"group": "s3.example.com", "resource": "others", "schema": {"name": "v1.others.s3.example.com"}},
                    {"group": "s3.example.com", "resource": "bucketinfos", "schema": {"name": "v1.bucketinfos.s3.example.com", "UID": "u"}},
                ],
            },
        });
        let nothing = BTreeMap::new();
        let schema = |binding: &serde_json::Value| {
            let binding: Binding = serde_json::from_value(binding.clone()).unwrap();
            binding.schema(&question(&nothing)).map(str::to_owned)
        };
        assert_eq!(schema(&bound).as_deref(), Some("v1.bucketinfos.s3.example.com"));
        for (pointer, value) in [
            ("/status/phase", json!("Binding")),
            ("/status/phase", json!("")),
            ("/status/apiExportClusterName", json!("3xx")),
            ("/status/apiExportClusterName", json!("")),
            ("/spec/reference/export/name", json!("s3.example.org")),
            ("/spec/reference/export", json!(null)),
            ("/status/boundResources/1/group", json!("other.example.com")),
            ("/status/boundResources/1/schema/name", json!("")),
            ("/status/boundResources", json!([])),
        ] {
            let mut other = bound.clone();
            *other.pointer_mut(pointer).unwrap() = value;
            assert_eq!(schema(&other), None, "{pointer}");
        }
        assert_eq!(schema(&json!({"metadata": {"name": "new"}})), None);
    }
}
