//! Sockets as clients abuse them: heads and bodies that never end, unread answers, more
//! connections than are served, a process that was stopped for a while.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::server::{ServerCommand, ServerProcess, free_port, wait_until};

use crate::support::{channel, echo, error, eventually, launch, serve, start};

/// Longest wait for a response.
const PATIENCE: Duration = Duration::from_secs(60);

/// Opens a connection and sends these bytes.
fn open(server: &ServerProcess, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect_timeout(&server.address(), PATIENCE).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes).unwrap();
    stream
}

/// The rest of a connection until the server has closed it.
fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}"),
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The status and the body of the last answer in a text.
#[track_caller]
fn last_answer(text: &str) -> (u16, Value) {
    let start = text.rfind("HTTP/1.1 ").unwrap_or_else(|| panic!("no answer in {text:?}"));
    let (head, body) = text[start..].split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("no envelope in {text:?}"));
    let id = body["error"]["request_id"].as_str().unwrap();
    assert!(head.contains(&format!("\r\nx-request-id: {id}\r\n")), "{head}");
    assert!(head.contains("\r\nx-content-type-options: nosniff"), "{head}");
    (head[9..12].parse().unwrap(), body["error"]["code"].clone())
}

fn resident_mib(server: &ServerProcess) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().unwrap() >> 10
}

/// Lets real time pass: the time for which a process is stopped is no state that could be waited for.
fn let_pass(time: Duration) {
    wait_until(time, || Ok(false)).unwrap();
}

/// One sample of the metrics, by its whole name with labels.
fn metric(client: &mut HttpClient, name: &str) -> f64 {
    let text = client.get("/metrics").unwrap().text();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map_or(0.0, |value| value.parse().unwrap())
}

const GET: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";

#[test]
fn requests_during_a_stopped_process_are_answered() {
    let server = launch()
        .env("SVC_SERVER__KEEP_ALIVE_SECS", "3")
        .env("SVC_SERVER__HEAD_TIMEOUT_SECS", "3")
        .env("SVC_SERVER__BODY_TIMEOUT_SECS", "3")
        .start()
        .unwrap();
    echo(&mut server.client(), "e", json!({}));
    // Kept connections, heads cut in two, bodies cut in two; each lot fresh, so that nothing is due before
    // the stop.
    let mut connections: Vec<_> = (0..16).map(|_| open(&server, GET)).collect();
    for stream in &mut connections {
        let mut answer = [0; 2048];
        assert!(stream.read(&mut answer).unwrap() > 0);
    }
    let mut cut: Vec<_> = (0..16).map(|_| open(&server, &GET[..20])).collect();
    let post = b"POST /api/v1/data/e HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 7\r\n\r\n";
    let mut bodies: Vec<_> = (0..16).map(|_| open(&server, &[post, b"{\"a\"".as_slice()].concat())).collect();
    server.signal("STOP").unwrap();
    let mut fresh: Vec<_> = (0..16).map(|_| open(&server, GET)).collect();
    connections.iter_mut().for_each(|stream| stream.write_all(GET).unwrap());
    cut.iter_mut().for_each(|stream| stream.write_all(&GET[20..]).unwrap());
    bodies.iter_mut().for_each(|stream| stream.write_all(b":1}").unwrap());
    let_pass(Duration::from_secs(5));
    server.signal("CONT").unwrap();
    for (kind, streams) in
        [("kept", &mut connections), ("cut", &mut cut), ("body", &mut bodies), ("fresh", &mut fresh)]
    {
        for stream in streams {
            let mut answer = [0; 2048];
            let count = stream.read(&mut answer).unwrap();
            let text = String::from_utf8_lossy(&answer[..count]);
            assert!(text.starts_with("HTTP/1.1 200 OK"), "{kind}: {text:?}");
        }
    }
}

#[test]
fn unreadable_heads_get_envelope_and_are_counted() {
    let server = launch().env("SVC_METRICS__ENABLED", "true").start().unwrap();
    let too_large = [b"GET / HTTP/1.1\r\nhost: x\r\nx: ".as_slice(), &vec![b'a'; 300_000]].concat();
    for (bytes, expected) in [
        (b"not http at all\r\n\r\n".as_slice(), (400, json!("VALIDATION_ERROR"))),
        (b"GET / HTTP/1.1\r\nbad header\r\n\r\n", (400, json!("VALIDATION_ERROR"))),
        (b"GET / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n", (400, json!("VALIDATION_ERROR"))),
        (&too_large, (431, json!("REQUEST_HEADER_FIELDS_TOO_LARGE"))),
    ] {
        assert_eq!(last_answer(&rest(&mut open(&server, bytes))), expected);
    }
    let mut client = server.client();
    let name = "svc_http_connections_refused_total{reason=\"malformed_head\"}";
    eventually(|| metric(&mut client, name) == 3.0);
    eventually(|| {
        metric(&mut client, "svc_http_requests_total{method=\"OTHER\",path=\"unmatched\",status=\"431\"}")
            == 1.0
    });
    let log = server.wait_for_log(&["malformed_head", "head_too_large"]).unwrap();
    assert!(!log.contains("\"level\":\"error\""), "{log}");
}

