//! From a checked expression to steps that are evaluated: cel-go's `interpreter/planner.go` and `decorators.go`.
//!
//! Selections and indices become qualifiers of the attribute they begin with, constants are folded and constant
//! patterns compiled: what is folded costs nothing when it runs, as in cel-go.

use std::collections::BTreeMap;

use super::ast::{Ast, Comprehension, FieldEntry, Node, NodeId};
use super::check::{Checked, Reference};
use super::cost::Meter;
use super::library::{Dispatch, Overload};
use super::message::Message;
use super::price::{Price, price};
use super::value::{Key, Map, Members, Value};
use crate::regexp::{Patterns, Regexp};
use crate::value::deeper;

/// Index of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepId(usize);

/// One step of an evaluation.
#[derive(Debug)]
pub(crate) enum Step {
    Const(Value<'static>),
    Attribute(Attribute),
    /// `has(attribute)`
    Present(Attribute),
    And(StepId, StepId),
    Or(StepId, StepId),
    Call(Box<Call>),
    /// `@not_strictly_false(value)`: true for everything but false.
    NotStrictlyFalse(StepId),
    /// `needle in [constants]`
    Member(StepId, Members),
    /// `optional.or(optional)`
    OptionalOr(StepId, StepId),
    /// `optional.orValue(value)`
    OptionalOrValue(StepId, StepId),
    List(Vec<(StepId, bool)>),
    Map(Vec<(StepId, StepId, bool)>),
    /// `Type{field: value}`, the fields by place.
    Message(&'static Message, Vec<(usize, StepId, bool)>),
    Fold(Box<Fold>),
    /// `accumulator + [item]`, adding to the list in the slot; the flag says that `[item]` is constant.
    Append(usize, StepId, bool),
    /// `cel.@mapInsert(accumulator, …)`, adding to the map in the slot.
    Insert(usize, Vec<StepId>),
}

/// A value and what is selected from it.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    pub(crate) base: Base,
    pub(crate) qualifiers: Vec<Qualifier>,
}

/// What an attribute begins with.
#[derive(Clone, Debug)]
pub(crate) enum Base {
    /// A variable of the environment, by its place.
    Variable(usize),
    /// A variable of a macro.
    Slot(usize),
    /// Another step's value.
    Step(StepId),
    /// One of two attributes.
    Conditional(StepId, Box<(Attribute, Attribute)>),
}

/// A selection or index.
#[derive(Clone, Debug)]
pub(crate) struct Qualifier {
    pub(crate) key: QualifierKey,
    pub(crate) optional: bool,
    pub(crate) test_only: bool,
}

/// What is selected.
#[derive(Clone, Debug)]
pub(crate) enum QualifierKey {
    Const(Value<'static>),
    Attribute(Attribute),
    Step(StepId),
}

/// A call of a function.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) function: &'static str,
    pub(crate) args: Vec<StepId>,
    /// Whether all arguments are evaluated although one is an error.
    pub(crate) eager: bool,
    pub(crate) price: Price,
    pub(crate) run: Run,
}

/// How a call is computed.
#[derive(Debug)]
pub(crate) enum Run {
    Equal,
    NotEqual,
    /// The one implementation of all overloads, for operands that have it.
    Singleton(super::library::Call, fn(&Value<'_>) -> bool),
    /// One overload, by itself or behind a look at the types.
    Overload(&'static Overload, bool),
    /// The first overload that takes the values.
    Dispatch(Vec<&'static Overload>, bool),
    Matches(Regexp),
    Find(Regexp),
    FindAll(Regexp),
}

/// A fold of a comprehension. Its variables live in three slots, beginning at `slot`: the accumulator, the first and
/// the second variable.
#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) range: StepId,
    pub(crate) slot: usize,
    pub(crate) two_variables: bool,
    pub(crate) init: StepId,
    pub(crate) condition: StepId,
    pub(crate) step: StepId,
    pub(crate) result: StepId,
}

/// The steps of an expression.
#[derive(Debug)]
pub(crate) struct Plan {
    steps: Vec<Step>,
    root: StepId,
    slots: usize,
}

impl Plan {
    /// A step by its index.
    pub(crate) fn step(&self, id: StepId) -> &Step {
        &self.steps[id.0]
    }

    /// The step whose value is the expression's.
    pub(crate) fn root(&self) -> StepId {
        self.root
    }

    /// The number of slots for variables of macros.
    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    /// Whether the expression loops or has calls whose cost grows with their arguments.
    pub(crate) fn is_costly(&self) -> bool {
        self.steps.iter().any(|step| match step {
            Step::Fold(_) => true,
            Step::Call(call) => {
                !matches!(call.price, Price::Fixed(_)) && !matches!(call.run, Run::Equal | Run::NotEqual)
            }
            _ => false,
        })
    }
}

/// Plans an expression over variables, which are numbered by their places.
///
/// # Errors
///
/// A constant that cannot be converted, or a constant pattern that is none.
pub(crate) fn plan(
    ast: &Ast,
    checked: &Checked<'_>,
    variables: &[&str],
    patterns: &mut Patterns,
) -> Result<Plan, String> {
    let mut planner = Planner {
        ast,
        checked,
        variables,
        patterns,
        locals: Vec::new(),
        slots: 0,
        steps: Vec::new(),
        planned: BTreeMap::new(),
    };
    let root = planner.plan(ast.root())?;
    Ok(Plan {
        steps: planner.steps,
        root,
        slots: planner.slots,
    })
}

struct Planner<'p, 'e> {
    ast: &'p Ast,
    checked: &'p Checked<'e>,
    variables: &'p [&'p str],
    /// The constant patterns of this and other expressions.
    patterns: &'p mut Patterns,
    /// Names of the slots in use, innermost last.
    locals: Vec<Box<str>>,
    slots: usize,
    steps: Vec<Step>,
    planned: BTreeMap<NodeId, StepId>,
}

impl Planner<'_, '_> {
    fn add(&mut self, step: Step) -> StepId {
        self.steps.push(step);
        StepId(self.steps.len() - 1)
    }

    fn plan(&mut self, id: NodeId) -> Result<StepId, String> {
        if let Some(step) = self.planned.get(&id) {
            return Ok(*step);
        }
        let step = deeper(|| self.plan_node(id))?;
        let step = self.add(step);
        self.planned.insert(id, step);
        Ok(step)
    }

    fn plan_all(&mut self, ids: impl IntoIterator<Item = NodeId>) -> Result<Vec<StepId>, String> {
        ids.into_iter().map(|id| self.plan(id)).collect()
    }

    fn plan_node(&mut self, id: NodeId) -> Result<Step, String> {
        match self.checked.reference(id) {
            Some(Reference::Type(name)) if Message::of(name).is_some_and(|message| !message.is_type()) => {
                return Err(format!("reference to undefined type: {name}"));
            }
            Some(Reference::Type(name)) => return Ok(Step::Const(Value::Type(name))),
            Some(Reference::NullValue) => return Ok(Step::Const(Value::Int(0))),
            _ => {}
        }
        let ast = self.ast;
        match ast.node(id) {
            Node::Literal(value) => Ok(Step::Const(value.clone())),
            Node::Select { test_only: true, .. } => Ok(Step::Present(self.attribute(id)?)),
            Node::Ident(_) | Node::Select { .. } => Ok(Step::Attribute(self.attribute(id)?)),
            Node::Call { function, target, args } => self.call(id, function, *target, args),
            Node::List { items } => self.list(items),
            Node::Map { entries } => {
                let mut steps = Vec::with_capacity(entries.len());
                for entry in entries {
                    steps.push((self.plan(entry.key)?, self.plan(entry.value)?, entry.optional));
                }
                Ok(self.fold_map(&steps).unwrap_or(Step::Map(steps)))
            }
            Node::Struct { type_name, fields } => self.message(type_name, fields),
            Node::Comprehension(fold) => self.comprehension(fold),
        }
    }

    fn constant(&self, step: StepId) -> Option<&Value<'static>> {
        match &self.steps[step.0] {
            Step::Const(value) => Some(value),
            _ => None,
        }
    }

    fn list(&mut self, items: &[(NodeId, bool)]) -> Result<Step, String> {
        let steps = self.plan_all(items.iter().map(|(item, _)| *item))?;
        let constant = items.iter().all(|(_, optional)| !optional);
        let values: Option<Vec<_>> = steps.iter().map(|step| self.constant(*step).cloned()).collect();
        match values {
            Some(values) if constant => Ok(Step::Const(Value::list(values))),
            _ => Ok(Step::List(
                steps
                    .into_iter()
                    .zip(items.iter().map(|(_, optional)| *optional))
                    .collect(),
            )),
        }
    }

    fn message(&mut self, name: &str, fields: &[FieldEntry]) -> Result<Step, String> {
        let unknown = || format!("unknown type: {name}");
        let message = Message::of(name.strip_prefix('.').unwrap_or(name)).ok_or_else(unknown)?;
        let mut steps = Vec::with_capacity(fields.len());
        for entry in fields {
            let (place, _) = message.field(&entry.field).ok_or_else(unknown)?;
            steps.push((place, self.plan(entry.value)?, entry.optional));
        }
        Ok(Step::Message(message, steps))
    }

    /// A map of constants is one.
    fn fold_map(&self, steps: &[(StepId, StepId, bool)]) -> Option<Step> {
        let mut entries = BTreeMap::new();
        for (key, value, optional) in steps {
            if *optional {
                return None;
            }
            entries.insert(Key::of(self.constant(*key)?)?, self.constant(*value)?.clone());
        }
        Some(Step::Const(Value::Map(Map::from(entries))))
    }

    /// A node as an attribute that qualifiers can be added to.
    fn attribute(&mut self, id: NodeId) -> Result<Attribute, String> {
        deeper(|| {
            let ast = self.ast;
            match (ast.node(id), self.checked.reference(id)) {
                (_, Some(Reference::Type(_) | Reference::NullValue)) => self.step_attribute(id),
                (Node::Ident(_), Some(Reference::Local(name))) => {
                    let slot = self.locals.iter().rposition(|local| local == name);
                    Ok(Attribute {
                        base: Base::Slot(slot.ok_or("a local variable is not in scope")?),
                        qualifiers: Vec::new(),
                    })
                }
                (_, Some(Reference::Variable(name))) => {
                    let place = self.variables.iter().position(|variable| *variable == &**name);
                    Ok(Attribute {
                        base: Base::Variable(place.ok_or("a variable is not declared")?),
                        qualifiers: Vec::new(),
                    })
                }
                (
                    Node::Select {
                        operand,
                        field,
                        test_only,
                    },
                    _,
                ) => self.qualified(*operand, field_qualifier(field, false, *test_only)),
                (Node::Call { args, .. }, Some(Reference::OptionalSelect)) => {
                    let key = match args.get(1).map(|field| ast.node(*field)) {
                        Some(Node::Literal(Value::String(field))) => field_qualifier(field.as_str(), true, false),
                        _ => return Err("unsupported optional field selection".to_owned()),
                    };
                    self.qualified(args[0], key)
                }
                (Node::Call { function, args, .. }, _) => match (&**function, args.as_slice()) {
                    ("_[_]", [operand, index]) => self.indexed(*operand, *index, false),
                    ("_[?_]", [operand, index]) => self.indexed(*operand, *index, true),
                    ("_?_:_", [condition, truthy, falsy]) => {
                        let condition = self.plan(*condition)?;
                        let branches = (self.attribute(*truthy)?, self.attribute(*falsy)?);
                        Ok(Attribute {
                            base: Base::Conditional(condition, Box::new(branches)),
                            qualifiers: Vec::new(),
                        })
                    }
                    _ => self.step_attribute(id),
                },
                _ => self.step_attribute(id),
            }
        })
    }

    fn step_attribute(&mut self, id: NodeId) -> Result<Attribute, String> {
        Ok(Attribute {
            base: Base::Step(self.plan(id)?),
            qualifiers: Vec::new(),
        })
    }

    fn qualified(&mut self, operand: NodeId, qualifier: Qualifier) -> Result<Attribute, String> {
        let mut attribute = self.attribute(operand)?;
        attribute.qualify(qualifier);
        Ok(attribute)
    }

    fn indexed(&mut self, operand: NodeId, index: NodeId, optional: bool) -> Result<Attribute, String> {
        let mut attribute = self.attribute(operand)?;
        let key = self.index(index)?;
        attribute.qualify(Qualifier {
            key,
            optional,
            test_only: false,
        });
        Ok(attribute)
    }

    fn index(&mut self, index: NodeId) -> Result<QualifierKey, String> {
        if self.is_attribute(index) {
            return Ok(QualifierKey::Attribute(self.attribute(index)?));
        }
        let step = self.plan(index)?;
        match self.constant(step) {
            None => Ok(QualifierKey::Step(step)),
            Some(key @ (Value::String(_) | Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_))) => {
                Ok(QualifierKey::Const(key.clone()))
            }
            Some(other) => Err(format!("invalid qualifier type: {}", other.type_name())),
        }
    }

