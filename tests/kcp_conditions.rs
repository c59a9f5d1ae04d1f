//! Every way to get a nomination wrong has a condition, and mending it makes the nomination ready again.

mod support;

use serde_json::{Value, json};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ephemeral_testing::pki::{Authority, Validity};
use ephemeral_testing::webhook::{ClientAuth, Reply};
use http::StatusCode;
use support::installation::{GROUP, Installation, NOMINATION, SERVER, SLICE, schema, without_version};

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
    installation.kcp.put(PROVIDER, &without_version(bad));
    installation.wait_for(condition, &format!("False {reason}")).await;
    installation.wait_for("Ready", &format!("False {reason}")).await;
    installation.kcp.put(PROVIDER, &without_version(good));
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
    let mut unsupported = schema();
    unsupported["metadata"]["name"] = "v3.bucketinfos.s3.example.com".into();
    // Go's expressions look neither ahead nor back.
    unsupported["spec"]["versions"][0]["schema"]["properties"]["spec"]["properties"]["bucket"]["pattern"] =
        "^(?!x)".into();
    installation.kcp.put(PROVIDER, &unsupported);
    let mut other = schema();
    other["metadata"]["name"] = "v1.others.s3.example.com".into();
    other["spec"]["names"]["plural"] = "others".into();
    installation.kcp.put(PROVIDER, &other);
    let export = ("apiexports", GROUP);
    let cases: [(&str, &str, Change); 8] = [
        ("ResourceResolved", "ResourceNotInExport", |export| {
            export["spec"]["resources"] = json!([]);
        }),
        ("ResourceResolved", "SchemaNotFound", |export| {
            export["spec"]["resources"][0]["schema"] = "v2.bucketinfos.s3.example.com".into();
        }),
        ("ResourceResolved", "SchemaOfOtherResource", |export| {
            export["spec"]["resources"][0]["schema"] = "v1.others.s3.example.com".into();
        }),
        ("ResourceResolved", "SchemaUnsupported", |export| {
            export["spec"]["resources"][0]["schema"] = "v3.bucketinfos.s3.example.com".into();
        }),
        // kcp refuses this one; a server must not take it for an empty list all the same.
        ("ResourceResolved", "ExportInvalid", |export| {
            export["spec"]["resources"] = json!([{"name": "bucketinfos", "group": GROUP}]);
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
    let expired = Authority::valid("expired", Validity::Expired);
    let cases: [(&str, &str, &str, Value); 7] = [
        (
            "ResourceResolved",
            "ExportNotFound",
            "export",
            "nothing.example.com".into(),
        ),
        (valid, "URLRefused", "url", "https://10.0.0.1/".into()),
        (valid, "CABundleInvalid", "caBundle", "bm90IGEgY2VydGlmaWNhdGU=".into()),
        (valid, "URLInvalid", "url", "http://localhost/".into()),
        (valid, "CABundleExpired", "caBundle", bundle(&expired)),
        ("Accepted", "FieldInvalid", "timeoutSeconds", 31.into()),
        ("Accepted", "FieldInvalid", "failurePolicy", "Sometimes".into()),
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
    installation
        .wait_for("EndpointPublished", "False SliceRightsMissing")
        .await;
    installation.kcp.set_policy(|_| None);
    installation.wait_for("Ready", "True").await;

    // It may read them and not write.
    installation.kcp.set_policy(|question| {
        let status = question.resource == "apiexportendpointslices/status" && question.user.name == SERVER;
        status.then_some(false)
    });
    let mut slice = installation.object("apiexportendpointslices", SLICE);
    slice["status"] = json!({});
    installation.kcp.put_status(PROVIDER, &without_version(slice));
    installation
        .wait_for("EndpointPublished", "False SliceRightsMissing")
        .await;
    installation.kcp.set_policy(|_| None);
    installation.wait_for("Ready", "True").await;
}

/// With an equal selector kcp could not choose either; with another one both are published.
#[tokio::test]
async fn an_entry_of_another_publisher_with_an_equal_selector() {
    let mut installation = Installation::prepare().await;
    let with = |key: &str, value: &str| {
        let selector = json!({"matchLabels": {key: value}});
        json!({
            "apiVersion": "apis.kcp.io/v1alpha1", "kind": "APIExportEndpointSlice", "metadata": {"name": SLICE},
            "status": {"endpoints": [{"url": "https://elsewhere", "shards": {"selector": selector}}]},
        })
    };
    assert!(
        installation
            .kcp
            .apply_status(PROVIDER, &with("name", "shard-1"), "other")
    );
    installation.serve(&["--shard-selector", "name=shard-1"]);
    installation
        .wait_for("EndpointPublished", "False EndpointConflict")
        .await;
    assert_eq!(
        installation
            .entries()
            .iter()
            .filter(|e| e["shards"].is_object())
            .count(),
        1
    );
    assert!(installation.kcp.apply_status(PROVIDER, &with("name", "root"), "other"));
    installation.wait_for("Ready", "True").await;
    assert_eq!(
        installation
            .entries()
            .iter()
            .filter(|e| e["shards"].is_object())
            .count(),
        2
    );
}

fn bundle(authority: &Authority) -> Value {
    BASE64_STANDARD.encode(authority.cert_pem()).into()
}

/// Nothing but time goes by.
#[tokio::test]
async fn a_bundle_that_expires_while_it_is_in_use_is_noticed() {
    let installation = Installation::start().await;
    installation.wait_for("Ready", "True").await;
    let expiring = Authority::valid("expiring", Validity::For(std::time::Duration::from_secs(6)));
    installation.nominate(&json!({"caBundle": bundle(&expiring)}));
    installation.wait_for("Ready", "False CABundleExpired").await;
    installation.nominate(&json!({"caBundle": bundle(&installation.webhook_ca)}));
    installation.wait_for("Ready", "True").await;
}

/// What calls meet has a condition of its own, which neither changes `Ready` nor stops a call, and is written rarely.
#[tokio::test]
async fn what_calls_meet() {
    let mut installation = Installation::prepare().await;
    let careless = installation.another_webhook(ClientAuth::None).await;
    let port = careless.address().port().to_string();
    installation.serve(&["--webhook-allow-port", &port]);
    let consumer = installation.consumers[1].clone();
    installation.create_until(&consumer, 201).await;
    installation.wait_for("CallsSucceeding", "True").await;
    installation.wait_for("Ready", "True").await;

    installation.nominate(&json!({"url": careless.url("/")}));
    // The nomination of before answers until the new one was read.
    installation
        .until("ClientCertificateNotRequested", async || {
            assert_eq!(installation.create(&consumer).await.status, 201);
            match installation.condition("CallsSucceeding") {
                found if found == "False ClientCertificateNotRequested" => Ok(()),
                found => Err(found),
            }
        })
        .await;
    assert_eq!(installation.condition("Ready"), "True Ready");
    assert_eq!(installation.create(&consumer).await.status, 201);

    careless.set(|_| Reply::body(StatusCode::INTERNAL_SERVER_ERROR, "at 10.1.2.3 something broke"));
    installation
        .until("CallsFailing", async || {
            assert_eq!(installation.create(&consumer).await.status, 503);
            match installation.condition("CallsSucceeding") {
                found if found == "False CallsFailing" => Ok(()),
                found => Err(found),
            }
        })
        .await;
    assert_eq!(installation.condition("Ready"), "True Ready");
    let status = installation.object("ephemeralwebhooks", NOMINATION)["status"].to_string();
    assert!(!status.contains("10.1.2.3") && !status.contains("500"), "{status}");

    // However many calls there are, and whatever they meet, a status is written about once a period.
    let before = installation.kcp.writes_of(SERVER).len();
    let began = std::time::Instant::now();
    for n in 0..200 {
        if n % 2 == 0 {
            careless.set(|review| Reply::with_status(review, json!({"objects": 3})));
        } else {
            careless.set(|_| Reply::Close);
        }
        installation.ask(&consumer).await;
    }
    let written = installation.kcp.writes_of(SERVER).len() - before;
    let periods = usize::try_from(began.elapsed().as_secs()).expect("a small number") + 2;
    assert!(written <= periods, "{written} writes in {periods} periods");

    // What was met stays known over a restart, and costs no write.
    installation.kill(0).await;
    let known = installation.condition("CallsSucceeding");
    let before = installation.kcp.writes_of(SERVER).len();
    installation.serve(&["--webhook-allow-port", &port]);
    installation
        .until("the new one publishes", async || {
            match installation.log().matches("leadership changed").count() {
                0 | 1 => Err(String::new()),
                _ => Ok(()),
            }
        })
        .await;
    // Some resyncs.
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(installation.condition("CallsSucceeding"), known);
    assert_eq!(
        installation.kcp.writes_of(SERVER).len(),
        before,
        "{:?}",
        installation.kcp.writes_of(SERVER)
    );
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
    binding = without_version(binding);
    installation.kcp.put(PROVIDER, &binding);
    installation.serve(&[]);
    installation
        .wait_for("ResourceResolved", "False ClaimsNotAccepted")
        .await;
    binding["spec"]["permissionClaims"] = claims;
    installation.kcp.put(PROVIDER, &binding);
    installation.wait_for("Ready", "True").await;
}
