//! Every way to get a nomination wrong has a condition, and mending it makes the nomination ready again.

mod support;

use serde_json::{Value, json};

use support::installation::{GROUP, Installation, NOMINATION, SERVER, SLICE};

const PROVIDER: &str = "root:provider";

/// Changes an object, waits for a condition, changes it back and waits for the nomination to be ready.
async fn broken(
    installation: &Installation,
    (plural, name): (&str, &str),
    (condition, reason): (&str, &str),
    change: impl FnOnce(&mut Value),
) {
    let good = installation.object(plural, name);
    let mut bad = good.clone();
    change(&mut bad);
    let mend = |mut object: Value| {
        object["metadata"]
            .as_object_mut()
            .expect("metadata")
            .remove("resourceVersion");
        object
    };
    installation.kcp.put(PROVIDER, &mend(bad));
    installation.wait_for(condition, &format!("False {reason}")).await;
    installation.wait_for("Ready", "False").await;
    installation.kcp.put(PROVIDER, &mend(good));
    installation.wait_for("Ready", "True").await;
}

fn virtual_storage(export: &mut Value) -> &mut Value {
    &mut export["spec"]["resources"][0]["storage"]
}

type Change = fn(&mut Value);

#[tokio::test]
async fn what_is_wrong_with_the_export() {
    let installation = Installation::start().await;
    installation.wait_for("Ready", "True").await;
    let export = ("apiexports", GROUP);
    let cases: [(&str, &str, Change); 5] = [
        ("ResourceResolved", "ResourceNotInExport", |export| {
            export["spec"]["resources"] = json!([]);
        }),
        ("ResourceResolved", "SchemaNotFound", |export| {
            export["spec"]["resources"][0]["schema"] = "v2.bucketinfos.s3.example.com".into();
        }),
        ("EndpointPublished", "StorageNotVirtual", |export| {
            *virtual_storage(export) = json!({"crd": {}});
        }),
        ("EndpointPublished", "ReferenceNotEndpointSlice", |export| {
            virtual_storage(export)["virtual"]["reference"]["kind"] = "Thing".into();
        }),
        ("EndpointPublished", "EndpointSliceIsDefault", |export| {
            virtual_storage(export)["virtual"]["reference"]["name"] = GROUP.into();
        }),
    ];
    for (condition, reason, change) in cases {
        broken(&installation, export, (condition, reason), change).await;
    }
    broken(
        &installation,
        export,
        ("EndpointPublished", "EndpointSliceNotFound"),
        |export| {
            virtual_storage(export)["virtual"]["reference"]["name"] = "nowhere".into();
        },
    )
    .await;
}

#[tokio::test]
async fn what_is_wrong_with_the_nomination() {
    let installation = Installation::start().await;
    installation.wait_for("Ready", "True").await;
    let nomination = ("ephemeralwebhooks", NOMINATION);
    let valid = "EphemeralEndpointsValid";
    let cases: [(&str, &str, &str, Value); 4] = [
        (
            "ResourceResolved",
            "ExportNotFound",
            "export",
            "nothing.example.com".into(),
        ),
        (valid, "URLRefused", "url", "https://10.0.0.1/".into()),
        (valid, "CABundleInvalid", "caBundle", "bm90IGEgY2VydGlmaWNhdGU=".into()),
        (valid, "URLInvalid", "url", "http://localhost/".into()),
    ];
    for (condition, reason, field, value) in cases {
        broken(&installation, nomination, (condition, reason), |webhook| {
            webhook["spec"][field] = value;
        })
        .await;
    }
    let mut younger = installation.object("ephemeralwebhooks", NOMINATION);
    younger["metadata"] = json!({"name": "zz-younger"});
    installation.kcp.put(PROVIDER, &younger);
    installation
        .until("Conflicted", async || {
            let conditions = installation.object("ephemeralwebhooks", "zz-younger")["status"]["conditions"].to_string();
            if conditions.contains("Conflicted") {
                Ok(())
            } else {
                Err(conditions)
            }
        })
        .await;
    assert_eq!(installation.condition("Ready"), "True Ready", "the older one stays");
}