    /// Whether a node is planned as an attribute rather than as a step of its own.
    fn is_attribute(&self, id: NodeId) -> bool {
        match (self.ast.node(id), self.checked.reference(id)) {
            (_, Some(Reference::Type(_) | Reference::NullValue)) => false,
            (Node::Ident(_) | Node::Select { .. }, _) => true,
            (Node::Call { function, .. }, _) => {
                matches!(&**function, "_[_]" | "_[?_]" | "_?._" | "_?_:_")
            }
            _ => false,
        }
    }

    fn call(&mut self, id: NodeId, name: &str, target: Option<NodeId>, args: &[NodeId]) -> Result<Step, String> {
        if self.is_attribute(id) {
            return Ok(Step::Attribute(self.attribute(id)?));
        }
        let Some(Reference::Function {
            declaration,
            overloads,
            qualified,
        }) = self.checked.reference(id)
        else {
            return Err(format!("unknown function: {name}"));
        };
        if let Some(step) = self.accumulation(declaration.name, args)? {
            return Ok(step);
        }
        let target = target.filter(|_| !qualified);
        let args = self.plan_all(target.into_iter().chain(args.iter().copied()))?;
        let overload = match overloads.as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        let run = match (declaration.name, args.as_slice()) {
            ("_&&_", [left, right]) => return Ok(Step::And(*left, *right)),
            ("_||_", [left, right]) => return Ok(Step::Or(*left, *right)),
            ("@not_strictly_false", [value]) => return Ok(Step::NotStrictlyFalse(*value)),
            ("or", [left, right]) => return Ok(Step::OptionalOr(*left, *right)),
            ("orValue", [left, right]) => return Ok(Step::OptionalOrValue(*left, *right)),
            ("@in", [needle, list]) => {
                if let Some(step) = self.membership(overload, *needle, *list) {
                    return Ok(step);
                }
                run_of(declaration.dispatch, overload, &declaration.overloads)
            }
            ("_==_", _) => Run::Equal,
            ("_!=_", _) => Run::NotEqual,
            ("matches" | "find" | "findAll", [_, pattern, ..]) => self
                .constant_pattern(declaration.name, *pattern)?
                .unwrap_or_else(|| run_of(declaration.dispatch, overload, &declaration.overloads)),
            _ => run_of(declaration.dispatch, overload, &declaration.overloads),
        };
        let id = overload.map_or("", |overload| overload.id);
        let call = Call {
            function: declaration.name,
            eager: args.len() <= 2
                && id != "string_format"
                && matches!(run, Run::Equal | Run::NotEqual | Run::Singleton(..) | Run::Overload(..)),
            price: price(declaration.name, id),
            run,
            args,
        };
        self.fold_conversion(call)
    }

