//! Field selectors as `fields.ParseSelector` reads them.

/// The terms of a field selector that say anything, all of which must hold.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Debug, Eq, PartialEq)]
struct Term {
    field: String,
    value: String,
    /// Whether the field must have the value, or must not.
    equal: bool,
}

/// Why a text is no field selector, or not one of this resource.
#[derive(Debug, thiserror::Error)]
pub(super) enum FieldSelectorError {
    /// A term without an operator.
    #[error("invalid selector: '{selector}'; can't understand '{term}'")]
    NoOperator {
        /// All of it.
        selector: String,
        /// The term.
        term: String,
    },
    /// A backslash before what needs none, or at the end.
    #[error("invalid field selector: invalid escape sequence: {0}")]
    Escape(String),
    /// A character that needs a backslash; Go prints its number.
    #[error("invalid field selector: unescaped character in value: {0}")]
    Unescaped(u32),
    /// A field that objects cannot be selected by.
    #[error("field label not supported: {0}")]
    NotSupported(String),
}

impl FieldSelector {
    pub(super) fn parse(selector: &str) -> Result<Self, FieldSelectorError> {
        let mut parts = split_terms(selector);
        // Of several faults Go reports that of the part which is the first when they are sorted.
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let (field, operator, value) = split_term(part).ok_or_else(|| FieldSelectorError::NoOperator {
                selector: selector.to_owned(),
                term: part.to_owned(),
            })?;
            let value = unescape(value)?;
            // `hasTerm.Transform` takes this for everything.
            if !(field.is_empty() && value.is_empty()) {
                terms.push(Term {
                    field: field.to_owned(),
                    value,
                    equal: operator != "!=",
                });
            }
        }
        Ok(Self { terms })
    }

    /// The value that the first term about a field asks for (`RequiresExactMatch`).
    pub(super) fn exact(&self, field: &str) -> Option<&str> {
        let mut terms = self.terms.iter();
        terms
            .find(|term| term.equal && term.field == field)
            .map(|term| term.value.as_str())
    }

    /// Refuses fields that objects cannot be selected by (`crConverter.ConvertFieldLabel`).
    pub(super) fn check_fields(&self, selectable: impl Fn(&str) -> bool) -> Result<(), FieldSelectorError> {
        match self.terms.iter().find(|term| !selectable(&term.field)) {
            Some(term) => Err(FieldSelectorError::NotSupported(term.field.clone())),
            None => Ok(()),
        }
    }
}

/// At commas without a backslash.
fn split_terms(selector: &str) -> Vec<&str> {
    let mut escaped = false;
    let split = |character: char| {
        let comma = character == ',' && !escaped;
        escaped = character == '\\' && !escaped;
        comma
    };
    selector.split(split).collect()
}

/// At the first operator; nothing is escaped before it.
fn split_term(term: &str) -> Option<(&str, &str, &str)> {
    let at = term
        .char_indices()
        .map(|(at, _)| at)
        .find(|at| term[*at..].starts_with('=') || term[*at..].starts_with("!="))?;
    let operator = ["!=", "==", "="]
        .into_iter()
        .find(|operator| term[at..].starts_with(operator))?;
    Some((&term[..at], operator, &term[at + operator.len()..]))
}

/// `UnescapeValue`.
fn unescape(value: &str) -> Result<String, FieldSelectorError> {
    let mut unescaped = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => unescaped.push(escaped),
                Some(other) => return Err(FieldSelectorError::Escape(format!("\\{other}"))),
                None => return Err(FieldSelectorError::Escape("\\".to_owned())),
            },
            ',' | '=' => return Err(FieldSelectorError::Unescaped(character.into())),
            other => unescaped.push(other),
        }
    }
    Ok(unescaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(selector: &str) -> Result<(), FieldSelectorError> {
        FieldSelector::parse(selector)?.check_fields(|field| matches!(field, "metadata.name" | "spec.color"))
    }

    #[test]
    fn selectors_are_read_and_their_fields_known() {
        for selector in [
            "",
            ",,",
            "metadata.name=a",
            "spec.color!=red,metadata.name==b",
            "=,!=",
            r"metadata.name=a\,b\=c\\",
        ] {
            assert!(judge(selector).is_ok(), "{selector}");
        }
        for (selector, message) in [
            (
                "metadata.name",
                "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
            ),
            ("b=c,a", "invalid selector: 'b=c,a'; can't understand 'a'"),
            (
                "metadata.name=a=b",
                "invalid field selector: unescaped character in value: 61",
            ),
            (
                r"metadata.name=a\b",
                r"invalid field selector: invalid escape sequence: \b",
            ),
            (
                r"metadata.name=a\",
                r"invalid field selector: invalid escape sequence: \",
            ),
            ("x=y,metadata.name=a", "field label not supported: x"),
            ("spec.zz=1,spec.aa=2", "field label not supported: spec.aa"),
            ("=a", "field label not supported: "),
        ] {
            assert_eq!(judge(selector).unwrap_err().to_string(), message, "{selector}");
        }
    }

    #[test]
    fn the_first_term_that_must_be_equal_counts() {
        for (selector, name) in [
            ("metadata.name=a", Some("a")),
            ("metadata.name!=a", None),
            (r"metadata.name==b\,c,spec.color=red", Some("b,c")),
            ("metadata.name=b,metadata.name=a", Some("a")),
            ("spec.color=red", None),
        ] {
            assert_eq!(
                FieldSelector::parse(selector).unwrap().exact("metadata.name"),
                name,
                "{selector}"
            );
        }
    }
}
