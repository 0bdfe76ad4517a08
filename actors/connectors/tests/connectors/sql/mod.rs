//! SQL databases: real servers, and SQLite.

mod calls;
mod cancel;
mod check;
mod data;
mod encryption;
mod forms;
mod heal;
mod injection;
mod integrity;
mod own;
mod pooler;
mod read_only;
mod result_bytes;
mod sessions;
mod types;

use serde_json::{Value, json};
use svc_engine::{ErrorCode, TaskError};
use svc_testkit::mariadb::MariaDb;
use svc_testkit::postgres::Postgres;

use crate::kit::ConnectorWorld;

/// A database to talk to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Postgres,
    MariaDb,
    Sqlite,
}

/// The guard that keeps the database alive.
#[expect(dead_code, reason = "held for as long as the test runs")]
enum Held {
    Postgres(Postgres),
    MariaDb(MariaDb),
    File(tempfile::TempDir),
}

/// A database of a test's own, with its address.
struct Base {
    kind: Kind,
    url: String,
    held: Held,
}

impl Base {
    /// A new database on a server that tests share; `None` if there is no such server.
    fn new(kind: Kind) -> Option<Self> {
        Some(match kind {
            Kind::Postgres => {
                let server = Postgres::shared()?;
                let url = server.database().unwrap().url().to_owned();
                Self { kind, url, held: Held::Postgres(server) }
            }
            Kind::MariaDb => {
                let server = MariaDb::shared()?;
                let url = server.url().to_owned();
                Self { kind, url, held: Held::MariaDb(server) }
            }
            Kind::Sqlite => {
                let dir = tempfile::tempdir().unwrap();
                let url = format!("sqlite:{}", dir.path().join("app.db").display());
                Self { kind, url, held: Held::File(dir) }
            }
        })
    }

    /// Every kind there is here.
    fn all() -> impl Iterator<Item = Self> {
        [Kind::Postgres, Kind::MariaDb, Kind::Sqlite].into_iter().filter_map(Self::new)
    }

    /// Makes it the connector `c`.
    async fn connect(&mut self, world: &ConnectorWorld, more: Value) {
        if self.kind == Kind::MariaDb && self.url.ends_with("/mysql") {
            // One database for each test, made by way of the one that is always there.
            let name = format!("t{}", uuid());
            world.put("c", "db", true, config(&self.url, json!({}))).await;
            write(world, &format!("CREATE DATABASE {name} CHARACTER SET utf8mb4"), json!([])).await.unwrap();
            let Held::MariaDb(server) = &self.held else { panic!("it is a MariaDB") };
            self.url = server.database(&name);
        }
        world.put("c", "db", true, config(&self.url, more)).await;
    }

    /// A query with the placeholders of this database: `?` becomes each.
    fn sql(&self, query: &str) -> String {
        if self.kind != Kind::Postgres {
            return query.to_owned();
        }
        let mut number = 0;
        let numbered = query.chars().map(|c| match c {
            '?' => {
                number += 1;
                format!("${number}")
            }
            c => c.to_string(),
        });
        numbered.collect()
    }
}

fn uuid() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_micros();
    format!("{}_{now}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The config of a connector at a loopback server.
fn config(url: &str, more: Value) -> Value {
    let mut config = json!({"connection_string": url, "allow_private_urls": true});
    if let (Some(config), Value::Object(more)) = (config.as_object_mut(), more) {
        config.extend(more);
    }
    config
}

async fn task(
    world: &ConnectorWorld,
    function: &str,
    query: &str,
    params: Value,
) -> Result<Value, TaskError> {
    let input = json!({"connector": "c", "query": query, "params": params, "output": "data.result"});
    // What is refused before it could run is refused for good.
    if let Some(refused) = world.refusal(function, input.clone()) {
        return Err(TaskError::new(ErrorCode::Function, refused));
    }
    let mut outcome = world.task(function, input, Value::Null).await;
    match outcome.failure {
        Some(failure) => Err(failure.error),
        None => Ok(outcome.message.data["result"].take()),
    }
}

async fn read(world: &ConnectorWorld, query: &str, params: Value) -> Result<Value, TaskError> {
    task(world, "db_read", query, params).await
}

async fn write(world: &ConnectorWorld, query: &str, params: Value) -> Result<u64, TaskError> {
    let written = task(world, "db_write", query, params).await?;
    let members: Vec<_> = written.as_object().unwrap().keys().collect();
    assert!(matches!(members[..], [one] | [one, _] if one == "rows_affected"), "{written}");
    Ok(written["rows_affected"].as_u64().unwrap())
}
