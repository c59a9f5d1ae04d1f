//! Manifests of resources whose webhook is the test's own.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ephemeral_testing::pki::Authority;
use ephemeral_testing::webhook::{Recorded, Reply, Webhook};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A webhook on loopback and a directory of manifests that nominate it.
pub struct Provider {
    /// The webhook.
    pub webhook: Webhook,
    authority: Authority,
    directory: TempDir,
}

/// One version of a resource, as a `CustomResourceDefinition` would have it.
#[derive(Clone, Debug)]
pub struct Resource {
    /// API group.
    pub group: String,
    /// The version.
    pub version: String,
    /// `Namespaced` or `Cluster`.
    pub scope: String,
    /// `kind`, `plural` and so on.
    pub names: Value,
    /// `openAPIV3Schema`.
    pub schema: Value,
    /// `subresources`.
    pub subresources: Value,
    /// `additionalPrinterColumns`.
    pub printer_columns: Value,
    /// Further fields of the version.
    pub further: Value,
}

impl Provider {
    /// A provider whose webhook echoes.
    pub async fn echoing() -> Self {
        Self::answering(Reply::echo).await
    }

    /// A provider whose webhook answers as told.
    pub async fn answering(answer: impl Fn(&Recorded) -> Reply + Send + Sync + 'static) -> Self {
        let authority = Authority::new("provider");
        let webhook = Webhook::builder(authority.server(&["localhost"])).start(answer).await;
        Self {
            webhook,
            authority,
            directory: tempfile::tempdir().expect("a temporary directory"),
        }
    }

    /// The directory of manifests.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// `caBundle` of the webhook.
    pub fn ca_bundle(&self) -> String {
        BASE64_STANDARD.encode(self.authority.cert_pem())
    }

    /// Nominates the webhook for a resource of the export `<group>` in the logical cluster `cluster`.
    pub fn nominate(&self, cluster: &str, resource: &Resource) {
        self.nominate_with(cluster, resource, &json!({}));
    }

    /// The same with further or other fields of the nomination's spec.
    pub fn nominate_with(&self, cluster: &str, resource: &Resource, spec: &Value) {
        let mut manifests = resource.manifests(cluster);
        manifests.push(self.nomination(cluster, &resource.group, resource, spec));
        let file = format!("{cluster}-{}.json", resource.full_name());
        write(&self.directory().join(file), &manifests);
    }

    /// Nominates the webhook for all resources of one export.
    pub fn nominate_export(&self, cluster: &str, export: &str, resources: &[Resource]) {
        let mut manifests: Vec<_> = resources
            .iter()
            .map(|resource| resource.schema_manifest(cluster))
            .collect();
        manifests.push(export_manifest(cluster, export, resources));
        let nominations = resources
            .iter()
            .map(|resource| self.nomination(cluster, export, resource, &json!({})));
        manifests.extend(nominations);
        write(&self.directory().join(format!("{cluster}-{export}.json")), &manifests);
    }

    fn nomination(&self, cluster: &str, export: &str, resource: &Resource, spec: &Value) -> Value {
        let mut webhook = json!({
            "apiVersion": "ephemeral.contrib.kcp.io/v1alpha1",
            "kind": "EphemeralWebhook",
            "metadata": {
                "name": resource.full_name(),
                "annotations": {"kcp.io/cluster": cluster},
            },
            "spec": {
                "export": export,
                "group": resource.group,
                "resource": resource.plural(),
                "url": self.webhook.url("/"),
                "caBundle": self.ca_bundle(),
            },
        });
        for (key, value) in spec.as_object().into_iter().flatten() {
            webhook["spec"][key] = value.clone();
        }
        webhook
    }
}

impl Resource {
    /// Plural name.
    pub fn plural(&self) -> &str {
        self.names["plural"].as_str().expect("a plural")
    }

    /// The schema and the export.
    pub fn manifests(&self, cluster: &str) -> Vec<Value> {
        vec![
            self.schema_manifest(cluster),
            export_manifest(cluster, &self.group, std::slice::from_ref(self)),
        ]
    }

    /// `<plural>.<group>`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.plural(), self.group)
    }

    fn schema_name(&self) -> String {
        format!("{}.{}.{}", self.version, self.plural(), self.group)
    }

    fn schema_manifest(&self, cluster: &str) -> Value {
        let mut version = json!({"name": self.version, "served": true, "storage": true, "schema": self.schema});
        if !self.subresources.is_null() {
            version["subresources"] = self.subresources.clone();
        }
        if !self.printer_columns.is_null() {
            version["additionalPrinterColumns"] = self.printer_columns.clone();
        }
        for (key, value) in self.further.as_object().into_iter().flatten() {
            version[key] = value.clone();
        }
        json!({
            "apiVersion": "apis.kcp.io/v1alpha1",
            "kind": "APIResourceSchema",
            "metadata": {"name": self.schema_name(), "annotations": {"kcp.io/cluster": cluster}},
            "spec": {"group": self.group, "scope": self.scope, "names": self.names, "versions": [version]},
        })
    }

    /// A namespaced resource `samples` in `cases.example.org/v1`, kind `Sample`.
    pub fn sample(schema: Value) -> Self {
        Self {
            group: "cases.example.org".into(),
            version: "v1".into(),
            scope: "Namespaced".into(),
            names: json!({"kind": "Sample", "listKind": "SampleList", "plural": "samples", "singular": "sample"}),
            schema,
            subresources: Value::Null,
            printer_columns: Value::Null,
            further: Value::Null,
        }
    }
}

fn export_manifest(cluster: &str, export: &str, resources: &[Resource]) -> Value {
    let entry = |resource: &Resource| {
        json!({
            "name": resource.plural(), "group": resource.group, "schema": resource.schema_name(),
            "storage": {"virtual": {"identityHash": "x", "reference": {
                "apiGroup": "apis.kcp.io", "kind": "APIExportEndpointSlice", "name": "ephemeral",
            }}},
        })
    };
    json!({
        "apiVersion": "apis.kcp.io/v1alpha2",
        "kind": "APIExport",
        "metadata": {"name": export, "annotations": {"kcp.io/cluster": cluster}},
        "spec": {"resources": resources.iter().map(entry).collect::<Vec<_>>()},
    })
}

/// Writes manifests to one file, at once for whoever reads meanwhile.
pub fn write(file: &Path, manifests: &[Value]) {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": manifests});
    let partial = file.with_extension("partial");
    fs::write(&partial, list.to_string()).expect("a file is written");
    fs::rename(&partial, file).expect("a file is renamed");
}
