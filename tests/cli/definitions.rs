//! Workflows, channels and connectors: every command of their lives.

use serde_json::{Value, json};

use crate::support::{CliClient, channel, echo_workflow, failing_workflow, launch, serve_echo, start};

#[test]
fn workflow_lives_from_creation_to_deletion() {
    let server = start();
    let cli = CliClient::with_server(&server);
    let document = echo_workflow("w").to_string();

    assert_eq!(
        cli.ok(&["workflows", "create", "-d", &document]),
        "Created workflow 'w', version 1 (draft).\n"
    );
    assert_eq!(cli.ok(&["workflows", "create", "-d", &document, "--id", "w2", "-q"]), "w2\n");
    assert!(cli.fails(&["workflows", "create", "-d", &document], 1).contains("Error: [CONFLICT]"));
    assert_eq!(cli.ok(&["workflows", "activate", "w", "--dry-run"]), "valid\n");
    assert_eq!(cli.ok(&["rules", "activate", "w"]), "Activated workflow 'w', version 1 (active).\n");
    assert_eq!(cli.run(&["workflows", "activate", "w", "--dry-run"]).code, 1, "there is no draft any more");
    assert_eq!(cli.json(&["workflows", "get", "w"])["data"]["status"], "active");

    assert_eq!(cli.ok(&["workflows", "new-version", "w", "--from-version", "1", "-q"]), "w\n");
    let changed = json!({"name": "Renamed"}).to_string();
    assert!(cli.ok(&["workflows", "update", "w", "-d", &changed]).contains("version 2 (draft)"));
    cli.ok(&["workflows", "activate", "w", "-p", "25"]);
    let shares = "Workflow 'w': version 2 serves 50 %, version 1 serves 50 %.\n";
    assert_eq!(cli.ok(&["workflows", "rollout", "w", "-p", "50"]), shares);
    assert_eq!(cli.ok(&["rollout", "watch", "w", "-q"]), "-\n", "no rollout moves by itself");
    assert!(cli.ok(&["workflows", "versions", "w"]).contains("ROLLOUT"));
    assert_eq!(cli.ok(&["workflows", "versions", "w", "-q"]), "2\n1\n");
    assert_eq!(cli.json(&["workflows", "dependencies", "w"])["data"]["workflow_id"], "w");
    assert_eq!(cli.json(&["workflows", "impact", "w"])["data"]["workflows"][0]["how"], "itself");
    assert_eq!(cli.ok(&["workflows", "list", "--status", "active", "-q"]), "w\n");

    let trial = cli.json(&["workflows", "test", "w", "-d", r#"{"a": 1}"#, "--metadata", r#"{"k": "v"}"#]);
    assert_eq!(trial["data"]["output"]["input"], json!({"a": 1}), "{trial}");
    assert_eq!(cli.ok(&["workflows", "test", "w", "--trace", "-q"]), "take\n");

    cli.ok(&["workflows", "rollout", "w", "--rollout", "100"]);
    assert!(cli.ok(&["workflows", "rollback", "w", "--yes"]).contains("version 3 (active)"));
    assert!(cli.ok(&["workflows", "archive", "w", "--defer-reload"]).starts_with("Archived"));
    assert_eq!(cli.ok(&["workflows", "delete", "w", "--yes"]), "Deleted workflow 'w'.\n");
    assert!(cli.fails(&["workflows", "get", "w"], 1).contains("Error: [NOT_FOUND]"));
}

#[test]
fn changes_show_what_the_server_warns_of() {
    let server = start();
    let cli = CliClient::with_server(&server);
    serve_echo(&cli, "a");
    let mut document = channel("orders", "a");
    document["config"] = json!({"timeout_ms": 3, "on_failure": "nobody"});
    let told = "warning: channel.config.on_failure: no active channel is named 'nobody'";
    let created = cli.run(&["channels", "create", "-d", &document.to_string()]);
    assert_eq!((created.code, created.out.as_str()), (0, "Created channel 'orders', version 1 (draft).\n"));
    assert!(created.err.contains(told) && created.err.contains("3 milliseconds"), "{created:?}");
    let activated = cli.run(&["channels", "activate", "orders", "-q"]);
    assert!(activated.out == "orders\n" && activated.err.contains(told), "{activated:?}");
    let connector = json!({"name": "partner", "connector_type": "http",
        "config": {"url": "https://partner.example", "auth": {"type": "bearer", "token": "env://NOT_SET"}}});
    let created = cli.run(&["connectors", "create", "-d", &connector.to_string()]);
    assert!(
        created.code == 0 && created.err.contains("connector 'partner' is stored and not in use: "),
        "{created:?}"
    );
    let reloaded = cli.run(&["engine", "reload"]);
    for part in ["connector 'partner' is not loaded: ", "channel 'orders': channel.config.on_failure: "] {
        assert!(reloaded.err.contains(part), "{part}: {reloaded:?}");
    }
}

#[test]
fn deletion_asks_and_only_yes_deletes() {
    let server = start();
    let cli = CliClient::with_server(&server);
    cli.ok(&["workflows", "create", "-d", &echo_workflow("w").to_string()]);
    for answer in ["n\n", "", "\n", "no\n"] {
        let run = cli.run_with(&["workflows", "delete", "w"], answer);
        assert_eq!((run.code, run.out.as_str()), (1, ""), "{answer:?}: {run:?}");
        assert!(
            run.err.contains("Delete workflow 'w'") && run.err.contains("nothing was changed"),
            "{run:?}"
        );
        cli.ok(&["workflows", "get", "w"]);
    }
    assert_eq!(cli.run_with(&["workflows", "delete", "w"], "y\n").code, 0);
    cli.fails(&["workflows", "get", "w"], 1);
}

#[test]
fn deletion_of_what_is_used_needs_force() {
    let server = start();
    let cli = CliClient::with_server(&server);
    serve_echo(&cli, "a");
    assert!(cli.fails(&["workflows", "delete", "a", "-y"], 1).contains("[CONFLICT]"));
    cli.ok(&["workflows", "delete", "a", "-y", "--force"]);
}

#[test]
fn every_id_is_done_though_nobody_reads() {
    let server = start();
    let cli = CliClient::with_server(&server);
    for id in ["a", "b", "c"] {
        cli.ok(&["workflows", "create", "-d", &echo_workflow(id).to_string()]);
    }
    assert_eq!(cli.run_unread(&["workflows", "activate", "a", "b", "c"], ""), 0);
    assert_eq!(cli.ok(&["workflows", "list", "--status", "active", "-q"]).lines().count(), 3);
    assert_eq!(cli.run_unread(&["workflows", "delete", "a", "absent", "b", "c", "--yes"], ""), 1);
    assert_eq!(cli.ok(&["workflows", "list", "-q"]), "");
}

#[test]
fn several_ids_are_done_and_each_failure_told() {
    let server = start();
    let cli = CliClient::with_server(&server);
    for id in ["a", "b"] {
        cli.ok(&["workflows", "create", "-d", &echo_workflow(id).to_string()]);
        cli.ok(&["channels", "create", "-d", &channel(id, id).to_string()]);
    }
    cli.ok(&["workflows", "activate", "a"]);
    let run = cli.run(&["channels", "activate", "a", "b", "absent"]);
    assert_eq!((run.code, run.out.as_str()), (1, "Activated channel 'a', version 1 (active).\n"), "{run:?}");
    for part in ["b: [VALIDATION_ERROR]", "  workflow_id", "absent: [NOT_FOUND]", "2 of 3 failed"] {
        assert!(run.err.contains(part), "{part}: {run:?}");
    }
    let run = cli.run(&["workflows", "delete", "a", "b", "--yes"]);
    assert_eq!((run.code, run.out.as_str()), (1, "Deleted workflow 'b'.\n"), "{run:?}");
    assert!(run.err.contains("a: [CONFLICT]") && run.err.contains("hint: --force"), "{run:?}");
    assert_eq!(cli.ok(&["channels", "archive", "a", "-q"]), "a\n");
    let run = cli.run_with(&["channels", "delete", "a", "b"], "n\n");
    assert!(run.code == 1 && run.err.contains("Delete channels 'a', 'b' with all versions"), "{run:?}");
    let deleted = cli.ok(&["channels", "delete", "a", "b", "--yes"]);
    assert_eq!(deleted, "Deleted channel 'a'.\nDeleted channel 'b'.\n");
    for (id, name) in [("c1", "crm"), ("c2", "erp")] {
        let connector =
            json!({"id": id, "name": name, "connector_type": "http", "config": {"url": "https://a.example"}});
        cli.ok(&["connectors", "create", "-d", &connector.to_string()]);
    }
    assert_eq!(cli.ok(&["connectors", "delete", "crm", "c2", "--yes", "-q"]), "c1\nc2\n");
}

#[test]
fn documents_come_from_file_argument_and_standard_input() {
    let server = start();
    let cli = CliClient::with_server(&server);
    let file = cli.file("w.json", &echo_workflow("from-file"));
    cli.ok(&["workflows", "create", "-f", &file]);
    for (id, args) in [("from-stdin", ["--stdin", "-q"]), ("from-dash", ["-f", "-"])] {
        let run =
            cli.run_with(&[&["workflows", "create"][..], &args].concat(), &echo_workflow(id).to_string());
        assert_eq!(run.code, 0, "{run:?}");
    }
    assert_eq!(cli.json(&["workflows", "list"])["total"], 3);
    assert!(
        cli.fails(&["workflows", "create", "-d", "{\"a\":\n x}"], 1)
            .contains("--data: it is not JSON: expected value at line 2")
    );
    assert!(cli.fails(&["workflows", "create", "-f", "absent.json"], 1).contains("absent.json"));
    assert!(cli.fails(&["workflows", "create", "-d", "[]"], 1).contains("'import' takes several"));
    cli.fails(&["workflows", "create", "-d", "{}", "--stdin"], 2);
    cli.fails(&["workflows", "create"], 2);
}

#[test]
fn validation_exits_with_1_when_it_is_invalid() {
    let server = start();
    let cli = CliClient::with_server(&server);
    assert_eq!(cli.ok(&["workflows", "validate", "-d", &echo_workflow("w").to_string()]), "valid\n");
    let run = cli.run(&["workflows", "validate", "-d", r#"{"name": "w", "tasks": []}"#]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.starts_with("invalid\n") && run.out.contains("tasks"), "{run:?}");
    let run = cli.run(&["channels", "validate", "-d", r#"{"name": "c"}"#, "-o", "json"]);
    assert_eq!(run.code, 1, "{run:?}");
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(report["data"]["valid"], false);
}

#[test]
fn export_is_an_array_that_imports_unchanged() {
    let server = start();
    let cli = CliClient::with_server(&server);
    serve_echo(&cli, "a");
    let exported = cli.ok(&["workflows", "export"]);
    let items: Value = serde_json::from_str(&exported).unwrap();
    assert_eq!(items[0]["workflow_id"], "a");
    assert_eq!(cli.json(&["workflows", "export"]), items);
    assert_eq!(cli.ok(&["channels", "export", "--protocol", "rest", "-q"]), "a\n");

    let again = cli.run_with(&["workflows", "import", "--stdin", "--on-conflict", "new_version"], &exported);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(again.out.ends_with("0 workflows imported, 1 unchanged, 0 skipped, 0 failed\n"), "{again:?}");
}

#[test]
fn import_in_batches_exits_1_on_failed_item() {
    let server = start();
    let cli = CliClient::with_server(&server);
    let many: Vec<Value> = (0..1_101).map(|number| echo_workflow(&format!("w{number:04}"))).collect();
    let file = cli.file("many.json", &many.into());
    let report = cli.json(&["workflows", "import", "-f", &file, "--dry-run"]);
    assert_eq!((&report["data"]["imported"], &report["data"]["dry_run"]), (&json!(1101), &json!(true)));
    assert_eq!(cli.json(&["workflows", "list"])["total"], 0);
    let report = cli.json(&["workflows", "import", "-f", &file]);
    assert_eq!(report["data"]["results"][1100]["index"], 1100, "{}", report["data"]["failed"]);

    let file = cli.file("bad.json", &json!([echo_workflow("good"), {"name": "bad", "tasks": []}]));
    let run = cli.run(&["workflows", "import", "-f", &file]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.contains("1 workflows imported") && run.out.contains("1 failed"), "{run:?}");
    let run = cli.run(&["workflows", "import", "-f", &file, "-o", "json", "--on-conflict", "skip"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert_eq!(serde_json::from_str::<Value>(&run.out).unwrap()["data"]["failed"], 1);
}

#[test]
fn diff_of_differing_packages_exits_1() {
    let server = start();
    let cli = CliClient::with_server(&server);
    cli.ok(&["workflows", "create", "-d", &echo_workflow("w").to_string()]);
    let same = cli.file("same.json", &json!([echo_workflow("w")]));
    assert!(cli.ok(&["workflows", "diff", "-f", &same]).contains("unchanged"));
    let mut other = echo_workflow("w");
    other["priority"] = 7.into();
    let changed = cli.file("changed.json", &json!([other, echo_workflow("absent")]));
    let run = cli.run(&["workflows", "diff", "-f", &changed, "-o", "json"]);
    assert_eq!(run.code, 1, "{run:?}");
    let report: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(report["data"][0], json!({"id": "w", "state": "changed", "fields": ["priority"]}));
    assert_eq!(report["data"][1]["state"], "missing");
}

#[test]
fn channel_has_workflow_commands_and_a_trigger() {
    let server = start();
    let cli = CliClient::with_server(&server);
    serve_echo(&cli, "a");
    assert_eq!(cli.ok(&["ch", "list", "--channel-type", "sync", "-q"]), "a\n");
    assert_eq!(cli.ok(&["ch", "list", "--protocol", "kafka", "-q"]), "");
    cli.ok(&["channels", "new-version", "a"]);
    cli.ok(&["channels", "update", "a", "-d", r#"{"priority": 3}"#]);
    assert_eq!(cli.ok(&["channels", "activate", "a", "--defer-reload", "-q"]), "a\n");
    assert!(cli.fails(&["channels", "trigger", "a"], 1).contains("[VALIDATION_ERROR]"));
    let cron = json!({"channel_id": "nightly", "name": "nightly", "channel_type": "async", "protocol": "cron",
        "workflow_id": "a", "transport_config": {"schedule": "0 0 3 * * *"}});
    cli.ok(&["channels", "create", "-d", &cron.to_string()]);
    cli.ok(&["channels", "activate", "nightly"]);
    assert!(
        cli.ok(&["channels", "trigger", "nightly"]).starts_with("Triggered channel 'nightly': occurrence ")
    );
    cli.ok(&["channels", "archive", "a"]);
    cli.ok(&["channels", "delete", "a", "--yes"]);
}

#[test]
fn channels_pause_and_resume_by_id_and_tag() {
    let server = start();
    let cli = CliClient::with_server(&server);
    for channel in ["a", "b"] {
        serve_echo(&cli, channel);
    }
    assert_eq!(cli.ok(&["channels", "pause", "a", "b", "--reason", "down", "-q"]), "a\nb\n");
    let health = cli.ok(&["health"]);
    assert!(health.contains("paused a: down"), "{health}");
    let listed = cli.ok(&["channels", "list"]);
    assert_eq!(listed.matches("active, paused").count(), 2, "{listed}");
    assert_eq!(cli.json(&["channels", "list"])["data"][0]["status"], "active");
    let paused = cli.ok(&["channels", "pause", "a", "--reason", "still down", "--until", "2h"]);
    assert_eq!(paused, "Paused channel 'a'.\n");
    let refusal =
        cli.fails(&["channels", "pause", "a", "--reason", "x", "--until", "2020-01-01T00:00:00Z"], 1);
    assert!(refusal.contains("[VALIDATION_ERROR]"), "{refusal}");
    assert!(cli.fails(&["channels", "pause", "nothing", "--reason", "x"], 1).contains("[NOT_FOUND]"));
    cli.fails(&["channels", "pause", "--reason", "x"], 2);
    cli.fails(&["channels", "pause", "a"], 2);
    cli.fails(&["channels", "pause", "a", "--tag", "t", "--reason", "x"], 2);
    assert_eq!(cli.ok(&["channels", "resume", "a", "b"]), "Resumed channel 'a'.\nResumed channel 'b'.\n");
    assert!(!cli.ok(&["channels", "list"]).contains("paused"));
    assert_eq!(cli.ok(&["channels", "resume", "--tag", "none"]), "Resumed no channel: none matches.\n");
}

#[test]
fn connector_is_tested_disabled_and_its_breakers_shown() {
    let server = launch().env("SVC_ENGINE__CIRCUIT_BREAKER__ENABLED", "true").start().unwrap();
    let cli = CliClient::with_server(&server);
    let connector = json!({"id": "c1", "name": "crm", "connector_type": "http",
        "config": {"type": "http", "url": "http://127.0.0.1:9", "allow_private_urls": true}});
    assert!(cli.ok(&["conn", "create", "-d", &connector.to_string()]).starts_with("Created connector 'crm'"));
    let probe = cli.run(&["connectors", "test", "c1", "-o", "json"]);
    assert_eq!(probe.code, 1, "{probe:?}");
    assert_eq!(serde_json::from_str::<Value>(&probe.out).unwrap()["data"]["reachable"], false);
    assert_eq!(cli.ok(&["connectors", "get", "crm", "-q"]), "c1\n", "by its name");
    assert!(cli.fails(&["connectors", "get", "nobody"], 1).contains("[NOT_FOUND]"));
    assert!(cli.ok(&["connectors", "disable", "crm"]).contains("(disabled)"));
    cli.ok(&["connectors", "enable", "c1"]);
    assert!(cli.ok(&["connectors", "list"]).contains("loaded"));
    cli.ok(&["connectors", "update", "c1", "-d", r#"{"tags": ["x"]}"#]);
    assert_eq!(cli.json(&["connectors", "export", "--tag", "x"])[0]["name"], "crm");
    cli.ok(&["connectors", "validate", "-d", &connector.to_string()]);
    assert_eq!(cli.json(&["connectors", "circuit-breakers"])["data"]["enabled"], true);
    assert!(cli.fails(&["connectors", "reset-breaker", "a:crm"], 1).contains("[NOT_FOUND]"));
    cli.ok(&["connectors", "delete", "c1", "-y"]);
    cli.fails(&["workflows", "create", "-d", &failing_workflow("f").to_string(), "--nonsense"], 2);
    assert_eq!(cli.ok(&["channels", "create", "-d", &channel("c", "none").to_string(), "-q"]), "c\n");
}
