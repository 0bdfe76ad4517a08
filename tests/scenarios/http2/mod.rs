//! HTTP/2 within TLS, as clients meet it, and as attackers do.

mod floods;
mod limits;

use std::process::Command;

use serde_json::json;
use svc_testkit::http2::RawClient;
use svc_testkit::peer;
use svc_testkit::server::{ServerCommand, ServerProcess};
use svc_testkit::tls::{IssuedCertificate, issue_certificate};

use crate::support::{echo, launch};

fn over_tls(issued: &IssuedCertificate) -> ServerCommand {
    launch().over_tls(issued).unwrap().env("SVC_METRICS__ENABLED", "true")
}

/// Starts a server, writes the authority next to it, and serves an echo channel at `/e`.
fn start(issued: &IssuedCertificate, settings: &[(&str, &str)]) -> ServerProcess {
    let command = settings.iter().fold(over_tls(issued), |command, (name, value)| command.env(name, value));
    std::fs::write(command.directory().join("authority.pem"), &issued.authority).unwrap();
    let server = command.start().unwrap();
    echo(&mut server.client(), "e", json!({}));
    server
}

/// Opens a connection with these settings of the client.
fn open(server: &ServerProcess, issued: &IssuedCertificate, settings: &[(u16, u32)]) -> RawClient {
    RawClient::open(server, issued, settings).unwrap()
}

fn count_refusals(server: &ServerProcess, reason: &str) -> u64 {
    let metrics = server.client().get("/metrics").unwrap().text();
    let name = format!("svc_http_connections_refused_total{{reason=\"{reason}\"}} ");
    let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
    line.unwrap_or_else(|| panic!("{reason}: {metrics}")).parse().unwrap()
}

/// Runs `curl` over HTTP/2 and returns what it printed; the last line is the version and the status.
fn curl(server: &ServerProcess, arguments: &[&str]) -> String {
    let authority = server.directory().join("authority.pem").display().to_string();
    let output = Command::new("curl")
        .args(["--http2", "-sS", "--cacert", &authority, "-w", "\n%{http_version} %{http_code}\n"])
        .args(arguments)
        .output()
        .expect("curl is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn http_2_serves_what_http_1_serves() {
    if !peer::is_installed("curl", "curl") {
        return;
    }
    let server = start(&issue_certificate().unwrap(), &[]);
    let url = |path: &str| format!("https://{}{path}", server.address());
    let text = curl(&server, &["-i", &url("/healthz")]);
    assert!(text.starts_with("HTTP/2 200") && text.ends_with("2 200\n"), "{text}");
    for header in
        ["strict-transport-security: max-age=63072000; includeSubDomains", "x-request-id: ", "date: "]
    {
        assert!(text.contains(header), "{header}: {text}");
    }
    assert!(curl(&server, &["-I", &url("/healthz")]).ends_with("2 200\n"));
    assert!(curl(&server, &[&url("/nowhere")]).contains("\"NOT_FOUND\""));
    // A body and a response larger than every window of the protocol.
    let payload = server.directory().join("payload.json");
    std::fs::write(&payload, json!({"text": "x".repeat(900_000)}).to_string()).unwrap();
    let data = format!("@{}", payload.display());
    let post = ["-H", "content-type: application/json", "--data-binary", &data];
    let address = url("/api/v1/data/e");
    let answered = curl(&server, &[&post[..], &[&address]].concat());
    assert!(answered.len() > 900_000 && answered.ends_with("2 200\n"), "{}", answered.len());
    // Requests side by side on one connection.
    let many = ["-o", "/dev/null", address.as_str()].repeat(12);
    let answered = curl(&server, &[&["-Z"][..], &post, &many].concat());
    assert_eq!(answered.matches("2 200").count(), 12, "{answered}");
    // A body above the limit is refused while it is sent.
    std::fs::write(&payload, json!({"text": "x".repeat(3_000_000)}).to_string()).unwrap();
    let answered = curl(&server, &[&post[..], &["-o", "/dev/null", &address]].concat());
    assert!(answered.ends_with("2 413\n"), "{answered}");
}

#[test]
fn http2_is_off_if_the_setting_says_so() {
    if !peer::is_installed("curl", "curl") {
        return;
    }
    let server = start(&issue_certificate().unwrap(), &[("SVC_SERVER__TLS__HTTP2", "false")]);
    let address = format!("https://{}/healthz", server.address());
    assert!(curl(&server, &[&address]).ends_with("1.1 200\n"));
}

#[test]
fn admin_api_requires_client_certificate_over_http_2() {
    if !peer::is_installed("curl", "curl") {
        return;
    }
    let (issued, operator) = (issue_certificate().unwrap(), issue_certificate().unwrap());
    let command = over_tls(&issued);
    let place = |name: &str| command.directory().join(name).display().to_string();
    let (authority, ca) = (place("authority.pem"), place("operators.pem"));
    let (certificate, key) = (place("operator.pem"), place("operator-key.pem"));
    for (file, text) in [
        (&authority, &issued.authority),
        (&ca, &operator.authority),
        (&certificate, &operator.certificate),
        (&key, &operator.key),
    ] {
        std::fs::write(file, text).unwrap();
    }
    let server = command.env("SVC_SERVER__TLS__CLIENT_CA_PATH", &ca).start().unwrap();
    let address = format!("https://{}/api/v1/admin/channels", server.address());
    assert!(curl(&server, &[&address]).ends_with("2 403\n"));
    assert!(curl(&server, &["--cert", &certificate, "--key", &key, &address]).ends_with("2 200\n"));
}
