//! Shared helpers: a run of the client, a server to run it against.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use svc_testkit::server::{ServerCommand, ServerProcess};
use tempfile::TempDir;

/// The client with a home directory of its own.
pub(crate) struct CliClient {
    home: TempDir,
    server: Option<String>,
    env: Vec<(String, String)>,
}

/// A finished run of the client.
#[derive(Debug)]
pub(crate) struct CliRun {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl CliClient {
    /// Returns a client that knows no server.
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), server: None, env: Vec::new() }
    }

    /// Returns a client of a server.
    pub(crate) fn with_server(server: &ServerProcess) -> Self {
        Self { server: Some(format!("http://{}", server.address())), ..Self::new() }
    }

    /// Sets a variable of the environment.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// Writes a file into the home directory and returns its path.
    pub(crate) fn file(&self, name: &str, content: &Value) -> String {
        let path = self.home().join(name);
        std::fs::write(&path, content.to_string()).unwrap();
        path.display().to_string()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_svc-cli"));
        command.env_clear().env("HOME", self.home()).envs(self.env.iter().cloned()).current_dir(self.home());
        if let Some(server) = &self.server {
            command.env("SVC_SERVER_URL", server);
        }
        command.args(args);
        command
    }

    /// Runs the client without any input.
    pub(crate) fn run(&self, args: &[&str]) -> CliRun {
        self.run_with(args, "")
    }

    /// Runs the client with this standard input.
    pub(crate) fn run_with(&self, args: &[&str], input: &str) -> CliRun {
        let mut command = self.command(args);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        // A client that ends without reading its input closes the pipe.
        let _unread = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        CliRun { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs the client without a reader of its output, and returns its exit code.
    pub(crate) fn run_unread(&self, args: &[&str], input: &str) -> i32 {
        let mut command = self.command(args);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = piped.spawn().unwrap();
        drop(child.stdout.take());
        let _unread = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait().unwrap().code().unwrap()
    }

    /// Runs the client and expects success.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let run = self.run(args);
        assert_eq!(run.code, 0, "{args:?}: {run:?}");
        run.out
    }

    /// Runs the client with `-o json`, expects success, and returns what it printed.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let out = self.ok(&[args, &["-o", "json"]].concat());
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {out}"))
    }

    /// Runs the client and expects this exit code, an error on standard error and nothing on standard output.
    pub(crate) fn fails(&self, args: &[&str], code: i32) -> String {
        let run = self.run(args);
        assert_eq!((run.code, run.out.as_str()), (code, ""), "{args:?}: {run:?}");
        assert!(!run.err.is_empty(), "{args:?}");
        run.err
    }
}

/// Returns the path of the server, which lies next to the client.
pub(crate) fn server_binary() -> PathBuf {
    let server = PathBuf::from(env!("CARGO_BIN_EXE_svc-cli")).with_file_name("svc-server");
    assert!(server.is_file(), "build the server first: cargo build --workspace --bins");
    server
}

/// Returns the server, not yet started.
pub(crate) fn launch() -> ServerCommand {
    ServerCommand::new(server_binary()).expect("a directory and a port")
}

/// Starts a server with its defaults.
pub(crate) fn start() -> ServerProcess {
    launch().start().expect("the server starts")
}

/// Returns a workflow that copies the payload to `data.input`.
pub(crate) fn echo_workflow(id: &str) -> Value {
    json!({"workflow_id": id, "name": format!("Workflow {id}"), "tasks": [
        {"id": "take", "name": "Take", "function": {"name": "parse_json", "input": {"source": "payload", "target": "input"}}}
    ]})
}

/// Returns a workflow whose only task always fails.
pub(crate) fn failing_workflow(id: &str) -> Value {
    json!({"workflow_id": id, "name": id, "tasks": [
        {"id": "reach", "name": "Reach", "function": {"name": "db_read", "input": {"connector": "nowhere", "query": "SELECT 1"}}}
    ]})
}

/// Returns a REST channel on `POST /{id}`.
pub(crate) fn channel(id: &str, workflow: &str) -> Value {
    json!({"channel_id": id, "name": id, "channel_type": "sync", "protocol": "rest", "methods": ["POST"],
        "route_pattern": format!("/{id}"), "workflow_id": workflow})
}

/// Creates and activates an echo workflow and a channel of the same id in front of it.
pub(crate) fn serve_echo(client: &CliClient, id: &str) {
    client.ok(&["workflows", "create", "-d", &echo_workflow(id).to_string()]);
    client.ok(&["workflows", "activate", id]);
    client.ok(&["channels", "create", "-d", &channel(id, id).to_string()]);
    client.ok(&["channels", "activate", id]);
}

/// Compares text with a file next to the tests; `UPDATE_GOLDEN` writes the file instead.
pub(crate) fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "{name} differs; UPDATE_GOLDEN=1 writes it anew");
}

/// Replaces what differs from run to run: points in time, and generated ids by others of the same width, also within
/// JSON.
pub(crate) fn stable(text: &str) -> String {
    let word = |word: &str| {
        let bare = word.trim_end().trim_end_matches('"');
        let is_time = bare.len() >= 20 && bare.ends_with('Z') && bare.as_bytes()[10] == b'T';
        let digits = |at: std::ops::Range<usize>| {
            bare.get(at).is_some_and(|text| text.bytes().all(|b| b.is_ascii_digit()))
        };
        let is_day = bare.len() == 5 && bare.as_bytes()[2] == b'-' && digits(0..2) && digits(3..5);
        let is_clock = bare.len() == 8 && bare.matches(':').count() == 2 && digits(0..2) && digits(6..8);
        let is_uuid = bare.len() == 36 && bare.matches('-').count() == 4;
        if is_time {
            word.replace(bare, "0000-00-00T00:00:00Z")
        } else if is_uuid || is_day || is_clock {
            word.chars().map(|c| if c.is_ascii_hexdigit() { '0' } else { c }).collect()
        } else {
            word.to_owned()
        }
    };
    text.split_inclusive(|c: char| c.is_whitespace() || c == '"').map(word).collect()
}
