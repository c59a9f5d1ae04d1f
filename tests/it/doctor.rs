//! `doctor` finds the hop at which a set-up is broken, and says what mends it.

use std::path::Path;

use crate::support::installation::{GROUP, Installation, NOMINATION, SERVER, SLICE, binding, question};
use crate::support::{PATIENCE, command};
use ephemeral_testing::pki::Authority;
use ephemeral_testing::webhook::Reply;
use serde_json::{Value, json};

const PROVIDER: &str = "root:provider";
const CONSUMER: &str = "root:consumer-1";
const RESOURCE: &str = "bucketinfos.s3.example.com";

/// What `doctor` says, as text or JSON.
struct Said {
    code: Option<i32>,
    text: String,
    complaints: String,
}

impl Said {
    /// The hops that are broken, with what is said of them.
    fn broken(&self) -> Vec<(String, String)> {
        let report: Value = serde_json::from_str(&self.text).expect("JSON");
        let hops = report["hops"].as_array().expect("hops").iter();
        let broken = hops.filter(|hop| hop["result"] == "broken");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        broken
            .map(|hop| {
                (
                    text(&hop["hop"]),
                    format!("{} / {}", text(&hop["finding"]), text(&hop["fix"])),
                )
            })
            .collect()
    }
}

async fn doctor(arguments: &[&str]) -> Said {
    let run = command().arg("doctor").args(arguments).output();
    let output = tokio::time::timeout(PATIENCE, run)
        .await
        .expect("in time")
        .expect("it starts");
    Said {
        code: output.status.code(),
        text: String::from_utf8(output.stdout).expect("text"),
        complaints: String::from_utf8(output.stderr).expect("text"),
    }
}

