//! The forms of results: decimals as numbers or texts, keys of inserted rows.

use serde_json::{Value, json};

use super::{Base, Kind, task, write};
use crate::kit::{ConnectorWorld, run};

async fn insert(world: &ConnectorWorld, query: &str) -> Value {
    task(world, "db_write", query, json!([])).await.unwrap()
}

#[test]
fn decimals_are_numbers_or_exact_texts() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({})).await;
            write(world, "CREATE TABLE t (id INT PRIMARY KEY, d DECIMAL(30, 2), i BIGINT)", json!([]))
                .await
                .unwrap();
            // SQLite keeps a decimal as a double.
            let digits = if base.kind == Kind::Sqlite { "12.75" } else { "1234567890123456789012345678.10" };
            write(world, &format!("INSERT INTO t VALUES (1, {digits}, 7)"), json!([])).await.unwrap();
            for (form, expected) in [("number", Value::Null), ("text", json!(digits))] {
                let db = json!({"connector": "c", "query": "SELECT d, i FROM t", "numeric_as": form, "output": "data.r"});
                let document = json!({"source": "t", "fields": ["d", "i"]});
                let query =
                    json!({"connector": "c", "query": document, "numeric_as": form, "output": "data.r"});
                for (function, input) in [("db_read", db), ("data_query", query)] {
                    let data = world.run_task(function, input, Value::Null).await;
                    let row = &data["r"][0];
                    assert_eq!(row["i"], 7, "{:?}: integers are numbers", base.kind);
                    match form {
                        "text" => assert_eq!(row["d"], expected, "{:?} {function}", base.kind),
                        _ => assert!(row["d"].is_number(), "{:?} {function}: {row}", base.kind),
                    }
                }
            }
            let input = json!({"connector": "c", "query": "SELECT 1", "numeric_as": "string"});
            assert_eq!(world.problems("db_read", input), ["numeric_as INVALID"]);
        }
    });
}

#[test]
fn inserted_row_reports_its_key() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({})).await;
            let key = match base.kind {
                Kind::Postgres => "SERIAL PRIMARY KEY",
                Kind::MariaDb => "INT AUTO_INCREMENT PRIMARY KEY",
                Kind::Sqlite => "INTEGER PRIMARY KEY",
            };
            write(world, &format!("CREATE TABLE t (id {key}, a INT UNIQUE)"), json!([])).await.unwrap();
            for (number, a) in [(1, 5), (2, 6)] {
                let written = insert(world, &format!("INSERT INTO t (a) VALUES ({a})")).await;
                let expected = match base.kind {
                    Kind::Postgres => json!({"rows_affected": 1}),
                    _ => json!({"rows_affected": 1, "last_insert_id": number}),
                };
                assert_eq!(written, expected, "{:?}", base.kind);
            }
            for other in ["UPDATE t SET a = 7 WHERE a = 6", "DELETE FROM t WHERE a = 7"] {
                assert_eq!(
                    insert(world, other).await,
                    json!({"rows_affected": 1}),
                    "{:?}: {other}",
                    base.kind
                );
            }
            let nothing = insert(world, "INSERT INTO t (a) SELECT a FROM t WHERE a = 99").await;
            assert_eq!(nothing, json!({"rows_affected": 0}), "{:?}: no row, no key", base.kind);
        }
    });
}

#[test]
fn keyless_sqlite_table_reports_no_key() {
    run(async |world| {
        let mut base = Base::new(Kind::Sqlite).unwrap();
        base.connect(world, json!({})).await;
        for table in [
            "CREATE TABLE log (id INTEGER PRIMARY KEY, k TEXT)",
            "CREATE TABLE t (k TEXT PRIMARY KEY) WITHOUT ROWID",
            "CREATE TRIGGER logged AFTER INSERT ON t BEGIN INSERT INTO log (k) VALUES (new.k); END",
        ] {
            write(world, table, json!([])).await.unwrap();
        }
        assert_eq!(insert(world, "INSERT INTO log (k) VALUES ('x')").await["last_insert_id"], 1);
        assert_eq!(insert(world, "INSERT INTO t VALUES ('y')").await, json!({"rows_affected": 1}));
        let replaced = insert(world, "REPLACE INTO log (id, k) VALUES (9, 'z')").await;
        assert_eq!(replaced, json!({"rows_affected": 1, "last_insert_id": 9}));
    });
}
