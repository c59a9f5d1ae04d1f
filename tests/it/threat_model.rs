//! The threat model names tests; they must be there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::root;

/// The functions of all test code below a folder.
fn functions(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            functions(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a source file");
            let tests = ["#[test]", "#[tokio::test"].into_iter();
            let tests = tests.flat_map(|attribute| text.split(attribute).skip(1));
            let names = tests.filter_map(|test| test.split_once("fn ")?.1.split_once('('));
            found.extend(names.map(|(name, _)| name.to_owned()));
        }
    }
}

#[test]
fn each_attack_has_a_test() {
    let mut tests = BTreeSet::new();
    for folder in ["crates", "src", "tests", "examples"] {
        functions(&root().join(folder), &mut tests);
    }
    let text = fs::read_to_string(root().join("docs/threat-model.md")).expect("the threat model");
    let rows = text
        .lines()
        .filter(|line| line.starts_with("| ") && line.ends_with("` |"));
    let mut attacks = 0;
    for row in rows {
        let named = row.rsplit('|').nth(1).expect("a last column");
        for name in named.split(',').map(|name| name.trim().trim_matches('`')) {
            assert!(tests.contains(name), "{name} is no test: {row}");
        }
        attacks += 1;
    }
    assert!(attacks > 40, "{attacks} rows were read");
}
