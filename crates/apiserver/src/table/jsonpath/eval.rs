//! From steps and a value to what they find, as `jsonpath.JSONPath` evaluates it.

use std::cmp::Ordering;

use structural_schema::Value;

use super::{End, Filter, JsonPath, Slice, Step};

/// Most values that one evaluation may find on its way: recursive steps multiply.
const MAX_VISITED: usize = 100_000;

pub(super) fn first<'a>(path: &'a JsonPath, value: &'a Value) -> Option<&'a Value> {
    let mut walk = Walk { left: MAX_VISITED };
    walk.path(vec![value], path).ok()?.first().copied()
}

/// The path does not fit the value, or visits too much of it.
struct Failed;

type Found<'a> = Result<Vec<&'a Value>, Failed>;

struct Walk {
    /// How many values may still be found.
    left: usize,
}

impl Walk {
    fn visit(&mut self, count: usize) -> Result<(), Failed> {
        self.left = self.left.checked_sub(count).ok_or(Failed)?;
        Ok(())
    }

    fn path<'a>(&mut self, input: Vec<&'a Value>, path: &'a JsonPath) -> Found<'a> {
        path.0.iter().try_fold(input, |input, step| {
            self.visit(input.len() + 1)?;
            self.step(&input, step)
        })
    }

    fn step<'a>(&mut self, input: &[&'a Value], step: &'a Step) -> Found<'a> {
        match step {
            Step::Field(name) => Ok(input.iter().filter_map(|value| value.get(name)).collect()),
            Step::Slice(slice) => self.slice(input, *slice),
            Step::Wildcard => self.children(input),
            Step::Recursive => self.recursive(input),
            Step::Union(paths) => {
                let mut found = Vec::new();
                for path in paths {
                    found.extend(self.path(input.to_vec(), path)?);
                }
                Ok(found)
            }
            Step::Filter(filter) => self.filter(input, filter),
            Step::Text(text) => Ok(vec![text]),
            Step::Literal(literal) => Ok(vec![literal; input.len()]),
            Step::Keyword => Err(Failed),
        }
    }

    fn slice<'a>(&mut self, input: &[&'a Value], slice: Slice) -> Found<'a> {
        let mut found = Vec::new();
        for value in input.iter().filter(|value| !value.is_null()) {
            let items = value.as_array().ok_or(Failed)?;
            let Some((start, end)) = bounds(slice, items.len())? else {
                return Ok(found);
            };
            let step = match slice.step {
                None => 1,
                Some(step) => usize::try_from(step).ok().filter(|step| *step > 0).ok_or(Failed)?,
            };
            self.visit(end - start)?;
            found.extend(items[start..end].iter().step_by(step));
        }
        Ok(found)
    }

    fn children<'a>(&mut self, input: &[&'a Value]) -> Found<'a> {
        let mut found = Vec::new();
        for value in input {
            let before = found.len();
            found.extend(items(value));
            self.visit(found.len() - before)?;
        }
        Ok(found)
    }

    /// Arrays and objects that are not empty, each before what is in it.
    fn recursive<'a>(&mut self, input: &[&'a Value]) -> Found<'a> {
        let mut found = Vec::new();
        let mut open: Vec<&Value> = input.iter().rev().copied().collect();
        while let Some(value) = open.pop() {
            let before = open.len();
            open.extend(items(value));
            open[before..].reverse();
            self.visit(open.len() - before + 1)?;
            if open.len() > before {
                found.push(value);
            }
        }
        Ok(found)
    }

    fn filter<'a>(&mut self, input: &[&'a Value], filter: &'a Filter) -> Found<'a> {
        let mut found = Vec::new();
        for value in input {
            for item in value.as_array().ok_or(Failed)?.iter() {
                self.visit(1)?;
                if self.holds(item, filter)? {
                    found.push(item);
                }
            }
        }
        Ok(found)
    }

    fn holds<'a>(&mut self, item: &'a Value, filter: &'a Filter) -> Result<bool, Failed> {
        match filter {
            // A path that does not fit the item finds nothing.
            Filter::Exists(path) => match self.path(vec![item], path) {
                Ok(found) => Ok(!found.is_empty()),
                Err(Failed) => Ok(false),
            },
            Filter::Compare(left, operator, right) => {
                let Some(left) = self.one(item, left)? else {
                    return Ok(false);
                };
                let Some(right) = self.one(item, right)? else {
                    return Ok(false);
                };
                compare(left, operator, right)
            }
        }
    }

    fn one<'a>(&mut self, item: &'a Value, path: &'a JsonPath) -> Result<Option<&'a Value>, Failed> {
        let found = self.path(vec![item], path)?;
        if found.len() > 1 {
            Err(Failed)
        } else {
            Ok(found.first().copied())
        }
    }
}

/// What is directly in a value.
fn items(value: &Value) -> impl Iterator<Item = &Value> {
    let list = value.as_array().into_iter().flat_map(|list| list.iter());
    list.chain(
        value
            .as_object()
            .into_iter()
            .flat_map(|map| map.iter().map(|(_, value)| value)),
    )
}

