//! `send` and `traces`: messages, their traces, waits, the live tail.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};
use svc_testkit::server::ServerProcess;

use crate::support::{CliClient, channel, failing_workflow, launch, serve_echo};

/// Starts a server with an echo channel `a` and a channel `f` whose runs fail.
fn serving() -> (ServerProcess, CliClient) {
    // What fails is not tried again, so that it ends.
    let server = launch().env("SVC_TRACE_QUEUE__DLQ_RETRY_ENABLED", "false").start().unwrap();
    let cli = CliClient::with_server(&server);
    serve_echo(&cli, "a");
    let nowhere = json!({"id": "nowhere", "name": "nowhere", "connector_type": "db",
        "config": {"type": "db", "connection_string": "sqlite:/nonexistent/x.db"}});
    cli.ok(&["connectors", "create", "-d", &nowhere.to_string()]);
    cli.ok(&["workflows", "create", "-d", &failing_workflow("f").to_string()]);
    cli.ok(&["workflows", "activate", "f"]);
    cli.ok(&["channels", "create", "-d", &channel("f", "f").to_string()]);
    cli.ok(&["channels", "activate", "f"]);
    (server, cli)
}

#[test]
fn payload_is_wrapped_unless_it_is_raw() {
    let (_server, cli) = serving();
    let answer = cli.json(&["send", "a", "-d", r#"{"x": 1}"#, "--metadata", r#"{"k": "v"}"#]);
    assert_eq!(answer["data"]["input"], json!({"x": 1}), "{answer}");
    let file = cli.file("payload.json", &json!({"data": {"x": 2}}));
    let raw = cli.json(&["send", "/a", "--raw", "-f", &file]);
    assert_eq!(raw["data"]["input"], json!({"x": 2}), "{raw}");
    let run = cli.run_with(&["send", "a", "--stdin", "-q"], "{\"x\": 3}");
    assert_eq!((run.code, run.out.trim().len()), (0, 36), "{run:?}");
    cli.fails(&["send", "a", "--raw", "--metadata", "{}", "-d", "{}"], 2);
    cli.fails(&["send", "a", "--wait"], 2);
    assert!(cli.fails(&["send", "absent"], 1).contains("[NOT_FOUND]"));
}

#[test]
fn asynchronous_message_is_waited_for_with_its_token() {
    let (_server, cli) = serving();
    let accepted = cli.json(&["send", "a", "--async", "-d", "{}"]);
    let (id, token) = (accepted["trace_id"].as_str().unwrap(), accepted["trace_token"].as_str().unwrap());
    assert!(cli.ok(&["traces", "wait", id, "--token", token, "--interval", "0.1"]).contains("completed"));
    assert_eq!(cli.ok(&["traces", "get", id, "--token", token, "-q"]).trim(), id);
    assert_eq!(cli.ok(&["send", "a", "--async-mode", "-q"]).trim().len(), 36);

    let done = cli.json(&["send", "a", "--async", "--wait", "-d", "{}"]);
    assert_eq!(done["data"]["status"], "completed");
    let failed = cli.run(&["send", "f", "--async", "--wait", "-d", "{}", "-o", "json"]);
    assert_eq!(failed.code, 1, "{failed:?}");
    assert_eq!(serde_json::from_str::<Value>(&failed.out).unwrap()["data"]["status"], "failed");
}

#[test]
fn trace_lists_tasks_with_outcomes_and_errors() {
    let (_server, cli) = serving();
    let completed = cli.ok(&["send", "a", "-d", "{}", "-q"]);
    let shown = cli.ok(&["traces", "get", completed.trim()]);
    assert!(
        shown.contains("status") && shown.contains("completed") && !shown.contains("audit_trail"),
        "{shown}"
    );
    cli.fails(&["send", "f", "-d", "{}"], 1);
    let failed = cli.ok(&["traces", "list", "--status", "failed", "-q"]);
    let shown = cli.ok(&["traces", "get", failed.trim()]);
    let heading: Vec<_> = ["TASK", "FUNCTION", "TARGET", "MS", "OUTCOME", "ERROR"].into();
    let table: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with("TASK")).collect();
    assert_eq!(table[0].split_whitespace().collect::<Vec<_>>(), heading, "{shown}");
    assert!(table[1].contains("failed") && table[1].contains("_ERROR "), "{shown}");

    let both = cli.ok(&["traces", "get", completed.trim(), failed.trim(), "-q"]);
    assert_eq!(both.lines().count(), 2);
    let run = cli.run(&["traces", "get", completed.trim(), "absent", "-q"]);
    assert_eq!((run.code, run.out.as_str()), (1, &*completed), "{run:?}");
    assert!(run.err.contains("absent: [NOT_FOUND]") && run.err.contains("1 of 2 failed"), "{run:?}");
}

#[test]
fn wait_that_takes_too_long_exits_with_2() {
    let (_server, cli) = serving();
    let list = cli.json(&["send", "a", "--async", "-d", "{}"]);
    let id = list["trace_id"].as_str().unwrap();
    // Nothing accepts what it is told by a server that does not respond.
    let silent = svc_testkit::upstream::Upstream::start(|_| {
        svc_testkit::upstream::UpstreamReply::new(200, r#"{"data": {"id": "t", "status": "running"}}"#)
    })
    .unwrap();
    let address = format!("http://{}", silent.address());
    let error =
        cli.fails(&["traces", "wait", id, "--server", &address, "--timeout", "0.3", "--interval", "0.1"], 2);
    assert!(error.contains("has not ended within 0.3 s"), "{error}");
}

#[test]
fn lines_are_sent_singly_and_failures_reported() {
    let (_server, cli) = serving();
    let lines = "{\"n\": 1}\n\n{\"n\": 2}\nnonsense\n{\"n\": 3}\n";
    let run = cli.run_with(&["send", "a", "--jsonl", "--stdin", "-o", "json"], lines);
    assert_eq!(run.code, 1, "{run:?}");
    let numbers: Vec<_> = run
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["data"]["input"]["n"].clone())
        .collect();
    assert_eq!(numbers, [json!(1), json!(2), json!(3)], "{run:?}");
    assert!(run.err.contains("line 4: ") && run.err.contains("1 of 4 messages failed"), "{run:?}");
    let run = cli.run_with(&["send", "a", "--jsonl", "--stdin"], "{}\n{}\n");
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (0, "2 sent, 0 failed\n", ""));
}

