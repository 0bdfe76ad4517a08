//! Paused channels: refused calls, kept submissions, schedules that stand still, and the ends of pauses.

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::cron::{calling, held_upstream, occurrences, of_status, pass, schedule, telling};
use crate::support::{
    channel, details, echo, error, eventually, guarded_client, launch, serve, start, start_guarded,
    wait_until_stable,
};

const ADMIN: &str = "/api/v1/admin";
const CHANNELS: &str = "/api/v1/admin/channels";

fn order(client: &mut HttpClient, path: &str, body: &Value) -> HttpResponse {
    client.json("POST", &format!("{CHANNELS}/{path}"), body).unwrap()
}

/// Pauses or resumes, and returns what the answer shows.
fn change(client: &mut HttpClient, path: &str, body: &Value) -> Value {
    let answer = order(client, path, body);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.json()["data"].clone()
}

fn call(client: &mut HttpClient, channel: &str) -> HttpResponse {
    client.json("POST", &format!("/api/v1/data/{channel}"), &json!({"n": 1})).unwrap()
}

/// Submits work and returns the id of its trace, with the token that reads it.
fn submit(client: &mut HttpClient, channel: &str) -> String {
    let answer = client.json("POST", &format!("/api/v1/data/{channel}/async"), &json!({"n": 1})).unwrap();
    trace_of(&answer)
}

fn trace_of(answer: &HttpResponse) -> String {
    assert_eq!(answer.status, 202, "{}", answer.text());
    let accepted = answer.json();
    let text = |member: &str| accepted[member].as_str().unwrap();
    format!("{}?token={}", text("trace_id"), text("trace_token"))
}

fn trace(client: &mut HttpClient, id: &str) -> Value {
    client.get(&format!("{ADMIN}/traces/{id}")).unwrap().json()["data"].clone()
}

/// Runs work of another channel to its end: what was accepted before it had its turn.
fn let_queue_pass(client: &mut HttpClient, channel: &str) {
    let id = submit(client, channel);
    assert_eq!(wait_until_stable(|| trace(client, &id))["status"], "completed");
}

fn audit(client: &mut HttpClient, action: &str) -> Vec<Value> {
    let page = client.get(&format!("{ADMIN}/audit-logs?action={action}&limit=100")).unwrap().json();
    page["data"].as_array().unwrap().clone()
}

#[test]
fn paused_channel_refuses_calls_until_resumed() {
    let server = launch().env("SVC_METRICS__ENABLED", "true").start().unwrap();
    let mut client = server.client();
    echo(&mut client, "orders", json!({}));
    let row = change(&mut client, "orders/pause", &json!({"reason": "the bank is down"}));
    let pause = &row["paused"];
    assert_eq!((&pause["reason"], &pause["until"]), (&json!("the bank is down"), &Value::Null), "{row}");
    let refused = call(&mut client, "orders");
    let body = error(&refused, 503, "CHANNEL_PAUSED");
    assert_eq!((refused.header("retry-after"), &body["message"]), (Some("30"), &json!("Channel is paused")));
    assert!(!refused.text().contains("bank"), "the reason is for operators");
    let health = client.get("/health").unwrap().json();
    assert_eq!((&health["status"], &health["components"]["channels"]), (&json!("ok"), &json!("ok")));
    assert_eq!(health["channels"]["paused"][0]["channel"], "orders", "{health}");
    for member in ["since", "until", "by", "reason"] {
        assert_eq!(health["channels"]["paused"][0][member], pause[member], "{member}");
    }
    let list = client.get(CHANNELS).unwrap().json();
    assert_eq!(list["data"][0]["paused"], *pause, "{list}");
    let metric = "svc_channel_paused{channel=\"orders\"} 1";
    assert!(client.get("/metrics").unwrap().text().contains(metric));
    change(&mut client, "orders/pause", &json!({"reason": "it is slow", "until": "2999-01-01T00:00:00Z"}));
    let again = client.get(&format!("{CHANNELS}/orders")).unwrap().json()["data"]["paused"].clone();
    assert_eq!((&again["reason"], &again["since"]), (&json!("it is slow"), &pause["since"]));
    let late = call(&mut client, "orders").header("retry-after").unwrap().parse::<u64>().unwrap();
    assert!(late > 86_400, "it reaches to the end of the pause: {late}");
    let resumed = change(&mut client, "orders/resume", &json!({}));
    assert!(resumed.get("paused").is_none(), "{resumed}");
    assert_eq!(call(&mut client, "orders").status, 200);
    change(&mut client, "orders/resume", &json!({}));
    assert!(!client.get("/metrics").unwrap().text().contains("svc_channel_paused{"));
    assert_eq!((audit(&mut client, "pause").len(), audit(&mut client, "resume").len()), (2, 1));
}

