//! Rules made to hurt: each is refused or ends soon, within the budget and without a panic.

#![allow(clippy::unwrap_used, reason = "a test fails that way")]

use std::time::{Duration, Instant};

use proptest::prelude::*;
use structural_schema::cel::{Environment, OBJECT_WORK, PER_CALL_LIMIT, Program, Type};
use structural_schema::{Schema, ValidateOptions, Value, json};

/// Far more than any of these takes unoptimised on a slow machine.
const SOON: Duration = Duration::from_secs(20);

/// Compiles and evaluates; any outcome will do.
fn run(source: &str) {
    let environment = Environment::kubernetes();
    let started = Instant::now();
    if let Ok(program) = Program::compile(&environment, source, &[("self", Type::Dyn)], &Type::Bool) {
        let evaluation = program.evaluate(&[None], PER_CALL_LIMIT, OBJECT_WORK);
        assert!(
            evaluation.cost <= PER_CALL_LIMIT || evaluation.result.is_err(),
            "{source}"
        );
    }
    let head: String = source.chars().take(60).collect();
    assert!(started.elapsed() < SOON, "{head} took {:?}", started.elapsed());
}

#[test]
fn dense_texts_are_refused() {
    for unit in [
        "[",
        "(",
        "{",
        "!",
        "-",
        "[!(-",
        "a.b(",
        "a[",
        "a?",
        "a?b:",
        "[[1],",
        "{1:",
        "a.map(x,",
        "a.all(x, ",
        "1+",
        "a&&",
        "a.b.",
        "\"",
        "r'",
        "`",
        "?",
        "a.?b",
        "[?",
        "f(a,",
        "!!-!",
        "\u{e9}",
        "0x",
        "1e",
        "/*",
        "//",
    ] {
        for times in [1, 10, 240, 1_000, 30_000] {
            run(&unit.repeat(times));
            run(&format!("{}1", unit.repeat(times)));
        }
    }
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("!(", ")"),
        ("-(", ")"),
        ("{1:", "}"),
        ("size([", "])"),
        ("[1].map(x, ", ")"),
        ("[1].all(x, ", ")"),
        ("[1].exists_one(x, ", ")"),
        ("[1].transformList(i, x, ", ")"),
        ("optional.of(1).optMap(x, ", ")"),
        ("true ? ", " : false"),
    ] {
        for times in [1, 20, 100, 240, 900] {
            run(&format!("{}true{}", open.repeat(times), close.repeat(times)));
        }
    }
    // A call's target is read again to see whether it is a macro.
    for method in [
        ".map(x, x)",
        ".filter(x, true)",
        ".sortBy(x, x)",
        ".size()",
        "[0]",
        ".f",
        ".orValue(1)",
    ] {
        for times in [10, 200, 3_000] {
            run(&format!("[1]{}", method.repeat(times)));
        }
    }
}

#[test]
fn growing_values_are_stopped() {
    let digits = "[0,1,2,3,4,5,6,7,8,9]";
    let many = format!("{digits}.map(a, {digits}).flatten().map(a, {digits}).flatten().map(a, {digits}).flatten()");
    let nested = (0..12).fold("true".to_owned(), |inner, level| {
        format!("{digits}.all(v{level}, {inner})")
    });
    let doubled = |seed: &str, plus: &str, times: usize| {
        (0..times).fold(seed.to_owned(), |inner, _| format!("[{inner}].map(x, {plus})[0]"))
    };
    for source in [
        nested,
        format!("{many}.map(x, {many}).flatten().size() > 0"),
        format!("{many}.map(x, {many}).sum() > 0"),
        format!("{many}.map(x, {many}) == {many}.map(x, {many})"),
        format!("{many}.distinct().size() > 0"),
        format!("{} == 'b'", doubled("'a'", "x + x", 60)),
        format!("{}.size() > 0", doubled("[1]", "x + x", 60)),
        format!("{} == [1]", doubled("[1]", "[x, x]", 60)),
        format!("string({}) == 'b'", doubled("'a'", "x + x + x + x", 30)),
        format!("{}.matches('(a*)*b')", doubled("'a'", "x + x", 40)),
        format!("'a'.matches({})", doubled("'(a|b)*'", "'(' + x + '){1,9}'", 20)),
        format!("{}.split('').size() > 0", doubled("'a'", "x + x", 25)),
        format!("{}.replace('', 'xxxxxxxx').size() > 0", doubled("'a'", "x + x", 25)),
        format!("{many}.map(x, string(x)).join('xxxxxxxxxxxxxxxxxxxx').size() > 0"),
        "'%1000000000f'.format([1.0]) == ''".to_owned(),
        "'%.1000000000f'.format([1.0]) == ''".to_owned(),
        "lists.range(1000000000000).size() > 0".to_owned(),
        "quantity('1e2147483647').isGreaterThan(quantity('1e-2147483648'))".to_owned(),
        "semver('99999999999999999999.0.0').major() > 0".to_owned(),
        format!("sets.contains({many}, {many})"),
        format!("{many}.all(x, {many}.exists(y, y == 11))"),
    ] {
        run(&source);
    }
}

