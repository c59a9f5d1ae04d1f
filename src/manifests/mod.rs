//! `manifests`: what an operator and a provider apply with kubectl.

mod rights;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ephemeral_apiserver::identity::Anchors;
use serde_json::{Value, json};

use crate::cli::{ManifestsCommand, NominationArgs, ProviderArgs};
use rights::{EVERYWHERE, LEASE, PLATFORM, SLICES, cluster_role, role};

/// The API group of EphemeralWebhook, which is also the name of the APIExport that serves it.
const OWN_EXPORT: &str = ephemeral_kcp::EXPORT;
/// The plural name of the kind.
const OWN_RESOURCE: &str = "ephemeralwebhooks";
/// The name of the APIResourceSchema in [`OWN_SCHEMA_MANIFEST`]. Schemas are immutable: whoever changes it after a
/// release gives it the next revision.
const OWN_SCHEMA: &str = "v1.ephemeralwebhooks.ephemeral.contrib.kcp.io";
pub(crate) const OWN_SCHEMA_MANIFEST: &str = include_str!("ephemeralwebhook.yaml");

/// What the server reads of providers' workspaces through the export's virtual workspaces.
const CLAIMED: [&str; 2] = ["apiexports", "apiresourceschemas"];

/// Prints what was asked for.
pub(crate) fn print(command: &ManifestsCommand) -> Result<()> {
    crate::output::print(&render(command)?)
}

/// YAML documents, after a word on what they are for.
fn render(command: &ManifestsCommand) -> Result<String> {
    Ok(match command {
        ManifestsCommand::Shard(args) => shard(args.user.as_str()),
        ManifestsCommand::Platform(args) => platform(args.user.as_str()),
        ManifestsCommand::Provider(args) => provider(args),
        ManifestsCommand::Nomination(args) => nomination(args, ca_bundle(args.ca_file.as_deref())?.as_deref()),
    })
}

fn shard(user: &str) -> String {
    let intro = "# For the logical cluster system:admin of each shard, with that shard's own admin kubeconfig: what is\n\
                 # granted there holds in every workspace of the shard.\n";
    let rights = cluster_role(user, "everywhere", &[EVERYWHERE, SLICES]);
    format!("{intro}{}", documents(&rights))
}

fn platform(user: &str) -> String {
    let intro = "# For the workspace of this export. Whoever may bind the export (verb bind on apiexports, resourceName\n\
                 # ephemeral.contrib.kcp.io) may have kcp call a URL of their own: grant that to providers you trust.\n---\n";
    let claims = CLAIMED.map(|resource| json!({"group": "apis.kcp.io", "resource": resource, "verbs": READ}));
    let export = json!({
        "apiVersion": "apis.kcp.io/v1alpha2",
        "kind": "APIExport",
        "metadata": {"name": OWN_EXPORT},
        "spec": {
            "resources": [{
                "name": OWN_RESOURCE,
                "group": OWN_EXPORT,
                "schema": OWN_SCHEMA,
                "storage": {"crd": {}},
            }],
            "permissionClaims": claims,
        },
    });
    let rights = cluster_role(user, "platform", &[PLATFORM]);
    let lease = role(user, "publisher", LEASE);
    let objects: Vec<_> = std::iter::once(export).chain(rights).chain(lease).collect();
    format!("{intro}{OWN_SCHEMA_MANIFEST}{}", documents(&objects))
}

