use std::collections::BTreeSet;

use ephemeral_index::kinds::Object;
use structural_schema::{Schema, ValidateOptions};

use super::*;
use crate::cli::{Cli, Command};

/// The documents that a command prints.
fn printed(line: &str) -> Vec<Value> {
    use clap::Parser as _;
    let line = format!("kcp-ephemeral manifests {line}");
    let Command::Manifests(command) = Cli::parse_from(line.split_whitespace()).command else {
        panic!("not manifests")
    };
    let text = render(&command).unwrap();
    let documents = text.split("---\n").map(|document| {
        let decoded = structural_schema::yaml::decode(document.as_bytes());
        serde_json::to_value(decoded.unwrap().value).unwrap()
    });
    documents.filter(|document| !document.is_null()).collect()
}

fn kinds(documents: &[Value]) -> Vec<&str> {
    documents
        .iter()
        .map(|document| document["kind"].as_str().unwrap())
        .collect()
}

#[test]
fn each_form_prints_its_kinds() {
    for (line, expected) in [
        ("shard", &["ClusterRole", "ClusterRoleBinding"][..]),
        (
            "platform",
            &[
                "APIResourceSchema",
                "APIExport",
                "ClusterRole",
                "ClusterRoleBinding",
                "Role",
                "RoleBinding",
            ],
        ),
        ("provider --export-path root:platform", &["APIBinding"]),
        (
            "provider --export-path root:platform --rbac",
            &["APIBinding", "ClusterRole", "ClusterRoleBinding"],
        ),
        (
            "nomination --export e --group g --resource r --url https://w.example.com/",
            &["APIExportEndpointSlice", "APIExport", "EphemeralWebhook"],
        ),
    ] {
        assert_eq!(kinds(&printed(line)), expected, "{line}");
    }
}

