//! Asynchronous submissions: a 202, a token, and a state with the outcome.

use diesel::connection::SimpleConnection as _;
use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::{
    channel, echo, error, eventually, launch, open_database, serve_with, start, wait_until_stable,
};

/// Makes the database refuse every row of a trace.
const REFUSE_TRACES: &str =
    "CREATE TRIGGER refuse BEFORE INSERT ON traces BEGIN SELECT RAISE(ABORT, 'planned'); END";

const TRACES: &str = "/api/v1/admin/traces";

/// Submits and returns the id and the token of the trace.
fn submit(client: &mut HttpClient, channel: &str, payload: &Value) -> (String, String) {
    let answer = client.json("POST", &format!("/api/v1/data/{channel}/async"), payload).unwrap();
    assert_eq!(answer.status, 202, "{}", answer.text());
    let body = answer.json();
    assert_eq!(body.as_object().map(serde_json::Map::len), Some(2), "{body}");
    let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
    (text("trace_id"), text("trace_token"))
}

fn with_token(client: &mut HttpClient, id: &str, token: &str) -> HttpResponse {
    client.send("GET", &format!("{TRACES}/{id}"), &[("x-trace-token", token)], b"").unwrap()
}

#[test]
fn submission_runs_and_is_read_by_token() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "jobs", json!({}));
    let (id, token) = submit(&mut client, "jobs", &json!({"order": 7}));
    assert!(token.len() == 32 && token.bytes().all(|b| b.is_ascii_hexdigit()), "{token}");
    let done = wait_until_stable(|| with_token(&mut client, &id, &token).json()["data"].clone());
    assert_eq!(
        (&done["status"], &done["mode"], &done["channel"]),
        (&json!("completed"), &json!("async"), &json!("jobs"))
    );
    assert_eq!((&done["data"], &done["attempt"]), (&json!({"input": {"order": 7}}), &json!(1)), "{done}");
    assert_eq!(done["message"], json!({"context": {"data": done["data"]}}), "{done}");
    let by_query = client.get(&format!("{TRACES}/{id}?token={token}")).unwrap();
    assert_eq!((by_query.status, by_query.header("cache-control")), (200, Some("no-store")));
}

#[test]
fn accepted_answer_names_its_polling_location() {
    let server = launch().env("SVC_SERVER__DATA_MOUNTS", "/shop").start().unwrap();
    let mut client = server.client();
    echo(&mut client, "jobs", json!({}));
    for (id, pattern) in [("routed", "/shop/orders"), ("lines", "/shop/orders/{id}/lines")] {
        let mut routed = channel(id, "jobs", json!({}));
        routed["name"] = json!(format!("{id} of orders"));
        routed["route_pattern"] = json!(pattern);
        create_and_activate(&mut client, "channels", "channel_id", &routed).unwrap();
    }
    for (path, place) in [
        ("/api/v1/data/jobs/async", "/api/v1/data/jobs/async/"),
        ("/api/v1/data/shop/orders/async/", "/api/v1/data/shop/orders/async/"),
        ("/shop/orders/async", "/shop/orders/async/"),
        ("/shop/orders/7/lines/async", "/api/v1/data/lines%20of%20orders/async/"),
    ] {
        let accepted = client.json("POST", path, &json!({"n": 1})).unwrap();
        assert_eq!(
            (accepted.status, accepted.header("retry-after")),
            (202, Some("1")),
            "{}",
            accepted.text()
        );
        let body = accepted.json();
        let (id, token) = (body["trace_id"].as_str().unwrap(), body["trace_token"].as_str().unwrap());
        let location = accepted.header("location").unwrap().to_owned();
        assert_eq!(location, format!("{place}{id}"));
        let poll = |client: &mut HttpClient, method: &str| {
            client.send(method, &location, &[("x-trace-token", token)], b"").unwrap()
        };
        let done = wait_until_stable(|| poll(&mut client, "GET").json()["data"].clone());
        assert_eq!((&done["id"], &done["data"]["input"]), (&json!(id), &json!({"n": 1})), "{done}");
        let last = poll(&mut client, "HEAD");
        assert_eq!((last.status, last.header("retry-after")), (200, None));
        let refused = poll(&mut client, "DELETE");
        assert_eq!((refused.status, refused.header("allow")), (405, Some("GET, HEAD")));
        assert_eq!(client.get(&format!("{location}?token={token}")).unwrap().status, 200);
    }
}

