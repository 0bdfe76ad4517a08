//! Plugins: stored as drafts, activated, called by workflows, refused with reasons.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::plugins::assemble_component;

use crate::support::{error, eventually, launch, serve, serve_with, start};

const PLUGINS: &str = "/api/v1/admin/plugins";

/// Answers with its input.
const ECHO: &str = "(i32.store8 (i32.const 16) (i32.const 0))
    (i32.store (i32.const 20) (local.get $input)) (i32.store (i32.const 24) (local.get $input_length))
    (i32.const 16)";
const TRAP: &str = "unreachable";

/// Returns a component of the world whose function has this body, in base64.
fn component(body: &str) -> String {
    STANDARD.encode(assemble_component(body).unwrap())
}

fn plugin(name: &str, body: &str) -> Value {
    json!({"component": component(body), "manifest": {
        "abi": "svc:plugin@1.0.0", "name": name, "version": "1.0.0",
        "functions": [{"name": "price", "description": "Prices a basket", "input_fields": [
            {"name": "net", "kind": "number", "required": true},
        ]}],
    }})
}

/// Stores a plugin, activates it and waits until its component has this state.
fn activate(client: &mut HttpClient, name: &str, body: &str, load: &str) {
    let created = client.json("POST", PLUGINS, &plugin(name, body)).unwrap();
    assert_eq!(created.status, 201, "{}", created.text());
    change_status(client, name, "active", 200);
    eventually(|| client.get(&format!("{PLUGINS}/{name}")).unwrap().json()["data"][0]["load"] == load);
}

fn change_status(client: &mut HttpClient, name: &str, status: &str, expected: u16) -> Value {
    let path = format!("{PLUGINS}/{name}/status");
    let answer = client.json("PATCH", &path, &json!({ "status": status })).unwrap();
    assert_eq!(answer.status, expected, "{}", answer.text());
    answer.json()
}

pub(crate) fn task(function: &str) -> Value {
    let input = json!({"net": {"+": [{"var": "data.input.net"}, 1]}, "output": "data.price"});
    json!([
        {"id": "take", "name": "Take",
            "function": {"name": "parse_json", "input": {"source": "payload", "target": "input"}}},
        {"id": "price", "name": "Price", "function": {"name": function, "input": input}},
    ])
}

#[test]
fn active_plugin_is_listed_checked_and_called() {
    let server = start();
    let mut client = server.client();
    activate(&mut client, "shop", ECHO, "ready");
    let functions = client.get("/api/v1/admin/functions").unwrap().json();
    let listed = functions["data"].as_array().unwrap().iter().find(|entry| entry["name"] == "shop.price");
    let listed = listed.unwrap();
    assert_eq!((&listed["source"], &listed["plugin"]["id"]), (&json!("plugin"), &json!("shop")));
    assert!(listed["plugin"]["digest"].as_str().unwrap().starts_with("sha256:"), "{listed}");
    let mut wrong = json!({"workflow_id": "wrong", "name": "wrong", "tasks": task("shop.price")});
    wrong["tasks"][1]["function"]["input"] = json!({"nett": 1});
    let refused = client.json("POST", "/api/v1/admin/workflows", &wrong).unwrap();
    error(&refused, 400, "VALIDATION_ERROR");
    serve(&mut client, "price", task("shop.price"));
    let answer = client.json("POST", "/api/v1/data/price", &json!({"net": 7})).unwrap();
    assert_eq!(
        (answer.status, &answer.json()["data"]["price"]),
        (200, &json!({"net": 8})),
        "{}",
        answer.text()
    );
    let impact = client.get(&format!("{PLUGINS}/shop/impact")).unwrap().json()["data"].clone();
    assert_eq!((&impact["kind"], &impact["channels"][0]["name"]), (&json!("plugin"), &json!("price")));
    let used = change_status(&mut client, "shop", "archived", 409);
    assert!(used["error"]["message"].as_str().unwrap().contains("price"), "{used}");
}