#[test]
fn rights_are_the_users_and_no_more_than_these() {
    let rights = |line: &str| {
        let documents = printed(line);
        let mut rights = BTreeSet::new();
        for role in &documents {
            let is_role = ["ClusterRole", "Role"].contains(&role["kind"].as_str().unwrap());
            for rule in role["rules"].as_array().into_iter().flatten().filter(|_| is_role) {
                let list = |key: &str| {
                    let items = rule[key].as_array().into_iter().flatten();
                    items
                        .map(|item| item.as_str().unwrap().to_owned())
                        .collect::<Vec<_>>()
                        .join(",")
                };
                let what = [list("nonResourceURLs"), list("resources")].concat();
                rights.insert(
                    format!("{} {what} {}", list("verbs"), list("resourceNames"))
                        .trim()
                        .to_owned(),
                );
            }
        }
        for binding in documents
            .iter()
            .filter(|d| d["kind"].as_str().unwrap().ends_with("Binding") && d["kind"] != "APIBinding")
        {
            assert_eq!(binding["subjects"][0]["name"], "u", "{binding}");
            assert_eq!(binding["metadata"]["name"], binding["roleRef"]["name"]);
        }
        rights
    };
    let slices = ["get apiexportendpointslices", "patch apiexportendpointslices/status"];
    let of = |rights: &[&str]| rights.iter().map(|&right| right.to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(
        rights("shard --user u"),
        of(&[
            &["access /", "create subjectaccessreviews", "list apibindings"][..],
            &slices
        ]
        .concat())
    );
    assert_eq!(
        rights("provider --export-path root --rbac --user u"),
        of(&[&["access /"][..], &slices].concat())
    );
    assert_eq!(
        rights("platform --user u"),
        of(&[
            "access /",
            "list,watch apiexportendpointslices",
            "list,watch,patch apiexports/content ephemeral.contrib.kcp.io",
            "get,create,update leases",
        ])
    );
}

#[test]
fn the_binding_accepts_what_the_export_claims() {
    let (platform, provider) = (printed("platform"), printed("provider --export-path root:platform"));
    let claims = |object: &Value| {
        let claims = object["spec"]["permissionClaims"].as_array().unwrap().iter();
        claims
            .map(|claim| {
                (
                    claim["group"].to_string(),
                    claim["resource"].to_string(),
                    claim["verbs"].to_string(),
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(claims(&platform[1]), claims(&provider[0]));
    assert!(
        provider[0]["spec"]["permissionClaims"]
            .as_array()
            .unwrap()
            .iter()
            .all(|c| c["state"] == "Accepted")
    );
    let resource = &platform[1]["spec"]["resources"][0];
    assert_eq!(resource["schema"], platform[0]["metadata"]["name"]);
    assert_eq!(platform[0]["metadata"]["name"], OWN_SCHEMA);
}

#[test]
fn a_nomination_reads_as_it_was_meant() {
    let dir = tempfile::tempdir().unwrap();
    let ca = ephemeral_testing::pki::Authority::new("ca").write(dir.path(), "ca");
    let line = format!(
        "nomination --export s3.example.com --group s3.example.com --resource bucketinfos \
         --url https://w.example.com/b --ca-file {}",
        ca.display()
    );
    let objects = printed(&line).into_iter().map(|document| {
        let value = serde_json::from_value(document).unwrap();
        Object::decode(value, Some("provider")).unwrap()
    });
    let objects: Vec<_> = objects.collect();
    let [Object::Slice(slice), Object::Export(export), Object::Webhook(webhook)] = &objects[..] else {
        panic!("other kinds")
    };
    assert_eq!(
        (&*slice.meta.name, &*slice.export),
        ("s3.example.com.ephemeral", "s3.example.com")
    );
    assert_eq!(&*export.meta.name, "s3.example.com");
    // The part that is merged names no schema: that stays the provider's.
    assert!(export.resources.is_empty());
    assert_eq!(&*webhook.meta.name, "bucketinfos.s3.example.com");
    let target = webhook.target.as_ref().unwrap();
    assert_eq!(
        (&*target.export, target.resource.to_string().as_str()),
        ("s3.example.com", "bucketinfos.s3.example.com")
    );
    assert!(webhook.settings.as_ref().unwrap().ca_bundle.is_some());
}

#[test]
fn what_is_no_ca_is_no_ca_bundle() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = format!("{:#}", ca_bundle(Some(file.path())).unwrap_err());
    assert!(error.contains("no usable CA bundle"), "{error}");
    assert!(ca_bundle(Some(Path::new("/nonexistent"))).is_err());
    assert_eq!(ca_bundle(None).unwrap(), None);
}

/// The schema of the kind, and an object that holds by it.
fn schema_and_webhook() -> (Schema, Value) {
    let version = &printed("platform")[0]["spec"]["versions"][0];
    let document = serde_json::from_value(version["schema"].clone()).unwrap();
    let schema = Schema::compile(&document).unwrap_or_else(|problems| panic!("{problems:?}"));
    let webhook = printed("nomination --export e --group g --resource r --url https://w.example.com/").remove(2);
    (schema, webhook)
}

fn faults(schema: &Schema, object: &Value) -> Vec<String> {
    let object: structural_schema::Value = serde_json::from_value(object.clone()).unwrap();
    let mut object = object.as_object().unwrap().clone();
    assert!(schema.prune(&mut object).is_empty(), "unknown fields");
    schema.apply_defaults(&mut object).unwrap();
    let errors = schema.validate(&object, ValidateOptions::default());
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn the_schema_takes_what_a_nomination_may_say() {
    let (schema, webhook) = schema_and_webhook();
    assert_eq!(faults(&schema, &webhook), [""; 0]);
    let mut full = webhook.clone();
    full["spec"]["caBundle"] = "Zm9v".into();
    full["spec"]["timeoutSeconds"] = 30.into();
    full["spec"]["failurePolicy"] = "Ignore".into();
    full["spec"]["reviewVersions"] = json!(["ephemeral.contrib.kcp.io/v1alpha1"]);
    full["spec"]["specOwnership"] = "User".into();
    full["spec"]["maxInFlight"] = 1.into();
    full["status"] = json!({
        "observedGeneration": 3,
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "Ready", "message": "", "observedGeneration": 3,
            "lastTransitionTime": "2026-11-30T12:00:00Z",
        }],
        "endpoint": "https://e/services/ephemeral/c/e",
        "clientCABundle": "Zm9v",
    });
    assert_eq!(faults(&schema, &full), [""; 0]);
}

#[test]
fn the_schema_refuses_what_the_server_could_not_use() {
    let (schema, webhook) = schema_and_webhook();
    for (field, value) in [
        ("url", json!("http://w.example.com/")),
        ("url", json!("https://user@w.example.com/")),
        ("url", json!("https://w.example.com/#part")),
        ("url", json!("w.example.com")),
        ("url", json!("")),
        ("export", json!("")),
        ("group", json!(null)),
        ("timeoutSeconds", json!(0)),
        ("timeoutSeconds", json!(31)),
        ("failurePolicy", json!("Sometimes")),
        ("specOwnership", json!("Nobody")),
        ("reviewVersions", json!([])),
        ("maxInFlight", json!(0)),
        ("caBundle", json!("not base64!")),
    ] {
        let mut other = webhook.clone();
        other["spec"][field] = value.clone();
        assert!(!faults(&schema, &other).is_empty(), "{field}: {value}");
    }
}

/// What `kubectl get` shows, and what makes `status.conditions` mergeable by type.
#[test]
fn columns_and_conditions_are_as_kubernetes_has_them() {
    let version = &printed("platform")[0]["spec"]["versions"][0];
    let columns = version["additionalPrinterColumns"].as_array().unwrap();
    let names: Vec<_> = columns.iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Ready", "Export", "Resource", "URL", "Age"]);
    let conditions = &version["schema"]["properties"]["status"]["properties"]["conditions"];
    assert_eq!(conditions["x-kubernetes-list-type"], "map");
    assert_eq!(conditions["x-kubernetes-list-map-keys"], json!(["type"]));
    assert_eq!(version["subresources"]["status"], json!({}));
    let claims = &printed("platform")[1]["spec"]["permissionClaims"];
    let claimed = |resource: &str| json!({"group": "apis.kcp.io", "resource": resource, "verbs": READ});
    assert_eq!(*claims, json!([claimed("apiexports"), claimed("apiresourceschemas")]));
}

/// What a nomination is for can only be said once. Rules about a change are kcp's to enforce; here they are looked at,
/// and that they compile the schema itself shows.
#[test]
fn what_is_nominated_is_immutable() {
    schema_and_webhook();
    let spec = &printed("platform")[0]["spec"]["versions"][0]["schema"]["properties"]["spec"];
    for (field, is_immutable) in [("export", true), ("group", true), ("resource", true), ("url", false)] {
        let rules = spec["properties"][field]["x-kubernetes-validations"]
            .as_array()
            .unwrap();
        let found = rules.iter().any(|rule| rule["rule"] == "self == oldSelf");
        assert_eq!(found, is_immutable, "{field}");
        // A rule about a change does not hold a field that may be taken away and given anew.
        let required = spec["required"].as_array().unwrap().contains(&json!(field));
        assert!(required, "{field}");
    }
}
