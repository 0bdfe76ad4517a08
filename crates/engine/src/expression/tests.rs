use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::message::Message;
use crate::scope::EvaluationScope;

fn reads(source: Value) -> Reads {
    Survey::analyse(&source).reads
}

fn mark_reads(paths: &[&str]) -> Reads {
    let mut marked = Reads::default();
    paths.iter().for_each(|path| marked.mark(path));
    marked
}

#[test]
fn a_literal_path_reads_only_what_it_names() {
    assert_eq!(reads(json!({"==": [{"var": "data.a.b"}, "metadata.x"]})), mark_reads(&["data.a.b"]));
    assert_eq!(reads(json!({"var": ["data.a", "payload"]})), mark_reads(&["data.a"]));
    assert_eq!(reads(json!({"missing": ["data.a", "data.b"]})), mark_reads(&["data.a", "data.b"]));
    assert_eq!(reads(json!({"val": ["data", "a"]})), mark_reads(&["data"]));
    assert_eq!(reads(json!({"a": {"var": "payload.x"}, "var": "text"})), mark_reads(&["payload.x"]));
    let length = reads(json!({"length": [{"var": "data.a"}]}));
    assert_eq!(
        (length.data.member("a").reach(9), length.data.member("a").element(0)),
        (9, &ReadExtent::Nothing)
    );
}

#[test]
fn empty_path_reads_context_without_unnamed_payload() {
    let whole = || Reads { payload: ReadExtent::Nothing, ..Reads::all() };
    assert_eq!(reads(json!({"var": ""})), whole());
    assert_eq!(reads(json!({"val": [""]})), whole());
    assert_eq!(reads(json!({"var": ["", "default"]})), whole());
    assert_eq!(reads(json!([{"var": ""}, {"var": "payload.x"}])), Reads::all());
    assert_eq!(reads(json!([{"var": "payload.x"}, {"var": ""}])), Reads::all());
}

#[test]
fn a_computed_path_may_read_everything() {
    for source in [
        json!({"var": {"cat": ["da", "ta"]}}),
        json!({"val": [{"var": "temp_data.root"}, "x"]}),
        json!({"missing": {"merge": [["data.a"]]}}),
        json!({"missing_some": [1, ["data.a"]]}),
        json!({"val": [[2]]}),
    ] {
        assert_eq!(reads(source.clone()), Reads::all(), "{source}");
    }
}

fn any_expression() -> impl Strategy<Value = Value> {
    let path = prop_oneof![
        Just("data.a"),
        Just("data.list"),
        Just("data.list.1.a"),
        Just("data.list.00"),
        Just("data.list.+1"),
        Just("data.#list.1"),
        Just("data.a.b"),
        Just("data.none"),
        Just("metadata.m"),
        Just("temp_data.t"),
        Just("payload.p"),
        Just("data"),
        Just(""),
        Just("current"),
        Just("accumulator"),
        Just("none.x"),
    ];
    let leaf = prop_oneof![
        path.clone().prop_map(|path| json!({"var": path})),
        path.clone().prop_map(|path| json!({"var": [path, 7]})),
        path.clone().prop_map(|path| json!({"missing": [path]})),
        path.clone().prop_map(|path| json!({"exists": path})),
        path.clone().prop_map(|path| json!({"length": [{"var": path}]})),
        path.prop_map(|path| json!({"val": path.split('.').collect::<Vec<_>>()})),
        any::<i8>().prop_map(Value::from),
        Just(json!("data")),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            pair.clone().prop_map(|(a, b)| json!({"if": [a, b, 1]})),
            pair.clone().prop_map(|(a, b)| json!({"==": [a, b]})),
            pair.clone().prop_map(|(a, b)| json!({"x": a, "y": b})),
            pair.clone().prop_map(|(a, b)| json!({"map": [{"var": "data.list"}, [a, b]]})),
            pair.clone().prop_map(|(a, b)| json!({"reduce": [a, b, 0]})),
            pair.clone().prop_map(|(a, b)| json!({"try": [a, b]})),
            pair.prop_map(|(a, b)| json!({"val": [a, b]})),
            inner.clone().prop_map(|a| json!({"var": a})),
            inner.clone().prop_map(|a| json!({"exists": ["data", a]})),
            inner.prop_map(|a| json!({"map": [{"var": "data.list"}, {"val": [[1], "data", a]}]})),
        ]
    })
}