#[tokio::test]
async fn what_is_wrong_with_the_slice() {
    let mut installation = Installation::prepare().await;
    // Another publisher's entry for the same shards: nothing is written next to it.
    let slice = json!({
        "apiVersion": "apis.kcp.io/v1alpha1", "kind": "APIExportEndpointSlice", "metadata": {"name": SLICE},
        "status": {"endpoints": [{"url": "https://elsewhere", "shards": {"matchAll": true}}]},
    });
    assert!(installation.kcp.apply_status(PROVIDER, &slice, "other"));
    installation.serve(&[]);
    installation
        .wait_for("EndpointPublished", "False EndpointConflict")
        .await;
    assert!(!installation.is_published());
    let gone = json!({
        "apiVersion": "apis.kcp.io/v1alpha1", "kind": "APIExportEndpointSlice", "metadata": {"name": SLICE}, "status": {},
    });
    assert!(installation.kcp.apply_status(PROVIDER, &gone, "other"));
    installation.wait_for("Ready", "True").await;

    // The rights on slices are taken away.
    let provider = installation.provider.clone();
    installation.kcp.set_policy(move |question| {
        let slices = question.resource.starts_with("apiexportendpointslices") && question.user.name == SERVER;
        (slices && question.cluster == provider).then_some(false)
    });
    let touch = |value: &str| {
        let mut export = installation.object("apiexports", GROUP);
        export["spec"]["resources"][0]["storage"]["virtual"]["reference"]["name"] = value.into();
        export["metadata"]
            .as_object_mut()
            .expect("metadata")
            .remove("resourceVersion");
        installation.kcp.put(PROVIDER, &export);
    };
    touch("another");
    installation
        .wait_for("EndpointPublished", "False SliceRightsMissing")
        .await;
}

#[tokio::test]
async fn a_slice_that_is_not_for_this_export_alone() {
    let mut installation = Installation::prepare().await;
    let renamed = |name: &str| {
        let mut slice = installation.object("apiexportendpointslices", SLICE);
        slice["metadata"] = json!({"name": SLICE});
        slice["spec"]["export"]["name"] = name.into();
        slice
    };
    let (other, own) = (renamed("other.example.com"), renamed(GROUP));
    installation.kcp.put(PROVIDER, &other);
    installation.serve(&[]);
    installation
        .wait_for("EndpointPublished", "False EndpointSliceOfOtherExport")
        .await;
    assert!(!installation.is_published());
    installation.kcp.put(PROVIDER, &own);
    installation.wait_for("Ready", "True").await;

    let mut second = installation.object("apiexports", GROUP);
    second["metadata"] = json!({"name": "second.example.com"});
    installation.kcp.put(PROVIDER, &second);
    installation
        .wait_for("EndpointPublished", "False EndpointSliceShared")
        .await;
    assert!(installation.kcp.delete(PROVIDER, "apiexports", "second.example.com"));
    installation.wait_for("Ready", "True").await;
}

#[tokio::test]
async fn claims_that_are_not_accepted() {
    let mut installation = Installation::prepare().await;
    let name = "ephemeral.contrib.kcp.io";
    let mut binding = installation.object("apibindings", name);
    let claims = binding["spec"]["permissionClaims"].take();
    binding["spec"]["permissionClaims"] = json!([]);
    binding["metadata"]
        .as_object_mut()
        .expect("metadata")
        .remove("resourceVersion");
    installation.kcp.put(PROVIDER, &binding);
    installation.serve(&[]);
    installation
        .wait_for("ResourceResolved", "False ClaimsNotAccepted")
        .await;
    binding["spec"]["permissionClaims"] = claims;
    installation.kcp.put(PROVIDER, &binding);
    installation.wait_for("Ready", "True").await;
}