#[test]
fn read_of_paused_channel_can_be_sent_back() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "orders", json!({}));
    change(&mut client, "orders/pause", &json!({"reason": "down"}));
    assert_eq!(order(&mut client, "orders/versions", &json!({})).status, 201);
    let shown = client.get(&format!("{CHANNELS}/orders")).unwrap().json()["data"].clone();
    assert_eq!(shown["paused"]["reason"], "down", "{shown}");
    let sent = client.json("PUT", &format!("{CHANNELS}/orders"), &shown).unwrap();
    assert_eq!(sent.status, 200, "{}", sent.text());
}

#[test]
fn pause_outlives_kill_and_new_version() {
    let server = start();
    let mut client = server.client();
    for id in ["orders", "other"] {
        echo(&mut client, id, json!({}));
    }
    change(&mut client, "orders/pause", &json!({"reason": "down"}));
    let accepted = submit(&mut client, "orders");
    let_queue_pass(&mut client, "other");
    let server = server.crash_and_restart().unwrap();
    let mut client = server.client();
    error(&call(&mut client, "orders"), 503, "CHANNEL_PAUSED");
    for (method, path, body) in [
        ("POST", "orders/versions", json!({})),
        ("PUT", "orders", json!({"description": "the next one"})),
        ("PATCH", "orders/status", json!({"status": "active"})),
    ] {
        let answer = client.json(method, &format!("{CHANNELS}/{path}"), &body).unwrap();
        assert!(answer.status < 300, "{}", answer.text());
    }
    error(&call(&mut client, "orders"), 503, "CHANNEL_PAUSED");
    let_queue_pass(&mut client, "other");
    let waiting = trace(&mut client, &accepted);
    assert!(!matches!(waiting["status"].as_str(), Some("completed" | "failed")), "{waiting}");
    change(&mut client, "orders/resume", &json!({}));
    let done = wait_until_stable(|| trace(&mut client, &accepted));
    assert_eq!((&done["status"], &done["attempt"]), (&json!("completed"), &json!(1)), "{done}");
}

#[test]
fn accepting_channel_keeps_messages_while_paused() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "hook", json!({"request": {"mode": "accept"}}));
    echo(&mut client, "other", json!({}));
    change(&mut client, "hook/pause", &json!({"reason": "down"}));
    let accepted = call(&mut client, "hook");
    let id = trace_of(&accepted);
    let_queue_pass(&mut client, "other");
    assert_ne!(trace(&mut client, &id)["status"], "completed");
    change(&mut client, "hook/resume", &json!({}));
    assert_eq!(wait_until_stable(|| trace(&mut client, &id))["status"], "completed");
}

#[test]
fn pause_ends_by_itself_at_its_time() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "orders", json!({}));
    let soon = svc_model::Timestamp::now().naive() + std::time::Duration::from_secs(6);
    let soon = svc_model::Timestamp::from_naive(soon).to_string();
    change(&mut client, "orders/pause", &json!({"reason": "a deployment", "until": soon}));
    error(&call(&mut client, "orders"), 503, "CHANNEL_PAUSED");
    eventually(|| call(&mut client, "orders").status == 200);
    let row = &audit(&mut client, "resume")[0];
    assert_eq!((&row["principal"], &row["resource_id"]), (&json!("until"), &json!("orders")), "{row}");
}