proptest! {
    #[test]
    fn omitting_unread_context_changes_no_result(source in any_expression()) {
        let mut message = Message::new(json!({"p": "in"}), serde_json::Map::new());
        message.data = json!({"a": 1, "list": [1, {"a": 2}]});
        message.metadata.insert("m".into(), json!("m"));
        message.temp_data = json!({"t": [true]});
        let evaluator = Evaluator::new(DeclaredSecrets::default(), &EngineLimits { max_message_bytes: 1 << 20, ..EngineLimits::default() });
        let expression = evaluator.compile(&source, SecretPolicy::Allowed).unwrap();
        // The payload is part of the whole context only for expressions that name it.
        let mut all = Reads::all();
        if expression.reads().payload == ReadExtent::Nothing {
            all.payload = ReadExtent::Nothing;
        }
        let arena = Arena::lease();
        let evaluate = |reads| {
            let context = EvaluationScope::new(&arena, reads).context(&message, reads);
            evaluator.evaluate(&expression, context, &arena).map(|value| value.to_serde_value())
        };
        prop_assert_eq!(evaluate(expression.reads()), evaluate(&all));
    }
}

fn any_key() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just("a"),
        Just("1"),
        Just("2024-01-01T00:00:00Z"),
        Just("2024-01-01T01:00:00+01:00"),
        Just("1d:0h:0m:0s"),
        Just("24h"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1_i8..3).prop_map(Value::from),
        prop_oneof![Just(0.0), Just(-0.0), Just(1.0), Just(1.5), Just(9e15)].prop_map(Value::from),
        // One large integer: the library takes others for the same number.
        Just(Value::from(i64::MAX)),
        text.clone().prop_map(Value::from),
        text.clone().prop_map(|text| json!({"datetime": text})),
        text.prop_map(|text| json!({"timestamp": text})),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            (inner.clone(), inner).prop_map(|(a, b)| json!({"a": a, "b": b})),
        ]
    })
}

proptest! {
    #[test]
    fn elements_compare_as_in_library_but_texts_exactly(keys in prop::collection::vec(any_key(), 0..12)) {
        let library = datalogic_rs::Engine::builder().with_templating(true).build();
        let evaluator = Evaluator::new(DeclaredSecrets::default(), &EngineLimits { max_message_bytes: 1 << 20, ..EngineLimits::default() });
        let items: Vec<_> = keys.iter().enumerate().map(|(n, key)| json!({"n": n, "k": key})).collect();
        let data = json!({"keys": keys, "items": items});
        // The library takes no text that begins with a letter for a time.
        let spelled = lettered(&data);
        for source in [
            json!({"distinct": {"var": "keys"}}),
            json!({"distinct": [{"var": "items"}, {"var": "k"}]}),
            json!({"group_by": [{"var": "items"}, {"var": "k"}]}),
            json!({"in": [{"var": "keys.0"}, {"slice": [{"var": "keys"}, 1]}]}),
            json!({"===": [{"var": "keys.0"}, {"var": "keys.1"}]}),
        ] {
            let arena = Arena::lease();
            let bump = arena.bump();
            let logic = library.compile(&source).unwrap();
            let context = bump.alloc(DataValue::from_serde_value_in(&spelled, bump));
            let expected = library.evaluate(&logic, *context, bump).unwrap().to_serde_value();
            let expression = evaluator.compile(&source, SecretPolicy::Allowed).unwrap();
            let context = bump.alloc(DataValue::from_serde_value_in(&data, bump));
            let result = evaluator.evaluate(&expression, context, &arena).unwrap().to_serde_value();
            prop_assert_eq!(lettered(&result), expected);
        }
    }
}

/// Puts a letter before every text.
fn lettered(value: &Value) -> Value {
    match value {
        Value::String(text) => format!("t{text}").into(),
        Value::Array(items) => items.iter().map(lettered).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), lettered(value))).collect()
        }
        other => other.clone(),
    }
}