    /// `needle in list` of constants looks the needle up; in an empty one there is nothing, whatever the needle.
    fn membership(&self, overload: Option<&Overload>, needle: StepId, list: StepId) -> Option<Step> {
        if overload?.id != "in_list" {
            return None;
        }
        let Value::List(list) = self.constant(list)? else {
            return None;
        };
        if list.is_empty() {
            return Some(Step::Const(Value::Bool(false)));
        }
        Members::of(list).map(|members| Step::Member(needle, members))
    }

    fn constant_pattern(&mut self, function: &str, pattern: StepId) -> Result<Option<Run>, String> {
        let Some(Value::String(pattern)) = self.constant(pattern) else {
            return Ok(None);
        };
        let pattern = pattern.clone();
        let regexp = self
            .patterns
            .compile(pattern.as_str())
            .map_err(|error| error.to_string())?;
        Ok(Some(match function {
            "matches" => Run::Matches(regexp),
            "find" => Run::Find(regexp),
            _ => Run::FindAll(regexp),
        }))
    }

    /// Conversions of constants are constants, or mistakes.
    fn fold_conversion(&mut self, call: Call) -> Result<Step, String> {
        let conversion = matches!(
            call.function,
            "bool" | "bytes" | "double" | "dyn" | "duration" | "int" | "string" | "timestamp" | "type" | "uint"
        );
        let argument = match call.args.as_slice() {
            [only] if conversion => self.constant(*only).cloned(),
            _ => None,
        };
        let Some(argument) = argument else {
            return Ok(Step::Call(Box::new(call)));
        };
        let mut meter = Meter::new(u64::MAX, u64::MAX);
        super::eval::run(&call, &[argument], &mut meter)
            .map(Step::Const)
            .map_err(|error| error.to_string())
    }

