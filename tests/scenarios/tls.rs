//! TLS of the listeners, as clients of other makers meet it.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::http2::{DATA, END_HEADERS, END_STREAM, HEADERS, NO_ERROR, OK, RawClient, frame, get};
use svc_testkit::peer;
use svc_testkit::server::{ServerCommand, ServerProcess, free_port, wait_until};
use svc_testkit::tls::{IssuedCertificate, issue_certificate, issue_certificate_for_time};

use crate::support::{echo, error, eventually, launch};

const HSTS: &str = "max-age=63072000; includeSubDomains";
/// Longest wait for bytes of the server.
const PATIENCE: Duration = Duration::from_secs(60);

fn certificate() -> IssuedCertificate {
    issue_certificate().expect("a certificate")
}

fn over_tls(certificate: &IssuedCertificate) -> ServerCommand {
    launch().over_tls(certificate).expect("the files are written")
}

const GET: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

/// Runs `openssl s_client` against the server, sends a request, and returns all that it printed.
fn s_client(server: &ServerProcess, request: &[u8], options: &[&str]) -> String {
    let mut child = Command::new("openssl")
        .args(["s_client", "-connect", &server.address().to_string(), "-ign_eof"])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("openssl is installed");
    // A refused handshake ends the process before it reads.
    let _ = child.stdin.take().unwrap().write_all(request);
    let output = child.wait_with_output().unwrap();
    [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat()
}

fn open(address: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes).unwrap();
    stream
}

/// The rest of a connection until the server has closed it.
fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
    }
    bytes
}

#[test]
fn requests_are_answered_with_hsts_within_tls_alone() {
    let server = over_tls(&certificate()).env("SVC_METRICS__ENABLED", "true").start().unwrap();
    let mut client = server.client().keep_alive();
    echo(&mut client, "e", json!({}));
    let payload = json!({"text": "x".repeat(500_000)});
    let answer = client.json("POST", "/api/v1/data/e", &payload).unwrap();
    assert_eq!((answer.status, answer.header("strict-transport-security")), (200, Some(HSTS)));
    let missing = client.get("/nowhere").unwrap();
    error(&missing, 404, "NOT_FOUND");
    assert_eq!(missing.header("strict-transport-security"), Some(HSTS));
    let health = client.get("/health").unwrap().json();
    assert_eq!((&health["status"], &health["components"]["tls"]), (&json!("ok"), &json!("ok")));
    let text = client.get("/metrics").unwrap().text();
    let expiry =
        text.lines().find_map(|line| line.strip_prefix("svc_tls_certificate_expiry_timestamp_seconds "));
    assert!(expiry.unwrap().parse::<i64>().unwrap() > 1_700_000_000, "{expiry:?}");

    let plain = launch().start().unwrap();
    let answer = plain.client().get("/health").unwrap();
    assert_eq!(answer.header("strict-transport-security"), None);
    assert!(answer.json()["components"].get("tls").is_none());
}

#[test]
fn openssl_gets_no_version_below_tls_1_2() {
    if !peer::is_installed("openssl", "openssl") {
        return;
    }
    let issued = certificate();
    let server = over_tls(&issued).start().unwrap();
    let authority = server.directory().join("authority.pem");
    std::fs::write(&authority, &issued.authority).unwrap();
    let authority = authority.display().to_string();
    let verified = ["-CAfile", &authority, "-verify_return_error", "-verify_ip", "127.0.0.1"];
    for (option, version) in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")] {
        let text = s_client(&server, GET, &[&verified[..], &[option, "-alpn", "http/1.1"]].concat());
        assert!(text.contains("HTTP/1.1 200 OK") && text.contains(version), "{option}: {text}");
        assert!(text.contains("Verify return code: 0 (ok)"), "{text}");
        assert!(text.contains("ALPN protocol: http/1.1"), "{text}");
    }
    for old in ["-tls1", "-tls1_1"] {
        let text = s_client(&server, GET, &[old, "-cipher", "ALL:@SECLEVEL=0"]);
        assert!(text.contains("SSL alert number") && !text.contains("HTTP/1.1"), "{old}: {text}");
    }
    assert!(s_client(&server, b"", &["-alpn", "h2,http/1.1"]).contains("ALPN protocol: h2"));
    let unknown = s_client(&server, GET, &["-alpn", "ftp"]);
    assert!(unknown.contains("alert no application protocol"), "{unknown}");

    let strict = over_tls(&issued).env("SVC_SERVER__TLS__MIN_VERSION", "1.3").start().unwrap();
    let text = s_client(&strict, GET, &["-tls1_2"]);
    assert!(text.contains("SSL alert number") && !text.contains("HTTP/1.1"), "{text}");
}