#[test]
fn different_texts_are_never_equal() {
    let evaluator = Evaluator::new(DeclaredSecrets::default(), &EngineLimits::default());
    let evaluate = |source: &Value, data: &Value| {
        let arena = Arena::lease();
        let bump = arena.bump();
        let context = bump.alloc(DataValue::from_serde_value_in(data, bump));
        let expression = evaluator.compile(source, SecretPolicy::Allowed).unwrap();
        evaluator.evaluate(&expression, context, &arena).unwrap().to_serde_value()
    };
    let (a, b) = (json!({"var": "a"}), json!({"var": "b"}));
    for (one, other) in [
        ("60m", "1h"),
        ("01h", "1h"),
        ("007d", "7d"),
        ("0s", "0d"),
        ("1d:2h", "26h"),
        ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00"),
        ("10", "10.0"),
    ] {
        let data = json!({"a": one, "b": other});
        let lower = json!({"lower": a});
        for (source, expected) in [
            (json!({"==": [a, b]}), json!(false)),
            (json!({"===": [a, b]}), json!(false)),
            (json!({"===": [a, other]}), json!(false)),
            (json!({"===": [one, other]}), json!(false)),
            (json!({"===": [lower, other]}), json!(false)),
            (json!({"===": [a, a, b]}), json!(false)),
            (json!({"!=": [a, other]}), json!(true)),
            (json!({"!==": [a, b]}), json!(true)),
            (json!({"in": [a, [b]]}), json!(false)),
            (json!({"in": [a, ["x", other]]}), json!(false)),
            (json!({"in": [one, {"map": [[1], b]}]}), json!(false)),
            (json!({"length": {"distinct": [[a, b, a]]}}), json!(2)),
            (json!({"length": {"group_by": [[{"k": a}, {"k": b}], {"var": "k"}]}}), json!(2)),
            (json!({"switch": [a, [[other, "same"]], "other"]}), json!("other")),
            (json!({"switch": [a, [[b, "same"]], "other"]}), json!("other")),
            (json!({"switch": [one, [[b, "same"]], "other"]}), json!("other")),
            (json!({"switch": [lower, [[{"lower": b}, "same"]], "other"]}), json!("other")),
        ] {
            assert_eq!(evaluate(&source, &data), expected, "{source} over {data}");
        }
    }
    let same = json!({"a": "1h", "b": "1h"});
    assert_eq!(evaluate(&json!({"===": [a, b]}), &same), json!(true));
}

#[test]
fn path_alone_copies_integers_with_every_digit() {
    let evaluator = Evaluator::new(DeclaredSecrets::default(), &EngineLimits::default());
    let data = json!({"ids": [u64::MAX, u64::MAX - 1]});
    for (path, expected) in [
        ("data.ids.0", json!(u64::MAX)),
        ("data.ids.1", json!(u64::MAX - 1)),
        ("other.ids.1", json!(7)),
        ("data.ids.2", Value::Null),
        ("none.ids", Value::Null),
    ] {
        let expression = evaluator.compile(&json!({"var": path}), SecretPolicy::Allowed).unwrap();
        let roots = [("data", &data), ("other", &json!({"ids": [0, 7]}))];
        assert_eq!(evaluator.evaluate_roots(&expression, &roots), Ok(expected), "{path}");
    }
}

#[test]
fn results_of_date_operators_compare_as_times() {
    let evaluator = Evaluator::new(DeclaredSecrets::default(), &EngineLimits::default());
    let data = json!({"utc": "2026-01-01T00:00:00Z", "paris": "2026-01-01T01:00:00+01:00", "hour": "60m"});
    let (utc, paris) = (json!({"datetime": {"var": "utc"}}), json!({"var": "paris"}));
    for (source, expected) in [
        (json!({"==": [utc, paris]}), json!(true)),
        (json!({"===": [paris, utc]}), json!(true)),
        (json!({"!==": [utc, paris]}), json!(false)),
        (json!({"===": [{"timestamp": "1h"}, {"var": "hour"}]}), json!(true)),
        (json!({"===": [{"+": [utc, {"timestamp": "1h"}]}, "2026-01-01T02:00:00+01:00"]}), json!(true)),
        (json!({"===": [{"if": [true, utc, null]}, paris]}), json!(true)),
        (json!({"in": [utc, [paris]]}), json!(true)),
        (json!({"in": [paris, [utc]]}), json!(true)),
        (json!({"switch": [utc, [[paris, "same"]], "other"]}), json!("same")),
        (
            json!({"length": {"distinct": {"map": [[{"var": "utc"}, paris], {"datetime": {"var": ""}}]}}}),
            json!(1),
        ),
        (json!({"length": {"group_by": [[{"k": 1}], {"datetime": "2026-01-01T00:00:00Z"}]}}), json!(1)),
    ] {
        let arena = Arena::lease();
        let bump = arena.bump();
        let context = bump.alloc(DataValue::from_serde_value_in(&data, bump));
        let expression = evaluator.compile(&source, SecretPolicy::Allowed).unwrap();
        let result = evaluator.evaluate(&expression, context, &arena).unwrap().to_serde_value();
        assert_eq!(result, expected, "{source}");
    }
}

