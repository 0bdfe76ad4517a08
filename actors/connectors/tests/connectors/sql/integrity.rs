//! Violations of constraints are distinguished by their codes, and repeat no value.

use serde_json::json;

use super::{Base, Kind, read, write};
use crate::kit::run;

const SECRET: &str = "swordfish";

#[test]
fn violations_of_constraints_have_codes_of_their_own() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({"max_connections": 1})).await;
            for made in [
                "CREATE TABLE parent (id INTEGER PRIMARY KEY)",
                "CREATE TABLE t (id VARCHAR(40) PRIMARY KEY, mail VARCHAR(40) UNIQUE, age INTEGER NOT NULL,
                 parent INTEGER, CHECK (age > 0), FOREIGN KEY (parent) REFERENCES parent (id))",
                "INSERT INTO parent VALUES (1)",
                "INSERT INTO t VALUES ('swordfish', 'swordfish', 1, 1)",
            ] {
                write(world, made, json!([])).await.unwrap();
            }
            let insert = base.sql("INSERT INTO t (id, mail, age, parent) VALUES (?, ?, ?, ?)");
            for (params, code) in [
                (json!([SECRET, "b", 1, 1]), "integrity_unique"),
                (json!(["b", SECRET, 1, 1]), "integrity_unique"),
                (json!([SECRET.repeat(2), "b", 1, 2]), "integrity_foreign_key"),
                (json!([SECRET.repeat(2), "b", null, 1]), "integrity_not_null"),
                (json!([SECRET.repeat(2), "b", -5, 1]), "integrity_check"),
            ] {
                let error = write(world, &insert, params).await.unwrap_err();
                assert_eq!(error.code.name(), code, "{:?}: {error:?}", base.kind);
                assert!(!error.retryable());
                assert!(!format!("{error:?}").contains(SECRET), "{:?}: {error:?}", base.kind);
            }
            let error = write(world, "DELETE FROM parent", json!([])).await.unwrap_err();
            assert_eq!(error.code.name(), "integrity_foreign_key", "{:?}: {error:?}", base.kind);
            let missing = base.sql("INSERT INTO t (id) VALUES (?)");
            let error = write(world, &missing, json!(["c"])).await.unwrap_err();
            assert_eq!(error.code.name(), "integrity_not_null", "{:?}: {error:?}", base.kind);
            let rows = read(world, "SELECT count(*) AS n FROM t", json!([])).await.unwrap();
            assert_eq!(rows, json!([{"n": 1}]), "{:?}", base.kind);
        }
    });
}

#[test]
fn documents_and_deferred_constraints_are_told_alike() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({"max_connections": 1})).await;
            let deferred = if base.kind == Kind::MariaDb { "" } else { "DEFERRABLE INITIALLY DEFERRED" };
            write(world, "CREATE TABLE parent (id INTEGER PRIMARY KEY)", json!([])).await.unwrap();
            let child = format!(
                "CREATE TABLE t (id INTEGER PRIMARY KEY, parent INTEGER,
                 FOREIGN KEY (parent) REFERENCES parent (id) {deferred})"
            );
            write(world, &child, json!([])).await.unwrap();
            let schema = json!({"unmapped": "identity"});
            for (values, code) in [
                (json!([{"id": 1, "parent": null}, {"id": 1, "parent": null}]), "integrity_unique"),
                (json!([{"id": 2, "parent": 9}]), "integrity_foreign_key"),
            ] {
                let input = json!({
                    "connector": "c", "schema": schema, "write": {"op": "insert", "target": "t", "values": values},
                });
                let error = world.task_error("data_write", input, json!(null)).await;
                assert_eq!(error.code.name(), code, "{:?}: {error:?}", base.kind);
            }
            let rows = read(world, "SELECT count(*) AS n FROM t", json!([])).await.unwrap();
            assert_eq!(rows, json!([{"n": 0}]), "{:?}", base.kind);
        }
    });
}
