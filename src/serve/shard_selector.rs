//! `--shard-selector`: the shards that are to come here, as kubectl writes label selectors.

use std::str::FromStr;

use ephemeral_index::kinds::ShardSelection;
use serde_json::{Value, json};

/// A selector over the labels of shards, as a metav1.LabelSelector.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ShardSelector(Value);

/// Not a label selector.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} is none of key=value, key!=value, key in (a,b), key notin (a,b), key, !key")]
pub(crate) struct ShardSelectorInvalid(String);

impl ShardSelector {
    /// As it is published.
    pub(crate) fn selection(&self) -> ShardSelection {
        let selector = serde_json::from_value(self.0.clone()).expect("every JSON value is one");
        ShardSelection::Selector(selector)
    }
}

impl FromStr for ShardSelector {
    type Err = ShardSelectorInvalid;

    /// As `labels.Parse`, less the operators that a `LabelSelector` has not.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut labels = serde_json::Map::new();
        let mut expressions = Vec::new();
        for requirement in requirements(text) {
            match parse(requirement).ok_or_else(|| ShardSelectorInvalid(requirement.to_owned()))? {
                Requirement::Equals(key, value) => {
                    // Both at once would match nothing, which nobody means.
                    if labels.insert(key.to_owned(), value.into()).is_some() {
                        return Err(ShardSelectorInvalid(requirement.to_owned()));
                    }
                }
                Requirement::Expression(expression) => expressions.push(expression),
            }
        }
        let mut selector = json!({});
        if !labels.is_empty() {
            selector["matchLabels"] = labels.into();
        }
        if !expressions.is_empty() {
            selector["matchExpressions"] = expressions.into();
        }
        Ok(Self(selector))
    }
}

enum Requirement<'a> {
    Equals(&'a str, &'a str),
    Expression(Value),
}

/// The parts between commas, those within parentheses left alone.
fn requirements(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    text.split(move |character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    })
    .map(str::trim)
}

fn parse(requirement: &str) -> Option<Requirement<'_>> {
    let expression = |key: &str, operator: &str, values: Option<Vec<&str>>| {
        let mut expression = json!({"key": is_key(key).then_some(key)?, "operator": operator});
        if let Some(values) = values {
            expression["values"] = values.into();
        }
        Some(Requirement::Expression(expression))
    };
    if let Some((key, value)) = requirement.split_once("!=") {
        return expression(key.trim(), "NotIn", Some(vec![value_of(value)?]));
    }
    if let Some((key, value)) = requirement.split_once('=') {
        let value = value_of(value.strip_prefix('=').unwrap_or(value))?;
        return is_key(key.trim()).then_some(Requirement::Equals(key.trim(), value));
    }
    if let Some(key) = requirement.strip_prefix('!') {
        return expression(key.trim(), "DoesNotExist", None);
    }
    let Some((key, rest)) = requirement.split_once(char::is_whitespace) else {
        return expression(requirement, "Exists", None);
    };
    let (operator, rest) = match rest.trim_start() {
        rest if rest.starts_with("notin") => ("NotIn", &rest["notin".len()..]),
        rest if rest.starts_with("in") => ("In", &rest["in".len()..]),
        _ => return None,
    };
    let values = rest.trim().strip_prefix('(')?.strip_suffix(')')?;
    expression(
        key,
        operator,
        Some(values.split(',').map(value_of).collect::<Option<_>>()?),
    )
}

fn is_key(text: &str) -> bool {
    let (prefix, name) = text
        .split_once('/')
        .map_or((None, text), |(prefix, name)| (Some(prefix), name));
    is_label(name) && !name.is_empty() && prefix.is_none_or(|prefix| is_label(prefix) && !prefix.is_empty())
}

fn value_of(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| is_label(text))
}

fn is_label(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_read_as_kubectl_writes_them() {
        for (text, expected) in [
            ("region=eu", json!({"matchLabels": {"region": "eu"}})),
            (
                "region == eu , name=root",
                json!({"matchLabels": {"region": "eu", "name": "root"}}),
            ),
            (
                "kcp.io/zone in (a, b),!spare",
                json!({"matchExpressions": [
                    {"key": "kcp.io/zone", "operator": "In", "values": ["a", "b"]},
                    {"key": "spare", "operator": "DoesNotExist"},
                ]}),
            ),
            (
                "a,b!=c,d notin (e)",
                json!({"matchExpressions": [
                    {"key": "a", "operator": "Exists"},
                    {"key": "b", "operator": "NotIn", "values": ["c"]},
                    {"key": "d", "operator": "NotIn", "values": ["e"]},
                ]}),
            ),
        ] {
            assert_eq!(text.parse(), Ok(ShardSelector(expected)), "{text}");
        }
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for bad in [
            "", ",", "a=b,", "=b", "a=b=c", "a in", "a in b", "a in (b", "a > 1", "a b", "!", "/a", "ä=b", "a=b,a=c",
        ] {
            assert!(bad.parse::<ShardSelector>().is_err(), "{bad:?}");
        }
    }
}
