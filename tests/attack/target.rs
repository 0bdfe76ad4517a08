//! The service under attack, and the small definitions that attacks need.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpClient;
use svc_testkit::server::{ServerCommand, wait_until};

/// The binary to attack, and the effort to spend.
#[derive(Debug)]
pub(crate) struct AttackTarget {
    pub(crate) binary: PathBuf,
    /// The short form: the same attacks at a size that fits a test run, on a binary that may be unoptimised.
    pub(crate) short: bool,
    /// Calls of plugins that work, if not as many as the form has.
    pub(crate) calls: Option<usize>,
}

impl AttackTarget {
    /// The binary, not yet started.
    pub(crate) fn launch(&self) -> io::Result<ServerCommand> {
        ServerCommand::new(&self.binary)
    }

    /// Returns the value for the full form or for the short form of the attack.
    pub(crate) fn pick_size<T>(&self, short: T, full: T) -> T {
        if self.short { short } else { full }
    }
}

/// Serves one workflow behind a channel of the same id.
pub(crate) fn serve(client: &mut HttpClient, id: &str, config: &Value, tasks: &Value) -> io::Result<()> {
    let workflow = json!({"workflow_id": id, "name": id, "tasks": tasks});
    create_and_activate(client, "workflows", "workflow_id", &workflow)?;
    let channel = json!({"channel_id": id, "name": id, "channel_type": "sync", "protocol": "rest",
        "methods": ["POST"], "route_pattern": format!("/{id}"), "workflow_id": id, "config": config});
    create_and_activate(client, "channels", "channel_id", &channel)?;
    Ok(())
}

/// Serves a workflow that copies its payload.
pub(crate) fn serve_echo(client: &mut HttpClient, id: &str, config: &Value) -> io::Result<()> {
    let take = json!([{"id": "take", "name": "Take",
        "function": {"name": "parse_json", "input": {"source": "payload", "target": "input"}}}]);
    serve(client, id, config, &take)
}

/// Serves a workflow that asks an HTTP API once.
pub(crate) fn serve_call(client: &mut HttpClient, id: &str, url: &str, config: &Value) -> io::Result<()> {
    let connector = json!({"id": id, "name": id, "connector_type": "http",
        "config": {"url": url, "allow_private_urls": true}});
    let answer = client.json("POST", "/api/v1/admin/connectors", &connector)?;
    if answer.status != 201 {
        return Err(io::Error::other(format!("connector answered {}: {}", answer.status, answer.text())));
    }
    let call = json!([{"id": "call", "name": "Call",
        "function": {"name": "http_call", "input": {"connector": id, "timeout_ms": 60_000}}}]);
    serve(client, id, config, &call)
}

/// Resident memory of a process in MiB.
pub(crate) fn resident_mib(pid: u32) -> io::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: Option<u64> = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    Ok(kib.ok_or_else(|| io::Error::other("no VmRSS"))? / 1024)
}

/// Waits for a state that an attack needs before it can go on.
pub(crate) fn expect_soon(what: &str, look: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    if wait_until(Duration::from_secs(60), look)? {
        return Ok(());
    }
    Err(io::Error::other(format!("it never came about that {what}")))
}
