//! `test-connectivity`, and `migrate --dry-run`, which reads only.

use std::fs;
use std::time::Duration;

use svc_testkit::postgres::Postgres;

use super::{Database, on_both, stderr, stdout};
use crate::support::{eventually, launch};

on_both!(database_is_asked_and_its_pending_migrations_are_counted, dry_run_of_the_migrations_changes_nothing);

fn database_is_asked_and_its_pending_migrations_are_counted(database: &Database) {
    let output = database.run(&["test-connectivity"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let migrations = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/sqlite");
    let pending =
        format!(" {} pending migration(s)\nkafka: off\n", fs::read_dir(migrations).unwrap().count());
    assert!(text.starts_with("database: ") && text.contains(&pending), "{text}");
    assert_eq!(database.files(), 0, "no file is made");
    assert!(database.run(&["migrate"]).status.success());
    let text = stdout(&database.run(&["test-connectivity"]));
    assert!(text.starts_with("database: ok, ") && text.contains(" 0 pending migration(s)\n"), "{text}");
}

fn dry_run_of_the_migrations_changes_nothing(database: &Database) {
    let kind = if database.postgres.is_some() { "postgres" } else { "sqlite" };
    for _ in 0..2 {
        let output = database.run(&["migrate", "--dry-run"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let first = format!("{kind} 001 — schema\n");
        assert!(stdout(&output).starts_with(&first), "{}", stdout(&output));
        let numbers: Vec<_> =
            stdout(&output).lines().map(|line| line[kind.len()..][..4].to_owned()).collect();
        let expected: Vec<_> = (1..=numbers.len()).map(|number| format!(" {number:0>3}")).collect();
        assert_eq!(numbers, expected, "{}", stdout(&output));
    }
    assert_eq!(database.files(), 0, "no file is made");
    if let Some(database) = &database.postgres {
        let tables = database.rows("SELECT relname FROM pg_class WHERE relname LIKE '%migrations%'").unwrap();
        assert!(tables.is_empty(), "{tables:?}");
    }
    assert!(database.run(&["migrate"]).status.success());
    let output = database.run(&["migrate", "--dry-run"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), String::new()));
}

#[test]
fn database_that_comes_later_is_waited_for() {
    let Some(postgres) = Postgres::own() else { return };
    for command in [&["test-connectivity"][..], &["migrate", "--dry-run"], &["migrate", "--wait", "5m"]] {
        postgres.stop().unwrap();
        let mut waiting = launch().env("SVC_STORAGE__URL", postgres.url()).args(command).spawn().unwrap();
        eventually(|| waiting.log_text().contains("note: waiting for what is not there yet: "));
        postgres.restart().unwrap();
        let status = waiting.wait(Duration::from_secs(60)).unwrap();
        assert!(status.success(), "{command:?}: {}", waiting.log_text());
    }
}

#[test]
fn silent_peer_and_bad_settings_fail_differently() {
    for (name, value, code, word) in [
        ("SVC_STORAGE__URL", "postgres://svc:hunter2@127.0.0.1:1/svc", 1, "127.0.0.1:1"),
        ("SVC_STORAGE__URL", "sqlite:no/such/directory/svc.db", 1, "does not exist"),
        ("SVC_STORAGE__URL", "mongodb://svc:hunter2@127.0.0.1/svc", 78, "storage.url"),
        ("SVC_SERVER__PROT", "1", 78, "SVC_SERVER__PROT"),
    ] {
        let output =
            launch().env(name, value).args(&["test-connectivity", "--wait", "0"]).run_to_end().unwrap();
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{value}: {text}");
        assert!(text.starts_with("Error: ") && text.contains(word) && !text.contains("hunter2"), "{text}");
    }
}

#[test]
fn brokers_that_do_not_answer_fail_the_command() {
    let database = Database::sqlite();
    let output = launch()
        .env("SVC_STORAGE__URL", &database.url)
        .env("SVC_KAFKA__ENABLED", "true")
        .env("SVC_KAFKA__BROKERS", "127.0.0.1:1")
        .args(&["test-connectivity", "--wait", "0"])
        .run_to_end()
        .unwrap();
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("127.0.0.1:1") && text.contains("Caused by: "), "{text}");
    assert!(stdout(&output).starts_with("database: "), "{}", stdout(&output));
}
