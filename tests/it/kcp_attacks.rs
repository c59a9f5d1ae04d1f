//! What a provider, a consumer or a shard that means ill may try, and gets nothing by.

use ephemeral_testing::client::Answer;
use ephemeral_testing::kcp::{SCOPES, User};
use serde_json::{Value, json};

use crate::support::installation::{GROUP, Installation, SLICE, binding, collection, question, schema};

const ATTACKER: &str = "root:attacker";

/// An installation, and a workspace on the second shard whose admin may write anything there. It exports the same
/// group itself, and is bound to that.
async fn with_attacker() -> (Installation, String) {
    let installation = Installation::start().await;
    installation.create_until(&installation.consumers[1], 201).await;
    let kcp = &installation.kcp;
    let attacker = kcp.workspace(ATTACKER, 1);
    kcp.put(ATTACKER, &schema());
    let mut export = installation.object("apiexports", GROUP);
    export["metadata"] = json!({"name": GROUP});
    kcp.put(ATTACKER, &export);
    kcp.put(ATTACKER, &slice(&[]));
    kcp.put(ATTACKER, &binding(ATTACKER));
    (installation, attacker)
}

fn slice(endpoints: &[Value]) -> Value {
    json!({
        "apiVersion": "apis.kcp.io/v1alpha1", "kind": "APIExportEndpointSlice", "metadata": {"name": SLICE},
        "spec": {"export": {"path": ATTACKER, "name": GROUP}}, "status": {"endpoints": endpoints},
    })
}

/// Makes the attacker's shard send requests to `url`, as the attacker's own.
async fn lead_to(installation: &Installation, url: &str) -> Answer {
    let entry = json!({"url": url, "shards": {"matchAll": true}});
    assert!(installation.kcp.apply_status(ATTACKER, &slice(&[entry]), "attacker"));
    let mallory = installation.kcp.user("mallory", &[]);
    let client = installation.kcp.client(&mallory);
    client
        .post_json(&collection(ATTACKER), question())
        .await
        .expect("an answer")
}

#[tokio::test]
async fn a_slice_that_leads_elsewhere_gets_nothing() {
    let (installation, attacker) = with_attacker().await;
    let home = attacker.clone();
    installation.kcp.set_policy(move |question| {
        // Mallory may do everything at home and nothing elsewhere.
        (question.user.name == "mallory").then(|| question.cluster == home)
    });
    let victim = &installation.consumers[0];
    let base = installation.endpoint();
    let root = base.split("/services").next().expect("a URL");
    let services = format!("{root}/services/ephemeral");
    let provider = &installation.provider;
    let calls = installation.webhook.recorded().len();
    let urls = [
        base.clone(),
        format!("{base}/clusters/{victim}#"),
        format!("{base}/clusters/{victim}?x="),
        format!("{base}/clusters/{victim}/apis/{GROUP}/v1alpha1/namespaces/default/bucketinfos#"),
        format!("{base}/clusters/{victim}/apis/other.example.com/v1#"),
        format!("{base}/clusters/{victim}/.."),
        format!("{base}/clusters/{victim}/%2e%2e"),
        format!("{base}/clusters/{victim}//"),
        format!("{base}/clusters/*#"),
        format!("{base}/clusters/%2A#"),
        format!("{services}/{attacker}/../{provider}/{GROUP}"),
        format!("{services}/{attacker}/%2e%2e/{provider}/{GROUP}"),
        format!("{services}//{provider}/{GROUP}"),
        format!("{services}/{provider}%2f{GROUP}"),
        format!("{services}/{attacker}/{GROUP}"),
        // Kin of these: other ways to end, hide or repeat a part of a path.
        format!("{base};/clusters/{victim}"),
        format!("{base}/clusters/{victim};"),
        format!("{base}/clusters/{victim};x=#"),
        format!("{base}%23"),
        format!("{base}%2f..%2f{GROUP}"),
        format!("{base}/clusters/{victim}%2f"),
        format!("{base}/clusters/{victim}%2F%2e%2E%2f#"),
        format!("{base}/clusters/{victim}%23"),
        format!("{base}/clusters/{victim}%3f#"),
        format!("{base}/clusters/{victim}%00#"),
        format!("{base}/clusters/{victim}%0a#"),
        format!("{base}/clusters/{victim}%5c#"),
        format!("{base}/clusters/{victim}%252f#"),
        format!("{base}/clusters/{}#", victim.to_uppercase()),
        format!("{base}/CLUSTERS/{victim}#"),
        format!("{root}/Services/ephemeral/{provider}/{GROUP}/clusters/{victim}#"),
        format!("{services}/{provider}/{}/clusters/{victim}#", GROUP.to_uppercase()),
        format!("{base}/clusters/{victim}/clusters/{victim}#"),
        format!("{base}/clusters/{victim}"),
        format!("{base}/clusters/root:consumer-0#"),
        format!("{base}/clusters/{victim}?dryRun=All&x="),
        format!("{base}/clusters/{victim}/apis/{GROUP}/v1alpha1/namespaces/default/bucketinfos/photos?x="),
        format!("{base}/clusters/{victim}/apis/{GROUP}/v1alpha1/bucketinfos?x="),
        format!("{base}/clusters/{}#", "a".repeat(60_000)),
        format!("{base}/{}clusters/{victim}#", "x/".repeat(30_000)),
    ];
    for url in urls {
        let answer = lead_to(&installation, &url).await;
        assert!(
            answer.status.is_client_error(),
            "{url:.300}: {} {}",
            answer.status,
            answer.text()
        );
    }
    assert_eq!(installation.webhook.recorded().len(), calls, "no webhook was called");
}