#[test]
fn impossible_pause_is_refused_and_changes_nothing() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "orders", json!({}));
    for (path, body, expected) in [
        ("orders/pause", json!({}), "body.reason"),
        ("orders/pause", json!({"reason": ""}), "body.reason"),
        ("orders/pause", json!({"reason": 7}), "body.reason"),
        ("orders/pause", json!({"reason": "x".repeat(1001)}), "body.reason"),
        ("orders/pause", json!({"reason": "a\u{0}b"}), "body.reason"),
        ("orders/pause", json!({"reason": "x", "untill": "2999-01-01T00:00:00Z"}), "body.untill"),
        ("orders/pause", json!({"reason": "x", "until": "soon"}), "body.until"),
        ("orders/pause", json!({"reason": "x", "until": "2999-01-01T00:00:00"}), "body.until"),
        ("orders/pause", json!({"reason": "x", "until": "2020-01-01T00:00:00Z"}), "body.until"),
        ("orders/pause", json!({"reason": "x", "until": "9999-12-31T23:59:59-00:01"}), "body.until"),
        ("orders/resume", json!({"because": "x"}), "body.because"),
        ("pause", json!({"reason": "x"}), "body.filter"),
        ("pause", json!({"reason": "x", "filter": {}}), "body.filter"),
        ("pause", json!({"reason": "x", "filter": {"tags": "a"}}), "body.filter.tags"),
        ("resume", json!({"filter": {"connector": ""}}), "body.filter.connector"),
    ] {
        let refused = error(&order(&mut client, path, &body), 400, "VALIDATION_ERROR");
        assert_eq!(details(&refused)[0].0, expected, "{path} {body}: {refused}");
    }
    let near = error(
        &order(&mut client, "orders/pause", &json!({"reason": "x", "untill": "x"})),
        400,
        "VALIDATION_ERROR",
    );
    assert!(near["message"].as_str().unwrap().contains("until"), "{near}");
    for path in ["nothing/pause", "nothing/resume"] {
        error(&order(&mut client, path, &json!({"reason": "x"})), 404, "NOT_FOUND");
    }
    let dry = change(&mut client, "orders/pause?dry_run=true", &json!({"reason": "x"}));
    assert_eq!(dry["valid"], true, "{dry}");
    assert_eq!((call(&mut client, "orders").status, audit(&mut client, "pause").len()), (200, 0));
    let mut sync =
        channel("sync", "orders", json!({"on_repeated_failure": {"failures": 2, "within_secs": 60}}));
    let refused = error(&client.json("POST", CHANNELS, &sync).unwrap(), 400, "VALIDATION_ERROR");
    assert_eq!(details(&refused)[0].0, "channel.config.on_repeated_failure", "{refused}");
    sync["config"]["request"] = json!({"mode": "accept"});
    assert_eq!(client.json("POST", CHANNELS, &sync).unwrap().status, 201);
}