#[test]
fn unknown_code_of_date_format_is_an_error() {
    let evaluator = Evaluator::new(DeclaredSecrets::default(), &EngineLimits::default());
    let at = "2026-01-02T03:04:05Z";
    let evaluate = |source: &Value, format: &str| {
        let expression = evaluator.compile(source, SecretPolicy::Allowed).unwrap();
        evaluator.evaluate_roots(&expression, &[("data", &json!({"at": at, "format": format}))])
    };
    let read = |format: Value| json!({"format_date": [{"var": "data.at"}, format]});
    let zoned = json!({"format_date": [{"var": "data.at"}, {"var": "data.format"}, "Asia/Kolkata"]});
    for (format, expected) in [
        ("dd.MM.yyyy HH:mm", "02.01.2026 03:04"),
        ("ss.%3f", "05.000"),
        ("%d%% %-d é", "02% 2 é"),
        ("z", "+0000"),
        ("", ""),
    ] {
        assert_eq!(evaluate(&read(format.into()), ""), Ok(expected.into()), "{format}");
        assert_eq!(evaluate(&read(json!({"var": "data.format"})), format), Ok(expected.into()), "{format}");
    }
    assert_eq!(evaluate(&zoned, "z"), Ok("+0530".into()));
    for format in ["%Q", "100%", "%:", "%-ss", "%é", "%#z"] {
        for source in [
            read(format.into()),
            read(json!({"var": "data.format"})),
            zoned.clone(),
            json!({"format_date": [at, format]}),
        ] {
            let refused = evaluate(&source, format).unwrap_err();
            assert!(refused.contains("begins no code of strftime"), "{source} {format}: {refused}");
        }
    }
}

#[test]
fn last_operand_of_try_reads_message_and_error() {
    let evaluator = Evaluator::new(DeclaredSecrets::default(), &EngineLimits::default());
    let data = json!({"text": "x", "other": 7, "list": [1, 2]});
    let fails = json!({"+": [{"var": "data.text"}, 1]});
    let other = json!({"var": "data.other"});
    for (source, expected) in [
        (json!({"try": [fails, other]}), json!(7)),
        (json!({"try": [fails, fails, {"var": "data.list.1"}]}), json!(2)),
        (json!({"try": [fails, {"cat": ["<", other, ">"]}]}), json!("<7>")),
        (json!({"try": [fails, {"var": ["data.none", other]}]}), json!(7)),
        (json!({"try": [fails, {"var": ["data.none", 5]}]}), json!(5)),
        (json!({"try": [fails, {"try": [fails, other]}]}), json!(7)),
        (json!({"try": [fails, {"try": [other, 1]}]}), json!(7)),
        (json!({"try": [fails, {"map": [{"var": "data.list"}, {"*": [{"var": ""}, 2]}]}]}), json!([2, 4])),
        (json!({"try": [{"throw": {"data": {"other": "thrown"}}}, other]}), json!("thrown")),
        (json!({"try": [fails, {"var": "type"}]}), json!("NaN")),
        (json!({"try": [fails, {"val": "type"}]}), json!("NaN")),
        (json!({"try": [fails, {"var": "data.none"}]}), json!(null)),
        (json!({"try": [other, 1]}), json!(7)),
    ] {
        let expression = evaluator.compile(&source, SecretPolicy::Allowed).unwrap();
        let result = evaluator.evaluate_roots(&expression, &[("data", &data)]);
        assert_eq!(result, Ok(expected), "{source}");
    }
}

