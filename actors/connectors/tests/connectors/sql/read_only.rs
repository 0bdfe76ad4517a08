//! `db_read` changes nothing.

use serde_json::{Value, json};

use super::{Base, Kind, read, write};
use crate::kit::{ConnectorWorld, run};

/// Statements that write, by whatever way. `{dir}` is a directory of the test's own.
fn writes(kind: Kind) -> Vec<&'static str> {
    let mut statements = vec![
        "DELETE FROM t",
        "UPDATE t SET a = 9",
        "INSERT INTO t VALUES (9)",
        "DROP TABLE t",
        "CREATE TABLE u (a INTEGER)",
        "ALTER TABLE t ADD COLUMN b INTEGER",
        "/* read */ DELETE FROM t",
        "-- read\nDELETE FROM t",
        "; DELETE FROM t",
        "SELECT 1; DELETE FROM t",
        "COMMIT; DELETE FROM t",
        "COMMIT",
        "ROLLBACK",
    ];
    statements.extend(match kind {
        Kind::Postgres => vec![
            "DELETE FROM t RETURNING a",
            "INSERT INTO t VALUES (9) RETURNING a",
            "WITH gone AS (DELETE FROM t RETURNING a) SELECT * FROM gone",
            "WITH new AS (INSERT INTO t VALUES (9) RETURNING a) SELECT * FROM new",
            "EXPLAIN ANALYZE DELETE FROM t",
            "EXPLAIN (ANALYZE, FORMAT JSON) UPDATE t SET a = 9",
            "SELECT * INTO u FROM t",
            "SELECT * INTO TEMP u FROM t",
            "CREATE TEMP TABLE u (a INTEGER)",
            "SELECT writes()",
            "SELECT * FROM writes()",
            "CALL commits()",
            "DO $$ BEGIN COMMIT; DELETE FROM t; END $$",
            "SELECT nextval('s')",
            "SELECT setval('s', 100)",
            "SELECT a FROM t FOR UPDATE",
            "SET TRANSACTION READ WRITE",
            "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
            "SELECT set_config('transaction_read_only', 'off', false)",
            "TRUNCATE t",
            "MERGE INTO t USING (SELECT 9 AS a) x ON t.a = x.a WHEN NOT MATCHED THEN INSERT VALUES (9)",
            "COPY t TO '/tmp/svc_read_only_probe'",
            "COPY t FROM PROGRAM 'echo 9'",
            "VACUUM t",
            "REFRESH MATERIALIZED VIEW m",
            "LOCK TABLE t",
            "GRANT ALL ON t TO PUBLIC",
        ],
        Kind::MariaDb => vec![
            "INSERT INTO t VALUES (9) RETURNING a",
            "DELETE FROM t RETURNING a",
            "REPLACE INTO t VALUES (9)",
            "SELECT writes()",
            "CALL commits()",
            "SELECT a FROM t INTO OUTFILE '/tmp/svc_read_only_probe'",
            "SELECT '\"', a FROM t LIMIT 1 INTO DUMPFILE '/tmp/svc_read_only_probe'",
            "SELECT NEXT VALUE FOR s",
            "SELECT NEXTVAL(s)",
            "SELECT SETVAL(s, 100)",
            "CREATE TEMPORARY TABLE u (a INTEGER)",
            "TRUNCATE TABLE t",
            "SET TRANSACTION READ WRITE",
            "SET SESSION TRANSACTION READ WRITE",
            "SET STATEMENT tx_read_only = 0 FOR DELETE FROM t",
            "ANALYZE DELETE FROM t",
            "EXECUTE IMMEDIATE 'DELETE FROM t'",
            "BEGIN NOT ATOMIC COMMIT; DELETE FROM t; END",
            "/*! DELETE FROM t */",
            "/*M! DELETE FROM t */",
            "SELECT 1 /*! INTO OUTFILE '/tmp/svc_read_only_probe' */",
            "SELECT a FROM t FOR UPDATE",
            "LOCK TABLES t WRITE",
            "LOAD DATA INFILE '/etc/hostname' INTO TABLE t",
            "GRANT ALL ON *.* TO svc_nobody",
            "FLUSH TABLES",
        ],
        Kind::Sqlite => vec![
            "INSERT INTO t VALUES (9) RETURNING a",
            "DELETE FROM t RETURNING a",
            "WITH x AS (SELECT 9) INSERT INTO t SELECT * FROM x",
            "WITH x AS (SELECT 9) DELETE FROM t",
            "REPLACE INTO t VALUES (9)",
            "PRAGMA query_only = 0",
            "PRAGMA query_only(0)",
            "PRAGMA user_version = 7",
            "PRAGMA user_version(7)",
            "PRAGMA writable_schema = 1",
            "PRAGMA journal_mode = DELETE",
            "PRAGMA wal_checkpoint",
            "PRAGMA incremental_vacuum",
            "ATTACH 'x.db' AS x",
            "VACUUM",
            "VACUUM INTO 'x.db'",
            "REINDEX",
            "ANALYZE",
            "CREATE TEMP TABLE u (a)",
        ],
    });
    statements
}

