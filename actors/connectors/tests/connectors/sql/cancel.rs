//! Time is kept, and a statement without a waiting caller is ended at the server.

use std::cell::Cell;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::state::eventually;
use tokio::time::timeout;

use super::{Base, Kind, config, read, write};
use crate::kit::{ConnectorWorld, run};

/// A statement that takes longer than any test.
fn endless(kind: Kind) -> &'static str {
    match kind {
        Kind::Postgres => "SELECT pg_sleep (600)",
        Kind::MariaDb => "SELECT SLEEP(600)",
        Kind::Sqlite => {
            "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s) SELECT count(*) AS n FROM s"
        }
    }
}

/// Counts the statements that the server runs, over another connector.
async fn running(world: &ConnectorWorld, kind: Kind) -> u64 {
    let query = match kind {
        Kind::Postgres => {
            "SELECT count(*) AS n FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active' AND datname = current_database()"
        }
        Kind::MariaDb => {
            "SELECT count(*) AS n FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%' AND db = database()"
        }
        Kind::Sqlite => return 0,
    };
    let input = json!({"connector": "watch", "query": query, "output": "data.rows"});
    let outcome = world.task("db_read", input, Value::Null).await;
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    outcome.message.data["rows"][0]["n"].as_u64().unwrap()
}

/// Waits until the server runs so many.
async fn become_running(world: &ConnectorWorld, kind: Kind, due: u64) {
    let state = format!("{due} statements run");
    eventually(&state, async || running(world, kind).await == due).await;
}

#[test]
fn slow_statement_is_cancelled_at_the_server() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({})).await;
            world.put("watch", "db", true, config(&base.url, json!({}))).await;
            base.connect(world, json!({"query_timeout_ms": 2000, "max_connections": 1})).await;
            let error = read(world, endless(base.kind), json!([])).await.unwrap_err();
            assert_eq!((error.code.name(), error.retryable()), ("TIMEOUT_ERROR", true), "{error:?}");
            assert_eq!(error.message, "connector 'c': not done within 2000 ms");
            become_running(world, base.kind, 0).await;
            assert_eq!(read(world, "SELECT 1 AS a", json!([])).await.unwrap(), json!([{"a": 1}]));
        }
    });
}

#[test]
fn a_caller_that_leaves_takes_its_statement_along() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({"max_connections": 1})).await;
            world.put("watch", "db", true, config(&base.url, json!({}))).await;
            let call = read(world, endless(base.kind), json!([]));
            let begun = async {
                if base.kind == Kind::Sqlite {
                    // Nobody can tell from outside.
                    tokio::task::yield_now().await;
                } else {
                    become_running(world, base.kind, 1).await;
                }
            };
            tokio::select! {
                answer = call => panic!("it ended: {answer:?}"),
                () = begun => {}
            }
            become_running(world, base.kind, 0).await;
            assert_eq!(read(world, "SELECT 1 AS a", json!([])).await.unwrap(), json!([{"a": 1}]));
        }
    });
}

#[test]
fn long_wait_for_a_connection_is_named() {
    run(async |world| {
        for mut base in Base::all() {
            base.connect(world, json!({})).await;
            world.put("watch", "db", true, config(&base.url, json!({}))).await;
            base.connect(world, json!({"query_timeout_ms": 1000, "max_connections": 1})).await;
            let over = Cell::new(false);
            let first = async {
                let first = read(world, endless(base.kind), json!([])).await;
                over.set(true);
                first
            };
            let second = async {
                let has_begun =
                    async || base.kind == Kind::Sqlite || over.get() || running(world, base.kind).await > 0;
                eventually("the first statement runs", has_begun).await;
                read(world, "SELECT 1 AS a", json!([])).await
            };
            let (first, second) = tokio::join!(first, second);
            assert_eq!(first.unwrap_err().code.name(), "TIMEOUT_ERROR", "{:?}", base.kind);
            // The first one's connection may have come free a moment before, with no time left for more.
            if let Err(error) = second {
                let expectations =
                    [("IO_ERROR", "no connection was free"), ("TIMEOUT_ERROR", "not done within 1000 ms")];
                let due = |(code, text)| error.code.name() == code && error.message.contains(text);
                assert!(expectations.into_iter().any(due), "{:?} {error:?}", base.kind);
            }
        }
    });
}

#[test]
fn interrupted_write_is_rolled_back() {
    run(async |world| {
        let mut base = Base::new(Kind::Sqlite).unwrap();
        base.connect(world, json!({"query_timeout_ms": 1500, "max_connections": 1})).await;
        write(world, "CREATE TABLE t (n INTEGER)", json!([])).await.unwrap();
        let endless =
            "INSERT INTO t WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s) SELECT n FROM s";
        assert_eq!(write(world, endless, json!([])).await.unwrap_err().code.name(), "TIMEOUT_ERROR");
        assert_eq!(read(world, "SELECT n FROM t", json!([])).await.unwrap(), json!([]));
    });
}

#[test]
fn silent_server_is_waited_for_until_timeout() {
    run(async |world| {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        for scheme in ["postgres", "mysql"] {
            let url = format!("{scheme}://u:p@{}/d", silent.local_addr().unwrap());
            world.put("c", "db", true, config(&url, json!({"connect_timeout_ms": 200}))).await;
            let called = timeout(Duration::from_secs(20), read(world, "SELECT 1", json!([]))).await;
            let error = called.unwrap().unwrap_err();
            assert_eq!(error.code.name(), "IO_ERROR", "{error:?}");
            assert!(error.message.contains("within 200 ms"), "{}", error.message);
        }
    });
}
