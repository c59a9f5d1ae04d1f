//! What the etcd that is embedded in a shard holds.

use std::net::Ipv4Addr;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::client::Client;
use crate::pki::Identity;

/// The keys that begin with `prefix`. `dir` is the directory of the etcd, `port` its client port.
///
/// Asked through etcd's gRPC gateway, which takes JSON.
pub(super) async fn keys(dir: &Path, port: u16, prefix: &str) -> Vec<String> {
    let read = |name: &str| std::fs::read_to_string(dir.join("secrets").join(name)).expect("a file of etcd");
    let identity = Identity {
        cert_pem: read("client/cert.pem"),
        key_pem: read("client/key.pem"),
    };
    let address = (Ipv4Addr::LOCALHOST, port).into();
    let client = Client::trusting(address, &read("ca/cert.pem")).with_identity(&identity);
    let range = json!({
        "key": BASE64_STANDARD.encode(prefix),
        "range_end": BASE64_STANDARD.encode(end_of(prefix)),
        "keys_only": true,
    });
    let answer = client.post_json("/v3/kv/range", range.to_string()).await;
    let answer = answer.expect("etcd answers");
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer: Value = answer.json();
    let keys = answer["kvs"].as_array().into_iter().flatten();
    keys.map(|kv| {
        let key = BASE64_STANDARD.decode(kv["key"].as_str().expect("a key"));
        String::from_utf8(key.expect("base64")).expect("kcp's keys are text")
    })
    .collect()
}

/// The first key after all that begin with `prefix`.
fn end_of(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    *end.last_mut().expect("a prefix") += 1;
    end
}
