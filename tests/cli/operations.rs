//! The commands of operators: health, engine, actors, nodes, schedules, audit, metrics.

use serde_json::{Value, json};

use crate::support::{CliClient, channel, launch, serve_echo, start};

#[test]
fn health_exits_with_1_when_a_component_is_degraded() {
    let server = start();
    let cli = CliClient::with_server(&server);
    assert_eq!(cli.ok(&["health", "-q"]), "ok\n");
    assert!(cli.ok(&["health"]).contains("database"));
    let broken = json!({"id": "c", "name": "c", "connector_type": "http", "config": {"type": "http", "url": "env://ABSENT_VARIABLE"}});
    cli.run(&["connectors", "create", "-d", &broken.to_string()]);
    let run = cli.run(&["health", "-o", "json"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert_eq!(serde_json::from_str::<Value>(&run.out).unwrap()["components"]["connectors"], "degraded");
    let run = cli.run(&["health"]);
    assert!(run.code == 1 && run.out.contains("degraded"), "{run:?}");
}

#[test]
fn health_shows_notes_about_unknown_consumers() {
    let server = start();
    let cli = CliClient::with_server(&server);
    serve_echo(&cli, "a");
    let mut guarded = channel("b", "a");
    guarded["config"] = json!({"auth": {"mode": "api_key", "consumers": {"names": ["ghost"]}}});
    cli.ok(&["channels", "create", "-d", &guarded.to_string()]);
    cli.ok(&["channels", "activate", "b"]);
    let health = cli.ok(&["health"]);
    assert!(health.lines().any(|line| line.starts_with("note: ") && line.contains("ghost")), "{health}");
}

#[test]
fn health_tells_why_kafka_is_degraded() {
    let launch = launch().env("SVC_KAFKA__ENABLED", "true").env("SVC_KAFKA__BROKERS", "127.0.0.1:1");
    let server = launch.env("SVC_ENGINE__HEALTH_CHECK_TIMEOUT_SECS", "1").start().unwrap();
    let cli = CliClient::with_server(&server);
    let run = cli.run(&["health"]);
    let row = run.out.lines().find(|line| line.starts_with("kafka")).unwrap();
    assert!(row.contains("degraded") && row.split_whitespace().count() > 2, "{row}");
}

#[test]
fn absent_metrics_are_looked_for_elsewhere() {
    let server = start();
    let error = CliClient::with_server(&server).fails(&["metrics"], 1);
    assert!(error.contains("[NOT_FOUND]") && error.contains("metrics.bind_addr"), "{error}");
}

#[test]
fn engine_shows_its_status_and_reloads() {
    let server = start();
    let cli = CliClient::with_server(&server);
    serve_echo(&cli, "a");
    assert_eq!(cli.json(&["engine", "status"])["data"]["channels"], json!(["a"]));
    assert!(cli.ok(&["eng", "reload"]).starts_with("Reloaded the engine: "));
}

#[test]
fn cached_answers_are_invalidated_by_namespace() {
    let server = start();
    let cli = CliClient::with_server(&server);
    let invalidated = cli.ok(&["cache", "invalidate", "offers", "prices"]);
    assert_eq!(invalidated, "Invalidated offers, prices; caches: 0.\n");
    assert!(cli.fails(&["cache", "invalidate", "Offers"], 1).contains("a-z 0-9"));
}

#[test]
fn consumers_and_their_keys_are_managed() {
    let server = start();
    let cli = CliClient::with_server(&server);
    let created = cli.ok(&["consumers", "create", "acme", "--tag", "gold", "--quota", "100/day"]);
    assert_eq!(created, "Created consumer 'acme'.\n");
    let key = cli.json(&["consumers", "create-key", "acme", "--kind", "api_key", "--expires-at", "90d"]);
    let (id, secret) = (key["data"]["id"].as_str().unwrap(), key["data"]["secret"].as_str().unwrap());
    let listed = cli.ok(&["consumers", "keys", "acme"]);
    assert!(listed.contains(id) && !listed.contains(secret), "{listed}");
    assert_eq!(cli.ok(&["consumers", "update", "acme", "--no-quota"]), "Updated consumer 'acme'.\n");
    let shown = cli.json(&["consumers", "get", "acme"]);
    assert_eq!((&shown["data"]["quota"], &shown["data"]["tags"]), (&Value::Null, &json!(["gold"])));
    assert_eq!(cli.ok(&["consumers", "list", "--tag", "gold", "-q"]), "acme\n");
    assert!(cli.fails(&["consumers", "delete-key", "acme", id], 1).contains("nothing was changed"));
    cli.ok(&["consumers", "delete-key", "acme", id, "--yes"]);
    assert_eq!(cli.ok(&["consumers", "delete", "acme", "-y"]), "Deleted consumer 'acme'.\n");
    assert!(cli.fails(&["consumers", "get", "acme"], 1).contains("[NOT_FOUND]"));
    cli.fails(&["consumers", "create", "b", "--quota", "many"], 2);
}

#[test]
fn plugin_is_pushed_once_it_is_built() {
    let server = start();
    let cli = CliClient::with_server(&server);
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("tax").display().to_string();
    cli.ok(&["new", "--plugin", "python", &folder]);
    let refused = cli.fails(&["plugins", "push", &folder], 1);
    assert!(refused.contains("plugin.wasm") && refused.contains("build the plugin"), "{refused}");
    assert_eq!(cli.ok(&["plugins", "list", "-q"]), "");
    assert!(cli.fails(&["plugins", "activate", "tax"], 1).contains("[NOT_FOUND]"));
    // The header of a component alone: it is stored, and would fail to load.
    std::fs::write(root.path().join("tax/plugin.wasm"), b"\0asm\x0d\0\x01\0").unwrap();
    for _ in ["creates", "replaces"] {
        assert!(cli.ok(&["plugins", "push", &folder]).contains("tax"));
    }
    assert_eq!(cli.ok(&["plugins", "list", "-q"]).trim(), "tax");
    assert_eq!(cli.json(&["plugins", "get", "tax"])["data"].as_array().map(Vec::len), Some(1));
}

#[test]
fn exported_plugins_import_unchanged() {
    let server = start();
    let cli = CliClient::with_server(&server);
    // The header of a component alone: it is stored, and would fail to load.
    let plugin = json!({"manifest": {"abi": "svc:plugin@1.0.0", "name": "rates", "version": "1.0.0", "functions": [
        {"name": "eur", "description": "Converts to euros"}]}, "component": "AGFzbQ0AAQA="});
    let file = cli.file("plugins.json", &json!([plugin]));
    assert!(cli.ok(&["plugins", "import", "-f", &file]).contains("1 plugins imported"));
    let exported = cli.json(&["plugins", "export", "rates"]);
    assert_eq!(exported[0]["component"], plugin["component"]);
    let file = cli.file("exported.json", &exported);
    let again = cli.ok(&["plugins", "import", "-f", &file, "--on-conflict", "new_version"]);
    assert!(again.contains("0 plugins imported, 1 unchanged"), "{again}");
}

#[test]
fn webhook_endpoints_are_managed() {
    let server = start();
    let cli = CliClient::with_server(&server);
    let connector = json!({"id": "hooks", "name": "hooks", "connector_type": "http",
        "config": {"url": "https://hooks.invalid", "allow_urls": ["https"]}});
    server.client().json("POST", "/api/v1/admin/connectors", &connector).unwrap();
    let create = ["webhooks", "create", "https://hooks.invalid/x", "--topic", "a", "--connector"];
    assert!(cli.fails(&[&create[..], &["hook"]].concat(), 1).contains("did you mean 'hooks'"));
    let created = cli.json(&[&create[..], &["hooks"]].concat());
    let (id, secret) = (created["data"]["id"].as_str().unwrap(), created["data"]["secret"].as_str().unwrap());
    assert_eq!(created["data"]["state"], "unverified", "nobody echoed the challenge");
    let other = cli.ok(&[&create[..], &["hooks"]].concat());
    assert!(
        other.contains("It gets nothing yet: ") && other.contains("then run: svc-cli webhooks enable "),
        "{other}"
    );
    let listed = cli.ok(&["webhooks", "list", "--state", "unverified"]);
    assert!(listed.contains(id) && !listed.contains(secret), "{listed}");
    assert!(cli.fails(&["webhooks", "test", id], 1).contains("[CONFLICT]"));
    assert!(cli.fails(&["webhooks", "enable", id], 1).contains("is not verified"));
    assert_eq!(
        cli.ok(&["webhooks", "enable", id, "--no-verify"]),
        format!("Enabled webhook endpoint '{id}'.\n")
    );
    let rotated = cli.json(&["webhooks", "rotate", id, "--overlap-secs", "60"]);
    assert_ne!(rotated["data"]["secret"].as_str().unwrap(), secret);
    assert!(cli.ok(&["webhooks", "replay", id, "--since", "1h"]).starts_with("Replayed 0 deliveries."));
    cli.ok(&["webhooks", "update", id, "--topic", "b", "--topic", "c"]);
    assert_eq!(cli.json(&["webhooks", "get", id])["data"]["topics"], json!(["b", "c"]));
    let tested = cli.run(&["webhooks", "test", id]);
    assert!(tested.code == 1 && tested.out.contains("did not take the event"), "{tested:?}");
    assert_eq!(cli.json(&["webhooks", "attempts", id])["data"][0]["topic"], "webhook.test");
    assert_eq!(cli.json(&["webhooks", "deliveries", id])["data"], json!([]));
    assert!(cli.fails(&["webhooks", "delete", id], 1).contains("nothing was changed"));
    cli.ok(&["webhooks", "delete", id, "--yes"]);
    assert!(cli.fails(&["webhooks", "get", id], 1).contains("[NOT_FOUND]"));
}

#[test]
fn supervision_tree_is_shown_and_partly_restarted() {
    let server = start();
    let cli = CliClient::with_server(&server);
    serve_echo(&cli, "a");
    let tree = cli.ok(&["actors"]);
    assert!(tree.starts_with("ACTOR") && tree.contains("  writer"), "{tree}");
    assert!(cli.ok(&["actors", "list", "-q"]).lines().any(|path| path == "store/writer"));
    assert!(cli.fails(&["actors", "restart", "channels/a"], 1).contains("nothing was changed"));
    assert_eq!(cli.ok(&["actors", "restart", "channels/a", "--yes"]), "Restarted 'channels/a'.\n");
    assert!(cli.fails(&["actors", "restart", "channels/absent", "-y"], 1).contains("[NOT_FOUND]"));
    assert!(cli.ok(&["actors", "history"]).contains("channels/a"));
}

#[test]
fn stats_of_a_quarantined_channel_say_so() {
    let server = start();
    let cli = CliClient::with_server(&server);
    serve_echo(&cli, "a");
    let mut broken = channel("b", "a");
    broken["config"] = json!({"auth": {"mode": "api_key", "keys": ["env://ABSENT_VARIABLE"]}});
    cli.ok(&["channels", "create", "-d", &broken.to_string()]);
    cli.run(&["channels", "activate", "b"]);
    let stats = cli.run(&["channels", "stats", "b"]);
    assert!(stats.code == 0 && stats.err.contains("is quarantined on this node"), "{stats:?}");
    assert!(stats.err.contains("ABSENT_VARIABLE"), "{stats:?}");
    let listed = cli.ok(&["channels", "list"]);
    assert_eq!(listed.matches("active, quarantined").count(), 1, "{listed}");
    let shown = cli.json(&["channels", "get", "b"]);
    assert!(shown["data"]["quarantined"].as_str().unwrap().contains("ABSENT_VARIABLE"), "{shown}");
}

#[test]
fn refusals_trials_and_calls_are_shown() {
    let server = start();
    let cli = CliClient::with_server(&server);
    serve_echo(&cli, "a");
    let refused = server.client().send("POST", "/api/v1/data/a", &[("content-type", "text/csv")], b"x");
    assert_eq!(refused.unwrap().status, 415);
    let stats = cli.ok(&["channels", "stats", "a"]);
    assert!(stats.starts_with("GUARD") && stats.contains("content_type"), "{stats}");
    assert_eq!(cli.json(&["channels", "quotas", "a"])["data"]["keys"], json!([]));
    let path = ["--path", "/api/v1/data/a", "--header", "content-type: application/json", "--data", "{}"];
    let admitted = cli.ok(&[&["channels", "test", "a"], &path[..]].concat());
    assert!(admitted.contains("shape") && admitted.contains("passed"), "{admitted}");
    let refused = cli.run(&["channels", "test", "a", "--path", "/api/v1/data/b", "-o", "json"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.out.contains("no_route") && refused.err.contains("404"), "{refused:?}");
    let connector = json!({"id": "crm-1", "name": "crm", "connector_type": "http", "config": {"url": "https://a.example"}});
    cli.ok(&["connectors", "create", "--data", &connector.to_string()]);
    assert_eq!(cli.json(&["connectors", "calls", "crm"])["data"]["id"], "crm-1");
    assert_eq!(cli.json(&["connectors", "impact", "crm"])["data"]["channels"], json!([]));
    for args in [
        &["actors", "restart", "channels/a", "-y", "--node", "other"][..],
        &["connectors", "reset-breaker", "a:crm", "--node", "other"],
        &["kafka", "skip", "t", "0", "-y", "--node", "other"],
        &["nodes", "drain", "other", "-y"],
    ] {
        assert!(cli.fails(args, 1).contains("[MISDIRECTED_REQUEST]"), "{args:?}");
    }
    assert!(cli.fails(&["nodes", "drain", "other"], 1).contains("nothing was changed"));
}

#[test]
fn watched_status_repeats_until_interrupted() {
    use std::io::{BufRead as _, BufReader};
    let server = start();
    let cli = CliClient::with_server(&server);
    let mut command = cli.command(&["health", "-q", "--watch=0.1"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let lines: Vec<_> =
        BufReader::new(child.stdout.take().unwrap()).lines().take(3).map(Result::unwrap).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(lines, ["ok", "ok", "ok"]);
    cli.fails(&["health", "--watch=0"], 2);
}

#[test]
fn nodes_functions_audit_log_and_metrics_are_shown() {
    let server = launch().env("SVC_METRICS__ENABLED", "true").start().unwrap();
    let cli = CliClient::with_server(&server).env("SVC_CHANGE_CONTEXT", "release 7");
    serve_echo(&cli, "a");
    assert_eq!(cli.json(&["nodes"])["data"][0]["is_this"], true);
    let functions = cli.ok(&["functions", "list", "-q"]);
    assert!(functions.lines().any(|name| name == "http_call"), "{functions}");
    let audit = cli.json(&[
        "audit",
        "list",
        "--action",
        "create",
        "--resource-type",
        "workflow",
        "--resource-id",
        "a",
    ]);
    assert_eq!(audit["total"], 1, "{audit}");
    assert!(audit["data"][0]["details"].as_str().unwrap().contains("release 7"), "{audit}");
    assert!(cli.ok(&["metrics"]).contains("svc_build_info"));
    assert_eq!(cli.ok(&["kafka", "partitions", "-q"]), "");
    assert!(cli.fails(&["kafka", "skip", "t", "0", "-y"], 1).contains("[NOT_FOUND]"));
}

#[test]
fn live_state_errors_and_configuration_are_shown() {
    let server = launch().env("SVC_TRACE_QUEUE__WORKERS", "3").start().unwrap();
    let cli = CliClient::with_server(&server);
    let line = cli.ok(&["live", "--once"]);
    assert!(line.contains("/s  errors 0.0/s") && line.lines().count() == 1, "{line}");
    let events = cli.ok(&["live", "--once", "--history", "day", "-o", "json"]);
    let picture: serde_json::Value = serde_json::from_str(events.lines().next().unwrap()).unwrap();
    assert_eq!((&picture["event"], events.lines().count()), (&json!("picture"), 2), "{events}");
    assert!(picture["data"]["history"]["minutes"].is_object(), "{picture}");
    assert!(cli.fails(&["live", "--history", "week"], 1).contains("[VALIDATION_ERROR]"));
    let changed = cli.ok(&["engine", "config", "--changed", "-q"]);
    assert!(changed.lines().any(|key| key == "trace_queue.workers"), "{changed}");
    assert!(!changed.contains("server.backlog"), "{changed}");
    assert_eq!(cli.json(&["errors", "--recent"])["data"]["failures"], 0);
}

#[test]
fn schedules_and_their_occurrences_are_shown() {
    let server = start();
    let cli = CliClient::with_server(&server);
    serve_echo(&cli, "a");
    let cron = json!({"channel_id": "nightly", "name": "nightly", "channel_type": "async", "protocol": "cron",
        "workflow_id": "a", "transport_config": {"schedule": "0 0 3 * * *"}});
    cli.ok(&["channels", "create", "-d", &cron.to_string()]);
    cli.ok(&["channels", "activate", "nightly"]);
    assert_eq!(cli.ok(&["cron", "status", "-q"]), "nightly\n");
    let id = cli.ok(&["channels", "trigger", "nightly", "-q"]).trim().to_owned();
    assert_eq!(cli.ok(&["cron", "list", "--channel-id", "nightly", "-q"]).trim(), id);
    assert_eq!(cli.ok(&["cron", "list", "--channel", "nightly", "--run-key", &id, "-q"]).trim(), id);
    assert_eq!(cli.ok(&["cron", "list", "--channel", "other", "--order", "asc", "-q"]), "");
    assert_eq!(cli.json(&["cron", "get", &id])["data"]["trigger"], "manual");
    assert!(cli.fails(&["cron", "retry", &id], 1).contains("[CONFLICT]"));
}

#[test]
fn explanation_is_sentence_and_short_lines() {
    let server = start();
    let cli = CliClient::with_server(&server).env("COLUMNS", "80");
    serve_echo(&cli, "a");
    let cron = json!({"channel_id": "nightly", "name": "nightly", "channel_type": "async", "protocol": "cron",
        "workflow_id": "a", "transport_config": {"schedule": "0 0 3 * * *"}});
    cli.ok(&["channels", "create", "-d", &cron.to_string()]);
    cli.ok(&["channels", "activate", "nightly"]);
    let shown = cli.ok(&["why", "nightly", "--at", "2999-01-01T00:30:00Z"]);
    let (sentence, lines) = shown.split_once("\n\n").unwrap();
    assert!(sentence.starts_with("The schedule of channel 'nightly' does not name 2999-01-01T"), "{shown}");
    assert!(lines.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert_eq!(cli.ok(&["why", "nightly", "--at", "2999-01-01T00:30:00Z", "-q"]), "not_due\n");
    cli.ok(&["channels", "pause", "nightly", "--reason", "down"]);
    assert_eq!(cli.ok(&["why", "nightly", "-q"]), "paused\n");
    assert_eq!(cli.json(&["why", "nightly", "--at", "1h"])["data"]["paused"]["reason"], "down");
    assert!(cli.fails(&["why", "a"], 1).contains("[VALIDATION_ERROR]"));
    assert!(cli.fails(&["why", "nothing"], 1).contains("[NOT_FOUND]"));
    assert!(cli.fails(&["why", "nightly", "--at", "soon"], 1).contains("[VALIDATION_ERROR]"));
    cli.fails(&["why"], 2);
}

#[test]
fn waiting_trace_shows_its_reason() {
    // Without a key of its own a client reads only what it submitted.
    let key = "the admin key of a server under test";
    let server =
        launch().env("SVC_ADMIN_AUTH__ENABLED", "true").env("SVC_ADMIN_AUTH__API_KEYS", key).start().unwrap();
    let cli = CliClient::with_server(&server).env("COLUMNS", "80").env("SVC_API_KEY", key);
    serve_echo(&cli, "a");
    cli.ok(&["channels", "pause", "a", "--reason", "down"]);
    let id = cli.ok(&["send", "a", "--async", "-d", "{}", "-q"]).trim().to_owned();
    let shown = cli.ok(&["traces", "get", &id]);
    assert!(shown.contains("Work of channel 'a' waits for a resume"), "{shown}");
    assert!(shown.lines().any(|line| line.starts_with("waits_for") && line.ends_with("paused")), "{shown}");
    cli.ok(&["channels", "resume", "a"]);
    assert!(!cli.ok(&["traces", "wait", &id]).contains("waits_for"));
}

#[test]
fn caller_backups_and_packages_are_listed() {
    let server = start();
    let cli = CliClient::with_server(&server);
    assert_eq!(cli.ok(&["whoami", "-q"]), "anonymous\n");
    assert_eq!(cli.ok(&["backups", "list", "-q"]), "");
    let file = cli.ok(&["backups", "create", "-q"]);
    assert!(file.starts_with("svc_backup_") && file.ends_with(".db\n"), "{file}");
    assert_eq!(cli.ok(&["backups", "list", "-q"]), file);
    assert!(cli.ok(&["backups", "create"]).starts_with("Made backup "));
    let receipt = json!({"version": "1", "content_hash": "sha256:00", "state": "staged"});
    server.client().json("PUT", "/api/v1/admin/packages/shop", &receipt).unwrap();
    assert_eq!(cli.ok(&["packages", "list", "-q"]), "shop\n");
    assert!(cli.ok(&["pkg", "get", "shop"]).starts_with("shop: no version is applied\n"));
    assert!(cli.fails(&["packages", "get", "absent"], 1).contains("[NOT_FOUND]"));
}
