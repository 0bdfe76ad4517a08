//! Several processes on one PostgreSQL are one service: changes of the configuration, jobs, start.

mod boot;
mod changes;
mod failures;
mod jobs;
mod pauses;
mod pooler;
mod rolling;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::server::{ServerCommand, ServerProcess};

use crate::support::{eventually, launch, start_guarded};

/// A poll that never comes during a test: what arrives was announced.
const NEVER: &str = "3600000";
/// A poll that comes soon.
const OFTEN: &str = "100";

/// A new database, and the server it is of, which lives as long as somebody holds it.
pub(crate) fn database() -> Option<(Postgres, PostgresDatabase)> {
    let postgres = Postgres::shared()?;
    let database = postgres.database().unwrap();
    Some((postgres, database))
}

/// A node of a shared database, not yet started.
fn node(database: &PostgresDatabase) -> ServerCommand {
    launch()
        .env("SVC_STORAGE__URL", database.url())
        .env("SVC_STORAGE__MAX_CONNECTIONS", "8")
        .env("SVC_CLUSTER__EPOCH_POLL_INTERVAL_MS", OFTEN)
}

fn two_nodes(database: &PostgresDatabase) -> [ServerProcess; 2] {
    let first = node(database).start().unwrap();
    [first, node(database).start().unwrap()]
}

/// Two nodes whose admin API asks for a key.
fn two_guarded_nodes(database: &PostgresDatabase) -> [ServerProcess; 2] {
    let (first, _) = start_guarded(node(database));
    [first, start_guarded(node(database)).0]
}

/// The epochs of a node: applied and current.
fn epochs(client: &mut HttpClient) -> (i64, i64) {
    let epoch = client.get("/health").unwrap().json()["epoch"].clone();
    (epoch["applied"].as_i64().unwrap(), epoch["current"].as_i64().unwrap())
}

/// Waits until a node serves an epoch.
fn wait_for_epoch(server: &ServerProcess, epoch: i64) {
    eventually(|| epochs(&mut server.client()).0 >= epoch);
}

/// The status of a message to a channel.
fn post(client: &mut HttpClient, channel: &str) -> u16 {
    client.json("POST", &format!("/api/v1/data/{channel}"), &json!({})).unwrap().status
}

fn admin(client: &mut HttpClient, method: &str, path: &str, body: &Value) -> Value {
    let answer = client.json(method, &format!("/api/v1/admin/{path}"), body).unwrap();
    assert!(answer.status < 300, "{method} {path}: {}", answer.text());
    if answer.status == 204 { Value::Null } else { answer.json()["data"].clone() }
}
