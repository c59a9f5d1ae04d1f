//! What functions there are: their overloads, and the environment that expressions of a CRD are compiled in.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cost::Meter;
use super::error::Outcome;
use super::functions;
use super::message::Message;
use super::types::Type;
use super::value::Value;

/// Computes a call. The arguments are neither missing nor errors, and of the overload's types.
pub(crate) type Call = for<'a> fn(&mut Meter, &[Value<'a>]) -> Outcome<Value<'a>>;

/// A type in the signature of an overload.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pattern {
    Dyn,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Duration,
    Timestamp,
    /// A type parameter, by its place among those of the overload.
    Param(u32),
    List(&'static Pattern),
    Map(&'static Pattern, &'static Pattern),
    Type(&'static Pattern),
    Optional(&'static Pattern),
    Opaque(&'static str),
    Struct(&'static str),
}

/// The first type parameter.
pub(crate) const A: Pattern = Pattern::Param(0);
/// The second type parameter.
pub(crate) const B: Pattern = Pattern::Param(1);
/// `list(A)`
pub(crate) const LIST_A: Pattern = Pattern::List(&A);
/// `map(A, B)`
pub(crate) const MAP_AB: Pattern = Pattern::Map(&A, &B);
/// `kubernetes.URL`
pub(crate) const URL: Pattern = Pattern::Struct("kubernetes.URL");
/// `kubernetes.Quantity`
pub(crate) const QUANTITY: Pattern = Pattern::Struct("kubernetes.Quantity");
/// `kubernetes.Semver`
pub(crate) const SEMVER: Pattern = Pattern::Struct("kubernetes.Semver");
/// `kubernetes.NamedFormat`
pub(crate) const FORMAT: Pattern = Pattern::Struct("kubernetes.NamedFormat");
/// `net.IP`
pub(crate) const IP: Pattern = Pattern::Opaque("net.IP");
/// `net.CIDR`
pub(crate) const CIDR: Pattern = Pattern::Opaque("net.CIDR");

impl Pattern {
    /// The type, its parameters numbered from `first`.
    pub(crate) fn to_type(self, first: u32) -> Type {
        match self {
            Self::Dyn => Type::Dyn,
            Self::Bool => Type::Bool,
            Self::Int => Type::Int,
            Self::Uint => Type::Uint,
            Self::Double => Type::Double,
            Self::String => Type::String,
            Self::Bytes => Type::Bytes,
            Self::Duration => Type::Duration,
            Self::Timestamp => Type::Timestamp,
            Self::Param(number) => Type::Param(first + number),
            Self::List(item) => Type::list(item.to_type(first)),
            Self::Map(key, value) => Type::map(key.to_type(first), value.to_type(first)),
            Self::Type(of) => Type::Type(Arc::new(of.to_type(first))),
            Self::Optional(value) => Type::optional(value.to_type(first)),
            Self::Opaque(name) => Type::Opaque(name),
            Self::Struct(name) => Type::Struct(name),
        }
    }

    /// The number of type parameters.
    fn params(self) -> u32 {
        match self {
            Self::Param(number) => number + 1,
            Self::List(inner) | Self::Type(inner) | Self::Optional(inner) => inner.params(),
            Self::Map(key, value) => key.params().max(value.params()),
            _ => 0,
        }
    }

    /// Whether a value is of the type, as far as the run time looks: into the first element of a list or map
    /// (`defaultIsAssignableRuntimeType`).
    pub(crate) fn takes(self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Self::Dyn | Self::Param(_), _)
            | (Self::Bool, Value::Bool(_))
            | (Self::Int, Value::Int(_))
            | (Self::Uint, Value::Uint(_))
            | (Self::Double, Value::Double(_))
            | (Self::String, Value::String(_))
            | (Self::Bytes, Value::Bytes(_))
            | (Self::Duration, Value::Duration(_))
            | (Self::Timestamp, Value::Timestamp(_))
            | (Self::Type(_), Value::Type(_))
            | (Self::Optional(_), Value::Optional(_)) => true,
            (Self::List(item), Value::List(list)) => match list.get(0) {
                None => true,
                Some(Ok(first)) => item.takes(&first),
                Some(Err(_)) => matches!(item, Self::Dyn | Self::Param(_)),
            },
            (Self::Map(key, item), Value::Map(map)) => {
                let Some(first) = map.keys().into_iter().next() else {
                    return true;
                };
                key.takes(&first)
                    && match map.find(&first) {
                        Ok(Some(value)) => item.takes(&value),
                        _ => matches!(item, Self::Dyn | Self::Param(_)),
                    }
            }
            (Self::Opaque(name) | Self::Struct(name), value) => value.type_name() == name,
            _ => false,
        }
    }
}

/// One signature of a function.
#[derive(Debug)]
pub(crate) struct Overload {
    /// cel-go's name, which prices are found by.
    pub(crate) id: &'static str,
    /// Whether it is called on a target.
    pub(crate) member: bool,
    /// Types of the arguments, the target first.
    pub(crate) args: &'static [Pattern],
    /// Type of the result.
    pub(crate) result: Pattern,
    /// How it is computed.
    pub(crate) call: Call,
}

impl Overload {
    /// A global function.
    pub(crate) const fn global(id: &'static str, args: &'static [Pattern], result: Pattern, call: Call) -> Self {
        Self {
            id,
            member: false,
            args,
            result,
            call,
        }
    }

    /// A function that is called on its first argument.
    pub(crate) const fn member(id: &'static str, args: &'static [Pattern], result: Pattern, call: Call) -> Self {
        Self {
            id,
            member: true,
            args,
            result,
            call,
        }
    }

    /// The number of type parameters.
    pub(crate) fn params(&self) -> u32 {
        self.args
            .iter()
            .map(|arg| arg.params())
            .max()
            .unwrap_or(0)
            .max(self.result.params())
    }

    /// Whether values are of the overload's types.
    pub(crate) fn takes(&self, args: &[Value<'_>]) -> bool {
        self.args.len() == args.len() && self.args.iter().zip(args).all(|(pattern, arg)| pattern.takes(arg))
    }
}

/// How a function finds what computes a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Dispatch {
    /// By the types of the values.
    Guarded,
    /// The overload computes whatever it is given (`DisableTypeGuards`).
    Unguarded,
    /// One implementation for all overloads, asked when the first argument is of a type that has the operation.
    Singleton(fn(&Value<'_>) -> bool),
}

/// A function of one library.
#[derive(Debug)]
pub(crate) struct Function {
    /// Its name; operators are named as cel-go names them.
    pub(crate) name: &'static str,
    /// Its signatures, in the order in which they are tried.
    pub(crate) overloads: &'static [Overload],
    /// How an overload is chosen when it runs.
    pub(crate) dispatch: Dispatch,
}

impl Function {
    /// A function whose overloads look at the types of values.
    pub(crate) const fn new(name: &'static str, overloads: &'static [Overload]) -> Self {
        Self {
            name,
            overloads,
            dispatch: Dispatch::Guarded,
        }
    }

    /// A function with one implementation.
    pub(crate) const fn singleton(
        name: &'static str,
        overloads: &'static [Overload],
        operand: fn(&Value<'_>) -> bool,
    ) -> Self {
        Self {
            name,
            overloads,
            dispatch: Dispatch::Singleton(operand),
        }
    }

    /// A function that checks its arguments itself.
    pub(crate) const fn unguarded(name: &'static str, overloads: &'static [Overload]) -> Self {
        Self {
            name,
            overloads,
            dispatch: Dispatch::Unguarded,
        }
    }
}

/// All signatures of a name, of all libraries.
#[derive(Debug)]
pub(crate) struct Declaration {
    pub(crate) name: &'static str,
    pub(crate) overloads: Vec<&'static Overload>,
    pub(crate) dispatch: Dispatch,
}

/// The functions that expressions may call.
///
/// ```
/// use structural_schema::cel::{Environment, Program, Type, Value};
///
/// let environment = Environment::kubernetes();
/// let program = Program::compile(&environment, "quantity('1Gi').isGreaterThan(quantity('1G'))", &[], &Type::Bool)?;
/// let evaluation = program.evaluate(&[], 1_000_000, 1_000_000);
/// assert!(matches!(evaluation.result, Ok(Value::Bool(true))));
/// # Ok::<(), structural_schema::cel::CompileError>(())
/// ```
#[derive(Debug)]
pub struct Environment {
    functions: BTreeMap<&'static str, Declaration>,
}

impl Environment {
    /// The environment of Kubernetes 1.37 for `x-kubernetes-validations`
    /// (`k8s.io/apiserver/pkg/cel/environment/base.go`), in which stored rules are compiled.
    pub fn kubernetes() -> Self {
        let mut functions: BTreeMap<&'static str, Declaration> = BTreeMap::new();
        for library in functions::LIBRARIES {
            for function in *library {
                functions
                    .entry(function.name)
                    .or_insert_with(|| Declaration {
                        name: function.name,
                        overloads: Vec::new(),
                        dispatch: function.dispatch,
                    })
                    .overloads
                    .extend(function.overloads);
            }
        }
        Self { functions }
    }

    /// The function of a name.
    pub(crate) fn function(&self, name: &str) -> Option<&Declaration> {
        self.functions.get(name)
    }

    /// All functions.
    #[cfg(test)]
    pub(super) fn functions(&self) -> impl Iterator<Item = &Declaration> {
        self.functions.values()
    }
}

/// The types that expressions may name, with the name that `type()` gives and the type of the name.
pub(crate) fn named_type(name: &str) -> Option<(&'static str, Type)> {
    let of = |ty: Type| Type::Type(Arc::new(ty));
    Some(match name {
        "bool" => ("bool", of(Type::Bool)),
        "bytes" => ("bytes", of(Type::Bytes)),
        "double" => ("double", of(Type::Double)),
        "int" => ("int", of(Type::Int)),
        "uint" => ("uint", of(Type::Uint)),
        "string" => ("string", of(Type::String)),
        "null_type" => ("null_type", of(Type::Null)),
        "type" => ("type", of(Type::Type(Arc::new(Type::Dyn)))),
        "list" => ("list", of(Type::list(Type::Dyn))),
        "map" => ("map", of(Type::map(Type::Dyn, Type::Dyn))),
        "optional_type" => ("optional_type", of(Type::optional(Type::Dyn))),
        "net.IP" => ("net.IP", of(Type::Opaque("net.IP"))),
        "net.CIDR" => ("net.CIDR", of(Type::Opaque("net.CIDR"))),
        _ => {
            let message = Message::of(name)?;
            (message.name, of(message.ty()))
        }
    })
}