fn provider(args: &ProviderArgs) -> String {
    let intro = "# For a provider's workspace: it gets the kind EphemeralWebhook, and lets the server read its APIExports and\n\
                 # APIResourceSchemas.\n";
    let claims = CLAIMED.map(|resource| {
        json!({
            "group": "apis.kcp.io",
            "resource": resource,
            "verbs": READ,
            "state": "Accepted",
            "selector": {"matchAll": true},
        })
    });
    let binding = json!({
        "apiVersion": "apis.kcp.io/v1alpha2",
        "kind": "APIBinding",
        "metadata": {"name": OWN_EXPORT},
        "spec": {
            "reference": {"export": {"path": args.export_path, "name": OWN_EXPORT}},
            "permissionClaims": claims,
        },
    });
    let rights = args
        .rbac
        .then(|| cluster_role(args.user.user.as_str(), "provider", &[SLICES]));
    let objects: Vec<_> = std::iter::once(binding).chain(rights.into_iter().flatten()).collect();
    format!("{intro}{}", documents(&objects))
}

fn nomination(args: &NominationArgs, ca_bundle: Option<&str>) -> String {
    let NominationArgs {
        export,
        group,
        resource,
        url,
        ca_file: _,
    } = args;
    let slice = format!("{export}.ephemeral");
    let storage = json!({"virtual": {
        "reference": {"apiGroup": "apis.kcp.io", "kind": "APIExportEndpointSlice", "name": slice},
        // kcp requires a text here and asks nothing of it.
        "identityHash": "ephemeral",
    }});
    // Applied under the name that the APIExport itself is applied under, the part would take the place of the whole. And
    // storage.crd is what kcp makes of no storage; it cannot be taken out by itself, since there has to be one.
    let intro = format!(
        "# For the workspace of the APIExport, with\n\
         #   kubectl apply --server-side --field-manager=nomination -f FILE\n\
         # A client-side apply, or one under the field manager of the rest of the APIExport, would drop what the part\n\
         # below does not name. Where the APIExport is applied from a file, have the storage in that file instead.\n\
         # The APIExport must list the resource with its schema, and with no other storage. Where it says storage.crd,\n\
         # as kcp does of itself where nothing is said, first (0 is the place of the resource in the list):\n\
         #   kubectl patch apiexport {export} --type=json -p '[{{\"op\":\"replace\",\"path\":\"/spec/resources/0/storage\",\"value\":{storage}}}]'\n"
    );
    let mut webhook = json!({
        "apiVersion": "ephemeral.contrib.kcp.io/v1alpha1",
        "kind": "EphemeralWebhook",
        "metadata": {"name": format!("{resource}.{group}")},
        "spec": {"export": export, "group": group, "resource": resource, "url": url},
    });
    if let Some(bundle) = ca_bundle {
        webhook["spec"]["caBundle"] = bundle.into();
    }
    let objects = [
        json!({
            "apiVersion": "apis.kcp.io/v1alpha1",
            "kind": "APIExportEndpointSlice",
            "metadata": {"name": slice},
            "spec": {"export": {"name": export}},
        }),
        json!({
            "apiVersion": "apis.kcp.io/v1alpha2",
            "kind": "APIExport",
            "metadata": {"name": export},
            "spec": {"resources": [{
                "name": resource,
                "group": group,
                "storage": storage,
            }]},
        }),
        webhook,
    ];
    format!("{intro}{}", documents(&objects))
}

const READ: [&str; 3] = ["get", "list", "watch"];

/// The file as a `caBundle`, if it holds what the server could use.
fn ca_bundle(file: Option<&Path>) -> Result<Option<String>> {
    let Some(file) = file else { return Ok(None) };
    let pem = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    Anchors::from_pem(&pem).with_context(|| format!("{} holds no usable CA bundle", file.display()))?;
    Ok(Some(BASE64_STANDARD.encode(pem)))
}

fn documents(objects: &[Value]) -> String {
    objects
        .iter()
        .fold(String::new(), |text, object| format!("{text}---\n{}", yaml(object)))
}

fn yaml(object: &Value) -> String {
    let object = serde_json::from_value(object.clone()).expect("every JSON value is one");
    let mut text = Vec::new();
    structural_schema::yaml::encode(&object, &mut text).expect("manifests have no control characters");
    String::from_utf8(text).expect("YAML is text")
}

#[cfg(test)]
mod tests;
