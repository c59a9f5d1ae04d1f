//! Evaluation of a plan: cel-go's `interpreter/interpretable.go` and `attributes.go`, with its prices.

use super::cost::{LIST_CREATE, MAP_CREATE, Meter, STRUCT_CREATE};
use super::error::{EvalError, Outcome};
use super::functions::regex;
use super::library::Overload;
use super::message::Message;
use super::plan::{Attribute, Base, Call, Fold, Plan, Qualifier, QualifierKey, Run, Step, StepId};
use super::price::Price;
use super::value::{Key, List, Map, Value, equal, int, lossless_int};
use crate::value::deeper;

/// A variable of a macro.
#[derive(Debug)]
enum Slot<'a> {
    Unset,
    /// The accumulator, until something asks for it.
    Lazy(StepId),
    Set(Outcome<Value<'a>>),
}

/// Evaluates a plan over variables.
pub(crate) fn evaluate<'a>(
    plan: &'a Plan,
    variables: &[Option<Outcome<Value<'a>>>],
    meter: &mut Meter,
) -> Outcome<Value<'a>> {
    let mut slots = Vec::new();
    slots.resize_with(plan.slots(), || Slot::Unset);
    let mut evaluation = Evaluation {
        plan,
        variables,
        slots,
        meter,
    };
    evaluation.step(plan.root())
}

struct Evaluation<'e, 'a> {
    plan: &'a Plan,
    variables: &'e [Option<Outcome<Value<'a>>>],
    slots: Vec<Slot<'a>>,
    meter: &'e mut Meter,
}

