//! Type checking, as cel-go's `checker/checker.go` does it.
//!
//! It settles which overloads a call may mean, which decides what the call costs, and refuses what Kubernetes refuses
//! when a rule is written.

mod literals;
mod unify;

use std::collections::BTreeMap;

use super::ast::{Ast, Comprehension, Entry, FieldEntry, Node, NodeId};
use super::library::{Declaration, Environment, Overload, named_type};
use super::message::Message;
use super::types::Type;
use super::value::Value;
use crate::value::deeper;
use unify::{Mapping, most_general};

/// What a name or call means.
#[derive(Debug)]
pub(crate) enum Reference<'e> {
    /// A variable of the environment.
    Variable(Box<str>),
    /// A variable that a macro declares, by name; the innermost of that name.
    Local(Box<str>),
    /// A type by its name.
    Type(&'static str),
    /// `google.protobuf.NullValue.NULL_VALUE`, the only constant.
    NullValue,
    /// A function and those of its overloads that the types leave.
    Function {
        declaration: &'e Declaration,
        overloads: Vec<&'static Overload>,
        /// Whether the target is part of the function's name rather than an argument.
        qualified: bool,
    },
    /// `operand.?field`
    OptionalSelect,
}

/// What the checker found out.
#[derive(Debug)]
pub(crate) struct Checked<'e> {
    /// Types by node.
    types: Vec<Type>,
    /// Meanings of names and calls by node.
    references: BTreeMap<NodeId, Reference<'e>>,
}

impl<'e> Checked<'e> {
    /// The type of a node.
    pub(crate) fn ty(&self, id: NodeId) -> &Type {
        &self.types[id.index()]
    }

    /// The meaning of a node.
    pub(crate) fn reference(&self, id: NodeId) -> Option<&Reference<'e>> {
        self.references.get(&id)
    }

    /// The overloads that calls mean, where types leave only one.
    #[cfg(test)]
    pub(crate) fn settled_overloads(&self) -> Vec<&'static str> {
        let references = self.references.values();
        references
            .filter_map(|reference| match reference {
                Reference::Function { overloads, .. } => match overloads.as_slice() {
                    [only] => Some(only.id),
                    _ => None,
                },
                _ => None,
            })
            .collect()
    }

    /// Whether a variable of the environment is used.
    pub(crate) fn uses(&self, variable: &str) -> bool {
        self.references
            .values()
            .any(|reference| matches!(reference, Reference::Variable(name) if &**name == variable))
    }
}

/// Checks an expression.
///
/// # Errors
///
/// What is wrong, in cel-go's words.
pub(crate) fn check<'e>(
    ast: &Ast,
    environment: &'e Environment,
    variables: &[(&str, Type)],
) -> Result<Checked<'e>, Vec<String>> {
    let mut checker = Checker {
        ast,
        environment,
        variables,
        scopes: Vec::new(),
        mapping: Mapping::default(),
        types: vec![None; ast.len()],
        references: BTreeMap::new(),
        errors: Vec::new(),
    };
    checker.check(ast.root());
    let types = std::mem::take(&mut checker.types)
        .into_iter()
        .map(|ty| ty.map_or(Type::Dyn, |ty| checker.mapping.substitute(&ty, true)))
        .collect();
    let result = Checked {
        types,
        references: checker.references,
    };
    let mut errors = checker.errors;
    if errors.is_empty() {
        literals::validate(ast, &result, &mut errors);
    }
    if errors.is_empty() { Ok(result) } else { Err(errors) }
}

struct Checker<'c, 'e> {
    ast: &'c Ast,
    environment: &'e Environment,
    variables: &'c [(&'c str, Type)],
    scopes: Vec<Vec<(Box<str>, Type)>>,
    mapping: Mapping,
    types: Vec<Option<Type>>,
    references: BTreeMap<NodeId, Reference<'e>>,
    errors: Vec<String>,
}

