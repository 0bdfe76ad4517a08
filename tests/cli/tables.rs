//! The forms of results: tables at two widths, JSON, YAML, ids, no colours.

use std::time::Duration;

use serde_json::json;
use svc_testkit::server::wait_until;

use crate::support::{CliClient, assert_golden, channel, launch, serve_echo, stable, start};

#[test]
fn tables_fit_their_width() {
    let server = start();
    let cli = CliClient::with_server(&server);
    serve_echo(&cli, "orders-intake");
    let mut long = crate::support::echo_workflow("a-workflow-with-quite-a-long-identifier");
    long["name"] = "Prices orders, asks the warehouse and tells the customer".into();
    long["tags"] = json!(["orders", "pricing", "warehouse"]);
    cli.ok(&["workflows", "create", "-d", &long.to_string()]);
    cli.ok(&["send", "orders-intake", "-d", "{}"]);
    for columns in ["80", "200"] {
        let cli = CliClient::with_server(&server).env("COLUMNS", columns);
        let mut text = String::new();
        for args in [
            &["workflows", "list"][..],
            &["channels", "list"],
            &["workflows", "versions", "orders-intake"],
            &["workflows", "get", "orders-intake"],
            &["functions", "list"],
            &["audit-logs", "list", "--action", "status_active"],
        ] {
            let shown = cli.ok(args);
            let widest = shown.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            // What a record shows is never broken, so that it can be copied.
            let is_record = args[1] == "get";
            assert!(
                is_record || widest <= columns.parse().unwrap(),
                "{args:?} is {widest} columns wide:\n{shown}"
            );
            text.push_str(&format!("$ svc-cli {}\n{shown}\n", args.join(" ")));
        }
        assert_golden(&format!("tables-{columns}.txt"), &stable(&text));
    }
}

#[test]
fn impact_fits_80_columns() {
    let server = start();
    let cli = CliClient::with_server(&server).env("COLUMNS", "80");
    serve_echo(&cli, "orders-intake-of-the-northern-region");
    cli.ok(&["send", "orders-intake-of-the-northern-region", "-d", "{}"]);
    for (group, command) in [("workflows", "impact"), ("channels", "impact")] {
        let shown = cli.ok(&[group, command, "orders-intake-of-the-northern-region"]);
        let widest = shown.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= 80, "{group}: {widest} columns wide:\n{shown}");
        assert!(shown.contains("POST") && shown.contains("RUNS"), "{shown}");
    }
}

#[test]
fn lists_of_waiting_work_fit_80_columns() {
    let server = start();
    let cli = CliClient::with_server(&server).env("COLUMNS", "80");
    serve_echo(&cli, "orders-intake");
    let nightly = json!({"channel_id": "nightly-reconciliation", "name": "nightly-reconciliation",
        "channel_type": "async", "protocol": "cron", "workflow_id": "orders-intake",
        "transport_config": {"schedule": "0 0 3 * * *", "timezone": "America/Argentina/Buenos_Aires"}});
    cli.ok(&["channels", "create", "-d", &nightly.to_string()]);
    cli.ok(&["channels", "activate", "nightly-reconciliation"]);
    cli.ok(&["channels", "trigger", "nightly-reconciliation"]);
    cli.ok(&["send", "orders-intake", "--async", "--header", "svc-delay: 1h", "-d", "{}"]);
    cli.ok(&["channels", "pause", "orders-intake", "--reason", "the warehouse does not answer"]);
    cli.ok(&["send", "orders-intake", "--async", "-d", "{}"]);
    for args in [
        &["traces", "list"][..],
        &["traces", "list", "--status", "scheduled,pending"],
        &["cron", "status"],
        &["cron", "list"],
        &["channels", "list"],
    ] {
        let shown = cli.ok(args);
        assert!(shown.lines().count() > 1, "{args:?}: {shown}");
        let is_wide = |line: &str| line.chars().count() > 80;
        assert!(!shown.lines().any(is_wide), "{args:?}:\n{shown}");
    }
}

