//! `fieldPath` of a rule: a path below the rule's place that its error names (`ValidFieldPath`).

use crate::node::Node;

/// Checks a path against the schema and writes it as field errors do: `.a.b['c']` is `a.b.c`, or `a.b[c]` for a key of
/// a map.
///
/// # Errors
///
/// Kubernetes' words.
pub(super) fn normalize(path: &str, node: &Node) -> Result<String, String> {
    let mut normalized = String::new();
    let mut node = node;
    let mut tokens = Tokens { rest: path };
    while let Some(token) = tokens.next() {
        let name = match token {
            "." => tokens.next().ok_or("unexpected end of JSON path")?.to_owned(),
            "[" => {
                let quoted = tokens.next().ok_or("unexpected end of JSON path")?;
                let name = quoted
                    .strip_prefix('\'')
                    .and_then(|rest| rest.strip_suffix('\''))
                    .ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                let name = unescape(name)?;
                match tokens.next() {
                    Some("]") => name,
                    Some(other) => return Err(format!("expected ] but got {other}")),
                    None => return Err("unexpected end of JSON path".to_owned()),
                }
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        let property = node.property(&name);
        node = match (property, node.additional.schema()) {
            (Some(property), _) => {
                if !normalized.is_empty() {
                    normalized.push('.');
                }
                normalized.push_str(&name);
                property
            }
            (None, Some(values)) if node.properties.is_empty() => {
                normalized.push('[');
                normalized.push_str(&name);
                normalized.push(']');
                values
            }
            _ => return Err("does not refer to a valid field".to_owned()),
        };
    }
    Ok(normalized)
}

/// Splits a path at its delimiters, which are tokens themselves; a quoted string is one token.
struct Tokens<'t> {
    rest: &'t str,
}

impl<'t> Tokens<'t> {
    fn next(&mut self) -> Option<&'t str> {
        let first = self.rest.chars().next()?;
        let end = match first {
            '\'' => end_of_quoted(self.rest),
            '.' | '[' | ']' => 1,
            _ => self.rest.find(['.', '[', ']']).unwrap_or(self.rest.len()),
        };
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(token)
    }
}

fn end_of_quoted(text: &str) -> usize {
    let bytes = text.as_bytes();
    (1..bytes.len())
        .find(|i| bytes[*i] == b'\'' && bytes[i - 1] != b'\\')
        .map_or(bytes.len(), |i| i + 1)
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('a') => out.push('\x07'),
            Some('b') => out.push('\x08'),
            Some('f') => out.push('\x0c'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('v') => out.push('\x0b'),
            Some('\'') => out.push('\''),
            Some('\\') | None => out.push('\\'),
            Some(other) => return Err(format!("invalid string literal: invalid escape char \\{other}")),
        }
    }
    Ok(out)
}