/// Asks with all that helps: the provider's kubeconfig, and an object to try.
async fn examine(installation: &Installation, more: &[&str]) -> Said {
    let admin = installation.kcp.admin();
    let [consumer, provider] = [CONSUMER, PROVIDER].map(|workspace| installation.kcp.kubeconfig(&admin, workspace));
    let mut arguments = vec!["--resource", RESOURCE, "--provider-workspace", PROVIDER, "-o", "json"];
    arguments.extend([
        "--kubeconfig",
        path(&consumer),
        "--provider-kubeconfig",
        path(&provider),
    ]);
    arguments.extend(more);
    doctor(&arguments).await
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Waits until exactly these hops are broken, and the first of them in these words.
async fn expect(installation: &Installation, more: &[&str], hops: &[&str], words: &str) {
    installation
        .until(&format!("{hops:?} with {words:?}"), async || {
            let said = examine(installation, more).await;
            let broken = said.broken();
            let names: Vec<_> = broken.iter().map(|(hop, _)| hop.as_str()).collect();
            let first = broken.first().map_or("", |(_, said)| said);
            assert_eq!(said.code, Some(i32::from(!broken.is_empty())), "{}", said.text);
            if names == hops && first.contains(words) {
                Ok(())
            } else {
                Err(format!("{broken:?}"))
            }
        })
        .await;
}

/// An object to try, as a file.
fn object(installation: &Installation) -> String {
    let file = installation.kcp.directory().join("object.json");
    std::fs::write(&file, question()).expect("the directory is writable");
    path(&file).to_owned()
}

type Change = fn(&mut Value);

/// Changes an object of a workspace, expects, and changes it back.
async fn with(
    installation: &Installation,
    (workspace, plural, name): (&str, &str, &str),
    change: impl FnOnce(&mut Value),
    (hops, words): (&[&str], &str),
) {
    let good = installation.kcp.get(workspace, plural, name).expect("an object");
    let put = |mut object: Value| {
        let metadata = object["metadata"].as_object_mut().expect("metadata");
        metadata.remove("resourceVersion");
        installation.kcp.put(workspace, &object);
    };
    let mut bad = good.clone();
    change(&mut bad);
    put(bad);
    expect(installation, &[], hops, words).await;
    put(good);
    expect(installation, &[], &[], "").await;
}

fn virtual_storage(export: &mut Value) -> &mut Value {
    &mut export["spec"]["resources"][0]["storage"]
}

#[tokio::test]
async fn all_is_well() {
    let installation = Installation::start().await;
    installation.wait_for("Ready", "True").await;
    let object = object(&installation);
    expect(&installation, &["-f", &object], &[], "").await;
    let said = examine(&installation, &["-f", &object]).await;
    let report: Value = serde_json::from_str(&said.text).unwrap();
    assert_eq!(report["healthy"], true);
    let hops = report["hops"].as_array().unwrap();
    let names: Vec<_> = hops.iter().map(|hop| hop["hop"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "binding",
            "boundResource",
            "export",
            "reference",
            "slice",
            "endpoint",
            "server",
            "discovery",
            "nomination",
            "webhook",
        ]
    );
    assert!(hops.iter().all(|hop| hop["result"] == "good"), "{}", said.text);

    // A consumer sees their own side, and that is no fault; the way is followed without colours in a pipe.
    let consumer = installation.kcp.user("ada", &[]);
    installation.kcp.set_policy(|question| {
        let own = question.cluster != "system:admin" && question.user.name == "ada";
        own.then(|| !["apiexports", "apiexportendpointslices", "ephemeralwebhooks"].contains(&&*question.resource))
    });
    let kubeconfig = installation.kcp.kubeconfig(&consumer, CONSUMER);
    let said = doctor(&["--kubeconfig", path(&kubeconfig), "--resource", RESOURCE]).await;
    assert_eq!(said.code, Some(0), "{}{}", said.text, said.complaints);
    assert!(said.text.contains("– slice"), "{}", said.text);
    assert!(said.text.contains("✓ discovery"), "{}", said.text);
    assert!(
        !said.text.contains('\u{1b}') && said.complaints.is_empty(),
        "{}",
        said.complaints
    );
}

#[tokio::test]
async fn what_is_wrong_with_the_binding() {
    let installation = Installation::start().await;
    installation.wait_for("Ready", "True").await;
    let unserved = "discovery";
    installation.kcp.delete(CONSUMER, "apibindings", "s3");
    expect(&installation, &[], &["binding", unserved], "kubectl kcp bind apiexport").await;

    installation.kcp.put(CONSUMER, &binding("root:nowhere"));
    expect(&installation, &[], &["binding", "boundResource", unserved], "not Bound").await;
    installation.kcp.delete(CONSUMER, "apibindings", "s3");

    // Another export of the same name, which has the resource too.
    let other = installation.kcp.workspace("root:other", 0);
    let mut export = installation.object("apiexports", GROUP);
    export["metadata"] = json!({"name": GROUP});
    installation
        .kcp
        .put("root:other", &crate::support::installation::schema());
    installation.kcp.put("root:other", &export);
    installation.kcp.put(CONSUMER, &binding("root:other"));
    expect(&installation, &[], &["binding", "slice", unserved], &other).await;
    installation.kcp.delete(CONSUMER, "apibindings", "s3");

    installation.kcp.put(CONSUMER, &binding(PROVIDER));
    expect(&installation, &[], &[], "").await;
}

#[tokio::test]
async fn what_is_wrong_with_the_export() {
    let installation = Installation::start().await;
    installation.wait_for("Ready", "True").await;
    let export = (PROVIDER, "apiexports", GROUP);
    let rows: [(Change, &[&str], &str); 4] = [
        (
            |export| virtual_storage(export)["virtual"]["reference"]["name"] = GROUP.into(),
            &["reference", "endpoint", "discovery", "nomination"],
            "create a second slice",
        ),
        (
            |export| virtual_storage(export)["virtual"]["reference"]["name"] = "nowhere".into(),
            &["slice", "discovery", "nomination"],
            "there is no APIExportEndpointSlice nowhere",
        ),
        (
            |export| virtual_storage(export)["virtual"]["reference"]["kind"] = "Mine".into(),
            &["reference", "discovery", "nomination"],
            "refer to an APIExportEndpointSlice",
        ),
        (
            |export| *virtual_storage(export) = json!({"crd": {}}),
            &["boundResource", "reference", "nomination"],
            "the provider sets storage.virtual",
        ),
    ];
    for (change, hops, words) in rows {
        with(&installation, export, change, (hops, words)).await;
    }
    let claims = (PROVIDER, "apibindings", "ephemeral.contrib.kcp.io");
    let refuse: Change = |binding| binding["spec"]["permissionClaims"] = json!([]);
    with(&installation, claims, refuse, (&["discovery", "nomination"], "")).await;
}

#[tokio::test]
async fn what_is_wrong_with_the_nomination() {
    let installation = Installation::start().await;
    installation.wait_for("Ready", "True").await;
    let nomination = (PROVIDER, "ephemeralwebhooks", NOMINATION);
    let rows: [(Change, &str); 2] = [
        (
            |webhook| webhook["spec"]["url"] = "https://10.0.0.1/".into(),
            "URLRefused",
        ),
        (
            |webhook| webhook["spec"]["caBundle"] = "bm9uZQ==".into(),
            "CABundleInvalid",
        ),
    ];
    for (change, words) in rows {
        with(&installation, nomination, change, (&["nomination"], words)).await;
    }
    let mut younger = installation.object("ephemeralwebhooks", NOMINATION);
    younger["metadata"] = json!({"name": "zz-younger"});
    installation.kcp.put(PROVIDER, &younger);
    expect(&installation, &[], &["nomination"], "Conflicted").await;
    installation.kcp.delete(PROVIDER, "ephemeralwebhooks", "zz-younger");

    let object = object(&installation);
    let tried = ["-f", object.as_str()];
    installation
        .webhook
        .set(|review| Reply::with_status(review, json!({"objects": "many"})));
    expect(&installation, &tried, &["webhook"], "breaks the contract").await;
    installation.webhook.set(|_| Reply::body(http::StatusCode::OK, "what?"));
    expect(&installation, &tried, &["webhook"], "not with an EphemeralReview").await;
    // A denial is an answer, whatever its code.
    for code in [401, 403, 404, 429, 502, 503] {
        installation
            .webhook
            .set(move |review| Reply::deny(review, &json!({"code": code, "message": "not yours"})));
        expect(&installation, &tried, &[], "").await;
    }

    // Another CA than that of the webhook's certificate: the webhook is as good as down.
    let other = Authority::new("other-ca").cert_pem();
    let trust: Value = base64(&other).into();
    let mut webhook = installation.object("ephemeralwebhooks", NOMINATION);
    webhook["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    webhook["spec"]["caBundle"] = trust;
    installation.kcp.put(PROVIDER, &webhook);
    expect(&installation, &tried, &["webhook"], "spec.caBundle").await;
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::prelude::BASE64_STANDARD.encode(text)
}

fn slice(entries: &Value) -> Value {
    json!({
        "apiVersion": "apis.kcp.io/v1alpha1", "kind": "APIExportEndpointSlice", "metadata": {"name": SLICE},
        "status": {"endpoints": entries},
    })
}

#[tokio::test]
async fn what_is_wrong_with_the_endpoint() {
    let mut installation = Installation::prepare().await;
    expect(
        &installation,
        &[],
        &["endpoint", "discovery", "nomination"],
        "has no entry with shards",
    )
    .await;

    let through_the_front = format!(
        "{}/services/ephemeral/{}/{GROUP}",
        installation.kcp.url(),
        installation.provider
    );
    let entry = json!([{"url": through_the_front, "shards": {"matchAll": true}}]);
    assert!(installation.kcp.apply_status(PROVIDER, &slice(&entry), "someone"));
    let said = examine(&installation, &[]).await.broken();
    let (hop, words) = &said[0];
    assert!(hop == "endpoint" && words.contains("front-proxy"), "{said:?}");

    // An entry that is left behind ties with the server's own.
    assert!(installation.kcp.apply_status(PROVIDER, &slice(&json!([])), "someone"));
    installation.serve(&[]);
    installation.wait_for("Ready", "True").await;
    let entry = json!([{"url": "https://gone/services/ephemeral/x/y", "shards": {"matchAll": true}}]);
    assert!(installation.kcp.apply_status(PROVIDER, &slice(&entry), "someone"));
    expect(
        &installation,
        &[],
        &["endpoint", "discovery", "nomination"],
        "https://gone",
    )
    .await;

    let provider = installation.kcp.kubeconfig(&installation.kcp.admin(), PROVIDER);
    let said = doctor(&["--orphans", "--kubeconfig", path(&provider)]).await;
    assert_eq!(said.code, Some(1), "{}", said.text);
    assert!(said.text.contains("--field-manager=someone"), "{}", said.text);
    assert!(said.text.contains("cannot choose"), "{}", said.text);
}

#[tokio::test]
async fn what_is_wrong_with_the_server() {
    let mut installation = Installation::start().await;
    installation.wait_for("Ready", "True").await;
    installation.kill(0).await;
    expect(
        &installation,
        &[],
        &["server", "discovery"],
        "start kcp-ephemeral serve",
    )
    .await;
}

#[tokio::test]
async fn shards_do_not_know_the_servers_ca() {
    let mut installation = Installation::prepare().await;
    let other = Authority::new("other-ca");
    other
        .server(&["127.0.0.1"])
        .write(installation.kcp.directory(), "server");
    other.write(installation.kcp.directory(), "other-ca");
    installation.serve(&[]);
    installation.wait_for("EndpointPublished", "True").await;
    let ca = installation.kcp.directory().join("other-ca.crt");
    let words = "--shard-virtual-workspace-ca-file";
    expect(&installation, &["--endpoint-ca-file", path(&ca)], &["discovery"], words).await;
    // Without the CA nothing can be said of the server.
    expect(&installation, &[], &["discovery"], words).await;
}

#[tokio::test]
async fn the_server_does_not_know_the_shards() {
    let mut installation = Installation::prepare().await;
    Authority::new("other-ca").write(installation.kcp.directory(), "client-ca");
    installation.serve(&[]);
    installation.wait_for("EndpointPublished", "True").await;
    expect(&installation, &[], &["discovery"], "--shard-client-names").await;
}

#[tokio::test]
async fn the_server_cannot_ask_whether_callers_may() {
    let installation = Installation::start().await;
    installation.wait_for("Ready", "True").await;
    installation.kcp.set_policy(|question| {
        (question.user.name == SERVER && question.resource == "subjectaccessreviews").then_some(false)
    });
    expect(&installation, &[], &["server"], "--authorization-kubeconfig").await;
}

#[tokio::test]
async fn kcp_is_not_where_the_kubeconfig_says() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kubeconfig");
    let server = format!(
        "https://127.0.0.1:{}/clusters/root:consumer",
        crate::support::free_port()
    );
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {}}],
    });
    std::fs::write(&file, config.to_string()).unwrap();
    let said = doctor(&["--kubeconfig", path(&file), "--resource", RESOURCE, "-o", "json"]).await;
    assert_eq!(said.code, Some(1), "{}", said.complaints);
    let broken = said.broken();
    assert_eq!(broken.len(), 1, "{broken:?}");
    assert!(
        broken[0].0 == "binding" && broken[0].1.contains("cannot be reached"),
        "{broken:?}"
    );
}

#[tokio::test]
async fn wrong_use_is_told_apart() {
    for arguments in [
        &["--kubeconfig", "/nowhere/kubeconfig", "--resource", RESOURCE][..],
        &["--resource", "bucketinfos"],
        &[],
        &["--orphans", "--resource", RESOURCE],
        &["--workspace", "", "--resource", RESOURCE],
    ] {
        let said = doctor(arguments).await;
        assert_eq!(said.code, Some(2), "{arguments:?}: {}{}", said.text, said.complaints);
        assert!(said.text.is_empty() && !said.complaints.is_empty(), "{arguments:?}");
    }
}
