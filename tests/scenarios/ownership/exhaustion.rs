//! A run that exhausts the memory of its process: it ends the process again at each recovery, and is given
//! up.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::server::{ServerCommand, ServerProcess};

use crate::support::{eventually, serve};

/// Private memory that a process may take besides that of an idle one, in KiB: enough to serve, and less than
/// the run of the test takes.
const SPARE_KIB: u64 = 80_000;
const MAX_RECOVERIES: usize = 5;
/// Longer than a process takes to start and to end itself, the pause before the last recovery included.
const LIFE: Duration = Duration::from_secs(60);

/// Writes a program that starts the server with the memory that the file `limit` next to it allows. The
/// allocator reserves no more than it uses, as reserved memory counts.
fn bounded_server(directory: &Path) -> ServerCommand {
    let (path, limit) = (directory.join("svc-server"), directory.join("limit"));
    let script = format!(
        "#!/bin/sh\nulimit -d \"$(cat '{}')\"\nulimit -c 0\nexport MIMALLOC_ARENA_RESERVE=0\nexec '{}' \"$@\"\n",
        limit.display(),
        env!("CARGO_BIN_EXE_svc-server")
    );
    fs::write(&limit, "unlimited").unwrap();
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    ServerCommand::new(path).unwrap()
}

/// Returns the private memory of a process, in KiB.
fn private_kib(server: &ServerProcess) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmData:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn run_exhausting_memory_is_given_up_after_five() {
    let directory = tempfile::tempdir().unwrap();
    let server = bounded_server(directory.path()).start().unwrap();
    let mut client = server.client();
    // Each copy is within the bound of a message; all copies and the record of their changes are not within
    // memory.
    let text = json!({"var": "payload.text"});
    let mut mappings = vec![json!({"path": "data.first", "logic": vec![text; 28]})];
    for copy in ["second", "third", "fourth"] {
        mappings.push(json!({"path": format!("data.{copy}"), "logic": {"var": "data.first"}}));
    }
    let input = json!({ "mappings": mappings });
    serve(&mut client, "grow", json!([{"id": "m", "name": "", "function": {"name": "map", "input": input}}]));
    let limit = private_kib(&server) + SPARE_KIB;
    fs::write(directory.path().join("limit"), limit.to_string()).unwrap();
    let mut server = server.crash_and_restart().unwrap();
    let mut client = server.client();
    let poison = json!({"text": "x".repeat(500_000)}).to_string();
    // It begins after it is on record: a run beside its commit may take the memory that the commit needs.
    let headers = [("content-type", "application/json"), ("svc-delay", "1s")];
    // The storage may meet the bound too, and refuses the row then: its caller sends it once more.
    let mut accepted = Value::Null;
    eventually(|| {
        let answer = client.send("POST", "/api/v1/data/grow/async", &headers, poison.as_bytes()).unwrap();
        assert!(matches!(answer.status, 202 | 503), "{}\n{}", answer.text(), server.log_text());
        accepted = answer.json();
        answer.status == 202
    });
    for life in 0..=MAX_RECOVERIES {
        let status = server.wait(LIFE).unwrap_or_else(|error| panic!("life {life}: {error}"));
        assert!(!status.success(), "life {life}: {status}");
        server = server.crash_and_respawn().unwrap();
    }
    server.wait_until_ready().unwrap();
    let mut client = server.client();
    let mut server = Some(server);
    let mut letter = json!(null);
    eventually(|| {
        let Ok(answer) = client.get("/api/v1/admin/trace-dlq?exhausted=true") else {
            // A start that exceeds the bound by itself ends a process as well, and is no recovery.
            let mut respawned = server.take().unwrap().crash_and_respawn().unwrap();
            respawned.wait_until_ready().unwrap();
            client = respawned.client();
            server = Some(respawned);
            return false;
        };
        letter = answer.json()["data"][0].clone();
        letter.is_object()
    });
    assert_eq!(letter["trace_id"], accepted["trace_id"]);
    assert!(letter["error_message"].as_str().unwrap().starts_with("attempts_exhausted:"), "{letter}");
    let answer = client.json("POST", "/api/v1/data/grow", &json!({"text": "x"})).unwrap();
    assert_eq!(answer.status, 200, "others are served: {}", answer.text());
}
