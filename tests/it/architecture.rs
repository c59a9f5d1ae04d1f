//! The arrows between the crates point one way; this test knows all of them.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

/// What each package of the workspace may depend on, outside of tests. ARCHITECTURE.md says why.
const ARROWS: &[(&str, &[&str])] = &[
    ("ephemeral-review", &[]),
    ("ephemeral-shares", &[]),
    ("structural-schema", &[]),
    ("ephemeral-index", &["structural-schema"]),
    ("ephemeral-webhook-client", &["ephemeral-review", "ephemeral-shares"]),
    (
        "ephemeral-apiserver",
        &[
            "ephemeral-index",
            "ephemeral-review",
            "ephemeral-shares",
            "structural-schema",
        ],
    ),
    ("ephemeral-kcp", &["ephemeral-index"]),
    ("ephemeral-webhook", &["ephemeral-review"]),
    ("bucketinfo", &["ephemeral-webhook"]),
    (
        "kcp-ephemeral",
        &[
            "bucketinfo",
            "ephemeral-apiserver",
            "ephemeral-index",
            "ephemeral-kcp",
            "ephemeral-review",
            "ephemeral-webhook",
            "ephemeral-webhook-client",
            "structural-schema",
        ],
    ),
];

/// Packages that may depend on anything and that nothing depends on but in tests.
const UNPUBLISHED: &[&str] = &["ephemeral-testing", "bench"];

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON")
}

#[test]
fn every_arrow_is_drawn_in_the_architecture() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let workspace: BTreeSet<&str> = packages
        .iter()
        .map(|package| package["name"].as_str().unwrap())
        .collect();
    let mut faults = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap();
        if UNPUBLISHED.contains(&name) {
            continue;
        }
        let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == name) else {
            faults.push(format!("{name} is not in the architecture"));
            continue;
        };
        for dependency in package["dependencies"].as_array().unwrap() {
            let to = dependency["name"].as_str().unwrap();
            let in_tests_only = dependency["kind"] == "dev";
            if workspace.contains(to) && !allowed.contains(&to) && !(in_tests_only && UNPUBLISHED.contains(&to)) {
                faults.push(format!("{name} -> {to}"));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:?}");
}

#[test]
fn structural_schema_the_wire_types_and_shares_stand_alone() {
    for package in metadata()["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        if !["ephemeral-review", "ephemeral-shares", "structural-schema"].contains(&name) {
            continue;
        }
        for dependency in package["dependencies"].as_array().unwrap() {
            let to = dependency["name"].as_str().unwrap();
            assert!(
                !["tokio", "hyper", "http", "kube", "rustls"].contains(&to),
                "{name} -> {to}"
            );
        }
    }
}