#[test]
fn trapping_version_fails_its_calls_and_is_replaced() {
    let server = start();
    let mut client = server.client();
    activate(&mut client, "shop", TRAP, "ready");
    serve(&mut client, "price", task("shop.price"));
    let failed = client.json("POST", "/api/v1/data/price", &json!({"net": 7})).unwrap();
    error(&failed, 500, "ENGINE_ERROR");
    assert!(failed.text().contains("PLUGIN_TRAP"), "{}", failed.text());
    let replaced = client.json("PUT", &format!("{PLUGINS}/shop"), &plugin("shop", ECHO)).unwrap();
    assert_eq!(replaced.json()["data"]["version"], 2, "{}", replaced.text());
    change_status(&mut client, "shop", "active", 200);
    eventually(|| client.json("POST", "/api/v1/data/price", &json!({"net": 7})).unwrap().status == 200);
    let refused = client.send("DELETE", &format!("{PLUGINS}/shop"), &[], b"").unwrap();
    error(&refused, 409, "CONFLICT");
}

#[test]
fn backtest_calls_the_plugins_of_its_node() {
    let server = start();
    let mut client = server.client();
    activate(&mut client, "shop", ECHO, "ready");
    let config = json!({"tracing": {"record": {"share": 1}}});
    serve_with(&mut client, "price", config, task("shop.price"));
    assert_eq!(client.json("POST", "/api/v1/data/price", &json!({"net": 7})).unwrap().status, 200);
    eventually(|| client.get("/api/v1/admin/recordings").unwrap().json()["total"] == 1);
    let start = "/api/v1/admin/workflows/price/backtest";
    let started = client.json("POST", start, &json!({"version": 1})).unwrap();
    assert_eq!(started.status, 202, "{}", started.text());
    let path = format!("/api/v1/admin/backtests/{}", started.json()["data"]["id"].as_str().unwrap());
    eventually(|| client.get(&path).unwrap().json()["data"]["state"] == "completed");
    let report = client.get(&path).unwrap().json()["data"]["report"].clone();
    assert_eq!(report["kinds"]["same"], 1, "{report}");
}

