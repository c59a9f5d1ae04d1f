//! Objects from the text of a manifest file, YAML or JSON, of one or several documents.

use std::collections::BTreeMap;

use serde_saphyr::{MessageFormatter as _, Spanned, UserMessageFormatter};
use structural_schema::Value;

use crate::event::{Event, Source};
use crate::kinds::{DecodeError, Kind, Object};

/// The logical cluster of objects without the annotation `kcp.io/cluster`.
pub const DEFAULT_CLUSTER: &str = "provider";

/// How deep documents may nest.
const MAX_DEPTH: usize = 1024;
/// How many nodes a document may have; a large schema has some ten thousand.
const MAX_NODES: usize = 10_000_000;
/// How many nodes may come from aliases.
const MAX_REPLAYED: usize = 100_000;

/// Reads the objects of one file. A field that cannot be used is that object's problem; what is no YAML, or no object
/// of a known kind, is an error for the whole file.
pub fn parse(text: &str) -> Result<Vec<Object>, ManifestError> {
    let mut reader = text.as_bytes();
    let mut objects = Vec::new();
    for (index, parsed) in serde_saphyr::read_with_options::<_, Spanned<Value>>(&mut reader, options()).enumerate() {
        let document = index + 1;
        let parsed = parsed.map_err(|source| ManifestError::Syntax {
            document,
            line: source.location().map_or(0, |location| location.line()),
            fault: first_line(&source),
            source: Box::new(source),
        })?;
        let line = parsed.referenced.line();
        for value in items(parsed.value) {
            let object = Object::decode(value, Some(DEFAULT_CLUSTER));
            objects.push(object.map_err(|source| ManifestError::Object { document, line, source })?);
        }
    }
    Ok(objects)
}

/// What a directory that was read anew tells the [`Index`](crate::Index): these objects and no others.
pub fn events(objects: Vec<Object>) -> Vec<Event> {
    let mut by_kind: BTreeMap<Kind, Vec<Object>> = Kind::ALL.map(|kind| (kind, Vec::new())).into();
    for object in objects {
        by_kind.entry(object.kind()).or_default().push(object);
    }
    let resets = by_kind.into_iter().map(|(kind, objects)| Event::Reset {
        source: Source::Manifests,
        kind,
        objects,
    });
    resets.chain([Event::Complete(Source::Manifests)]).collect()
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// Not YAML.
    #[error("document {document}, line {line}: {fault}")]
    Syntax {
        /// Counted from 1, empty documents left out.
        document: usize,
        /// Counted from 1 in the file; 0 where it is not known.
        line: u64,
        /// What is wrong, in one line.
        fault: String,
        /// All that the parser says, with an excerpt.
        source: Box<serde_saphyr::Error>,
    },
    /// Not an object of a known kind.
    #[error("document {document}, line {line}: {source}")]
    Object {
        /// Counted from 1, empty documents left out.
        document: usize,
        /// The first line of the document, counted from 1 in the file.
        line: u64,
        /// What is wrong.
        source: DecodeError,
    },
}

/// The objects of a document: itself, or the items of a `List`.
fn items(mut value: Value) -> Vec<Value> {
    let is_list = value.get("kind").and_then(Value::as_str) == Some("List");
    match value.as_object_mut().and_then(|list| list.get_mut("items")) {
        Some(Value::Array(items)) if is_list => std::mem::take(items).into_vec(),
        _ => vec![value],
    }
}

/// As kubectl reads: YAML 1.1 booleans and octal numbers.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_events: 2 * MAX_NODES,
            max_documents: MAX_NODES,
            flow_nesting_limit: MAX_DEPTH,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_REPLAYED,
        },
        legacy_octal_numbers: true,
    }
}

/// What is wrong, in words for people who do not know the parser.
fn first_line(error: &serde_saphyr::Error) -> String {
    let text = UserMessageFormatter.format_message(error.without_snippet());
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    const WEBHOOK: &str = "apiVersion: ephemeral.contrib.kcp.io/v1alpha1
kind: EphemeralWebhook
metadata: {name: w}
spec: {export: e, group: g.example.org, resource: rs, url: 'https://w.example.org'}
";

    #[test]
    fn documents_and_lists_of_yaml_and_json_are_read() {
        let export = r#"{"apiVersion": "apis.kcp.io/v1alpha2", "kind": "APIExport",
            "metadata": {"name": "e", "annotations": {"kcp.io/cluster": "other"}}}"#;
        let list = format!("apiVersion: v1\nkind: List\nitems:\n- {}\n", export.replace('\n', " "));
        let text = format!("# a comment\n---\n{WEBHOOK}---\n---\n{export}\n---\n{list}");
        let objects = parse(&text).unwrap();
        let seen: Vec<_> = objects
            .iter()
            .map(|object| (object.kind(), &*object.meta().cluster, &*object.meta().name))
            .collect();
        assert_eq!(
            seen,
            [
                (Kind::EphemeralWebhook, "provider", "w"),
                (Kind::APIExport, "other", "e"),
                (Kind::APIExport, "other", "e"),
            ]
        );
        assert!(parse("").unwrap().is_empty());
        assert!(parse("# nothing\n").unwrap().is_empty());
    }

    #[test]
    fn errors_name_document_line_and_what() {
        let unknown = format!("{WEBHOOK}---\napiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\n");
        let unnamed = WEBHOOK.replace("name: w", "labels: {}");
        for (text, expected) in [
            (
                unknown.as_str(),
                "document 2, line 6: unknown kind \"Secret\" in apiVersion \"v1\"",
            ),
            (
                unnamed.as_str(),
                "document 1, line 1: metadata.name must be a string that is not empty",
            ),
            (
                "just text",
                "document 1, line 1: not an object with apiVersion and kind",
            ),
            (
                "kind: Secret\nkind: Secret\n",
                "document 1, line 2: duplicate mapping key `kind` is not allowed here",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), expected);
        }
        let broken = format!("{WEBHOOK}---\nkind: [unclosed\n");
        let message = parse(&broken).unwrap_err().to_string();
        assert!(message.starts_with("document 2, line "), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }

    #[test]
    fn a_field_that_cannot_be_used_is_the_problem_of_its_object() {
        let text = format!(
            "{}---\n{WEBHOOK}",
            WEBHOOK.replace("spec: {", "spec: {timeoutSeconds: 99, ")
        );
        let objects = parse(&text).unwrap();
        let settings: Vec<_> = objects
            .iter()
            .map(|object| match object {
                Object::Webhook(webhook) => webhook.settings.as_ref().map(|_| ()).map_err(|e| e.field),
                _ => panic!("not a webhook"),
            })
            .collect();
        assert_eq!(settings, [Err("spec.timeoutSeconds"), Ok(())]);
    }

    #[test]
    fn alias_bombs_are_errors() {
        let mut bomb = String::from("a0: &a0 [x]\n");
        for level in 1..12 {
            let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
            writeln!(bomb, "a{level}: &a{level} [{aliases}]").unwrap();
        }
        assert!(parse(&bomb).is_err());
    }

    #[test]
    fn nesting_is_limited() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        // Whatever is left of the stack where a level begins, it is enough.
        for offset in 0..32 {
            let read = move || parse(&nested(MAX_DEPTH / 2)).unwrap_err().to_string();
            let thread = std::thread::Builder::new().stack_size(1_000_000 + 8192 * offset);
            let message = thread.spawn(read).unwrap().join().unwrap();
            assert!(message.contains("not an object"), "{message}");
        }
        let message = parse(&nested(100_000)).unwrap_err().to_string();
        assert!(!message.contains("not an object"), "{message}");
    }
}
