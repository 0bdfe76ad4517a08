//! A PostgreSQL behind a pooler in transaction mode, which gives each transaction another server connection.

use futures_util::future::join_all;
use serde_json::{Value, json};
use svc_testkit::pgbouncer::PgBouncer;
use svc_testkit::postgres::Postgres;

use super::config;
use crate::kit::run;

/// Calls under way at the same time.
const CALLERS: u32 = 12;

#[test]
fn pooler_runs_only_the_requested_statements() {
    let Some(postgres) = Postgres::shared() else { return };
    let Some(pooler) = PgBouncer::own(&postgres) else { return };
    let database = postgres.database().unwrap();
    run(async |world| {
        let more = json!({"max_connections": CALLERS});
        world.put("c", "db", true, config(&pooler.through(&database), more)).await;
        let table = json!({"connector": "c", "query": "CREATE TABLE t (n bigint PRIMARY KEY, name text)"});
        world.run_task("db_write", table, Value::Null).await;
        for round in 0..20 {
            let calls = (0..CALLERS).map(async |caller| {
                let n = i64::from(round * CALLERS + caller);
                let insert = json!({"connector": "c", "query": "INSERT INTO t VALUES ($1, $2)",
                    "params": [n, format!("name {n}")]});
                world.run_task("db_write", insert, Value::Null).await;
                // As many texts as there are callers, each of them prepared by its own.
                let query = format!("SELECT n, name, {caller} AS caller FROM t WHERE n = $1");
                let read = json!({"connector": "c", "query": query, "params": [n], "output": "data.rows"});
                let rows = world.run_task("db_read", read, Value::Null).await["rows"].take();
                assert_eq!(rows, json!([{"n": n, "name": format!("name {n}"), "caller": caller}]));
                let document = json!({"connector": "c", "output": "data.rows", "schema": {"unmapped": "identity", "entities": {}},
                    "query": {"source": "t", "filter": {"==": [{"field": "n"}, n]}}});
                let rows = world.run_task("data_query", document, Value::Null).await["rows"].take();
                assert_eq!(rows[0]["name"], format!("name {n}"), "{rows}");
            });
            join_all(calls).await;
        }
    });
}
