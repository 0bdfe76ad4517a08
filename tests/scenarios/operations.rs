//! Health, metrics and the actor tree.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use serde_json::json;
use svc_testkit::http::HttpClient;
use svc_testkit::server::free_port;

use crate::support::{echo, error, launch, start};

#[test]
fn the_probes_say_what_they_know() {
    let server = start();
    let mut client = server.client();
    assert_eq!(client.get("/healthz").unwrap().json(), json!({"status": "ok"}));
    let ready = client.get("/readyz").unwrap().json();
    assert_eq!((&ready["status"], &ready["components"]["database"]), (&json!("ready"), &json!("ok")));
    assert_eq!(
        (&ready["components"]["engine"], &ready["components"]["initialized"]),
        (&json!("ok"), &json!(true))
    );
    let health = client.get("/health").unwrap().json();
    assert_eq!(health["status"], "ok", "{health}");
    for component in ["database", "engine", "connectors", "channels", "engine_reload", "actors"] {
        assert_eq!(health["components"][component], "ok", "{component}: {health}");
    }
    assert!(health["version"].is_string() && health["uptime_seconds"].is_u64());
    let nodes = health["actors"]["nodes"].as_array().unwrap();
    assert!(nodes.iter().any(|node| node["path"].as_str().unwrap().starts_with("store")), "{health}");
    assert_eq!(client.send("HEAD", "/health", &[], b"").unwrap().status, 200);
}

#[test]
fn enabled_metrics_are_text_and_off_by_default() {
    error(&start().client().get("/metrics").unwrap(), 404, "NOT_FOUND");
    let server = launch().env("SVC_METRICS__ENABLED", "true").start().unwrap();
    let mut client = server.client();
    echo(&mut client, "m", json!({}));
    client.json("POST", "/api/v1/data/m", &json!({})).unwrap();
    let answer = client.get("/metrics").unwrap();
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = answer.text();
    for line in [
        "# TYPE svc_http_requests_total counter",
        "svc_messages_total{channel=\"m\",status=\"ok\"} 1",
        "# TYPE svc_http_request_duration_seconds histogram",
        "svc_build_info{",
        "svc_active_workflows 1",
        "svc_engine_reloads_total{status=\"success\"}",
    ] {
        assert!(text.contains(line), "{line} not in\n{text}");
    }
    assert!(!text.contains("# EOF") && !text.contains("svc_svc_"), "{text}");
}

#[test]
fn openmetrics_has_exemplars_of_stored_traces_alone() {
    let launch = launch().env("SVC_METRICS__ENABLED", "true").env("SVC_TRACE_STORAGE__MODE", "off");
    let server = launch.start().unwrap();
    let mut client = server.client();
    echo(&mut client, "kept", json!({"tracing": {"mode": "sync"}}));
    echo(&mut client, "quiet", json!({}));
    let answer = client.json("POST", "/api/v1/data/kept", &json!({})).unwrap();
    let id = answer.header("x-trace-id").unwrap().to_owned();
    assert_eq!(client.json("POST", "/api/v1/data/quiet", &json!({})).unwrap().status, 200);
    let accept = [("accept", "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")];
    let answer = client.send("GET", "/metrics", &accept, b"").unwrap();
    let expected = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(answer.header("content-type"), Some(expected));
    let text = answer.text();
    assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1, "{text}");
    for line in ["# TYPE svc_http_requests counter", "# TYPE process_cpu_seconds counter"] {
        assert!(text.contains(line), "{line} not in\n{text}");
    }
    let exemplars: Vec<_> = text.lines().filter(|line| line.contains(" # {")).collect();
    let [exemplar] = exemplars.as_slice() else { panic!("one exemplar: {exemplars:?}") };
    assert!(exemplar.starts_with("svc_message_duration_seconds_bucket{le="), "{exemplar}");
    assert!(exemplar.contains("channel=\"kept\""), "{exemplar}");
    assert!(exemplar.contains(&format!("# {{svc_trace_id=\"{id}\"}} 0.")), "{exemplar}");
    let plain = client.get("/metrics").unwrap();
    assert_eq!(plain.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(!plain.text().contains(" # {"), "{}", plain.text());
}

/// The type and the labels of every metric on the page of metrics.
pub(crate) fn documented_metrics() -> BTreeMap<String, (String, BTreeSet<String>)> {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let labels = cells[3].split('`').skip(1).step_by(2).map(str::to_owned).collect();
        (cells[1].trim_matches('`').to_owned(), (cells[2].to_owned(), labels))
    })
    .collect()
}