    /// The two ways in which macros build up a list or map are done in place, or they would take quadratic time.
    fn accumulation(&mut self, function: &str, args: &[NodeId]) -> Result<Option<Step>, String> {
        let ast = self.ast;
        let Some((accumulator, rest)) = args.split_first() else {
            return Ok(None);
        };
        let Node::Ident(name) = ast.node(*accumulator) else {
            return Ok(None);
        };
        if &**name != "@result" {
            return Ok(None);
        }
        let Some(slot) = self.locals.iter().rposition(|local| local == name) else {
            return Ok(None);
        };
        match (function, rest) {
            ("_+_", [list]) => {
                let Node::List { items } = ast.node(*list) else {
                    return Ok(None);
                };
                let [(item, false)] = items.as_slice() else {
                    return Ok(None);
                };
                let step = self.plan(*item)?;
                let constant = self.constant(step).is_some();
                Ok(Some(Step::Append(slot, step, constant)))
            }
            ("cel.@mapInsert", rest) => Ok(Some(Step::Insert(slot, self.plan_all(rest.iter().copied())?))),
            _ => Ok(None),
        }
    }

    fn comprehension(&mut self, fold: &Comprehension) -> Result<Step, String> {
        let init = self.plan(fold.init)?;
        let range = self.plan(fold.range)?;
        let slot = self.locals.len();
        self.locals.push(fold.accumulator.clone());
        self.locals.push(fold.variable.clone());
        self.locals.push(fold.second_variable.clone().unwrap_or_default());
        self.slots = self.slots.max(self.locals.len());
        let condition = self.plan(fold.condition)?;
        let step = self.plan(fold.step)?;
        self.locals.truncate(slot + 1);
        let result = self.plan(fold.result)?;
        self.locals.truncate(slot);
        Ok(Step::Fold(Box::new(Fold {
            range,
            slot,
            two_variables: fold.second_variable.is_some(),
            init,
            condition,
            step,
            result,
        })))
    }
}

impl Attribute {
    /// Selects from the attribute; from a conditional one, from both its branches.
    fn qualify(&mut self, qualifier: Qualifier) {
        match &mut self.base {
            Base::Conditional(_, branches) => {
                branches.0.qualify(qualifier.clone());
                branches.1.qualify(qualifier);
            }
            _ => self.qualifiers.push(qualifier),
        }
    }
}

fn field_qualifier(field: &str, optional: bool, test_only: bool) -> Qualifier {
    Qualifier {
        key: QualifierKey::Const(Value::string(field)),
        optional,
        test_only,
    }
}

fn run_of(dispatch: Dispatch, overload: Option<&'static Overload>, all: &[&'static Overload]) -> Run {
    match dispatch {
        Dispatch::Singleton(operand) => {
            let call = overload.or(all.first().copied()).map(|overload| overload.call);
            call.map_or(Run::Equal, |call| Run::Singleton(call, operand))
        }
        Dispatch::Guarded | Dispatch::Unguarded => {
            let guarded = matches!(dispatch, Dispatch::Guarded);
            match (overload, all) {
                (Some(overload), _) => Run::Overload(overload, guarded),
                (None, [only]) => Run::Overload(only, guarded),
                (None, all) => Run::Dispatch(all.to_vec(), guarded),
            }
        }
    }
}
