//! Guards that the nodes of a cluster keep in one Redis: three processes on one PostgreSQL.

mod limits;
mod outage;
mod servers;
mod strict;

use serde_json::{Value, json};
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::redis::Redis;
use svc_testkit::server::{ServerCommand, ServerProcess};

use crate::support::launch;

/// The servers that the nodes of a cluster share.
struct GuardCluster {
    redis: Redis,
    database: PostgresDatabase,
    _postgres: Postgres,
}

impl GuardCluster {
    fn new() -> Option<Self> {
        let (postgres, redis) = (Postgres::shared()?, Redis::own()?);
        let database = postgres.database().unwrap();
        Some(Self { redis, database, _postgres: postgres })
    }

    /// A node, not yet started.
    fn node(&self) -> ServerCommand {
        cluster_server(&self.database, self.redis.url())
    }

    /// Starts three nodes. `define` creates the definitions at the first, before the others start.
    fn start(&self, define: impl FnOnce(&mut HttpClient)) -> [ServerProcess; 3] {
        let first = self.node().start().unwrap();
        define(&mut first.client());
        let second = self.node().start().unwrap();
        [first, second, self.node().start().unwrap()]
    }
}

/// A node of a cluster on this database and Redis, not yet started.
fn cluster_server(database: &PostgresDatabase, redis: &str) -> ServerCommand {
    launch()
        .env("SVC_STORAGE__URL", database.url())
        .env("SVC_STORAGE__MAX_CONNECTIONS", "8")
        .env("SVC_CLUSTER__ENABLED", "true")
        .env("SVC_CLUSTER__REDIS_URL", redis)
        .env("SVC_METRICS__ENABLED", "true")
}

fn path(channel: &str) -> String {
    format!("/api/v1/data/{channel}")
}

fn post(client: &mut HttpClient, channel: &str) -> HttpResponse {
    client.json("POST", &path(channel), &json!({})).unwrap()
}

fn post_with_key(client: &mut HttpClient, channel: &str, key: &str) -> HttpResponse {
    let headers = [("content-type", "application/json"), ("idempotency-key", key)];
    client.send("POST", &path(channel), &headers, b"{}").unwrap()
}

fn deduplicating(on_backend_error: &str) -> Value {
    json!({"deduplication": {"header": "Idempotency-Key", "on_backend_error": on_backend_error}})
}

/// Returns the components of readiness, with its status.
fn readiness(client: &mut HttpClient) -> (u16, Value) {
    let answer = client.get("/readyz").unwrap();
    (answer.status, answer.json()["components"].clone())
}
