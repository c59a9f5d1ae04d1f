//! `kube-cel`, another implementation of these rules, must say of an object what this one says.
//!
//! The results of Kubernetes' own library decide what is right, and are recorded (`cel-library.json`). This test finds
//! what the recorded expressions do not ask, on rules and objects that are made anew every time; so the rules stay
//! within what both implementations have, and [`DIFFERENCES`] lists what they do not agree on.

#![allow(clippy::unwrap_used, reason = "a test fails that way")]

use kube_cel::Validator;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use structural_schema::{Schema, ValidateOptions, json as decoder};

/// Rules that the API server admits, with an object that satisfies them there; `kube-cel` refuses it.
const DIFFERENCES: [(&str, &str); 7] = [
    ("type(self.i) == int", "it has no types as values"),
    ("dyn(self.s) == 'a'", "it has no `dyn`"),
    ("self.?s.orValue('') == 'a'", "its parser has no optional fields"),
    ("self.l.all(i, e, i < e)", "it has no macros with two variables"),
    ("self.l.sortBy(e, -e)[0] == 3", "it has no `sortBy`"),
    ("isQuantity('.')", "it wants a digit in a quantity"),
    ("size('é') == 1", "it counts a string in bytes"),
];

/// The fields that rules read, and a rule on all of them.
fn schema(rule: &str) -> Json {
    json!({
        "type": "object",
        "properties": {
            "i": {"type": "integer"},
            "j": {"type": "integer"},
            "s": {"type": "string"},
            "t": {"type": "string"},
            "l": {"type": "array", "items": {"type": "integer"}},
            "m": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "x-kubernetes-validations": [{"rule": rule}],
    })
}

/// Whether an object satisfies a rule here; `None` when evaluating it fails, as the division by zero does.
fn ours(rule: &str, object: &Json) -> Option<bool> {
    let decode = |value: &Json| decoder::decode(value.to_string().as_bytes()).unwrap().value;
    let schema = Schema::compile(&decode(&schema(rule))).unwrap_or_else(|problems| panic!("{rule}: {problems:?}"));
    let errors = schema.validate(decode(object).as_object().unwrap(), ValidateOptions::default());
    match errors.iter().map(ToString::to_string).collect::<Vec<_>>().as_slice() {
        [] => Some(true),
        [error] if error.contains("failed rule: ") => Some(false),
        _ => None,
    }
}

/// Whether an object satisfies a rule in `kube-cel`.
fn theirs(rule: &str, object: &Json) -> Option<bool> {
    match Validator::new().validate(&schema(rule), object, None) {
        Ok(()) => Some(true),
        Err(errors)
            if errors
                .as_slice()
                .iter()
                .all(|error| error.kind == kube_cel::ErrorKind::ValidationFailure) =>
        {
            Some(false)
        }
        Err(_) => None,
    }
}

fn objects() -> impl Strategy<Value = Json> {
    let number = -3i64..4;
    let text = "[a-cA-C .]{0,4}";
    (
        number.clone(),
        number.clone(),
        text,
        text,
        prop::collection::vec(number, 0..5),
        prop::collection::btree_map("[a-c]", text, 0..3),
    )
        .prop_map(|(i, j, s, t, l, m)| json!({"i": i, "j": j, "s": s, "t": t, "l": l, "m": m}))
}

fn numbers() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("self.i".to_owned()),
        Just("self.j".to_owned()),
        (0i64..4).prop_map(|n| n.to_string()),
        Just("size(self.l)".to_owned()),
        Just("self.l.size()".to_owned()),
        Just("self.m.size()".to_owned()),
        Just("self.s.size()".to_owned()),
        Just("self.l.sum()".to_owned()),
        Just("self.l.indexOf(self.i)".to_owned()),
        Just("self.s.indexOf(self.t)".to_owned()),
        Just("self.s.lastIndexOf('a')".to_owned()),
        Just("[self.i, self.j].max()".to_owned()),
        Just("[self.i, self.j].min()".to_owned()),
    ];
    leaf.prop_recursive(2, 8, 2, |inner| {
        (
            inner.clone(),
            prop::sample::select(vec!["+", "-", "*", "/", "%"]),
            inner,
        )
            .prop_map(|(l, op, r)| format!("({l} {op} {r})"))
    })
}