#[test]
fn recordings_and_backtests_fit_80_columns() {
    let server = launch().env("SVC_TRACE_STORAGE__RECORD__SHARE", "1.0").start().unwrap();
    let cli = CliClient::with_server(&server).env("COLUMNS", "80");
    serve_echo(&cli, "orders-intake-of-the-north");
    cli.ok(&["send", "orders-intake-of-the-north", "-d", "{}"]);
    let is_recorded = || Ok(!cli.ok(&["recordings", "list", "-q"]).is_empty());
    assert!(wait_until(Duration::from_secs(30), is_recorded).unwrap(), "the run is recorded");
    let refused = cli.fails(&["workflows", "backtest", "orders-intake-of-the-north"], 2);
    assert!(
        refused.contains("'svc-cli workflows new-version orders-intake-of-the-north' makes one"),
        "{refused}"
    );
    cli.ok(&["workflows", "new-version", "orders-intake-of-the-north"]);
    cli.ok(&["workflows", "backtest", "orders-intake-of-the-north"]);
    for args in [["recordings", "list"], ["backtests", "list"]] {
        let shown = cli.ok(&args);
        let is_wide = |line: &str| line.chars().count() > 80;
        // A name may take two or three lines; one letter to a line is no table.
        assert!(shown.lines().count() <= 4 && !shown.lines().any(is_wide), "{args:?}:\n{shown}");
        assert!(shown.contains("orders"), "{args:?}:\n{shown}");
    }
}

#[test]
fn causes_of_failures_have_lines_of_their_own() {
    let server = start();
    let cli = CliClient::with_server(&server).env("COLUMNS", "80");
    let share = json!({"path": "data.share", "logic": {"/": [1, {"var": "payload.parts"}]}});
    let divide = json!({"workflow_id": "divide", "name": "divide", "tasks": [{"id": "divide", "name": "Divide",
        "function": {"name": "map", "input": {"mappings": [share]}}}]});
    cli.ok(&["workflows", "create", "-d", &divide.to_string()]);
    cli.ok(&["workflows", "activate", "divide"]);
    cli.ok(&["channels", "create", "-d", &channel("divide", "divide").to_string()]);
    cli.ok(&["channels", "activate", "divide"]);
    cli.ok(&["send", "divide", "--async", "-d", r#"{"parts": 0}"#]);
    let is_counted = || Ok(!cli.ok(&["errors", "-q"]).is_empty());
    assert!(wait_until(Duration::from_secs(30), is_counted).unwrap(), "the failure is counted");
    let shown = cli.ok(&["errors"]);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let heading = shown.lines().next().unwrap();
    assert!(heading.ends_with("GROUP") && shown.contains("\n  MESSAGE "), "{shown}");
}

#[test]
fn piped_output_has_neither_colours_nor_wrapped_lines() {
    let server = start();
    let cli = CliClient::with_server(&server);
    serve_echo(&cli, "a");
    for args in [&["workflows", "list"][..], &["health"], &["actors"], &["functions", "list"]] {
        let out = cli.ok(args);
        assert!(!out.contains('\u{1b}'), "{args:?}: {out:?}");
        assert!(out.lines().all(|line| line == line.trim_end()), "{args:?}: {out:?}");
    }
    assert_eq!(cli.ok(&["workflows", "list"]).lines().count(), 2);
}

#[test]
fn json_is_the_answer_and_yaml_equals_it() {
    let server = start();
    let cli = CliClient::with_server(&server);
    serve_echo(&cli, "a");
    let mut client = server.client();
    for (args, path) in [
        (&["workflows", "list"][..], "/api/v1/admin/workflows?limit=50"),
        (&["workflows", "get", "a"], "/api/v1/admin/workflows/a"),
        (&["channels", "versions", "a"], "/api/v1/admin/channels/a/versions?limit=50"),
        (&["functions", "list"], "/api/v1/admin/functions"),
        (&["nodes"], "/api/v1/admin/nodes"),
    ] {
        let body = client.get(path).unwrap().json();
        let mut expected = serde_json::to_string_pretty(&body).unwrap() + "\n";
        let mut json = cli.ok(&[args, &["-o", "json"]].concat());
        if args == ["nodes"] {
            // Its lease is renewed meanwhile, and its figures change.
            let id = |text: &str| {
                let body: serde_json::Value = serde_json::from_str(text).unwrap();
                body["data"][0]["id"].to_string()
            };
            (expected, json) = (id(&expected), id(&json));
        }
        assert_eq!(json, expected, "{args:?}");
    }
    let yaml = cli.ok(&["workflows", "get", "a", "-o", "yaml"]);
    assert!(
        yaml.starts_with("data:\n") && yaml.contains("workflow_id: a\n") && yaml.contains("version: 1\n"),
        "{yaml}"
    );
}

#[test]
fn empty_list_is_a_heading_and_a_note() {
    let server = start();
    let run = CliClient::with_server(&server).run(&["workflows", "list"]);
    assert_eq!((run.code, run.out.lines().count(), run.err.as_str()), (0, 1, "no workflows\n"));
}