#[test]
fn component_that_does_not_compile_quarantines_nothing_else() {
    let server = start();
    let mut client = server.client();
    let mut bad = plugin("bad", ECHO);
    bad["component"] = STANDARD.encode(wat::parse_str("(component)").unwrap()).into();
    assert_eq!(client.json("POST", PLUGINS, &bad).unwrap().status, 201);
    change_status(&mut client, "bad", "active", 200);
    eventually(|| client.get(&format!("{PLUGINS}/bad")).unwrap().json()["data"][0]["load"] == "failed");
    activate(&mut client, "shop", ECHO, "ready");
    serve(&mut client, "price", task("shop.price"));
    assert_eq!(client.json("POST", "/api/v1/data/price", &json!({"net": 7})).unwrap().status, 200);
    let health = client.get("/health").unwrap().json();
    assert_eq!(health["components"]["plugins"], "degraded");
    assert_eq!(health["plugins"]["ready"], json!(["shop"]));
    let failed = &health["plugins"]["failed"][0];
    assert_eq!(failed["plugin_id"], "bad");
    assert!(failed["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{health}");
}

#[test]
fn exported_plugins_are_imported_as_drafts() {
    let (source, target) = (start(), start());
    let (mut source, mut target) = (source.client(), target.client());
    activate(&mut source, "shop", ECHO, "ready");
    let exported = source.get(&format!("{PLUGINS}/export?id=shop")).unwrap().json();
    assert_eq!(exported["data"][0]["component"], component(ECHO));
    assert_eq!(source.get(&format!("{PLUGINS}/export?id=none")).unwrap().json()["data"], json!([]));
    let mut import = |query: &str| {
        let answer = target.json("POST", &format!("{PLUGINS}/import?{query}"), &exported).unwrap();
        answer.json()["data"].clone()
    };
    assert_eq!(import("dry_run=true")["results"][0]["action"], "created");
    assert_eq!(
        import("on_conflict=fail")["results"][0],
        json!({"index": 0, "id": "shop", "action": "created"})
    );
    assert_eq!(import("on_conflict=new_version")["unchanged"], 1);
    let refused = import("on_conflict=fail");
    assert!(refused["errors"][0]["error"].as_str().unwrap().contains("exists already"), "{refused}");
    let stored = target.get(&format!("{PLUGINS}/shop")).unwrap().json();
    assert_eq!(stored["data"][0]["status"], "draft", "{stored}");
}

#[test]
fn upload_may_exceed_other_requests_by_a_component() {
    let server = start();
    let mut client = server.client();
    let mut large = plugin("large", ECHO);
    // The magic number of components, and more than an admin request may have.
    let bytes = [b"\0asm\x0d\0\x01\0".as_slice(), &vec![0; 9 << 20]].concat();
    large["component"] = STANDARD.encode(bytes).into();
    assert_eq!(client.json("POST", PLUGINS, &large).unwrap().status, 201);
    let refused = client.json("POST", "/api/v1/admin/workflows", &large).unwrap();
    error(&refused, 413, "PAYLOAD_TOO_LARGE");
}

#[test]
fn bad_uploads_are_refused_with_place() {
    let server = start();
    let mut client = server.client();
    let module = STANDARD.encode(b"\0asm\x01\0\0\0");
    for (member, value, place) in [
        ("component", json!(module), "body.component"),
        ("component", json!("?"), "body.component"),
        ("manifest", json!({"abi": "svc:plugin@1.0.0"}), "body.manifest.name"),
        ("manifset", json!({}), "body.manifset"),
    ] {
        let mut body = plugin("shop", ECHO);
        body[member] = value;
        let refused = client.json("POST", PLUGINS, &body).unwrap();
        error(&refused, 400, "VALIDATION_ERROR");
        assert!(refused.text().contains(place), "{}", refused.text());
    }
}

/// Writes a built plugin of an author: its function answers with its input.
pub(crate) fn write_plugin(folder: &Path) {
    const MANIFEST: &str = r#"
        abi = "svc:plugin@1.0.0"
        name = "shop"
        version = "1.0.0"
        component = "plugin.wasm"
        functions = [{ name = "price", description = "Prices a basket", input_fields = [
            { name = "net", kind = "number", required = true },
        ] }]
    "#;
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("plugin.toml"), MANIFEST).unwrap();
    fs::write(folder.join("plugin.wasm"), STANDARD.decode(component(ECHO)).unwrap()).unwrap();
}

#[test]
fn commands_of_authors_check_and_call_plugins() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name).display().to_string();
    write_plugin(&root.path().join("plugins/shop"));
    let write_workflow = |input: Value| {
        let task = json!({"id": "t", "name": "t", "function": {"name": "shop.price", "input": input}});
        fs::write(path("w.json"), json!({"workflow_id": "w", "name": "w", "tasks": [task]}).to_string())
            .unwrap();
    };
    let run = |args: &[&str]| launch().args(args).run_to_end().unwrap();
    write_workflow(json!({"net": {"+": [{"var": "payload.net"}, 1]}, "output": "data.price"}));
    fs::write(path("input.json"), r#"{"net": 7}"#).unwrap();
    assert!(run(&["lint", &path("")]).status.success());
    let (workflow, input, plugins) = (path("w.json"), path("input.json"), path("plugins"));
    let ran = run(&["dry-run", "-w", &workflow, "-i", &input, "--plugin-dir", &plugins]);
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((ran.status.success(), &document["data"]["price"]), (true, &json!({"net": 8})), "{ran:?}");
    let unknown = run(&["dry-run", "-w", &workflow, "-i", &input]);
    assert!(!unknown.status.success(), "the function is unknown without the plugin");
    write_workflow(json!({"nett": 1}));
    let refused = run(&["lint", &path("")]);
    let findings = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && findings.contains("nett"), "{findings}");
}
