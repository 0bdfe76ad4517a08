//! Canaries that move by themselves: judged by the runs that the server counted, steered by operators; and versions that
//! run as shadows.

use std::sync::mpsc;

use diesel::connection::SimpleConnection;
use diesel::prelude::{QueryableByName, RunQueryDsl as _};
use diesel::sql_query;
use diesel::sql_types::BigInt;
use parking_lot::Mutex;
use serde_json::{Value, json};
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::server::ServerProcess;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::support::{echo, error, eventually, launch, open_database, serve_with, start};

const WORKFLOW: &str = "/api/v1/admin/workflows/w";
/// The step has lasted beyond its interval, and not beyond the time that it may wait for runs.
const AGED: &str =
    "UPDATE canary_rollouts SET step_since = strftime('%Y-%m-%d %H:%M:%f', 'now', '-15 seconds')";

/// Serves a workflow, and a second version of it by a plan; the second one has these tasks, if there are some.
fn begin(client: &mut HttpClient, tasks: Option<Value>) {
    echo(client, "w", json!({}));
    echo(client, "alarm", json!({}));
    draft(client, tasks);
    let plan = json!({"status": "active", "steps": [50], "interval_secs": 10, "on_rollback": "alarm",
        "gate": {"min_runs": 30, "max_p99_ratio": 1000}});
    let answer = client.json("PATCH", &format!("{WORKFLOW}/status"), &plan).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn draft(client: &mut HttpClient, tasks: Option<Value>) {
    assert_eq!(client.json("POST", &format!("{WORKFLOW}/versions"), &json!({})).unwrap().status, 201);
    let changed = tasks.map_or_else(|| json!({"description": "second"}), |tasks| json!({"tasks": tasks}));
    assert_eq!(client.json("PUT", WORKFLOW, &changed).unwrap().status, 200);
}

fn rollout(client: &mut HttpClient) -> Value {
    client.get(&format!("{WORKFLOW}/rollout")).unwrap().json()["data"].clone()
}

fn order(client: &mut HttpClient, body: &Value) -> HttpResponse {
    client.json("PATCH", &format!("{WORKFLOW}/rollout"), body).unwrap()
}

/// Sends messages until the rollout, whose step has lasted long enough, has this state.
fn send_until(server: &ServerProcess, client: &mut HttpClient, state: &str) -> Value {
    let file = server.directory().join("svc.db");
    eventually(|| {
        for n in 0..100 {
            client.json("POST", "/api/v1/data/w", &json!({"n": n})).unwrap();
        }
        open_database(&file).batch_execute(AGED).unwrap();
        rollout(client)["canary"]["state"] == state
    });
    rollout(client)
}

fn decision(client: &mut HttpClient) -> Value {
    let log = client.get("/api/v1/admin/audit-logs").unwrap().json();
    let rows = log["data"].as_array().unwrap();
    let details = &rows.iter().find(|row| row["principal"] == "gate").unwrap()["details"];
    serde_json::from_str(details.as_str().unwrap()).unwrap()
}

#[test]
fn good_canary_takes_all_traffic_by_itself() {
    let server = start();
    let mut client = server.client();
    begin(&mut client, None);
    let shown = send_until(&server, &mut client, "promoted");
    assert_eq!(shown["versions"], json!([{"version": 2, "rollout_percentage": 100}]), "{shown}");
    let facts = decision(&mut client);
    assert_eq!(
        (&facts["decision"], &facts["rollout_percentage"]),
        (&json!("promote"), &json!(100)),
        "{facts}"
    );
    assert!(facts["figures"]["canary"]["runs"].as_u64().unwrap() >= 30, "{facts}");
}

#[test]
fn look_that_fails_holds_up_no_other() {
    let server = start();
    let mut client = server.client();
    // The rollout of `a` comes before that of `w`; its looks are refused from the first one on.
    let refusal = "CREATE TRIGGER refusal BEFORE UPDATE ON canary_rollouts \
         WHEN NEW.workflow_id = 'a' AND NEW.figures IS NOT NULL BEGIN SELECT RAISE(ABORT, 'refused'); END";
    open_database(&server.directory().join("svc.db")).batch_execute(refusal).unwrap();
    echo(&mut client, "a", json!({}));
    let path = "/api/v1/admin/workflows/a";
    assert_eq!(client.json("POST", &format!("{path}/versions"), &json!({})).unwrap().status, 201);
    assert_eq!(client.json("PUT", path, &json!({"description": "second"})).unwrap().status, 200);
    let plan = json!({"status": "active", "steps": [50], "interval_secs": 10});
    let answer = client.json("PATCH", &format!("{path}/status"), &plan).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    begin(&mut client, None);
    send_until(&server, &mut client, "promoted");
    let held = client.get(&format!("{path}/rollout")).unwrap().json();
    assert_eq!(held["data"]["canary"]["state"], "watching", "{held}");
}

#[derive(QueryableByName)]
struct StoredRuns {
    #[diesel(sql_type = BigInt)]
    runs: i64,
}

/// Returns the number of runs on record, once both versions have some.
fn count_stored_runs(server: &ServerProcess) -> i64 {
    let query =
        "SELECT CASE count(*) WHEN 2 THEN sum(runs) ELSE 0 END AS runs FROM canary_outcomes WHERE runs > 0";
    let mut conn = open_database(&server.directory().join("svc.db"));
    sql_query(query).get_result::<StoredRuns>(&mut conn).unwrap().runs
}

#[test]
fn refused_report_is_repeated_without_further_runs() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "w", json!({}));
    draft(&mut client, None);
    let plan = json!({"status": "active", "steps": [50], "interval_secs": 3600});
    assert_eq!(client.json("PATCH", &format!("{WORKFLOW}/status"), &plan).unwrap().status, 200);
    let mut send = || {
        for n in 0..20 {
            client.json("POST", "/api/v1/data/w", &json!({"n": n})).unwrap();
        }
    };
    eventually(|| {
        send();
        count_stored_runs(&server) > 0
    });
    let mut conn = open_database(&server.directory().join("svc.db"));
    let refuse = |event: &str| {
        format!(
            "CREATE TRIGGER no_{event} BEFORE {event} ON canary_outcomes BEGIN SELECT RAISE(ABORT, 'refused'); END;"
        )
    };
    conn.batch_execute(&(refuse("INSERT") + &refuse("UPDATE"))).unwrap();
    let before = count_stored_runs(&server);
    send();
    let failures = || server.log_text().matches("a job failed").count();
    let known = failures();
    eventually(|| failures() > known);
    conn.batch_execute("DROP TRIGGER no_INSERT; DROP TRIGGER no_UPDATE;").unwrap();
    eventually(|| count_stored_runs(&server) >= before + 20);
}

