//! State that a statement leaves in its session ends with the task.

use serde_json::{Value, json};
use svc_testkit::state::eventually;

use super::{Base, Kind, config, read, write};
use crate::kit::{ConnectorWorld, run};

/// Asks over a connector, and answers the column `v` of the first row.
async fn query_value(world: &ConnectorWorld, connector: &str, query: &str) -> Value {
    let input = json!({"connector": connector, "query": query, "output": "data.rows"});
    let outcome = world.task("db_read", input, Value::Null).await;
    assert!(outcome.failure.is_none(), "{query}: {:?}", outcome.failure);
    outcome.message.data["rows"][0]["v"].clone()
}

/// Each statement, what asks whether it left something, and the answer if it did not.
fn traces(kind: Kind) -> Vec<(&'static str, &'static str, Value)> {
    match kind {
        Kind::Postgres => {
            let path = "SELECT current_setting('search_path') AS v";
            let usual = json!("\"$user\", public");
            vec![
                ("SET search_path TO pg_catalog", path, usual.clone()),
                ("SELECT set_config('search_path', 'pg_catalog', false)", path, usual.clone()),
                ("UPDATE pg_settings SET setting = 'pg_catalog' WHERE name = 'search_path'", path, usual),
                (
                    "SET default_transaction_read_only = on",
                    "SELECT current_setting('default_transaction_read_only') AS v",
                    json!("off"),
                ),
                ("CREATE TEMP TABLE x (a int)", "SELECT to_regclass('pg_temp.x')::text AS v", json!(null)),
                ("SELECT 1 AS a INTO TEMPORARY x", "SELECT to_regclass('pg_temp.x')::text AS v", json!(null)),
                ("LISTEN x", "SELECT count(*) AS v FROM pg_listening_channels()", json!(0)),
                (
                    "PREPARE p AS SELECT 1",
                    "SELECT count(*) AS v FROM pg_prepared_statements WHERE from_sql",
                    json!(0),
                ),
            ]
        }
        Kind::MariaDb => vec![
            ("SET autocommit = 0", "SELECT @@autocommit AS v", json!(1)),
            ("/*! SET autocommit = 0 */", "SELECT @@autocommit AS v", json!(1)),
            ("SET time_zone = '+05:00'", "SELECT @@time_zone AS v", json!("+00:00")),
            ("SET SESSION TRANSACTION READ ONLY", "SELECT @@tx_read_only AS v", json!(0)),
            ("SET @v = 5", "SELECT @v AS v", json!(null)),
            ("SELECT 5 INTO @v", "SELECT @v AS v", json!(null)),
            ("USE mysql", "SELECT database() = 'mysql' AS v", json!(0)),
        ],
        Kind::Sqlite => vec![
            ("PRAGMA foreign_keys = off", "SELECT foreign_keys AS v FROM pragma_foreign_keys", json!(1)),
            ("CREATE TEMP TABLE x (a)", "SELECT count(*) AS v FROM sqlite_temp_schema", json!(0)),
        ],
    }
}

#[test]
fn nothing_stays_behind_in_a_session() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({"max_connections": 1})).await;
            for (statement, question, expected) in traces(base.kind) {
                query_value(world, "c", "SELECT 1 AS v").await;
                write(world, statement, json!([])).await.unwrap();
                assert_eq!(query_value(world, "c", question).await, expected, "{:?}: {statement}", base.kind);
            }
        }
    });
}

#[test]
fn locks_end_with_the_task_that_took_them() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({"max_connections": 1})).await;
            write(world, "CREATE TABLE t (a INTEGER)", json!([])).await.unwrap();
            world.put("other", "db", true, config(&base.url, json!({}))).await;
            let locks = match base.kind {
                Kind::Postgres => vec![(
                    "SELECT pg_advisory_lock(7)",
                    "SELECT count(*) AS v FROM pg_locks JOIN pg_database d ON d.oid = database
                     WHERE locktype = 'advisory' AND datname = current_database()",
                )],
                Kind::MariaDb => vec![
                    (
                        "SELECT GET_LOCK('svc_sessions', 1)",
                        "SELECT IS_USED_LOCK('svc_sessions') IS NOT NULL AS v",
                    ),
                    ("LOCK TABLES t WRITE", "SELECT count(*) AS v FROM t"),
                ],
                Kind::Sqlite => Vec::new(),
            };
            for (lock, held) in locks {
                write(world, lock, json!([])).await.unwrap();
                // The server takes a moment to see that the session is over.
                let is_free = async || query_value(world, "other", held).await == json!(0);
                eventually("the lock is free", is_free).await;
            }
        }
    });
}

#[test]
fn session_setting_loses_no_write_of_next_task() {
    run(async |world| {
        let Some(mut base) = Base::new(Kind::MariaDb) else { return };
        base.connect(world, json!({"max_connections": 1})).await;
        world.put("other", "db", true, config(&base.url, json!({}))).await;
        write(world, "CREATE TABLE t (a INTEGER)", json!([])).await.unwrap();
        write(world, "SET autocommit = 0", json!([])).await.unwrap();
        assert_eq!(write(world, "INSERT INTO t VALUES (1)", json!([])).await.unwrap(), 1);
        assert_eq!(query_value(world, "other", "SELECT count(*) AS v FROM t").await, json!(1));
    });
}

