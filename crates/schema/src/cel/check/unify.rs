//! Which types agree with which, and what that says about type parameters: cel-go's `checker/types.go`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cel::types::Type;
use crate::value::deeper;

/// What is known about type parameters.
#[derive(Debug, Default)]
pub(super) struct Mapping {
    bound: BTreeMap<u32, Type>,
    /// What bindings replaced, newest last, so that an attempt can be taken back without copying the map.
    undo: Vec<(u32, Option<Type>)>,
    next: u32,
}

impl Mapping {
    /// Numbers for so many new type parameters; returns the first.
    pub(super) fn fresh(&mut self, count: u32) -> u32 {
        let first = self.next;
        self.next += count;
        first
    }

    /// A new type parameter.
    pub(super) fn fresh_type(&mut self) -> Type {
        Type::Param(self.fresh(1))
    }

    fn bind(&mut self, param: u32, ty: Type) {
        let old = self.bound.insert(param, ty);
        self.undo.push((param, old));
    }

    /// Whether `from` may be used as `to`. What was learnt is kept only then.
    pub(super) fn assignable(&mut self, from: &Type, to: &Type) -> bool {
        self.attempt(|mapping| mapping.agree(from, to))
    }

    /// Whether all types may be used as the others, in order.
    pub(super) fn all_assignable(&mut self, from: &[Type], to: &[Type]) -> bool {
        from.len() == to.len() && self.attempt(|mapping| from.iter().zip(to).all(|(from, to)| mapping.agree(from, to)))
    }

    fn attempt(&mut self, agree: impl FnOnce(&mut Self) -> bool) -> bool {
        self.undo.clear();
        let agreed = agree(self);
        if !agreed {
            while let Some((param, old)) = self.undo.pop() {
                match old {
                    Some(old) => self.bound.insert(param, old),
                    None => self.bound.remove(&param),
                };
            }
        }
        agreed
    }

    /// `internalIsAssignable`
    fn agree(&mut self, t1: &Type, t2: &Type) -> bool {
        deeper(|| {
            if let Type::Param(param) = t2 {
                let (valid, has_substitution) = self.substitutes(t1, *param, t2);
                if valid {
                    return true;
                }
                if has_substitution {
                    return false;
                }
            }
            if let Type::Param(param) = t1 {
                return self.substitutes(t2, *param, t1).0;
            }
            if t1.is_dyn_or_error() || t2.is_dyn_or_error() {
                return true;
            }
            match (t1, t2) {
                (Type::Null, other) | (other, Type::Null) => nullable(other),
                (Type::List(l), Type::List(r)) | (Type::Optional(l), Type::Optional(r)) => self.agree(l, r),
                (Type::Map(lk, lv), Type::Map(rk, rv)) => self.agree(lk, rk) && self.agree(lv, rv),
                (Type::Type(_), Type::Type(_)) => true,
                _ => t1.is(t2),
            }
        })
    }

    /// Whether `param`, or what it stands for, can be `ty`; and whether it stands for something
    /// (`isValidTypeSubstitution`).
    fn substitutes(&mut self, ty: &Type, param: u32, param_type: &Type) -> (bool, bool) {
        if ty.is(param_type) {
            return (true, true);
        }
        if let Some(substitution) = self.bound.get(&param).cloned() {
            if ty.is(&substitution) {
                return (true, true);
            }
            if self.agree(ty, &substitution) {
                let general = most_general(ty, &substitution);
                if self.free_of(param, general) {
                    self.bind(param, general.clone());
                }
                return (true, true);
            }
            return (false, true);
        }
        if self.free_of(param, ty) {
            self.bind(param, ty.clone());
            return (true, false);
        }
        (false, false)
    }

    /// Whether the parameter does not occur in a type (`notReferencedIn`).
    fn free_of(&self, param: u32, ty: &Type) -> bool {
        deeper(|| match ty {
            Type::Param(other) => {
                *other != param
                    && self
                        .bound
                        .get(other)
                        .is_none_or(|substitution| self.free_of(param, substitution))
            }
            Type::List(inner) | Type::Optional(inner) | Type::Type(inner) => self.free_of(param, inner),
            Type::Map(key, value) => self.free_of(param, key) && self.free_of(param, value),
            _ => true,
        })
    }

    /// The type with its parameters replaced by what they stand for; those that stand for nothing stay, or are `dyn`
    /// when `finally`.
    pub(super) fn substitute(&self, ty: &Type, finally: bool) -> Type {
        deeper(|| match ty {
            Type::Param(param) => match self.bound.get(param) {
                Some(substitution) => self.substitute(substitution, finally),
                None if finally => Type::Dyn,
                None => ty.clone(),
            },
            Type::List(inner) => Type::List(Arc::new(self.substitute(inner, finally))),
            Type::Optional(inner) => Type::Optional(Arc::new(self.substitute(inner, finally))),
            Type::Type(inner) => Type::Type(Arc::new(self.substitute(inner, finally))),
            Type::Map(key, value) => Type::Map(
                Arc::new(self.substitute(key, finally)),
                Arc::new(self.substitute(value, finally)),
            ),
            other => other.clone(),
        })
    }
}

/// Types that agree with `null`: those that are references in protocol buffers (`isLegacyNullable`).
fn nullable(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Null
            | Type::Optional(_)
            | Type::Opaque(_)
            | Type::Struct(_)
            | Type::Object(_)
            | Type::Duration
            | Type::Timestamp
            | Type::Wrapper(_)
    )
}

/// The more general of two types that agree.
pub(super) fn most_general<'t>(t1: &'t Type, t2: &'t Type) -> &'t Type {
    if equal_or_less_specific(t1, t2) { t1 } else { t2 }
}

fn equal_or_less_specific(t1: &Type, t2: &Type) -> bool {
    match (t1, t2) {
        (Type::Dyn | Type::Param(_), _) | (Type::Type(_), Type::Type(_)) => true,
        (_, Type::Dyn | Type::Param(_)) => false,
        (Type::List(l), Type::List(r)) | (Type::Optional(l), Type::Optional(r)) => equal_or_less_specific(l, r),
        (Type::Map(lk, lv), Type::Map(rk, rv)) => equal_or_less_specific(lk, rk) && equal_or_less_specific(lv, rv),
        _ => t1.is(t2),
    }
}
