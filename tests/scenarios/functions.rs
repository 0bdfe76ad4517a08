//! Functions that need no connector, in a served workflow.

use serde_json::{Value, json};

use crate::support::{details, error, launch, serve, start};

/// A shared secret that is recognisable anywhere.
const KEY: &str = "canary-signing-key-0123456789-0123456789";

#[test]
fn token_signed_by_task_is_verified_by_next() {
    let server = launch().env("SIGNING_KEY", KEY).start().unwrap();
    let mut client = server.client();
    let key = json!("env://SIGNING_KEY");
    serve(
        &mut client,
        "tokens",
        json!([
            {"id": "sign", "name": "", "function": {"name": "jwt_sign", "input": {"algorithm": "HS256", "key": key,
                "claims": {"sub": {"var": "payload.user"}}, "expires_in": "5m", "output": "temp_data.token"}}},
            {"id": "verify", "name": "", "function": {"name": "jwt_verify", "input": {"token": {"var": "temp_data.token"},
                "algorithms": ["HS256"], "keys": [{"algorithm": "HS256", "key": key}], "output": "data.claims"}}},
            {"id": "hash", "name": "", "function": {"name": "crypto", "input": {"op": "password_hash",
                "password": {"var": "payload.user"}, "output": "temp_data.hash"}}},
            {"id": "check", "name": "", "function": {"name": "crypto", "input": {"op": "password_verify",
                "password": "u1", "hash": {"var": "temp_data.hash"}, "output": "data.known"}}}
        ]),
    );
    let answer = client.json("POST", "/api/v1/data/tokens", &json!({"user": "u1"})).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let data = answer.json()["data"].clone();
    assert_eq!((&data["claims"]["sub"], &data["known"]), (&json!("u1"), &json!(true)), "{data}");
    assert!(!answer.text().contains("canary"));
}

#[test]
fn unset_reference_fails_only_its_task() {
    let server = start();
    let mut client = server.client();
    let input =
        json!({"op": "hmac", "data": "d", "key": "env://SVC_TEST_NOT_SET_ANYWHERE", "output": "data.code"});
    serve(
        &mut client,
        "unset",
        json!([{"id": "t", "name": "", "function": {"name": "crypto", "input": input}}]),
    );
    let refused =
        error(&client.json("POST", "/api/v1/data/unset", &json!({})).unwrap(), 400, "VALIDATION_ERROR");
    assert!(refused["message"].as_str().unwrap().starts_with("key: "), "{refused}");
    assert!(!refused.to_string().contains("NOT_SET_ANYWHERE"), "{refused}");
}

#[test]
fn unusable_key_is_refused_at_its_place() {
    let server = start();
    let workflow = json!({"name": "w", "tasks": [{"id": "t", "name": "t", "function": {"name": "jwt_sign",
        "input": {"algorithm": "HS256", "key": "swordfish", "expires_in": 60}}}]});
    let refused = server.client().json("POST", "/api/v1/admin/workflows", &workflow).unwrap();
    let refused = error(&refused, 400, "VALIDATION_ERROR");
    assert_eq!(details(&refused), [("tasks[0].function.input.key".to_owned(), "INVALID".to_owned())]);
    assert!(!refused.to_string().contains("swordfish"));
}

#[test]
fn every_operator_is_listed_with_an_example() {
    let answer = start().client().get("/api/v1/admin/functions/operators").unwrap();
    assert_eq!(answer.status, 200);
    let list = answer.json()["data"].clone();
    let find = |name: &str| list.as_array().unwrap().iter().find(|row| row["name"] == name).cloned().unwrap();
    assert_eq!(
        find("join"),
        json!({"name": "join", "category": "text", "arity": {"min": 2, "max": 2},
            "description": "The elements of an array as one text with a separator between them",
            "example": {"logic": {"join": [["a", 1, null], "-"]}, "data": {}, "result": "a-1-"}})
    );
    assert_eq!(find("+")["arity"], json!({"min": 1, "max": null}));
    assert_eq!(find("now")["example"].get("result"), None, "it is not the same every time");
}

#[test]
fn schema_lists_functions_of_service() {
    let server = start();
    let answer = server.client().get("/api/v1/admin/schemas/workflow").unwrap();
    assert_eq!((answer.status, &answer.json()["data"]["kind"]), (200, &json!("workflow")));
    let names = answer.json()["data"]["schema"]["$defs"]["function"]["properties"]["name"].clone();
    assert!(names.to_string().contains("\"http_call\""), "{names}");
    let absent = server.client().get("/api/v1/admin/schemas/none").unwrap();
    let refused = error(&absent, 404, "NOT_FOUND");
    assert!(refused["message"].as_str().unwrap().contains("channel, workflow"), "{refused}");
}

#[test]
fn built_ins_list_inputs_only_on_full_request() {
    let server = start();
    let listed = |path: &str| {
        let list = server.client().get(path).unwrap().json()["data"].clone();
        list.as_array().unwrap().iter().find(|row| row["name"] == "filter").cloned().unwrap()
    };
    assert_eq!(listed("/api/v1/admin/functions").get("input_fields"), None);
    let inputs = listed("/api/v1/admin/functions?all=true")["input_fields"].clone();
    assert_eq!((&inputs[0]["name"], &inputs[1]["name"]), (&json!("condition"), &json!("on_reject")));
}

#[test]
fn field_and_its_expression_are_optional_rows() {
    let list = start().client().get("/api/v1/admin/functions?all=true").unwrap().json()["data"].clone();
    let rows = |function: &str| -> Vec<Value> {
        let entry = list.as_array().unwrap().iter().find(|entry| entry["name"] == function).unwrap();
        entry["input_fields"].as_array().cloned().unwrap_or_default()
    };
    let mut pairs = Vec::new();
    for entry in list.as_array().unwrap() {
        let function = entry["name"].as_str().unwrap();
        let rows = rows(function);
        let row = |name: &str| rows.iter().find(|row| row["name"] == name);
        for field in &rows {
            let name = field["name"].as_str().unwrap();
            assert!(!field["alias"].as_str().is_some_and(|alias| alias.ends_with("_logic")), "{field}");
            let Some(base) = name.strip_suffix("_logic") else { continue };
            assert_eq!((&field["required"], &field["resolvable"]), (&json!(false), &json!(false)), "{field}");
            if let Some(base) = row(base).filter(|_| !name.contains("[].")) {
                assert_eq!(base["required"], false, "{function}: {base}");
                pairs.push(format!("{function}.{name}"));
            }
        }
    }
    for pair in [
        "channel_call.channel_logic",
        "channel_call.data_logic",
        "http_call.path_logic",
        "http_call.body_logic",
        "publish_kafka.key_logic",
        "publish_kafka.value_logic",
    ] {
        assert!(pairs.iter().any(|found| found == pair), "{pair}: {pairs:?}");
    }
    // A second spelling of the same field is an alias, not a row.
    let call = rows("channel_call");
    let output = call.iter().find(|row| row["name"] == "output").unwrap();
    assert_eq!(output["alias"], "response_path");
    assert!(!call.iter().any(|row| row["name"] == "response_path"), "{call:?}");
}
