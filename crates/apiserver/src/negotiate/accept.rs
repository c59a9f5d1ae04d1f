//! `Accept` headers as `github.com/munnerz/goautoneg` reads them.

use std::cmp::Ordering;

/// Up to this many clauses Go's `sort.Sort` is an insertion sort.
const INSERTION_SORT: usize = 12;

/// One clause of an `Accept` header.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Clause<'a> {
    /// Before the slash, or `*`.
    pub(crate) main: &'a str,
    /// After the slash, or `*`.
    pub(crate) sub: &'a str,
    /// How much it is wanted. Zero is no refusal: it is only wanted least.
    quality: f32,
    /// Parameters other than `q`, in order; of equal names the last one counts.
    pub(crate) parameters: Vec<(&'a str, &'a str)>,
}

impl Clause<'_> {
    /// Whether the clause asks for this media type.
    pub(crate) fn matches(&self, main: &str, sub: &str) -> bool {
        (self.main == main && (self.sub == sub || self.sub == "*")) || (self.main == "*" && self.sub == "*")
    }

    /// `acceptSlice.Less`, which is no order: two clauses may each be less than the other.
    fn precedes(&self, other: &Self) -> bool {
        self.quality > other.quality || (self.main != "*" && other.main == "*") || (self.sub != "*" && other.sub == "*")
    }

    /// An order that agrees with [`Self::precedes`] where that is one.
    fn order(&self, other: &Self) -> Ordering {
        let specific = |clause: &Self| (clause.main != "*", clause.sub != "*");
        other
            .quality
            .total_cmp(&self.quality)
            .then_with(|| specific(other).cmp(&specific(self)))
    }
}

/// The clauses of a header, most wanted first. What is no media type is left out.
pub(crate) fn parse(header: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<_> = header.split(',').filter_map(clause).collect();
    if clauses.len() <= INSERTION_SORT {
        for unsorted in 1..clauses.len() {
            let mut at = unsorted;
            while at > 0 && clauses[at].precedes(&clauses[at - 1]) {
                clauses.swap(at, at - 1);
                at -= 1;
            }
        }
    } else {
        clauses.sort_by(Clause::order);
    }
    clauses
}

fn clause(text: &str) -> Option<Clause<'_>> {
    let (range, rest) = trim(text).split_once(';').unwrap_or((trim(text), ""));
    let (main, sub) = match range.split_once('/') {
        Some((main, sub)) if !sub.is_empty() => {
            // A slash at the very end is overlooked, one with something behind it is not.
            let (sub, more) = sub.split_once('/').unwrap_or((sub, ""));
            if !more.is_empty() {
                return None;
            }
            (trim(main), trim(sub))
        }
        _ => match trim(range.trim_end_matches('/')) {
            "*" => ("*", "*"),
            _ => return None,
        },
    };

    let mut clause = Clause {
        main,
        sub,
        quality: 1.0,
        parameters: Vec::new(),
    };
    for parameter in rest.split(';') {
        let Some((name, value)) = parameter.split_once('=').filter(|(_, value)| !value.is_empty()) else {
            continue;
        };
        let (value, more) = value.split_once('=').unwrap_or((value, ""));
        match trim(name) {
            _ if !more.is_empty() => {}
            "q" => clause.quality = value.parse().unwrap_or_default(),
            name => clause.parameters.push((name, trim(value))),
        }
    }
    Some(clause)
}

fn trim(text: &str) -> &str {
    text.trim_matches(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(header: &str) -> Vec<String> {
        parse(header)
            .iter()
            .map(|clause| format!("{}/{}", clause.main, clause.sub))
            .collect()
    }

    #[test]
    fn the_most_wanted_comes_first() {
        for (header, expected) in [
            (
                "application/json;q=0.5, application/yaml;q=0.9",
                "application/yaml application/json",
            ),
            (
                "application/yaml, application/json",
                "application/yaml application/json",
            ),
            // A wildcard comes last whatever its quality says, since the specific one precedes it.
            ("application/json;q=0, */*", "*/* application/json"),
            ("*/*, application/json;q=0", "application/json */*"),
            (
                "text/html,application/xml;q=0.9,*/*;q=0.8",
                "text/html application/xml */*",
            ),
            ("application/*, application/json", "application/json application/*"),
            ("*", "*/*"),
            ("json, application/json", "application/json"),
            ("a/b/c, a/b/", "a/b"),
            (", ,;,/,a/", ""),
        ] {
            assert_eq!(ranges(header).join(" "), expected, "{header}");
        }
    }

    #[test]
    fn parameters_that_are_none_are_left_out() {
        let clauses = parse("application/json; as = Table ;v=v1;x;y=;z=a=b;w=a=;q=banana");
        assert_eq!(clauses[0].parameters, [("as", "Table"), ("v", "v1"), ("w", "a")]);
        assert!(clauses[0].quality.abs() < f32::EPSILON);
    }

    #[test]
    fn a_header_of_a_mebibyte_is_read_in_an_instant() {
        let header = "a/b;q=0.1,*/*;q=0.2,".repeat(1 << 16);
        assert_eq!(parse(&header).len(), 2 << 16);
    }
}
