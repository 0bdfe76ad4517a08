//! The projects under `examples/`: loaded as their pages say, run against real peers, judged by what they
//! did.

mod definitions;
mod nightly_report;
mod orders;
mod payments;
mod pipeline;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::server::{ServerCommand, ServerProcess};
use tempfile::TempDir;

use crate::offline::repeat_offline;
use crate::support::launch;

/// A copy of a project, in which a test replaces the addresses of its own peers.
struct Project {
    files: TempDir,
    key: Option<&'static str>,
}

impl Project {
    /// Copies the project of this name; each `(from, to)` replaces a text that must be there.
    fn copy(name: &str, replacements: &[(&str, &str)]) -> Self {
        let files = TempDir::new().expect("a directory");
        let mut replaced = vec![false; replacements.len()];
        copy(&examples().join(name), files.path(), &mut |text: String| {
            replacements.iter().zip(&mut replaced).fold(text, |text, ((from, to), replaced)| {
                *replaced |= text.contains(from);
                text.replace(from, to)
            })
        });
        assert!(replaced.iter().all(|replaced| *replaced), "every text is there: {replacements:?}");
        Self { files, key: None }
    }

    fn with_key(self, key: &'static str) -> Self {
        Self { key: Some(key), ..self }
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.files.path().join(file)).expect("the project has the file")
    }

    fn json(&self, file: &str) -> Value {
        serde_json::from_str(&self.read(file)).expect("the file is JSON")
    }

    /// A new database with the tables of the project.
    fn database(&self, server: &Postgres) -> PostgresDatabase {
        let database = server.database().expect("a database");
        database.rows(&self.read("schema.sql")).expect("the schema is valid");
        database
    }

    /// The service with the configuration of the project, not yet started.
    fn launch(&self) -> ServerCommand {
        launch().args(&["-c", self.files.path().join("svc.toml").to_str().expect("a path of text")])
    }

    /// Loads the project by the command of its page.
    fn load(&self, server: &ServerProcess) -> HttpClient {
        let mut command = Command::new(examples().join("load"));
        command.arg(self.files.path()).env("SVC", format!("http://{}", server.address()));
        match self.key {
            Some(key) => command.env("SVC_KEY", key),
            None => command.env_remove("SVC_KEY"),
        };
        let output = command.output().expect("bash and curl are there");
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{log}\n{}", server.log_text());
        match self.key {
            Some(key) => server.client().with_header("x-api-key", key),
            None => server.client(),
        }
    }
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

fn copy(from: &Path, to: &Path, change: &mut dyn FnMut(String) -> String) {
    for entry in std::fs::read_dir(from).expect("the project is there") {
        let entry = entry.expect("the project can be listed");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir(&target).expect("a directory");
            copy(&entry.path(), &target, change);
        } else {
            let text = std::fs::read_to_string(entry.path()).expect("the file is text");
            std::fs::write(&target, change(text)).expect("a file");
        }
    }
}

/// The traces of a channel that have this status.
fn traces(client: &mut HttpClient, channel: &str, status: &str) -> Vec<Value> {
    let path = format!("/api/v1/admin/traces?channel={channel}&status={status}");
    let page = client.get(&path).expect("the service answers").json();
    page["data"].as_array().cloned().unwrap_or_else(|| panic!("{page}"))
}

/// Sends an admin request that must succeed, and returns its `data`.
fn admin(client: &mut HttpClient, method: &str, path: &str, body: Value) -> Value {
    let answer = client.json(method, &format!("/api/v1/admin/{path}"), &body).expect("the service answers");
    assert!((200..300).contains(&answer.status), "{method} {path}: {}", answer.text());
    answer.json()["data"].clone()
}

fn problem(answer: &HttpResponse) -> (u16, Value) {
    assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{}", answer.text());
    let problem = answer.json();
    assert_eq!(problem["status"], json!(answer.status), "{problem}");
    (answer.status, problem["title"].clone())
}

/// The first column of a query that yields one row, as text.
fn scalar(database: &PostgresDatabase, sql: &str) -> String {
    let rows = database.rows(sql).expect("the query is valid");
    rows.first().and_then(|row| row.first().cloned().flatten()).unwrap_or_default()
}

#[test]
fn quickstart_loaded_by_script_prices_an_order() {
    let project = Project { files: TempDir::new().unwrap(), key: None };
    copy(&examples().join("quickstart"), project.files.path(), &mut |text| text);
    let server = launch().start().unwrap();
    let mut client = project.load(&server);
    let answer = client.json("POST", "/api/v1/data/orders", &project.json("order.json")).unwrap();
    assert_eq!((answer.status, &answer.json()["status"]), (200, &json!("ok")), "{}", answer.text());
    assert!(answer.json()["data"]["total"].is_number(), "{}", answer.text());
}

#[test]
fn dry_runs_of_quickstart_answer_like_the_service() {
    let traced = ("\"timeout_ms\": 5000", "\"timeout_ms\": 5000, \"tracing\": {\"task_details\": true}");
    let project = Project::copy("quickstart", &[traced]);
    let server = launch().start().unwrap();
    let mut client = project.load(&server);
    let large = json!({"qty": 30, "price": 50});
    for order in [&project.json("order.json"), &large, &json!({"qty": 1})] {
        assert_eq!(client.json("POST", "/api/v1/data/orders", order).unwrap().status, 200);
    }
    assert_eq!(repeat_offline(&mut client, &examples().join("quickstart"), &["orders"], &json!({})), 3);
}
