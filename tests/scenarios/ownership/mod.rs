//! Ownership of accepted work: the accepting node runs it, and another one only after its end.

mod cancels;
mod elements;
mod exhaustion;
mod file;
mod recoveries;
mod several;
mod shares;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::server::{ServerCommand, ServerProcess};
use svc_testkit::upstream::Upstream;

use crate::support::{channel, eventually, launch};
use svc_testkit::example::create_and_activate;

/// Seconds after which a node of these tests counts as dead.
const LEASE_SECS: u64 = 6;
const SUBMIT: &str = "/api/v1/data/jobs/async";

/// A new database, and the server it is of, which lives as long as somebody holds it.
fn database() -> Option<(Postgres, PostgresDatabase)> {
    let postgres = Postgres::shared()?;
    let database = postgres.database().unwrap();
    Some((postgres, database))
}

fn owner(database: &PostgresDatabase, id: &str) -> (String, String) {
    let row =
        database.rows(&format!("SELECT owner, recoveries FROM traces WHERE id = '{id}'")).unwrap().remove(0);
    let text = |column: &Option<String>| column.clone().unwrap_or_default();
    (text(&row[0]), text(&row[1]))
}

/// A node of a shared database, not yet started.
fn node(database: &PostgresDatabase) -> ServerCommand {
    launch()
        .env("SVC_STORAGE__URL", database.url())
        .env("SVC_STORAGE__MAX_CONNECTIONS", "8")
        .env("SVC_CLUSTER__NODE_LEASE_SECS", &LEASE_SECS.to_string())
}

/// Stores the connector by which runs reach the witness.
fn connect_witness(client: &mut HttpClient, witness: &Upstream) {
    let config = json!({"url": witness.url(""), "allow_private_urls": true, "retry": {"max_retries": 0}});
    let connector = json!({"id": "witness", "name": "witness", "connector_type": "http", "config": config});
    let answer = client.json("POST", "/api/v1/admin/connectors", &connector).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
}

/// Stores and serves `jobs`, whose runs send the witness their number and wait for its answer.
fn serve_jobs(client: &mut HttpClient, witness: &Upstream) {
    connect_witness(client, witness);
    let call = json!({"connector": "witness", "method": "POST", "timeout_ms": 600_000,
        "path_logic": {"cat": ["/", {"var": "payload.n"}]}});
    let workflow = json!({"workflow_id": "jobs", "name": "jobs", "tasks": [
        {"id": "tell", "name": "Tell", "function": {"name": "http_call", "input": call}}]});
    create_and_activate(client, "workflows", "workflow_id", &workflow).unwrap();
    create_and_activate(client, "channels", "channel_id", &channel("jobs", "jobs", json!({}))).unwrap();
}

fn submit(client: &mut HttpClient, n: usize) -> String {
    let answer = client.json("POST", SUBMIT, &json!({"n": n})).unwrap();
    assert_eq!(answer.status, 202, "{}", answer.text());
    answer.json()["trace_id"].as_str().unwrap().to_owned()
}

/// Returns the status of a run. Only its caller may read the trace itself.
fn status(client: &mut HttpClient, id: &str) -> String {
    let page = client.get("/api/v1/admin/traces?mode=async&limit=1000").unwrap().json();
    let rows = page["data"].as_array().cloned().unwrap_or_default();
    let row = rows.into_iter().find(|row| row["id"] == *id).unwrap_or_default();
    row["status"].as_str().unwrap_or_default().to_owned()
}

/// Counts the runs of each number.
fn runs(witness: &Upstream) -> BTreeMap<usize, usize> {
    let mut runs = BTreeMap::new();
    for asked in witness.requests() {
        let number = asked.target.trim_start_matches('/').parse().unwrap();
        *runs.entry(number).or_default() += 1;
    }
    runs
}

fn runs_of(witness: &Upstream, n: usize) -> usize {
    runs(witness).get(&n).copied().unwrap_or_default()
}

/// Waits until nothing that was accepted is unfinished.
fn settle(client: &mut HttpClient) {
    eventually(|| {
        ["pending", "scheduled", "running"].iter().all(|status| {
            let page =
                client.get(&format!("/api/v1/admin/traces?status={status}&mode=async&limit=1")).unwrap();
            page.json()["data"].as_array().is_some_and(Vec::is_empty)
        })
    });
}

/// The nodes as one of them lists them.
fn nodes(server: &ServerProcess) -> Vec<Value> {
    let listed = server.client().get("/api/v1/admin/nodes").unwrap();
    assert_eq!(listed.status, 200, "{}", listed.text());
    listed.json()["data"].as_array().unwrap().clone()
}
