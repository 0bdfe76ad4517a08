//! `preflight`: what is stored, against the program that is to serve it.

use serde_json::{Value, json};

use super::{Database, on_both, stderr, stdout};
use crate::support::echo;

on_both!(
    definitions_the_server_stored_pass,
    each_stored_problem_has_row_and_remedy,
    only_the_latest_version_counts,
    key_that_became_an_operator_is_found,
    unknown_consumer_is_a_warning,
    database_without_tables_holds_nothing,
);

/// Stores a workflow as an older program could have.
fn plant_workflow(database: &Database, id: &str, version: i64, tasks: &Value) {
    let status = if version == 1 { "archived" } else { "draft" };
    let content = json!({"name": id, "tasks": tasks});
    database.execute(&format!(
        "INSERT INTO definitions (kind, id, version, name, status, content)
         VALUES ('workflow', '{id}', {version}, '{id}', '{status}', '{content}')"
    ));
}

/// Stores a channel as an older program could have.
fn plant_channel(database: &Database, id: &str, name: &str, config: &str) {
    let content = format!(
        r#"{{"name": "{name}", "channel_type": "sync", "protocol": "rest", "methods": ["POST"],
            "route_pattern": "/{id}", "config": {config}}}"#
    );
    database.execute(&format!(
        "INSERT INTO definitions (kind, id, version, name, type, protocol, status, content)
         VALUES ('channel', '{id}', 1, '{name}', 'sync', 'rest', 'draft', '{content}')"
    ));
}

fn task(id: &str, name: &str, function: &str, input: Value) -> Value {
    json!({"id": id, "name": name, "function": {"name": function, "input": input}})
}

fn set() -> Value {
    json!({"mappings": [{"path": "data.a", "logic": 1}]})
}

fn query() -> Value {
    json!({"connector": "strict", "query": {"source": "orders"}, "output": "data.rows"})
}