/// The names of the labels of a sample; the values here have no commas and quotes.
fn labels(sample: &str) -> BTreeSet<String> {
    let listed =
        sample.split_once('{').and_then(|(_, rest)| rest.rsplit_once('}')).map_or("", |(listed, _)| listed);
    let names =
        listed.split("\",").filter_map(|label| label.split_once('=')).map(|(name, _)| name.to_owned());
    names.filter(|name| name != "le").collect()
}

#[test]
fn metrics_match_types_and_labels_of_manual() {
    let server = launch().env("SVC_METRICS__ENABLED", "true").start().unwrap();
    let mut client = server.client();
    echo(&mut client, "m", json!({"rate_limit": {"requests_per_second": 1, "burst": 1}}));
    for path in ["m", "m", "m/async", "unknown"] {
        client.json("POST", &format!("/api/v1/data/{path}"), &json!({})).unwrap();
    }
    let (text, page) = (client.get("/metrics").unwrap().text(), documented_metrics());
    let mut kind = None;
    for line in text.lines().filter(|line| !line.starts_with("# HELP")) {
        if let Some((name, described)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            let documented = page.get(name).unwrap_or_else(|| panic!("{name} is on no page"));
            assert_eq!(documented.0, described, "{name}");
            kind = Some(documented);
        } else {
            assert_eq!(labels(line), kind.unwrap().1, "{line}");
        }
    }
    for reason in ["engine", "storage", "kafka_dlq", "dlq_exhausted"] {
        assert!(text.contains(&format!("svc_errors_total{{reason=\"{reason}\"}} 0")), "{reason}: {text}");
    }
}

#[test]
fn promtool_finds_no_fault_in_the_metrics() {
    if !svc_testkit::peer::is_installed("promtool", "prometheus") {
        return;
    }
    let server = launch().env("SVC_METRICS__ENABLED", "true").start().unwrap();
    let mut client = server.client();
    echo(&mut client, "m", json!({}));
    client.json("POST", "/api/v1/data/m", &json!({})).unwrap();
    let text = client.get("/metrics").unwrap().body;
    let mut child = std::process::Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), &text).unwrap();
    let output = child.wait_with_output().unwrap();
    // The name of one gauge is what dashboards written for such a service expect.
    let exception = "svc_trace_workers_total non-counter metrics should not have \"_total\" suffix";
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let faults: Vec<_> =
        stderr.lines().filter(|line| !line.trim().is_empty() && *line != exception).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn the_own_listener_serves_the_operational_paths_alone() {
    let port = free_port().unwrap();
    let server = launch()
        .env("SVC_METRICS__ENABLED", "true")
        .env("SVC_METRICS__BIND_ADDR", &format!("127.0.0.1:{port}"))
        .start()
        .unwrap();
    let mut own = HttpClient::new(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    for path in ["/health", "/healthz", "/readyz", "/metrics"] {
        assert_eq!(own.get(path).unwrap().status, 200, "{path}");
    }
    assert_eq!(own.get("/api/v1/admin/workflows").unwrap().status, 404);
    error(&server.client().get("/metrics").unwrap(), 404, "NOT_FOUND");
}

#[test]
fn metrics_on_own_listener_are_404_without_challenge() {
    let port = free_port().unwrap();
    let server = launch()
        .env("SVC_METRICS__ENABLED", "true")
        .env("SVC_METRICS__BIND_ADDR", &format!("127.0.0.1:{port}"))
        .env("SVC_ADMIN_AUTH__ENABLED", "true")
        .env("SVC_ADMIN_AUTH__API_KEYS", "an-operators-key-0123456789-0123456789")
        .start()
        .unwrap();
    let answer = server.client().get("/metrics").unwrap();
    error(&answer, 404, "NOT_FOUND");
    assert_eq!(answer.header("www-authenticate"), None);
}

#[test]
fn actor_tree_is_served_and_takes_restarts() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "t", json!({}));
    let of_channel = |node: &serde_json::Value| node["path"].as_str().unwrap().contains("channels/t/");
    let up = svc_testkit::server::wait_until(std::time::Duration::from_secs(5), || {
        let tree = client.get("/api/v1/admin/actors")?.json();
        let mut actors = tree["data"]["nodes"].as_array().unwrap().iter().filter(|node| of_channel(node));
        Ok(actors.all(|node| node["state"] == "running"))
    });
    assert!(up.unwrap(), "the channel's actors run");
    let tree = client.get("/api/v1/admin/actors").unwrap();
    assert_eq!(tree.status, 200, "{}", tree.text());
    let data = tree.json()["data"].clone();
    let nodes = data["nodes"].as_array().unwrap().clone();
    let actor = nodes
        .iter()
        .find(|node| node["kind"] == "actor" && of_channel(node))
        .unwrap_or_else(|| panic!("no actor of the channel in {data}"));
    for key in ["state", "generation", "restarts", "mailbox_depth", "mailbox_bound"] {
        assert!(!actor[key].is_null(), "{key}: {actor}");
    }
    assert_eq!(actor["state"], "running");
    let path = format!("/api/v1/admin/actors/{}/restart", actor["path"].as_str().unwrap());
    let ordered = client.json("POST", &path, &json!({})).unwrap();
    assert!(matches!(ordered.status, 200 | 202), "{}", ordered.text());
    let audited = client.get("/api/v1/admin/audit-logs?resource_type=actor&action=restart").unwrap().json();
    assert_eq!((&audited["total"], &audited["data"][0]["resource_id"]), (&json!(1), &actor["path"]));
    let generation = actor["generation"].as_u64().unwrap();
    let restarted = svc_testkit::server::wait_until(std::time::Duration::from_secs(5), || {
        let tree = client.get("/api/v1/admin/actors")?.json();
        let nodes = tree["data"]["nodes"].as_array().cloned().unwrap_or_default();
        let node = nodes.iter().find(|node| node["path"] == actor["path"]).cloned().unwrap_or_default();
        Ok(node["generation"].as_u64() > Some(generation) && node["state"] == "running")
    });
    assert!(restarted.unwrap());
    assert_eq!(client.json("POST", "/api/v1/data/t", &json!({})).unwrap().status, 200);
    error(
        &client.json("POST", "/api/v1/admin/actors/no/such/restart", &json!({})).unwrap(),
        404,
        "NOT_FOUND",
    );
}