#[test]
fn wrong_poll_answers_like_an_absent_submission() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "jobs", json!({}));
    echo(&mut client, "others", json!({}));
    let (id, token) = submit(&mut client, "jobs", &json!({}));
    let poll = |client: &mut HttpClient, path: &str, token: &str| {
        let answer = client.send("GET", path, &[("x-trace-token", token)], b"").unwrap();
        error(&answer, 404, "NOT_FOUND")["message"].clone()
    };
    let own = format!("/api/v1/data/jobs/async/{id}");
    let wrong = poll(&mut client, &own, "wrong");
    let unknown = "/api/v1/data/jobs/async/0190a1b2-0000-7000-8000-000000000000";
    let (other, no_id) = (format!("/api/v1/data/others/async/{id}"), "/api/v1/data/jobs/async/7");
    for (path, token) in [(own.as_str(), ""), (unknown, &token), (&other, "wrong"), (no_id, &token)] {
        assert_eq!(poll(&mut client, path, token), wrong, "{path}");
    }
    assert_eq!(client.send("GET", &own, &[("x-trace-token", &token)], b"").unwrap().status, 200);
}

#[test]
fn location_stays_good_when_the_route_changes() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "jobs", json!({}));
    let mut routed = channel("orders", "jobs", json!({}));
    routed["route_pattern"] = json!("/shop/orders");
    create_and_activate(&mut client, "channels", "channel_id", &routed).unwrap();
    let accepted = client.json("POST", "/api/v1/data/shop/orders/async", &json!({"n": 1})).unwrap();
    let location = accepted.header("location").unwrap().to_owned();
    let token = accepted.json()["trace_token"].as_str().unwrap().to_owned();
    let poll = |client: &mut HttpClient| {
        client.send("GET", &location, &[("x-trace-token", &token)], b"").unwrap().json()["data"].clone()
    };
    let done = wait_until_stable(|| poll(&mut client));
    assert_eq!(done["status"], "completed");
    let orders = "/api/v1/admin/channels/orders";
    let mut change = |method: &str, path: &str, body: Value| {
        let answer = client.json(method, path, &body).unwrap();
        assert!(answer.status < 300, "{}", answer.text());
    };
    change("POST", &format!("{orders}/versions"), json!({}));
    change("PUT", orders, json!({"route_pattern": "/shop/purchases"}));
    change("PATCH", &format!("{orders}/status"), json!({"status": "active"}));
    let mut other = channel("sales", "jobs", json!({}));
    other["route_pattern"] = json!("/shop/orders");
    create_and_activate(&mut client, "channels", "channel_id", &other).unwrap();
    assert_eq!(poll(&mut client), done);
    let archived = client.json("PATCH", &format!("{orders}/status"), &json!({"status": "archived"})).unwrap();
    assert_eq!((archived.status, poll(&mut client)), (200, done));
}

#[test]
fn token_of_shaped_submission_shows_its_body() {
    let server = start();
    let mut client = server.client();
    let tasks = json!([{"id": "shape", "name": "", "function": {"name": "map", "input": {"mappings": [
        {"path": "data._svc.response.body_path", "logic": "shown"},
        {"path": "data.shown", "logic": {"var": "payload"}}, {"path": "data.margin", "logic": "canary"}]}}}]);
    serve_with(&mut client, "shaped", json!({"response": {"mode": "shaped"}}), tasks);
    let answer = client.json("POST", "/api/v1/data/shaped", &json!({"n": 1})).unwrap();
    assert_eq!(answer.json(), json!({"n": 1}));
    let (id, token) = submit(&mut client, "shaped", &json!({"n": 1}));
    for path in [format!("{TRACES}/{id}"), format!("/api/v1/data/shaped/async/{id}")] {
        let look = |client: &mut HttpClient| {
            client.send("GET", &path, &[("x-trace-token", &token)], b"").unwrap().json()["data"].clone()
        };
        let done = wait_until_stable(|| look(&mut client));
        assert_eq!((&done["status"], &done["data"]), (&json!("completed"), &json!({"n": 1})), "{done}");
        assert!(!done.to_string().contains("canary"), "{done}");
    }
}

