//! Statements of tasks, and their results and refusals.

use serde_json::{Value, json};

use super::{Base, Kind, config, read, write};
use crate::kit::run;

#[test]
fn rows_are_objects_in_column_order() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({})).await;
            let table = "CREATE TABLE t (z INTEGER PRIMARY KEY, a VARCHAR(50), m INTEGER)";
            assert_eq!(write(world, table, json!([])).await.unwrap(), 0, "{:?}", base.kind);
            let insert = base.sql("INSERT INTO t (z, a, m) VALUES (?, ?, ?), (?, ?, ?)");
            let inserted = write(world, &insert, json!([1, "one", null, 2, "two", 7])).await;
            assert_eq!(inserted.unwrap(), 2, "{:?}", base.kind);
            let rows = read(world, "SELECT z, a, m FROM t ORDER BY z", json!([])).await.unwrap();
            assert_eq!(
                rows.to_string(),
                r#"[{"z":1,"a":"one","m":null},{"z":2,"a":"two","m":7}]"#,
                "{:?}",
                base.kind
            );
            // An update counts the rows it met, whether they changed or not.
            let update = base.sql("UPDATE t SET a = ? WHERE z = 1");
            assert_eq!(write(world, &update, json!(["one"])).await.unwrap(), 1, "{:?}", base.kind);
            assert_eq!(read(world, "SELECT z FROM t WHERE z > 9", json!([])).await.unwrap(), json!([]));
            assert_eq!(write(world, "DELETE FROM t", json!([])).await.unwrap(), 2, "{:?}", base.kind);
        }
    });
}

#[test]
fn message_values_are_bound_as_parameters() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({})).await;
            let query = match base.kind {
                Kind::Postgres => "SELECT $1::text AS a, $2::bigint AS n",
                Kind::MariaDb => "SELECT CAST(? AS CHAR) AS a, CAST(? AS SIGNED) AS n",
                Kind::Sqlite => "SELECT CAST(? AS TEXT) AS a, CAST(? AS INTEGER) AS n",
            };
            let params = json!([{"var": "payload.name"}, {"var": ["payload.gone", 5]}]);
            let input = json!({"connector": "c", "query": query, "params": params, "output": "data.rows"});
            let outcome = world.task("db_read", input, json!({"name": "Zoë's {\"var\": 1}"})).await;
            assert!(outcome.failure.is_none(), "{:?} {:?}", base.kind, outcome.failure);
            assert_eq!(outcome.message.data["rows"], json!([{"a": "Zoë's {\"var\": 1}", "n": 5}]));
        }
    });
}

#[test]
fn too_many_rows_are_refused_on_usable_connection() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({"max_connections": 1})).await;
            let numbers = |most: u64| match base.kind {
                Kind::Postgres => format!("SELECT generate_series(1, {most}) AS n"),
                Kind::MariaDb => format!("SELECT seq AS n FROM seq_1_to_{most}"),
                Kind::Sqlite => {
                    let series = "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s";
                    format!("{series} WHERE n < {most}) SELECT n FROM s")
                }
            };
            // One more than anyone could read in the time of a test.
            for most in [1001, 100_000_000] {
                let error = read(world, &numbers(most), json!([])).await.unwrap_err();
                assert_eq!(error.code.name(), "VALIDATION_ERROR", "{:?}", base.kind);
                let due = "connector 'c': the result has more than 1000 rows";
                assert!(error.message.starts_with(due), "{}", error.message);
            }
            let rows = read(world, &numbers(1000), json!([])).await.unwrap();
            assert_eq!(rows.as_array().unwrap().len(), 1000, "{:?}", base.kind);
        }
    });
}

#[test]
fn invalid_statement_or_parameters_are_named() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({"max_connections": 1})).await;
            let one = base.sql("SELECT 1 AS a WHERE 1 = ?");
            for (query, params) in [
                (one.as_str(), json!([])),
                (&one, json!([1, 2])),
                ("BEGIN", json!([])),
                ("commit", json!([])),
            ] {
                let error = write(world, query, params).await.unwrap_err();
                assert_eq!(error.code.name(), "VALIDATION_ERROR", "{:?} {error:?}", base.kind);
                assert!(!error.retryable());
            }
            for query in ["SELEC 1", "SELECT * FROM nowhere", "SELECT 1; SELECT 2"] {
                let error = read(world, query, json!([])).await.unwrap_err();
                let expected = ["FUNCTION_ERROR", "VALIDATION_ERROR"];
                assert!(expected.contains(&error.code.name()), "{:?} {error:?}", base.kind);
                assert!(!error.retryable(), "{:?} {error:?}", base.kind);
            }
            assert_eq!(read(world, "SELECT 1 AS a", json!([])).await.unwrap(), json!([{"a": 1}]));
        }
    });
}

#[test]
fn operations_that_the_connector_closes_are_not_carried_out() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({"operations": {"raw_write": false}})).await;
            let error = write(world, "CREATE TABLE t (a INTEGER)", json!([])).await.unwrap_err();
            assert_eq!(error.code.name(), "connector_detail", "{:?}", base.kind);
            assert_eq!(read(world, "SELECT 1 AS a", json!([])).await.unwrap(), json!([{"a": 1}]));
            base.connect(world, json!({"operations": {"read": false}})).await;
            let error = read(world, "SELECT 1 AS a", json!([])).await.unwrap_err();
            assert_eq!(error.code.name(), "connector_detail", "{:?}", base.kind);
        }
        world.put("c", "db", true, config("mongodb://127.0.0.1:1/d", json!({}))).await;
        let error = read(world, "SELECT 1", json!([])).await.unwrap_err();
        assert_eq!(error.code.name(), "VALIDATION_ERROR", "{error:?}");
        world.put("c", "http", true, json!({"url": "https://api.example.com"})).await;
        let error = read(world, "SELECT 1", json!([])).await.unwrap_err();
        assert_eq!(
            (error.code.name(), error.message.as_str()),
            ("connector_detail", "connector 'c' is not a SQL database")
        );
    });
}

