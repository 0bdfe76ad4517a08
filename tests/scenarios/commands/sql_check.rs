//! `sql check`: statements of a project against a live database.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Database, on_both, stderr, stdout};

on_both!(good_statements_pass_and_bad_ones_are_named, unresolved_connector_fails_with_its_remedy);

/// A project with a statement in a file and one in its workflow.
fn project(directory: &TempDir, config: &Value, query: &str, params: &Value) -> PathBuf {
    let root = directory.path().join("project");
    fs::create_dir_all(root.join("sql")).unwrap();
    fs::write(root.join("sql/all.sql"), "-- all of them\nSELECT name\n  FROM shelf;\n").unwrap();
    let task = |id: &str, function: &str, query: Value, params: &Value| {
        let input = json!({"connector": "shop", "query": query, "params": params, "output": "data.r"});
        json!({"id": id, "name": id, "function": {"name": function, "input": input}})
    };
    let inner = task("change", "db_write", json!(query), params);
    let tasks = json!([task("all", "db_read", json!({"$sql": "sql/all.sql"}), &json!([])), {"id": "g", "tasks": [inner]}]);
    let workflow = json!({"workflow_id": "w", "name": "W", "tasks": tasks});
    fs::write(root.join("w.json"), format!("{workflow:#}\n")).unwrap();
    let connector = json!({"name": "shop", "connector_type": "db", "config": config});
    fs::write(root.join("shop.json"), format!("{connector:#}\n")).unwrap();
    root
}

fn good_statements_pass_and_bad_ones_are_named(database: &Database) {
    database.execute("CREATE TABLE shelf (id INTEGER PRIMARY KEY, name TEXT)");
    let directory = TempDir::new().unwrap();
    let (first, second) = if database.postgres.is_some() { ("$1", "$2") } else { ("?", "?") };
    let good = format!("UPDATE shelf SET name = {first} WHERE id = {second}");
    let config = json!({"connection_string": "env://SHOP_DB", "allow_private_urls": "var://is_local"});
    let root = project(&directory, &config, &good, &json!([{"var": "data.name"}, 1]));
    fs::create_dir_all(root.join("values")).unwrap();
    fs::write(root.join("values/test.yaml"), "vars:\n  is_local: true\n").unwrap();
    let root = root.to_str().unwrap().to_owned();
    let check = |query: &str, params: &Value| {
        project(&directory, &config, query, params);
        let args = ["sql", "check", root.as_str(), "--values", "test"];
        database.run_with(&args, ("SHOP_DB", &database.url))
    };
    let output = check(&good, &json!([{"var": "data.name"}, 1]));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "2 statement(s) of 1 connector(s) — 0 error(s), 0 warning(s)\n");
    let output = check("DELETE FROM shlef", &json!([]));
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(text.contains("w.json:") && text.contains("tasks[1].tasks[0].function.input.query: "), "{text}");
    assert!(text.contains("shlef") && !text.contains(&database.url), "{text}");
    let output = check(&good, &json!([1]));
    let counted = stderr(&output).contains("2 placeholder(s), and params has 1 value(s)");
    assert!(counted, "{}", stderr(&output));
    let output = check(&good, &json!({"var": "data.values"}));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = database.run(&["sql", "check", &root, "--connector", &format!("shop={}", database.url)]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    if let Some(database) = &database.postgres {
        assert!(database.rows("SELECT id FROM shelf").unwrap().is_empty(), "nothing was run");
    }
}

fn unresolved_connector_fails_with_its_remedy(database: &Database) {
    let directory = TempDir::new().unwrap();
    let config = json!({"connection_string": "env://NO_SUCH_VARIABLE"});
    let root = project(&directory, &config, "DELETE FROM shelf", &json!([]));
    let root = root.to_str().unwrap();
    let output = database.run(&["sql", "check", root]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(text.contains("NO_SUCH_VARIABLE") && text.contains("--connector shop=URL"), "{text}");
    let output = database.run(&["sql", "check", root, "--skip-connector", "shop"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("2 statement(s) left out"), "{}", stderr(&output));
    for option in [["--connector", "shpo=postgres://u:swordfish@db/app"], ["--skip-connector", "shpo"]] {
        let output = database.run(&["sql", "check", root, option[0], option[1]]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("'shpo', did you mean 'shop'?") && !text.contains("swordfish"), "{text}");
    }
}
