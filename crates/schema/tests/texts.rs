//! What holds for every text and value: nothing panics, what is written reads back the same, and nothing that a client
//! sends costs more than its length.

#![allow(clippy::unwrap_used, reason = "a test fails that way")]

use std::time::{Duration, Instant};

use proptest::prelude::*;
use structural_schema::{Map, Value, json, yaml};

fn value() -> impl Strategy<Value = Value> {
    // Adding zero makes minus zero zero, which JSON does not tell apart.
    value_with(
        any::<f64>()
            .prop_filter("JSON has finite numbers only", |float| float.is_finite())
            .prop_map(|float| float + 0.0),
    )
}

fn value_with(floats: impl Strategy<Value = f64> + 'static) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        floats.prop_map(Value::Float),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..6)
                .prop_map(|fields| Value::from(fields.into_iter().collect::<Map>())),
        ]
    })
}

/// Strings that mean something to one format or the other.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,12}",
        "\\PC{0,20}",
        any::<String>(),
        "[ -~\n]{0,200}",
        "(yes|no|on|null|~|1|0x1f|1_0|1e3|\\.5|2001-01-01|1:20|---|- |: |# |[|]|>|[{]|<&>|\"|'|\u{85}|\u{2028}|\u{feff}){1,3}",
    ]
}

/// Texts that are nearly YAML.
fn yaml_text() -> impl Strategy<Value = String> {
    let token = "(a|b: |: |- |\\? |&a |\\*a |!|!!str |!<x>|<<: |\\[|\\]|[{]|[}]|, |\\||>|\\|\\+|>2|\"|'|\\\\|#|%YAML 1\\.1|%TAG|---|\\.\\.\\.|\n|\n  |\n    |\t|\r\n|1|~|\u{85}|\u{2028}|\u{feff}|é)";
    prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

fn json_of(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    json::encode(value, &mut out);
    out
}

fn yaml_of(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    yaml::encode(value, &mut out).unwrap();
    out
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_reads_back(value in value()) {
        let once = json::decode(&json_of(&value)).unwrap().value;
        // A float without fraction reads back as an integer, and stays one.
        prop_assert_eq!(json_of(&once), json_of(&value));
        prop_assert_eq!(&json::decode(&json_of(&once)).unwrap().value, &once);
        let mut pretty = Vec::new();
        json::encode_pretty(&value, &mut pretty);
        prop_assert_eq!(json::decode(&pretty).unwrap().value, once);
    }

    #[test]
    fn yaml_reads_back(value in value()) {
        let json = json_of(&value);
        let mut text = Vec::new();
        match (yaml::encode(&value, &mut text), yaml::decode(&json)) {
            (Ok(()), Ok(expected)) => {
                let decoded = yaml::decode(&text).unwrap();
                prop_assert_eq!(&decoded.value, &expected.value);
                prop_assert_eq!(decoded.duplicates, None);
                if !String::from_utf8(json.clone()).unwrap().contains('\u{85}') {
                    prop_assert_eq!(decoded.value, json::decode(&json).unwrap().value);
                }
            }
            (Err(error), Err(expected)) => {
                prop_assert_eq!(error, expected);
                prop_assert!(text.is_empty());
            }
            (written, read) => prop_assert!(false, "{written:?} but {read:?}"),
        }
    }

    #[test]
    fn json_agrees_with_serde_json(
        // What serde_json reads of a float with many digits is not always the nearest one.
        value in value_with(any::<i32>().prop_map(|eighths| f64::from(eighths) / 8.0)),
    ) {
        let json = json_of(&value);
        let theirs: Value = serde_json::from_slice(&json).unwrap();
        prop_assert_eq!(&theirs, &json::decode(&json).unwrap().value);
        let through_serde = serde_json::to_vec(&theirs).unwrap();
        prop_assert_eq!(json::decode(&through_serde).unwrap().value, theirs);
    }

    #[test]
    fn bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = json::decode(&bytes);
        let _ = json::outline(&bytes);
        let _ = yaml::decode(&bytes);
    }

    #[test]
    fn what_is_nearly_yaml_does_not_panic(text in yaml_text()) {
        let _ = yaml::decode(text.as_bytes());
    }

    #[test]
    fn what_is_nearly_json_does_not_panic(value in value(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut json = json_of(&value);
        let at = at.index(json.len());
        json[at] = byte;
        let valid = serde_json::from_slice::<serde::de::IgnoredAny>(&json).is_ok();
        let decoded = json::decode(&json);
        // A number may become too large, and bytes that are no UTF-8 become characters.
        let may_differ = matches!(decoded, Err(json::Error::NumberRange { .. })) || std::str::from_utf8(&json).is_err();
        prop_assert!(valid == decoded.is_ok() || may_differ);
        let _ = json::outline(&json);
    }
}

/// Runs on a stack that recursion as deep as its input would overflow.
fn on_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new()
        .stack_size(256 * 1024)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}

