//! Reads of the admin API: one form of timestamps, what is shown of actors and the process; the methods of a
//! channel.

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;

use crate::support::{channel, echo, echo_workflow, error, eventually, launch, start};

const ADMIN: &str = "/api/v1/admin";

/// Every path that a GET is answered on, with the ids of what [`populate`] makes.
fn reads(trace: &str, letter: &str, occurrence: &str) -> Vec<String> {
    let versioned = ["workflows", "channels"]
        .into_iter()
        .flat_map(|kind| ["", "/export", "/w", "/w/versions"].map(|rest| format!("{kind}{rest}")));
    let others = [
        "connectors",
        "connectors/export",
        "connectors/k",
        "connectors/k/calls",
        "connectors/k/impact",
        "connectors/circuit-breakers",
        "workflows/w/dependencies",
        "workflows/w/impact",
        "workflows/w/rollout",
        "workflows/w/stats",
        "channels/nightly/why",
        "channels/w/impact",
        "channels/w/stats",
        "channels/w/quotas",
        "cron/occurrences",
        "cron/status",
        "traces?include_total=true",
        "trace-dlq",
        "recordings",
        "recordings/none",
        "backtests",
        "backtests/none",
        "audit-logs",
        "errors",
        "errors/recent",
        "live?once=true",
        "config",
        "bulk",
        "bulk/none",
        "webhooks",
        "webhooks/none",
        "webhooks/none/attempts",
        "webhooks/none/deliveries",
        "plugins",
        "plugins/export",
        "plugins/none",
        "plugins/none/impact",
        "consumers",
        "consumers/acme",
        "consumers/acme/keys",
        "backups",
        "packages",
        "packages/orders",
        "engine/status",
        "kafka/partitions",
        "dev",
        "nodes",
        "functions?all=true",
        "functions/operators",
        "schemas/workflow",
        "actors",
        "whoami",
    ];
    let single =
        [format!("traces/{trace}"), format!("trace-dlq/{letter}"), format!("cron/occurrences/{occurrence}")];
    versioned.chain(others.map(str::to_owned)).chain(single).collect()
}

/// Makes one of everything that has a time; returns the ids of a trace, a dead letter and an occurrence.
fn populate(client: &mut HttpClient) -> (String, String, String) {
    echo(client, "w", json!({}));
    let connector =
        json!({"id": "k", "name": "k", "connector_type": "http", "config": {"url": "https://a.example"}});
    client.json("POST", &format!("{ADMIN}/connectors"), &connector).unwrap();
    let consumer = json!({"name": "acme", "expires_at": "2999-01-01T00:00:00Z"});
    client.json("POST", &format!("{ADMIN}/consumers"), &consumer).unwrap();
    client.json("POST", &format!("{ADMIN}/consumers/acme/keys"), &json!({"kind": "api_key"})).unwrap();
    let receipt = json!({"version": "1", "content_hash": "sha256:00", "state": "staged"});
    client.json("PUT", &format!("{ADMIN}/packages/orders"), &receipt).unwrap();
    svc_testkit::example::create_and_activate(client, "workflows", "workflow_id", &echo_workflow("c"))
        .unwrap();
    let nightly = json!({"channel_id": "nightly", "name": "nightly", "channel_type": "async", "protocol": "cron",
        "workflow_id": "c", "transport_config": {"schedule": "0 0 1 1 *"}});
    svc_testkit::example::create_and_activate(client, "channels", "channel_id", &nightly).unwrap();
    let triggered = client.json("POST", &format!("{ADMIN}/channels/nightly/trigger"), &json!({})).unwrap();
    let occurrence =
        triggered.json()["data"]["id"].as_str().unwrap_or_else(|| panic!("{}", triggered.text())).to_owned();
    let accepted = client.json("POST", "/api/v1/data/w/async", &json!({"n": 1})).unwrap();
    assert_eq!(accepted.status, 202, "{}", accepted.text());
    let body = accepted.json();
    let text = |key: &str| body[key].as_str().unwrap_or_else(|| panic!("{body}"));
    let trace = format!("{}?token={}", text("trace_id"), text("trace_token"));
    eventually(|| {
        let view = client.get(&format!("{ADMIN}/traces/{trace}")).unwrap().json();
        view["data"]["status"] == "completed"
    });
    (trace, "none".to_owned(), occurrence)
}

