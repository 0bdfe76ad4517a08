//! Fan-outs, parallel groups, retries and handlers, from outside.

use serde_json::{Value, json};

use crate::support::{details, error, serve, start};

const WORKFLOWS: &str = "/api/v1/admin/workflows";

fn map(id: &str, path: &str, logic: Value) -> Value {
    json!({"id": id, "name": "", "function": {"name": "map", "input": {"mappings": [{"path": path, "logic": logic}]}}})
}

fn with(mut step: Value, key: &str, value: Value) -> Value {
    step[key] = value;
    step
}

#[test]
fn malformed_steps_are_refused_with_their_place() {
    let server = start();
    let mut client = server.client();
    let one = || map("one", "data.one", json!(1));
    let each = |block: Value| with(one(), "for_each", block);
    let group = |keys: Value| {
        let mut group = json!({"id": "g", "tasks": [one()]});
        group.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
        group
    };
    let publish = json!({"id": "p", "name": "", "retry": {"attempts": 2}, "function": {"name": "channel_call",
        "input": {"channel": "c"}}});
    for (step, path, code) in [
        (
            each(json!({"over": [1], "into": "data.x", "max_concurency": 2})),
            "for_each.max_concurency",
            "UNKNOWN_FIELD",
        ),
        (
            each(json!({"over": [1], "into": "data.x", "max_concurrency": 257})),
            "for_each.max_concurrency",
            "INVALID",
        ),
        (each(json!({"over": [1]})), "for_each.into", "REQUIRED"),
        (each(json!({"over": [1], "into": "dta.x"})), "for_each.into", "INVALID"),
        (with(one(), "retry", json!({"attempts": 2, "delays": "1s"})), "retry.delays", "UNKNOWN_FIELD"),
        (with(one(), "retry", json!({"attempts": 2, "on": ["IO_EROR"]})), "retry.on[0]", "INVALID"),
        (with(one(), "timeout_ms", json!("5s")), "timeout_ms", "TYPE_MISMATCH"),
        (with(one(), "halt_on", json!("error")), "halt_on", "INVALID"),
        (with(one(), "parallel", json!(true)), "parallel", "UNKNOWN_FIELD"),
        (group(json!({"finaly": [map("f", "data.f", json!(1))]})), "finaly", "UNKNOWN_FIELD"),
        (group(json!({"on_error": []})), "on_error", "INVALID"),
        (
            group(
                json!({"finally": [{"id": "one", "name": "", "function": {"name": "log", "input": {"message": "m"}}}]}),
            ),
            "finally[0].id",
            "DUPLICATE_TASK_ID",
        ),
        (
            group(json!({"parallel": true, "tasks": [one(), map("two", "data.one.deep", json!(2))]})),
            "tasks[1]",
            "CONFLICTING_WRITES",
        ),
        (publish, "retry", "INVALID"),
    ] {
        let document = json!({"name": "w", "tasks": [step]});
        let refused = error(&client.json("POST", WORKFLOWS, &document).unwrap(), 400, "VALIDATION_ERROR");
        let expected = (format!("tasks[0].{path}"), code.to_owned());
        assert!(details(&refused).contains(&expected), "{path}: {refused}");
    }
}

#[test]
fn elements_and_members_are_served_and_tried() {
    let server = start();
    let mut client = server.client();
    let item = |name: &str| json!({"var": format!("temp_data.item.{name}")});
    let total = with(
        map("total", "temp_data.total", json!({"*": [item("qty"), item("price")]})),
        "for_each",
        json!({"over": {"var": "payload"}, "into": "data.totals", "max_concurrency": 3, "continue_on_error": true}),
    );
    let both = json!({"id": "both", "parallel": true, "tasks": [
        map("first", "data.first", json!(1)), map("second", "data.second", json!(2))]});
    serve(&mut client, "totals", json!([total, both]));
    let payload = json!([{"qty": 2, "price": 3}, {"qty": "x", "price": 1}, {"qty": 4, "price": 5}]);
    let answer = client.json("POST", "/api/v1/data/totals", &payload).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer = answer.json();
    assert_eq!(answer["data"], json!({"totals": [6, null, 20], "first": 1, "second": 2}));
    assert_eq!(answer["errors"].as_array().map(Vec::len), Some(1), "{answer}");
    assert_eq!(answer["errors"][0]["index"], 1, "{answer}");
    let trial = client.json("POST", &format!("{WORKFLOWS}/totals/test"), &json!({"data": payload})).unwrap();
    let steps = trial.json()["data"]["trace"]["steps"].clone();
    let steps = steps.as_array().unwrap();
    let shown: Vec<_> = steps.iter().map(|step| (step["task_id"].clone(), step["index"].clone())).collect();
    let expected = [
        (json!("total"), json!(0)),
        (json!("total"), json!(1)),
        (json!("total"), json!(2)),
        (json!("first"), Value::Null),
        (json!("second"), Value::Null),
    ];
    assert_eq!(shown, expected);
    assert_eq!(steps[1]["result"], "failed");
}