#[test]
fn plain_http_on_tls_port_gets_https_hint() {
    let server = over_tls(&certificate()).start().unwrap();
    let mut plain = HttpClient::new(server.address());
    let answer = plain.json("POST", "/api/v1/data/e", &json!({"text": "x".repeat(100_000)})).unwrap();
    let refusal = error(&answer, 400, "VALIDATION_ERROR");
    assert!(refusal["message"].as_str().unwrap().contains("https://"), "{refusal}");
    assert_eq!(answer.header("strict-transport-security"), None);
    // An alert of TLS and the end, whatever follows the first byte.
    let garbage = rest(open(server.address(), &[0x16; 4096]));
    assert_eq!(garbage.first(), Some(&0x15), "{garbage:?}");
    assert_eq!(server.client().get("/healthz").unwrap().status, 200);
}

#[test]
fn handshake_has_head_timeout_and_bounded_connections() {
    let certificate = certificate();
    let server = over_tls(&certificate)
        .env("SVC_SERVER__HEAD_TIMEOUT_SECS", "2")
        .env("SVC_SERVER__MAX_CONNECTIONS", "10")
        .env("SVC_METRICS__ENABLED", "true")
        .start()
        .unwrap();
    let silent: Vec<_> = (0..3).map(|_| open(server.address(), b"")).collect();
    let begun: Vec<_> = (0..2).map(|_| open(server.address(), &[0x16, 3, 1])).collect();
    // One address has at most half of the connections.
    let refused = open(server.address(), b"");
    assert_eq!(rest(refused), b"", "ended without a handshake");
    for stream in silent.into_iter().chain(begun) {
        assert_eq!(rest(stream), b"");
    }
    let refusals = |reason: &str| -> u32 {
        let metrics = server.client().get("/metrics").unwrap().text();
        let name = format!("svc_http_connections_refused_total{{reason=\"{reason}\"}} ");
        metrics.lines().find_map(|line| line.strip_prefix(&name)).unwrap().parse().unwrap()
    };
    let count = || (refusals("slow_tls_handshake"), refusals("too_many_connections_of_address"));
    // A connection is counted after it is closed.
    eventually(|| count().0 + count().1 == 6);
    let (slow, refused) = count();
    // The connection that saw the server start may have been open still, in the place of one of these.
    assert!(matches!((slow, refused), (5, 1) | (4, 2)), "{slow} slow, {refused} refused");
}

#[test]
fn limits_of_heads_hold_within_tls() {
    if !peer::is_installed("openssl", "openssl") {
        return;
    }
    let certificate = certificate();
    let server = over_tls(&certificate).env("SVC_SERVER__HEAD_TIMEOUT_SECS", "1").start().unwrap();
    let text = s_client(&server, b"GET /healthz HTTP/1.1\r\nhost:", &[]);
    assert!(text.contains("HTTP/1.1 408 Request Timeout"), "{text}");
    let huge = "a".repeat(300_000);
    let answer = server.client().send("GET", "/healthz", &[("x-huge", &huge)], b"").unwrap();
    error(&answer, 431, "REQUEST_HEADER_FIELDS_TOO_LARGE");
    assert_eq!(answer.header("strict-transport-security"), Some(HSTS));
}

#[test]
fn requests_within_tls_survive_a_stop_of_the_process() {
    let certificate = certificate();
    let server = over_tls(&certificate)
        .env("SVC_SERVER__KEEP_ALIVE_SECS", "3")
        .env("SVC_SERVER__HEAD_TIMEOUT_SECS", "3")
        .start()
        .unwrap();
    let mut connections: Vec<_> = (0..8).map(|_| server.client().keep_alive()).collect();
    for client in &mut connections {
        assert_eq!(client.get("/healthz").unwrap().status, 200);
    }
    let fresh: Vec<_> = (0..8).map(|_| server.client()).collect();
    server.signal("STOP").unwrap();
    let waiting: Vec<_> = connections
        .into_iter()
        .chain(fresh)
        .map(|mut client| thread::spawn(move || client.get("/healthz").map(|answer| answer.status)))
        .collect();
    wait_until(Duration::from_secs(5), || Ok(false)).unwrap();
    server.signal("CONT").unwrap();
    for request in waiting {
        assert_eq!(request.join().unwrap().unwrap(), 200);
    }
}

