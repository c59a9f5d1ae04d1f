//! Every field that a value validation speaks of must be part of the structure
//! (`validateStructuralCompleteness` of the apiextensions API server).

use super::{Logic, Node};
use crate::field::Path;
use crate::problem::Problem;
use crate::value::deeper;

/// Checks a whole schema.
pub(super) fn check(root: &Node, path: &Path<'_>, problems: &mut Vec<Problem>) {
    check_logic(root.logic.as_deref(), root, path, problems);
}

fn check_logic(logic: Option<&Logic>, structure: &Node, path: &Path<'_>, problems: &mut Vec<Problem>) {
    let Some(logic) = logic else { return };
    if let Some(not) = &logic.not {
        check_nested(not, structure, &path.child("not"), problems);
    }
    for (keyword, nodes) in [
        ("allOf", &logic.all_of),
        ("anyOf", &logic.any_of),
        ("oneOf", &logic.one_of),
    ] {
        let path = path.child(keyword);
        for (i, node) in nodes.iter().enumerate() {
            check_nested(node, structure, &path.index(i), problems);
        }
    }
}

fn check_nested(node: &Node, structure: &Node, path: &Path<'_>, problems: &mut Vec<Problem>) {
    deeper(|| {
        check_logic(node.logic.as_deref(), structure, path, problems);
        if let Some(items) = &node.items {
            let path = path.child("items");
            check_counterpart(items, structure.items.as_deref(), &path, problems);
        }
        let path = path.child("properties");
        for (name, property) in &node.properties {
            check_counterpart(property, structure.property(name), &path.key(name), problems);
        }
    });
}

fn check_counterpart(node: &Node, structure: Option<&Node>, path: &Path<'_>, problems: &mut Vec<Problem>) {
    match structure {
        Some(structure) => check_nested(node, structure, path, problems),
        None => problems.push(Problem::not_structural(
            path,
            "must be part of the structure of the schema too",
        )),
    }
}