fn definitions_the_server_stored_pass(database: &Database) {
    let server = database.start();
    let mut client = server.client();
    echo(&mut client, "orders", json!({"timeout_ms": 1000}));
    let cron = json!({"channel_id": "n", "name": "n", "channel_type": "async", "protocol": "cron", "workflow_id": "orders",
        "transport_config": {"schedule": "0 0 3 * * ?"}});
    assert_eq!(client.json("POST", "/api/v1/admin/channels", &cron).unwrap().status, 201);
    // The server goes on: the scan takes no lock and leaves nothing behind.
    let output = database.run(&["preflight"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "1 workflow(s), 2 channel(s) — 0 finding(s)\n");
    echo(&mut client, "later", json!({}));
}

fn each_stored_problem_has_row_and_remedy(database: &Database) {
    let server = database.start();
    let connector = json!({"name": "strict", "connector_type": "db",
        "config": {"connection_string": "postgres://db.example/orders", "dialect": {"require_schema": true}}});
    let answer = server.client().json("POST", "/api/v1/admin/connectors", &connector).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    drop(server);
    let tasks = |task: Value| json!([task]);
    let mut misspelt = task("a", "A", "map", set());
    misspelt["conditon"] = json!(false);
    plant_workflow(database, "misspelt", 2, &tasks(misspelt));
    plant_workflow(database, "gone", 2, &tasks(task("a", "A", "enrich", json!({}))));
    plant_workflow(database, "lost-secret", 2, &tasks(task("a", "env://NAME", "map", set())));
    plant_workflow(database, "sound", 2, &tasks(task("a", "A", "map", set())));
    let group = json!({"id": "g", "tasks": [task("a", "A", "data_query", query())]});
    plant_workflow(database, "no-schema", 2, &tasks(group));
    let mut declared = query();
    declared["schema"] = json!({"entities": {"orders": {"physical": "orders", "columns": {"id": {}}}}});
    plant_workflow(database, "with-schema", 2, &tasks(task("a", "A", "data_query", declared)));
    plant_channel(database, "unknown-key", "unknown-key", r#"{"rate_limits": {}}"#);
    plant_channel(database, "no-json", "no-json", "{");
    plant_channel(database, "one", "twice", "{}");
    plant_channel(database, "other", "twice", "{}");
    let keys = r#"{"auth": {"mode": "api_key", "keys": ["env://PREFLIGHT_KEY"]}}"#;
    plant_channel(database, "unset", "unset", keys);
    let output = database.run(&["preflight"]);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let has = |row: &str, entity: &str, word: &str| {
        let start = format!("error: [{row}] {entity}");
        text.lines().any(|line| line.starts_with(&start) && line.contains(word))
    };
    for (row, entity, word) in [
        ("workflow-tasks", "workflow 'misspelt' version 2: ", "conditon"),
        ("workflow-tasks", "workflow 'gone' version 2: ", "enrich"),
        ("secret-references", "workflow 'lost-secret' version 2: ", "tasks[0].name"),
        ("14", "workflow 'no-schema' version 2: ", "tasks[0].tasks[0].function.input.schema"),
        ("3", "channel 'unknown-key' version 1: ", "rate_limits"),
        ("3", "channel 'no-json' version 1: ", "no JSON"),
        ("channel-names", "channel 'twice': ", "one, other"),
        ("secret-references", "channel 'unset' version 1: ", "PREFLIGHT_KEY"),
    ] {
        assert!(has(row, entity, word), "[{row}] {entity} {word} in {text}");
    }
    assert!(!text.contains("[14] workflow 'with-schema'") && !text.contains("'sound'"), "{text}");
    let findings = text.lines().filter(|line| line.starts_with("error: [")).count();
    assert_eq!(text.lines().filter(|line| line.starts_with("        fix: ")).count(), findings, "{text}");
    let summary = format!("6 workflow(s), 5 channel(s) — {findings} finding(s)\n");
    assert_eq!(stdout(&output), summary, "{text}");
    let text = stderr(&database.run_with(&["preflight"], ("PREFLIGHT_KEY", "k")));
    assert!(!text.contains("PREFLIGHT_KEY"), "{text}");
}

fn only_the_latest_version_counts(database: &Database) {
    assert!(database.run(&["migrate"]).status.success());
    plant_workflow(database, "w", 1, &json!([{"id": "a"}]));
    plant_workflow(database, "w", 2, &json!([task("a", "A", "map", set())]));
    let output = database.run(&["preflight"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "1 workflow(s), 0 channel(s) — 0 finding(s)\n");
}

fn key_that_became_an_operator_is_found(database: &Database) {
    assert!(database.run(&["migrate"]).status.success());
    let mapping = |logic: Value| {
        json!([task("a", "A", "map", json!({"mappings": [{"path": "data.a", "logic": logic}]}))])
    };
    plant_workflow(database, "total", 2, &mapping(json!({"lines": [{"sum": {"var": "data.x"}}], "n": 1})));
    plant_workflow(database, "template", 2, &mapping(json!({"sum": {"var": "data.x"}, "n": 1})));
    let output = database.run(&["preflight"]);
    assert_eq!(output.status.code(), Some(0), "stored by this version: {}", stderr(&output));
    database.execute("UPDATE __diesel_schema_migrations SET run_on = '2999-01-01 00:00:00'");
    let output = database.run(&["preflight"]);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    let place = "tasks[0].function.input.mappings[0].logic.lines[0].sum: 'sum' is an operator";
    assert!(text.contains(&format!("error: [operators] workflow 'total' version 2: {place}")), "{text}");
    assert!(!text.contains("'template'"), "{text}");
}

fn unknown_consumer_is_a_warning(database: &Database) {
    assert!(database.run(&["migrate"]).status.success());
    let config = r#"{"auth": {"mode": "api_key", "consumers": {"names": ["acme"]}}}"#;
    plant_channel(database, "c", "c", config);
    let output = database.run(&["preflight"]);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let expected = "warning: [unknown-consumers] channel 'c' version 1: ";
    assert!(text.lines().any(|line| line.starts_with(expected) && line.ends_with("acme")), "{text}");
    database.execute("INSERT INTO consumers (name) VALUES ('acme')");
    assert_eq!(stdout(&database.run(&["preflight"])), "0 workflow(s), 1 channel(s) — 0 finding(s)\n");
}

fn database_without_tables_holds_nothing(database: &Database) {
    let output = database.run(&["preflight"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "0 workflow(s), 0 channel(s) — 0 finding(s)\n");
    assert_eq!(database.files(), 0, "no file is made");
    let output = database.run(&["migrate", "--dry-run"]);
    let text = stdout(&output);
    assert!(text.contains(" 001 — schema\n"), "nothing was migrated: {text}{}", stderr(&output));
}

#[test]
fn refused_configuration_exits_with_78() {
    let output = Database::sqlite().run_with(&["preflight"], ("SVC_STORAGE__URL", "mysql://db/svc"));
    assert_eq!(output.status.code(), Some(78), "{}", stderr(&output));
}
