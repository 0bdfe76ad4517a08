//! Health shows what does not work: a disk that is full, schedules that do not keep up, a clock that was set.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::peer;
use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::server::{ServerCommand, ServerProcess, wait_until};

use crate::cron::{calling, held_upstream, of_status, schedule, telling};
use crate::support::{echo, eventually, launch};

const KEY: &str = "an-operators-key-0123456789-0123456789";
/// Mounts a small file system of its own on its first argument, and becomes the rest.
const ON_A_SMALL_DISK: &str = r#"mount -t tmpfs -o size=8m none "$0" && exec "$@""#;

/// Runs what follows in name spaces of its own, which needs no privilege if the kernel allows that.
const APART: [&str; 4] = ["--user", "--map-root-user", "--mount", "--"];

/// A server whose database is on a disk of 8 MiB, and the disk as this process sees it.
fn on_a_small_disk() -> Option<(ServerProcess, PathBuf)> {
    let may = Command::new("unshare").args(APART).arg("true").stderr(Stdio::null()).status();
    if !may.is_ok_and(|status| status.success()) {
        peer::report_missing("a small disk", "unshare may not make name spaces here");
        return None;
    }
    let server = ServerCommand::new("unshare").unwrap();
    let disk = server.directory().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let at = disk.display().to_string();
    let server = server
        .args(&APART)
        .args(&["sh", "-c", ON_A_SMALL_DISK, &at, env!("CARGO_BIN_EXE_svc-server")])
        .env("SVC_STORAGE__URL", &format!("sqlite:{at}/svc.db"))
        .env("SVC_ADMIN_AUTH__ENABLED", "true")
        .env("SVC_ADMIN_AUTH__API_KEYS", KEY)
        .start()
        .unwrap();
    let path =
        Path::new("/proc").join(server.pid().to_string()).join("root").join(at.trim_start_matches('/'));
    Some((server, path))
}

/// Leaves not a byte free.
fn fill(disk: &Path) -> PathBuf {
    let path = disk.join("other");
    let mut file = File::create(&path).unwrap();
    for size in [1 << 16, 1 << 12, 1] {
        let some = vec![0; size];
        while file.write_all(&some).is_ok() {}
    }
    path
}

#[test]
fn full_disk_is_told_until_there_is_room_again() {
    let Some((server, disk)) = on_a_small_disk() else { return };
    let mut admin = server.client().with_header("x-api-key", KEY);
    echo(&mut admin, "s", json!({}));
    let submit =
        |client: &mut HttpClient| client.json("POST", "/api/v1/data/s/async", &json!({})).unwrap().status;
    assert_eq!(submit(&mut admin), 202);
    let other = fill(&disk);
    // What is left of the page of the journal takes a few rows.
    eventually(|| submit(&mut admin) == 503);
    let ready = wait_until(Duration::from_secs(4), || Ok(admin.get("/readyz")?.status == 200));
    assert!(!ready.unwrap(), "nothing was freed");
    let health = admin.get("/health").unwrap();
    assert_eq!((health.status, &health.json()["components"]["database"]), (503, &json!("error")));
    for _ in 0..100 {
        assert_eq!(submit(&mut admin), 503);
    }
    let log = server.wait_for_log(&["request failed"]).unwrap();
    let logged = log.lines().filter(|line| line.contains("request failed")).count();
    assert!((1..40).contains(&logged), "{logged} lines about a hundred requests that failed alike");
    let reason = health.json()["database"]["reason"].to_string();
    assert!(reason.contains("full") || reason.contains("I/O"), "{reason}");
    std::fs::remove_file(other).unwrap();
    eventually(|| admin.get("/readyz").unwrap().status == 200);
    assert_eq!(submit(&mut admin), 202);
    assert_eq!(admin.get("/health").unwrap().json()["status"], "ok");
}

#[test]
fn schedules_behind_are_reported_until_they_keep_up() {
    let server = launch().env("SVC_CRON__WORKERS", "1").start().unwrap();
    let mut client = server.client();
    let upstream = held_upstream(&mut client);
    schedule(&mut client, "slow", calling(), json!({"schedule": "* * * * * *"}), json!({}));
    let mut health = Value::Null;
    eventually(|| {
        health = client.get("/health").unwrap().json();
        health["components"]["cron"] == "degraded"
    });
    assert!(health["cron"]["reason"].as_str().is_some_and(|reason| reason.contains("wait")), "{health}");
    assert_eq!(client.get("/readyz").unwrap().status, 200);
    upstream.open();
    eventually(|| client.get("/health").unwrap().json()["components"]["cron"] == "ok");
}

/// Sets the clock of a database, by a function that goes before the system's own.
fn set_clock(database: &PostgresDatabase, seconds: i64) {
    database.rows(&format!("UPDATE set_clock.ahead SET seconds = {seconds}")).unwrap();
}

fn with_a_clock_to_set(postgres: &Postgres) -> PostgresDatabase {
    let database = postgres.database().unwrap();
    let (_, name) = database.url().rsplit_once('/').unwrap();
    let make = format!(
        "CREATE SCHEMA set_clock;
         CREATE TABLE set_clock.ahead (seconds INTEGER NOT NULL);
         INSERT INTO set_clock.ahead VALUES (0);
         CREATE FUNCTION set_clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS
             'SELECT pg_catalog.clock_timestamp() + make_interval(secs => (SELECT seconds FROM set_clock.ahead))';
         ALTER DATABASE {name} SET search_path = public, set_clock, pg_catalog;"
    );
    database.rows(&make).unwrap();
    database
}

#[test]
fn schedule_continues_after_clock_was_ahead() {
    let Some(postgres) = Postgres::shared() else { return };
    let database = with_a_clock_to_set(&postgres);
    let server = launch().env("SVC_STORAGE__URL", database.url()).start().unwrap();
    let mut client = server.client();
    schedule(&mut client, "ticks", telling(), json!({"schedule": "* * * * * *"}), json!({}));
    // Runs of instants up to half an hour from now, and of those after.
    let runs = || {
        let rows = database.rows(
            "SELECT scheduled_for < (pg_catalog.clock_timestamp() AT TIME ZONE 'utc') + interval '30 minutes'
             FROM cron_occurrences WHERE status = 'completed'",
        );
        let rows = rows.unwrap();
        let now = rows.iter().filter(|row| row[0].as_deref() == Some("t")).count();
        (now, rows.len() - now)
    };
    eventually(|| runs().0 >= 2);
    set_clock(&database, 3600);
    eventually(|| runs().1 >= 3);
    let (before, _) = runs();
    set_clock(&database, 0);
    eventually(|| runs().0 >= before + 3);
    assert_eq!(of_status(&mut client, "ticks", "failed").len(), 0);
    assert_eq!(client.get("/health").unwrap().json()["components"]["cron"], "ok");
}
