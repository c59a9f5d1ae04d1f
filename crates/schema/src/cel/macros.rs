//! Macros that the parser does not expand: comprehensions with two variables, optionals and `sortBy`.
//!
//! Each expands to what it expands to in cel-go (`ext/comprehensions.go`, `cel/library.go`, `ext/lists.go`), since
//! cost is charged for the expansion.

use super::ast::{Ast, Comprehension, Node, NodeId};

/// The accumulator of the parser's own macros; no expression can name it.
const ACCUMULATOR: &str = "@result";
/// The variable of a fold over nothing, which binds its accumulator.
const UNUSED: &str = "#unused";
/// What `sortBy` binds its list to.
const SORT_INPUT: &str = "@__sortBy_input__";

/// Expands `target.function(args)`, if that is a macro.
pub(crate) fn expand(ast: &mut Ast, target: NodeId, function: &str, args: &[NodeId]) -> Option<Result<NodeId, String>> {
    match (function, args) {
        (
            "all" | "exists" | "exists_one" | "existsOne" | "transformList" | "transformMap" | "transformMapEntry",
            [first, second, rest @ ..],
        ) if rest.len() == 1 || rest.len() == 2 && function.starts_with("transform") => {
            Some(two_variables(ast, target, function, (*first, *second), rest))
        }
        ("optMap" | "optFlatMap", [variable, value]) => Some(optional(ast, target, function, *variable, *value)),
        ("sortBy", [variable, key]) => Some(sort_by(ast, target, *variable, *key)),
        _ => None,
    }
}

fn simple_name(ast: &Ast, id: NodeId) -> Option<Box<str>> {
    match ast.node(id) {
        Node::Ident(name) => Some(name.clone()),
        _ => None,
    }
}

fn two_variables(
    ast: &mut Ast,
    target: NodeId,
    function: &str,
    (first, second): (NodeId, NodeId),
    rest: &[NodeId],
) -> Result<NodeId, String> {
    let (Some(variable), Some(second_variable)) = (simple_name(ast, first), simple_name(ast, second)) else {
        return Err("argument must be a simple name".to_owned());
    };
    if variable == second_variable {
        return Err(format!("duplicate variable name: {variable}"));
    }
    if [&variable, &second_variable]
        .iter()
        .any(|name| &***name == "__result__")
    {
        return Err("iteration variable overwrites accumulator variable".to_owned());
    }
    let body = *rest.last().unwrap_or(&second);
    let filter = (rest.len() == 2).then(|| rest[0]);
    let parts = match function {
        "all" => all(ast, body),
        "exists" => exists(ast, body),
        "transformList" => transform_list(ast, filter, body),
        "transformMap" => {
            let key = ast.ident(&variable);
            transform_map(ast, filter, &[key, body])
        }
        "transformMapEntry" => transform_map(ast, filter, &[body]),
        _ => exists_one(ast, body),
    };
    Ok(ast.add(Node::Comprehension(Box::new(Comprehension {
        range: target,
        variable,
        second_variable: Some(second_variable),
        accumulator: ACCUMULATOR.into(),
        init: parts.init,
        condition: parts.condition,
        step: parts.step,
        result: parts.result,
    }))))
}

/// The parts of a fold that differ between macros.
struct Parts {
    init: NodeId,
    condition: NodeId,
    step: NodeId,
    result: NodeId,
}

fn all(ast: &mut Ast, predicate: NodeId) -> Parts {
    let init = ast.literal(true);
    let so_far = ast.ident(ACCUMULATOR);
    let condition = ast.call("@not_strictly_false", [so_far]);
    let so_far = ast.ident(ACCUMULATOR);
    let step = ast.call("_&&_", [so_far, predicate]);
    let result = ast.ident(ACCUMULATOR);
    Parts {
        init,
        condition,
        step,
        result,
    }
}

fn exists(ast: &mut Ast, predicate: NodeId) -> Parts {
    let init = ast.literal(false);
    let so_far = ast.ident(ACCUMULATOR);
    let not = ast.call("!_", [so_far]);
    let condition = ast.call("@not_strictly_false", [not]);
    let so_far = ast.ident(ACCUMULATOR);
    let step = ast.call("_||_", [so_far, predicate]);
    let result = ast.ident(ACCUMULATOR);
    Parts {
        init,
        condition,
        step,
        result,
    }
}