impl<'a> Evaluation<'_, 'a> {
    fn step(&mut self, id: StepId) -> Outcome<Value<'a>> {
        let plan = self.plan;
        deeper(|| match plan.step(id) {
            Step::Const(value) => Ok(value.clone()),
            Step::Attribute(attribute) => self.attribute(attribute),
            Step::Present(attribute) => self.present(attribute),
            Step::And(left, right) => self.logic(*left, *right, false),
            Step::Or(left, right) => self.logic(*left, *right, true),
            Step::Call(call) => self.call(call),
            Step::NotStrictlyFalse(value) => {
                let value = nonfinal(self.step(*value))?;
                self.meter.charge(1)?;
                Ok(Value::Bool(!matches!(value, Ok(Value::Bool(false)))))
            }
            Step::Member(needle, members) => Ok(Value::Bool(members.contain(&self.step(*needle)?))),
            Step::OptionalOr(left, right) => match self.step(*left)? {
                Value::Optional(None) => self.step(*right),
                some @ Value::Optional(Some(_)) => Ok(some),
                _ => Err(EvalError::no_such_overload()),
            },
            Step::OptionalOrValue(left, right) => match self.step(*left)? {
                Value::Optional(None) => self.step(*right),
                Value::Optional(Some(value)) => Ok((*value).clone()),
                _ => Err(EvalError::no_such_overload()),
            },
            Step::List(items) => self.list(items),
            Step::Map(entries) => self.map(entries),
            Step::Message(message, fields) => self.message(message, fields),
            Step::Fold(fold) => self.fold(fold),
            Step::Append(slot, item, constant) => self.append(*slot, *item, *constant),
            Step::Insert(slot, args) => self.insert(*slot, args),
        })
    }

    /// `&&` and `||`: one decisive side makes up for an error of the other.
    fn logic(&mut self, left: StepId, right: StepId, decisive: bool) -> Outcome<Value<'a>> {
        let mut failure = None;
        for side in [left, right] {
            match nonfinal(self.step(side))?.and_then(|value| value.as_bool()) {
                Ok(value) if value == decisive => return Ok(Value::Bool(decisive)),
                Ok(_) => {}
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    /// A name with its selections costs one for each of them and one for itself; a conditional costs nothing itself.
    fn attribute(&mut self, attribute: &'a Attribute) -> Outcome<Value<'a>> {
        let value = nonfinal(self.resolve(attribute))?;
        if !matches!(attribute.base, Base::Conditional(..)) {
            self.meter.charge(1)?;
        }
        value
    }

    /// `has()`, which Kubernetes does not charge for itself.
    fn present(&mut self, attribute: &'a Attribute) -> Outcome<Value<'a>> {
        let value = nonfinal(self.resolve(attribute))?;
        if !matches!(attribute.base, Base::Conditional(..)) {
            self.meter.charge(1)?;
        }
        self.meter.refund(1);
        Ok(match value? {
            Value::Optional(value) => Value::Bool(value.is_some()),
            value => value,
        })
    }

    fn resolve(&mut self, attribute: &'a Attribute) -> Outcome<Value<'a>> {
        let value = match &attribute.base {
            Base::Variable(place) => match &self.variables[*place] {
                Some(value) => value.clone()?,
                None => return Err(EvalError::failed("no such attribute(s)")),
            },
            Base::Slot(slot) => self.slot(*slot)?,
            Base::Step(step) => self.step(*step)?,
            Base::Conditional(condition, branches) => {
                return match self.step(*condition)? {
                    Value::Bool(true) => deeper(|| self.resolve(&branches.0)),
                    Value::Bool(false) => deeper(|| self.resolve(&branches.1)),
                    _ => Err(EvalError::no_such_overload()),
                };
            }
        };
        self.select(value, &attribute.qualifiers)
    }

    fn slot(&mut self, slot: usize) -> Outcome<Value<'a>> {
        if let Slot::Lazy(init) = self.slots[slot] {
            let value = nonfinal(self.step(init))?;
            self.slots[slot] = Slot::Set(value);
        }
        match &self.slots[slot] {
            Slot::Set(value) => value.clone(),
            Slot::Lazy(_) | Slot::Unset => Err(EvalError::failed("no such attribute(s)")),
        }
    }

    /// Applies selections. After an optional value or selection, what is missing is an empty optional.
    fn select(&mut self, value: Value<'a>, qualifiers: &'a [Qualifier]) -> Outcome<Value<'a>> {
        let (mut value, mut optional) = match value {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(value)) => ((*value).clone(), true),
            value => (value, false),
        };
        for qualifier in qualifiers {
            optional |= qualifier.optional;
            let found = nonfinal(self.qualify(&value, qualifier, optional || qualifier.test_only))?;
            // An optional selection that finds nothing, or fails, is not charged.
            if !optional || matches!(found, Ok(Some(_))) {
                self.meter.charge(1)?;
            }
            match found? {
                found if qualifier.test_only && !optional => return Ok(Value::Bool(found.is_some())),
                Some(found) => value = found,
                None => return Ok(Value::Optional(None)),
            }
        }
        Ok(if optional { Value::some(value) } else { value })
    }

    fn qualify(&mut self, value: &Value<'a>, qualifier: &'a Qualifier, test: bool) -> Outcome<Option<Value<'a>>> {
        let key = match &qualifier.key {
            QualifierKey::Const(key) => return find(value, key, test),
            QualifierKey::Attribute(attribute) => self.resolve(attribute)?,
            QualifierKey::Step(step) => self.step(*step)?,
        };
        match key {
            Value::String(_) | Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_) => {
                find(value, &key, test)
            }
            other => Err(EvalError::failed(format!(
                "invalid qualifier type: {}",
                go_type_name(&other)
            ))),
        }
    }

    fn call(&mut self, call: &'a Call) -> Outcome<Value<'a>> {
        let mut args = Vec::with_capacity(call.args.len());
        let mut failure = None;
        for (place, arg) in call.args.iter().enumerate() {
            match nonfinal(self.step(*arg))? {
                Ok(value) => args.push(value),
                Err(error) => {
                    // Arguments that were not evaluated leave the call uncharged; an error counts as any scalar.
                    if !call.eager && place + 1 < call.args.len() {
                        return Err(error);
                    }
                    args.push(Value::Null);
                    failure = failure.or(Some(error));
                }
            }
        }
        match call.price {
            Price::Fixed(price) => self.meter.charge(price)?,
            Price::Arguments(price) => {
                let price = price(&args, self.meter)?;
                self.meter.charge(price)?;
            }
            Price::Result(_) => {}
        }
        let result = match failure {
            Some(error) => Err(error),
            None => nonfinal(run(call, &args, self.meter))?,
        };
        if let Price::Result(price) = call.price {
            self.meter.charge(price(result.as_ref().map_or(1, Value::plain_size)))?;
        }
        result
    }

    fn list(&mut self, items: &'a [(StepId, bool)]) -> Outcome<Value<'a>> {
        let mut values = Vec::with_capacity(items.len());
        let mut failure = None;
        for (item, optional) in items {
            match (nonfinal(self.step(*item))?, optional) {
                (Err(error), _) => {
                    failure = Some(error);
                    break;
                }
                (Ok(value), false) => values.push(value),
                (Ok(Value::Optional(None)), true) => {}
                (Ok(Value::Optional(Some(value))), true) => values.push((*value).clone()),
                (Ok(value), true) => {
                    failure = Some(EvalError::failed(format!(
                        "cannot initialize optional list element from non-optional value {value}"
                    )));
                    break;
                }
            }
        }
        self.meter.charge(LIST_CREATE)?;
        failure.map_or_else(|| Ok(Value::list(values)), Err)
    }

    fn map(&mut self, entries: &'a [(StepId, StepId, bool)]) -> Outcome<Value<'a>> {
        let made = nonfinal(self.map_entries(entries))?;
        self.meter.charge(MAP_CREATE)?;
        made
    }

    fn map_entries(&mut self, entries: &'a [(StepId, StepId, bool)]) -> Outcome<Value<'a>> {
        let mut map = std::collections::BTreeMap::new();
        for (key, value, optional) in entries {
            let key = self.step(*key)?;
            let mut value = self.step(*value)?;
            let entry = Key::of(&key).ok_or_else(|| EvalError::failed("unsupported key type"))?;
            if *optional {
                match value {
                    Value::Optional(Some(inner)) => value = (*inner).clone(),
                    Value::Optional(None) => {
                        map.remove(&entry);
                        continue;
                    }
                    other => {
                        return Err(EvalError::failed(format!(
                            "cannot initialize optional entry '{key}' from non-optional value {other}"
                        )));
                    }
                }
            }
            map.insert(entry, value);
        }
        Ok(Value::Map(Map::from(map)))
    }

    fn message(&mut self, message: &Message, fields: &[(usize, StepId, bool)]) -> Outcome<Value<'a>> {
        let made = nonfinal(self.message_of(message, fields))?;
        self.meter.charge(STRUCT_CREATE)?;
        made
    }

    fn message_of(&mut self, message: &Message, fields: &[(usize, StepId, bool)]) -> Outcome<Value<'a>> {
        let mut values = Vec::new();
        for (place, value, optional) in fields {
            let value = match (self.step(*value)?, optional) {
                (Value::Optional(value), true) => value.map(|value| (*value).clone()),
                (other, true) => {
                    return Err(EvalError::failed(format!(
                        "cannot initialize optional entry '{}' from non-optional value {other}",
                        message.field_name(*place)
                    )));
                }
                (value, false) => Some(value),
            };
            if values.len() <= *place {
                values.resize(place + 1, None);
            }
            values[*place] = value;
        }
        message.make(&values, self.meter)
    }

    fn fold(&mut self, fold: &'a Fold) -> Outcome<Value<'a>> {
        let range = self.step(fold.range)?;
        self.slots[fold.slot] = Slot::Lazy(fold.init);
        match &range {
            Value::List(list) => self.fold_list(fold, list)?,
            Value::Map(map) => self.fold_map(fold, map)?,
            other if fold.two_variables => {
                return Err(EvalError::failed(format!(
                    "unsupported comprehension range type: {}",
                    go_type_name(other)
                )));
            }
            other => {
                return Err(EvalError::failed(format!(
                    "got '{}', expected iterable type",
                    go_type_name(other)
                )));
            }
        }
        self.slots[fold.slot + 1] = Slot::Unset;
        self.slots[fold.slot + 2] = Slot::Unset;
        let result = self.step(fold.result);
        self.slots[fold.slot] = Slot::Unset;
        result
    }

    fn fold_list(&mut self, fold: &'a Fold, list: &List<'a>) -> Outcome<()> {
        for (index, item) in list.iter().enumerate() {
            if fold.two_variables {
                self.slots[fold.slot + 1] = Slot::Set(Ok(int(index)));
                self.slots[fold.slot + 2] = Slot::Set(item);
            } else {
                self.slots[fold.slot + 1] = Slot::Set(item);
            }
            if !self.iterate(fold)? {
                break;
            }
        }
        Ok(())
    }

    fn fold_map(&mut self, fold: &'a Fold, map: &Map<'a>) -> Outcome<()> {
        self.meter.work(map.len())?;
        for key in map.keys() {
            if fold.two_variables {
                let value = map
                    .find(&key)
                    .and_then(|value| value.ok_or_else(|| EvalError::failed(format!("no such key: {key}"))));
                self.slots[fold.slot + 2] = Slot::Set(value);
            }
            self.slots[fold.slot + 1] = Slot::Set(Ok(key));
            if !self.iterate(fold)? {
                break;
            }
        }
        Ok(())
    }

    /// One round; false when the condition says to stop. A condition that is no boolean does not.
    fn iterate(&mut self, fold: &'a Fold) -> Outcome<bool> {
        self.meter.work(1)?;
        if let Ok(Value::Bool(false)) = nonfinal(self.step(fold.condition))? {
            return Ok(false);
        }
        let accumulated = nonfinal(self.step(fold.step))?;
        self.slots[fold.slot] = Slot::Set(accumulated);
        Ok(true)
    }

    fn append(&mut self, slot: usize, item: StepId, constant: bool) -> Outcome<Value<'a>> {
        let list = nonfinal(self.take(slot))?;
        self.meter.charge(1)?;
        let item = nonfinal(self.step(item))?;
        self.meter.charge(if constant { 1 } else { 1 + LIST_CREATE })?;
        match list? {
            Value::List(mut list) => {
                list.push(item?);
                Ok(Value::List(list))
            }
            _ => Err(EvalError::no_such_overload()),
        }
    }

    fn insert(&mut self, slot: usize, args: &'a [StepId]) -> Outcome<Value<'a>> {
        let map = nonfinal(self.take(slot))?;
        self.meter.charge(1)?;
        // The insertion of another map evaluates it even if there is none to insert into.
        if let ([other], true) = (args, map.is_err()) {
            let _ = nonfinal(self.step(*other))?;
            self.meter.charge(1)?;
        }
        let Value::Map(mut map) = map? else {
            return Err(EvalError::no_such_overload());
        };
        let mut values = Vec::with_capacity(args.len());
        for (place, arg) in args.iter().enumerate() {
            match nonfinal(self.step(*arg))? {
                Ok(value) => values.push(value),
                Err(error) => {
                    if place + 1 == args.len() {
                        self.meter.charge(1)?;
                    }
                    return Err(error);
                }
            }
        }
        self.meter.charge(1)?;
        match values.as_slice() {
            [key, value] => map.insert(key, value.clone())?,
            [Value::Map(update)] => {
                self.meter.work(update.len())?;
                for key in update.keys() {
                    if let Some(value) = update.find(&key)? {
                        map.insert(&key, value)?;
                    }
                }
            }
            _ => return Err(EvalError::no_such_overload()),
        }
        Ok(Value::Map(map))
    }

    /// The accumulator, taken out of its slot so that it can be changed in place. The step's value goes back there.
    fn take(&mut self, slot: usize) -> Outcome<Value<'a>> {
        if let Slot::Lazy(_) = self.slots[slot] {
            self.slot(slot)?;
        }
        match std::mem::replace(&mut self.slots[slot], Slot::Unset) {
            Slot::Set(value) => value,
            Slot::Lazy(_) | Slot::Unset => Err(EvalError::failed("no such attribute(s)")),
        }
    }
}

/// Lets errors that end the evaluation through, and keeps others as values.
fn nonfinal<T>(outcome: Outcome<T>) -> Outcome<Outcome<T>> {
    match outcome {
        Err(error) if error.is_final() => Err(error),
        outcome => Ok(outcome),
    }
}

/// `value[key]` (`refQualify`). Nothing found is none where presence is tested, and an error otherwise.
fn find<'a>(value: &Value<'a>, key: &Value<'_>, test: bool) -> Outcome<Option<Value<'a>>> {
    match value {
        Value::Map(map) => match map.find(key)? {
            Some(found) => Ok(Some(found)),
            None if test => Ok(None),
            None => Err(EvalError::failed(format!("no such key: {key}"))),
        },
        Value::List(list) => {
            let index = index_of(key)?;
            match usize::try_from(index).ok().and_then(|index| list.get(index)) {
                Some(_) if list.is_data() && !matches!(key, Value::Int(_)) => {
                    Err(EvalError::failed(format!("unsupported index: {key}")))
                }
                Some(found) => found.map(Some),
                None if test => Ok(None),
                None => Err(EvalError::failed(format!("index out of bounds: {key}"))),
            }
        }
        _ if test => Ok(None),
        _ => Err(EvalError::failed(format!("no such key: {key}"))),
    }
}

/// `IndexOrError`
fn index_of(key: &Value<'_>) -> Outcome<i64> {
    let index = match key {
        Value::Int(index) => Some(*index),
        Value::Uint(index) => i64::try_from(*index).ok(),
        Value::Double(index) => lossless_int(*index),
        other => {
            return Err(EvalError::failed(format!(
                "unsupported index type '{}' in list",
                other.type_name()
            )));
        }
    };
    index.ok_or_else(|| EvalError::failed(format!("unsupported index value {key} in list")))
}

/// Computes a call whose arguments are all values.
pub(crate) fn run<'a>(call: &Call, args: &[Value<'a>], meter: &mut Meter) -> Outcome<Value<'a>> {
    match &call.run {
        Run::Equal => equal(&args[0], &args[1], meter).map(Value::Bool),
        Run::NotEqual => match equal(&args[0], &args[1], meter) {
            Err(error) if error.is_final() => Err(error),
            // Values that cannot be compared are not equal.
            outcome => Ok(Value::Bool(outcome != Ok(true))),
        },
        Run::Singleton(implementation, operand) => {
            if operand(&args[0]) {
                return implementation(meter, args);
            }
            // Strings, durations and timestamps are asked whether they have a method of that name.
            if matches!(&args[0], Value::String(_) | Value::Duration(_) | Value::Timestamp(_)) {
                return Err(EvalError::no_such_overload());
            }
            Err(EvalError::failed(match args.len() {
                0..=2 => format!("no such overload: {}", call.function),
                _ => format!("no such overload: {} 0", call.function),
            }))
        }
        Run::Overload(overload, guarded) => {
            if *guarded && !overload.takes(args) {
                return Err(no_overload(call.function, args));
            }
            (overload.call)(meter, args)
        }
        Run::Dispatch(overloads, guarded) => match choose(overloads, args, *guarded) {
            Some(overload) => (overload.call)(meter, args),
            None => Err(no_overload(call.function, args)),
        },
        Run::Matches(regexp) => regex::matches_constant(regexp, args, meter),
        Run::Find(regexp) => regex::find_constant(regexp, args, meter),
        Run::FindAll(regexp) => regex::find_all_constant(regexp, args, meter),
    }
}

