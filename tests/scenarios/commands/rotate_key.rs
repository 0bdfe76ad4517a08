//! `rotate-key`: a change of the encryption key from its first step to its last. `size`.

use std::process::Output;

use serde_json::{Value, json};
use svc_testkit::server::ServerCommand;

use super::{Database, on_both, stderr, stdout};
use crate::support::launch;

on_both!(encryption_key_is_changed_step_by_step);

/// The binary on a database, with a key that writes and one that only reads.
fn command(database: &Database, current: &str, reading: &str) -> ServerCommand {
    let launch =
        launch().env("SVC_STORAGE__URL", &database.url).env("SVC_STORAGE__CONNECTOR_ENCRYPTION_KEY", current);
    match reading {
        "" => launch,
        key => launch.env("SVC_STORAGE__PREVIOUS_CONNECTOR_ENCRYPTION_KEYS", key),
    }
}

/// Returns the code and the line of the next step.
fn next(output: &Output) -> (Option<i32>, String) {
    let text = stdout(output);
    let line = text.lines().find(|line| line.starts_with("next: "));
    (output.status.code(), line.unwrap_or_else(|| panic!("{text}{}", stderr(output))).to_owned())
}

fn encryption_key_is_changed_step_by_step(database: &Database) {
    let made = launch().args(&["rotate-key", "--new"]).run_to_end().unwrap();
    let (former, new) = ("a1".repeat(32), stdout(&made).trim().to_owned());
    assert_eq!((made.status.code(), new.len()), (Some(0), 64), "{}", stderr(&made));
    let run = |current: &str, reading: &str, args: &[&str]| {
        command(database, current, reading).args(args).run_to_end().unwrap()
    };
    let mut server = command(database, &former, &new).start().unwrap();
    let connector = json!({"name": "bank", "connector_type": "http",
        "config": {"url": "https://a.example", "auth": {"type": "bearer", "token": "swordfish"}}});
    let answer = server.client().json("POST", "/api/v1/admin/connectors", &connector).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    // The next key is known for reading: it is swapped.
    let (code, line) = next(&run(&former, &new, &["rotate-key"]));
    assert!(code == Some(0) && line.contains("If it is the next key"), "{line}");
    server.signal("TERM").unwrap();
    server.wait(std::time::Duration::from_secs(30)).unwrap();
    let (code, line) = next(&run(&new, &former, &["rotate-key"]));
    assert!(code == Some(0) && line.contains("--apply"), "{line}");
    let applied = run(&new, &former, &["rotate-key", "--apply"]);
    assert_eq!(applied.status.code(), Some(0), "{}", stderr(&applied));
    assert!(stderr(&applied).contains("connectors rewritten: 1"), "{}", stderr(&applied));
    let (code, line) = next(&run(&new, &former, &["rotate-key"]));
    assert!(code == Some(0) && line.contains("If it is the former key: remove it"), "{line}");
    let (code, line) = next(&run(&new, "", &["rotate-key"]));
    assert!(code == Some(0) && line.starts_with("next: nothing"), "{line}");
    // A key that is still needed is missed.
    let (code, line) = next(&run(&former, "", &["rotate-key"]));
    assert!(code == Some(1) && line.contains("is lost"), "{line}");
    let refused = run(&new, "", &["rotate-key", "--apply"]);
    assert_eq!(refused.status.code(), Some(1), "{}", stdout(&refused));
}

#[test]
fn size_is_estimated_for_a_load() {
    let output = launch()
        .env("SVC_STORAGE__URL", "postgres://db.example/svc")
        .args(&["size", "--requests", "1000", "--jobs", "100", "--json"])
        .run_to_end()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let estimate: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&estimate["nodes"], &estimate["database"]), (&json!(2), &json!("PostgreSQL")), "{estimate}");
    assert_eq!(estimate["connections"], 110, "{estimate}");
    let output = launch().args(&["size", "--requests", "1000"]).run_to_end().unwrap();
    assert!(stdout(&output).starts_with("nodes: 1 of 2 cores, on SQLite\n"), "{}", stdout(&output));
    assert!(stderr(&output).contains("an estimate"), "{}", stderr(&output));
}
