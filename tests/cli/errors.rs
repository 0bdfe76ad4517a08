//! Errors: on standard error, with code, fields and remedy; nothing on standard output.

use std::sync::atomic::{AtomicUsize, Ordering};

use svc_testkit::server::free_port;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::{CliClient, launch, start};

const KEY: &str = "an-admin-key-that-must-never-be-printed";

#[test]
fn refusal_shows_code_and_field_paths() {
    let server = start();
    let cli = CliClient::with_server(&server);
    let error = cli.fails(&["workflows", "create", "-d", r#"{"name": "w", "tasks": [{"id": "a"}]}"#], 1);
    assert!(error.starts_with("Error: [VALIDATION_ERROR] "), "{error}");
    assert!(error.contains("\n  tasks[0].function"), "{error}");
    for format in ["json", "yaml", "table"] {
        cli.fails(&["workflows", "get", "absent", "-o", format], 1);
    }
    let verbose = cli.fails(&["workflows", "get", "absent", "-v"], 1);
    assert!(
        verbose.contains("request id: ") && verbose.contains("GET /api/v1/admin/workflows/absent"),
        "{verbose}"
    );
}

#[test]
fn absent_server_is_named_with_the_remedy() {
    let address = format!("http://127.0.0.1:{}", free_port().unwrap());
    let error = CliClient::new().fails(&["health", "--server", &address], 1);
    assert!(error.contains(&address) && error.contains("hint: start the server"), "{error}");
    let error = CliClient::new().fails(&["health", "--server", "localhost:8080"], 1);
    assert!(error.contains("no server address"), "{error}");
}

#[test]
fn missing_or_wrong_key_is_answered_with_remedy() {
    let server =
        launch().env("SVC_ADMIN_AUTH__ENABLED", "true").env("SVC_ADMIN_AUTH__API_KEYS", KEY).start().unwrap();
    let cli = CliClient::with_server(&server);
    let missing = cli.fails(&["workflows", "list"], 1);
    assert!(missing.contains("[UNAUTHORIZED]") && missing.contains("hint: no key was sent"), "{missing}");
    let wrong = cli.fails(&["workflows", "list", "--api-key", "not-the-key-at-all", "-v"], 1);
    assert!(wrong.contains("does not accept this key") && !wrong.contains("not-the-key-at-all"), "{wrong}");
    let right = cli.run(&["workflows", "list", "--api-key", KEY, "-v", "-o", "json"]);
    assert_eq!(right.code, 0, "{right:?}");
    assert!(!format!("{right:?}").contains(KEY), "{right:?}");
    cli.ok(&["workflows", "list", "--api-key", KEY, "--api-key-header", "X-API-Key"]);
    let broken = cli.fails(&["workflows", "list", "--api-key", "broken\nkey"], 1);
    assert!(broken.contains("cannot be sent in a header") && !broken.contains("broken\nkey"), "{broken}");
}

#[test]
fn server_of_another_version_and_other_programs_are_told() {
    let other = Upstream::start(|request| {
        if request.target == "/health" {
            return UpstreamReply::new(200, r#"{"status": "ok", "version": "9.9.9", "components": {}}"#);
        }
        UpstreamReply::new(404, r#"{"error": {"code": "NOT_FOUND", "message": "No such path"}}"#)
    })
    .unwrap();
    let address = format!("http://{}", other.address());
    let error = CliClient::new().fails(&["nodes", "--server", &address], 1);
    assert!(error.contains("hint: the server is version 9.9.9"), "{error}");
    let run = CliClient::new().run(&["health", "--server", &address]);
    assert!(run.code == 0 && run.err.contains("9.9.9"), "{run:?}");

    let closed = Upstream::start(|_| {
        let body = r#"{"status": "degraded", "version": "9.9.9", "components": {"channels": "degraded"}}"#;
        UpstreamReply::new(200, body)
    })
    .unwrap();
    let address = format!("http://{}", closed.address());
    let run = CliClient::new().run(&["health", "--server", &address]);
    assert!(run.code == 1 && run.err.contains("9.9.9") && run.err.contains("admin keys alone"), "{run:?}");

    for answer in ["<html>hello</html>", r#"{"status": "up"}"#, "[]"] {
        let foreign = Upstream::start(move |_| UpstreamReply::new(200, answer)).unwrap();
        let address = format!("http://{}", foreign.address());
        for args in [["workflows", "list"], ["engine", "reload"]] {
            let error = CliClient::new().fails(&[&args[..], &["--server", address.as_str()][..]].concat(), 1);
            assert!(error.contains("does not have the expected shape"), "{answer}: {error}");
        }
    }
    let odd = Upstream::start(|_| UpstreamReply::new(200, r#"{"data": [1, null, "x", {}]}"#)).unwrap();
    let address = format!("http://{}", odd.address());
    let rows = CliClient::new().ok(&["kafka", "partitions", "-q", "--server", &address]);
    assert_eq!(rows.lines().count(), 1, "{rows}");
}

#[test]
fn rollout_succeeds_though_its_description_fails() {
    let reads = AtomicUsize::new(0);
    let half = Upstream::start(move |request| {
        let is_read = request.target.ends_with("/versions?limit=1000");
        if is_read && reads.fetch_add(1, Ordering::SeqCst) > 0 {
            return UpstreamReply::new(500, r#"{"error": {"code": "STORAGE_ERROR", "message": "no rows"}}"#);
        }
        UpstreamReply::new(200, r#"{"data": []}"#)
    })
    .unwrap();
    let address = format!("http://{}", half.address());
    let run = CliClient::new().run(&["workflows", "rollout", "w", "-p", "20", "--server", &address]);
    assert_eq!((run.code, run.out.as_str()), (0, "Workflow 'w': the rollout is set to 20 %.\n"), "{run:?}");
    assert!(run.err.contains("warning: the shares of the versions cannot be read"), "{run:?}");
}

#[test]
fn text_of_the_server_does_not_steer_the_terminal() {
    let hostile = Upstream::start(|_| {
        UpstreamReply::new(
            200,
            r#"{"data": [{"workflow_id": "w\u001b[2J", "name": "\u202eevil\r"}], "total": 1}"#,
        )
    })
    .unwrap();
    let address = format!("http://{}", hostile.address());
    for args in
        [&["workflows", "list"][..], &["workflows", "list", "-q"], &["workflows", "list", "-o", "yaml"]]
    {
        let out = CliClient::new().ok(&[args, &["--server", &address]].concat());
        assert!(!out.contains('\u{1b}') && !out.contains('\r'), "{args:?}: {out:?}");
    }
}

#[test]
fn usage_errors_exit_with_2() {
    let cli = CliClient::new();
    for args in [
        &["nonsense"][..],
        &["workflows"],
        &["workflows", "list", "--limit", "0"],
        &["workflows", "list", "--limit", "1001"],
        &["workflows", "list", "--sort-order", "up"],
        &["workflows", "rollout", "w"],
        &["dlq", "purge"],
        &["send"],
        &["completions", "cobol"],
        &["config", "get", "nonsense"],
        &["-o", "xml", "health"],
    ] {
        cli.fails(args, 2);
    }
}

#[test]
fn unusable_files_are_named_with_their_cause() {
    let cli = CliClient::new();
    std::fs::write(cli.home().join("file"), "{}").unwrap();
    for (args, path, cause) in [
        (&["workflows", "create", "-f", "absent.json"][..], "absent.json", "No such file or directory"),
        (&["workflows", "create", "-f", "."], ".", "Is a directory"),
        (&["workflows", "import", "-f", "file/a.json"], "file/a.json", "Not a directory"),
        (&["send", "orders", "--jsonl", "-f", "absent.jsonl"], "absent.jsonl", "No such file or directory"),
        (&["health", "--ca-file", "absent.pem"], "absent.pem", "No such file or directory"),
        (&["health", "--ca-file", "file"], "file", "no certificate is in it"),
        (&["man", "file"], "file", "File exists"),
    ] {
        let error = cli.fails(args, 1);
        assert!(error.contains(path) && error.contains(cause), "{args:?}: {error}");
        assert!(!error.contains("os error"), "{args:?}: {error}");
    }
    // The settings of the user cannot be read.
    std::fs::create_dir_all(cli.home().join(".svc/config.toml")).unwrap();
    let error = cli.fails(&["config", "show"], 1);
    assert!(error.contains("config.toml: Is a directory") && !error.contains("os error"), "{error}");
}