#[test]
fn certificate_replacement_under_load_fails_no_request() {
    let issued = [certificate(), certificate(), certificate()];
    let server = over_tls(&issued[0]).start().unwrap();
    let (done, served) = (AtomicBool::new(false), AtomicUsize::new(0));
    let is_in_use = |issued: &IssuedCertificate| {
        let settings = issued.client_settings(None).unwrap();
        HttpClient::new(server.address()).over_tls(settings).get("/healthz").is_ok()
    };
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut connection = server.client().keep_alive();
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(connection.get("/healthz").unwrap().status, 200);
                    served.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // New connections meet one of the certificates, in this order, and never none.
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert!(issued.iter().any(is_in_use));
            }
        });
        let followed = replace_by_change(&server, &issued[1], &is_in_use);
        let health = break_certificate(&server, &issued[1]);
        issued[2].write(server.directory()).unwrap();
        server.signal("HUP").unwrap();
        let signalled = wait_until(PATIENCE, || Ok(is_in_use(&issued[2])));
        done.store(true, Ordering::Relaxed);
        assert!(followed && signalled.unwrap());
        assert_eq!(health["status"], "degraded", "{health}");
        assert!(health["tls"]["reason"].as_str().unwrap().starts_with("server.tls.cert_path: "), "{health}");
    });
    assert!(served.into_inner() > 0);
    server.wait_for_log(&["certificate refused; the previous one stays in use"]).unwrap();
}

/// Replaces the files, without a signal. Returns `true` once the server uses them.
fn replace_by_change(
    server: &ServerProcess,
    issued: &IssuedCertificate,
    is_in_use: &impl Fn(&IssuedCertificate) -> bool,
) -> bool {
    issued.write(server.directory()).unwrap();
    wait_until(PATIENCE, || Ok(is_in_use(issued))).unwrap()
}

/// Breaks the file of the certificate and returns the health that reports it; the one in use stays.
fn break_certificate(server: &ServerProcess, in_use: &IssuedCertificate) -> Value {
    std::fs::write(server.directory().join("cert.pem"), "broken").unwrap();
    server.signal("HUP").unwrap();
    let mut client = HttpClient::new(server.address()).over_tls(in_use.client_settings(None).unwrap());
    let mut health = Value::Null;
    wait_until(PATIENCE, || {
        health = client.get("/health")?.json();
        Ok(health["components"]["tls"] == "degraded")
    })
    .unwrap();
    health
}

#[test]
fn admin_api_needs_certificate_if_authorities_are_set() {
    let (own, stranger, issued) = (certificate(), certificate(), certificate());
    let launch = over_tls(&issued);
    let authority = launch.directory().join("clients.pem");
    std::fs::write(&authority, &own.authority).unwrap();
    let server = launch.env("SVC_SERVER__TLS__CLIENT_CA_PATH", &authority.display().to_string());
    let server = server.start().unwrap();
    let client = |own: Option<&IssuedCertificate>| {
        HttpClient::new(server.address()).over_tls(issued.client_settings(own).unwrap())
    };
    let path = "/api/v1/admin/workflows";
    error(&client(None).get(path).unwrap(), 403, "FORBIDDEN");
    assert_eq!(client(None).get("/healthz").unwrap().status, 200);
    assert_eq!(client(Some(&own)).get(path).unwrap().status, 200);
    client(Some(&stranger)).get("/healthz").expect_err("an unknown authority ends the handshake");
    echo(&mut client(Some(&own)), "e", json!({}));
    let called = client(None).json("POST", "/api/v1/data/e", &json!({})).unwrap();
    assert_eq!(called.status, 200, "{}", called.text());
}

