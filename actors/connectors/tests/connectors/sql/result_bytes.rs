//! Results are bounded in bytes while their rows arrive.

use serde_json::{Value, json};

use super::{Base, Kind, read, write};
use crate::kit::run;

/// Bytes of this process that are in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = status.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// A query of so many rows, each of a text of so many bytes.
fn texts(kind: Kind, rows: u64, bytes: u64) -> String {
    match kind {
        Kind::Postgres => format!("SELECT repeat('x', {bytes}) AS v FROM generate_series(1, {rows})"),
        Kind::MariaDb => format!("SELECT REPEAT('x', {bytes}) AS v FROM seq_1_to_{rows}"),
        Kind::Sqlite => format!(
            "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {rows})
             SELECT printf('%.*c', {bytes}, 'x') AS v FROM s"
        ),
    }
}

#[test]
fn oversized_result_fails_before_it_is_fetched() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({"max_connections": 1})).await;
            read(world, "SELECT 1 AS a", json!([])).await.unwrap();
            let before = resident();
            // 10 GB in all.
            let error = read(world, &texts(base.kind, 1000, 10_000_000), json!([])).await.unwrap_err();
            let grown = resident().saturating_sub(before);
            assert_eq!(error.code.name(), "VALIDATION_ERROR", "{:?}: {error:?}", base.kind);
            let due = "connector 'c': the result takes more than 67108864 bytes";
            assert!(error.message.starts_with(due), "{}", error.message);
            // The bound, a row on its way in several buffers, and what the allocator keeps.
            assert!(grown < 320 << 20, "{:?}: grown by {} MiB", base.kind, grown >> 20);
            assert_eq!(read(world, "SELECT 1 AS a", json!([])).await.unwrap(), json!([{"a": 1}]));
            let rows = read(world, &texts(base.kind, 3, 10_000_000), json!([])).await.unwrap();
            assert_eq!(rows.as_array().map(Vec::len), Some(3), "{:?}", base.kind);
        }
    });
}

#[test]
fn a_connector_may_bound_its_results_further() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({"max_connections": 1, "max_result_bytes": 10_000})).await;
            let error = read(world, &texts(base.kind, 20, 1000), json!([])).await.unwrap_err();
            assert!(error.message.contains("more than 10000 bytes"), "{}", error.message);
            assert!(read(world, &texts(base.kind, 5, 1000), json!([])).await.is_ok(), "{:?}", base.kind);
            // Many small values take more memory than their digits.
            let error = read(world, &texts(base.kind, 200, 1), json!([])).await.unwrap_err();
            assert!(error.message.contains("more than 10000 bytes"), "{}", error.message);
            // Rows that a write answers are bounded as well, and then nothing is written.
            write(world, "CREATE TABLE t (a VARCHAR(2000))", json!([])).await.unwrap();
            let insert = base.sql("INSERT INTO t VALUES (?)");
            for _ in 0..12 {
                write(world, &insert, json!(["x".repeat(1000)])).await.unwrap();
            }
            if base.kind != Kind::MariaDb {
                let update = json!({"connector": "c", "schema": {"unmapped": "identity"}, "write": {
                    "op": "update", "target": "t", "set": {"a": "y"},
                    "filter": {"!=": [{"field": "a"}, "z"]}, "returning": ["a"],
                }});
                assert!(world.task("data_write", update.clone(), Value::Null).await.failure.is_none());
                let long = json!("y".repeat(1000));
                let mut update = update;
                update["write"]["set"]["a"] = long;
                let error = world.task_error("data_write", update, Value::Null).await;
                assert!(
                    error.message.contains("more than 10000 bytes"),
                    "{:?}: {}",
                    base.kind,
                    error.message
                );
                let rows = read(world, "SELECT count(*) AS n FROM t WHERE a = 'y'", json!([])).await.unwrap();
                assert_eq!(rows, json!([{"n": 12}]), "{:?}", base.kind);
            }
        }
    });
}
