//! What Kubernetes checks about literals once types are known (`cel/validator.go`, `ext/formatting.go`).

use std::collections::BTreeSet;

use super::{Checked, Reference};
use crate::cel::ast::{Ast, Node, NodeId};
use crate::cel::functions::format_string::{Clause, parse_format};
use crate::cel::types::Type;
use crate::cel::value::Value;
use crate::regexp;

/// Refuses lists and maps of mixed types, patterns that are none, and calls of `format` whose arguments do not fit.
///
/// Literals of durations and timestamps are converted, and refused, when the expression is planned.
pub(super) fn validate(ast: &Ast, checked: &Checked<'_>, errors: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    let mut next = vec![(ast.root(), false)];
    while let Some((id, in_format)) = next.pop() {
        if !seen.insert((id, in_format)) {
            continue;
        }
        let mut inner = in_format;
        match ast.node(id) {
            Node::List { items } if !in_format => {
                homogeneous(checked, items.iter().map(|(item, optional)| (*item, *optional)), errors);
            }
            Node::Map { entries } if !in_format => {
                homogeneous(checked, entries.iter().map(|entry| (entry.key, false)), errors);
                homogeneous(
                    checked,
                    entries.iter().map(|entry| (entry.value, entry.optional)),
                    errors,
                );
            }
            Node::Call { function, target, args } => {
                inner |= &**function == "format";
                if &**function == "matches" {
                    pattern(ast, args, errors);
                }
                if let Some(target) = target
                    && is_string_format(checked, id)
                {
                    format_call(ast, checked, *target, args, errors);
                }
            }
            _ => {}
        }
        next.extend(ast.children(id).into_iter().map(|child| (child, inner)));
    }
}

fn homogeneous(checked: &Checked<'_>, items: impl Iterator<Item = (NodeId, bool)>, errors: &mut Vec<String>) {
    let mut first: Option<Type> = None;
    for (item, optional) in items {
        let mut ty = checked.ty(item).clone();
        if optional {
            ty = ty.unwrap_optional().0;
        }
        match &first {
            None => first = Some(ty),
            Some(first) if !first.is_equivalent(&ty) => {
                errors.push(format!("expected type '{first}' but found '{ty}'"));
                return;
            }
            Some(_) => {}
        }
    }
}

/// cel-go looks at the first argument, which is the pattern only of a member call.
fn pattern(ast: &Ast, args: &[NodeId], errors: &mut Vec<String>) {
    let Some(first) = args.first() else { return };
    if let Node::Literal(Value::String(text)) = ast.node(*first)
        && regexp::check(text.as_str()).is_err()
    {
        errors.push("invalid matches argument".to_owned());
    }
}

fn is_string_format(checked: &Checked<'_>, id: NodeId) -> bool {
    match checked.reference(id) {
        Some(Reference::Function { overloads, .. }) => overloads.iter().any(|overload| overload.id == "string_format"),
        _ => false,
    }
}

/// A constant format string with a list literal is checked clause by clause.
fn format_call(ast: &Ast, checked: &Checked<'_>, target: NodeId, args: &[NodeId], errors: &mut Vec<String>) {
    let (Node::Literal(Value::String(format)), [args]) = (ast.node(target), args) else {
        return;
    };
    let Node::List { items } = ast.node(*args) else { return };
    let mut used = 0;
    let checked_clauses = parse_format(format.as_str(), |clause| {
        let (item, _) = items.get(used).ok_or_else(|| format!("index {used} out of range"))?;
        used += 1;
        fits(ast, checked, clause, *item)?;
        Ok(String::new())
    });
    match checked_clauses {
        Err(error) => errors.push(error),
        Ok(_) if items.len() > used => errors.push(format!(
            "too many arguments supplied to string.format (expected {used}, got {})",
            items.len()
        )),
        Ok(_) => {}
    }
}

fn fits(ast: &Ast, checked: &Checked<'_>, clause: Clause, id: NodeId) -> Result<(), String> {
    let ty = checked.ty(id);
    let fits = match (clause, ty) {
        (_, Type::Dyn)
        | (Clause::Decimal | Clause::Octal, Type::Int | Type::Uint)
        | (Clause::Fixed(_) | Clause::Scientific(_), Type::Double | Type::String)
        | (Clause::Binary, Type::Int | Type::Uint | Type::Bool)
        | (Clause::Hex { .. }, Type::Int | Type::Uint | Type::String | Type::Bytes) => true,
        (
            Clause::String,
            Type::List(_)
            | Type::Map(..)
            | Type::Int
            | Type::Uint
            | Type::Double
            | Type::Bool
            | Type::String
            | Type::Timestamp
            | Type::Bytes
            | Type::Duration
            | Type::Type(_)
            | Type::Null,
        ) => {
            for child in match ast.node(id) {
                Node::List { .. } | Node::Map { .. } => ast.children(id),
                _ => Vec::new(),
            } {
                fits_inside(ast, checked, child)?;
            }
            true
        }
        _ => false,
    };
    if fits { Ok(()) } else { Err(clause.mismatch(ty.name())) }
}

/// Elements of a literal, checked as the whole is.
fn fits_inside(ast: &Ast, checked: &Checked<'_>, id: NodeId) -> Result<(), String> {
    crate::value::deeper(|| fits(ast, checked, Clause::String, id))
}
