//! What a provider, a consumer or a shard that means ill may try, and gets nothing by.

use ephemeral_testing::client::Answer;
use ephemeral_testing::pki::Identity;
use ephemeral_testing::webhook::{Reply, Webhook};
use http::StatusCode;
use serde_json::{Value, json};

use super::installation::{
    ATTACKER, CONSUMERS, GROUP, Installation, Kubectl, RESOURCE, SLICE, export, question, schema,
};

/// Asks the server itself, in the way of a shard.
async fn ask(
    installation: &Installation,
    identity: Option<&Identity>,
    cluster: &str,
    caller: &[(&str, &str)],
) -> Answer {
    let path = format!(
        "/services/ephemeral/{}/{GROUP}/clusters/{cluster}/apis/{GROUP}/v1/namespaces/default/{RESOURCE}",
        installation.provider
    );
    let client = installation.server();
    let client = match identity {
        Some(identity) => client.with_identity(identity),
        None => client,
    };
    let headers = [&[("content-type", "application/json")], caller].concat();
    client
        .post(&path, &headers, question().to_string())
        .await
        .expect("an answer")
}

const ADMIN: [(&str, &str); 3] = [
    ("x-remote-user", "kcp-admin"),
    ("x-remote-group", "system:kcp:admin"),
    ("x-remote-group", "system:authenticated"),
];

/// And what they ask for is asked of kcp: the caller's scopes, and the consumer's binding.
pub(crate) async fn only_what_is_listed_may_connect(installation: &Installation) {
    let kcp = &installation.kcp;
    let [near, far] = &installation.consumers;
    let shard = Some(kcp.shard_identity(1));
    let hops = [("x-kcp-virtual-resource-hops", "1")];
    let admin = [&ADMIN[..], &hops].concat();
    let status = async |identity: Option<&Identity>, cluster: &str, caller: &[(&str, &str)]| {
        ask(installation, identity, cluster, caller).await.status.as_u16()
    };
    assert_eq!(status(shard, far, &admin).await, 201);
    assert_eq!(status(shard, far, &hops).await, 403, "a shard by itself");
    assert_eq!(status(shard, &installation.attacker, &admin).await, 403, "no binding");
    assert_eq!(
        status(shard, far, &[("x-remote-user", "nobody")]).await,
        403,
        "no rights"
    );
    assert_eq!(status(None, far, &admin).await, 401, "no certificate");
    let unlisted = kcp.user("kcp-shard-7", &["system:masters"]);
    assert_eq!(
        status(Some(&unlisted), far, &admin).await,
        403,
        "a shard that is not listed"
    );
    for (scope, expected) in [(far, 201), (near, 403)] {
        let scope = format!("cluster:{scope}");
        let scoped = [("x-remote-extra-authentication.kcp.io%2fscopes", scope.as_str())];
        assert_eq!(
            status(shard, far, &[&admin[..], &scoped].concat()).await,
            expected,
            "{scope}"
        );
    }
}

/// The installation's own front-proxy brings the caller along where a caller comes to it, and not where a shard does.
pub(crate) async fn a_front_proxy_may_ask_but_not_without_a_caller(installation: &Installation) {
    let kcp = &installation.kcp;
    let path = format!(
        "/services/ephemeral/{}/{GROUP}/clusters/{}/apis/{GROUP}/v1/namespaces/default/{RESOURCE}",
        installation.provider, installation.consumers[1]
    );
    let post = async |user: &Identity| {
        kcp.client(user)
            .post_json(&path, question().to_string())
            .await
            .expect("an answer")
    };
    let answer = post(&kcp.admin()).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    assert_eq!(post(&kcp.user("nobody", &[])).await.status, 403);
    let answer = post(kcp.shard_identity(1)).await;
    assert_eq!(answer.status, 403, "{}", answer.text());
    assert!(answer.text().contains("direct"), "{}", answer.text());
}

/// A workspace whose admin may write anything there. It exports the same group itself, and is bound to that.
///
/// Its slice leads to a sink whenever it leads nowhere else, so that it is known what a request has followed.
struct Attacker<'a> {
    installation: &'a Installation,
    sink: Webhook,
    mallory: Identity,
    kubectl: Kubectl,
}

impl<'a> Attacker<'a> {
    async fn new(installation: &'a Installation) -> Self {
        let mallory = installation.admit("mallory", ATTACKER).await;
        let kubectl = installation.user(&mallory, ATTACKER);
        for object in [schema(), export(), slice(None)] {
            kubectl.ok(&["create", "-f", "-"], &object).await;
        }
        let sink = Webhook::builder(installation.kcp.serving_ca().server(&["localhost"]));
        let sink = sink.start(|_| Reply::json(StatusCode::IM_A_TEAPOT, &json!({}))).await;
        let this = Self {
            installation,
            sink,
            mallory,
            kubectl,
        };
        this.lead_to(&this.sink.url("")).await;
        installation.bind(ATTACKER, ATTACKER).await;
        this.answer(&this.mallory, &[], true).await;
        this
    }

    async fn lead_to(&self, url: &str) {
        let apply = [
            "apply",
            "--server-side",
            "--subresource=status",
            "--field-manager=mallory",
            "-f",
            "-",
        ];
        self.kubectl.ok(&apply, &slice(Some(url))).await;
    }