#[test]
fn no_error_shows_a_part_of_the_connection_string() {
    run(async |world| {
        let mut strings = vec![
            ("postgres://swordfish:swordfish@127.0.0.1:1/swordfish".to_owned(), "IO_ERROR"),
            ("mysql://swordfish:swordfish@127.0.0.1:1/swordfish".to_owned(), "IO_ERROR"),
            ("postgres://swordfish:swordfish@name.invalid/swordfish".to_owned(), "IO_ERROR"),
            ("sqlite:/nowhere/swordfish/a.db".to_owned(), "IO_ERROR"),
        ];
        // The servers stay for as long as they are asked.
        let bases: Vec<_> = Base::all().collect();
        for base in bases.iter().filter(|base| base.kind != Kind::Sqlite) {
            let (_, at) = base.url.rsplit_once('@').unwrap();
            let (host, _) = at.split_once('/').unwrap();
            let (scheme, _) = base.url.split_once(':').unwrap();
            strings.push((format!("{scheme}://swordfish:swordfish@{host}/swordfish"), "FUNCTION_ERROR"));
        }
        for (string, code) in strings {
            world.put("c", "db", true, config(&string, json!({}))).await;
            let error = read(world, "SELECT 1", json!([])).await.unwrap_err();
            assert_eq!(error.code.name(), code, "{error:?}");
            assert!(error.message.starts_with("connector 'c': "), "{}", error.message);
            assert!(!format!("{error:?}").contains("swordfish"), "{error:?}");
            let error = world.probe("c").await.error.unwrap();
            assert!(!error.contains("swordfish"), "{error}");
        }
    });
}

#[test]
fn loopback_address_is_refused_when_dialled() {
    run(async |world| {
        for base in Base::all().filter(|base| base.kind != Kind::Sqlite) {
            let at = |host: &str| base.url.replace("127.0.0.1", host);
            for url in [base.url.clone(), at("localhost"), at("[::1]"), at("127.1")] {
                world.put("c", "db", true, json!({"connection_string": url})).await;
                let error = read(world, "SELECT 1", json!([])).await.unwrap_err();
                assert_eq!((error.code.name(), error.retryable()), ("FUNCTION_ERROR", false), "{error:?}");
                assert!(error.message.starts_with("SSRF protection: "), "{}", error.message);
            }
        }
        // One host that is forbidden refuses them all.
        let some = json!({"connection_string": "postgres://u@8.8.8.8:1,127.0.0.1:2/d"});
        world.put("c", "db", true, some).await;
        let error = read(world, "SELECT 1", json!([])).await.unwrap_err();
        assert!(error.message.starts_with("SSRF protection: "), "{}", error.message);
    });
}

#[test]
fn a_database_is_tried_out_by_its_smallest_question() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({})).await;
            let probe = world.probe("c").await;
            assert!(probe.reachable && probe.supported && probe.error.is_none(), "{probe:?}");
            assert_eq!(probe.probe, "SELECT 1");
        }
        let gone = config("postgres://u@127.0.0.1:1/d", json!({}));
        world.put("c", "db", true, gone).await;
        let probe = world.probe("c").await;
        assert!(!probe.reachable && probe.supported && probe.error.is_some(), "{probe:?}");
    });
}

#[test]
fn the_first_host_that_answers_serves() {
    run(async |world| {
        let Some(base) = Base::new(Kind::Postgres) else { return };
        let url = base.url.replace("127.0.0.1", "127.0.0.1:1,127.0.0.1");
        world.put("c", "db", true, config(&url, json!({}))).await;
        assert_eq!(read(world, "SELECT 1 AS a", json!([])).await.unwrap(), json!([{"a": 1}]));
    });
}

#[test]
fn memory_database_lives_as_long_as_its_connector() {
    run(async |world| {
        world.put("c", "db", true, config("sqlite::memory:", json!({"max_connections": 5}))).await;
        write(world, "CREATE TABLE t (a INTEGER)", json!([])).await.unwrap();
        let insert = async || write(world, "INSERT INTO t VALUES (1)", json!([])).await;
        let inserted = futures_util::future::join_all((0..20).map(|_| insert())).await;
        assert!(inserted.iter().all(|rows| rows.as_ref().is_ok_and(|rows| *rows == 1)), "{inserted:?}");
        let rows = read(world, "SELECT count(*) AS n FROM t", json!([])).await.unwrap();
        assert_eq!(rows, json!([{"n": 20}]));
    });
}

#[test]
fn statement_is_prepared_anew_after_table_change() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({"max_connections": 1})).await;
            write(world, "CREATE TABLE t (a INTEGER)", json!([])).await.unwrap();
            write(world, "INSERT INTO t VALUES (1)", json!([])).await.unwrap();
            assert_eq!(read(world, "SELECT * FROM t", json!([])).await.unwrap(), json!([{"a": 1}]));
            // By somebody else: a connection over which a table was changed is not used again.
            world.put("other", "db", true, config(&base.url, json!({}))).await;
            let alter = json!({"connector": "other", "query": "ALTER TABLE t ADD COLUMN b INTEGER"});
            assert!(world.task("db_write", alter, Value::Null).await.failure.is_none());
            let rows = read(world, "SELECT * FROM t", json!([])).await;
            assert_eq!(rows.unwrap(), json!([{"a": 1, "b": null}]), "{:?}", base.kind);
        }
    });
}
