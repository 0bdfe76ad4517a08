//! Import and export.

use serde_json::{Value, json};

use crate::support::{channel, details, echo_workflow, error, eventually, start};

const BASE: &str = "/api/v1/admin/workflows";

#[test]
fn good_items_apply_bad_ones_are_reported() {
    let server = start();
    let mut client = server.client();
    let batch = json!([echo_workflow("a"), {"name": "no tasks"}, echo_workflow("b"), 5]);
    let report = client.json("POST", &format!("{BASE}/import"), &batch).unwrap();
    assert_eq!(report.status, 200, "{}", report.text());
    let data = report.json()["data"].clone();
    assert_eq!((&data["imported"], &data["failed"], &data["dry_run"]), (&json!(2), &json!(2), &json!(false)));
    let bad: Vec<_> = data["errors"].as_array().unwrap().iter().map(|error| error["index"].clone()).collect();
    assert_eq!(bad, vec![json!(1), json!(3)]);
    assert_eq!(data["results"][0], json!({"index": 0, "id": "a", "action": "created"}));
    assert_eq!(client.get(BASE).unwrap().json()["total"], 2);
}

#[test]
fn conflicts_fail_skip_or_make_a_new_version() {
    let server = start();
    let mut client = server.client();
    let mut import = |mode: &str, item: &Value| {
        let path = format!("{BASE}/import?on_conflict={mode}");
        client.json("POST", &path, &json!([item])).unwrap().json()["data"].clone()
    };
    let first = echo_workflow("w");
    assert_eq!(import("fail", &first)["imported"], 1);
    assert_eq!(import("fail", &first)["failed"], 1);
    assert_eq!(import("skip", &first)["skipped"], 1);
    assert_eq!(import("new_version", &first)["results"][0]["action"], "unchanged");
    let mut changed = first.clone();
    changed["description"] = json!("changed");
    assert_eq!(import("new_version", &changed)["results"][0]["action"], "updated_draft");
    client.json("PATCH", &format!("{BASE}/w/status"), &json!({"status": "active"})).unwrap();
    let mut import = |item: &Value| {
        let path = format!("{BASE}/import?on_conflict=new_version");
        client.json("POST", &path, &json!([item])).unwrap().json()["data"]["results"][0]["action"].clone()
    };
    assert_eq!(import(&changed), "unchanged");
    assert_eq!(import(&first), "new_version");
}

#[test]
fn a_dry_run_writes_nothing_and_export_is_import() {
    let server = start();
    let mut client = server.client();
    let batch = json!([echo_workflow("a"), echo_workflow("a")]);
    let dry =
        client.json("POST", &format!("{BASE}/import?dry_run=true"), &batch).unwrap().json()["data"].clone();
    assert_eq!(
        (&dry["dry_run"], &dry["imported"], &dry["failed"]),
        (&json!(true), &json!(1), &json!(1)),
        "{dry}"
    );
    assert_eq!(client.get(BASE).unwrap().json()["total"], 0);
    client.json("POST", &format!("{BASE}/import"), &json!([echo_workflow("a"), echo_workflow("b")])).unwrap();
    let exported = client.get(&format!("{BASE}/export")).unwrap().json()["data"].clone();
    assert_eq!(exported.as_array().unwrap().len(), 2);
    let again =
        client.json("POST", &format!("{BASE}/import?on_conflict=new_version"), &exported).unwrap().json();
    assert_eq!((&again["data"]["unchanged"], &again["data"]["failed"]), (&json!(2), &json!(0)), "{again}");
}

#[test]
fn dry_run_warns_of_probable_mistakes() {
    let server = start();
    let mut client = server.client();
    let mut suspicious = echo_workflow("b");
    let read = json!({"path": "data.x", "logic": {"var": "data.nothing"}});
    suspicious["tasks"].as_array_mut().unwrap().push(json!({"id": "m", "name": "Map",
        "function": {"name": "map", "input": {"mappings": [read]}}}));
    let batch = json!([echo_workflow("a"), suspicious]);
    let mut import = |query: &str| {
        client.json("POST", &format!("{BASE}/import{query}"), &batch).unwrap().json()["data"].clone()
    };
    let dry = import("?dry_run=true");
    assert_eq!((dry["valid"] == true, dry["warnings"].as_array().map(Vec::len)), (true, Some(1)), "{dry}");
    let field = dry["warnings"][0]["field"].as_str().unwrap();
    assert!(field.starts_with("[1].tasks[1].") && field.ends_with("mappings[0].logic"), "{dry}");
    assert_eq!(import("").get("warnings"), None);
}

