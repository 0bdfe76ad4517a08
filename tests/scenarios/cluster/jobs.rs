//! Recurring jobs run on one node.

use std::time::Duration;

use serde_json::Value;
use svc_testkit::postgres::PostgresDatabase;
use svc_testkit::server::ServerProcess;

use super::{admin, database, node, two_nodes};
use crate::support::eventually;

/// The holders of the leases of jobs, by the names of the jobs.
fn holders(database: &PostgresDatabase) -> Vec<(String, String)> {
    let rows = database.rows("SELECT job_name, holder FROM job_leases ORDER BY job_name").unwrap();
    let text = |column: &Option<String>| column.clone().unwrap_or_default();
    rows.iter().map(|row| (text(&row[0]), text(&row[1]))).collect()
}

#[test]
fn job_of_ended_node_moves_to_other_node() {
    let Some((_postgres, database)) = database() else { return };
    let [mut first, second] = two_nodes(&database);
    let id_of = |server: &ServerProcess| {
        let nodes = admin(&mut server.client(), "GET", "nodes", &Value::Null);
        let this = nodes.as_array().unwrap().iter().find(|node| node["is_this"] == true).cloned();
        this.unwrap()["id"].as_str().unwrap().to_owned()
    };
    let held_by = |id: &str, job: &str| holders(&database).contains(&(job.to_owned(), id.to_owned()));
    let first_id = id_of(&first);
    const JOBS: [&str; 3] = ["audit_cleanup", "cron_cleanup", "trace_cleanup"];
    eventually(|| JOBS.iter().all(|job| held_by(&first_id, job)));
    first.signal("TERM").unwrap();
    first.wait(Duration::from_secs(60)).unwrap();
    // The second node looks again in an hour. One that starts takes what was given back.
    let third = node(&database).start().unwrap();
    let third_id = id_of(&third);
    eventually(|| JOBS.iter().all(|job| held_by(&third_id, job)));
    drop(second);
}
