//! The fake by itself: what the other tests rely on.

use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::*;
use crate::client::{Answer, request};
use crate::webhook::{Recorded, Reply, Webhook};

const GROUP: &str = "shop.example.com";

/// A provider on the first shard whose endpoint is a recording server, and a consumer on the second.
struct Shop {
    kcp: FakeKcp,
    endpoint: Webhook,
    provider: String,
    consumer: String,
}

fn schema(group: &str, plural: &str, kind: &str, scope: &str) -> Value {
    json!({
        "apiVersion": "apis.kcp.io/v1alpha1", "kind": "APIResourceSchema",
        "metadata": {"name": format!("v1.{plural}.{group}")},
        "spec": {"group": group, "scope": scope, "names": {"kind": kind, "plural": plural}, "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": {"type": "object"}},
        ]},
    })
}

fn export(group: &str, plural: &str, storage: &Value, claims: &Value) -> Value {
    let schema = format!("v1.{plural}.{group}");
    json!({
        "apiVersion": "apis.kcp.io/v1alpha2", "kind": "APIExport", "metadata": {"name": group},
        "spec": {"permissionClaims": claims, "resources": [
            {"name": plural, "group": group, "schema": schema, "storage": storage},
        ]},
    })
}

fn binding(path: &str, group: &str, claims: &Value) -> Value {
    json!({
        "apiVersion": "apis.kcp.io/v1alpha2", "kind": "APIBinding", "metadata": {"name": group},
        "spec": {"reference": {"export": {"path": path, "name": group}}, "permissionClaims": claims},
    })
}

fn slice(status: &Value) -> Value {
    json!({
        "apiVersion": "apis.kcp.io/v1alpha1", "kind": "APIExportEndpointSlice",
        "metadata": {"name": "shop.example.com.ephemeral"},
        "spec": {"export": {"path": "root:provider", "name": GROUP}}, "status": status,
    })
}

impl Shop {
    async fn open() -> Self {
        let kcp = FakeKcp::start().await;
        let endpoint = Webhook::builder(kcp.serving_ca().server(&["localhost"]));
        let endpoint = endpoint
            .start(|request| match request.method {
                Method::GET if request.uri.path().ends_with("/v1") => Reply::json(
                    StatusCode::OK,
                    &json!({"kind": "APIResourceList", "resources": [{"name": "prices", "verbs": ["create"]}]}),
                ),
                _ => Reply::json(StatusCode::CREATED, &json!({"answered": true})),
            })
            .await;
        let (provider, consumer) = (kcp.workspace("root:provider", 0), kcp.workspace("root:consumer", 1));
        let reference = json!({
            "apiGroup": "apis.kcp.io", "kind": "APIExportEndpointSlice", "name": "shop.example.com.ephemeral",
        });
        kcp.put(&provider, &schema(GROUP, "prices", "Price", "Namespaced"));
        let storage = json!({"virtual": {"reference": reference, "identityHash": "x"}});
        kcp.put(&provider, &export(GROUP, "prices", &storage, &json!([])));
        kcp.put(&provider, &slice(&Value::Null));
        kcp.put("root:consumer", &binding("root:provider", GROUP, &json!([])));
        Self {
            kcp,
            endpoint,
            provider,
            consumer,
        }
    }

    fn publish(&self, url: &str) {
        let status = json!({"endpoints": [{"url": url, "shards": {"matchAll": true}}]});
        assert!(self.kcp.apply_status(&self.provider, &slice(&status), "publisher"));
    }

