//! The live data of the console: the stream and its end, figures of nodes, counts of errors, the configuration in effect.

use std::time::Duration;

use serde_json::{Value, json};
use svc_model::Timestamp;
use svc_testkit::events::{EventReader, ReceivedEvent};
use svc_testkit::http::HttpClient;
use svc_testkit::server::ServerProcess;

use crate::support::{echo, error, eventually, launch, serve, start, start_guarded};

const ADMIN: &str = "/api/v1/admin";
const LIVE: &str = "/api/v1/admin/live";

/// Opens a stream.
fn watch(server: &ServerProcess) -> EventReader {
    let reader = EventReader::open(server.address(), LIVE, &[]).unwrap();
    assert_eq!(reader.status, 200);
    reader
}

fn post(client: &mut HttpClient, channel: &str) -> u16 {
    client.json("POST", &format!("/api/v1/data/{channel}"), &json!({})).unwrap().status
}

fn data(client: &mut HttpClient, path: &str) -> Value {
    let answer = client.get(&format!("{ADMIN}/{path}")).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

/// Serves a workflow that fails with a text which names a number.
fn serve_failing(client: &mut HttpClient, channel: &str) {
    let tasks = json!([{"id": "boom", "name": "Boom", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.x", "logic": {"throw": "order 17 is unknown"}}]}}}]);
    serve(client, channel, tasks);
}

/// Reads changes until one satisfies a condition.
fn changes_until(reader: &mut EventReader, holds: impl Fn(&Value) -> bool) -> Value {
    loop {
        let changes = reader.next_named("changes").unwrap();
        if holds(&changes.data) {
            return changes.data;
        }
    }
}

#[test]
fn stream_shows_picture_traffic_and_ended_runs() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "orders", json!({}));
    serve_failing(&mut client, "broken");
    let mut reader = watch(&server);
    assert_eq!(reader.header("content-type"), Some("text/event-stream"));
    assert_eq!(reader.header("cache-control"), Some("no-store"));
    let picture = reader.next_event().unwrap().unwrap();
    assert_eq!(picture.name, "picture");
    let this = data(&mut client, "nodes")[0]["id"].clone();
    assert_eq!((&picture.data["node"]["id"], &picture.data["counts"]["channels"]), (&this, &json!(2)));
    let nodes = picture.data["tree"]["nodes"].as_array().unwrap();
    assert!(nodes.iter().any(|node| node["path"] == "console/live"), "{picture:?}");
    assert_eq!(post(&mut client, "orders"), 200);
    assert!(post(&mut client, "broken") >= 400);
    let mut runs: Vec<Value> = Vec::new();
    let mut channels: Vec<Value> = Vec::new();
    while runs.len() < 2 || channels.len() < 2 {
        let changes = reader.next_named("changes").unwrap().data;
        runs.extend(changes["runs"].as_array().unwrap().clone());
        channels.extend(changes["channels"].as_array().unwrap().clone());
    }
    let failed = runs.iter().find(|run| run["channel"] == "broken").unwrap();
    assert_eq!((&failed["status"], &failed["mode"]), (&json!("failed"), &json!("sync")), "{failed}");
    assert!(runs.iter().any(|run| run["channel"] == "orders" && run["status"] == "completed"), "{runs:?}");
    let broken = channels.iter().find(|channel| channel["channel"] == "broken").unwrap();
    assert!(broken["errors"].as_f64().unwrap() > 0.0 && broken["p99_ms"].is_number(), "{broken}");
    let trace = format!("{ADMIN}/traces/{}", failed["id"].as_str().unwrap());
    eventually(|| client.get(&trace).unwrap().json()["data"]["channel"] == "broken");
}

#[test]
fn returning_reader_gets_what_it_missed() {
    let server = start();
    let mut reader = watch(&server);
    let read = |reader: &mut EventReader| reader.next_event().unwrap().unwrap();
    read(&mut reader);
    let seen = read(&mut reader);
    let next = read(&mut reader);
    let resume = |id: &str| -> ReceivedEvent {
        let mut again = EventReader::open(server.address(), LIVE, &[("last-event-id", id)]).unwrap();
        again.next_event().unwrap().unwrap()
    };
    assert_eq!(resume(seen.id.as_deref().unwrap()), next);
    assert_eq!(resume("0190a1b2000070008000000000000000-1").name, "picture");
}

#[test]
fn viewer_beyond_limit_waits_for_free_place() {
    let server = start();
    let mut readers: Vec<EventReader> = (0..50).map(|_| watch(&server)).collect();
    let refused = server.client().get(LIVE).unwrap();
    let message = error(&refused, 503, "SERVICE_UNAVAILABLE")["message"].to_string();
    assert!(message.contains("server.console.max_viewers"), "{message}");
    assert!(refused.header("retry-after").is_some());
    assert_eq!(server.client().get(&format!("{LIVE}?once=true")).unwrap().status, 200);
    readers.pop();
    eventually(|| EventReader::open(server.address(), LIVE, &[]).unwrap().status == 200);
}

#[test]
fn stream_ends_when_its_key_is_withdrawn() {
    let launch = launch();
    let file = launch.directory().join("svc.toml");
    let (first, second) = ("first-key-of-thirty-two-characters", "second-key-of-thirty-two-characters");
    let write = |readers: &str| {
        let settings = format!(
            "[admin_auth]\nenabled = true\napi_keys = ['{second}']\nread_only_api_keys = [{readers}]\n"
        );
        std::fs::write(&file, settings).unwrap();
    };
    write(&format!("'{first}'"));
    let server = launch.args(&["-c", &file.display().to_string()]).start().unwrap();
    let open = |key: &str| EventReader::open(server.address(), LIVE, &[("x-api-key", key)]).unwrap();
    let (mut withdrawn, mut kept) = (open(first), open(second));
    assert_eq!((withdrawn.status, open("no-key").status), (200, 401));
    assert_eq!(withdrawn.next_event().unwrap().unwrap().name, "picture", "a key that only reads suffices");
    write("");
    server.signal("HUP").unwrap();
    assert_eq!(withdrawn.next_named("end").unwrap().data["reason"], "key_withdrawn");
    assert_eq!(withdrawn.next_event().unwrap(), None);
    kept.next_named("changes").unwrap();
    assert_eq!(open(first).status, 401);
}

#[test]
fn drain_ends_streams_at_once() {
    let mut server = launch().env("SVC_SERVER__SHUTDOWN_DRAIN_SECS", "60").start().unwrap();
    let mut reader = watch(&server);
    reader.next_named("changes").unwrap();
    server.signal("TERM").unwrap();
    assert_eq!(reader.next_named("end").unwrap().data["reason"], "draining");
    assert_eq!(reader.next_event().unwrap(), None);
    error(&server.client().get(LIVE).unwrap(), 503, "SERVICE_UNAVAILABLE");
    server.signal("INT").unwrap();
    server.wait(Duration::from_secs(30)).expect("the second signal ends it at once");
}

#[test]
fn nothing_is_sampled_without_viewers() {
    let server = launch().env("SVC_METRICS__ENABLED", "true").start().unwrap();
    let mut client = server.client();
    let mut value = |name: &str| -> f64 {
        let metrics = client.get("/metrics").unwrap().text();
        let line = metrics.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap_or_default();
        line.rsplit(' ')
            .next()
            .and_then(|value| value.parse().ok())
            .unwrap_or_else(|| panic!("{name}: {metrics}"))
    };
    assert_eq!((value("svc_console_sampling"), value("svc_console_samples_total")), (0.0, 0.0));
    let mut reader = watch(&server);
    reader.next_named("changes").unwrap();
    assert_eq!((value("svc_console_sampling"), value("svc_console_viewers")), (1.0, 1.0));
    drop(reader);
    eventually(|| (value("svc_console_sampling"), value("svc_console_viewers")) == (0.0, 0.0));
}

#[test]
fn single_picture_has_history_and_ends() {
    let server = launch().env("SVC_METRICS__ENABLED", "true").start().unwrap();
    let mut reader = watch(&server);
    assert_eq!(reader.next_event().unwrap().unwrap().name, "picture");
    changes_until(&mut reader, |changes| changes["tree"]["totals"]["nodes"].as_u64().unwrap() > 5);
    let once = EventReader::open(server.address(), &format!("{LIVE}?once=true&history=hour,day"), &[]);
    let mut once = once.unwrap();
    let picture = once.next_event().unwrap().unwrap();
    assert!(!picture.data["history"]["seconds"]["times"].as_array().unwrap().is_empty(), "{picture:?}");
    assert!(picture.data["history"]["minutes"]["times"].is_array());
    assert_eq!(once.next_named("end").unwrap().data["reason"], "once");
    assert_eq!(once.next_event().unwrap(), None);
    let head = server.client().send("HEAD", LIVE, &[], b"").unwrap();
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
}

#[test]
fn stream_is_not_found_where_console_is_off() {
    let server = launch().env("SVC_SERVER__CONSOLE__ENABLED", "false").start().unwrap();
    let mut client = server.client();
    let message = error(&client.get(LIVE).unwrap(), 404, "NOT_FOUND")["message"].to_string();
    assert!(message.contains("server.console.enabled"), "{message}");
    assert_eq!(data(&mut client, "nodes")[0]["figures"], Value::Null);
    let nodes = data(&mut client, "actors")["nodes"].clone();
    assert!(!nodes.to_string().contains("console/"), "{nodes}");
}

#[test]
fn figures_of_nodes_are_on_record() {
    let server = start();
    let mut client = server.client();
    serve_failing(&mut client, "broken");
    let figures = |client: &mut HttpClient| data(client, "nodes")[0]["figures"].clone();
    eventually(|| figures(&mut client).is_object());
    assert!(post(&mut client, "broken") >= 400);
    let mut shown = Value::Null;
    // The next figures may have no traffic.
    eventually(|| {
        shown = figures(&mut client);
        shown["channels"][0]["channel"] == "broken"
    });
    let figures = shown;
    assert!(
        figures["traffic"]["errors"].as_f64().unwrap() > 0.0 && figures["age_secs"].is_u64(),
        "{figures}"
    );
    assert!(figures["tree"]["nodes"].as_u64().unwrap() > 5, "{figures}");
}

#[test]
fn recent_errors_are_counted_by_minute() {
    let server = start();
    let mut client = server.client();
    serve_failing(&mut client, "broken");
    assert_eq!(data(&mut client, "errors/recent")["failures"], 0);
    for _ in 0..2 {
        assert!(post(&mut client, "broken") >= 400);
    }
    eventually(|| {
        client.get(&format!("{ADMIN}/errors?channel=broken")).unwrap().json()["data"][0]["count"] == 2
    });
    // A read adds the failures of its node to the counts: it does not wait for the next figures of the node.
    assert!((0..100).any(|_| data(&mut client, "errors/recent")["failures"] == 2));
    let recent = data(&mut client, "errors/recent?minutes=5");
    let group = &recent["groups"][0];
    assert_eq!((&recent["minutes"], &recent["total"], &group["count"]), (&json!(5), &json!(1), &json!(2)));
    let minutes: Vec<i64> =
        group["per_minute"].as_array().unwrap().iter().map(|count| count.as_i64().unwrap()).collect();
    assert_eq!((minutes.len(), minutes.iter().sum::<i64>()), (5, 2));
    let listed = client.get(&format!("{ADMIN}/errors?channel=broken")).unwrap().json()["data"][0].clone();
    assert_eq!((&listed["group"], &listed["count"]), (&group["group"], &json!(2)));
    let seen = |member: &str| Timestamp::parse(group[member].as_str().unwrap()).unwrap();
    assert!(seen("last_seen") >= seen("first_seen"), "{group}");
}

#[test]
fn configuration_shows_sources_and_no_secret() {
    let (_server, mut client) = start_guarded(launch().env("SVC_TRACE_QUEUE__WORKERS", "3"));
    let config = data(&mut client, "config");
    let find = |key: &str| {
        let settings = config["settings"].as_array().unwrap();
        settings.iter().find(|setting| setting["key"] == key).unwrap().clone()
    };
    let workers = find("trace_queue.workers");
    assert_eq!((&workers["value"], &workers["source"]), (&json!(3), &json!("environment")));
    assert_eq!(find("server.backlog")["source"], "default");
    let keys = find("admin_auth.api_keys");
    assert_eq!((&keys["value"], &keys["reloadable"]), (&json!(["******"]), &json!(true)));
    assert!(!config.to_string().contains("the admin key of a server under test"), "{config}");
}