#[tokio::test]
async fn a_binding_to_an_export_of_the_same_name_is_not_one_to_this_export() {
    let (installation, _) = with_attacker().await;
    installation
        .kcp
        .set_policy(|question| (question.user.name == "mallory").then_some(true));
    let answer = lead_to(&installation, &installation.endpoint()).await;
    assert_eq!(
        (answer.status.as_u16(), &answer.json::<Value>()["reason"]),
        (403, &json!("Forbidden"))
    );
}

#[tokio::test]
async fn only_what_is_listed_may_connect_and_only_callers_that_are_known() {
    let installation = Installation::start().await;
    let consumer = &installation.consumers[1];
    installation.create_until(consumer, 201).await;
    let path = format!(
        "/services/ephemeral/{}/{GROUP}/clusters/{consumer}/apis/{GROUP}/v1alpha1/namespaces/default/bucketinfos",
        installation.provider
    );
    let caller = [
        ("content-type", "application/json"),
        ("x-remote-user", "kcp-admin"),
        ("x-remote-group", "system:kcp:admin"),
        ("x-kcp-virtual-resource-hops", "1"),
    ];
    let shard = installation.server().with_identity(installation.kcp.shard_identity(1));
    assert_eq!(shard.post(&path, &caller, question()).await.unwrap().status, 201);
    let nobody = &[("content-type", "application/json")];
    assert_eq!(
        shard.post(&path, nobody, question()).await.unwrap().status,
        403,
        "the shard itself"
    );
    let unlisted = installation.kcp.user("kcp-shard-7", &["system:masters"]);
    let unlisted = installation.server().with_identity(&unlisted);
    let answer = unlisted.post(&path, &caller, question()).await.unwrap();
    assert!(matches!(answer.status.as_u16(), 401 | 403), "{}", answer.text());
    let answer = installation.server().post(&path, &caller, question()).await.unwrap();
    assert_eq!(answer.status, 401, "no certificate");
}

#[tokio::test]
async fn a_user_outside_of_its_scopes_is_nobody() {
    let installation = Installation::start().await;
    let [near, far] = &installation.consumers;
    installation.create_until(far, 201).await;
    let scoped = |cluster: &str| User {
        name: "kcp-admin".to_owned(),
        groups: vec!["system:kcp:admin".to_owned(), "system:authenticated".to_owned()],
        extra: [(SCOPES.to_owned(), vec![format!("cluster:{cluster}")])].into(),
    };
    let ask = async |cluster: &str| {
        let path = format!(
            "/services/ephemeral/{}/{GROUP}/clusters/{far}/apis/{GROUP}/v1alpha1/namespaces/default/bucketinfos",
            installation.provider
        );
        let user = scoped(cluster);
        let scope = &user.extra[SCOPES][0];
        let headers = [
            ("content-type", "application/json"),
            ("x-remote-user", user.name.as_str()),
            ("x-remote-group", user.groups[0].as_str()),
            ("x-remote-extra-authentication.kcp.io%2fscopes", scope.as_str()),
        ];
        let shard = installation.server().with_identity(installation.kcp.shard_identity(1));
        shard.post(&path, &headers, question()).await.unwrap().status.as_u16()
    };
    assert_eq!((ask(far).await, ask(near).await), (201, 403));
}

#[tokio::test]
async fn a_request_that_lost_its_caller_at_the_front_proxy_is_told_so() {
    let mut installation = Installation::prepare().await;
    let ca = installation.kcp.directory().join("requestheader-ca.crt");
    let ca = ca.to_str().expect("a path").to_owned();
    installation.serve(&[
        "--requestheader-client-ca-file",
        &ca,
        "--requestheader-allowed-names",
        "kcp-front-proxy",
    ]);
    let consumer = &installation.consumers[1];
    installation.create_until(consumer, 201).await;
    let path = format!(
        "/services/ephemeral/{}/{GROUP}/clusters/{consumer}/apis/{GROUP}/v1alpha1/namespaces/default/bucketinfos",
        installation.provider
    );
    let front_proxy = installation.kcp.requestheader_ca().client("kcp-front-proxy", &[]);
    let client = installation.server().with_identity(&front_proxy);
    let ask = async |user: &str, group: &str| {
        let headers = [
            ("content-type", "application/json"),
            ("x-remote-user", user),
            ("x-remote-group", group),
        ];
        client.post(&path, &headers, question()).await.unwrap()
    };
    assert_eq!(ask("kcp-admin", "system:kcp:admin").await.status, 201);
    let answer = ask("kcp-shard-1", "system:authenticated").await;
    assert_eq!(answer.status, 403, "{}", answer.text());
    assert!(answer.text().contains("direct"), "{}", answer.text());
}