#[test]
fn channels_of_connector_or_tag_pause_at_once() {
    let server = start();
    let mut client = server.client();
    let _bank = held_upstream(&mut client);
    serve(&mut client, "transfers", calling());
    echo(&mut client, "orders", json!({}));
    let mut tagged = channel("tagged", "orders", json!({}));
    tagged["tags"] = json!(["billing"]);
    create_and_activate(&mut client, "channels", "channel_id", &tagged).unwrap();
    let by_connector = json!({"filter": {"connector": "api"}, "reason": "the bank is down"});
    let paused = change(&mut client, "pause", &by_connector);
    assert_eq!((paused.as_array().unwrap().len(), &paused[0]["channel_id"]), (1, &json!("transfers")));
    assert_eq!(paused[0]["paused"]["reason"], "the bank is down", "{paused}");
    error(&call(&mut client, "transfers"), 503, "CHANNEL_PAUSED");
    let by_tag = json!({"filter": {"tag": "billing"}, "reason": "maintenance"});
    assert_eq!(change(&mut client, "pause", &by_tag)[0]["channel_id"], "tagged");
    assert_eq!(call(&mut client, "orders").status, 200);
    assert_eq!(change(&mut client, "pause", &json!({"filter": {"tag": "none"}, "reason": "x"})), json!([]));
    let rows = audit(&mut client, "pause");
    let places: Vec<_> = rows.iter().map(|row| row["resource_id"].as_str().unwrap()).collect();
    assert_eq!(places, ["tag=billing", "connector=api"], "{rows:?}");
    assert_eq!(
        change(&mut client, "resume", &json!({"filter": {"connector": "api"}}))[0]["channel_id"],
        "transfers"
    );
    error(&call(&mut client, "tagged"), 503, "CHANNEL_PAUSED");
}

/// Starts a peer that counts its calls. Returns it with tasks that call it first, and then the channel `callee`.
fn counted_calls(client: &mut HttpClient) -> (Upstream, Value) {
    let peer = Upstream::start(|_| UpstreamReply::new(200, "{}")).unwrap();
    let config = json!({"url": peer.url(""), "allow_private_urls": true});
    let connector = json!({"name": "peer", "connector_type": "http", "config": config});
    assert_eq!(client.json("POST", &format!("{ADMIN}/connectors"), &connector).unwrap().status, 201);
    let count = json!({"connector": "peer", "method": "POST"});
    let tasks = json!([
        {"id": "count", "name": "", "function": {"name": "http_call", "input": count}},
        {"id": "ask", "name": "", "function": {"name": "channel_call", "input": {"channel": "callee"}}},
    ]);
    (peer, tasks)
}

#[test]
fn work_that_calls_paused_channel_rests_until_resume() {
    let (server, mut client) = start_guarded(launch());
    echo(&mut client, "callee", json!({}));
    let (peer, tasks) = counted_calls(&mut client);
    serve(&mut client, "caller", tasks.clone());
    schedule(&mut client, "nightly", tasks, json!({"schedule": "@yearly"}), json!({}));
    change(&mut client, "callee/pause", &json!({"reason": "down"}));
    let id = submit(&mut client, "caller");
    assert_eq!(change_status(&mut client, "nightly/trigger"), 202);
    let admin_trace = id.split('?').next().unwrap().to_owned();
    let waits = |client: &mut HttpClient| trace(client, &admin_trace)["waits_for"].clone();
    eventually(|| {
        waits(&mut client)["sentence"].as_str().is_some_and(|text| text.contains("'callee', which"))
    });
    assert_eq!(waits(&mut client)["reason"], "paused");
    let at = occurrences(&mut client, "nightly")[0]["scheduled_for"].as_str().unwrap().to_owned();
    let why = |client: &mut HttpClient| {
        client.get(&format!("{CHANNELS}/nightly/why?at={at}")).unwrap().json()["data"]["sentence"].to_string()
    };
    eventually(|| why(&mut client).contains("channel 'callee', which it calls, is paused"));
    let calls = peer.requests().len();
    pass(4);
    assert_eq!((peer.requests().len(), calls), (2, 2), "neither is tried meanwhile");
    let server = server.crash_and_restart().unwrap();
    let mut client = guarded_client(&server);
    change(&mut client, "callee/resume", &json!({}));
    let done = wait_until_stable(|| trace(&mut client, &id));
    assert_eq!((&done["status"], &done["attempt"]), (&json!("completed"), &json!(1)), "{done}");
    eventually(|| of_status(&mut client, "nightly", "completed").len() == 1);
    assert_eq!(occurrences(&mut client, "nightly")[0]["attempt"], 1, "no attempt is spent");
    assert_eq!(peer.requests().len(), 4);
}

