//! Backups: made while the server writes, checked, and restored.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use serde_json::{Value, json};
use svc_testkit::postgres::Postgres;
use svc_testkit::s3::{BUCKET, KEY, ObjectStore, SECRET};
use svc_testkit::server::{ServerCommand, ServerProcess};

use crate::support::{echo, error, launch, open_database, start};

const BACKUPS: &str = "/api/v1/admin/backups";

/// Returns a server whose backups lie next to its database.
fn with_directory() -> (ServerCommand, PathBuf) {
    let command = launch();
    let directory = command.directory().join("backups");
    (command.env("SVC_STORAGE__BACKUP_DIR", directory.to_str().unwrap()), directory)
}

fn back_up(server: &ServerProcess) -> Value {
    let answer = server.client().send("POST", BACKUPS, &[], b"").unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

#[derive(QueryableByName)]
struct TextCell {
    #[diesel(sql_type = Text)]
    cell: String,
}

#[derive(QueryableByName)]
struct NumberCell {
    #[diesel(sql_type = BigInt)]
    cell: i64,
}

fn integrity(file: &Path) -> String {
    let mut conn = open_database(file);
    let check = "SELECT integrity_check AS cell FROM pragma_integrity_check";
    let row: TextCell = diesel::sql_query(check).get_result(&mut conn).unwrap();
    row.cell
}

fn traces(file: &Path) -> i64 {
    let mut conn = open_database(file);
    let count: NumberCell =
        diesel::sql_query("SELECT count(*) AS cell FROM traces").get_result(&mut conn).unwrap();
    count.cell
}

/// Runs a command against the database of a stopped server, whose directory stays.
fn run(database: &Path, args: &[&str]) -> std::process::Output {
    let url = format!("sqlite:{}", database.display());
    launch().env("SVC_STORAGE__URL", &url).args(args).output().unwrap()
}

#[test]
fn request_without_a_body_refuses_keys() {
    let (command, directory) = with_directory();
    let server = command.start().unwrap();
    let mut client = server.client();
    for path in
        ["backups", "engine/reload", "traces/none/cancel", "trace-dlq/none/requeue", "bulk/none/abort"]
    {
        let path = format!("/api/v1/admin/{path}");
        let refused = error(
            &client.json("POST", &path, &json!({"name": "before the change"})).unwrap(),
            400,
            "VALIDATION_ERROR",
        );
        let detail = &refused["details"][0];
        assert_eq!(
            (&detail["path"], &detail["code"]),
            (&json!("body.name"), &json!("UNKNOWN_FIELD")),
            "{path}"
        );
    }
    assert!(!directory.exists() || directory.read_dir().unwrap().next().is_none(), "nothing was done");
    for body in ["null", "{}"] {
        let json = [("content-type", "application/json")];
        let answer = client.send("POST", BACKUPS, &json, body.as_bytes()).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}

#[test]
fn backup_under_writes_holds_all_earlier_commits() {
    let (command, _) = with_directory();
    let server = command.start().unwrap();
    echo(&mut server.client(), "orders", json!({}));
    let (answered, done) = (AtomicU64::new(0), AtomicBool::new(false));
    let backup = thread::scope(|scope| {
        for _ in 0..4 {
            let mut client = server.client().keep_alive();
            let (answered, done) = (&answered, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let answer = client.json("POST", "/api/v1/data/orders", &json!({"n": 1})).unwrap();
                    assert_eq!(answer.status, 200, "{}", answer.text());
                    answered.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        crate::support::eventually(|| answered.load(Ordering::SeqCst) > 200);
        // Each answer above was sent after the commit of its trace.
        let before = i64::try_from(answered.load(Ordering::SeqCst)).unwrap();
        let backup = back_up(&server);
        done.store(true, Ordering::Relaxed);
        let file = PathBuf::from(backup["path"].as_str().unwrap());
        assert_eq!(integrity(&file), "ok");
        let rows = traces(&file);
        assert!(rows >= before, "{rows} rows of {before} committed before");
        assert_eq!(backup["size_bytes"], std::fs::metadata(&file).unwrap().len());
        file
    });
    let other = launch();
    let database = other.directory().join("svc.db");
    let restored = run(&database, &["restore", backup.to_str().unwrap()]);
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    let other = other.start().unwrap();
    let answer = other.client().json("POST", "/api/v1/data/orders", &json!({"n": 2})).unwrap();
    assert_eq!(answer.json()["data"]["input"], json!({"n": 2}), "{}", answer.text());
}

#[test]
fn backups_are_listed_pruned_audited_and_private() {
    let (command, directory) = with_directory();
    let server = command.env("SVC_STORAGE__BACKUP_RETENTION_COUNT", "2").start().unwrap();
    let mut client = server.client();
    assert_eq!(client.get(BACKUPS).unwrap().json()["data"], json!([]), "there is no directory yet");
    let answer = client.send("POST", &format!("{BACKUPS}?dry_run=true"), &[], b"").unwrap();
    assert_eq!(
        (answer.status, &answer.json()["data"]["valid"], directory.exists()),
        (200, &json!(true), false)
    );
    let backups: Vec<_> = (0..3).map(|_| back_up(&server)).collect();
    let names: Vec<_> = backups.iter().map(|file| file["filename"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), 3, "{names:?}");
    let listed = client.get(BACKUPS).unwrap().json()["data"].clone();
    let listed: Vec<_> = listed.as_array().unwrap().iter().map(|file| file["filename"].clone()).collect();
    assert_eq!(listed, [json!(names[2]), json!(names[1])]);
    let mode = std::fs::metadata(backups[2]["path"].as_str().unwrap()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let records = client.get("/api/v1/admin/audit-logs?resource_type=backup").unwrap().json();
    assert_eq!((&records["total"], &records["data"][0]["action"]), (&json!(3), &json!("create")));
    assert_eq!(records["data"][0]["resource_id"], json!(names[2]));
}

#[test]
fn scheduled_backup_is_made_checked_and_pruned() {
    let (command, directory) = with_directory();
    std::fs::create_dir(&directory).unwrap();
    // One of long ago: an instant of the schedule has passed since.
    for name in ["svc_backup_20200101_000000.db", "svc_backup_20200102_000000.db"] {
        let file = std::fs::File::create(directory.join(name)).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_577_836_800)).unwrap();
    }
    let command = command
        .env("SVC_BACKUPS__SCHEDULE", "@daily")
        .env("SVC_BACKUPS__KEEP", "2")
        .env("SVC_METRICS__ENABLED", "true");
    let server = command.start().unwrap();
    let mut client = server.client();
    let mark = directory.join("svc_backup_verified");
    crate::support::eventually(|| std::fs::read_to_string(&mark).is_ok_and(|text| !text.is_empty()));
    let listed = client.get(BACKUPS).unwrap().json()["data"].clone();
    let newest = listed[0]["filename"].as_str().unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    assert!(!newest.starts_with("svc_backup_2020"), "{listed}");
    assert_eq!(std::fs::read_to_string(&mark).unwrap(), newest);
    assert_eq!(integrity(&directory.join(newest)), "ok");
    // The restored copy is removed.
    crate::support::eventually(|| !directory.join("svc_backup_check").exists());
    let records = client.get("/api/v1/admin/audit-logs?resource_type=backup").unwrap().json();
    assert_eq!(records["data"][0]["principal"], "system:backups", "{records}");
    let metric = |text: &str, name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap_or("0");
        line.parse::<f64>().unwrap()
    };
    crate::support::eventually(|| {
        let text = server.client().get("/metrics").unwrap().text();
        let names = ["svc_backup_last_timestamp_seconds", "svc_backup_last_verified_timestamp_seconds"];
        names.iter().all(|name| metric(&text, name) > 1_600_000_000.0)
    });
    let text = server.client().get("/metrics").unwrap().text();
    assert_eq!(metric(&text, "svc_backup_verify_interval_seconds"), 7.0 * 86_400.0);
    assert!(metric(&text, "svc_backup_interval_seconds") >= 86_400.0, "{text}");
}

#[test]
fn unchecked_backups_have_no_time_of_a_check() {
    let (command, directory) = with_directory();
    std::fs::create_dir(&directory).unwrap();
    let settings =
        [("BACKUPS__SCHEDULE", "@daily"), ("BACKUPS__VERIFY_DAYS", "0"), ("METRICS__ENABLED", "true")];
    let command =
        settings.iter().fold(command, |command, (name, value)| command.env(&format!("SVC_{name}"), value));
    let server = command.start().unwrap();
    let metrics = || server.client().get("/metrics").unwrap().text();
    let newest = "\nsvc_backup_last_timestamp_seconds 1";
    crate::support::eventually(|| metrics().contains(newest));
    assert!(!metrics().contains("svc_backup_last_verified_timestamp_seconds"));
    assert!(!metrics().contains("svc_backup_verify_interval_seconds"));
    assert!(!directory.join("svc_backup_verified").exists());
}

#[test]
fn scheduled_backup_is_copied_to_an_object_store() {
    let Some(store) = ObjectStore::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    let (database, backups) = (directory.path().join("kept.db"), directory.path().join("backups"));
    let command = || {
        launch()
            .env("SVC_STORAGE__URL", &format!("sqlite:{}", database.display()))
            .env("SVC_STORAGE__BACKUP_DIR", backups.to_str().unwrap())
    };
    let server = command().start().unwrap();
    let config = json!({"endpoint": store.endpoint(), "region": "eu-central-1", "bucket": BUCKET, "access_key": KEY,
        "secret_key": SECRET, "force_path_style": true, "allow_private_urls": true});
    let body = json!({"name": "offsite", "connector_type": "storage", "config": config});
    let answer = server.client().json("POST", "/api/v1/admin/connectors", &body).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    drop(server);
    // No backup can be restored here to be checked, which keeps none from being copied.
    std::fs::create_dir_all(&backups).unwrap();
    std::fs::write(backups.join("svc_backup_check"), "no directory").unwrap();
    let scheduled = command().env("SVC_BACKUPS__SCHEDULE", "@daily").env("SVC_BACKUPS__TO", "offsite");
    let server = scheduled.start().unwrap();
    let mark = backups.join("svc_backup_copied");
    crate::support::eventually(|| mark.exists());
    let listed = server.client().get(BACKUPS).unwrap().json()["data"].clone();
    let newest = listed[0]["filename"].as_str().unwrap();
    let local = std::fs::read(backups.join(newest)).unwrap();
    assert!(store.object(newest).unwrap() == local, "the object is the backup");
    assert!(!backups.join("svc_backup_verified").exists(), "it was not checked");
}

#[test]
fn schedule_of_backups_is_refused_on_a_server() {
    let output = launch()
        .env("SVC_STORAGE__URL", "postgres://svc@127.0.0.1:1/svc")
        .env("SVC_BACKUPS__SCHEDULE", "@daily")
        .args(&["validate-config"])
        .run_to_end()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(78), "{text}");
    assert!(text.contains("backups.schedule") && text.contains("pg_dump"), "{text}");
}

#[test]
fn connectors_cannot_read_backups_nor_others_the_database() {
    let (command, directory) = with_directory();
    let database = command.directory().join("svc.db");
    let server = command.start().unwrap();
    let backup = back_up(&server);
    for file in
        [database.clone(), database.with_file_name("svc.db-wal"), database.with_file_name("svc.db-shm")]
    {
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
    let path = backup["path"].as_str().unwrap();
    for place in [path.to_owned(), directory.join("other.db").display().to_string()] {
        let config = json!({"connection_string": format!("sqlite:{place}")});
        let body = json!({"name": "peek", "connector_type": "db", "config": config});
        let refused = server.client().json("POST", "/api/v1/admin/connectors", &body).unwrap();
        let text = error(&refused, 400, "VALIDATION_ERROR").to_string();
        assert!(text.contains("a backup of it"), "{place}: {text}");
    }
}

#[test]
fn unwritable_backup_leaves_nothing_and_names_reason() {
    let command = launch();
    let blocked = command.directory().join("file");
    std::fs::write(&blocked, "no directory").unwrap();
    let server = command.env("SVC_STORAGE__BACKUP_DIR", blocked.to_str().unwrap()).start().unwrap();
    let refused = server.client().send("POST", BACKUPS, &[], b"").unwrap();
    let refused = error(&refused, 500, "STORAGE_ERROR");
    assert!(refused["message"].as_str().unwrap().contains("no backup was made"), "{refused}");
    let records = server.client().get("/api/v1/admin/audit-logs?resource_type=backup").unwrap().json();
    assert_eq!(records["total"], 0);
}

#[test]
fn server_database_refuses_backups_and_names_its_own_tools() {
    let Some(postgres) = Postgres::shared() else { return };
    let database = postgres.database().unwrap();
    let server = launch().env("SVC_STORAGE__URL", database.url()).start().unwrap();
    for method in ["GET", "POST"] {
        let refused =
            error(&server.client().send(method, BACKUPS, &[], b"").unwrap(), 400, "VALIDATION_ERROR");
        assert!(refused["message"].as_str().unwrap().contains("pg_dump"), "{refused}");
    }
    for args in [&["backup"][..], &["restore", "none.db"]] {
        let output = launch().env("SVC_STORAGE__URL", database.url()).args(args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(78), "{text}");
        assert!(text.contains("pg_dump"), "{text}");
    }
}

#[test]
fn commands_copy_and_restore_and_keep_what_they_replace() {
    let mut server = start();
    echo(&mut server.client(), "orders", json!({}));
    let directory = server.directory().to_owned();
    let (database, copy) = (directory.join("svc.db"), directory.join("copy.db"));
    let copied = run(&database, &["backup", "--output", copy.to_str().unwrap()]);
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    assert_eq!(String::from_utf8_lossy(&copied.stdout).trim(), copy.to_str().unwrap());
    let again = run(&database, &["backup", "--output", copy.to_str().unwrap()]);
    assert_eq!(again.status.code(), Some(1), "a file is never overwritten");
    let refused = run(&database, &["restore", copy.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is in use by"), "the server runs");
    echo(&mut server.client(), "later", json!({}));
    server.signal("TERM").unwrap();
    server.wait(Duration::from_secs(30)).unwrap();
    let restored = run(&database, &["restore", copy.to_str().unwrap()]);
    let notes = String::from_utf8_lossy(&restored.stderr).into_owned();
    assert!(restored.status.success(), "{notes}");
    let aside = notes.split("is now ").nth(1).expect("the replaced file is named").trim().to_owned();
    assert_eq!(integrity(Path::new(&aside)), "ok");
    let mut conn = open_database(Path::new(&aside));
    let count: NumberCell =
        diesel::sql_query("SELECT count(*) AS cell FROM definitions WHERE kind = 'channel'")
            .get_result(&mut conn)
            .unwrap();
    assert_eq!(count.cell, 2, "the replaced database is whole");
    let server = server.crash_and_restart().unwrap();
    let channels = server.client().get("/api/v1/admin/channels").unwrap().json();
    assert_eq!((&channels["total"], &channels["data"][0]["name"]), (&json!(1), &json!("orders")));
}

#[test]
fn foreign_backup_file_changes_nothing() {
    let mut server = start();
    echo(&mut server.client(), "orders", json!({}));
    let directory = server.directory().to_owned();
    let database = directory.join("svc.db");
    let good = directory.join("good.db");
    assert!(run(&database, &["backup", "-o", good.to_str().unwrap()]).status.success());
    server.signal("TERM").unwrap();
    server.wait(Duration::from_secs(30)).unwrap();
    let file = |name: &str, make: &dyn Fn(&Path)| {
        let path = directory.join(name);
        make(&path);
        path
    };
    let foreign = file("foreign.db", &|path| {
        let mut conn = open_database(path);
        conn.batch_execute("CREATE TABLE notes (text TEXT)").unwrap();
    });
    let newer = file("newer.db", &|path| {
        std::fs::copy(&good, path).unwrap();
        let mut conn = open_database(path);
        let migration = "INSERT INTO __diesel_schema_migrations (version) VALUES ('20991231000001')";
        conn.batch_execute(migration).unwrap();
    });
    let damaged = file("damaged.db", &|path| {
        let mut bytes = std::fs::read(&good).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..].fill(0xA5);
        std::fs::write(path, bytes).unwrap();
    });
    let text =
        file("text.db", &|path| std::fs::write(path, "this is a text of some length, no database").unwrap());
    let before = std::fs::read(&database).unwrap();
    for (path, word) in [
        (&foreign, "holds no table of this service"),
        (&newer, "newer version of this program"),
        (&damaged, "damaged.db"),
        (&text, "text.db"),
        (&directory.join("absent.db"), "there is no such file"),
        (&database, "the database itself"),
    ] {
        let refused = run(&database, &["restore", path.to_str().unwrap()]);
        let text = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{text}");
        assert!(text.starts_with("Error: ") && text.contains(word), "{word}: {text}");
    }
    assert_eq!(std::fs::read(&database).unwrap(), before);
    let left: Vec<_> =
        std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("restore-")), "{left:?}");
}