#[test]
fn garbage_after_a_request_is_refused_separately() {
    let server = start();
    let text = rest(&mut open(&server, &[GET, b"garbage\r\n\r\n"].concat()));
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    assert_eq!(text.matches("HTTP/1.1 ").count(), 2, "{text}");
    assert_eq!(last_answer(&text).0, 400);
}

#[test]
fn requests_for_another_protocol_are_answered_and_closed() {
    let server = start();
    echo(&mut server.client(), "e", json!({}));
    let websocket = "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\r\n";
    let h2c = "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n\
               content-type: application/json\r\ncontent-length: 7\r\n\r\n{\"a\":1}";
    for (request, answered) in [
        // It has no body that could be waited for.
        (format!("POST /api/v1/data/e HTTP/1.1\r\nhost: x\r\n{websocket}"), "\"input\":{}"),
        ("POST /api/v1/data/e HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\n\r\n".to_owned(), "\"input\":{}"),
        (format!("GET /healthz HTTP/1.1\r\nhost: x\r\n{websocket}"), "\"status\":\"ok\""),
        (format!("POST /api/v1/data/e HTTP/1.1\r\nhost: x\r\n{h2c}"), "\"input\":{\"a\":1}"),
    ] {
        let text = rest(&mut open(&server, request.as_bytes()));
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains(answered), "{text}");
        assert!(text.contains("\r\nconnection: close\r\n"), "{text}");
    }
}

#[test]
fn answer_that_reads_like_a_refusal_is_left_alone() {
    let server = start();
    let mut client = server.client();
    let copied =
        "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\ndate: Sun, 22 Nov 2026 21:00:00 GMT\r\n\r\n";
    let mapping = |from: &str, to: &str| json!({"path": to, "logic": {"var": from}});
    let tasks = json!([{"id": "m", "name": "", "function": {"name": "map", "input": {"mappings": [
        mapping("payload.text", "data.text"), mapping("payload.control", "data._svc.response")]}}}]);
    let workflow = json!({"workflow_id": "raw", "name": "raw", "tasks": tasks});
    svc_testkit::example::create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
    let document = channel("raw", "raw", json!({"response": {"mode": "shaped"}}));
    svc_testkit::example::create_and_activate(&mut client, "channels", "channel_id", &document).unwrap();
    let mut client = server.client().keep_alive();
    for _ in 0..3 {
        let payload = json!({"text": copied, "control": {"body_path": "text", "raw": true}});
        let answer = client.json("POST", "/api/v1/data/raw", &payload).unwrap();
        assert_eq!((answer.status, answer.text().as_str()), (200, copied));
    }
}