#[test]
fn list_of_traces_goes_on_behind_its_cursor() {
    let (_server, cli) = serving();
    for number in 0..3 {
        cli.ok(&["send", "a", "-d", &format!("{{\"n\": {number}}}")]);
    }
    let first = cli.json(&["traces", "list", "--limit", "2", "--channel", "a", "--include-total"]);
    assert_eq!((first["data"].as_array().unwrap().len(), &first["total"]), (2, &json!(3)));
    let cursor = first["next_cursor"].as_str().unwrap();
    assert_eq!(cli.json(&["traces", "list", "--cursor", cursor])["data"].as_array().unwrap().len(), 1);
    assert_eq!(cli.ok(&["traces", "list", "--status", "failed", "-q"]), "");
    let id = first["data"][1]["id"].as_str().unwrap();
    assert_eq!(cli.ok(&["traces", "list", "--trace-id", id, "--version", "1,2", "-q"]).trim(), id);
    for none in [["--run-key", "none"], ["--min-duration-ms", "600000"], ["--version", "2"]] {
        assert_eq!(cli.ok(&[&["traces", "list", "-q"][..], &none[..]].concat()), "", "{none:?}");
    }
}

#[test]
fn every_line_is_sent_though_nobody_reads() {
    let (_server, cli) = serving();
    let lines = "{}\n".repeat(30);
    assert_eq!(cli.run_unread(&["send", "a", "--async", "--jsonl", "--stdin", "-q"], &lines), 0);
    let sent = cli.json(&["traces", "list", "--channel", "a", "--include-total", "--limit", "1"]);
    assert_eq!(sent["total"], 30);
    let failing = cli.run_unread(&["send", "a", "--async", "--jsonl", "--stdin", "-q"], "{}\nno JSON\n");
    assert_eq!(failing, 1);
}