#[test]
fn connection_is_reused_after_row_statements_only() {
    run(async |world| {
        for mut base in Base::all().filter(|base| base.kind != Kind::Sqlite) {
            base.connect(world, json!({"max_connections": 1})).await;
            write(world, "CREATE TABLE t (a INTEGER)", json!([])).await.unwrap();
            let who = match base.kind {
                Kind::Postgres => "SELECT pg_backend_pid() AS v",
                _ => "SELECT connection_id() AS v",
            };
            let first = query_value(world, "c", who).await;
            for statement in [
                "INSERT INTO t VALUES (1)",
                "-- a comment\n UPDATE t SET a = 2",
                "(SELECT a FROM t) UNION SELECT 5",
                "WITH x AS (SELECT 1 AS a) SELECT a FROM x",
                "DELETE FROM t",
                "TRUNCATE TABLE t",
            ] {
                write(world, statement, json!([])).await.unwrap();
                assert_eq!(query_value(world, "c", who).await, first, "{:?}: {statement}", base.kind);
            }
            write(world, "ALTER TABLE t ADD b INTEGER", json!([])).await.unwrap();
            assert_ne!(query_value(world, "c", who).await, first, "{:?}", base.kind);
        }
    });
}

#[test]
fn waiting_call_is_served_after_connection_closes() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({"max_connections": 1})).await;
            let change = match base.kind {
                Kind::Postgres => "SET application_name = 'x'",
                Kind::MariaDb => "SET @x = 1",
                Kind::Sqlite => "PRAGMA cache_size = 10",
            };
            let all = futures_util::future::join_all((0..12).map(|_| write(world, change, json!([]))));
            let all = all.await;
            assert!(all.iter().all(Result::is_ok), "{:?} {all:?}", base.kind);
        }
    });
}

#[test]
fn a_transaction_is_refused_however_it_is_written() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({"max_connections": 1})).await;
            let spellings: &[&str] = match base.kind {
                Kind::Postgres => &["/* /* */ */ begin", "; begin", "-- x\rbegin"],
                Kind::MariaDb => {
                    &["# x\nstart transaction", "/*! start transaction */", "xa start 'x1'", "/*M! begin */"]
                }
                Kind::Sqlite => &[";begin", "/* x */ savepoint a"],
            };
            for query in spellings {
                let error = write(world, query, json!([])).await.unwrap_err();
                assert_eq!(error.code.name(), "VALIDATION_ERROR", "{:?} {query}: {error:?}", base.kind);
                assert!(error.message.contains("transaction"), "{}", error.message);
            }
            assert_eq!(query_value(world, "c", "SELECT 1 AS v").await, json!(1));
        }
    });
}

#[test]
fn blank_statement_is_refused() {
    run(async |world| {
        for blank in ["", " \n", "-- x", "/* x */;", "# x"] {
            let input = json!({"connector": "c", "query": blank});
            assert_eq!(world.problems("db_read", input.clone()), ["query INVALID"], "{blank}");
            assert_eq!(world.problems("db_write", input), ["query INVALID"], "{blank}");
        }
        assert_eq!(world.problems("db_read", json!({"connector": "c", "query": "SELECT 1"})), [""; 0]);
        // Where comments nest, this is one.
        let Some(mut base) = Base::new(Kind::Postgres) else { return };
        base.connect(world, json!({})).await;
        let error = read(world, "/* /* */ SELECT 1 */", json!([])).await.unwrap_err();
        assert_eq!(error.code.name(), "VALIDATION_ERROR", "{error:?}");
        assert!(error.message.starts_with("connector 'c': query: "), "{}", error.message);
    });
}

#[test]
fn client_copy_is_refused_and_keeps_the_connection() {
    run(async |world| {
        let Some(mut base) = Base::new(Kind::Postgres) else { return };
        base.connect(world, json!({})).await;
        write(world, "CREATE TABLE t (a INTEGER)", json!([])).await.unwrap();
        for query in ["copy t to stdout", "COPY t FROM STDIN", "/* x */ copy (select 1) to stdout csv"] {
            let error = write(world, query, json!([])).await.unwrap_err();
            assert_eq!((error.code.name(), error.retryable()), ("FUNCTION_ERROR", false), "{error:?}");
            assert!(error.message.contains("COPY"), "{}", error.message);
        }
    });
}

#[test]
fn a_task_stays_in_the_file_of_its_connector() {
    run(async |world| {
        let mut base = Base::new(Kind::Sqlite).unwrap();
        let beside = base.url.strip_prefix("sqlite:").unwrap().replace("app.db", "beside.db");
        world.put("other", "db", true, config(&format!("sqlite:{beside}"), json!({}))).await;
        assert_eq!(query_value(world, "other", "SELECT 1 AS v").await, json!(1));
        base.connect(world, json!({"max_connections": 1})).await;
        for (query, params) in [
            (format!("ATTACH '{beside}' AS x"), json!([])),
            (format!("/* x */ attach database \"{beside}\" as x"), json!([])),
            ("ATTACH ? AS x".to_owned(), json!([beside])),
            ("ATTACH ':memory:' AS x".to_owned(), json!([])),
            ("DETACH main".to_owned(), json!([])),
            (format!("VACUUM INTO '{beside}.copy'"), json!([])),
            ("PRAGMA Soft_Heap_Limit = 1000000000".to_owned(), json!([])),
            ("PRAGMA temp_store_directory = '/'".to_owned(), json!([])),
        ] {
            let written = write(world, &query, params.clone()).await.unwrap_err();
            assert!(written.message.contains("the file of its connector"), "{query}: {}", written.message);
            for error in [written, read(world, &query, params.clone()).await.unwrap_err()] {
                assert_eq!(
                    (error.code.name(), error.retryable()),
                    ("FUNCTION_ERROR", false),
                    "{query}: {error:?}"
                );
            }
        }
        assert!(!std::path::Path::new(&format!("{beside}.copy")).exists());
        for fine in ["VACUUM", "PRAGMA soft_heap_limit"] {
            write(world, fine, json!([])).await.unwrap();
        }
    });
}
