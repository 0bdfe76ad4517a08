//! Workflows through the admin API: create, read, list, update, versions, delete, validate.

use serde_json::{Value, json};

use crate::support::{details, echo_workflow, error, start};

const BASE: &str = "/api/v1/admin/workflows";

#[test]
fn a_created_workflow_reads_back_whole() {
    let server = start();
    let mut client = server.client();
    let created = client.json("POST", BASE, &echo_workflow("w-1")).unwrap();
    assert_eq!(created.status, 201, "{}", created.text());
    let data = created.json()["data"].clone();
    let fields: Vec<_> = data.as_object().unwrap().keys().cloned().collect();
    let mut expected = vec![
        "workflow_id",
        "version",
        "name",
        "description",
        "priority",
        "status",
        "rollout_percentage",
        "condition",
        "tasks",
        "tags",
        "continue_on_error",
        "content_hash",
        "created_at",
        "updated_at",
    ];
    expected.sort_unstable();
    let mut names = fields.clone();
    names.sort_unstable();
    assert_eq!(names, expected);
    assert_eq!(
        (&data["version"], &data["status"], &data["condition"]),
        (&json!(1), &json!("draft"), &json!(true))
    );
    assert!(data["content_hash"].as_str().unwrap().starts_with("sha256:"));
    assert!(data["created_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(client.get(&format!("{BASE}/w-1")).unwrap().json()["data"], data);
    error(&client.json("POST", BASE, &echo_workflow("w-1")).unwrap(), 409, "CONFLICT");
    error(&client.get(&format!("{BASE}/nobody")).unwrap(), 404, "NOT_FOUND");
}

#[test]
fn a_generated_id_is_a_uuid_v4() {
    let server = start();
    let mut document = echo_workflow("x");
    document.as_object_mut().unwrap().remove("workflow_id");
    let created = server.client().json("POST", BASE, &document).unwrap().json();
    let id = created["data"]["workflow_id"].as_str().unwrap();
    assert_eq!((id.len(), id.as_bytes()[14]), (36, b'4'), "{id}");
}

#[test]
fn every_workflow_problem_is_reported_at_its_path() {
    let server = start();
    let mut client = server.client();
    let document = json!({"name": "", "tasks": [
        {"id": "a", "name": "A", "function": {"name": "parse_jsn", "input": {}}},
        {"id": "a", "name": "B", "function": {"name": "map", "input": {"mappings": [{"path": "data.x", "logic": {"+": [1]}}]}}},
        {"id": "c", "name": "C", "tasks": []},
        {"id": "d", "name": "D", "function": {"name": "http_call", "input": {"connector": "env://X", "nope": 1}}},
        {"use": "fragment"}
    ]});
    let refused = client.json("POST", BASE, &document).unwrap();
    let details = details(&error(&refused, 400, "VALIDATION_ERROR"));
    for (path, code) in [
        ("workflow.name", "INVALID"),
        ("tasks[0].function.name", "UNKNOWN_FUNCTION"),
        ("tasks[1].id", "DUPLICATE_TASK_ID"),
        ("tasks[3].function.input.nope", "UNKNOWN_FIELD"),
        ("tasks[3].function.input.connector", "UNRESOLVED_SECRET_REF"),
    ] {
        let near = details.iter().any(|(p, c)| p == path && c == code);
        assert!(near, "{path} {code} not in {details:#?}");
    }
    assert!(details.iter().any(|(path, _)| path == "tasks[2].tasks"), "{details:#?}");
    assert!(details.iter().any(|(_, code)| code == "UNCOMPILED_SOURCE"), "{details:#?}");
    error(&client.json("POST", BASE, &json!({"name": "n", "tasks": []})).unwrap(), 400, "VALIDATION_ERROR");
    assert_eq!(client.get(BASE).unwrap().json()["total"], 0, "nothing half-written");
}

#[test]
fn validate_says_what_create_would_without_writing() {
    let server = start();
    let mut client = server.client();
    let good = client.json("POST", &format!("{BASE}/validate"), &echo_workflow("v")).unwrap();
    assert_eq!((good.status, &good.json()["data"]["valid"]), (200, &json!(true)), "{}", good.text());
    let bad = client.json("POST", &format!("{BASE}/validate"), &json!({"name": "x", "tasks": []})).unwrap();
    assert_eq!((bad.status, &bad.json()["data"]["valid"]), (200, &json!(false)));
    assert!(!bad.json()["data"]["errors"].as_array().unwrap().is_empty());
    let unparsable = client
        .send("POST", &format!("{BASE}/validate"), &[("content-type", "application/json")], b"{")
        .unwrap();
    error(&unparsable, 400, "VALIDATION_ERROR");
    assert_eq!(client.get(BASE).unwrap().json()["total"], 0);
}

#[test]
fn a_put_merges_into_the_draft_and_needs_one() {
    let server = start();
    let mut client = server.client();
    client.json("POST", BASE, &echo_workflow("u")).unwrap();
    let path = format!("{BASE}/u");
    let update = json!({"description": "later", "priority": 3});
    let changed = client.json("PUT", &path, &update).unwrap().json()["data"].clone();
    assert_eq!((&changed["description"], &changed["priority"]), (&json!("later"), &json!(3)));
    assert_eq!(changed["name"], "u", "absent keeps");
    let cleared = client.json("PUT", &path, &json!({"description": null})).unwrap().json();
    assert_eq!(cleared["data"]["description"], Value::Null);
    client.json("PATCH", &format!("{path}/status"), &json!({"status": "active"})).unwrap();
    error(&client.json("PUT", &path, &update).unwrap(), 404, "NOT_FOUND");
    let version = client.json("POST", &format!("{path}/versions"), &json!({})).unwrap();
    assert_eq!((version.status, &version.json()["data"]["version"]), (201, &json!(2)));
    error(&client.json("POST", &format!("{path}/versions"), &json!({})).unwrap(), 409, "CONFLICT");
    let versions = client.get(&format!("{path}/versions")).unwrap().json();
    assert_eq!((&versions["total"], &versions["data"][0]["version"]), (&json!(2), &json!(2)), "newest first");
    assert_eq!(client.send("DELETE", &path, &[], b"").unwrap().status, 204);
    error(&client.get(&path).unwrap(), 404, "NOT_FOUND");
}

#[test]
fn lists_page_filter_and_sort() {
    let server = start();
    let mut client = server.client();
    for (id, priority) in [("a", 1), ("b", 3), ("c", 2)] {
        let mut document = echo_workflow(id);
        document["priority"] = json!(priority);
        document["tags"] = json!([if id == "b" { "blue" } else { "red" }]);
        client.json("POST", BASE, &document).unwrap();
    }
    let ids = |body: &Value| -> Vec<String> {
        let rows = body["data"].as_array().unwrap();
        rows.iter().map(|row| row["workflow_id"].as_str().unwrap().to_owned()).collect()
    };
    let all = client.get(BASE).unwrap().json();
    assert_eq!(
        (ids(&all), &all["limit"], &all["offset"]),
        (vec!["b".into(), "c".into(), "a".into()], &json!(50), &json!(0))
    );
    let page = client.get(&format!("{BASE}?limit=1&offset=1")).unwrap().json();
    assert_eq!((ids(&page), &page["total"]), (vec!["c".to_owned()], &json!(3)));
    let red = client.get(&format!("{BASE}?tag=red&sort_by=name&sort_order=asc")).unwrap().json();
    assert_eq!((ids(&red), &red["total"]), (vec!["a".to_owned(), "c".to_owned()], &json!(2)));
    let clamped = client.get(&format!("{BASE}?limit=99999&offset=-5")).unwrap().json();
    assert_eq!((&clamped["limit"], &clamped["offset"]), (&json!(1000), &json!(0)));
    error(&client.get(&format!("{BASE}?limit=many")).unwrap(), 400, "VALIDATION_ERROR");
}

#[test]
fn admin_bodies_must_be_json() {
    let server = start();
    let mut client = server.client();
    let body = echo_workflow("t").to_string();
    error(
        &client.send("POST", BASE, &[("content-type", "text/plain")], body.as_bytes()).unwrap(),
        415,
        "UNSUPPORTED_MEDIA_TYPE",
    );
    let list = client.json("POST", BASE, &json!([1])).unwrap();
    assert_eq!(
        details(&error(&list, 400, "VALIDATION_ERROR"))[0],
        ("body".to_owned(), "TYPE_MISMATCH".to_owned())
    );
    let typed = client.json("POST", BASE, &json!({"name": 5, "tasks": []})).unwrap();
    let details = details(&error(&typed, 400, "VALIDATION_ERROR"));
    assert!(details.contains(&("body.name".to_owned(), "TYPE_MISMATCH".to_owned())), "{details:?}");
}

#[test]
fn workflow_is_tried_and_lists_its_dependencies() {
    let server = start();
    let mut client = server.client();
    let document = json!({"workflow_id": "t", "name": "t", "tasks": [
        {"id": "take", "name": "", "function": {"name": "parse_json", "input": {"source": "payload", "target": "o"}}},
        {"id": "never", "name": "", "condition": false, "function": {"name": "log", "input": {"message": "x"}}}]});
    client.json("POST", BASE, &document).unwrap();
    let answer = client.json("POST", &format!("{BASE}/t/test"), &json!({"data": {"a": 1}})).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let data = answer.json()["data"].clone();
    assert_eq!((&data["matched"], &data["output"]), (&json!(true), &json!({"o": {"a": 1}})));
    let steps: Vec<_> =
        data["trace"]["steps"].as_array().unwrap().iter().map(|step| step["result"].clone()).collect();
    assert_eq!(steps, vec![json!("executed"), json!("skipped")]);
    let dependencies = client.get(&format!("{BASE}/t/dependencies")).unwrap().json()["data"].clone();
    assert_eq!(
        dependencies,
        json!({"workflow_id": "t", "version": 1, "connectors": [], "channels": [], "has_dynamic_channel_calls": false})
    );
}

#[test]
fn dependencies_name_each_connector_use_in_order() {
    let server = start();
    let mut client = server.client();
    let uses =
        [("call1", "http_call", "crm"), ("call2", "http_call", "billing"), ("call3", "http_call", "crm")];
    let tasks = uses.map(|(id, function, connector)| {
        json!({"id": id, "name": id, "function": {"name": function, "input": {"connector": connector, "path": "/a"}}})
    });
    client.json("POST", BASE, &json!({"workflow_id": "w", "name": "w", "tasks": tasks})).unwrap();
    let dependencies = client.get(&format!("{BASE}/w/dependencies")).unwrap().json()["data"].clone();
    let crm = json!({"connector": "crm", "function": "http_call"});
    assert_eq!(dependencies["connectors"], json!([crm, {"connector": "billing", "function": "http_call"}]));
}

#[test]
fn validation_warns_of_a_connector_that_is_not_there() {
    let server = start();
    let task = json!({"id": "call", "name": "Call", "function": {"name": "http_call",
        "input": {"connector": "crm", "path": "/orders"}}});
    let workflow = json!({"workflow_id": "w", "name": "w", "tasks": [task]});
    let answer = server.client().json("POST", "/api/v1/admin/workflows/validate", &workflow).unwrap();
    let report = answer.json()["data"].clone();
    assert_eq!(report["valid"], true, "{report}");
    let warning = report["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["message"] == "connector 'crm' is not in the registry");
    assert_eq!(warning.unwrap()["field"], "tasks[0].function.input.connector", "{report}");
}

#[test]
fn stubs_answer_for_connectors_and_the_calls_are_shown() {
    let server = start();
    let mut client = server.client();
    let document = json!({"workflow_id": "s", "name": "s", "tasks": [
        {"id": "take", "name": "", "function": {"name": "parse_json", "input": {"source": "payload", "target": "o"}}},
        {"id": "call", "name": "", "function": {"name": "http_call", "input": {"connector": "crm", "method": "POST",
            "path": "/orders", "body_logic": {"var": "data.o"}, "output": "data.answer"}}},
        {"id": "next", "name": "", "function": {"name": "channel_call", "input": {"channel": "audit", "output": "data.audit"}}}]});
    client.json("POST", BASE, &document).unwrap();
    let path = format!("{BASE}/s/test");
    let stubs = json!({"http_call": {"crm": {"ok": true}}, "channel_call": {"*": {"noted": 1}}});
    let answer = client.json("POST", &path, &json!({"data": {"id": 7}, "stubs": stubs})).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let data = answer.json()["data"].clone();
    assert_eq!(
        data["output"],
        json!({"o": {"id": 7}, "answer": {"ok": true}, "audit": {"noted": 1}}),
        "{data}"
    );
    assert_eq!(data["live"], false);
    let call = &data["calls"]["http_call"][0];
    assert_eq!(
        (&call["seq"], &call["task_id"], &call["stub_target"]),
        (&json!(0), &json!("call"), &json!("crm"))
    );
    assert_eq!(call["input"]["body"], json!({"id": 7}), "as it would be sent");
    assert_eq!(data["calls"]["channel_call"][0]["seq"], 1);
    let missing =
        client.json("POST", &path, &json!({"data": {}, "stubs": {}})).unwrap().json()["data"].clone();
    assert!(missing.to_string().contains("no stub answers http_call of 'crm'"), "{missing}");
    assert_eq!(missing["calls"]["http_call"].as_array().map(Vec::len), Some(1), "recorded all the same");
    let misspelt =
        client.json("POST", &path, &json!({"data": {}, "stubs": {"http_cal": {}, "map": {}}})).unwrap();
    let details = details(&error(&misspelt, 400, "VALIDATION_ERROR"));
    let expected = ["body.stubs.http_cal", "body.stubs.map"]
        .map(|path| (path.to_owned(), "UNKNOWN_FUNCTION".to_owned()));
    assert_eq!(details, expected);
    let live = client.json("POST", &path, &json!({"data": {}})).unwrap().json()["data"].clone();
    assert_eq!((&live["live"], live.get("calls")), (&json!(true), None), "{live}");
}

#[test]
fn definition_is_tried_without_being_stored() {
    let server = start();
    let mut client = server.client();
    client.json("POST", BASE, &echo_workflow("kept")).unwrap();
    let stored = client.get(&format!("{BASE}/kept")).unwrap().json()["data"].clone();
    let tasks = json!([{"id": "say", "name": "Say", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.text", "logic": {"cat": ["Hello, ", {"var": "payload.name"}]}}]}}}]);
    let mut attempt = |id: &str, definition: &Value| {
        let body = json!({"data": {"name": "Ada"}, "stubs": {}, "workflow": definition});
        client.json("POST", &format!("{BASE}/{id}/test"), &body).unwrap()
    };
    let changed = attempt("kept", &json!({"tasks": tasks})).json()["data"].clone();
    assert_eq!(changed["output"], json!({"text": "Hello, Ada"}), "{changed}");
    let fresh = attempt("absent", &json!({"name": "New", "tasks": tasks})).json()["data"].clone();
    assert_eq!(fresh["output"], json!({"text": "Hello, Ada"}), "{fresh}");
    let refused = attempt("kept", &json!({"tasks": [{"id": "say"}]}));
    assert!(!details(&error(&refused, 400, "VALIDATION_ERROR")).is_empty());
    error(&attempt("absent", &Value::Null), 404, "NOT_FOUND");
    let after = client.get(&format!("{BASE}/kept")).unwrap().json()["data"].clone();
    assert_eq!(after, stored);
    error(&client.get(&format!("{BASE}/absent")).unwrap(), 404, "NOT_FOUND");
}

#[test]
fn trial_without_body_takes_the_defaults() {
    let server = start();
    let mut client = server.client();
    client.json("POST", BASE, &echo_workflow("kept")).unwrap();
    let path = format!("{BASE}/kept/test");
    let bare = client.send("POST", &path, &[], b"").unwrap();
    assert_eq!(bare.status, 200, "{}", bare.text());
    let explicit = client.json("POST", &path, &json!({})).unwrap().json();
    assert_eq!(bare.json()["data"]["output"], explicit["data"]["output"]);
}