impl<'e> Checker<'_, 'e> {
    /// Checks a node once; nodes that macros use twice have one type.
    fn check(&mut self, id: NodeId) -> Type {
        if let Some(ty) = &self.types[id.index()] {
            return ty.clone();
        }
        let ast = self.ast;
        let ty = deeper(|| match ast.node(id) {
            Node::Literal(value) => literal_type(value),
            Node::Ident(name) => self.ident(id, name),
            Node::Select {
                operand,
                field,
                test_only,
            } => self.select(id, *operand, field, *test_only),
            Node::Call { function, target, args } => self.call(id, function, *target, args),
            Node::List { items } => self.list(items),
            Node::Map { entries } => self.map(entries),
            Node::Struct { type_name, fields } => self.message(type_name, fields),
            Node::Comprehension(fold) => self.comprehension(fold),
        });
        self.types[id.index()] = Some(ty.clone());
        ty
    }

    fn error(&mut self, message: String) -> Type {
        self.errors.push(message);
        Type::Error
    }

    fn local(&self, name: &str) -> Option<Type> {
        self.scopes
            .iter()
            .rev()
            .flat_map(|scope| scope.iter().rev())
            .find(|(local, _)| &**local == name)
            .map(|(_, ty)| ty.clone())
    }

    fn global(&mut self, id: NodeId, name: &str) -> Option<Type> {
        let found = self.variables.iter().find(|(variable, _)| *variable == name);
        if let Some((_, ty)) = found {
            self.references.insert(id, Reference::Variable(name.into()));
            return Some(ty.clone());
        }
        if name == "google.protobuf.NullValue.NULL_VALUE" {
            self.references.insert(id, Reference::NullValue);
            return Some(Type::Int);
        }
        let (name, ty) = named_type(name)?;
        self.references.insert(id, Reference::Type(name));
        Some(ty)
    }

    fn ident(&mut self, id: NodeId, name: &str) -> Type {
        if let Some(ty) = self.local(name) {
            self.references.insert(id, Reference::Local(name.into()));
            return ty;
        }
        match self.global(id, name.strip_prefix('.').unwrap_or(name)) {
            Some(ty) => ty,
            None => self.error(format!("undeclared reference to '{name}' (in container '')")),
        }
    }

    fn select(&mut self, id: NodeId, operand: NodeId, field: &str, test_only: bool) -> Type {
        if !test_only
            && let Some(name) = self.ast.qualified_name(id)
            && let Some(root) = name.split('.').next()
            && self.local(root).is_none()
            && let Some(ty) = self.global(id, name.strip_prefix('.').unwrap_or(&name))
        {
            return ty;
        }
        let ty = self.select_field(operand, field, false);
        if test_only {
            Type::Bool
        } else {
            self.mapping.substitute(&ty, false)
        }
    }

    fn select_field(&mut self, operand: NodeId, field: &str, optional: bool) -> Type {
        let operand = self.check(operand);
        let (target, was_optional) = self.mapping.substitute(&operand, false).unwrap_optional();
        let result = match &target {
            Type::Map(_, value) => (**value).clone(),
            Type::Object(object) => match object.fields.get(field) {
                Some(ty) => ty.clone(),
                None => self.error(format!("undefined field '{field}'")),
            },
            Type::Struct(_) => self.error(format!("undefined field '{field}'")),
            Type::Param(_) => {
                self.mapping.assignable(&Type::Dyn, &target);
                Type::Dyn
            }
            Type::Dyn | Type::Error => Type::Dyn,
            other => {
                self.errors
                    .push(format!("type '{other}' does not support field selection"));
                Type::Dyn
            }
        };
        if was_optional || optional {
            Type::optional(result)
        } else {
            result
        }
    }

    fn call(&mut self, id: NodeId, function: &str, target: Option<NodeId>, args: &[NodeId]) -> Type {
        if function == "_?._" {
            return self.optional_select(id, args);
        }
        let mut types: Vec<_> = args.iter().map(|arg| self.check(*arg)).collect();
        let Some(target) = target else {
            let name = function.strip_prefix('.').unwrap_or(function);
            return match self.environment.function(name) {
                Some(declaration) => self.resolve(id, declaration, false, false, &types),
                None => self.error(format!("undeclared reference to '{function}' (in container '')")),
            };
        };
        // `a.b.c()` calls a function `a.b.c`, if there is one, or `c` on `a.b`.
        if let Some(prefix) = self.ast.qualified_name(target) {
            let prefix = prefix.strip_prefix('.').unwrap_or(&prefix);
            if let Some(declaration) = self.environment.function(&format!("{prefix}.{function}")) {
                return self.resolve(id, declaration, false, true, &types);
            }
        }
        types.insert(0, self.check(target));
        match self.environment.function(function) {
            Some(declaration) => self.resolve(id, declaration, true, false, &types),
            None => self.error(format!("undeclared reference to '{function}' (in container '')")),
        }
    }

    fn optional_select(&mut self, id: NodeId, args: &[NodeId]) -> Type {
        let ast = self.ast;
        let [operand, field] = args else {
            return self.error("unsupported optional field selection".to_owned());
        };
        let Node::Literal(Value::String(field)) = ast.node(*field) else {
            return self.error("unsupported optional field selection".to_owned());
        };
        self.references.insert(id, Reference::OptionalSelect);
        let ty = self.select_field(*operand, field.as_str(), true);
        self.mapping.substitute(&ty, false)
    }

    fn resolve(
        &mut self,
        id: NodeId,
        declaration: &'e Declaration,
        member: bool,
        qualified: bool,
        args: &[Type],
    ) -> Type {
        let mut result: Option<Type> = None;
        let mut overloads = Vec::new();
        for overload in &declaration.overloads {
            if overload.member != member {
                continue;
            }
            if matches!(declaration.name, "_&&_" | "_||_") {
                for arg in args {
                    if !self.mapping.assignable(arg, &Type::Bool) {
                        let found = self.mapping.substitute(arg, true);
                        self.errors.push(format!("expected type 'bool' but found '{found}'"));
                        result = Some(Type::Error);
                    }
                }
                overloads.push(*overload);
                result.get_or_insert(Type::Bool);
                break;
            }
            let first = self.mapping.fresh(overload.params());
            let wanted: Vec<_> = overload.args.iter().map(|arg| arg.to_type(first)).collect();
            if !self.mapping.all_assignable(args, &wanted) {
                continue;
            }
            overloads.push(*overload);
            let ty = self.mapping.substitute(&overload.result.to_type(first), false);
            result = Some(match result {
                None => ty,
                Some(previous) if matches!(previous, Type::Dyn) || ty.is(&previous) => previous,
                Some(_) => Type::Dyn,
            });
        }
        let Some(result) = result else {
            let types: Vec<_> = args
                .iter()
                .map(|arg| self.mapping.substitute(arg, true).to_string())
                .collect();
            let signature = match types.split_first() {
                Some((target, args)) if member => format!("{target}.({})", args.join(", ")),
                _ => format!("({})", types.join(", ")),
            };
            return self.error(format!(
                "found no matching overload for '{}' applied to '{signature}'",
                declaration.name
            ));
        };
        self.references.insert(
            id,
            Reference::Function {
                declaration,
                overloads,
                qualified,
            },
        );
        result
    }

    fn list(&mut self, items: &[(NodeId, bool)]) -> Type {
        let mut joined: Option<Type> = None;
        for (item, optional) in items {
            let mut ty = self.check(*item);
            if *optional {
                ty = self.unwrap_mandatory_optional(ty);
            }
            joined = Some(self.join(joined, ty));
        }
        Type::list(joined.unwrap_or_else(|| self.mapping.fresh_type()))
    }

    fn map(&mut self, entries: &[Entry]) -> Type {
        let mut keys: Option<Type> = None;
        let mut values: Option<Type> = None;
        for entry in entries {
            let key = self.check(entry.key);
            keys = Some(self.join(keys, key));
            let mut value = self.check(entry.value);
            if entry.optional {
                value = self.unwrap_mandatory_optional(value);
            }
            values = Some(self.join(values, value));
        }
        let key = keys.unwrap_or_else(|| self.mapping.fresh_type());
        let value = values.unwrap_or_else(|| self.mapping.fresh_type());
        Type::map(key, value)
    }

    /// `checkCreateStruct`
    fn message(&mut self, name: &str, fields: &[FieldEntry]) -> Type {
        let name = name.strip_prefix('.').unwrap_or(name);
        let Some(message) = Message::of(name) else {
            for entry in fields {
                self.check(entry.value);
            }
            return self.error(match named_type(name) {
                Some(_) => format!("'{name}' is not a message type"),
                None => format!("undeclared reference to '{name}' (in container '')"),
            });
        };
        for entry in fields {
            let mut found = self.check(entry.value);
            let wanted = match message.field(&entry.field) {
                Some((_, ty)) => ty,
                None => self.error(format!("undefined field '{}'", entry.field)),
            };
            if entry.optional {
                found = self.unwrap_mandatory_optional(found);
            }
            if !self.mapping.assignable(&wanted, &found) {
                let found = self.mapping.substitute(&found, true);
                self.errors.push(format!(
                    "expected type of field '{}' is '{wanted}' but provided type is '{found}'",
                    entry.field
                ));
            }
        }
        message.ty()
    }

    fn unwrap_mandatory_optional(&mut self, ty: Type) -> Type {
        let (inner, is_optional) = ty.unwrap_optional();
        if !is_optional && !matches!(inner, Type::Dyn) {
            self.errors
                .push(format!("expected type 'optional_type({inner})' but found '{inner}'"));
        }
        inner
    }

    fn join(&mut self, previous: Option<Type>, current: Type) -> Type {
        match previous {
            None => current,
            Some(previous) if self.mapping.assignable(&previous, &current) => most_general(&previous, &current).clone(),
            // Mixed literals are for `format` only; `literals` refuses the others.
            Some(_) => Type::Dyn,
        }
    }

    fn comprehension(&mut self, fold: &Comprehension) -> Type {
        let range = self.check(fold.range);
        let accumulator = self.check(fold.init);
        let range = self.mapping.substitute(&range, false);
        self.scopes.push(vec![(fold.accumulator.clone(), accumulator.clone())]);
        let (first, second) = match &range {
            Type::List(item) if fold.second_variable.is_some() => (Type::Int, (**item).clone()),
            Type::List(item) => ((**item).clone(), Type::Dyn),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Dyn | Type::Error | Type::Param(_) => {
                self.mapping.assignable(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                self.errors.push(format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                ));
                (Type::Error, Type::Error)
            }
        };
        let mut scope = vec![(fold.variable.clone(), first)];
        scope.extend(fold.second_variable.clone().map(|name| (name, second)));
        self.scopes.push(scope);
        self.expect(fold.condition, &Type::Bool);
        self.expect(fold.step, &accumulator);
        self.scopes.pop();
        let result = self.check(fold.result);
        self.scopes.pop();
        self.mapping.substitute(&result, false)
    }

    fn expect(&mut self, id: NodeId, wanted: &Type) {
        let found = self.check(id);
        if !self.mapping.assignable(wanted, &found) {
            let wanted = self.mapping.substitute(wanted, true);
            let found = self.mapping.substitute(&found, true);
            self.errors
                .push(format!("expected type '{wanted}' but found '{found}'"));
        }
    }
}

fn literal_type(value: &Value<'_>) -> Type {
    match value {
        Value::Null => Type::Null,
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Uint(_) => Type::Uint,
        Value::Double(_) => Type::Double,
        Value::String(_) => Type::String,
        Value::Bytes(_) => Type::Bytes,
        _ => Type::Dyn,
    }
}
