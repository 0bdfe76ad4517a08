//! `health`: the state of a running server as an exit code.

use std::net::TcpListener;
use std::process::Output;

use svc_testkit::server::{ServerCommand, free_port};
use svc_testkit::tls::issue_certificate;

use super::{stderr, stdout};
use crate::support::{eventually, launch};

/// Runs the command with these arguments, as a server on this port would.
fn ask(launch: ServerCommand, port: u16, args: &[&str]) -> Output {
    launch.port(port).args(&["health"]).args(args).run_to_end().unwrap()
}

#[test]
fn state_of_server_is_exit_code_and_line() {
    let mut server = launch().env("SVC_SERVER__SHUTDOWN_DRAIN_SECS", "60").start().unwrap();
    let port = server.address().port();
    for (args, expected) in [(&[][..], "ok\n"), (&["--ready"], "ready\n")] {
        let output = ask(launch(), port, args);
        assert_eq!(
            (output.status.code(), stdout(&output).as_str()),
            (Some(0), expected),
            "{}",
            stderr(&output)
        );
    }
    server.signal("TERM").unwrap();
    eventually(|| !ask(launch(), port, &["--ready"]).status.success());
    let draining = ask(launch(), port, &["--ready"]);
    let expected = format!("127.0.0.1 port {port}: not_ready: initialized false\n");
    assert_eq!((draining.status.code(), stderr(&draining)), (Some(1), expected));
    assert!(ask(launch(), port, &[]).status.success(), "a process that drains is alive");
    server.signal("KILL").unwrap();
    server.wait(std::time::Duration::from_secs(20)).unwrap();
    let gone = ask(launch(), port, &[]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(stderr(&gone).contains("refused") && stderr(&gone).lines().count() == 1, "{}", stderr(&gone));
}

#[test]
fn server_with_tls_is_asked_over_tls() {
    let certificate = issue_certificate().unwrap();
    let server = launch().over_tls(&certificate).unwrap().start().unwrap();
    let port = server.address().port();
    let output = ask(launch().over_tls(&certificate).unwrap(), port, &["--ready"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "ready\n"), "{}", stderr(&output));
    let other = launch().over_tls(&issue_certificate().unwrap()).unwrap();
    let output = ask(other, port, &[]);
    assert!(stdout(&output).starts_with("ok, with another certificate"), "{}", stdout(&output));
    // The server goes on with what it has, until its end.
    let damaged = launch().over_tls(&certificate).unwrap();
    let file = damaged.directory().join("damaged.pem");
    std::fs::write(&file, "damaged").unwrap();
    let output = ask(damaged.env("SVC_SERVER__TLS__CERT_PATH", file.to_str().unwrap()), port, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stdout(&output).starts_with("ok, and server.tls.cert_path cannot be read"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn listener_for_operators_is_asked_if_set() {
    let address = format!("127.0.0.1:{}", free_port().unwrap());
    let server = launch().env("SVC_METRICS__BIND_ADDR", &address).start().unwrap();
    let elsewhere = launch().env("SVC_METRICS__BIND_ADDR", &address);
    let output = ask(elsewhere, free_port().unwrap(), &["--ready"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "ready\n"), "{}", stderr(&output));
    drop(server);
}

#[test]
fn silent_listener_is_given_up_in_time() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let output = ask(launch(), port, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output), format!("127.0.0.1 port {port}: no answer within 2 s\n"));
}
