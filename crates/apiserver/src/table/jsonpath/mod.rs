//! The JSON paths of printer columns: `client-go/util/jsonpath` as far as a column can use it.
//!
//! A column's path comes from a provider and is evaluated on objects of consumers: its length and the number of
//! values that one evaluation may visit are bounded.

mod eval;
mod parse;

use structural_schema::Value;

/// Longest path, bytes.
const MAX_LENGTH: usize = 1024;

/// One path, ready to be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JsonPath(Vec<Step>);

/// What is done to the values found so far.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    /// The values of a field.
    Field(Box<str>),
    /// Some of the items.
    Slice(Slice),
    /// All items or fields.
    Wildcard,
    /// All arrays and objects below, themselves included.
    Recursive,
    /// What any of several paths finds.
    Union(Vec<JsonPath>),
    /// The items for which a condition holds.
    Filter(Box<Filter>),
    /// A constant for all values together.
    Text(Value),
    /// A constant for each value.
    Literal(Value),
    /// A keyword such as `range` that means nothing in a column.
    Keyword,
}

/// `[start:end:step]`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Slice {
    start: Option<i64>,
    end: End,
    step: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum End {
    /// None is given: up to the last item.
    #[default]
    Open,
    /// Before this item.
    At(i64),
    /// An index, not a slice: behind the start.
    AfterStart,
}

#[derive(Clone, Debug, PartialEq)]
enum Filter {
    /// Something is found.
    Exists(JsonPath),
    /// What is found on both sides compares so.
    Compare(JsonPath, Box<str>, JsonPath),
}

/// A path that cannot be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Malformed;

impl JsonPath {
    /// Reads what stands between the braces of a template.
    pub(super) fn parse(text: &str) -> Result<Self, Malformed> {
        if text.len() > MAX_LENGTH {
            return Err(Malformed);
        }
        parse::path(text)
    }

    /// The first value that the path finds; none also if evaluating it fails or takes too long.
    pub(super) fn first<'a>(&'a self, value: &'a Value) -> Option<&'a Value> {
        eval::first(self, value)
    }
}