#[test]
fn failing_canary_is_rolled_back_and_reported() {
    let server = start();
    let mut client = server.client();
    let throws = json!({"path": "data.x", "logic": {"throw": "no"}});
    let tasks =
        json!([{"id": "boom", "name": "", "function": {"name": "map", "input": {"mappings": [throws]}}}]);
    begin(&mut client, Some(tasks));
    let shown = send_until(&server, &mut client, "rolled_back");
    assert_eq!(shown["versions"], json!([{"version": 1, "rollout_percentage": 100}]), "{shown}");
    assert!(shown["canary"]["reason"].as_str().unwrap().contains("failed runs"), "{shown}");
    assert_eq!(decision(&mut client)["decision"], "roll_back");
    let reports = "/api/v1/admin/traces?channel=alarm&status=completed";
    eventually(|| client.get(reports).unwrap().json()["data"].as_array().is_some_and(|rows| rows.len() == 1));
    assert_eq!(client.json("POST", "/api/v1/data/w", &json!({})).unwrap().status, 200);
}

#[test]
fn gate_refuses_shares_and_takes_orders() {
    let server = start();
    let mut client = server.client();
    begin(&mut client, None);
    let share = json!({"rollout_percentage": 30});
    let refused = error(&order(&mut client, &share), 409, "CONFLICT");
    assert!(refused["message"].as_str().unwrap().contains("override"), "{refused}");
    assert_eq!(order(&mut client, &json!({"state": "paused"})).status, 200);
    let noted = "rollouts of workflows are paused: w";
    eventually(|| client.get("/health").unwrap().json()["notes"].to_string().contains(noted));
    for state in ["paused", "watching"] {
        assert_eq!(order(&mut client, &json!({"state": state})).status, 200);
        assert_eq!(rollout(&mut client)["canary"]["state"], state);
    }
    assert_eq!(order(&mut client, &json!({"rollout_percentage": 30, "override": true})).status, 200);
    let shown = rollout(&mut client);
    assert_eq!(
        (&shown["canary"]["state"], &shown["versions"][0]["rollout_percentage"]),
        (&json!("aborted"), &json!(30))
    );
    error(&order(&mut client, &json!({"state": "promoted"})), 409, "CONFLICT");
    let unknown = json!({"steps": [50], "on_rollback": "alram"});
    for address in [format!("{WORKFLOW}/rollout?dry_run=true"), format!("{WORKFLOW}/rollout")] {
        let answer = client.json("PATCH", &address, &unknown).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        let answer = answer.json();
        let warnings = answer.get("warnings").unwrap_or(&answer["data"]["warnings"]);
        assert_eq!(warnings[0]["field"], "body.on_rollback", "{answer}");
        assert!(warnings[0]["message"].as_str().unwrap().contains("'alram'"), "{answer}");
    }
    for (body, path) in [
        (json!({"shadow": true, "steps": [10]}), "body.steps"),
        (json!({"steps": [10], "gate": {"compare": 2}}), "body.gate.compare"),
        (json!({"steps": [10], "gate": {"max_difference_ratio": 0.1}}), "body.gate.max_difference_ratio"),
        (json!({"steps": [10], "interval_secs": 5}), "body.interval_secs"),
        (json!({"state": "rolled_back"}), "body.state"),
        (json!({"state": "paused", "rollout_percentage": 5}), "body.state"),
        (json!({"override": "yes", "rollout_percentage": 5}), "body.override"),
    ] {
        let refused = error(&order(&mut client, &body), 400, "VALIDATION_ERROR");
        assert_eq!(refused["details"][0]["path"], path, "{refused}");
    }
}

