//! Lists: literals, concatenations and views on arrays.

use std::sync::Arc;

use super::Value;
use super::data::{Items, read};
use crate::cel::error::Outcome;
use crate::value::Value as Json;

/// A list.
#[derive(Clone, Debug)]
pub struct List<'a>(Repr<'a>);

#[derive(Clone, Debug)]
enum Repr<'a> {
    Made(Arc<Vec<Value<'a>>>),
    Data {
        items: &'a [Json],
        shape: &'a Items,
    },
    /// Two lists, one after the other. Concatenating copies nothing, as in cel-go: it costs one unit, whatever the
    /// lengths, so it must not take more memory than that either.
    Joined(Arc<Joined<'a>>),
}

#[derive(Debug)]
struct Joined<'a> {
    first: List<'a>,
    second: List<'a>,
    len: usize,
}

impl<'a> From<Vec<Value<'a>>> for List<'a> {
    fn from(items: Vec<Value<'a>>) -> Self {
        Self(Repr::Made(Arc::new(items)))
    }
}

impl<'a> List<'a> {
    /// An array of an object.
    pub(crate) fn data(items: &'a [Json], shape: &'a Items) -> Self {
        Self(Repr::Data { items, shape })
    }

    /// The array and its shape, if this is a view on one.
    pub(crate) fn as_data(&self) -> Option<(&'a [Json], &'a Items)> {
        match self.0 {
            Repr::Data { items, shape } => Some((items, shape)),
            Repr::Made(_) | Repr::Joined(_) => None,
        }
    }

    /// Whether this is a view on an array of the object.
    pub(crate) fn is_data(&self) -> bool {
        matches!(self.0, Repr::Data { .. })
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        match &self.0 {
            Repr::Made(items) => items.len(),
            Repr::Data { items, .. } => items.len(),
            Repr::Joined(joined) => joined.len,
        }
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at `index`, if there is one. What is read from an object may be an error.
    pub fn get(&self, index: usize) -> Option<Outcome<Value<'a>>> {
        let mut list = self;
        let mut index = index;
        loop {
            match &list.0 {
                Repr::Made(items) => return items.get(index).cloned().map(Ok),
                Repr::Data { items, shape } => return items.get(index).map(|item| read(item, &shape.item)),
                Repr::Joined(joined) => {
                    let first = joined.first.len();
                    if index < first {
                        list = &joined.first;
                    } else {
                        index -= first;
                        list = &joined.second;
                    }
                }
            }
        }
    }

    /// The elements in order.
    pub fn iter(&self) -> Iter<'_, 'a> {
        Iter {
            parts: vec![self],
            index: 0,
        }
    }

    /// This list followed by `other`. An empty one leaves the other as it is.
    pub(crate) fn join(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        let len = self.len().saturating_add(other.len());
        Self(Repr::Joined(Arc::new(Joined {
            first: self,
            second: other,
            len,
        })))
    }

    /// Appends to a list that nothing else holds; a list that is shared or a view is copied once.
    pub(crate) fn push(&mut self, value: Value<'a>) {
        match &mut self.0 {
            Repr::Made(items) => Arc::make_mut(items).push(value),
            Repr::Data { .. } | Repr::Joined(_) => {
                let single = Self::from(vec![value]);
                let this = std::mem::replace(self, Self::from(Vec::new()));
                *self = this.join(single);
            }
        }
    }
}

/// Iterator over the elements of a [`List`].
#[derive(Debug)]
pub struct Iter<'l, 'a> {
    /// Lists still to be read, the next one last.
    parts: Vec<&'l List<'a>>,
    /// Position in the last of them.
    index: usize,
}

impl<'l, 'a> IntoIterator for &'l List<'a> {
    type Item = Outcome<Value<'a>>;
    type IntoIter = Iter<'l, 'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> Iterator for Iter<'_, 'a> {
    type Item = Outcome<Value<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let part = *self.parts.last()?;
            if let Repr::Joined(joined) = &part.0 {
                self.parts.pop();
                self.parts.push(&joined.second);
                self.parts.push(&joined.first);
                continue;
            }
            if let Some(item) = part.get(self.index) {
                self.index += 1;
                return Some(item);
            }
            self.parts.pop();
            self.index = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(list: &List<'_>) -> Vec<i64> {
        list.iter().map(|item| item.unwrap().as_int().unwrap()).collect()
    }

    #[test]
    fn joined_lists_read_as_one() {
        let one = List::from(vec![Value::Int(1), Value::Int(2)]);
        let two = List::from(vec![Value::Int(3)]);
        let joined = one.clone().join(two.clone()).join(one);
        assert_eq!(ints(&joined), [1, 2, 3, 1, 2]);
        assert_eq!(joined.get(2).unwrap().unwrap().as_int(), Ok(3));
        assert!(joined.get(5).is_none());
    }

    #[test]
    fn doubling_a_list_takes_no_memory() {
        let mut list = List::from(vec![Value::Int(1)]);
        for _ in 0..60 {
            list = list.clone().join(list);
        }
        assert_eq!(list.len(), 1 << 60);
        assert_eq!(list.get(1 << 59).unwrap().unwrap().as_int(), Ok(1));
    }

    #[test]
    fn pushing_does_not_change_who_shares_the_list() {
        let original = List::from(vec![Value::Int(1)]);
        let mut copy = original.clone();
        copy.push(Value::Int(2));
        assert_eq!(ints(&original), [1]);
        assert_eq!(ints(&copy), [1, 2]);
    }
}
