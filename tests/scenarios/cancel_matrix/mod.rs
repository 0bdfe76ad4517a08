//! Cancels in every state of work, given by the node that has it and by another one.

mod occurrences;
mod runs;

use serde_json::{Value, json};
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::server::{ServerCommand, ServerProcess};
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::{eventually, guarded_client, launch, start_guarded};

const ADMIN: &str = "/api/v1/admin";
/// Path of the witness whose requests get no answer.
const HELD: &str = "/held";
/// Path of the witness whose requests fail for a passing reason.
const FLAKY: &str = "/flaky";
/// Longer than any test takes.
const LONG_MS: u64 = 600_000;

/// A node of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    /// The one that has the work.
    Holder,
    Other,
}

/// Two nodes on one PostgreSQL, and a witness of the calls of their runs.
struct Stage {
    holder: ServerProcess,
    other: ServerProcess,
    witness: Upstream,
    database: PostgresDatabase,
}

impl Stage {
    /// Starts both nodes, the second one with the definitions that `define` stores through the first.
    fn start(
        holder: impl FnOnce(ServerCommand) -> ServerCommand,
        other: impl FnOnce(ServerCommand) -> ServerCommand,
        define: impl FnOnce(&mut HttpClient, &Upstream),
    ) -> Option<Self> {
        let database = Postgres::shared()?.database().unwrap();
        let witness = Upstream::start(|asked| match &*asked.target {
            HELD => UpstreamReply::Held,
            FLAKY => UpstreamReply::new(503, "{}"),
            _ => UpstreamReply::new(200, "{}"),
        });
        let witness = witness.unwrap();
        let node = || {
            launch()
                .env("SVC_STORAGE__URL", database.url())
                .env("SVC_STORAGE__MAX_CONNECTIONS", "8")
                .env("SVC_TRACE_QUEUE__PROCESSING_TIMEOUT_MS", &LONG_MS.to_string())
        };
        let (holder, mut client) = start_guarded(holder(node()));
        let retry = json!({"max_retries": 0});
        connect(&mut client, "witness", "http", &json!({"url": witness.url(""), "retry": retry}));
        define(&mut client, &witness);
        let (other, _) = start_guarded(other(node()));
        Some(Self { holder, other, witness, database })
    }

    fn client(&self, node: Node) -> HttpClient {
        match node {
            Node::Holder => guarded_client(&self.holder),
            Node::Other => guarded_client(&self.other),
        }
    }

    /// Counts the requests of a path.
    fn count_requests(&self, path: &str) -> usize {
        self.witness.requests().iter().filter(|asked| asked.target == path).count()
    }

    /// Waits until a path was requested so often.
    #[track_caller]
    fn wait_for(&self, path: &str, times: usize) {
        eventually(|| self.count_requests(path) >= times);
    }

    /// Reads a row through the node that does not have the work: a thread of the other may compute.
    fn read(&self, path: &str) -> Value {
        self.client(Node::Other).get(path).unwrap().json()["data"].clone()
    }

    /// Returns the rows of a list.
    fn list(&self, name: &str) -> Value {
        self.read(&format!("{ADMIN}/{name}"))
    }

    #[track_caller]
    fn wait_for_status(&self, path: &str, status: &str) -> Value {
        eventually(|| self.read(path)["status"] == status);
        self.read(path)
    }

    /// Has a node cancel a row, which ends within the two seconds that an answer waits, and returns it.
    fn cancel(&self, node: Node, path: &str) -> Value {
        let answer = order_cancel(&mut self.client(node), path);
        assert_eq!(answer.status, 200, "{node:?}: {}", answer.text());
        let row = answer.json()["data"].clone();
        assert_eq!(row["status"], "cancelled", "{node:?}: {row}");
        assert!(row["completed_at"].is_string() && row["cancelled_by"].is_string(), "{node:?}: {row}");
        row
    }
}

fn order_cancel(client: &mut HttpClient, path: &str) -> HttpResponse {
    client.send("POST", &format!("{path}/cancel"), &[], b"").unwrap()
}

/// Creates a connector at a loopback server.
fn connect(client: &mut HttpClient, name: &str, kind: &str, config: &Value) {
    let mut config = config.clone();
    config["allow_private_urls"] = json!(true);
    let body = json!({"name": name, "connector_type": kind, "config": config});
    let answer = client.json("POST", &format!("{ADMIN}/connectors"), &body).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
}

/// A task that calls a path of the witness.
fn call(id: &str, path: &str) -> Value {
    json!({"id": id, "name": "", "function": {"name": "http_call", "input": {
        "connector": "witness", "path": path, "timeout_ms": LONG_MS}}})
}
