//! Lists and watches as kcp writes them. Each object is decoded by itself, so that one that cannot be read, or nests
//! deeper than other decoders go, takes nothing else with it.

use ephemeral_index::kinds::{Kind, Object};
use serde::Deserialize;
use serde_json::value::RawValue;

/// A page of a list.
pub(super) struct Page {
    /// The version to watch from; empty where kcp does not serve the resource on this shard.
    pub(super) version: String,
    /// Where the next page begins; empty for the last one.
    pub(super) next: String,
    /// What could be read.
    pub(super) objects: Vec<Object>,
}

/// One line of a watch.
pub(super) enum Line {
    /// `ADDED` or `MODIFIED`.
    Applied(Object),
    /// `DELETED`.
    Deleted(Object),
    /// `BOOKMARK`, or an object that cannot be read: only the version counts.
    Version(String),
    /// `ERROR`, with the code of its metav1.Status.
    Error(u16),
}

#[derive(Deserialize)]
struct RawList<'a> {
    #[serde(default)]
    metadata: ListMeta,
    /// Go writes `null` for none.
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ListMeta {
    resource_version: String,
    #[serde(rename = "continue")]
    next: String,
}

#[derive(Deserialize)]
struct RawLine<'a> {
    #[serde(rename = "type")]
    event: String,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Versioned {
    metadata: ListMeta,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    code: u16,
}

pub(super) fn page(kind: Kind, text: &[u8]) -> Result<Page, serde_json::Error> {
    let list: RawList<'_> = serde_json::from_slice(text)?;
    let items = list.items.unwrap_or_default();
    Ok(Page {
        version: list.metadata.resource_version,
        next: list.metadata.next,
        objects: items.into_iter().filter_map(|item| object(kind, item)).collect(),
    })
}

pub(super) fn line(kind: Kind, text: &[u8]) -> Result<Line, serde_json::Error> {
    let line: RawLine<'_> = serde_json::from_slice(text)?;
    let read = match line.event.as_str() {
        "ADDED" | "MODIFIED" => object(kind, line.object).map(Line::Applied),
        "DELETED" => object(kind, line.object).map(Line::Deleted),
        "ERROR" => {
            let status: Status = serde_json::from_str(line.object.get()).unwrap_or_default();
            Some(Line::Error(status.code))
        }
        _ => None,
    };
    Ok(match read {
        Some(line) => line,
        None => Line::Version(
            serde_json::from_str::<Versioned>(line.object.get())?
                .metadata
                .resource_version,
        ),
    })
}

fn object(kind: Kind, text: &RawValue) -> Option<Object> {
    match Object::from_json(kind, text.get().as_bytes(), None) {
        Ok(object) => Some(object),
        Err(error) => {
            tracing::warn!(%kind, %error, "an object of kcp cannot be read and is passed over");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANNOTATIONS: &str = r#""annotations":{"kcp.io/cluster":"c"}"#;

    #[test]
    fn an_object_that_cannot_be_read_takes_no_other_with_it() {
        let deep = |levels: usize| format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
        let schema = |name: &str, more: &str| {
            format!(r#"{{"metadata":{{"name":"{name}",{ANNOTATIONS}}},"spec":{{"versions":[{{"schema":{more}}}]}}}}"#)
        };
        let text = format!(
            r#"{{"metadata":{{"resourceVersion":"7"}},"items":[{},{},{},{{"metadata":{{"name":"of no cluster"}}}}]}}"#,
            schema("a", "{}"),
            schema("b", &deep(9_000)),
            schema("c", &deep(20_000)),
        );
        let page = page(Kind::APIResourceSchema, text.as_bytes()).unwrap();
        let names: Vec<_> = page.objects.iter().map(|object| &*object.meta().name).collect();
        assert_eq!((page.version.as_str(), names), ("7", vec!["a", "b"]));
    }

    #[test]
    fn empty_lists_are_read_as_go_writes_them() {
        let page = page(
            Kind::APIExport,
            br#"{"kind":"APIExportList","metadata":{},"items":null}"#,
        )
        .unwrap();
        assert!(page.version.is_empty() && page.next.is_empty() && page.objects.is_empty());
    }

    #[test]
    fn lines_of_a_watch() {
        let read = |text: &str| line(Kind::APIExport, text.as_bytes()).unwrap();
        let object = format!(r#"{{"metadata":{{"name":"e","resourceVersion":"8",{ANNOTATIONS}}}}}"#);
        assert!(matches!(
            read(&format!(r#"{{"type":"ADDED","object":{object}}}"#)),
            Line::Applied(_)
        ));
        assert!(matches!(
            read(&format!(r#"{{"type":"DELETED","object":{object}}}"#)),
            Line::Deleted(_)
        ));
        assert!(matches!(
            read(r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}"#),
            Line::Version(version) if version == "9"
        ));
        assert!(matches!(
            read(r#"{"type":"MODIFIED","object":{"metadata":{"resourceVersion":"10"}}}"#),
            Line::Version(version) if version == "10"
        ));
        assert!(matches!(
            read(r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}"#),
            Line::Error(410)
        ));
    }
}