fn exists_one(ast: &mut Ast, predicate: NodeId) -> Parts {
    let init = ast.literal(0i64);
    let condition = ast.literal(true);
    let so_far = ast.ident(ACCUMULATOR);
    let one = ast.literal(1i64);
    let more = ast.call("_+_", [so_far, one]);
    let same = ast.ident(ACCUMULATOR);
    let step = ast.call("_?_:_", [predicate, more, same]);
    let count = ast.ident(ACCUMULATOR);
    let one = ast.literal(1i64);
    let result = ast.call("_==_", [count, one]);
    Parts {
        init,
        condition,
        step,
        result,
    }
}

/// `step`, or the accumulator as it is where the filter says no.
fn filtered(ast: &mut Ast, filter: Option<NodeId>, step: NodeId) -> NodeId {
    match filter {
        None => step,
        Some(filter) => {
            let same = ast.ident(ACCUMULATOR);
            ast.call("_?_:_", [filter, step, same])
        }
    }
}

fn transform_list(ast: &mut Ast, filter: Option<NodeId>, transform: NodeId) -> Parts {
    let init = ast.list([]);
    map_parts(ast, init, filter, transform)
}

fn map_parts(ast: &mut Ast, init: NodeId, filter: Option<NodeId>, transform: NodeId) -> Parts {
    let condition = ast.literal(true);
    let so_far = ast.ident(ACCUMULATOR);
    let item = ast.list([transform]);
    let step = ast.call("_+_", [so_far, item]);
    let step = filtered(ast, filter, step);
    let result = ast.ident(ACCUMULATOR);
    Parts {
        init,
        condition,
        step,
        result,
    }
}

fn transform_map(ast: &mut Ast, filter: Option<NodeId>, inserted: &[NodeId]) -> Parts {
    let init = ast.add(Node::Map { entries: Vec::new() });
    let condition = ast.literal(true);
    let mut args = vec![ast.ident(ACCUMULATOR)];
    args.extend(inserted);
    let step = ast.call("cel.@mapInsert", args);
    let step = filtered(ast, filter, step);
    let result = ast.ident(ACCUMULATOR);
    Parts {
        init,
        condition,
        step,
        result,
    }
}

/// A fold over nothing: `value` under a name, for `body`.
fn bind(ast: &mut Ast, name: &str, value: NodeId, body: NodeId) -> NodeId {
    let range = ast.list([]);
    let condition = ast.literal(false);
    let step = ast.ident(name);
    ast.add(Node::Comprehension(Box::new(Comprehension {
        range,
        variable: UNUSED.into(),
        second_variable: None,
        accumulator: name.into(),
        init: value,
        condition,
        step,
        result: body,
    })))
}

fn optional(ast: &mut Ast, target: NodeId, function: &str, variable: NodeId, body: NodeId) -> Result<NodeId, String> {
    let name =
        simple_name(ast, variable).ok_or_else(|| format!("{function}() variable name must be a simple identifier"))?;
    let present = ast.member_call(target, "hasValue", []);
    let value = ast.member_call(target, "value", []);
    let mut mapped = bind(ast, &name, value, body);
    if function == "optMap" {
        mapped = ast.call("optional.of", [mapped]);
    }
    let none = ast.call("optional.none", []);
    Ok(ast.call("_?_:_", [present, mapped, none]))
}

fn sort_by(ast: &mut Ast, target: NodeId, variable: NodeId, key: NodeId) -> Result<NodeId, String> {
    if matches!(
        ast.node(target),
        Node::Literal(_) | Node::Map { .. } | Node::Struct { .. }
    ) {
        return Err(
            "sortBy can only be applied to a list, identifier, comprehension, call or select expression".to_owned(),
        );
    }
    let variable = simple_name(ast, variable).ok_or("argument must be a simple name")?;
    let range = ast.ident(SORT_INPUT);
    let init = ast.list([]);
    let parts = map_parts(ast, init, None, key);
    let keys = ast.add(Node::Comprehension(Box::new(Comprehension {
        range,
        variable,
        second_variable: None,
        accumulator: ACCUMULATOR.into(),
        init: parts.init,
        condition: parts.condition,
        step: parts.step,
        result: parts.result,
    })));
    let input = ast.ident(SORT_INPUT);
    let sorted = ast.member_call(input, "@sortByAssociatedKeys", [keys]);
    Ok(bind(ast, SORT_INPUT, target, sorted))
}
