//! Definitions whose runs report to a [`RunWitness`].

use std::io;

use serde_json::{Value, json};

use crate::example::create_and_activate;
use crate::http::HttpClient;
use crate::witness::RunWitness;

/// Stores the connector `witness`, by which runs report.
///
/// # Errors
/// The node does not answer, or refuses the connector.
pub fn connect(client: &mut HttpClient, witness: &RunWitness) -> io::Result<()> {
    let config = json!({"url": witness.url(), "allow_private_urls": true, "retry": {"max_retries": 0}});
    let connector = json!({"id": "witness", "name": "witness", "connector_type": "http", "config": config});
    client.json("POST", "/api/v1/admin/connectors", &connector)?.expect_status(201)
}

/// Returns the tasks of a workflow whose runs send the witness this body, an expression, and wait for its answer.
pub fn report(body: &Value) -> Value {
    let call = json!({"connector": "witness", "method": "POST", "timeout_ms": 600_000, "body_logic": body});
    json!([{"id": "tell", "name": "Tell", "function": {"name": "http_call", "input": call}}])
}

/// Returns the body by which a run reports the name `kind-name`, whose second part is an expression.
pub fn name_run(kind: &str, name: &Value) -> Value {
    json!({"occurrence_id": {"cat": [kind, "-", name]}})
}

/// Serves a workflow of these tasks.
///
/// # Errors
/// The node does not answer, or refuses the workflow.
pub fn serve_workflow(client: &mut HttpClient, id: &str, tasks: &Value) -> io::Result<()> {
    let workflow = json!({"workflow_id": id, "name": id, "tasks": tasks});
    create_and_activate(client, "workflows", "workflow_id", &workflow).map(drop)
}

/// Serves a channel on `POST /{id}` over the workflow of the same id.
///
/// # Errors
/// The node does not answer, or refuses the channel.
pub fn serve_channel(client: &mut HttpClient, id: &str, config: &Value) -> io::Result<()> {
    create_and_activate(client, "channels", "channel_id", &rest_channel(id, config)).map(drop)
}

/// Returns the channel of [`serve_channel`].
pub fn rest_channel(id: &str, config: &Value) -> Value {
    json!({"channel_id": id, "name": id, "channel_type": "sync", "protocol": "rest", "methods": ["POST"],
        "route_pattern": format!("/{id}"), "workflow_id": id, "config": config})
}