#[test]
fn import_of_connectors_raises_the_epoch_once() {
    let server = start();
    let mut client = server.client();
    let item =
        |name: &str| json!({"name": name, "connector_type": "http", "config": {"url": "https://a.example"}});
    let mut batch: Vec<Value> = (0..40).map(|number| item(&format!("k{number}"))).collect();
    batch.insert(1, item("k0"));
    let mut epoch = || client.get("/health").unwrap().json()["epoch"]["current"].as_i64().unwrap();
    let before = epoch();
    let mut importer = server.client();
    let report = importer.json("POST", "/api/v1/admin/connectors/import", &batch.into()).unwrap().json();
    assert_eq!((&report["data"]["imported"], &report["data"]["failed"]), (&json!(40), &json!(1)), "{report}");
    assert_eq!(report["data"]["errors"][0]["index"], 1, "{report}");
    eventually(|| epoch() > before);
    assert_eq!(epoch(), before + 1);
    let listed = importer.get("/api/v1/admin/connectors?limit=1000").unwrap().json();
    let rows = listed["data"].as_array().unwrap();
    assert!(rows.len() == 40 && rows.iter().all(|row| row["load_status"] == "loaded"), "{listed}");
}

#[test]
fn import_reports_connectors_by_name() {
    let server = start();
    let mut client = server.client();
    let items = json!([
        {"id": "c7", "name": "api", "connector_type": "http", "config": {"url": "https://a.example"}}
    ]);
    for (mode, action) in [("fail", "created"), ("skip", "skipped"), ("new_version", "unchanged")] {
        let path = format!("/api/v1/admin/connectors/import?on_conflict={mode}");
        let report = client.json("POST", &path, &items).unwrap().json();
        let expected = json!([{"index": 0, "id": "api", "action": action}]);
        assert_eq!(report["data"]["results"], expected, "{report}");
    }
}

#[test]
fn a_masked_item_and_an_oversized_batch_are_refused() {
    let server = start();
    let mut client = server.client();
    let masked = channel("c", "w", json!({"auth": {"mode": "api_key", "keys": ["******"]}}));
    let report = client.json("POST", "/api/v1/admin/channels/import", &json!([masked])).unwrap().json();
    assert_eq!(report["data"]["failed"], 1, "{report}");
    let many: Vec<_> = (0..1001).map(|n| echo_workflow(&format!("w{n}"))).collect();
    error(
        &client.json("POST", &format!("{BASE}/import"), &Value::Array(many)).unwrap(),
        400,
        "VALIDATION_ERROR",
    );
    error(&client.json("POST", &format!("{BASE}/import"), &json!({})).unwrap(), 400, "VALIDATION_ERROR");
}

#[test]
fn an_item_no_database_can_hold_fails_alone() {
    let server = start();
    let mut client = server.client();
    let mut odd = echo_workflow("odd");
    odd["tags"] = json!(["a\u{0}"]);
    let refused = client.json("POST", BASE, &odd).unwrap();
    let details = details(&error(&refused, 400, "VALIDATION_ERROR"));
    assert_eq!(details, [("workflow.tags[0]".to_owned(), "INVALID".to_owned())]);
    let batch = json!([echo_workflow("a"), odd, echo_workflow("b")]);
    let report = client.json("POST", &format!("{BASE}/import"), &batch).unwrap();
    let data = report.json()["data"].clone();
    assert_eq!((report.status, &data["imported"], &data["failed"]), (200, &json!(2), &json!(1)), "{data}");
    assert_eq!(data["errors"][0]["index"], 1);
    error(&client.get(&format!("{BASE}/%00")).unwrap(), 404, "NOT_FOUND");
    assert_eq!(client.get(&format!("{BASE}?tag=%00")).unwrap().json()["total"], 0);
}
