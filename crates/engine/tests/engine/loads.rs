//! Every workflow that a create accepts also loads.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use svc_engine::{CompileError, CompileSecrets, Engine};
use svc_model::{LifecycleStatus, Timestamp, Workflow, WorkflowContent, parse_new_workflow};
use svc_secrets::Readings;

/// Values that replace a correct one.
fn odd() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(u64::MAX),
        json!(""),
        json!(" "),
        json!("x"),
        json!("data..x"),
        json!("data.100000"),
        json!("payload.x"),
        json!("\u{feff}\u{202e}"),
        json!([]),
        json!([null]),
        json!({}),
        json!({"a": 1, "b": {"+": []}}),
        json!({"tasks": null}),
        json!({"var": ["a", {"var": "b"}, 1]}),
        json!({"val": [[1], "x"]}),
        json!({"switch": 1}),
        json!({"random": "uuid"}),
        json!({"#shallow": 1}),
    ]
}

fn expression() -> BoxedStrategy<Value> {
    let operators = [
        "var", "if", "+", "map", "reduce", "cat", "!", "??", "missing", "try", "throw", "sort", "group_by",
        "unknown",
    ];
    let leaf = select(odd());
    let inner = leaf.prop_recursive(3, 8, 3, move |inner| {
        let call = (select(operators.to_vec()), prop::collection::vec(inner, 0..3));
        call.prop_map(|(operator, arguments)| json!({ operator: arguments }))
    });
    prop_oneof![1 => Just(json!(true)), 2 => inner].boxed()
}

/// An expression of which only the truth counts: nearly always one that calls only what there is.
fn condition() -> BoxedStrategy<Value> {
    let valid = expression().prop_map(|mut source| {
        call_what_exists(&mut source);
        source
    });
    prop_oneof![30 => valid, 1 => expression()].boxed()
}

fn call_what_exists(source: &mut Value) {
    if source.as_object().is_some_and(|members| members.len() != 1) {
        *source = json!(true);
    }
    if let Value::Object(members) = source
        && members.len() == 1
        && members.keys().all(|name| svc_engine::catalogue::operators::find(name).is_none())
    {
        *source = members.values_mut().map(Value::take).next().unwrap();
        return call_what_exists(source);
    }
    match source {
        Value::Object(members) => members.values_mut().for_each(call_what_exists),
        Value::Array(items) => items.iter_mut().for_each(call_what_exists),
        _ => {}
    }
}

fn word(words: &'static [&'static str]) -> impl Strategy<Value = Value> {
    select(words).prop_map(Value::from)
}

fn function() -> impl Strategy<Value = Value> {
    let path = || word(&["data.x", "data.#1", "metadata", "other.0", "temp_data.a.b", "data", "data.#"]);
    let target = || word(&["x", "x.0", "#1", "a.#.b"]);
    let mapping = prop_oneof![
        (path(), expression()).prop_map(|(path, logic)| json!({"path": path, "logic": logic})),
        (path(), expression(), word(&["append", "extend"]))
            .prop_map(|(path, logic, mode)| json!({"path": path, "logic": logic, "mode": mode})),
        word(&["data.x", "other.0"]).prop_map(|path| json!({"path": path, "unset": true})),
    ];
    let rule = condition().prop_map(|logic| json!({"logic": logic, "message": "m"}));
    let moves = word(&["parse_csv", "parse_json", "parse_xml", "publish_csv", "publish_json", "publish_xml"]);
    prop_oneof![
        prop::collection::vec(mapping, 0..3)
            .prop_map(|mappings| json!({"name": "map", "input": {"mappings": mappings}})),
        prop::collection::vec(rule, 0..3).prop_map(|rules| json!({"name": "validate", "input": {"rules": rules}})),
        (condition(), word(&["halt", "skip"]))
            .prop_map(|(condition, then)| json!({"name": "filter", "input": {"condition": condition, "on_reject": then}})),
        (expression(), expression(), word(&["trace", "error"])).prop_map(
            |(message, field, level)| json!({"name": "log", "input": {"level": level, "message": message, "fields": {"k": field}}})
        ),
        (moves, path(), target(), any::<bool>()).prop_map(|(name, source, target, pretty)| {
            let mut input = json!({"source": source, "target": target});
            match name.as_str() {
                Some("publish_json") => input["pretty"] = json!(pretty),
                Some("publish_csv") => input["columns"] = json!(["a"]),
                Some("publish_xml") => input["root_element"] = json!("1 r"),
                _ => {}
            }
            json!({"name": name, "input": input})
        }),
    ]
}

