//! `Content-Type` headers as Go's `mime.ParseMediaType` reads them.

/// The media type in lower case, without its parameters; `None` if anything about the header is malformed.
pub(super) fn parse(header: &str) -> Option<String> {
    let base = header.split(';').next().unwrap_or_default();
    let media_type = base.trim().to_lowercase();
    if !is_media_type(&media_type) {
        return None;
    }
    let mut parameters: Vec<(String, String)> = Vec::new();
    let mut rest = header[base.len()..].trim_start();
    while !rest.is_empty() {
        let Some((name, value, after)) = parameter(rest) else {
            // One semicolon at the end is no error.
            return (rest.trim() == ";").then_some(media_type);
        };
        parameters.push((name, value));
        rest = after.trim_start();
    }
    // The same parameter twice must at least say the same.
    parameters.sort_unstable();
    parameters.dedup();
    let repeated = parameters.windows(2).any(|pair| pair[0].0 == pair[1].0);
    (!repeated).then_some(media_type)
}

fn is_media_type(text: &str) -> bool {
    let (main, rest) = token(text);
    match rest.strip_prefix('/') {
        None => !main.is_empty() && rest.is_empty(),
        Some(rest) => {
            let (sub, rest) = token(rest);
            !main.is_empty() && !sub.is_empty() && rest.is_empty()
        }
    }
}

/// The parameter that a text begins with, its name in lower case, and what follows it.
fn parameter(text: &str) -> Option<(String, String, &str)> {
    let (name, rest) = token(text.strip_prefix(';')?.trim_start());
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    if name.is_empty() {
        return None;
    }
    let (value, rest) = match rest.strip_prefix('"') {
        Some(quoted) => quoted_string(quoted)?,
        None => match token(rest) {
            ("", _) => return None,
            (value, rest) => (value.to_owned(), rest),
        },
    };
    Some((name.to_lowercase(), value, rest))
}

/// A quoted string behind its opening quote. A backslash before what needs none stands for itself.
fn quoted_string(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\r' | '\n' => return None,
            '\\' => value.push(
                characters
                    .next_if(|(_, next)| is_special(*next))
                    .map_or('\\', |(_, next)| next),
            ),
            other => value.push(other),
        }
    }
    None
}

/// The token that a text begins with, and the rest.
fn token(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_graphic() || is_special(c))
        .unwrap_or(text.len());
    text.split_at(end)
}

/// `tspecials` of RFC 2045.
fn is_special(character: char) -> bool {
    "()<>@,;:\\\"/[]?=".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_are_read_as_go_reads_them() {
        for (header, expected) in [
            ("application/json", Some("application/json")),
            ("APPLICATION/JSON", Some("application/json")),
            (" application/json ; charset=utf-8", Some("application/json")),
            ("application/json; charset=\"u\\t\\\"f\"", Some("application/json")),
            ("application/json; charset", None),
            ("application/json; charset=", None),
            ("application/json;", Some("application/json")),
            ("application/json;;", None),
            ("application/json; a=b; a=b", Some("application/json")),
            ("application/json; a=b; A=c", None),
            ("application/json, application/yaml", None),
            ("application/json; a=\"b", None),
            ("*/*", Some("*/*")),
            ("json", Some("json")),
            ("application/", None),
            ("/json", None),
            ("", None),
            (" ", None),
            ("application/jsön", None),
        ] {
            assert_eq!(parse(header).as_deref(), expected, "{header}");
        }
    }
}
