//! Shared helpers of the scenarios: the binary under test and short definitions.

use std::path::Path;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::server::{ServerCommand, ServerProcess, wait_until};

/// Longest wait for a state.
const SOON: Duration = Duration::from_secs(90);

/// The key of the admin API of guarded servers.
const ADMIN_KEY: &str = "the admin key of a server under test";

/// Returns the binary under test, not yet started.
pub(crate) fn launch() -> ServerCommand {
    ServerCommand::new(env!("CARGO_BIN_EXE_svc-server")).expect("a directory and a port")
}

/// Starts the binary under test with its defaults.
pub(crate) fn start() -> ServerProcess {
    launch().start().expect("the server starts")
}

/// Starts a server whose admin API asks for a key, which the client sends: it may read what belongs to submitters.
pub(crate) fn start_guarded(launch: ServerCommand) -> (ServerProcess, HttpClient) {
    let guarded = launch.env("SVC_ADMIN_AUTH__ENABLED", "true").env("SVC_ADMIN_AUTH__API_KEYS", ADMIN_KEY);
    let server = guarded.start().expect("the server starts");
    let client = guarded_client(&server);
    (server, client)
}

/// Makes a client of a server that [`start_guarded`] started.
pub(crate) fn guarded_client(server: &ServerProcess) -> HttpClient {
    server.client().with_header("x-api-key", ADMIN_KEY)
}

/// Opens a database file that a running server may write at the same time.
pub(crate) fn open_database(file: &Path) -> SqliteConnection {
    let file = file.to_str().expect("a path in UTF-8");
    let mut connection = SqliteConnection::establish(file).expect("the file opens");
    // SQLite refuses a locked file at once unless it is told to wait.
    connection.batch_execute("PRAGMA busy_timeout = 30000").expect("the pragma is known");
    connection
}

/// Returns a workflow that copies the payload to `data.input`.
pub(crate) fn echo_workflow(id: &str) -> Value {
    json!({"workflow_id": id, "name": id, "tasks": [
        {"id": "take", "name": "Take", "function": {"name": "parse_json", "input": {"source": "payload", "target": "input"}}}
    ]})
}

/// Returns a REST channel on `POST /{id}` in front of a workflow.
pub(crate) fn channel(id: &str, workflow: &str, config: Value) -> Value {
    json!({"channel_id": id, "name": id, "channel_type": "sync", "protocol": "rest", "methods": ["POST"],
        "route_pattern": format!("/{id}"), "workflow_id": workflow, "config": config})
}

/// Creates and activates an echo workflow and a channel of the same id in front of it.
pub(crate) fn echo(client: &mut HttpClient, id: &str, config: Value) {
    create_and_activate(client, "workflows", "workflow_id", &echo_workflow(id))
        .expect("the workflow is served");
    create_and_activate(client, "channels", "channel_id", &channel(id, id, config))
        .expect("the channel is served");
}

/// Serves a workflow of these tasks behind a channel of the same id.
pub(crate) fn serve(client: &mut HttpClient, id: &str, tasks: Value) {
    serve_with(client, id, json!({}), tasks);
}

/// Serves like [`serve`], with the channel's config.
pub(crate) fn serve_with(client: &mut HttpClient, id: &str, config: Value, tasks: Value) {
    let workflow = json!({"workflow_id": id, "name": id, "tasks": tasks});
    create_and_activate(client, "workflows", "workflow_id", &workflow).expect("the workflow is served");
    create_and_activate(client, "channels", "channel_id", &channel(id, id, config))
        .expect("the channel is served");
}

/// Checks the status and the error envelope, and returns the error object.
pub(crate) fn error(answer: &HttpResponse, status: u16, code: &str) -> Value {
    assert_eq!(answer.status, status, "{}", answer.text());
    let body = answer.json();
    assert_eq!(body["error"]["code"], code, "{body}");
    assert!(body["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
    assert_eq!(body["error"]["request_id"].as_str(), answer.header("x-request-id"), "{body}");
    check_texts(&body["error"]);
    body["error"].clone()
}

/// Checks an error: stable codes, paths, and no word of the implementation.
fn check_texts(error: &Value) {
    let code = svc::error_codes::response_codes().find(|entry| error["code"] == entry.name);
    assert!(code.is_some(), "not in the table of codes: {error}");
    for detail in error["details"].as_array().into_iter().flatten() {
        let is_listed = svc::error_codes::field_error_codes().any(|entry| detail["code"] == entry.name);
        assert!(is_listed, "not in the table of field codes: {detail}");
        assert!(detail["path"].as_str().is_some_and(|path| !path.is_empty()), "no place: {detail}");
        assert!(detail["message"].as_str().is_some_and(|message| !message.is_empty()), "{detail}");
    }
    let text = error.to_string();
    for word in [
        "panicked",
        "Some(",
        "None)",
        "Ok(",
        "Err(",
        "NaN",
        "engine error",
        "os error",
        "serde",
        "src/",
        ".rs:",
        "unwrap",
        "actix",
        "tokio",
        "diesel",
        "rusqlite",
    ] {
        assert!(!text.contains(word), "{word}: {error}");
    }
}

/// Returns the `(path, code)` pairs of an error's details.
pub(crate) fn details(error: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let details = error["details"].as_array().cloned().unwrap_or_default();
    details.iter().map(|detail| (text(&detail["path"]), text(&detail["code"]))).collect()
}

/// Waits until a state holds.
#[track_caller]
pub(crate) fn eventually(mut holds: impl FnMut() -> bool) {
    assert!(wait_until(SOON, || Ok(holds())).expect("the look itself cannot fail"), "it never came about");
}

/// Reads a trace until its run has ended, and returns it.
pub(crate) fn wait_until_stable(mut look: impl FnMut() -> Value) -> Value {
    let mut last = Value::Null;
    eventually(|| {
        last = look();
        matches!(last["status"].as_str(), Some("completed" | "failed"))
    });
    last
}
