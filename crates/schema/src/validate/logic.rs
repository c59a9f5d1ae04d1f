//! `anyOf`, `oneOf`, `allOf` and `not`: kube-openapi's `schemaPropsValidator`.

use super::outcome::Outcome;
use super::walk::{Target, Walk};
use crate::field::Path;
use crate::go;
use crate::node::{Logic, Node};

impl Walk {
    pub(super) fn logic(&mut self, logic: &Logic, target: Target<'_>, path: &Path<'_>, out: &mut Outcome) {
        if !logic.any_of.is_empty() {
            self.any_of(&logic.any_of, target, path, out);
        }
        if !logic.one_of.is_empty() {
            self.one_of(&logic.one_of, target, path, out);
        }
        if !logic.all_of.is_empty() {
            self.all_of(&logic.all_of, target, path, out);
        }
        if let Some(not) = &logic.not
            && self.alone(not, target, path).is_valid()
        {
            self.fail_logic(path, "must not validate the schema (not)", out);
        }
    }

    fn alone(&mut self, node: &Node, target: Target<'_>, path: &Path<'_>) -> Outcome {
        let mut out = Outcome::default();
        self.apply(node, target, path, &mut out);
        out
    }

    fn fail_logic(&mut self, path: &Path<'_>, must: &str, out: &mut Outcome) {
        let message = format!("{} {must}", go::quote(&path.joined()));
        self.limits.fail_whole(out, message);
    }

    fn any_of(&mut self, nodes: &[Node], target: Target<'_>, path: &Path<'_>, out: &mut Outcome) {
        let mut best: Option<Outcome> = None;
        for node in nodes {
            let found = self.alone(node, target, path);
            if found.is_valid() {
                out.merge(found);
                return;
            }
            keep_better(&mut best, found);
        }
        self.fail_logic(path, "must validate at least one schema (anyOf)", out);
        if let Some(best) = best {
            out.merge(best);
        }
    }

    fn one_of(&mut self, nodes: &[Node], target: Target<'_>, path: &Path<'_>, out: &mut Outcome) {
        let mut best: Option<Outcome> = None;
        let mut first_valid: Option<Outcome> = None;
        let mut valid = 0_usize;
        for node in nodes {
            let found = self.alone(node, target, path);
            if found.is_valid() {
                valid += 1;
                best = None;
                first_valid.get_or_insert(found);
            } else if valid == 0 {
                keep_better(&mut best, found);
            }
        }
        match (valid, first_valid) {
            (1, Some(found)) => {
                out.merge(found);
                return;
            }
            (0, _) => {
                let must = "must validate one and only one schema (oneOf). Found none valid";
                self.fail_logic(path, must, out);
            }
            _ => {
                let must = format!("must validate one and only one schema (oneOf). Found {valid} valid alternatives");
                self.fail_logic(path, &must, out);
            }
        }
        if let Some(best) = best {
            out.merge(best);
        }
    }

    fn all_of(&mut self, nodes: &[Node], target: Target<'_>, path: &Path<'_>, out: &mut Outcome) {
        let mut valid = 0;
        for node in nodes {
            let found = self.alone(node, target, path);
            valid += usize::from(found.is_valid());
            out.merge(found);
        }
        if valid != nodes.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            self.fail_logic(path, &format!("must validate all the schemas (allOf){none}"), out);
        }
    }
}

/// Of equally good matches the first is kept.
fn keep_better(best: &mut Option<Outcome>, found: Outcome) {
    if best.as_ref().is_none_or(|best| found.matches > best.matches) {
        *best = Some(found);
    }
}
