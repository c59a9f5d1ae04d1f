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

/// The same for what compiles some of the largest patterns, which takes most of a second each, unoptimised.
const LATER: Duration = Duration::from_secs(150);

/// Compiles a schema with rules and validates an object; any outcome will do. Says whether it compiled.
fn run_schema(schema: &str, object: &str, limit: Duration) -> bool {
    let started = Instant::now();
    let schema = json::decode(schema.as_bytes()).unwrap().value;
    let compiled = Schema::compile(&schema);
    if let Ok(schema) = &compiled {
        let object = json::decode(object.as_bytes()).unwrap().value;
        schema.validate(object.as_object().unwrap(), ValidateOptions::default());
    }
    assert!(started.elapsed() < limit, "took {:?}", started.elapsed());
    compiled.is_ok()
}

/// A schema whose root has these rules.
fn with_rules(rules: impl Iterator<Item = String>) -> String {
    let rules: Vec<_> = rules.map(|rule| format!(r#"{{"rule": "{rule}"}}"#)).collect();
    let properties = r#"{"s": {"type": "string"}, "l": {"type": "array", "items": {"type": "integer"}}}"#;
    format!(
        r#"{{"type": "object", "properties": {properties}, "x-kubernetes-validations": [{}]}}"#,
        rules.join(",")
    )
}

const OBJECT: &str = r#"{"s": "text", "l": [1, 2, 3]}"#;

#[test]
fn patterns_of_many_rules_are_bounded_together() {
    let large = |n: usize| format!(r"self.s.matches('\\\\pL{{{}}}')", 200 + n % 90);
    assert!(!run_schema(&with_rules((0..1_000).map(large)), OBJECT, LATER));
    let many = vec![r"self.s.matches('\\\\pL{250}')"; 2_000].join(" || ");
    assert!(
        run_schema(&with_rules([many].into_iter()), OBJECT, LATER),
        "one pattern is compiled once"
    );
    let small = |n: usize| format!("self.s.matches('^[a-z]{{1,9}}x*{n}$') || true");
    assert!(run_schema(&with_rules((0..2_000).map(small)), OBJECT, LATER));
}

#[test]
fn patterns_that_a_rule_makes_are_charged_for() {
    for pattern in [r"'\\\\pL{9' + string(n) + '0}'", r"'(' + string(n)"] {
        let rule = format!("lists.range(10).all(m, lists.range(90).all(n, self.s.matches({pattern}) || true))");
        run_schema(&with_rules([rule].into_iter()), OBJECT, LATER);
    }
}

#[test]
fn many_rules_and_many_places_with_rules_compile_soon() {
    let rule = |n: usize| format!("self.l.all(x, x > {n}) || self.s.size() > {n} || true");
    assert!(run_schema(&with_rules((0..3_000).map(rule)), OBJECT, SOON));
    assert!(!run_schema(
        &with_rules((0..10_001).map(|_| "true".to_owned())),
        OBJECT,
        SOON
    ));
    let place = |n: usize| {
        format!(r#""f{n}": {{"type": "integer", "x-kubernetes-validations": [{{"rule": "self >= 0 && self < {n}"}}]}}"#)
    };
    let places: Vec<_> = (0..3_000).map(place).collect();
    let fields: Vec<_> = (0..3_000).map(|n| format!(r#""f{n}": {n}"#)).collect();
    let schema = format!(r#"{{"type": "object", "properties": {{{}}}}}"#, places.join(","));
    assert!(run_schema(&schema, &format!("{{{}}}", fields.join(",")), SOON));
    let deep = (0..200).fold(r#"{"type": "integer"}"#.to_owned(), |inner, _| {
        format!(r#"{{"type": "object", "properties": {{"f": {inner}}}, "x-kubernetes-validations": [{{"rule": "has(self.f)"}}]}}"#)
    });
    let object = (0..200).fold("1".to_owned(), |inner, _| format!(r#"{{"f": {inner}}}"#));
    assert!(run_schema(&deep, &object, SOON));
}

#[test]
fn huge_literals_and_messages_end_soon() {
    let long = "x".repeat(90_000);
    run(&format!("'{long}' == '{long}'"));
    run(&format!("'{long}'.replace('x', '{}').size() > 0", "y".repeat(5_000)));
    run(&format!(
        "'{}'.split('').map(x, '{}').join('z').size() > 0",
        "x".repeat(20_000),
        "y".repeat(20_000)
    ));
    run(&format!("[{}].exists(x, x == 1)", vec!["0"; 40_000].join(",")));
    run(&format!(
        "{{{}}}.size() > 0",
        (0..10_000).map(|n| format!("{n}:0")).collect::<Vec<_>>().join(",")
    ));
    run(&format!("b'{long}'.size() > 0 && 0.{} > 0.0", "1".repeat(5_000)));
    let message = |depth: usize| {
        (0..depth).fold("1".to_owned(), |inner, _| {
            format!("google.protobuf.ListValue{{values: [{inner}]}}")
        })
    };
    for depth in [10, 100, 240, 2_000] {
        run(&format!("{} == [1]", message(depth)));
    }
    let doubled = (0..30).fold("[1]".to_owned(), |inner, _| format!("[{inner}].map(x, [x, x])[0]"));
    run(&format!("google.protobuf.ListValue{{values: {doubled}}} == [1]"));
    run(&format!("google.protobuf.Struct{{fields: {{'a': {doubled}}}}} == {{}}"));
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
