//! The documents of the channels of a project, and their examples.

use serde_json::{Value, json};

use super::directory::Directory;
use super::kit::{CHANNEL, Files, channel, note, task};

fn documented(timeout: &Value) -> Files {
    let schema = json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}});
    let config = json!({"request": {"schema": schema}, "timeout_ms": timeout,
        "examples": [{"name": "seven", "request": {"id": 7}}]});
    Files::default().set(CHANNEL, "/config", config).set(CHANNEL, "/methods", json!(["POST"]))
}

#[test]
fn openapi_of_a_project_is_printed_or_written() {
    let directory = Directory::new(&documented(&json!(500)));
    let ran = directory.run("openapi src --title Shop --base /shop/");
    assert_eq!(ran.code, 0, "{ran:?}");
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&document["openapi"], &document["info"]["title"]), (&json!("3.1.0"), &json!("Shop")));
    let operation = &document["paths"]["/shop/orders"]["post"];
    let body = &operation["requestBody"]["content"]["application/json"];
    assert_eq!(body["examples"]["seven"]["value"], json!({"id": 7}));
    assert_eq!(directory.run("openapi src --base /shop --title Shop -o shop.json").code, 0);
    assert_eq!(std::fs::read_to_string(directory.path("shop.json")).unwrap(), ran.out);
    let ran = directory.run("asyncapi src");
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &document["channels"]), (0, &json!({})));
    assert!(ran.err.contains("note: the document is empty: no channel is of its kind"), "{}", ran.err);
    let ran = directory.run("openapi src --tag shpo");
    assert!(ran.err.contains("no channel with the tag 'shpo'"), "{}", ran.err);
}

#[test]
fn typed_reference_needs_the_values_of_an_environment() {
    let directory = Directory::new(&documented(&json!("var://timeout")));
    let ran = directory.run("openapi src");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("timeout_ms") && ran.err.contains("--values"), "{}", ran.err);
    directory.write("src/values/prod.yaml", "vars: {timeout: 500}\n");
    let ran = directory.run("openapi src --values prod");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("/api/v1/data/orders"), "{}", ran.out);
}

#[test]
fn example_outside_its_schema_is_refused() {
    let files = documented(&json!(500)).set(CHANNEL, "/config/examples/0/request", json!({"id": "seven"}));
    let ran = Directory::new(&files).run("lint src");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("config.examples[0].request.id"), "{}", ran.err);
    let files = documented(&json!(500)).set(CHANNEL, "/config/request/schema", json!({"type": "objet"}));
    let ran = Directory::new(&files).run("lint src");
    assert!(ran.code == 1 && ran.err.contains("config.request.schema"), "{ran:?}");
}

#[test]
fn case_whose_data_breaks_response_schema_fails() {
    let schema = json!({"type": "object", "properties": {"note": {"type": "string"}}});
    let files = Files::default()
        .set(CHANNEL, "/config", json!({"response": {"schema": schema}}))
        .tasks(json!([note("n", &json!({"var": "payload.note"}))]));
    let directory = Directory::new(&files);
    let write = |value: Value| {
        let case = json!({"workflow": "../workflows/orders.json", "input": {"note": value}});
        directory.write("src/tests/note.case.json", &case.to_string());
        directory.run("test src/tests --definitions src")
    };
    let ran = write(json!("late"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = write(json!(7));
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("data.note: ") && ran.out.contains("response.schema"), "{}", ran.out);
}

#[test]
fn shaped_answer_without_a_sender_is_warned_of() {
    let mappings = json!({"mappings": [{"path": "data._svc.response.status", "logic": 201}]});
    let shaping = Files::default().tasks(json!([{"id": "g", "tasks": [task("s", "map", mappings)]}]));
    let warned = |files: Files| {
        let ran = Directory::new(&files).run("lint src");
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.err
            .contains("workflow_id: the workflow 'orders' writes data._svc.response, and no channel sends it")
    };
    assert!(warned(shaping.clone()));
    let shaped = json!({"response": {"mode": "shaped"}});
    assert!(!warned(shaping.clone().set(CHANNEL, "/config", shaped.clone())));
    let other = |config: Value| {
        shaping.clone().file("channels/b.json", channel("b")).set("channels/b.json", "/config", config)
    };
    assert!(!warned(other(shaped)), "another channel sends it");
    let accepted = json!({"request": {"mode": "accept"}, "response": {"mode": "shaped"}});
    assert!(!warned(other(accepted)), "the state of a submission shows it");
    for config in [
        json!({"request": {"mode": "accept"}}),
        json!({"request": {"mode": "var://request_mode"}}),
        json!({"response": {"mode": "var://response_mode"}}),
    ] {
        assert!(!warned(shaping.clone().set(CHANNEL, "/config", config.clone())), "{config}");
    }
}

#[test]
fn parameter_of_no_route_is_warned_of() {
    let warned = |route: &str| {
        let read = json!({"var": "metadata.params.ordr_id"});
        let files = Files::default().tasks(json!([note("n", &read)]));
        let ran = Directory::new(&files.set(CHANNEL, "/route_pattern", json!(route))).run("lint src");
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.err.contains("no route has the parameter 'ordr_id', so that it is null, did you mean 'order_id'?")
    };
    assert!(warned("/orders/{order_id}"));
    assert!(!warned("/orders/{ordr_id}"));
    assert!(!warned("/orders"), "an envelope may bring parameters");
}

#[test]
fn caught_up_instants_of_one_slot_are_noted() {
    let nightly = |concurrency: Value| {
        json!({"channel_id": "nightly", "name": "nightly", "channel_type": "async", "protocol": "cron",
            "workflow_id": "orders", "transport_config": {"schedule": "0 30 3 * * Mon-Fri",
                "timezone": "Europe/Berlin", "payload": {"span": "day"}, "misfire_policy": "catch_up",
                "max_catch_up": 5, "concurrency": concurrency},
            "config": {"timeout_ms": 900_000}})
    };
    let lint = |concurrency: Value| {
        let files = Files::default().file("channels/nightly.json", nightly(concurrency));
        let directory = Directory::new(&files);
        let runs = ["src", "src/channels/nightly.json"]
            .map(|path| directory.run(&format!("lint --deny-warnings {path}")));
        assert!(runs.iter().all(|ran| ran.code == 0), "{runs:?}");
        runs.map(|ran| ran.err.contains("note: [cron.excluded_instants] channel 'nightly'"))
    };
    assert_eq!(lint(json!({"policy": "forbid"})), [true; 2]);
    assert_eq!(lint(json!({"policy": "allow"})), [false; 2]);
}
