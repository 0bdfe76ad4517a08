//! Nodes of a release on the schema of the release after it, which has migrations that they do not know.

use serde_json::json;
use svc_testkit::postgres::PostgresDatabase;

use super::{database, node, post};
use crate::support::echo;

/// The version of a migration of a later release.
const LATER: &str = "29991231000000";

/// Applies a migration that this program does not know: a table, and a column with a default in each of two tables that
/// nodes write all the time. `requires` is the version that a program must know.
fn migrate_later(database: &PostgresDatabase, requires: Option<&str>) {
    let requires = requires.map_or("NULL".to_owned(), |version| format!("'{version}'"));
    database
        .rows(&format!(
            "CREATE TABLE later (id TEXT PRIMARY KEY); \
             ALTER TABLE nodes ADD COLUMN later BIGINT NOT NULL DEFAULT 7; \
             ALTER TABLE traces ADD COLUMN later TEXT; \
             INSERT INTO __diesel_schema_migrations (version) VALUES ('{LATER}'); \
             INSERT INTO migration_checksums (version, checksum, requires) VALUES ('{LATER}', 'later', {requires})"
        ))
        .unwrap();
}

#[test]
fn node_runs_on_schema_of_next_release() {
    let Some((_postgres, database)) = database() else { return };
    let first = node(&database).start().unwrap();
    echo(&mut first.client(), "orders", json!({}));
    migrate_later(&database, None);
    assert_eq!(post(&mut first.client(), "orders"), 200, "the node that runs goes on");
    for auto_migrate in ["true", "false"] {
        let second = node(&database).env("SVC_STORAGE__AUTO_MIGRATE", auto_migrate).start().unwrap();
        second.wait_for_log(&["a newer program has migrated the database", LATER]).unwrap();
        let accepted = second.client().json("POST", "/api/v1/data/orders/async", &json!({"n": 1})).unwrap();
        assert_eq!(accepted.status, 202, "{}", accepted.text());
        crate::support::eventually(|| {
            let done = "SELECT 1 FROM traces WHERE mode = 'async' AND status <> 'completed'";
            database.rows(done).unwrap().is_empty()
        });
        assert_eq!(post(&mut second.client(), "orders"), 200);
    }
    let pending = node(&database).args(&["migrate"]).run_to_end().unwrap();
    assert!(pending.status.success() && pending.stdout.is_empty(), "nothing is to be migrated");
}

#[test]
fn node_behind_the_schema_refuses_to_start() {
    let Some((_postgres, database)) = database() else { return };
    assert!(node(&database).args(&["migrate"]).run_to_end().unwrap().status.success());
    migrate_later(&database, Some("29991230000000"));
    let refused = node(&database).run_to_end().unwrap();
    let stderr = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains(LATER) && stderr.contains("newer"), "{stderr}");
}