#[test]
fn retry_of_paused_channel_keeps_its_attempts() {
    let (_server, mut client) = start_guarded(launch());
    let failing = json!({"workflow_id": "failing", "name": "failing", "tasks": [
        {"id": "boom", "name": "", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.x", "logic": {"*": [{"var": "payload.n"}, 2]}}]}}}]});
    create_and_activate(&mut client, "workflows", "workflow_id", &failing).unwrap();
    create_and_activate(&mut client, "channels", "channel_id", &channel("orders", "failing", json!({})))
        .unwrap();
    let sent = client.json("POST", "/api/v1/data/orders/async", &json!({"n": "three"})).unwrap();
    let id = trace_of(&sent).split('?').next().unwrap().to_owned();
    eventually(|| trace(&mut client, &id)["status"] == "failed");
    change(&mut client, "orders/pause", &json!({"reason": "down"}));
    let letters = format!("{ADMIN}/trace-dlq");
    let letter = client.get(&letters).unwrap().json()["data"][0]["id"].as_str().unwrap().to_owned();
    let requeued = client.json("POST", &format!("{letters}/{letter}/requeue"), &json!({})).unwrap();
    assert_eq!(requeued.status, 200, "{}", requeued.text());
    pass(3);
    let waits = trace(&mut client, &id);
    assert_eq!((&waits["status"], &waits["attempt"]), (&json!("retrying"), &json!(1)), "{waits}");
    assert_eq!(waits["waits_for"]["reason"], "paused", "{waits}");
    let kept = client.get(&letters).unwrap().json()["data"][0].clone();
    assert_eq!((&kept["id"], &kept["retry_count"]), (&json!(letter), &json!(0)), "{kept}");
    change(&mut client, "orders/resume", &json!({}));
    eventually(|| trace(&mut client, &id)["attempt"] == 2);
}

#[test]
fn call_of_paused_channel_waits_in_accepted_work() {
    let server = start();
    let mut client = server.client();
    for id in ["callee", "other"] {
        echo(&mut client, id, json!({}));
    }
    serve(
        &mut client,
        "caller",
        json!([{"id": "ask", "name": "", "function": {"name": "channel_call", "input": {"channel": "callee"}}}]),
    );
    change(&mut client, "callee/pause", &json!({"reason": "down"}));
    error(&call(&mut client, "caller"), 503, "SERVICE_UNAVAILABLE");
    let id = submit(&mut client, "caller");
    let_queue_pass(&mut client, "other");
    assert_ne!(trace(&mut client, &id)["status"], "failed");
    change(&mut client, "callee/resume", &json!({}));
    let done = wait_until_stable(|| trace(&mut client, &id));
    assert_eq!(done["status"], "completed", "{done}");
}

#[test]
fn paused_schedule_is_planned_at_its_resume() {
    let server = start();
    let mut client = server.client();
    let transport = json!({"schedule": "* * * * * *", "misfire_policy": "latest"});
    schedule(&mut client, "tick", telling(), transport, json!({}));
    eventually(|| !occurrences(&mut client, "tick").is_empty());
    change(&mut client, "tick/pause", &json!({"reason": "down"}));
    let pause = |client: &mut HttpClient| {
        client.get(&format!("{ADMIN}/cron/status")).unwrap().json()["data"][0]["paused"]["reason"].clone()
    };
    assert_eq!(pause(&mut client), "down");
    let cursor = |client: &mut HttpClient| {
        client.get(&format!("{ADMIN}/cron/status")).unwrap().json()["data"][0]["next_fire_at"].clone()
    };
    let mut stands_at = cursor(&mut client);
    eventually(|| {
        // A write that was in progress may still move it once.
        let before = std::mem::replace(&mut stands_at, cursor(&mut client));
        before == stands_at && svc_model::Timestamp::now().to_string().as_str() > stands_at.as_str().unwrap()
    });
    let server = server.crash_and_restart().unwrap();
    let mut client = server.client();
    let triggered = change_status(&mut client, "tick/trigger");
    assert_eq!(triggered, 202, "by hand it runs");
    eventually(|| {
        occurrences(&mut client, "tick")
            .iter()
            .any(|row| row["trigger"] == "manual" && row["status"] == "completed")
    });
    assert_eq!(cursor(&mut client), stands_at, "the cursor stands still over a restart");
    change(&mut client, "tick/resume", &json!({}));
    assert_eq!(pause(&mut client), Value::Null);
    eventually(|| cursor(&mut client).as_str() > stands_at.as_str());
    let rows = occurrences(&mut client, "tick");
    let is_planned =
        |row: &Value| row["trigger"] == "cron" && row["scheduled_for"].as_str() >= stands_at.as_str();
    assert!(rows.iter().any(is_planned), "{rows:?}");
}

/// Sends a request without a body; returns the status.
fn change_status(client: &mut HttpClient, path: &str) -> u16 {
    client.json("POST", &format!("{CHANNELS}/{path}"), &json!({})).unwrap().status
}

#[test]
fn channel_pauses_itself_after_repeated_failures() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "alerts", json!({}));
    let failing = json!({"workflow_id": "failing", "name": "failing", "tasks": [
        {"id": "boom", "name": "", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.x", "logic": {"*": [{"var": "payload.n"}, 2]}}]}}}]});
    create_and_activate(&mut client, "workflows", "workflow_id", &failing).unwrap();
    let config = json!({"request": {"mode": "accept"}, "on_failure": "alerts",
        "on_repeated_failure": {"failures": 2, "within_secs": 600}});
    create_and_activate(&mut client, "channels", "channel_id", &channel("hook", "failing", config)).unwrap();
    let send = |client: &mut HttpClient| {
        client.json("POST", "/api/v1/data/hook", &json!({"n": "three"})).unwrap().status
    };
    assert_eq!((send(&mut client), send(&mut client)), (202, 202));
    let paused = |client: &mut HttpClient| {
        client.get(&format!("{CHANNELS}/hook")).unwrap().json()["data"]["paused"].clone()
    };
    eventually(|| paused(&mut client).is_object());
    let pause = paused(&mut client);
    assert_eq!((&pause["by"], &pause["until"]), (&json!("on_repeated_failure"), &Value::Null), "{pause}");
    assert_eq!(pause["reason"], "it failed 2 times within 600 s");
    let row = &audit(&mut client, "pause")[0];
    assert_eq!((&row["principal"], &row["resource_id"]), (&json!("on_repeated_failure"), &json!("hook")));
    let reports = |client: &mut HttpClient| {
        let page = client.get(&format!("{ADMIN}/traces?channel=alerts&limit=100")).unwrap().json();
        page["data"].as_array().unwrap().clone()
    };
    // One for each failure and one for the pause.
    eventually(|| reports(&mut client).iter().filter(|row| row["status"] == "completed").count() == 3);
    let told = reports(&mut client);
    let told = told.iter().map(|row| trace(&mut client, row["id"].as_str().unwrap()).to_string());
    assert_eq!(told.filter(|report| report.contains("paused itself")).count(), 1);
    assert_eq!(change(&mut client, "hook/resume", &json!({}))["channel_id"], "hook");
}

#[test]
fn deleted_channel_takes_its_pause_along() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "orders", json!({}));
    change(&mut client, "orders/pause", &json!({"reason": "down"}));
    assert_eq!(client.json("DELETE", &format!("{CHANNELS}/orders"), &json!({})).unwrap().status, 204);
    create_and_activate(&mut client, "channels", "channel_id", &channel("orders", "orders", json!({})))
        .unwrap();
    assert_eq!(call(&mut client, "orders").status, 200);
}
