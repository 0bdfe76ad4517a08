//! The documents of the channels of a project, and their examples.

use serde_json::{Value, json};

use super::directory::Directory;
use super::kit::{CHANNEL, Files, note};

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
