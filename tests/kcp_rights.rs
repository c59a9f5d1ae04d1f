//! The rights that `manifests` prints are those that `serve` asks for: it gets by with them, and uses every one.

mod support;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use support::installation::{Installation, SERVER, printed};

/// A right: the verb, the API group and the resource.
type Right = (String, String, String);

/// The rights that the roles among some objects grant.
fn granted(objects: &[Value]) -> BTreeSet<Right> {
    let is_role = |object: &&Value| object["kind"] == "ClusterRole" || object["kind"] == "Role";
    let rules = objects
        .iter()
        .filter(is_role)
        .filter_map(|role| role["rules"].as_array());
    let mut rights = BTreeSet::new();
    for rule in rules.flatten() {
        let list = |key: &str| {
            let items = rule[key].as_array().cloned().unwrap_or_default();
            let texts = items.iter().filter_map(Value::as_str).map(str::to_owned);
            texts.collect::<Vec<_>>()
        };
        for group in list("apiGroups") {
            for resource in list("resources") {
                let verbs = list("verbs").into_iter();
                rights.extend(verbs.map(|verb| (verb, group.clone(), resource.clone())));
            }
        }
    }
    rights
}

/// Where an installation does not grant the rights on slices everywhere, each provider does with `--rbac`.
#[tokio::test]
async fn a_provider_can_grant_the_rights_on_slices_itself() {
    let mut installation = Installation::bare().await;
    let mut everywhere = printed(&["shard"]).await;
    for rules in everywhere
        .iter_mut()
        .filter_map(|object| object["rules"].as_array_mut())
    {
        rules.retain(|rule| !rule["resources"].to_string().contains("apiexportendpointslices"));
    }
    installation.grant_everywhere(&everywhere).await;
    installation.apply_manifests().await;
    installation.bind_consumers();
    installation.serve(&[]);
    installation
        .wait_for("EndpointPublished", "False SliceRightsMissing")
        .await;
    for object in printed(&["provider", "--export-path", "root:platform", "--rbac"]).await {
        installation.kcp.put("root:provider", &object);
    }
    installation.wait_for("Ready", "True").await;
    installation.create_until(&installation.consumers[1], 201).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_printed_is_enough_and_all_of_it_is_used() {
    let everything = [printed(&["shard"]).await, printed(&["platform"]).await].concat();
    let granted = granted(&everything);
    assert!(!granted.is_empty());

    let mut installation = Installation::prepare().await;
    let asked: Arc<Mutex<BTreeSet<Right>>> = Arc::default();
    installation.kcp.set_policy({
        let asked = Arc::clone(&asked);
        move |question| {
            if question.user.name == SERVER {
                let right = (question.verb.clone(), question.group.clone(), question.resource.clone());
                asked.lock().unwrap_or_else(PoisonError::into_inner).insert(right);
            }
            None
        }
    });
    let asked = || asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
    installation.serve(&[]);
    let consumer = installation.consumers[1].clone();
    installation.create_until(&consumer, 201).await;
    installation
        .until("every right is used", async || {
            let asked = asked();
            let unused: Vec<_> = granted.difference(&asked).collect();
            if unused.is_empty() {
                Ok(())
            } else {
                Err(format!("{unused:?}"))
            }
        })
        .await;
    let asked = asked();
    let missing: Vec<_> = asked.difference(&granted).collect();
    assert!(missing.is_empty(), "asked for in vain: {missing:?}");
}