fn add_shop(client: &mut HttpClient, shop: &Upstream) {
    let connector = json!({"id": "shop", "name": "shop", "connector_type": "http",
        "config": {"url": shop.url(""), "allow_private_urls": true}});
    assert_eq!(client.json("POST", "/api/v1/admin/connectors", &connector).unwrap().status, 201);
}

fn call(id: &str, method: &str, path: &str) -> Value {
    json!({"id": id, "name": id, "function": {"name": "http_call", "input": {
        "connector": "shop", "method": method, "path": path, "output": format!("data.{id}")}}})
}

fn set_total(total: i64) -> Value {
    let mapping = json!({"path": "data.total", "logic": total});
    json!({"id": "total", "name": "", "function": {"name": "map", "input": {"mappings": [mapping]}}})
}

fn activate_shadow(client: &mut HttpClient, tasks: Value) {
    draft(client, Some(tasks));
    let body = json!({"status": "active", "shadow": true});
    let answer = client.json("PATCH", &format!("{WORKFLOW}/status"), &body).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn shadows_of_node(client: &mut HttpClient) -> Value {
    rollout(client)["canary"]["shadows"]["node"].clone()
}

/// Sends messages until so many have had a shadow. Returns the number of messages.
fn send_until_shadowed(client: &mut HttpClient, runs: u64) -> usize {
    let mut sent = 0;
    eventually(|| {
        if shadows_of_node(client)["runs"].as_u64().unwrap_or_default() >= runs {
            return true;
        }
        let answer = client.json("POST", "/api/v1/data/w", &json!({"n": sent})).unwrap();
        assert_eq!((answer.status, &answer.json()["data"]["total"]), (200, &json!(1)));
        sent += 1;
        false
    });
    sent
}

/// Returns the number of shadow runs that differ, as the metrics show it.
fn count_different(client: &mut HttpClient) -> usize {
    let metrics = client.get("/metrics").unwrap().text();
    let series = "svc_shadow_runs_total{result=\"different\"} ";
    metrics.lines().find_map(|line| line.strip_prefix(series)).unwrap().parse().unwrap()
}

#[test]
fn shadow_doubles_no_write_and_differences_are_named() {
    let shop = Upstream::start(|_| UpstreamReply::new(200, json!({"ok": true}).to_string())).unwrap();
    let server = launch().env("SVC_METRICS__ENABLED", "true").start().expect("the server starts");
    let mut client = server.client();
    add_shop(&mut client, &shop);
    serve_with(&mut client, "w", json!({}), json!([call("buy", "POST", "/buy"), set_total(1)]));
    activate_shadow(&mut client, json!([call("buy", "POST", "/buy"), set_total(2)]));
    let shown = rollout(&mut client);
    let shares = json!([{"version": 2, "rollout_percentage": 0}, {"version": 1, "rollout_percentage": 100}]);
    assert_eq!((&shown["versions"], &shown["canary"]["shadow"]), (&shares, &json!(true)), "{shown}");
    let sent = send_until_shadowed(&mut client, 3);
    let node = shadows_of_node(&mut client);
    assert_eq!((&node["kinds"]["same"], &node["unanswered"]), (&json!(0), &json!(0)), "{node}");
    assert_eq!(node["kinds"]["different-answer"], node["runs"], "{node}");
    let difference = &node["samples"][0]["differences"][0];
    assert_eq!(difference["subject"], "data.total", "{difference}");
    assert_eq!(shop.requests().len(), sent, "each message bought once");
    eventually(|| {
        rollout(&mut client)["canary"]["shadows"]["different"].as_u64().is_some_and(|runs| runs >= 3)
    });
    assert_eq!(order(&mut client, &json!({"state": "paused"})).status, 200);
    for _ in 0..5 {
        assert_eq!(client.json("POST", "/api/v1/data/w", &json!({})).unwrap().status, 200);
    }
    let compared = count_different(&mut client);
    assert!((3..=sent).contains(&compared), "{compared} of {sent}: a paused rollout has no shadows");
}

#[test]
fn write_of_shadow_alone_is_not_made() {
    let shop = Upstream::start(|_| UpstreamReply::new(200, json!({"ok": true}).to_string())).unwrap();
    let server = start();
    let mut client = server.client();
    add_shop(&mut client, &shop);
    serve_with(&mut client, "w", json!({}), json!([set_total(1)]));
    activate_shadow(&mut client, json!([call("buy", "POST", "/buy"), set_total(1)]));
    send_until_shadowed(&mut client, 2);
    let node = shadows_of_node(&mut client);
    assert_eq!((&node["kinds"]["new-call"], &node["unanswered"]), (&node["runs"], &node["runs"]), "{node}");
    assert!(shop.requests().is_empty(), "nothing was bought");
}

#[test]
fn callers_never_wait_for_slow_shadow() {
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let shop = Upstream::start(move |_| {
        // An end of the test lets it go on too.
        let _ended = released.lock().recv();
        UpstreamReply::new(200, json!({"ok": true}).to_string())
    })
    .unwrap();
    let server = launch().env("SVC_ENGINE__SHADOW_MAX_CONCURRENCY", "1").start().expect("the server starts");
    let mut client = server.client();
    add_shop(&mut client, &shop);
    serve_with(&mut client, "w", json!({}), json!([set_total(1)]));
    activate_shadow(&mut client, json!([call("stock", "GET", "/stock"), set_total(1)]));
    eventually(|| {
        let answer = client.json("POST", "/api/v1/data/w", &json!({})).unwrap();
        assert_eq!((answer.status, &answer.json()["data"]["total"]), (200, &json!(1)), "answered meanwhile");
        shadows_of_node(&mut client)["dropped"]["busy"].as_u64().is_some_and(|runs| runs > 0)
    });
    assert_eq!(shadows_of_node(&mut client)["runs"], 0, "its read has no answer yet");
    drop(release);
    eventually(|| shadows_of_node(&mut client)["runs"].as_u64().is_some_and(|runs| runs > 0));
    let shadows = shadows_of_node(&mut client);
    assert_eq!(shadows["kinds"]["new-call"], shadows["runs"]);
}

#[test]
fn differing_canary_is_rolled_back_by_comparison() {
    let server = start();
    let mut client = server.client();
    serve_with(&mut client, "w", json!({}), json!([set_total(1)]));
    draft(&mut client, Some(json!([set_total(2)])));
    let plan = json!({"status": "active", "steps": [50], "interval_secs": 10,
        "gate": {"min_runs": 30, "max_p99_ratio": 1000, "compare": 1, "max_difference_ratio": 0.1}});
    let answer = client.json("PATCH", &format!("{WORKFLOW}/status"), &plan).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let shown = send_until(&server, &mut client, "rolled_back");
    assert!(shown["canary"]["reason"].as_str().unwrap().contains("differ from"), "{shown}");
    assert!(shown["canary"]["figures"]["difference_ratio"].as_f64().unwrap() > 0.1, "{shown}");
}