#[test]
fn live_tail_shows_what_comes() {
    let (_server, cli) = serving();
    cli.ok(&["send", "a", "-d", r#"{"before": true}"#]);
    let mut command =
        cli.command(&["traces", "follow", "-q", "--count", "2", "--interval", "0.1", "--channel", "a", "-v"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The first request is told once it is answered; what comes later is new.
    let mut text = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut text).unwrap();
    let outputs = [cli.ok(&["send", "a", "-d", "{}", "-q"]), cli.ok(&["send", "a", "-d", "{}", "-q"])];
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(shown.lines().count(), 2, "{shown}");
    let newest = cli.ok(&["traces", "list", "--channel", "a", "-q", "--limit", "2"]);
    let mut expected: Vec<_> = newest.lines().collect();
    expected.reverse();
    assert_eq!(shown.lines().collect::<Vec<_>>(), expected, "{outputs:?}");
}

#[test]
fn dead_letters_are_shown_requeued_and_purged() {
    let (_server, cli) = serving();
    assert_eq!(cli.run(&["send", "f", "--async", "--wait", "-d", "{}"]).code, 1);
    let id = cli.ok(&["dlq", "list", "--channel", "f", "-q"]).trim().to_owned();
    assert_eq!(cli.json(&["dlq", "get", &id])["data"]["channel"], "f");
    assert_eq!(cli.ok(&["dlq", "list", "--exhausted", "-q"]), "");
    assert_eq!(cli.ok(&["dlq", "list", "--exhausted=false", "-q"]).trim(), id);
    assert_eq!(cli.ok(&["dlq", "list", "--since", "1h", "-q"]).trim(), id);
    assert_eq!(cli.ok(&["dlq", "list", "--since", "-1h", "-q"]).trim(), id, "as the API takes it");
    assert!(cli.fails(&["dlq", "list", "--since", "--exhausted"], 2).contains("a time is wanted"));
    assert_eq!(cli.ok(&["dlq", "list", "--until", "1h", "-q"]), "");
    let letter = cli.json(&["dlq", "get", &id])["data"].clone();
    let work = letter["attempt_of"].as_str().or(letter["trace_id"].as_str()).unwrap();
    assert_eq!(cli.ok(&["dlq", "list", "--run-key", work, "--order", "asc", "-q"]).trim(), id);
    assert_eq!(cli.ok(&["dlq", "list", "--run-key", "none", "-q"]), "");
    assert!(cli.ok(&["dlq", "requeue", &id]).starts_with("Requeued dead letter"));
    assert!(cli.fails(&["dlq", "purge", "--older-than-hours", "1"], 1).contains("nothing was changed"));
    assert_eq!(cli.ok(&["dlq", "purge", "--older-than-hours", "1", "--yes"]), "Deleted 0 dead letters.\n");
}

#[test]
fn bulk_run_states_what_a_purge_loses() {
    let (_server, cli) = serving();
    assert_eq!(cli.run(&["send", "f", "--async", "--wait", "-d", "{}"]).code, 1);
    let purge = ["bulk", "start", "purge", "dead-letters", "--where", "channel=f"];
    cli.ok(&["bulk", "start", "purge", "dead_letters", "--where", "channel=f", "--dry-run"]);
    let dry = cli.json(&[&purge[..], &["--dry-run"]].concat());
    assert_eq!((&dry["data"]["matched"], &dry["data"]["samples"][0]["channel"]), (&json!(1), &json!("f")));
    let asked = cli.run(&purge);
    assert!(asked.code == 1 && asked.err.contains("1 dead letters (of f"), "{asked:?}");
    let run = cli.run(&[&purge[..], &["--wait", "--yes"]].concat());
    assert_eq!(
        (run.code, run.out.as_str()),
        (0, "Bulk run is completed: 1 of 1 done, 0 failed, 0 skipped.\n")
    );
    assert_eq!(cli.ok(&["dlq", "list", "-q"]), "");
    let id = cli.ok(&["bulk", "list", "-q"]).trim().to_owned();
    assert_eq!(cli.json(&["bulk", "get", &id])["data"]["action"], "purge");
    assert_eq!(cli.run(&["bulk", "wait", &id]).code, 0);
    assert!(cli.fails(&["bulk", "abort", &id], 1).contains("completed"));
    let narrow = cli.env("COLUMNS", "80");
    assert!(narrow.ok(&["bulk", "list"]).lines().all(|line| line.chars().count() <= 80));
    assert!(narrow.fails(&["bulk", "start", "purge", "dead-letters", "--yes"], 1).contains("all"));
    assert_eq!(narrow.run(&["bulk", "start", "purge", "letters"]).code, 2);
}