/// The range of items that a slice is of an array of this length; `None` where it asks for nothing.
fn bounds(slice: Slice, length: usize) -> Result<Option<(usize, usize)>, Failed> {
    let length = i64::try_from(length).map_err(|_| Failed)?;
    let from_end = |index: i64| if index < 0 { index.saturating_add(length) } else { index };
    let start = from_end(slice.start.unwrap_or(0));
    let end = match slice.end {
        End::Open => length,
        End::At(end) => from_end(end),
        // The index -1 is the last item: what follows it is the end, not the beginning.
        End::AfterStart => match slice.start.unwrap_or(0).saturating_add(1) {
            0 => length,
            end => from_end(end),
        },
    };
    if start == end {
        return Ok(None);
    }
    if (0..length).contains(&start) && (start..=length).contains(&end) {
        let index = |at| usize::try_from(at).map_err(|_| Failed);
        Ok(Some((index(start)?, index(end)?)))
    } else {
        Err(Failed)
    }
}

/// `template.Equal`, `Less` and their kin: only what is of one kind compares.
fn compare(left: &Value, operator: &str, right: &Value) -> Result<bool, Failed> {
    let order = match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Float(left), Value::Float(right)) => left.partial_cmp(right),
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) if matches!(operator, "==" | "!=") => Some(left.cmp(right)),
        _ => return Err(Failed),
    };
    Ok(match operator {
        "==" => order == Some(Ordering::Equal),
        "!=" => order != Some(Ordering::Equal),
        "<" => order == Some(Ordering::Less),
        ">" => order == Some(Ordering::Greater),
        "<=" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        ">=" => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        _ => return Err(Failed),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use structural_schema::json;

    use super::super::{JsonPath, Malformed};
    use super::*;

    fn decode(json: &str) -> Value {
        json::decode(json.as_bytes()).unwrap().value
    }

    /// The first thing found, as JSON.
    fn find(object: &Value, path: &str) -> Option<String> {
        let path = JsonPath::parse(path).unwrap();
        path.first(object).map(|found| {
            let mut json = Vec::new();
            json::encode(found, &mut json);
            String::from_utf8(json).unwrap()
        })
    }

    #[test]
    fn paths_find_what_client_go_finds() {
        let object = decode(
            r#"{"a":{"b":"x","l":[1,2,3],"n":null,"k.y":"dotted"},"conditions":[
                {"type":"Ready","status":"True","n":1},{"type":"Synced","status":"False","n":2.5}]}"#,
        );
        for (path, expected) in [
            (".a.b", Some("\"x\"")),
            ("$.a.b", Some("\"x\"")),
            (".a['b']", Some("\"x\"")),
            (".a['k\\.y']", Some("\"dotted\"")),
            (".a.k\\.y", Some("\"dotted\"")),
            (".a.missing", None),
            (".a.n", Some("null")),
            (".a.n.x", None),
            (".a.b.x", None),
            (".a.l[0]", Some("1")),
            (".a.l[-1]", Some("3")),
            (".a.l[1:]", Some("2")),
            (".a.l[::2]", Some("1")),
            (".a.l[0:0]", None),
            (".a.l[3]", None),
            (".a.l[-4]", None),
            (".a.l[*]", Some("1")),
            (".a.l[2,0]", Some("3")),
            (".a.b[0]", None),
            (".conditions[?(@.type==\"Ready\")].status", Some("\"True\"")),
            (".conditions[?(@.type=='Synced')].status", Some("\"False\"")),
            (".conditions[?(@.n>1)].type", None),
            (".conditions[?(@.missing)].type", None),
            (".conditions[?(@.n)].type", Some("\"Ready\"")),
            (".conditions[*].type", Some("\"Ready\"")),
            ("..status", Some("\"True\"")),
            (".a.*", Some("\"x\"")),
            ("range", None),
        ] {
            assert_eq!(find(&object, path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in [
            ".a[",
            ".a[x]",
            ".a[1:2:3:4]",
            "....",
            ".a[?(@.b",
            "!",
            ".a]",
            "\"x",
            ".a}{.b",
        ] {
            assert_eq!(JsonPath::parse(text), Err(Malformed), "{text}");
        }
        assert_eq!(JsonPath::parse(&".a".repeat(1000)), Err(Malformed));
    }

    #[test]
    fn a_path_that_multiplies_ends_soon() {
        let mut value = Value::from(vec![Value::from(1); 10]);
        for _ in 0..5_000 {
            value = Value::from(vec![value]);
        }
        assert_eq!(find(&value, "...*...*...*...*"), None);
    }

    proptest! {
        #[test]
        fn any_path_is_read_and_evaluated(path in "[]\\[.*?()@'\":,=<a0 -]{0,30}") {
            if let Ok(path) = JsonPath::parse(&path) {
                path.first(&decode(r#"{"a":[{"a":1},{"a":"b"}],"":[[1,2],null]}"#));
            }
        }
    }
}