#[test]
fn the_function_catalogue_lists_35_spellings() {
    let server = start();
    let entries = server.client().get("/api/v1/admin/functions").unwrap().json()["data"].clone();
    let entries = entries.as_array().unwrap();
    let aliases: usize = entries.iter().map(|entry| entry["aliases"].as_array().map_or(0, Vec::len)).sum();
    assert_eq!(entries.len() + aliases, 35);
    let map = entries.iter().find(|entry| entry["name"] == "map").unwrap();
    assert_eq!((&map["source"], &map["category"]), (&json!("engine"), &json!("data")));
    assert!(map.get("input_fields").is_none());
}

#[test]
fn wrong_method_of_an_admin_path_is_405() {
    let server = start();
    let mut client = server.client();
    for (method, path, allowed) in [
        ("DELETE", "/workflows", "GET, HEAD, POST"),
        ("PUT", "/channels", "GET, HEAD, POST"),
        ("POST", "/workflows/w", "DELETE, GET, HEAD, PUT"),
        ("GET", "/channels/c/status", "PATCH"),
        ("DELETE", "/engine/reload", "POST"),
        ("GET", "/channels/c/trigger", "POST"),
        ("POST", "/audit-logs", "GET, HEAD"),
        ("PUT", "/actors", "GET, HEAD"),
    ] {
        let answer = client.json(method, &format!("/api/v1/admin{path}"), &json!({})).unwrap();
        error(&answer, 405, "METHOD_NOT_ALLOWED");
        let mut methods: Vec<&str> = answer.header("allow").unwrap_or_default().split(", ").collect();
        methods.sort_unstable();
        assert_eq!(methods.join(", "), allowed, "{method} {path}");
    }
}

#[test]
fn a_request_id_of_any_bytes_is_echoed() {
    let server = start();
    let mut client = server.client();
    for id in ["caf\u{e9} \u{2713}", "a\tb"] {
        let answer = client.send("GET", "/healthz", &[("x-request-id", id)], b"").unwrap();
        assert_eq!(answer.header("x-request-id"), Some(id));
    }
    let replaced = client.send("GET", "/healthz", &[("x-request-id", &"x".repeat(1025))], b"").unwrap();
    assert_eq!(replaced.header("x-request-id").map(str::len), Some(36));
}
