//! A service manager: notifications, its watchdog, the sockets that it passes, and those that outlive a process.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpClient;
use svc_testkit::peer;
use svc_testkit::postgres::Postgres;
use svc_testkit::server::{ServerCommand, ServerProcess, free_port};
use tempfile::TempDir;

use crate::support::{channel, echo_workflow, eventually, launch};

/// Longest wait for a notification.
const LIMIT: Duration = Duration::from_secs(60);

/// The receiver of the notifications of a server.
struct Manager {
    socket: UnixDatagram,
    directory: TempDir,
}

impl Manager {
    fn start() -> Self {
        let directory = TempDir::new().unwrap();
        let socket = UnixDatagram::bind(directory.path().join("notify")).unwrap();
        socket.set_read_timeout(Some(LIMIT)).unwrap();
        Self { socket, directory }
    }

    fn manage(&self, launch: ServerCommand) -> ServerCommand {
        launch.env("NOTIFY_SOCKET", &self.directory.path().join("notify").display().to_string())
    }

    fn receive(&self) -> String {
        let mut bytes = [0; 4096];
        let length = self.socket.recv(&mut bytes).expect("a notification in time");
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }

    /// Returns the next notification that begins with a line.
    fn expect(&self, line: &str) -> String {
        loop {
            let message = self.receive();
            if message.lines().next() == Some(line) {
                return message;
            }
        }
    }
}

fn is_ready(server: &ServerProcess) -> bool {
    server.client().get("/readyz").is_ok_and(|answer| answer.status == 200)
}

#[test]
fn start_reload_and_end_are_notified() {
    let manager = Manager::start();
    let mut server = manager.manage(launch()).spawn().unwrap();
    assert_eq!(manager.receive(), "STATUS=starting\n");
    let ready = manager.receive();
    assert_eq!(ready, "READY=1\nSTATUS=serving 0 channels, 0 quarantined\n");
    assert!(is_ready(&server), "it serves from then on");
    server.signal("HUP").unwrap();
    let reloading = manager.receive();
    let micros = reloading.lines().find_map(|line| line.strip_prefix("MONOTONIC_USEC=")).unwrap();
    assert!(reloading.starts_with("RELOADING=1\n") && micros.parse::<u64>().unwrap() > 0, "{reloading}");
    assert_eq!(manager.receive(), ready);
    server.signal("TERM").unwrap();
    let stopping = manager.receive();
    assert!(stopping.starts_with("STOPPING=1\nEXTEND_TIMEOUT_USEC="), "{stopping}");
    assert_eq!(server.wait(LIMIT).unwrap().code(), Some(0), "{}", server.log_text());
}

#[test]
fn watchdog_is_fed_while_database_is_away() {
    let Some(postgres) = Postgres::own() else { return };
    let manager = Manager::start();
    let launch = launch().env("SVC_STORAGE__URL", postgres.url()).env("WATCHDOG_USEC", "400000");
    let mut server = manager.manage(launch).start().unwrap();
    manager.expect("WATCHDOG=1");
    postgres.stop().unwrap();
    eventually(|| !is_ready(&server));
    // What was sent before the database went away.
    manager.socket.set_nonblocking(true).unwrap();
    while manager.socket.recv(&mut [0; 4096]).is_ok() {}
    manager.socket.set_nonblocking(false).unwrap();
    for _ in 0..10 {
        assert_eq!(manager.receive(), "WATCHDOG=1\n");
    }
    server.signal("KILL").unwrap();
    server.wait(LIMIT).unwrap();
}

#[test]
fn restart_refuses_no_connection() {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = socket.local_addr().unwrap();
    let mut first = launch().pass_socket(&socket).unwrap().start().unwrap();
    let is_over = AtomicBool::new(false);
    let second = thread::scope(|scope| {
        let client = scope.spawn(|| {
            let mut answers = 0;
            while !is_over.load(Ordering::Relaxed) {
                // A connection of its own for each request.
                let answer = HttpClient::new(address).get("/healthz").expect("no connection is refused");
                assert_eq!(answer.status, 200);
                answers += 1;
            }
            answers
        });
        first.signal("TERM").unwrap();
        assert_eq!(first.wait(LIMIT).unwrap().code(), Some(0), "{}", first.log_text());
        let second = launch().pass_socket(&socket).unwrap().start().unwrap();
        is_over.store(true, Ordering::Relaxed);
        assert!(client.join().unwrap() > 0);
        second
    });
    second.wait_for_log(&[&format!("\"port\":{}", address.port())]).unwrap();
}