/// The state that the statements above would change.
async fn state(world: &ConnectorWorld, kind: Kind) -> Value {
    let rows = read(world, "SELECT a FROM t ORDER BY a", json!([])).await.unwrap();
    let more = match kind {
        Kind::Postgres => {
            "SELECT last_value, is_called, (SELECT count(*) FROM pg_class WHERE relname IN ('u', 't')) AS tables,
                    (SELECT count(*) FROM pg_attribute WHERE attrelid = 't'::regclass AND attnum > 0) AS columns
             FROM s"
        }
        Kind::MariaDb => {
            "SELECT next_not_cached_value AS n, (SELECT count(*) FROM information_schema.tables
             WHERE table_schema = database() AND table_name IN ('t', 'u')) AS tables,
             (SELECT count(*) FROM information_schema.columns
             WHERE table_schema = database() AND table_name = 't') AS columns FROM s"
        }
        Kind::Sqlite => {
            "SELECT group_concat(sql) AS tables, (SELECT user_version FROM pragma_user_version) AS version,
                    (SELECT journal_mode FROM pragma_journal_mode) AS journal FROM sqlite_schema"
        }
    };
    json!([rows, read(world, more, json!([])).await.unwrap()])
}

async fn prepare(world: &ConnectorWorld, kind: Kind) {
    let mut statements = vec!["CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1), (2)"];
    statements.extend(match kind {
        Kind::Postgres => vec![
            "CREATE SEQUENCE s",
            "CREATE MATERIALIZED VIEW m AS SELECT a FROM t",
            "CREATE FUNCTION writes() RETURNS INTEGER LANGUAGE plpgsql VOLATILE AS
             $$ BEGIN DELETE FROM t; RETURN 1; END $$",
            "CREATE PROCEDURE commits() LANGUAGE plpgsql AS $$ BEGIN COMMIT; DELETE FROM t; END $$",
        ],
        Kind::MariaDb => vec![
            "CREATE SEQUENCE s",
            "CREATE FUNCTION writes() RETURNS INTEGER BEGIN DELETE FROM t; RETURN 1; END",
            "CREATE PROCEDURE commits() BEGIN COMMIT; DELETE FROM t; END",
        ],
        Kind::Sqlite => Vec::new(),
    });
    for statement in statements {
        write(world, statement, json!([])).await.unwrap();
    }
}

#[test]
fn db_read_refuses_every_statement_that_writes() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({"max_connections": 1})).await;
            prepare(world, base.kind).await;
            let before = state(world, base.kind).await;
            for statement in writes(base.kind) {
                let outcome = read(world, statement, json!([])).await;
                let error = outcome.expect_err(&format!("{:?}: {statement}", base.kind));
                let expected = ["FUNCTION_ERROR", "VALIDATION_ERROR"];
                assert!(expected.contains(&error.code.name()), "{:?} {statement}: {error:?}", base.kind);
                assert!(!error.retryable(), "{:?} {statement}: {error:?}", base.kind);
                assert_eq!(state(world, base.kind).await, before, "{:?}: {statement}", base.kind);
            }
            assert!(!std::path::Path::new("/tmp/svc_read_only_probe").exists());
            // The connection serves writes as before.
            assert_eq!(write(world, "DELETE FROM t", json!([])).await.unwrap(), 2, "{:?}", base.kind);
        }
    });
}

#[test]
fn write_by_db_read_has_its_own_error() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(
                world,
                json!({"operations": {
                    "raw_write": true, "insert": false, "update": false, "delete": false, "upsert": false,
                }}),
            )
            .await;
            prepare(world, base.kind).await;
            let hidden = match base.kind {
                Kind::Postgres | Kind::MariaDb => "SELECT writes()",
                Kind::Sqlite => "WITH x AS (SELECT 9) DELETE FROM t",
            };
            for statement in ["DELETE FROM t", hidden] {
                let error = read(world, statement, json!([])).await.unwrap_err();
                assert_eq!(error.code.name(), "FUNCTION_ERROR", "{:?} {statement}", base.kind);
                assert!(error.message.contains("db_write"), "{:?}: {}", base.kind, error.message);
            }
        }
    });
}

#[test]
fn side_effects_of_a_read_are_undone() {
    run(async |world| {
        let Some(mut base) = Base::new(Kind::Postgres) else { return };
        base.connect(world, json!({"max_connections": 1})).await;
        let value = async |query: &str| read(world, query, json!([])).await.unwrap()[0]["v"].clone();
        let who = "SELECT pg_backend_pid() AS v";
        let (first, hidden) = (
            value(who).await,
            "CREATE FUNCTION sets() RETURNS TEXT LANGUAGE sql AS
            $$ SELECT set_config('default_transaction_read_only', 'off', false) $$",
        );
        write(world, hidden, json!([])).await.unwrap();
        let second = value(who).await;
        assert_ne!(
            first, second,
            "a connection whose session a statement may have changed is not used again"
        );
        assert_eq!(value("SELECT sets() AS v").await, "off");
        assert_eq!(value(who).await, second, "the function is not seen to set anything");
        let shown = "SELECT current_setting('transaction_read_only') AS v";
        assert_eq!(value(shown).await, "on");
    });
}

#[test]
fn reads_of_every_form_are_taken() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({"max_connections": 1})).await;
            prepare(world, base.kind).await;
            let mut reads = vec![
                "SELECT count(*) AS n FROM t",
                "(SELECT a FROM t) UNION (SELECT 5)",
                "WITH x AS (SELECT a FROM t) SELECT a FROM x",
                "VALUES (1), (2)",
                "EXPLAIN SELECT a FROM t",
            ];
            match base.kind {
                Kind::Postgres => reads.extend(["TABLE t", "SHOW search_path", "EXPLAIN ANALYZE SELECT 1"]),
                Kind::MariaDb => reads.extend(["SHOW TABLES", "DESCRIBE t"]),
                Kind::Sqlite => {
                    reads.remove(1);
                    reads.extend(["PRAGMA table_info(t)", "EXPLAIN DELETE FROM t", "PRAGMA user_version"]);
                }
            }
            for query in reads {
                let rows = read(world, query, json!([])).await;
                assert!(rows.is_ok(), "{:?} {query}: {rows:?}", base.kind);
            }
        }
    });
}