fn nested(open: &str, close: &str, depth: usize) -> Vec<u8> {
    (open.repeat(depth) + "1" + &close.repeat(depth)).into_bytes()
}

#[test]
fn ten_thousand_levels_are_read_and_written_on_a_small_stack() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
        on_small_stack(move || {
            let levels = 10_000 / open.matches(['[', '{']).count();
            let text = nested(open, close, levels);
            let value = json::decode(&text).unwrap().value;
            assert_eq!(json_of(&value), text);
            assert_eq!(yaml::decode(&text).unwrap().value, value);
            assert_eq!(yaml::decode(&yaml_of(&value)).unwrap().value, value);
            let mut pretty = Vec::new();
            json::encode_pretty(&value, &mut pretty);
            assert_eq!(json::decode(&pretty).unwrap().value, value);
        });
    }
}

#[test]
fn more_levels_are_refused_in_gos_words() {
    on_small_stack(|| {
        let json = |open, close| json::decode(&nested(open, close, 10_001)).unwrap_err().to_string();
        assert_eq!(json("[", "]"), "invalid character '[' exceeded max depth");
        assert_eq!(json("{\"a\":", "}"), "invalid character '{' exceeded max depth");
        let yaml = |text: &[u8]| yaml::decode(text).unwrap_err().to_string();
        assert_eq!(yaml(&nested("[", "]", 10_001)), "yaml: exceeded max depth of 10000");
        assert_eq!(
            yaml("- ".repeat(10_001).as_bytes()),
            "yaml: exceeded max depth of 10000"
        );
        // YAML that is deep enough in two ways, but not as JSON.
        let mixed = "- ".repeat(6_000) + &"[".repeat(6_000) + &"]".repeat(6_000);
        assert_eq!(yaml(mixed.as_bytes()), "invalid character '[' exceeded max depth");
    });
}

#[test]
fn indentation_does_not_multiply_what_is_nested_deep() {
    let deep = json::decode(&nested("{\"a\":", "}", 10_000)).unwrap().value;
    let mut pretty = Vec::new();
    json::encode_pretty(&deep, &mut pretty);
    for written in [yaml_of(&deep), pretty] {
        assert!(written.len() < 1024 * 1024, "{}", written.len());
    }
}

#[test]
fn aliases_that_multiply_are_refused() {
    let mut laughs = "a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in b'b'..=b'i' {
        let before = format!("*{}", char::from(level - 1));
        let line = [before.as_str(); 10].join(", ");
        let this = char::from(level);
        laughs.extend([format!("{this}: &{this} [{line}]\n")]);
    }
    let long = format!(
        "a: &a {}\nb: [{}]\n",
        "x".repeat(1024 * 1024),
        vec!["*a"; 500].join(",")
    );
    for text in [laughs, long] {
        let error = yaml::decode(text.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "yaml: document contains excessive aliasing");
    }
}

/// Texts of a mebibyte that cost the square of their length where each step looks at all that is open or known.
#[test]
fn time_is_linear_in_the_text() {
    const LENGTH: usize = 1024 * 1024;
    let fill = |head: &str, unit: &str| head.to_owned() + &unit.repeat((LENGTH - head.len()) / unit.len());
    let levels = "[".repeat(9_999);
    let texts = [
        fill(&levels, "1,"),
        fill(&levels, "1, "),
        fill("{\"k\":1", ",\"k\":1") + "}",
        fill("[{\"x\":1}", ",{\"x\":1,\"x\":2}") + "]",
        fill(&format!("{{\"{}\":[0", "p".repeat(LENGTH / 2)), ",{\"x\":1,\"x\":1}") + "]}",
        fill("", "- "),
        fill("", "a: 1\n"),
        fill("", "\n"),
        fill("", "&a "),
        fill("a: \"", "\\u0041"),
        fill("a: ", "x "),
        fill("? ", "[a, "),
        fill("{a: ", "b: {c: "),
    ];
    for text in texts {
        let start = Instant::now();
        let _ = json::decode(text.as_bytes());
        let _ = yaml::decode(text.as_bytes());
        let taken = start.elapsed();
        assert!(taken < Duration::from_secs(30), "{}: {taken:?}", &text[..20]);
    }
}