    async fn create(&self, headers: &[(&str, &str)]) -> Answer {
        let path = "/clusters/root:consumer/apis/shop.example.com/v1/namespaces/default/prices?dryRun=All";
        let client = self.kcp.client(&self.kcp.admin());
        client.post(path, headers, r#"{"spec":{}}"#).await.unwrap()
    }

    fn last(&self) -> Recorded {
        self.endpoint.recorded().pop().expect("a request")
    }
}

#[tokio::test]
async fn a_request_of_a_virtual_resource_is_forwarded_as_kcp_does() {
    let shop = Shop::open().await;
    // kcp's own entry, of the consumer's shard, leads to a virtual workspace that has nothing of the kind.
    assert_eq!(shop.create(&[]).await.status, StatusCode::NOT_FOUND);
    let slice = shop
        .kcp
        .get(&shop.provider, "apiexportendpointslices", "shop.example.com.ephemeral")
        .unwrap();
    let own = format!("{}/services/apiexport/{}/{GROUP}", shop.kcp.shard_url(1), shop.provider);
    assert_eq!(slice["status"]["endpoints"], json!([{"url": own}]));
    assert_eq!(slice["metadata"]["managedFields"][0]["manager"], "shard-1");

    shop.publish(&shop.endpoint.url("/services/x"));
    let answer = shop
        .create(&[("x-remote-user", "forged"), ("x-kcp-virtual-resource-hops", "2")])
        .await;
    assert_eq!(
        (answer.status, answer.json::<Value>()),
        (StatusCode::CREATED, json!({"answered": true}))
    );
    let seen = shop.last();
    let path = format!(
        "/services/x/clusters/{}/apis/{GROUP}/v1/namespaces/default/prices?dryRun=All",
        shop.consumer
    );
    assert_eq!(seen.uri.path_and_query().unwrap().as_str(), path);
    assert_eq!(seen.headers["x-remote-user"], "kcp-admin");
    assert_eq!(seen.headers["x-kcp-virtual-resource-hops"], "3");
    let groups: Vec<_> = seen.headers.get_all("x-remote-group").iter().collect();
    assert_eq!(groups, ["system:kcp:admin", "system:authenticated"]);
    let answer = shop.create(&[("x-kcp-virtual-resource-hops", "4")]).await;
    assert!(answer.text().contains("forwarded 4 times"), "{}", answer.text());

    shop.publish(&shop.endpoint.url("/services/x/clusters/VICTIM#"));
    shop.create(&[]).await;
    let path = "/services/x/clusters/VICTIM/apis/shop.example.com/v1/namespaces/default/prices";
    assert_eq!(shop.last().uri.path(), path);

    shop.publish(&shop.endpoint.url("/services/x"));
    let list = shop
        .kcp
        .client(&shop.kcp.admin())
        .get("/clusters/root:consumer/apis/shop.example.com/v1")
        .await
        .unwrap();
    assert_eq!(list.json::<Value>()["resources"][0]["verbs"], json!(["create"]));
    let seen = shop.last();
    assert!(seen.uri.path().contains("/clusters/%2A/apis"), "{}", seen.uri);
    assert!(!seen.headers.contains_key("x-remote-user"));

    shop.publish("https://localhost:1/nobody");
    let answer = shop.create(&[]).await;
    assert_eq!((answer.status, answer.body.len()), (StatusCode::BAD_GATEWAY, 0));
}

#[tokio::test]
async fn the_virtual_workspace_of_an_export_shows_what_is_claimed_and_accepted() {
    let kcp = FakeKcp::start().await;
    let platform = kcp.workspace("root:platform", 0);
    let providers = [kcp.workspace("root:one", 0), kcp.workspace("root:two", 1)];
    let claim = json!({"group": "apis.kcp.io", "resource": "apiexports", "verbs": ["get", "list", "watch"]});
    let group = "ephemeral.contrib.kcp.io";
    kcp.put(
        &platform,
        &schema(group, "ephemeralwebhooks", "EphemeralWebhook", "Cluster"),
    );
    kcp.put(
        &platform,
        &export(group, "ephemeralwebhooks", &json!({"crd": {}}), &json!([claim])),
    );
    let mut accepted = claim.clone();
    accepted["state"] = "Accepted".into();
    let url = format!("/services/apiexport/{platform}/{group}/clusters/*/apis");
    let unserved = format!("{url}/ephemeral.contrib.kcp.io/v1/ephemeralwebhooks");
    let unserved: Value = kcp.shard_client(0, &kcp.admin()).get(&unserved).await.unwrap().json();
    assert_eq!((&unserved["items"], unserved.get("metadata")), (&json!([]), None));
    for provider in &providers {
        kcp.put(provider, &binding("root:platform", group, &json!([])));
    }
    let own_slice = kcp.get(&platform, "apiexportendpointslices", group).unwrap();
    assert_eq!(own_slice["status"]["endpoints"].as_array().unwrap().len(), 2);
    let admin = kcp.admin();
    let list = |path: &str| {
        let (client, path) = (kcp.shard_client(0, &admin), format!("{url}{path}"));
        async move { client.get(&path).await.unwrap() }
    };
    kcp.put(&providers[0], &schema("one.example.com", "things", "Thing", "Cluster"));
    kcp.put(
        &providers[0],
        &export("one.example.com", "things", &json!({"crd": {}}), &json!([])),
    );
    let webhook =
        json!({"apiVersion": "ephemeral.contrib.kcp.io/v1", "kind": "EphemeralWebhook", "metadata": {"name": "w"}});
    for provider in &providers {
        kcp.put(provider, &webhook);
    }
    let webhooks: Value = list("/ephemeral.contrib.kcp.io/v1/ephemeralwebhooks").await.json();
    assert_eq!(webhooks["items"].as_array().unwrap().len(), 1, "of this shard alone");
    assert_eq!(
        webhooks["items"][0]["metadata"]["annotations"]["kcp.io/cluster"],
        *providers[0]
    );
    let exports: Value = list("/apis.kcp.io/v1alpha2/apiexports").await.json();
    assert_eq!(exports["items"], json!([]), "the claim is not accepted yet");
    kcp.put(&providers[0], &binding("root:platform", group, &json!([accepted])));
    let exports: Value = list("/apis.kcp.io/v1alpha2/apiexports").await.json();
    assert_eq!(exports["items"][0]["metadata"]["name"], "one.example.com");
    for name in ["w1", "w2"] {
        let mut more = webhook.clone();
        more["metadata"]["name"] = name.into();
        kcp.put(&providers[0], &more);
    }
    let mut names = Vec::new();
    let mut next = String::new();
    loop {
        let query = format!("?limit=2&continue={next}");
        let page: Value = list(&format!("/ephemeral.contrib.kcp.io/v1/ephemeralwebhooks{query}"))
            .await
            .json();
        let items = page["items"].as_array().unwrap();
        names.push(
            items
                .iter()
                .map(|item| item["metadata"]["name"].clone())
                .collect::<Vec<_>>(),
        );
        page["metadata"]["continue"].as_str().unwrap().clone_into(&mut next);
        if next.is_empty() {
            break;
        }
    }
    assert_eq!(names, [vec!["w", "w1"], vec!["w2"]]);
    assert_eq!(
        list("/apis.kcp.io/v1alpha1/apiresourceschemas").await.status,
        StatusCode::NOT_FOUND,
        "not claimed"
    );
}

#[tokio::test]
async fn a_watch_tells_changes_bookmarks_and_the_end_of_the_past() {
    let kcp = FakeKcp::start().await;
    let one = kcp.workspace("root:one", 0);
    let things = schema("one.example.com", "things", "Thing", "Cluster");
    kcp.put(&one, &things);
    let client = kcp.client(&kcp.admin());
    let path = "/clusters/root:one/apis/apis.kcp.io/v1alpha1/apiresourceschemas";
    let list: Value = client.get(path).await.unwrap().json();
    let revision = list["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let watch = format!("{path}?watch=1&resourceVersion={revision}&allowWatchBookmarks=true&timeoutSeconds=20");
    let events = tokio::spawn({
        let client = client.clone();
        let watch = watch.clone();
        async move { client.get(&watch).await.unwrap().text() }
    });
    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    let mut changed = things.clone();
    changed["spec"]["names"]["plural"] = "others".into();
    kcp.put(&one, &changed);
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert!(kcp.delete(&one, "apiresourceschemas", "v1.things.one.example.com"));
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    kcp.compact(0);
    let text = events.await.unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    kinds.dedup();
    assert_eq!(kinds, ["BOOKMARK", "MODIFIED", "DELETED", "ERROR"]);
    assert_eq!(events.last().unwrap()["object"]["code"], 410);
    let again = client.get(&watch).await.unwrap().text();
    assert!(again.contains("410"), "{again}");
}

#[tokio::test]
async fn writes_conflict_and_nothing_changes_without_a_difference() {
    let kcp = FakeKcp::start().await;
    kcp.workspace("root:one", 1);
    let client = kcp.client(&kcp.user("kcp-ephemeral", &["system:kcp:admin"]));
    let leases = "/clusters/root:one/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let send = |method: Method, path: String, kind: &'static str, body: Value| {
        let client = client.clone();
        async move {
            let request = request(method, &path, &[("content-type", kind)], body.to_string()).unwrap();
            client.send(request).await.unwrap()
        }
    };
    let lease = json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}});
    let created = send(Method::POST, leases.to_owned(), "application/json", lease.clone()).await;
    assert_eq!(created.status, StatusCode::CREATED);
    let created: Value = created.json();
    let twice = send(Method::POST, leases.to_owned(), "application/json", lease).await;
    assert_eq!(
        (twice.status, twice.json::<Value>()["reason"].clone()),
        (StatusCode::CONFLICT, json!("AlreadyExists"))
    );
    let merge = "application/merge-patch+json";
    let lease_path = format!("{leases}/l");
    let version = created["metadata"]["resourceVersion"].clone();
    let takeover = json!({"metadata": {"resourceVersion": version}, "spec": {"holderIdentity": "b"}});
    let patched = send(Method::PATCH, lease_path.clone(), merge, takeover.clone()).await;
    assert_eq!(patched.json::<Value>()["spec"]["holderIdentity"], "b");
    let stale = send(Method::PATCH, lease_path.clone(), merge, takeover).await;
    assert_eq!(
        (stale.status, stale.json::<Value>()["reason"].clone()),
        (StatusCode::CONFLICT, json!("Conflict"))
    );
    let same = send(
        Method::PATCH,
        lease_path,
        merge,
        json!({"spec": {"holderIdentity": "b"}}),
    )
    .await;
    let version = |answer: &Answer| answer.json::<Value>()["metadata"]["resourceVersion"].clone();
    assert_eq!(version(&same), version(&patched));
    assert_eq!(kcp.asked().len(), 5);
    assert_eq!(kcp.writes_of("kcp-ephemeral"), [], "Leases are not counted");
}

