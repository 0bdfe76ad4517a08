//! The influence of the environment. Each test runs itself again in a process with that environment.

use std::process::Command;

use svc_outbound::{FetchError, Outbound, Trust, check_url};
use svc_testkit::tls::{Behaviour, HttpsServer, expired_self_signed_certificate, self_signed_certificate};
use svc_testkit::trap::Trap;

use crate::{PATIENCE, client};

/// The variable with the address of the server for the child process.
const SERVER: &str = "OUTBOUND_TEST_SERVER";

/// Runs one ignored test of this file in a process of its own.
fn in_child(test: &str, server: &HttpsServer, env: &[(&str, &str)]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", &format!("environment::{test}")]);
    for name in ["SSL_CERT_FILE", "SSL_CERT_DIR", "NO_PROXY", "no_proxy"] {
        command.env_remove(name);
    }
    let output = command.env(SERVER, server.url("/")).envs(env.iter().copied()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn fetch_body() -> Result<String, FetchError> {
    let url = std::env::var_os(SERVER).unwrap().into_string().unwrap();
    let url = check_url(&url, true).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = client(&Trust::System, true, PATIENCE);
    let answer = runtime.block_on(client.get(&url, 1024))?;
    Ok(String::from_utf8(answer.body.to_vec()).unwrap())
}

#[test]
#[ignore = "runs in a child"]
fn child_is_answered() {
    assert_eq!(fetch_body().unwrap(), "\"here\"");
}

#[test]
#[ignore = "runs in a child"]
fn child_does_not_trust() {
    assert!(matches!(fetch_body(), Err(FetchError::Connect { .. })));
}

#[test]
#[ignore = "runs in a child"]
fn child_starts_without_anchors_and_says_so() {
    let outbound = Outbound::new(&Trust::System).unwrap();
    assert_eq!(outbound.anchors(), 0);
    assert!(!outbound.warnings().is_empty());
    assert!(matches!(fetch_body(), Err(FetchError::Connect { .. })));
}

fn start_server() -> HttpsServer {
    HttpsServer::start(Behaviour::json("\"here\"", &[])).unwrap()
}

#[test]
fn anchors_of_ssl_cert_variables_are_trusted() {
    let (server, directory) = (start_server(), tempfile::tempdir().unwrap());
    let file = server.write_authority(directory.path()).unwrap();
    in_child("child_is_answered", &server, &[("SSL_CERT_FILE", file.to_str().unwrap())]);
    in_child("child_is_answered", &server, &[("SSL_CERT_DIR", directory.path().to_str().unwrap())]);
}

#[test]
fn without_them_the_authority_is_a_stranger() {
    in_child("child_does_not_trust", &start_server(), &[]);
}

#[test]
fn certificate_among_the_anchors_is_trusted() {
    // As `openssl req -x509` makes it: the certificate of the server is its own authority.
    for (own, child) in [
        (self_signed_certificate(&["127.0.0.1"]), "child_is_answered"),
        (self_signed_certificate(&["other.example"]), "child_does_not_trust"),
        (expired_self_signed_certificate(), "child_does_not_trust"),
    ] {
        let own = own.unwrap();
        let server = HttpsServer::start_with(own, Behaviour::json("\"here\"", &[])).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let file = server.write_authority(directory.path()).unwrap();
        in_child(child, &server, &[("SSL_CERT_FILE", file.to_str().unwrap())]);
        in_child("child_does_not_trust", &server, &[]);
    }
}

#[test]
fn missing_file_leaves_no_trust_anchors() {
    in_child(
        "child_starts_without_anchors_and_says_so",
        &start_server(),
        &[("SSL_CERT_FILE", "/nonexistent/ca.pem")],
    );
}

#[test]
fn no_proxy_of_the_environment_is_used() {
    let (server, trap, directory) = (start_server(), Trap::bind().unwrap(), tempfile::tempdir().unwrap());
    let file = server.write_authority(directory.path()).unwrap();
    let proxy = format!("http://127.0.0.1:{}", trap.port());
    let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let mut env = names.map(|name| (name, proxy.as_str())).to_vec();
    env.push(("SSL_CERT_FILE", file.to_str().unwrap()));
    in_child("child_is_answered", &server, &env);
    assert_eq!(trap.take_connection_count(), 0);
}
