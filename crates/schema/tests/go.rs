//! Decoding and encoding against what the Go libraries of Kubernetes v0.37.2 answered: `sigs.k8s.io/json`,
//! `encoding/json`, `sigs.k8s.io/yaml`.

#![allow(clippy::unwrap_used, reason = "a test fails that way")]

use base64::Engine as _;
use serde::Deserialize;
use structural_schema::{json, yaml};

/// One text and what became of it. What is absent did not apply.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    text: Option<String>,
    /// Instead of `text`, if it is not UTF-8.
    base64: Option<String>,
    error: Option<String>,
    /// Bytes read when a syntax error was found.
    offset: Option<usize>,
    #[serde(default)]
    duplicates: Vec<String>,
    /// The value as `json.NewEncoder` writes it.
    json: Option<String>,
    /// The value as `json.MarshalIndent` writes it, if that is anything else.
    pretty: Option<String>,
    /// The value as `yaml.Marshal` writes it.
    yaml: Option<String>,
    /// What `YAMLToJSONStrict` found wrong.
    strict: Option<String>,
}

impl Row {
    fn bytes(&self) -> Vec<u8> {
        match (&self.text, &self.base64) {
            (Some(text), _) => text.clone().into_bytes(),
            (_, Some(base64)) => base64::engine::general_purpose::STANDARD.decode(base64).unwrap(),
            _ => panic!("a row has a text"),
        }
    }
}

fn rows(table: &str) -> Vec<Row> {
    let rows: Vec<Row> = serde_json::from_str(table).unwrap();
    assert!(rows.len() > 100);
    rows
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn json_is_read_and_written_as_go_does() {
    for row in rows(include_str!("data/json.json")) {
        let bytes = row.bytes();
        let text = String::from_utf8_lossy(&bytes);
        let decoded = match json::decode(&bytes) {
            Ok(decoded) => decoded,
            Err(error) => {
                assert_eq!(Some(error.to_string()), row.error, "{text}");
                assert!(row.offset.is_none_or(|offset| offset == error.offset()), "{text}");
                continue;
            }
        };
        assert_eq!(row.error, None, "{text}");
        assert_eq!(decoded.duplicates, row.duplicates, "{text}");
        let json = written(|out| json::encode(&decoded.value, out));
        assert_eq!(Some(&json), row.json.as_ref(), "{text}");
        let pretty = written(|out| json::encode_pretty(&decoded.value, out));
        assert_eq!(pretty, row.pretty.unwrap_or(json), "{text}");
        if let Some(expected) = row.yaml {
            let yaml = written(|out| yaml::encode(&decoded.value, out).unwrap());
            assert_eq!(yaml, expected, "{text}");
        }
    }
}

#[test]
fn yaml_is_read_as_go_does() {
    for row in rows(include_str!("data/yaml.json")) {
        let bytes = row.bytes();
        let text = String::from_utf8_lossy(&bytes);
        let decoded = match yaml::decode(&bytes) {
            Ok(decoded) => decoded,
            Err(error) => {
                assert_eq!(Some(error.to_string()), row.error, "{text}");
                continue;
            }
        };
        assert_eq!(row.error, None, "{text}");
        let json = json::decode(row.json.unwrap().as_bytes()).unwrap();
        assert_eq!(decoded.value, json.value, "{text}");
        assert_eq!(decoded.duplicates.map(|error| error.to_string()), row.strict, "{text}");
    }
}
