//! A server that goes away and comes back: errors of their kind meanwhile, a breaker that opens and closes,
//! and no pool that stays dead.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use svc_connectors::{BreakerSettings, BreakerState};
use svc_testkit::daemon::Daemon;
use svc_testkit::mariadb::MariaDb;
use svc_testkit::postgres::Postgres;
use svc_testkit::state::eventually;

use super::{config, read};
use crate::kit::{ConnectorWorld, run_with};

/// Calls under way at the same time.
const CALLERS: usize = 8;

fn breaker() -> Option<BreakerSettings> {
    Some(BreakerSettings { failure_threshold: 3, recovery: Duration::from_millis(20), max_breakers: 10 })
}

async fn query_once(world: &ConnectorWorld) -> Result<(), &'static str> {
    let rows = read(world, "SELECT 1 AS a", json!([])).await;
    match rows {
        Ok(rows) => {
            assert_eq!(rows, json!([{"a": 1}]));
            Ok(())
        }
        Err(error) => {
            assert!(error.retryable(), "{error:?}");
            Err(error.code.name())
        }
    }
}

async fn round(world: &ConnectorWorld) -> Vec<Result<(), &'static str>> {
    futures_util::future::join_all((0..CALLERS).map(|_| query_once(world))).await
}

fn heals(server: &Daemon) {
    run_with(breaker(), async |world| {
        let more = json!({"connect_timeout_ms": 2000, "query_timeout_ms": 5000, "max_connections": 4});
        world.put("c", "db", true, config(server.url(), more)).await;
        for _ in 0..5 {
            assert!(round(world).await.iter().all(Result::is_ok));
        }
        for _ in 0..2 {
            server.stop().unwrap();
            let mut codes = BTreeSet::new();
            let opened = |world: &ConnectorWorld| {
                let states = world.connectors.breakers().unwrap();
                states.iter().any(|(_, state)| *state == BreakerState::Open)
            };
            let mut ever = false;
            // Until calls are held back, and some were.
            while !(ever && codes.contains("circuit_open")) {
                let round = round(world).await;
                codes.extend(round.into_iter().map(|outcome| outcome.err().unwrap_or("served by nobody")));
                ever |= opened(world);
            }
            assert_eq!(codes, BTreeSet::from(["IO_ERROR", "circuit_open"]));
            server.restart().unwrap();
            // Held back until the breaker has tried it out.
            eventually("the breaker lets calls pass", async || query_once(world).await.is_ok()).await;
            // Whatever idles of before is replaced, however often it is asked for.
            let mut served = 0;
            while served < 5 {
                served = if round(world).await.iter().all(Result::is_ok) { served + 1 } else { 0 };
            }
            let states = world.connectors.breakers().unwrap();
            assert!(states.iter().all(|(_, state)| *state == BreakerState::Closed), "{states:?}");
        }
    });
}

#[test]
fn postgres_is_served_again_after_it_was_away() {
    if let Some(server) = Postgres::own() {
        heals(&server);
    }
}

#[test]
fn mariadb_is_served_again_after_it_was_away() {
    if let Some(server) = MariaDb::own() {
        heals(&server);
    }
}

#[test]
fn idle_connection_that_server_ended_is_replaced() {
    crate::kit::run(async |world| {
        for mut base in super::Base::all().filter(|base| base.kind != super::Kind::Sqlite) {
            base.connect(world, json!({"max_connections": 1})).await;
            world.put("other", "db", true, config(&base.url, json!({}))).await;
            let (who, end) = match base.kind {
                super::Kind::Postgres => {
                    ("SELECT pg_backend_pid() AS id", "SELECT pg_terminate_backend($1) AS done")
                }
                _ => ("SELECT connection_id() AS id", "KILL ?"),
            };
            let id = read(world, who, json!([])).await.unwrap()[0]["id"].clone();
            let input = json!({"connector": "other", "query": end, "params": [id]});
            let outcome = world.task("db_write", input, serde_json::Value::Null).await;
            assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
            // It is noticed when the connection is looked at, or by the call that meets it; never twice.
            let mut failed = 0;
            while let Err(error) = read(world, "SELECT 1 AS a", json!([])).await {
                assert_eq!(error.code.name(), "IO_ERROR", "{error:?}");
                failed += 1;
                assert!(failed < 2, "{error:?}");
            }
        }
    });
}
