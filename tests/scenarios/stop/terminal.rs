//! Signals that were typed.

use std::process::Command;
use std::time::Duration;

use svc_testkit::http::HttpClient;
use svc_testkit::peer;
use svc_testkit::process::ChildProcess;
use svc_testkit::server::{free_port, wait_until};

use crate::support::launch;

/// Runs the command of its arguments at a terminal of its own, types what it reads, and returns the exit code.
const AT_A_TERMINAL: &str = r"
import os, pty, select, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    ready = select.select([terminal, 0], [], [])[0]
    if 0 in ready:
        typed = os.read(0, 1)
        if typed == b'':
            break
        os.write(terminal, typed)
    if terminal in ready:
        try:
            if os.read(terminal, 4096) == b'':
                break
        except OSError:
            break
print('ended', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
";

#[test]
fn only_terminal_interrupt_skips_the_drain_time() {
    let directory = tempfile::tempdir().unwrap();
    let port = free_port().unwrap();
    let mut command = Command::new("python3");
    command
        .args(["-c", AT_A_TERMINAL, env!("CARGO_BIN_EXE_svc-server")])
        .current_dir(directory.path())
        .env("SVC_STORAGE__URL", format!("sqlite:{}", directory.path().join("svc.db").display()))
        .env("SVC_SERVER__HOST", "127.0.0.1")
        .env("SVC_SERVER__PORT", port.to_string())
        .env("SVC_SERVER__SHUTDOWN_DRAIN_SECS", "3600");
    let mut typist = match ChildProcess::start(&mut command) {
        Ok(process) => process,
        Err(why) => return peer::report_missing("python3", &why),
    };
    let address = ([127, 0, 0, 1], port).into();
    let ready = wait_until(Duration::from_secs(60), || {
        Ok(HttpClient::new(address).get("/readyz").is_ok_and(|answer| answer.status == 200))
    });
    assert!(ready.unwrap());
    typist.write(b"\x03").unwrap();
    assert_eq!(typist.wait_for(|lines| lines.last().cloned()).unwrap(), "ended 0");

    let mut server = launch().env("SVC_SERVER__SHUTDOWN_DRAIN_SECS", "3600").start().unwrap();
    let mut client = server.client();
    server.signal("INT").unwrap();
    let draining = wait_until(Duration::from_secs(30), || Ok(client.get("/readyz")?.status == 503));
    assert!(draining.unwrap(), "it drains, and serves meanwhile");
    server.signal("KILL").unwrap();
    server.wait(Duration::from_secs(30)).unwrap();
}
