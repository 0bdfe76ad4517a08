//! Whatever is stored or sent, nothing panics.

use proptest::prelude::*;
use serde_json::{Value, json};
use svc_engine::{Engine, EngineLimits};
use svc_model::WorkflowChecks as _;

use crate::declared;
use crate::support::{compile, message, run, workflow};

/// JSON made of the words workflows are made of, so that it gets past the first checks.
fn any_document() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        prop::sample::select(vec![
            "id",
            "name",
            "input",
            "tasks",
            "condition",
            "function",
            "mappings",
            "path",
            "logic",
            "source",
            "target",
            "rules",
            "message",
            "fields",
            "terminal",
            "connector",
            "output",
            "var",
            "secret",
            "map",
            "data",
            "payload.x",
            "data.x",
            "metadata",
            "temp_data.0",
            "#1",
            "counter",
            "max",
        ])
        .prop_map(str::to_owned),
        "[a-c.#0-9]{0,4}",
    ];
    let function = prop::sample::select(declared::engine().catalogue().names().collect::<Vec<_>>());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..20).prop_map(Value::from),
        word.clone().prop_map(Value::from),
        function.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word.clone(), inner.clone(), 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A task of a built-in with all its inputs, each of them anything.
fn any_task() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "filter",
        "log",
        "map",
        "parse_csv",
        "parse_json",
        "parse_xml",
        "publish_csv",
        "publish_json",
        "publish_xml",
        "validation",
    ]);
    let path = prop::sample::select(vec![
        "data",
        "data.a.0",
        "metadata",
        "temp_data.x",
        "other",
        "data.#1",
        "metadata.progress",
    ]);
    (name, path, any_document(), any_document()).prop_map(|(name, path, logic, condition)| {
        // The metadata themselves are never an array.
        let list = if path == "metadata" { "metadata.list" } else { path };
        let mappings = json!([{"path": path, "logic": logic}, {"path": list, "logic": logic, "mode": "append"},
            {"path": list, "logic": [logic], "mode": "extend"}, {"path": "data.a.0", "unset": true},
            {"path": "data.x", "logic": logic, "on_null": "unset"}]);
        json!({"name": "", "condition": condition, "continue_on_error": true, "function": {"name": name, "input": {
            "source": "payload", "target": "a", "mappings": mappings,
            "rules": [{"logic": logic, "message": "m"}], "condition": logic, "message": logic}}})
    })
}

proptest! {
    #[test]
    fn well_formed_tasks_never_panic(
        tasks in prop::collection::vec(any_task(), 1..6),
        payload in any_document(),
    ) {
        let mut tasks = tasks;
        for (n, task) in tasks.iter_mut().enumerate() {
            task["id"] = json!(n.to_string());
        }
        let engine = Engine::builder().secrets([("a", json!("s"))]).build();
        let document = json!({"loop": {"counter": "n", "max": 2}, "tasks": tasks});
        if compile(&engine, &document).is_ok() {
            let outcome = run(&engine, &document, message(payload));
            prop_assert!(outcome.failure.is_none(), "every task tolerates its errors");
        }
    }

    #[test]
    fn arbitrary_documents_never_panic(
        tasks in prop::collection::vec(any_document(), 0..5),
        condition in any_document(),
        looping in prop::option::of(any_document()),
        payload in any_document(),
    ) {
        let mut document = json!({"tasks": tasks, "condition": condition});
        if let Some(looping) = looping {
            document["loop"] = looping;
        }
        let engine = Engine::builder().limits(EngineLimits { max_loop_iterations: 5, ..EngineLimits::default() }).build();
        engine.check(&workflow(&document).content, &mut Vec::new(), &mut Vec::new());
        engine.dependencies(&workflow(&document).content);
        if compile(&engine, &document).is_ok() {
            run(&engine, &document, message(payload));
        }
    }
}

#[test]
fn loop_is_correct_after_arena_replacement() {
    let document = json!({"loop": {"counter": "n", "max": 150}, "tasks": [
        {"id": "m", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.text", "logic": {"cat": [{"var": "payload"}, {"var": "temp_data.n"}]}},
            {"path": "data.count", "logic": {"+": [{"var": "data.count"}, 1]}}]}}}]});
    let engine = Engine::builder().build();
    let flow = svc_engine::Flow::single(compile(&engine, &document).unwrap());
    let payload = "x".repeat(300_000);
    let outcome = crate::support::block_on(engine.run(
        &flow,
        message(payload.as_str().into()),
        svc_engine::RunOptions::default(),
    ));
    assert_eq!(outcome.message.data, json!({"text": format!("{payload}149"), "count": 150}));
}