#[test]
fn request_that_waits_for_the_start_is_answered() {
    let directory = TempDir::new().unwrap();
    let url = format!("sqlite:{}", directory.path().join("svc.db").display());
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = socket.local_addr().unwrap();
    let passed = || launch().env("SVC_STORAGE__URL", &url).pass_socket(&socket).unwrap();
    let mut first = passed().start().unwrap();
    let mut client = first.client();
    create_and_activate(&mut client, "workflows", "workflow_id", &echo_workflow("a")).unwrap();
    create_and_activate(&mut client, "channels", "channel_id", &channel("a", "a", json!({}))).unwrap();
    first.signal("TERM").unwrap();
    assert_eq!(first.wait(LIMIT).unwrap().code(), Some(0), "{}", first.log_text());
    let early = thread::spawn(move || HttpClient::new(address).json("POST", "/api/v1/data/a", &json!({})));
    let _second = passed().start().unwrap();
    let answer = early.join().unwrap().unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// Runs `systemd-analyze` on files of the directory of the units.
fn analyze(directory: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("systemd-analyze");
    command.args(args).arg("--no-pager").current_dir(directory).output().unwrap()
}

#[test]
fn open_socket_needs_admin_keys() {
    let socket = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    for launch in [launch().unset("SVC_SERVER__HOST"), launch().env("SVC_SERVER__HOST", "127.0.0.1")] {
        let refused = launch.pass_socket(&socket).unwrap().run_to_end().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(78), "{said}");
        assert!(said.contains("open to other machines") && said.contains("admin_auth.enabled"), "{said}");
    }
}

#[test]
fn units_are_valid_and_hardened() {
    if !peer::ensure_installed("systemd-analyze", "systemd") {
        return;
    }
    let units = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/systemd");
    let directory = TempDir::new().unwrap();
    let at = |name: &str| directory.path().join(name);
    let service = fs::read_to_string(units.join("svc.service")).unwrap();
    // The program is looked for.
    let service = service.replace("/usr/bin/svc-server", env!("CARGO_BIN_EXE_svc-server"));
    fs::write(at("svc.service"), service).unwrap();
    fs::copy(units.join("svc.socket"), at("svc.socket")).unwrap();
    fs::create_dir(at("svc.service.d")).unwrap();
    for has_drop_in in [false, true] {
        if has_drop_in {
            fs::copy(units.join("no-plugins.conf"), at("svc.service.d/no-plugins.conf")).unwrap();
        }
        let verified = analyze(directory.path(), &["verify", "--man=no", "./svc.service", "./svc.socket"]);
        let said = String::from_utf8_lossy(&verified.stderr);
        assert!(verified.status.success() && !said.contains("svc."), "{said}");
        let args = ["security", "--offline=true", "--threshold=20", "./svc.service"];
        let measured = analyze(directory.path(), &args);
        assert!(measured.status.success(), "{}", String::from_utf8_lossy(&measured.stdout));
    }
}

#[test]
fn activated_sockets_are_taken_by_name() {
    const COMMAND: &str = "systemd-socket-activate";
    if !peer::ensure_installed(COMMAND, "systemd") {
        return;
    }
    let [port, metrics_port] = [free_port().unwrap(), free_port().unwrap()];
    let listen = [port, metrics_port].map(|port| format!("127.0.0.1:{port}"));
    let directory = TempDir::new().unwrap();
    let variables = [
        format!("SVC_STORAGE__URL=sqlite:{}", directory.path().join("svc.db").display()),
        // Ports that nothing listens on: those of the sockets count.
        format!("SVC_SERVER__PORT={}", free_port().unwrap()),
        format!("SVC_METRICS__BIND_ADDR=127.0.0.1:{}", free_port().unwrap()),
        "SVC_METRICS__ENABLED=true".to_owned(),
        "SVC_SERVER__SHUTDOWN_DRAIN_SECS=0".to_owned(),
    ];
    let mut args = vec!["-l", listen[0].as_str(), "-l", listen[1].as_str(), "--fdname=http:metrics"];
    args.extend(variables.iter().flat_map(|variable| ["-E", variable.as_str()]));
    args.push(env!("CARGO_BIN_EXE_svc-server"));
    let mut server = ServerCommand::new(COMMAND).unwrap().port(port).args(&args).start().unwrap();
    let metrics = HttpClient::new((Ipv4Addr::LOCALHOST, metrics_port).into()).get("/metrics").unwrap();
    assert_eq!(metrics.status, 200, "{}", metrics.text());
    let main = server.client().json("POST", "/api/v1/data/none", &json!({})).unwrap();
    assert_eq!(main.status, 404, "the main listener has the data plane");
    server.signal("TERM").unwrap();
    assert_eq!(server.wait(LIMIT).unwrap().code(), Some(0), "{}", server.log_text());
}