#[test]
fn token_shows_no_more_than_synchronous_answer() {
    let upstream = Upstream::start(|_| UpstreamReply::new(502, "db-7.internal refused")).unwrap();
    let server = launch().env("SVC_TRACE_QUEUE__DLQ_RETRY_ENABLED", "false").start().unwrap();
    let mut client = server.client();
    let billing = json!({"name": "billing-internal", "connector_type": "http", "config": {
        "url": upstream.url(""), "allow_private_urls": true, "retry": {"max_retries": 0}}});
    assert_eq!(client.json("POST", "/api/v1/admin/connectors", &billing).unwrap().status, 201);
    let tasks = json!([
        {"id": "scratch", "name": "", "function": {"name": "map", "input": {"mappings": [
            {"path": "temp_data.margin", "logic": "canary"}]}}},
        {"id": "call", "name": "", "function": {"name": "http_call", "input": {
            "connector": "billing-internal", "capture_error_body": true, "output": "data.bill"}}}]);
    serve_with(&mut client, "bills", json!({"tracing": {"task_details": true}}), tasks);
    let (id, token) = submit(&mut client, "bills", &json!({"card": "canary"}));
    for path in [format!("{TRACES}/{id}"), format!("/api/v1/data/bills/async/{id}")] {
        let look = |client: &mut HttpClient| {
            client.send("GET", &path, &[("x-trace-token", &token)], b"").unwrap().json()["data"].clone()
        };
        let failed = wait_until_stable(|| look(&mut client));
        let errors = json!([{"code": "HTTP_ERROR", "task_id": "call"}, {"code": "WORKFLOW_ERROR"}]);
        assert_eq!((&failed["status"], &failed["errors"]), (&json!("failed"), &errors), "{failed}");
        for hidden in ["db-7", "billing", "canary"] {
            assert!(!failed.to_string().contains(hidden), "{hidden}: {failed}");
        }
    }
}

#[test]
fn trace_with_a_token_refuses_other_readers() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "jobs", json!({}));
    let (id, token) = submit(&mut client, "jobs", &json!({}));
    let wrong = token.chars().rev().collect::<String>() + "0";
    let refused = error(&with_token(&mut client, &id, &wrong), 401, "UNAUTHORIZED");
    let none = error(&client.get(&format!("{TRACES}/{id}")).unwrap(), 401, "UNAUTHORIZED");
    assert_eq!(refused["message"], none["message"], "missing and wrong look alike");
    error(&client.get(&format!("{TRACES}/no-such-trace")).unwrap(), 404, "NOT_FOUND");
    error(&with_token(&mut client, "0199", &token), 404, "NOT_FOUND");
    assert_eq!(with_token(&mut client, &id, &token).status, 200);
}

#[test]
fn token_opens_its_own_trace_only() {
    const KEY: &str = "an-admin-key-of-more-than-32-characters";
    let server =
        launch().env("SVC_ADMIN_AUTH__ENABLED", "true").env("SVC_ADMIN_AUTH__API_KEYS", KEY).start().unwrap();
    let mut admin = server.client().with_header("x-api-key", KEY);
    echo(&mut admin, "jobs", json!({}));
    let mut client = server.client();
    let (id, token) = submit(&mut client, "jobs", &json!({}));
    let ran = client.json("POST", "/api/v1/data/jobs", &json!({})).unwrap().json();
    assert_eq!(with_token(&mut client, &id, &token).status, 200);
    assert_eq!(admin.get(&format!("{TRACES}/{id}")).unwrap().status, 200);
    let sync = format!("{TRACES}/{}", ran["id"].as_str().unwrap());
    assert_eq!(admin.get(&sync).unwrap().status, 200);
    let bearing = [("x-trace-token", token.as_str())];
    for (method, path) in [
        ("GET", sync.as_str()),
        ("GET", TRACES),
        ("GET", &format!("{TRACES}/{id}/")),
        ("GET", &format!("{TRACES}/%30{}", &id[1..])),
        ("GET", &format!("/api/v1/admin/trace%73/{id}")),
        ("POST", &format!("{TRACES}/{id}")),
        ("DELETE", &format!("{TRACES}/{id}")),
    ] {
        let answer = client.send(method, path, &bearing, b"").unwrap();
        error(&answer, 401, "UNAUTHORIZED");
    }
    assert_eq!(client.send("HEAD", &format!("{TRACES}/{id}"), &bearing, b"").unwrap().status, 200);
}

#[test]
fn submission_leaves_row_while_tracing_is_off() {
    let server = launch().env("SVC_TRACE_STORAGE__MODE", "off").start().unwrap();
    let mut client = server.client();
    echo(&mut client, "jobs", json!({"tracing": {"mode": "off"}}));
    let (id, token) = submit(&mut client, "jobs", &json!({}));
    let done = wait_until_stable(|| with_token(&mut client, &id, &token).json()["data"].clone());
    assert_eq!(done["status"], "completed");
}