/// Collects every member whose name says that it is a time and whose value is text.
fn times(value: &Value, at: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, item)| times(item, &format!("{at}[{n}]"), found))
        }
        Value::Object(members) => {
            for (name, member) in members {
                let at = format!("{at}.{name}");
                match member {
                    Value::String(text) if looks_like_a_time(text) => found.push((at, text.clone())),
                    member => times(member, &at, found),
                }
            }
        }
        _ => {}
    }
}

/// A date, a `T` or a blank, and a time.
fn looks_like_a_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digit = |n: usize| bytes.get(n).is_some_and(u8::is_ascii_digit);
    bytes.len() >= 19
        && (0..4).all(digit)
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && matches!(bytes[10], b'T' | b' ')
        && digit(11)
        && bytes[13] == b':'
}

#[test]
fn times_of_reads_are_rfc_3339_in_utc() {
    let server = start();
    let mut client = server.client();
    let (trace, letter, occurrence) = populate(&mut client);
    let mut texts = Vec::new();
    for path in reads(&trace, &letter, &occurrence) {
        let answer = client.get(&format!("{ADMIN}/{path}")).unwrap();
        let may_be_absent = path.contains("/none") || path == "dev";
        assert!(answer.status == 200 || may_be_absent, "{path}: {}", answer.text());
        times(&answer.json(), &path, &mut texts);
    }
    times(&client.get("/health").unwrap().json(), "health", &mut texts);
    assert!(texts.len() > 20, "{texts:#?}");
    for (at, text) in texts {
        assert!(text.ends_with('Z') && text.as_bytes()[10] == b'T', "{at}: {text}");
    }
}

#[test]
fn all_readable_paths_are_covered() {
    let document = start().client().get("/api/v1/openapi.json").unwrap().json();
    let paths = document["paths"].as_object().unwrap();
    let read = paths.iter().filter(|(path, item)| path.starts_with(ADMIN) && item.get("get").is_some());
    assert_eq!(reads("t", "l", "o").len(), read.count());
}

#[test]
fn channel_takes_by_name_what_it_declares_and_post() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "named", json!({}));
    let mut closed = channel("closed", "named", json!({"request": {"by_name": false}}));
    closed["route_pattern"] = json!("/route/only");
    svc_testkit::example::create_and_activate(&mut client, "channels", "channel_id", &closed).unwrap();
    let mut read = channel("read", "named", json!({}));
    read["route_pattern"] = json!("/items/{sku}");
    read["methods"] = json!(["GET"]);
    svc_testkit::example::create_and_activate(&mut client, "channels", "channel_id", &read).unwrap();
    for (method, path, allow) in [
        ("DELETE", "named", "POST"),
        ("GET", "named/async", "POST"),
        ("PUT", "route/only", "POST"),
        ("GET", "route/only/async", "POST"),
        ("PUT", "items/7", "GET, HEAD"),
        ("GET", "items/7/async", "POST"),
        ("HEAD", "items/7/async", "POST"),
    ] {
        let answer = client.json(method, &format!("/api/v1/data/{path}"), &json!({})).unwrap();
        if method == "HEAD" {
            assert_eq!(answer.status, 405);
        } else {
            error(&answer, 405, "METHOD_NOT_ALLOWED");
        }
        assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
    }
    let traces = client.get(&format!("{ADMIN}/traces?include_total=true")).unwrap().json();
    assert_eq!(traces["total"], 0, "nothing ran");
    assert_eq!(client.json("POST", "/api/v1/data/route/only", &json!({})).unwrap().status, 200);
    assert_eq!(client.json("POST", "/api/v1/data/items/7/async", &json!({})).unwrap().status, 202);
    error(&client.get("/api/v1/data/no/such/route/async").unwrap(), 404, "NOT_FOUND");
    error(&client.get("/api/v1/data/closed/async").unwrap(), 404, "NOT_FOUND");
    error(&client.json("POST", "/api/v1/data/closed", &json!({})).unwrap(), 404, "NOT_FOUND");
    // Unknown before anything of the request is looked at.
    let plain = client.send("POST", "/api/v1/data/nobody", &[("content-type", "text/plain")], b"{").unwrap();
    error(&plain, 404, "NOT_FOUND");
}