fn texts() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("self.s".to_owned()),
        Just("self.t".to_owned()),
        "[a-c]{0,2}".prop_map(|text| format!("'{text}'")),
        Just("string(self.i)".to_owned()),
        Just("self.s.lowerAscii()".to_owned()),
        Just("self.t.upperAscii()".to_owned()),
        Just("self.s.trim()".to_owned()),
        Just("self.s.replace('a', 'b')".to_owned()),
        Just("self.s.split('.').join('-')".to_owned()),
        Just("self.s.find('[a-b]+')".to_owned()),
        Just("self.m.map(k, k).size() > 0 ? 'a' : 'b'".to_owned()).prop_map(|text| format!("({text})")),
    ];
    leaf.prop_recursive(1, 4, 2, |inner| {
        (inner.clone(), inner).prop_map(|(l, r)| format!("({l} + {r})"))
    })
}

fn rules() -> impl Strategy<Value = String> {
    let comparison = || prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let leaf = prop_oneof![
        4 => (numbers(), comparison(), numbers()).prop_map(|(l, op, r)| format!("{l} {op} {r}")),
        4 => (texts(), comparison(), texts()).prop_map(|(l, op, r)| format!("{l} {op} {r}")),
        1 => (texts(), texts()).prop_map(|(l, r)| format!("{l}.startsWith({r})")),
        1 => (texts(), texts()).prop_map(|(l, r)| format!("{l}.contains({r})")),
        1 => texts().prop_map(|text| format!("{text}.matches('^[a-b]*c?$')")),
        1 => numbers().prop_map(|number| format!("{number} in self.l")),
        1 => texts().prop_map(|text| format!("{text} in self.m")),
        1 => numbers().prop_map(|number| format!("self.l.all(e, e < {number})")),
        1 => numbers().prop_map(|number| format!("self.l.exists(e, e == {number})")),
        1 => numbers().prop_map(|number| format!("self.l.exists_one(e, e == {number})")),
        1 => numbers().prop_map(|number| format!("self.l.filter(e, e > 0).map(e, e + {number}).size() > 1")),
        1 => Just("self.l.isSorted()".to_owned()),
        1 => Just("sets.contains(self.l, [self.i, self.j])".to_owned()),
        1 => Just("sets.intersects(self.l, [self.i])".to_owned()),
        1 => Just("has(self.m.a)".to_owned()),
        1 => Just("self.m.all(k, self.m[k] != self.s)".to_owned()),
        1 => Just("isQuantity(string(self.i) + 'k') || isURL(self.t) || isIP(self.s)".to_owned()),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(l, r)| format!("({l}) && ({r})")),
            (inner.clone(), inner.clone()).prop_map(|(l, r)| format!("({l}) || ({r})")),
            inner.prop_map(|inner| format!("!({inner})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn kube_cel_says_the_same(rule in rules(), objects in prop::collection::vec(objects(), 4)) {
        for object in objects {
            prop_assert_eq!(ours(&rule, &object), theirs(&rule, &object), "{} on {}", rule, object);
        }
    }
}

#[test]
fn the_differences_are_still_there() {
    let object = json!({"i": 1, "j": 2, "s": "a", "t": "b", "l": [1, 2, 3], "m": {"a": "b"}});
    for (rule, why) in DIFFERENCES {
        assert_eq!(ours(rule, &object), Some(true), "{rule}");
        assert_ne!(theirs(rule, &object), Some(true), "{rule}: {why}, it said");
    }
}