#[test]
fn next_process_runs_jobs_interrupted_by_kill() {
    let server = launch().env("SVC_TRACE_QUEUE__WORKERS", "1").start().unwrap();
    let mut client = server.client();
    // Long, and with little to write down: conditions that do not hold.
    let skipped = |n: i32| {
        json!({"id": n.to_string(), "name": "", "condition": {"==": [{"var": "data.x"}, n]},
        "function": {"name": "log", "input": {"message": "never"}}})
    };
    let tasks: Vec<_> = (0..20).map(skipped).collect();
    let workflow = json!({"workflow_id": "long", "name": "long", "loop": {"counter": "n", "max": 2000},
        "tasks": tasks});
    create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
    create_and_activate(&mut client, "channels", "channel_id", &channel("long", "long", json!({}))).unwrap();
    let answers: Vec<_> = (0..10).map(|n| submit(&mut client, "long", &json!({"n": n}))).collect();
    let (id, token) = answers.last().unwrap();
    let last = with_token(&mut client, id, token).json()["data"].clone();
    assert_eq!(last["status"], "pending", "many runs stand before it");
    let server = server.crash_and_restart().unwrap();
    let mut client = server.client();
    for (id, token) in answers {
        let done = wait_until_stable(|| with_token(&mut client, &id, &token).json()["data"].clone());
        assert_eq!(done["status"], "completed", "{done}");
    }
}