#[test]
fn computed_path_that_leads_nowhere_gives_the_default() {
    let evaluator = Evaluator::new(DeclaredSecrets::default(), &EngineLimits::default());
    let data = json!({"k": "z", "z": 3, "none": null});
    let path = |name: &str| json!({"cat": [name, ""]});
    for (source, expected) in [
        (json!({"var": [path("nowhere"), "default"]}), json!("default")),
        (json!({"var": [{"var": "k"}, 7]}), json!(3)),
        (json!({"var": [path("none"), 7]}), json!(7)),
        (json!({"var": [path("nowhere"), {"var": "z"}]}), json!(3)),
        (json!({"map": [[1], {"var": [{"cat": ["a", "b"]}, 5]}]}), json!([5])),
    ] {
        let arena = Arena::lease();
        let bump = arena.bump();
        let context = bump.alloc(DataValue::from_serde_value_in(&data, bump));
        let expression = evaluator.compile(&source, SecretPolicy::Allowed).unwrap();
        let result = evaluator.evaluate(&expression, context, &arena).unwrap().to_serde_value();
        assert_eq!(result, expected, "{source}");
    }
}

#[test]
fn large_integers_keep_their_digits_in_texts() {
    let evaluator = Evaluator::new(DeclaredSecrets::default(), &EngineLimits::default());
    let data = json!({"id": u64::MAX, "other": (1_u64 << 63) + 7, "ids": [u64::MAX, 5, 1.5], "small": -3});
    let evaluate = |source: &Value, data: &Value| {
        let expression = evaluator.compile(source, SecretPolicy::Allowed).unwrap();
        evaluator.evaluate_roots(&expression, &[("data", data)])
    };
    let joined = json!({"cat": [{"var": "accumulator"}, "-", {"var": "current"}]});
    for (source, expected) in [
        (json!({"cat": ["/orders/", {"var": "data.id"}]}), "/orders/18446744073709551615"),
        (json!({"cat": {"var": "data.other"}}), "9223372036854775815"),
        (json!({"cat": [{"var": "data.ids"}]}), "1844674407370955161551.5"),
        (json!({"join": [{"var": "data.ids"}, ","]}), "18446744073709551615,5,1.5"),
        (json!({"reduce": [{"var": "data.ids"}, joined, ""]}), "-18446744073709551615-5-1.5"),
        (json!({"substr": [{"cat": [{"var": "data.id"}]}, 0, 4]}), "1844"),
        (json!({"cat": ["#", u64::MAX]}), "#18446744073709551615"),
        (
            json!({"cat": [{"var": "data.small"}, null, true, {"var": "data.id"}]}),
            "-3true18446744073709551615",
        ),
    ] {
        assert_eq!(evaluate(&source, &data), Ok(expected.into()), "{source}");
    }
    let alike = json!({"a": u64::MAX, "b": u64::MAX - 1});
    let refused = evaluate(&json!({"cat": [{"var": "data.a"}, {"var": "data.b"}]}), &alike).unwrap_err();
    assert!(refused.contains("send them as texts"), "{refused}");
    let one = evaluate(&json!({"cat": [{"var": "data.a"}]}), &alike);
    assert_eq!(one, Ok(u64::MAX.to_string().into()), "what it does not read is no matter");
}

#[test]
fn named_groups_split_a_text_into_an_object() {
    let evaluator = Evaluator::new(DeclaredSecrets::default(), &EngineLimits::default());
    let pattern = "^(?P<year>[0-9]{4})-(?<month>[0-9]{2})(?P<rest>-.*)?$";
    let split = json!({"split": [{"var": "at"}, pattern]});
    for (at, expected) in [
        (json!("2026-11"), json!({"year": "2026", "month": "11", "rest": null})),
        (json!("2026-11-29"), json!({"year": "2026", "month": "11", "rest": "-29"})),
        (json!("soon"), json!({"year": null, "month": null, "rest": null})),
        (json!(null), json!({"year": null, "month": null, "rest": null})),
    ] {
        let arena = Arena::lease();
        let bump = arena.bump();
        let data = json!({ "at": at });
        let context = bump.alloc(DataValue::from_serde_value_in(&data, bump));
        let expression = evaluator.compile(&split, SecretPolicy::Allowed).unwrap();
        let result = evaluator.evaluate(&expression, context, &arena).unwrap().to_serde_value();
        assert_eq!(result, expected, "{data}");
    }
    let broken = json!({"cat": ["x", {"split": [{"var": "at"}, "(?P<year>[0-9"]}]});
    let refused = evaluator.compile_syntax(&broken).unwrap_err();
    assert!(refused.contains("split: the pattern does not compile"), "{refused}");
}