fn choose(overloads: &[&'static Overload], args: &[Value<'_>], guarded: bool) -> Option<&'static Overload> {
    overloads
        .iter()
        .find(|overload| overload.args.len() == args.len() && (!guarded || overload.takes(args)))
        .copied()
}

fn no_overload(function: &str, args: &[Value<'_>]) -> EvalError {
    let types: Vec<_> = args.iter().map(Value::type_name).collect();
    EvalError::failed(format!("no such overload: {function}({})", types.join(", ")))
}

/// The name of the type that implements a value in cel-go or Kubernetes (`%T`).
pub(crate) fn go_type_name(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "types.Null",
        Value::Bool(_) => "types.Bool",
        Value::Int(_) => "types.Int",
        Value::Uint(_) => "types.Uint",
        Value::Double(_) => "types.Double",
        Value::String(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::Duration(_) => "types.Duration",
        Value::Timestamp(_) => "types.Timestamp",
        Value::Type(_) => "*types.Type",
        Value::List(list) if list.is_data() => "*common.unstructuredList",
        Value::List(_) => "*types.baseList",
        Value::Map(map) if map.is_data() => "*common.unstructuredMap",
        Value::Map(_) => "*types.baseMap",
        Value::Optional(_) => "*types.Optional",
        Value::Url(_) => "cel.URL",
        Value::Ip(_) => "cel.IP",
        Value::Cidr(_) => "cel.CIDR",
        Value::Quantity(_) => "cel.Quantity",
        Value::Semver(_) => "cel.Semver",
        Value::Format(_) => "cel.Format",
        Value::Empty => "*types.protoObj",
        Value::Unknown(_) => "*common.unknownPreserved",
    }
}