#[test]
fn connector_actors_have_names_workers_count_jobs() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "w", json!({}));
    let connector =
        json!({"id": "k-1", "name": "crm", "connector_type": "http", "config": {"url": "https://a.example"}});
    client.json("POST", &format!("{ADMIN}/connectors"), &connector).unwrap();
    assert_eq!(client.json("POST", "/api/v1/data/w/async", &json!({})).unwrap().status, 202);
    let nodes = |client: &mut HttpClient, path: &str| {
        let answer = client.get(path).unwrap().json();
        let nodes = answer["data"]["nodes"].as_array().or_else(|| answer["actors"]["nodes"].as_array());
        nodes.unwrap_or_else(|| panic!("{answer}")).clone()
    };
    for path in [format!("{ADMIN}/actors"), "/health".to_owned()] {
        let of_connector =
            nodes(&mut client, &path).into_iter().find(|node| node["path"] == "connectors/k-1");
        assert_eq!(of_connector.unwrap()["connector"], "crm", "{path}");
    }
    eventually(|| {
        let nodes = nodes(&mut client, &format!("{ADMIN}/actors"));
        let workers =
            nodes.iter().filter(|node| node["path"].as_str().unwrap().starts_with("traces/worker-"));
        workers.map(|node| node["handled"].as_u64().unwrap()).sum::<u64>() == 1
    });
}

#[test]
fn metrics_tell_what_the_process_uses() {
    let server = launch().env("SVC_METRICS__ENABLED", "true").start().unwrap();
    let text = server.client().get("/metrics").unwrap().text();
    for (name, least) in [
        ("process_resident_memory_bytes", 1e6),
        ("process_cpu_seconds_total", 0.001),
        ("process_open_fds", 5.0),
        ("process_max_fds", 10.0),
        ("process_start_time_seconds", 1.7e9),
    ] {
        let line = text.lines().find(|line| line.starts_with(&format!("{name} ")));
        let value: f64 = line.unwrap_or_else(|| panic!("{name}")).split(' ').nth(1).unwrap().parse().unwrap();
        assert!(value >= least, "{name} {value}");
        assert!(text.contains(&format!("# TYPE {name} ")), "{name}");
    }
}

#[test]
fn lists_refuse_values_outside_the_document() {
    let server = start();
    let mut client = server.client();
    let document = client.get("/api/v1/openapi.json").unwrap().json();
    let mut checked = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        if !path.starts_with(ADMIN) || path.contains('{') {
            continue;
        }
        for parameter in item["get"]["parameters"].as_array().into_iter().flatten() {
            let (name, values) = (parameter["name"].as_str().unwrap(), &parameter["schema"]["enum"]);
            let Some(values) = values.as_array() else { continue };
            for value in values.iter().filter_map(Value::as_str) {
                for value in [value.to_owned(), value.to_uppercase()] {
                    let answer = client.get(&format!("{path}?{name}={value}")).unwrap();
                    assert_eq!(answer.status, 200, "{path} {name}={value}: {}", answer.text());
                }
            }
            let refused = client.get(&format!("{path}?{name}=faild")).unwrap();
            let refused = error(&refused, 400, "VALIDATION_ERROR");
            assert_eq!(&refused["details"][0]["expected"], &parameter["schema"]["enum"], "{refused}");
            assert_eq!(refused["details"][0]["path"], format!("query.{name}"));
            checked += 1;
        }
    }
    assert!(checked >= 15, "{checked}");
}

#[test]
fn total_is_left_out_of_lists_on_request() {
    let server = start();
    let mut client = server.client();
    for list in ["trace-dlq", "cron/occurrences", "audit-logs"] {
        let read =
            |client: &mut HttpClient, query: &str| client.get(&format!("{ADMIN}/{list}{query}")).unwrap();
        for query in ["", "?include_total=true"] {
            assert!(read(&mut client, query).json()["total"].is_number(), "{list}{query}");
        }
        let without = read(&mut client, "?include_total=false").json();
        assert!(without["data"].is_array() && without.get("total").is_none(), "{list}: {without}");
        error(&read(&mut client, "?include_total=maybe"), 400, "VALIDATION_ERROR");
    }
}