fn step() -> impl Strategy<Value = Value> {
    let task = (condition(), function(), any::<bool>(), any::<bool>()).prop_map(
        |(condition, function, goes_on, terminal)| {
            json!({"id": "", "name": "", "description": "d", "condition": condition, "function": function,
            "continue_on_error": goes_on, "terminal": terminal})
        },
    );
    task.prop_recursive(8, 12, 2, |inner| {
        let members = prop::collection::vec(inner, 1..3);
        (condition(), any::<bool>(), members)
            .prop_map(|(condition, terminal, tasks)| json!({"id": "", "condition": condition, "terminal": terminal, "tasks": tasks}))
    })
}

fn looping() -> impl Strategy<Value = Value> {
    let block = (word(&["n", "a.0", "#"]), -3..3i64, 1..3i64, 3..9i64)
        .prop_map(|(counter, init, increment, max)| json!({"counter": counter, "init": init, "increment": increment, "max": max}));
    prop_oneof![Just(Value::Null), block]
}

/// Gives every task and group an id of its own.
fn number(steps: &mut Value, next: &mut usize) {
    for step in steps.as_array_mut().into_iter().flatten() {
        step["id"] = json!(format!("t{next}"));
        *next += 1;
        if let Some(members) = step.get_mut("tasks") {
            number(members, next);
        }
    }
}

fn right_body() -> impl Strategy<Value = Value> {
    let steps = prop::collection::vec(step(), 1..4).prop_map(Value::from);
    (condition(), steps, looping(), any::<bool>()).prop_map(|(condition, mut tasks, looping, goes_on)| {
        number(&mut tasks, &mut 0);
        json!({"workflow_id": "w", "name": "n", "condition": condition, "tasks": tasks, "loop": looping,
            "priority": 1, "continue_on_error": goes_on, "tags": ["t"]})
    })
}

/// Visits the values of a document until `left` are passed over.
fn nth<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, left)),
        Value::Object(members) => members.values_mut().find_map(|member| nth(member, left)),
        _ => None,
    }
}

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(members) => members.values().map(size).sum(),
        _ => 0,
    }
}

/// A right body with up to three values replaced.
fn body() -> impl Strategy<Value = Value> {
    let replaced = prop::collection::vec((any::<Index>(), select(odd())), 0..4);
    (right_body(), replaced).prop_map(|(mut body, replaced)| {
        for (place, value) in replaced {
            let mut left = place.index(size(&body));
            *nth(&mut body, &mut left).unwrap() = value;
        }
        body
    })
}

/// As the database gives it back.
fn stored_workflow(content: WorkflowContent) -> Workflow {
    let again = |value: &Value| serde_json::from_str(&value.to_string()).unwrap();
    Workflow {
        workflow_id: "w".into(),
        version: 1,
        content: WorkflowContent {
            condition: again(&content.condition),
            tasks: content.tasks.iter().map(again).collect(),
            loop_: content.loop_.as_ref().map(again),
            ..content
        },
        status: LifecycleStatus::Active,
        rollout_percentage: 100,
        created_at: Timestamp::now(),
        updated_at: Timestamp::now(),
    }
}

/// `None` = a create refuses the body.
fn loads(body: &Value) -> Option<Result<(), CompileError>> {
    let engine = Engine::builder().build();
    let (_, content) = parse_new_workflow(body, &engine).ok()?;
    let material = CompileSecrets { references: &Readings::default(), declared: &engine.declared_secrets() };
    Some(engine.compile(&stored_workflow(content), material).map(drop))
}

#[test]
fn accepted_workflow_loads() {
    const CASES: u32 = 3000;
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    let accepted = Cell::new(0);
    let outcome = TestRunner::new(config).run(&body(), |body| {
        if let Some(loaded) = loads(&body) {
            accepted.set(accepted.get() + 1);
            prop_assert_eq!(loaded, Ok(()), "{}", body);
        }
        Ok(())
    });
    outcome.unwrap();
    assert!(accepted.get() > CASES / 100, "only {} bodies were accepted", accepted.get());
    assert!(accepted.get() < CASES, "no body was refused");
}

#[test]
fn an_input_of_null_is_an_absent_one() {
    let body = |function: &str| json!({"name": "n", "tasks": [{"id": "t", "name": "", "function": {"name": function, "input": null}}]});
    assert_eq!(loads(&body("log")), Some(Ok(())));
    assert_eq!(loads(&body("map")), None, "mappings are required");
}
