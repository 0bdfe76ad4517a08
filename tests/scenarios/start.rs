//! Starts that must fail: one clear line, the right exit code.

use std::net::{Ipv4Addr, TcpListener};

use serde_json::Value;

use crate::support::{launch, start};

/// Runs to the end; checks the exit code and that one line of stderr holds every word.
fn fails(launch: svc_testkit::server::ServerCommand, code: i32, words: &[&str]) {
    let output = launch.run_to_end().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    let line = stderr
        .lines()
        .find(|line| line.starts_with("Error:"))
        .unwrap_or_else(|| panic!("no Error: in {stderr}"));
    for word in words {
        assert!(stderr.contains(word), "{word:?} not in {line:?}\n{stderr}");
    }
}

#[test]
fn a_misspelled_variable_names_the_nearest() {
    fails(
        launch().env("SVC_TRACE_QUEUE__WORKRES", "4"),
        78,
        &["SVC_TRACE_QUEUE__WORKRES", "SVC_TRACE_QUEUE__WORKERS"],
    );
}

#[test]
fn an_unknown_key_of_the_file_names_the_nearest() {
    let launch = launch();
    let file = launch.directory().join("svc.toml");
    std::fs::write(&file, "[server]\nprot = 9000\n").unwrap();
    fails(launch.args(&["-c", file.to_str().unwrap()]), 78, &["prot", "port"]);
}

#[test]
fn bad_value_and_missing_file_are_configuration_errors() {
    fails(launch().env("SVC_SERVER__PORT", "many"), 78, &["SVC_SERVER__PORT"]);
    fails(launch().args(&["-c", "no-such-file.toml"]), 78, &["no-such-file.toml"]);
    fails(launch().env("SVC_ENVIRONMENT", "production"), 78, &["admin_auth.enabled"]);
}

#[test]
fn a_database_that_cannot_be_opened_is_exit_1() {
    fails(
        launch().env("SVC_STORAGE__URL", "sqlite:no/such/directory/svc.db"),
        1,
        &["no/such/directory/svc.db"],
    );
}

#[test]
fn a_port_in_use_is_exit_1_every_time() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    for _ in 0..30 {
        fails(launch().port(port), 1, &[&port.to_string()]);
    }
}

#[test]
fn usage_errors_exit_2_version_is_printed() {
    let output = launch().args(&["--no-such-flag"]).run_to_end().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let output = launch().args(&["--version"]).run_to_end().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn validate_config_prints_the_merged_configuration_masked() {
    let output = launch()
        .env("SVC_STORAGE__URL", "postgres://svc:hunter2@db/svc")
        .env("SVC_ADMIN_AUTH__API_KEYS", "an-admin-key-of-more-than-32-characters")
        .args(&["validate-config"])
        .run_to_end()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.contains("[trace_queue]") && stdout.contains("******"), "{stdout}");
    assert!(!stdout.contains("hunter2") && !stdout.contains("an-admin-key"), "{stdout}");
}

#[test]
fn dry_run_of_migrations_creates_no_file() {
    let launch = launch();
    let file = launch.directory().join("svc.db");
    let directory = launch.directory().to_owned();
    // The directory goes with the launch, so it is looked at while the process still exists.
    let server = launch.args(&["migrate", "--dry-run"]);
    let output = server.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.starts_with("sqlite 001 — schema\n"), "{stdout}");
    assert!(!file.exists(), "{:?}", std::fs::read_dir(directory).unwrap().collect::<Vec<_>>());
}

#[test]
fn open_admin_without_host_listens_on_loopback() {
    let server = launch().unset("SVC_SERVER__HOST").start().unwrap();
    server.wait_for_log(&["\"host\":\"127.0.0.1\"", "server.host: listening on 127.0.0.1 only"]).unwrap();
    let server = launch()
        .unset("SVC_SERVER__HOST")
        .env("SVC_ADMIN_AUTH__ENABLED", "true")
        .env("SVC_ADMIN_AUTH__API_KEYS", "a-key-of-more-than-32-characters-in-all")
        .start()
        .unwrap();
    let log = server.wait_for_log(&["\"host\":\"0.0.0.0\""]).unwrap();
    assert!(!log.contains("server.host:"), "{log}");
}

#[test]
fn logs_are_json_lines_off_a_terminal() {
    let server = start();
    let log = server.wait_for_log(&["\"msg\":\"listening\""]).unwrap();
    let line =
        log.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("no JSON line in {log}"));
    let record: serde_json::Value = serde_json::from_str(line).unwrap();
    assert!(record["msg"].is_string(), "{record}");
}

#[test]
fn every_json_log_line_is_an_object() {
    let json = || launch().env("SVC_LOGGING__FORMAT", "json");
    let lines = |text: &str| -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
    };
    let server = json().start().unwrap();
    let logged = lines(&server.wait_for_log(&["\"msg\":\"listening\""]).unwrap());
    let note = logged.iter().find(|line| line["msg"].as_str().unwrap().starts_with("admin_auth.enabled: "));
    assert_eq!(note.unwrap()["level"], "warn", "{logged:?}");
    assert!(logged.iter().any(|line| line["level"] == "info" && line["msg"] == "listening"), "{logged:?}");
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let output = json().port(port).run_to_end().unwrap();
    let logged = lines(&String::from_utf8(output.stderr).unwrap());
    let last = logged.last().unwrap();
    assert_eq!((output.status.code(), &last["level"]), (Some(1), &Value::from("error")), "{last}");
    assert!(last["error"].as_str().unwrap().contains(&port.to_string()), "{last}");
}
