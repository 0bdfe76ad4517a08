use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::message::Message;
use crate::scope::Scope;

fn reads(source: Value) -> Reads {
    Survey::of(&source).reads
}

#[test]
fn a_literal_path_reads_only_the_root_it_names() {
    let data = Reads { data: true, ..Reads::default() };
    assert_eq!(reads(json!({"==": [{"var": "data.a.b"}, "metadata.x"]})), data);
    assert_eq!(reads(json!({"var": ["data.a", "payload"]})), data);
    assert_eq!(reads(json!({"missing": ["data.a", "data.b"]})), data);
    assert_eq!(reads(json!({"val": ["data", "a"]})), data);
    assert_eq!(
        reads(json!({"a": {"var": "payload.x"}, "var": "text"})),
        Reads { payload: true, ..Reads::default() }
    );
}

#[test]
fn an_empty_path_reads_the_whole_context_without_the_payload() {
    let whole = Reads { payload: false, ..Reads::ALL };
    assert_eq!(reads(json!({"var": ""})), whole);
    assert_eq!(reads(json!({"val": [""]})), whole);
    assert_eq!(reads(json!({"var": ["", "default"]})), whole);
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
        assert_eq!(reads(source.clone()), Reads::ALL, "{source}");
    }
}

fn any_expression() -> impl Strategy<Value = Value> {
    let path = prop_oneof![
        Just("data.a"),
        Just("data.list"),
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
    fn leaving_out_roots_an_expression_cannot_read_changes_nothing(source in any_expression()) {
        let mut message = Message::new(json!({"p": "in"}), serde_json::Map::new());
        message.data = json!({"a": 1, "list": [1, {"a": 2}]});
        message.metadata.insert("m".into(), json!("m"));
        message.temp_data = json!({"t": [true]});
        let evaluator = Evaluator::new(Secrets::default(), 1 << 20);
        let expression = evaluator.compile(&source, SecretUse::Allowed).unwrap();
        let arena = Arena::lease();
        let bump = arena.bump();
        let evaluate = |reads| {
            let context = Scope::new(bump).context(&message, reads);
            evaluator.evaluate(&expression, context, bump).map(|value| value.to_serde_value())
        };
        // The payload is part of the whole context only for expressions that name it.
        let all = Reads { payload: expression.reads().payload, ..Reads::ALL };
        prop_assert_eq!(evaluate(expression.reads()), evaluate(all));
    }
}
