//! Objects reduced to their metadata: `PartialObjectMetadata` and its list.

use serde::Serialize;
use serde_json::value::RawValue;
use structural_schema::{Map, Value, json};

use crate::list::ListMeta;
use crate::negotiate::MetaVersion;
use crate::respond::Document;

/// `metav1.PartialObjectMetadata`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartialObject {
    kind: &'static str,
    api_version: &'static str,
    metadata: Box<RawValue>,
}

impl PartialObject {
    pub(crate) fn of(object: &Value, version: MetaVersion) -> Self {
        let mut metadata = Vec::new();
        match object.get("metadata") {
            Some(Value::Object(map)) => json::encode(&map.clone().into(), &mut metadata),
            _ => json::encode(&Map::new().into(), &mut metadata),
        }
        let metadata = String::from_utf8(metadata).expect("JSON is UTF-8");
        Self {
            kind: "PartialObjectMetadata",
            api_version: version.api_version(),
            metadata: RawValue::from_string(metadata).expect("what was encoded can be decoded"),
        }
    }

    pub(crate) fn document(&self) -> Document {
        Document::new(self)
    }
}

/// `metav1.PartialObjectMetadataList` without items.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PartialList {
    kind: &'static str,
    api_version: &'static str,
    metadata: ListMeta,
    /// `null`: a slice of Go that nothing was appended to, unlike the items of the list itself.
    items: (),
}

/// The list of nothing.
pub(crate) fn empty_list(version: MetaVersion) -> Document {
    Document::new(&PartialList {
        kind: "PartialObjectMetadataList",
        api_version: version.api_version(),
        metadata: ListMeta::EMPTY,
        items: (),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `asPartialObjectMetadataList` answers.
    #[test]
    fn a_list_of_no_metadata_has_null_items() {
        for (version, name) in [(MetaVersion::V1, "v1"), (MetaVersion::V1beta1, "v1beta1")] {
            let expected = format!(
                r#"{{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/{name}","metadata":{{"resourceVersion":"1"}},"items":null}}"#
            );
            assert_eq!(*empty_list(version).json(), expected);
        }
    }
}