#[tokio::test]
async fn a_user_has_the_rights_of_the_roles_of_workspace_and_shard() {
    let kcp = Arc::new(FakeKcp::start().await);
    kcp.workspace("root:one", 1);
    let user = kcp.user("kcp-ephemeral", &[]);
    let path = "/clusters/root:one/apis/apis.kcp.io/v1alpha2/apibindings";
    let status = || async { kcp.client(&user).get(path).await.unwrap().status };
    assert_eq!(status().await, StatusCode::FORBIDDEN);
    let admin = kcp.shard_client(1, &kcp.user("shard-admin", &["system:masters"]));
    let rules = json!([
        {"nonResourceURLs": ["/"], "verbs": ["access"]},
        {"apiGroups": ["apis.kcp.io"], "resources": ["apibindings"], "verbs": ["list"]},
    ]);
    let role = json!({"metadata": {"name": "r"}, "rules": rules});
    let binding = json!({
        "metadata": {"name": "r"}, "roleRef": {"kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "name": "kcp-ephemeral"}],
    });
    for (plural, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
        let path = format!("/clusters/system:admin/apis/rbac.authorization.k8s.io/v1/{plural}");
        let answer = admin.post_json(&path, object.to_string()).await.unwrap();
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text());
    }
    assert_eq!(status().await, StatusCode::OK);
    kcp.set_policy(|question| (question.verb == "list").then_some(false));
    assert_eq!(status().await, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn shards_go_away_and_workspaces_move() {
    let kcp = FakeKcp::start().await;
    let one = kcp.workspace("root:one", 0);
    kcp.put(&one, &schema("one.example.com", "things", "Thing", "Cluster"));
    let client = kcp.client(&kcp.admin());
    let path = format!("/clusters/{one}/apis/apis.kcp.io/v1alpha1/apiresourceschemas/v1.things.one.example.com");
    let before: Value = client.get(&path).await.unwrap().json();
    kcp.set_away(0, true);
    assert_eq!(client.get(&path).await.unwrap().status, StatusCode::BAD_GATEWAY);
    assert!(kcp.shard_client(0, &kcp.admin()).get(&path).await.is_err());
    kcp.move_workspace(&one, 1);
    let after: Value = client.get(&path).await.unwrap().json();
    assert_eq!(before["metadata"]["uid"], after["metadata"]["uid"]);
    assert_ne!(
        before["metadata"]["resourceVersion"],
        after["metadata"]["resourceVersion"]
    );
    kcp.set_away(0, false);
    assert_eq!(
        kcp.shard_client(0, &kcp.admin()).get(&path).await.unwrap().status,
        StatusCode::FORBIDDEN
    );
}