#[test]
fn rules_on_a_large_object_stay_within_the_budget() {
    let schema = r#"{"type": "object", "properties": {"list": {"type": "array", "items": {"type": "object",
        "x-kubernetes-validations": [{"rule": "self.a.size() < 100 && self.a.matches('(x+x+)+y')"}],
        "properties": {"a": {"type": "string"}}}}},
        "x-kubernetes-validations": [{"rule": "self.list.all(x, self.list.all(y, x == y))"}]}"#;
    let schema = Schema::compile(&json::decode(schema.as_bytes()).unwrap().value).unwrap();
    let item = r#"{"a": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}"#;
    let object = format!(r#"{{"list": [{}]}}"#, vec![item; 20_000].join(","));
    let object = json::decode(object.as_bytes()).unwrap().value;
    let started = Instant::now();
    let errors = schema.validate(object.as_object().unwrap(), ValidateOptions::default());
    assert!(started.elapsed() < SOON, "took {:?}", started.elapsed());
    let last = errors.last().unwrap().to_string();
    assert!(last.contains("no further validation rules will be run"), "{last}");
}

/// Pieces that expressions are made of, so that some compile.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(vec![
            "self",
            "x",
            "[",
            "]",
            "(",
            ")",
            "{",
            "}",
            ".",
            ",",
            ":",
            "?",
            "!",
            "-",
            "+",
            "*",
            "/",
            "%",
            "==",
            "<",
            "&&",
            "||",
            " in ",
            "1",
            "2u",
            "1.5",
            "'a'",
            "b'a'",
            "true",
            "null",
            "[1, 2]",
            "{'a': 1}",
            ".map(x, ",
            ".all(x, ",
            ".exists(i, x, ",
            ".transformMap(k, v, ",
            ".optMap(x, ",
            ".sortBy(x, ",
            ".?",
            "[?",
            "has(",
            "self.a",
            "size(",
            "int(",
            "string(",
            "duration('1s')",
            "quantity('1')",
            ".sum()",
            ".join()",
            ".format(["
        ])
        .prop_map(str::to_owned),
        ".{0,3}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_an_expression_or_refused(source in ".{0,200}") {
        run(&source);
    }

    #[test]
    fn any_tokens_are_an_expression_or_refused(pieces in proptest::collection::vec(piece(), 0..40)) {
        run(&pieces.concat());
        run(&format!("dyn({}) != 1", pieces.concat()));
    }

    #[test]
    fn any_rule_is_a_problem_or_runs(
        pieces in proptest::collection::vec(piece(), 1..12),
        value in any::<i64>(),
    ) {
        let mut rule = Vec::new();
        json::encode(&Value::from(pieces.concat()), &mut rule);
        let text = format!(
            r#"{{"type": "object", "properties": {{"a": {{"type": "integer"}}}}, "x-kubernetes-validations": [{{"rule": {}}}]}}"#,
            String::from_utf8(rule).unwrap()
        );
        if let Ok(schema) = Schema::compile(&json::decode(text.as_bytes()).unwrap().value) {
            let object = json::decode(format!(r#"{{"a": {value}}}"#).as_bytes()).unwrap().value;
            schema.validate(object.as_object().unwrap(), ValidateOptions::default());
        }
    }
}