    /// What a create is answered with, once it comes to the sink, or once it does not.
    async fn answer(&self, user: &Identity, headers: &[(&str, &str)], by_sink: bool) -> Answer {
        let path = format!("/clusters/{ATTACKER}/apis/{GROUP}/v1/namespaces/default/{RESOURCE}");
        let headers = [&[("content-type", "application/json")], headers].concat();
        let client = self.installation.kcp.client(user);
        self.installation
            .until("the shard follows the slice", async || {
                let answer = client.post(&path, &headers, question().to_string()).await;
                let answer = answer.map_err(|error| format!("{error:#}"))?;
                if (answer.status == StatusCode::IM_A_TEAPOT) == by_sink {
                    Ok(answer)
                } else {
                    Err(answer.text())
                }
            })
            .await
    }

    /// What a create comes to that follows `url`.
    async fn attack(&self, user: &Identity, headers: &[(&str, &str)], url: &str) -> Answer {
        self.lead_to(url).await;
        let answer = self.answer(user, headers, false).await;
        self.lead_to(&self.sink.url("")).await;
        self.answer(&self.mallory, &[], true).await;
        super::note(&format!("{url}: {} {}", answer.status, answer.text().trim()));
        answer
    }

    /// That the path says what the provider's text says: without it the attacks would prove nothing.
    async fn learns_what_is_sent(&self) {
        let me = format!("/clusters/{}", self.installation.attacker);
        let path = format!("/apis/{GROUP}/v1/namespaces/default/{RESOURCE}");
        for (suffix, sent) in [
            ("/0001", format!("/0001{me}{path}")),
            ("/0002/x#", format!("/0002/x{path}")),
            ("/0003/x?a=b", format!("/0003/x{path}?a=b{me}")),
            ("/0004/x/..", format!("/0004/x/..{me}{path}")),
            ("/0005/x/%2e%2e", format!("/0005/x/%2e%2e{me}{path}")),
            ("/0006//x//", format!("/0006//x//{me}{path}")),
            ("/0007/a%2fb", format!("/0007/a%2fb{me}{path}")),
        ] {
            assert_eq!(self.sent(suffix).await, sent, "{suffix}");
        }
    }

    /// The path and query that a shard sends to whom the entry `<sink><suffix>` leads.
    async fn sent(&self, suffix: &str) -> String {
        self.lead_to(&self.sink.url(suffix)).await;
        let marker = &suffix[..5];
        self.installation
            .until("the sink is asked", async || {
                self.answer(&self.mallory, &[], true).await;
                let uri = self.sink.recorded().last().expect("it answered").uri.clone();
                let uri = uri.path_and_query().expect("a path").to_string();
                if uri.starts_with(marker) { Ok(uri) } else { Err(uri) }
            })
            .await
    }
}

fn slice(url: Option<&str>) -> Value {
    let mut slice = json!({
        "apiVersion": "apis.kcp.io/v1alpha1", "kind": "APIExportEndpointSlice", "metadata": {"name": SLICE},
    });
    match url {
        Some(url) => slice["status"] = json!({"endpoints": [{"url": url, "shards": {"matchAll": true}}]}),
        None => slice["spec"] = json!({"export": {"path": ATTACKER, "name": GROUP}}),
    }
    slice
}

pub(crate) async fn a_slice_that_leads_elsewhere_gets_nothing(installation: &Installation) {
    let attacker = Attacker::new(installation).await;
    attacker.learns_what_is_sent().await;
    let calls = installation.webhook.recorded().len();
    let [victim, _] = &installation.consumers;
    let base = installation.endpoint();
    let services = format!("https://127.0.0.1:{}/services/ephemeral", installation.port);
    let (own, provider) = (&installation.attacker, &installation.provider);
    let urls = [
        base.clone(),
        format!("{base}/clusters/{victim}#"),
        format!("{base}/clusters/{victim}?x="),
        format!("{base}/clusters/{victim}/apis/{GROUP}/v1/namespaces/default/{RESOURCE}#"),
        format!("{base}/clusters/{victim}/apis/other.example.com/v1#"),
        format!("{base}/clusters/{victim}/.."),
        format!("{base}/clusters/{victim}/%2e%2e"),
        format!("{base}/clusters/{victim}//"),
        format!("{base}/clusters/*#"),
        format!("{base}/clusters/%2A#"),
        format!("{services}/{own}/../{provider}/{GROUP}"),
        format!("{services}/{own}/%2e%2e/{provider}/{GROUP}"),
        format!("{services}//{provider}/{GROUP}"),
        format!("{services}/{provider}%2f{GROUP}"),
        format!("{services}/{own}/{GROUP}"),
    ];
    for url in &urls {
        let answer = attacker.attack(&attacker.mallory, &[], url).await;
        assert!(
            answer.status.is_client_error(),
            "{url}: {} {}",
            answer.status,
            answer.text()
        );
    }
    // Who may do everything everywhere: the attacker's workspace is bound to another export of the same name.
    let admin = installation.kcp.admin();
    let answer = attacker.attack(&admin, &[], &base).await;
    assert_eq!(answer.status, 403, "{}", answer.text());
    // Impersonating whom the victim trusts is a right of the workspace's admin, and ends at its border.
    installation.admit("harriet", CONSUMERS[0]).await;
    let impersonate = [("impersonate-user", "harriet")];
    let answer = attacker
        .attack(&attacker.mallory, &impersonate, &format!("{base}/clusters/{victim}#"))
        .await;
    assert!(
        answer.status == 403 && answer.text().contains("access denied"),
        "{}",
        answer.text()
    );
    // By the front-proxy the caller gets lost.
    let front = format!("{}/services/ephemeral/{provider}/{GROUP}", installation.kcp.url());
    let answer = attacker.attack(&admin, &[], &front).await;
    assert!(
        answer.status == 403 && answer.text().contains("direct"),
        "{}",
        answer.text()
    );
    assert_eq!(installation.webhook.recorded().len(), calls, "no webhook was called");
    installation.answered(CONSUMERS[1]).await;
}
