//! Property names as expressions write them: `k8s.io/apiserver/pkg/cel/escaping.go`.

use std::borrow::Cow;

/// Words that the grammar of expressions keeps for itself.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The identifier of a property: reserved words between `__`, and `__`, `.`, `-`, `/` spelt out.
///
/// None for a name that cannot be written (an empty one, a leading digit, other characters).
pub fn escape(name: &str) -> Option<Cow<'_, str>> {
    let first = name.bytes().next()?;
    if first.is_ascii_digit() {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__").into());
    }
    if !name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'/'))
    {
        return None;
    }
    if !name.contains("__") && !name.contains(['.', '-', '/']) {
        return Some(name.into());
    }
    let escaped = name
        .replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__");
    Some(escaped.into())
}

/// The property that an identifier stands for; none where it has an escape that does not exist.
pub fn unescape(identifier: &str) -> Option<Cow<'_, str>> {
    if !identifier.contains("__") {
        return Some(identifier.into());
    }
    let mut name = String::with_capacity(identifier.len());
    let mut rest = identifier;
    while let Some(start) = rest.find("__") {
        let inner = &rest[start + 2..];
        let Some(end) = inner
            .find('_')
            .filter(|end| *end > 0 && inner[*end..].starts_with("__"))
        else {
            // No escape begins here; one may begin at the next underscore.
            name.push_str(&rest[..=start]);
            rest = &rest[start + 1..];
            continue;
        };
        name.push_str(&rest[..start]);
        match &inner[..end] {
            "underscores" => name.push_str("__"),
            "dot" => name.push('.'),
            "dash" => name.push('-'),
            "slash" => name.push('/'),
            word if RESERVED.contains(&word) && word.len() + 4 == identifier.len() => name.push_str(word),
            _ => return None,
        }
        rest = &inner[end + 2..];
    }
    name.push_str(rest);
    Some(name.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_kubernetes_does() {
        for (name, escaped) in [
            ("a", "a"),
            ("_", "_"),
            ("a_b", "a_b"),
            ("namespace", "__namespace__"),
            ("in", "__in__"),
            ("int", "int"),
            ("x-y", "x__dash__y"),
            ("a.b", "a__dot__b"),
            ("a/b", "a__slash__b"),
            ("__z", "__underscores__z"),
            ("___", "__underscores___"),
            ("____", "__underscores____underscores__"),
            ("a__b", "a__underscores__b"),
        ] {
            assert_eq!(escape(name).as_deref(), Some(escaped), "{name}");
            assert_eq!(unescape(escaped).as_deref(), Some(name), "{escaped}");
        }
        for name in ["", "1a", "$x", "ä", "a b"] {
            assert_eq!(escape(name), None, "{name}");
        }
        for identifier in ["__foo__", "a__in__", "__in__b"] {
            assert_eq!(unescape(identifier), None, "{identifier}");
        }
        assert_eq!(unescape("a__b").as_deref(), Some("a__b"));
    }
}