#[test]
fn refused_submission_leaves_no_trace() {
    let server = launch()
        .env("SVC_TRACE_QUEUE__WORKERS", "1")
        .env("SVC_TRACE_QUEUE__BUFFER_SIZE", "3")
        .env("SVC_TRACE_QUEUE__PROCESSING_TIMEOUT_MS", "3000")
        .start()
        .unwrap();
    let mut client = server.client();
    let spin = json!({"workflow_id": "slow", "name": "slow", "loop": {"max": 10000}, "tasks": [
        {"id": "spin", "name": "", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.list", "logic": {"merge": [{"var": "data.list"}, [1, 2, 3, 4, 5, 6, 7, 8]]}}]}}}]});
    create_and_activate(&mut client, "workflows", "workflow_id", &spin).unwrap();
    create_and_activate(&mut client, "channels", "channel_id", &channel("slow", "slow", json!({}))).unwrap();
    let answers: Vec<_> =
        (0..12).map(|_| client.json("POST", "/api/v1/data/slow/async", &json!({})).unwrap()).collect();
    let shed: Vec<_> = answers.iter().filter(|answer| answer.status == 503).collect();
    assert!(shed.len() >= 6, "{} of 12 found no room", shed.len());
    assert!(shed.iter().all(|answer| answer.header("retry-after").is_some()));
    let rows = client.get(&format!("{TRACES}?channel=slow&limit=100")).unwrap().json();
    assert_eq!(rows["data"].as_array().unwrap().len(), answers.len() - shed.len(), "{rows}");
}

#[test]
fn webhook_that_was_not_stored_may_come_again() {
    let server = start();
    let mut client = server.client();
    let config = json!({"request": {"mode": "accept"},
        "deduplication": {"header": "idempotency-key", "on_duplicate": "accept"}});
    echo(&mut client, "hooks", config);
    let headers = [("content-type", "application/json"), ("idempotency-key", "e-1")];
    let mut deliver = || client.send("POST", "/api/v1/data/hooks", &headers, b"{}").unwrap();
    let mut database = open_database(&server.directory().join("svc.db"));
    database.batch_execute(REFUSE_TRACES).unwrap();
    let refused = deliver();
    assert!(refused.status >= 500, "{}", refused.text());
    database.batch_execute("DROP TRIGGER refuse").unwrap();
    assert_eq!(deliver().status, 202, "nobody else would carry it out");
    let repeat = deliver();
    assert_eq!((repeat.status, repeat.json()), (200, json!({"status": "duplicate"})));
}

#[test]
fn failure_to_store_work_is_not_replayed() {
    let server = start();
    let mut client = server.client();
    let config = json!({"deduplication": {"header": "idempotency-key", "on_duplicate": "replay"},
        "queue": {"early_start": false}});
    echo(&mut client, "charges", config);
    let headers = [("content-type", "application/json"), ("idempotency-key", "e-1")];
    let mut deliver = || client.send("POST", "/api/v1/data/charges/async", &headers, b"{}").unwrap();
    let mut database = open_database(&server.directory().join("svc.db"));
    database.batch_execute(REFUSE_TRACES).unwrap();
    let refused = deliver();
    assert!(refused.status >= 500, "{}", refused.text());
    database.batch_execute("DROP TRIGGER refuse").unwrap();
    let accepted = deliver();
    assert_eq!((accepted.status, accepted.header("idempotent-replayed")), (202, None), "{}", accepted.text());
    assert_eq!(deliver().text(), accepted.text());
}

#[test]
fn unstored_work_gives_its_key_back() {
    let server = start();
    let mut client = server.client();
    let config = json!({"deduplication": {"header": "idempotency-key"}, "queue": {"early_start": false}});
    echo(&mut client, "charges", config);
    let headers = [("content-type", "application/json"), ("idempotency-key", "e-1")];
    let mut deliver = || client.send("POST", "/api/v1/data/charges/async", &headers, b"{}").unwrap();
    let mut database = open_database(&server.directory().join("svc.db"));
    database.batch_execute(REFUSE_TRACES).unwrap();
    let refused = deliver();
    assert!(refused.status >= 500, "{}", refused.text());
    database.batch_execute("DROP TRIGGER refuse").unwrap();
    let accepted = deliver();
    assert_eq!(accepted.status, 202, "nothing of it was done: {}", accepted.text());
    error(&deliver(), 409, "CONFLICT");
}

#[test]
fn begun_work_without_row_keeps_its_key() {
    let server = launch().env("SVC_METRICS__ENABLED", "true").start().unwrap();
    let mut client = server.client();
    echo(&mut client, "charges", json!({"deduplication": {"header": "idempotency-key"}}));
    let mut database = open_database(&server.directory().join("svc.db"));
    let mut deliver = |key: &str| {
        let headers = [("content-type", "application/json"), ("idempotency-key", key)];
        client.send("POST", "/api/v1/data/charges/async", &headers, b"{}").unwrap()
    };
    // Work begins early only moments after a commit, which a slow machine may miss.
    let uncertain = (0..50).find_map(|n| {
        assert_eq!(deliver(&format!("first-{n}")).status, 202);
        database.batch_execute(REFUSE_TRACES).unwrap();
        let refused = deliver(&format!("second-{n}"));
        database.batch_execute("DROP TRIGGER refuse").unwrap();
        (refused.json()["error"]["code"] == "SUBMISSION_UNCERTAIN").then_some((n, refused))
    });
    let (n, refused) = uncertain.expect("one begins early");
    assert_eq!((refused.status, refused.header("retry-after")), (503, None));
    assert_eq!(refused.json()["error"]["details"], json!({"began": true}));
    error(&deliver(&format!("second-{n}")), 409, "CONFLICT");
    // It counts by its run, as accepted work does.
    let count = |status: &str, count: i32| {
        format!("svc_messages_total{{channel=\"charges\",status=\"{status}\"}} {count}\n")
    };
    eventually(|| client.get("/metrics").unwrap().text().contains(&count("ok", n + 2)));
    let metrics = client.get("/metrics").unwrap().text();
    assert!(metrics.contains("svc_trace_uncertain_total 1\n"), "{metrics}");
    let has_errors = metrics.contains("svc_messages_total{channel=\"charges\",status=\"error\"}");
    assert!(if n == 0 { !has_errors } else { metrics.contains(&count("error", n)) }, "{metrics}");
}

#[test]
fn empty_token_header_hides_no_query_token() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "jobs", json!({}));
    let (id, token) = submit(&mut client, "jobs", &json!({}));
    let read = |client: &mut HttpClient, header: &str| {
        let path = format!("{TRACES}/{id}?token={token}");
        client.send("GET", &path, &[("x-trace-token", header)], b"").unwrap()
    };
    assert_eq!(read(&mut client, "").status, 200);
    error(&read(&mut client, "wrong"), 401, "UNAUTHORIZED");
}

#[test]
fn right_token_is_never_locked_out() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "jobs", json!({}));
    let (id, token) = submit(&mut client, "jobs", &json!({}));
    for _ in 0..10 {
        let refused = error(&with_token(&mut client, &id, "wrong"), 401, "UNAUTHORIZED");
        assert_eq!(
            refused["message"],
            error(&client.get(&format!("{TRACES}/{id}")).unwrap(), 401, "UNAUTHORIZED")["message"]
        );
    }
    assert_eq!(with_token(&mut client, &id, &token).status, 200);
}