/// Checks that the connections of a client end once its certificate no longer counts; `withdraw` brings that about. The
/// certificate is issued once the server runs, so that its life is not spent on the start.
fn check_withdrawal(issue: impl FnOnce() -> IssuedCertificate, withdraw: impl FnOnce(&ServerProcess)) {
    let issued = certificate();
    let launch = over_tls(&issued);
    let authority = launch.directory().join("clients.pem");
    std::fs::write(&authority, certificate().authority).unwrap();
    let server = launch.env("SVC_SERVER__TLS__CLIENT_CA_PATH", &authority.display().to_string());
    let server = server.start().unwrap();
    let path = "/api/v1/admin/workflows";
    let own = issue();
    std::fs::write(&authority, &own.authority).unwrap();
    server.signal("HUP").unwrap();
    let settings = issued.client_settings(Some(&own)).unwrap();
    let mut over_1 = HttpClient::new(server.address()).over_tls(settings).keep_alive();
    eventually(|| over_1.get(path).is_ok_and(|answer| answer.status == 200));
    let mut over_2 = RawClient::connect_as(&server, &issued, Some(&own)).unwrap();
    over_2.greet(&[]).unwrap();
    over_2.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &get(path)));
    assert_eq!(over_2.receive_kind(HEADERS).expect("an answer").payload[0], OK);
    let mut viewer = RawClient::connect_as(&server, &issued, Some(&own)).unwrap();
    viewer.greet(&[]).unwrap();
    viewer.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &get("/api/v1/admin/live")));
    assert_eq!(viewer.receive_kind(HEADERS).expect("a stream").payload[0], OK);
    withdraw(&server);
    // The files are followed, and certificates expire, in their own time.
    let mut last = None;
    let is_refused = wait_until(PATIENCE, || {
        let answer = over_1.get(path)?;
        let status = answer.status;
        last = Some(answer);
        Ok(status == 403)
    });
    assert!(is_refused.unwrap(), "{last:?}");
    assert_eq!(last.unwrap().header("connection"), Some("close"));
    over_2.send(&frame(HEADERS, END_HEADERS | END_STREAM, 3, &get(path)));
    let (status, farewell) = over_2.receive_answer_and_farewell().expect("an answer and a farewell");
    assert!(status != OK && farewell == NO_ERROR, "{status} {farewell}");
    let mut events = Vec::new();
    while !String::from_utf8_lossy(&events).contains("key_withdrawn") {
        events.extend(viewer.receive_kind(DATA).expect("events up to the last one").payload);
    }
}

#[test]
fn withdrawn_client_certificate_ends_its_connections() {
    check_withdrawal(certificate, |server| {
        std::fs::write(server.directory().join("clients.pem"), certificate().authority).unwrap();
        server.signal("HUP").unwrap();
    });
}

#[test]
fn expired_client_certificate_ends_its_connections() {
    check_withdrawal(|| issue_certificate_for_time(Duration::from_secs(10)).unwrap(), |_| {});
}

#[test]
fn the_operational_listener_speaks_tls_when_asked() {
    let certificate = certificate();
    for (setting, speaks_tls) in [("false", false), ("true", true)] {
        let port = free_port().unwrap();
        let server = over_tls(&certificate)
            .env("SVC_METRICS__BIND_ADDR", &format!("127.0.0.1:{port}"))
            .env("SVC_METRICS__ENABLED", "true")
            .env("SVC_METRICS__TLS_ENABLED", setting)
            .start()
            .unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let plain = HttpClient::new(address).get("/metrics").unwrap();
        assert_eq!(plain.status, if speaks_tls { 400 } else { 200 });
        assert_eq!(plain.header("strict-transport-security"), None);
        if speaks_tls {
            let settings = certificate.client_settings(None).unwrap();
            let answer = HttpClient::new(address).over_tls(settings).get("/metrics").unwrap();
            assert_eq!((answer.status, answer.header("strict-transport-security")), (200, Some(HSTS)));
        }
        drop(server);
    }
}

#[test]
fn a_certificate_that_cannot_be_used_stops_the_start() {
    let issued = certificate();
    let launch = over_tls(&issued);
    std::fs::write(launch.directory().join("key.pem"), certificate().key).unwrap();
    let output = launch.run_to_end().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(78), "{text}");
    assert!(text.contains("Error: server.tls: the key in ") && text.contains("does not fit"), "{text}");
}

#[test]
fn client_leaving_during_handshake_is_not_reported() {
    let server = over_tls(&certificate()).env("SVC_METRICS__ENABLED", "true").start().unwrap();
    drop(open(server.address(), b""));
    drop(open(server.address(), &[0x16, 3, 1]));
    let mut client = server.client();
    eventually(|| client.get("/metrics").unwrap().text().contains("svc_http_connections 1\n"));
    let text = client.get("/metrics").unwrap().text();
    assert!(text.contains("svc_http_connections_refused_total{reason=\"tls_handshake_failed\"} 0"), "{text}");
}