#[test]
fn endless_head_gets_408_and_silence_is_closed() {
    let server = launch()
        .env("SVC_SERVER__HEAD_TIMEOUT_SECS", "1")
        .env("SVC_SERVER__KEEP_ALIVE_SECS", "1")
        .start()
        .unwrap();
    let mut silent = open(&server, b"");
    let mut begun = open(&server, b"GET / HTTP/1.1\r\nhost: ");
    let mut connection = open(&server, GET);
    let mut trickle = open(&server, b"GET / HTTP/1.1\r\n");
    let text = loop {
        // A byte now and then keeps no head alive.
        if trickle.write_all(b"x").is_err() {
            break String::new();
        }
        trickle.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let mut bytes = [0; 2048];
        match trickle.read(&mut bytes) {
            Ok(count) => break String::from_utf8_lossy(&bytes[..count]).into_owned(),
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    };
    assert_eq!(last_answer(&text), (408, json!("REQUEST_TIMEOUT")));
    assert_eq!(last_answer(&rest(&mut begun)), (408, json!("REQUEST_TIMEOUT")));
    assert_eq!(rest(&mut silent), "");
    let answered = rest(&mut connection);
    assert_eq!(
        answered.matches("HTTP/1.1 ").count(),
        1,
        "an idle connection is closed in silence: {answered}"
    );
}

#[test]
fn body_that_stops_or_trickles_gets_408() {
    let server = launch()
        .env("SVC_SERVER__TRANSFER_WINDOW_SECS", "1")
        .env("SVC_SERVER__MIN_TRANSFER_RATE", "1000")
        .start()
        .unwrap();
    echo(&mut server.client(), "e", json!({}));
    let head = b"POST /api/v1/data/e HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{";
    let mut stopped = open(&server, head);
    let mut trickle = open(&server, head);
    trickle.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let text = loop {
        if trickle.write_all(b" ").is_err() {
            panic!("it was cut off without an answer");
        }
        let mut bytes = [0; 2048];
        match trickle.read(&mut bytes) {
            Ok(count) => break String::from_utf8_lossy(&bytes[..count]).into_owned(),
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    };
    assert_eq!(last_answer(&text), (408, json!("REQUEST_TIMEOUT")));
    assert_eq!(last_answer(&rest(&mut stopped)), (408, json!("REQUEST_TIMEOUT")));
    let admin = b"POST /api/v1/admin/workflows HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n";
    assert_eq!(last_answer(&rest(&mut open(&server, admin))).0, 408);
}

#[test]
fn body_has_a_total_time_however_fast_it_trickles() {
    let server = launch().env("SVC_SERVER__BODY_TIMEOUT_SECS", "1").start().unwrap();
    echo(&mut server.client(), "e", json!({}));
    let head = b"POST /api/v1/data/e HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 900000\r\n\r\n{";
    let mut stream = open(&server, head);
    stream.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    let text = loop {
        let outcome = stream.write_all(&[b' '; 1000]);
        let mut bytes = [0; 2048];
        match stream.read(&mut bytes) {
            Ok(count) => break String::from_utf8_lossy(&bytes[..count]).into_owned(),
            Err(error) => assert_eq!((error.kind(), outcome.is_ok()), (ErrorKind::WouldBlock, true)),
        }
    };
    assert_eq!(last_answer(&text).0, 408);
}

#[test]
fn reader_that_does_not_read_is_cut_off() {
    let server = launch()
        .env("SVC_SERVER__TRANSFER_WINDOW_SECS", "1")
        .env("SVC_TRACE_QUEUE__MAX_RESULT_SIZE_BYTES", "0")
        .env("SVC_METRICS__ENABLED", "true")
        .start()
        .unwrap();
    let mut client = server.client();
    let text = "x".repeat(7 << 20);
    serve(
        &mut client,
        "large",
        json!([{"id": "m", "name": "", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.text", "logic": text}]}}}]),
    );
    // More than the buffers of both sockets take.
    let request = b"POST /api/v1/data/large HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
    let _reader = open(&server, &request.repeat(8));
    let name = "svc_http_connections_refused_total{reason=\"slow_reader\"}";
    eventually(|| metric(&mut client, name) == 1.0);
    let whole = client.json("POST", "/api/v1/data/large", &json!({})).unwrap();
    assert_eq!((whole.status, whole.body.len() > 7 << 20), (200, true));
}

#[test]
fn unknown_name_is_refused_before_reading_body() {
    let server = start();
    let mut client = server.client();
    let unknown =
        client.send("POST", "/api/v1/data/nobody", &[("content-type", "text/plain")], b"{").unwrap();
    error(&unknown, 404, "NOT_FOUND");
    let huge = vec![b' '; 2 << 20];
    error(&client.send("POST", "/api/v1/data/nobody/there", &[], &huge).unwrap(), 404, "NOT_FOUND");
    error(&client.send("POST", "/api/v1/data/nobody", &[], &huge).unwrap(), 404, "NOT_FOUND");
    // The body never comes, and is not waited for.
    let head = b"POST /api/v1/data/nobody HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n";
    assert_eq!(last_answer(&rest(&mut open(&server, head))), (404, json!("NOT_FOUND")));
}

#[test]
fn bodies_for_an_unknown_name_take_no_memory() {
    let server = start();
    assert_eq!(server.client().get("/healthz").unwrap().status, 200);
    let before = resident_mib(&server);
    let body = vec![b' '; (1 << 20) - 1];
    let head = format!("POST /api/v1/data/nobody HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", 1 << 20);
    let streams: Vec<_> = (0..300)
        .map(|_| {
            let mut stream = open(&server, head.as_bytes());
            // The server may have closed already.
            let _ = stream.write_all(&body);
            stream
        })
        .collect();
    assert_eq!(server.client().get("/healthz").unwrap().status, 200);
    let grown = resident_mib(&server).saturating_sub(before);
    assert!(grown < 64, "{grown} MiB for {} bodies of 1 MiB", streams.len());
}

#[test]
fn connections_beyond_the_limits_are_refused_until_one_ends() {
    let limited = |total: &str, of_address: &str| {
        launch()
            .env("SVC_SERVER__MAX_CONNECTIONS", total)
            .env("SVC_SERVER__MAX_CONNECTIONS_PER_ADDRESS", of_address)
    };
    for (launch, held, status, code) in [
        (limited("16", "4"), 4, 429, "RATE_LIMITED"),
        (
            limited("4", "4").env("SVC_RATE_LIMIT__TRUSTED_PROXIES", "127.0.0.1"),
            4,
            503,
            "SERVICE_UNAVAILABLE",
        ),
    ] {
        let server = launch.start().unwrap();
        // The probes of the start may still be closing.
        let mut streams = Vec::new();
        eventually(|| {
            let mut stream = open(&server, GET);
            let mut answer = [0; 2048];
            let count = stream.read(&mut answer).unwrap_or_default();
            if answer[..count].starts_with(b"HTTP/1.1 200") {
                streams.push(stream);
            }
            streams.len() == held
        });
        let text = rest(&mut open(&server, b""));
        assert_eq!(last_answer(&text), (status, json!(code)));
        assert!(text.contains("\r\nretry-after: 1\r\n"), "{text}");
        streams.pop();
        eventually(|| server.client().get("/healthz").is_ok_and(|answer| answer.status == 200));
    }
}

#[test]
fn connections_wait_in_line_while_the_process_is_stopped() {
    let server = start();
    server.signal("STOP").unwrap();
    // A full line drops the handshake, which is tried again after a second.
    let connect = |_| TcpStream::connect_timeout(&server.address(), Duration::from_millis(900));
    let connected: Result<Vec<_>, _> = (0..700).map(connect).collect();
    server.signal("CONT").unwrap();
    assert_eq!(connected.unwrap().len(), 700);
    assert_eq!(server.client().get("/healthz").unwrap().status, 200);
}

#[test]
fn client_hanging_up_logs_no_error() {
    let server = launch().env("SVC_LOGGING__LEVEL", "debug").start().unwrap();
    echo(&mut server.client(), "e", json!({}));
    let head = b"POST /api/v1/data/e HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    drop(open(&server, head));
    drop(open(&server, b"GET /heal"));
    server.wait_for_log(&["/api/v1/data/e"]).unwrap();
    assert_eq!(server.client().get("/healthz").unwrap().status, 200);
    let log = server.log_text();
    assert!(!log.contains("request failed") && !log.contains("\"level\":\"error\""), "{log}");
}

/// Sets the soft limit of open files of a running process.
fn set_open_files(server: &ServerProcess, limit: usize) {
    let nofile = format!("--nofile={limit}:");
    let status =
        Command::new("prlimit").args(["--pid", &server.pid().to_string(), &nofile]).status().unwrap();
    assert!(status.success(), "prlimit: {status}");
}

fn with_own_listener() -> (ServerCommand, SocketAddr) {
    let port = free_port().unwrap();
    let launch = launch()
        .env("SVC_SERVER__HEAD_TIMEOUT_SECS", "600")
        .env("SVC_METRICS__ENABLED", "true")
        .env("SVC_METRICS__BIND_ADDR", &format!("127.0.0.1:{port}"));
    (launch, SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
}

#[test]
fn operational_listener_answers_when_descriptors_are_exhausted() {
    let (launch, address) = with_own_listener();
    let server = launch.start().unwrap();
    let mut own = HttpClient::new(address);
    assert_eq!(own.get("/health").unwrap().json()["components"]["descriptors"], "ok");
    let open_files = || std::fs::read_dir(format!("/proc/{}/fd", server.pid())).unwrap();
    let highest = open_files()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.parse::<usize>().ok())
        .max()
        .unwrap();
    set_open_files(&server, highest + 8);
    let _crowd: Vec<_> = (0..highest + 64).map(|_| open(&server, b"")).collect();
    eventually(|| own.get("/health").unwrap().json()["components"]["descriptors"] == "degraded");
    let health = own.get("/health").unwrap().json();
    assert_eq!(health["status"], "degraded", "{health}");
    assert!(health["descriptors"]["reason"].as_str().unwrap().contains("RLIMIT_NOFILE"), "{health}");
    eventually(|| server.log_text().matches("file descriptors are exhausted").count() == 1);
    set_open_files(&server, 2048);
    eventually(|| own.get("/health").unwrap().json()["components"]["descriptors"] == "ok");
    assert_eq!(server.client().get("/healthz").unwrap().status, 200);
}

#[test]
fn soft_limit_of_files_is_raised_to_hard() {
    let server = start();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let mut words = line.split_whitespace().skip(3);
    assert_eq!(words.next(), words.next(), "{line}");
}
