//! The requests of the transcript: a success of every endpoint, and each kind of refusal.

use serde_json::{Value, json};

use super::recorder::{Recorder, Shown};
use super::{KEY, READ_KEY};

const ADMIN: &str = "/api/v1/admin";
const NOBODY: &str = "0190a1b2-0000-7000-8000-000000000000";

/// Sends everything, in an order in which each request finds what it needs.
pub(super) fn record_everything(recorder: &mut Recorder) {
    operational(recorder);
    connectors(recorder);
    workflows(recorder);
    channels(recorder);
    data_plane(recorder);
    traces(recorder);
    recordings(recorder);
    schedules(recorder);
    bulk(recorder);
    consumers(recorder);
    webhooks(recorder);
    engine(recorder);
    lifecycle(recorder);
    refusals(recorder);
    deletions(recorder);
    recorder.send("GET", &format!("{ADMIN}/audit-logs?limit=3&action=create"), "");
    recorder.send("GET", &format!("{ADMIN}/audit-logs?resource_type=kafka_partition"), "");
    recorder.send("GET", &format!("{ADMIN}/whoami"), "");
}

fn operational(recorder: &mut Recorder) {
    recorder.send("GET", "/healthz", "");
    recorder.send("GET", "/readyz", "");
    recorder.read("/health", Shown::Head);
    recorder.send_as("GET", "/health", "", &[], Shown::Body);
    recorder.read("/metrics", Shown::Head);
    recorder.read("/api/v1/openapi.json", Shown::Head);
    recorder.read("/docs", Shown::Head);
    recorder.read("/docs/swagger-ui.css", Shown::Head);
    recorder.send("GET", "/docs/nothing.js", "");
}

fn connectors(recorder: &mut Recorder) {
    let base = format!("{ADMIN}/connectors");
    let crm = json!({"id": "crm", "name": "crm", "connector_type": "http", "tags": ["sales"],
        "config": {"url": "http://127.0.0.1:9", "auth": {"type": "bearer", "token": "hidden"}, "allow_private_urls": true}});
    recorder.send("POST", &format!("{base}?dry_run=true"), &crm.to_string());
    recorder.send("POST", &base, &crm.to_string());
    recorder.send("POST", &base, &crm.to_string());
    recorder.send("POST", &base, r#"{"name": "", "connector_type": "ftp", "colour": 1}"#);
    recorder.send("POST", &format!("{base}/validate"), r#"{"name": "x", "connector_type": "smtp", "config": {"host": "mail.example.com", "tls": "none", "from": "a@example.com"}}"#);
    recorder.send("POST", &format!("{base}/validate"), "{}");
    recorder.send("GET", &base, "");
    recorder.send("GET", &format!("{base}?tag=none&limit=5&offset=2&sort_by=name"), "");
    recorder.send("GET", &format!("{base}/crm"), "");
    recorder.send("PUT", &format!("{base}/crm?dry_run=true"), r#"{"tags": []}"#);
    recorder.send("PUT", &format!("{base}/crm"), r#"{"tags": ["sales", "eu"]}"#);
    recorder.send("PATCH", &format!("{base}/crm/status"), r#"{"status": "archived"}"#);
    recorder.send("PATCH", &format!("{base}/crm/status?reload=defer"), r#"{"status": "active"}"#);
    recorder.send("PATCH", &format!("{base}/crm/status?dry_run=true"), r#"{"status": "active"}"#);
    recorder.send("POST", &format!("{base}/crm/test"), "");
    recorder.send("GET", &format!("{base}/export"), "");
    let items = json!([{"name": "crm", "connector_type": "http", "config": {"url": "https://a.example.com"}},
        {"name": "other", "connector_type": "http", "config": {"url": "https://b.example.com"}}, {"name": 1}]);
    recorder.send("POST", &format!("{base}/import?dry_run=true&on_conflict=skip"), &items.to_string());
    recorder.send("POST", &format!("{base}/import?on_conflict=skip"), &items.to_string());
    recorder.send("POST", &format!("{base}/import"), r#"{"name": "crm"}"#);
    recorder.send("GET", &format!("{base}/circuit-breakers"), "");
}

fn workflows(recorder: &mut Recorder) {
    let base = format!("{ADMIN}/workflows");
    let greeting = json!({"workflow_id": "greeting", "name": "Greeting", "description": "Greets", "priority": 3,
        "condition": {"!=": [{"var": "data.name"}, ""]}, "tags": ["demo"], "continue_on_error": true,
        "tasks": [
            {"id": "take", "name": "Take", "function": {"name": "parse_json", "input": {"source": "payload", "target": "input"}}},
            {"id": "ask", "name": "Ask", "condition": {"==": [{"var": "data.input.ask"}, true]},
             "function": {"name": "http_call", "input": {"connector": "crm", "path": "/x", "timeout_ms": 500}}}]});
    recorder.send("POST", &format!("{base}?dry_run=true"), &greeting.to_string());
    recorder.send("POST", &base, &greeting.to_string());
    recorder.send("POST", &base, &greeting.to_string());
    recorder.send("POST", &base, r#"{"name": 1, "tasks": [], "conditon": true}"#);
    recorder.send("POST", &base, "[1]");
    recorder.send("POST", &format!("{base}/validate"), &greeting.to_string());
    recorder.send("POST", &format!("{base}/validate"), r#"{"tasks": [{}]}"#);
    let looping = json!({"workflow_id": "looping", "name": "Looping", "loop": {"max": 2},
        "tasks": [{"id": "boom", "name": "", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.x", "logic": {"throw": "no"}}]}}}]});
    recorder.send("POST", &base, &looping.to_string());
    recorder.send("GET", &base, "");
    let page = "status=active&tag=demo&limit=1&offset=0&sort_by=name&sort_order=asc";
    recorder.send("GET", &format!("{base}?{page}"), "");
    recorder.send("GET", &format!("{base}/greeting"), "");
    recorder.send("PUT", &format!("{base}/greeting?dry_run=true"), r#"{"priority": 4}"#);
    recorder.send("PUT", &format!("{base}/greeting"), r#"{"priority": 4, "description": null}"#);
    recorder.send("GET", &format!("{base}/export?tag=demo"), "");
    recorder.send("GET", &format!("{base}/greeting/dependencies"), "");
    recorder.send("GET", &format!("{base}/greeting/versions"), "");
    recorder.send("POST", &format!("{base}/greeting/test"), r#"{"data": {"name": "Ada"}}"#);
    let trial = r#"{"data": {"ask": true}, "metadata": {"a": 1}, "stubs": {"http_call": {"ok": true}}}"#;
    recorder.send("POST", &format!("{base}/greeting/test"), trial);
    recorder.send("POST", &format!("{base}/greeting/test"), r#"{"stubs": 1}"#);
    recorder.send("PATCH", &format!("{base}/greeting/status?dry_run=true"), r#"{"status": "active"}"#);
    recorder.send("PATCH", &format!("{base}/greeting/status"), r#"{"status": "active"}"#);
    recorder.send("PATCH", &format!("{base}/looping/status?reload=defer"), r#"{"status": "active"}"#);
    let items = json!([{"workflow_id": "imported", "name": "Imported", "tasks": [{"id": "a", "name": "A",
        "function": {"name": "log", "input": {"message": "x"}}}]}, {"workflow_id": "bad"}]);
    recorder.send("POST", &format!("{base}/import?dry_run=true"), &items.to_string());
    recorder.send("POST", &format!("{base}/import?on_conflict=new_version"), &items.to_string());
}

fn channels(recorder: &mut Recorder) {
    let base = format!("{ADMIN}/channels");
    let greetings = json!({"channel_id": "greetings", "name": "greetings", "channel_type": "sync", "protocol": "rest",
        "methods": ["GET", "POST", "PUT", "PATCH", "DELETE"], "route_pattern": "/greetings", "workflow_id": "greeting", "tags": ["demo"],
        "config": {"tracing": {"task_details": true}, "timeout_ms": 5000}});
    recorder.send("POST", &format!("{base}?dry_run=true"), &greetings.to_string());
    recorder.send("POST", &base, &greetings.to_string());
    recorder.send("POST", &base, &greetings.to_string());
    recorder.send(
        "POST",
        &base,
        r#"{"name": "x", "channel_type": "both", "protocol": "rest", "config": {"cash": {}}}"#,
    );
    recorder.send("POST", &format!("{base}/validate"), &greetings.to_string());
    let nightly = json!({"channel_id": "nightly", "name": "nightly", "channel_type": "async", "protocol": "cron",
        "workflow_id": "looping", "transport_config": {"schedule": "0 0 1 1 *", "concurrency": {"policy": "forbid"}}});
    recorder.send("POST", &format!("{base}/validate"), &nightly.to_string());
    recorder.send("POST", &base, &nightly.to_string());
    let closed = json!({"channel_id": "closed", "name": "closed", "channel_type": "async", "protocol": "rest",
        "methods": ["POST"], "route_pattern": "/closed", "workflow_id": "looping",
        "config": {"auth": {"mode": "api_key", "keys": ["open-sesame-open-sesame-open-sesame"]}}});
    recorder.send("POST", &base, &closed.to_string());
    recorder.send("GET", &format!("{base}?protocol=cron"), "");
    recorder.send("GET", &format!("{base}/closed"), "");
    recorder.send(
        "PUT",
        &format!("{base}/closed"),
        r#"{"description": "For members", "config": {"auth": {"mode": "api_key", "keys": ["******"]}}}"#,
    );
    recorder.send("GET", &format!("{base}/export?tag=demo"), "");
    recorder.send("GET", &format!("{base}/greetings/versions?limit=1"), "");
    for id in ["greetings", "closed", "nightly"] {
        recorder.send("PATCH", &format!("{base}/{id}/status?dry_run=true"), r#"{"status": "active"}"#);
        recorder.send("PATCH", &format!("{base}/{id}/status"), r#"{"status": "active"}"#);
    }
    let items = json!([{"channel_id": "greetings"}, {"channel_id": "imported", "name": "imported", "channel_type": "sync",
        "protocol": "rest", "methods": ["POST"], "route_pattern": "/imported"}]);
    recorder.send("POST", &format!("{base}/import"), &items.to_string());
}

fn data_plane(recorder: &mut Recorder) {
    let run = "/api/v1/data/greetings";
    for method in ["GET", "DELETE"] {
        recorder.send_as(method, run, "", &[], Shown::Body);
    }
    for method in ["POST", "PUT", "PATCH"] {
        recorder.send_as(method, run, r#"{"name": "Ada"}"#, &[], Shown::Body);
    }
    recorder.send_as("POST", run, r#"{"ask": true}"#, &[], Shown::Body);
    recorder.send_as("POST", run, "{", &[], Shown::Body);
    recorder.send_as("POST", run, "x", &[("content-type", "text/plain")], Shown::Body);
    recorder.send_as("POST", "/api/v1/data/nobody", "{}", &[], Shown::Body);
    recorder.send_as("POST", "/api/v1/data/closed", "{}", &[], Shown::Body);
    recorder.send_as("POST", "/api/v1/data/nightly", "{}", &[], Shown::Body);
    let member = [("authorization", "Bearer open-sesame-open-sesame-open-sesame")];
    recorder.send_as("POST", "/api/v1/data/closed", "{}", &member, Shown::Body);
}

fn traces(recorder: &mut Recorder) {
    let member = [("authorization", "Bearer open-sesame-open-sesame-open-sesame")];
    let failing = recorder.send_as("POST", "/api/v1/data/closed/async", "{}", &member, Shown::Body).json();
    let submitted =
        recorder.send_as("POST", "/api/v1/data/greetings/async", r#"{"n": 1}"#, &[], Shown::Body).json();
    for (receipt, status) in [(&submitted, "completed"), (&failing, "failed")] {
        let path = format!("{ADMIN}/traces/{}", text(receipt, "trace_id"));
        recorder.wait_for(&path, |trace| trace["data"]["status"] == status);
        recorder.send("GET", &path, "");
        recorder.send_as("GET", &path, "", &[("x-trace-token", text(receipt, "trace_token"))], Shown::Body);
        recorder.send_as("GET", &path, "", &[], Shown::Body);
    }
    let state = format!("/api/v1/data/greetings/async/{}", text(&submitted, "trace_id"));
    recorder.send_as("GET", &state, "", &[("x-trace-token", text(&submitted, "trace_token"))], Shown::Body);
    recorder.send_as("GET", &state, "", &[], Shown::Body);
    recorder.send("GET", &format!("{ADMIN}/traces?channel=closed&status=failed&include_total=true"), "");
    recorder.send("GET", &format!("{ADMIN}/traces?mode=async&status=completed&limit=1"), "");
    recorder.send("GET", &format!("{ADMIN}/traces?limit=many"), "");
    recorder.send("GET", &format!("{ADMIN}/traces?since=-1h&until=-2h"), "");
    recorder.send("GET", &format!("{ADMIN}/traces?error_grop=1"), "");
    recorder.send("GET", &format!("{ADMIN}/traces?cursor=a&offset=1"), "");
    let letters = format!("{ADMIN}/trace-dlq");
    recorder.wait_for(&letters, |page| page["total"] == 1);
    let page = recorder.send("GET", &format!("{letters}?channel=closed&exhausted=true"), "").json();
    let id = text(&page["data"][0], "id").to_owned();
    recorder.send("GET", &format!("{letters}/{id}"), "");
    recorder.send("GET", &format!("{ADMIN}/errors?channel=closed"), "");
    recorder.send("POST", &format!("{letters}/{id}/requeue?dry_run=true"), "");
    recorder.send("POST", &format!("{letters}/{id}/requeue"), "");
    recorder.send("POST", &format!("{letters}/purge?dry_run=true"), r#"{"older_than_hours": 1}"#);
    recorder.send("POST", &format!("{letters}/purge"), r#"{"older_than_hours": 1}"#);
    recorder.send("POST", &format!("{letters}/purge"), r#"{"older_than_hours": "1"}"#);
    cancels_and_reruns(recorder, text(&submitted, "trace_id"));
}

fn cancels_and_reruns(recorder: &mut Recorder, ended: &str) {
    let later = [("svc-delay", "1h")];
    let delayed =
        recorder.send_as("POST", "/api/v1/data/greetings/async", r#"{"n": 2}"#, &later, Shown::Body);
    let delayed = format!("{ADMIN}/traces/{}", text(&delayed.json(), "trace_id"));
    recorder.send("POST", &format!("{delayed}/cancel"), "");
    recorder.send("POST", &format!("{delayed}/cancel"), "");
    let rerun =
        recorder.send("POST", &format!("{ADMIN}/traces/{ended}/rerun"), r#"{"version": "same"}"#).json();
    let rerun = format!("{ADMIN}/traces/{}", text(&rerun["data"], "trace_id"));
    recorder.wait_for(&rerun, |trace| trace["data"]["status"] == "completed");
    recorder.send("POST", &format!("{delayed}/rerun"), r#"{"version": "latest"}"#);
}

fn schedules(recorder: &mut Recorder) {
    recorder.send("GET", &format!("{ADMIN}/cron/status"), "");
    let triggered = recorder.send("POST", &format!("{ADMIN}/channels/nightly/trigger"), "").json();
    let path = format!("{ADMIN}/cron/occurrences/{}", text(&triggered["data"], "id"));
    recorder.wait_for(&path, |occurrence| occurrence["data"]["status"] == "failed");
    recorder.send("GET", &path, "");
    recorder.send("GET", &format!("{ADMIN}/cron/occurrences?channel_id=nightly&status=failed&limit=1"), "");
    recorder.send("POST", &format!("{path}/cancel"), "");
    recorder.send("POST", &format!("{path}/retry"), "");
    recorder.wait_for(&path, |occurrence| occurrence["data"]["status"] == "failed");
    recorder.send("POST", &format!("{ADMIN}/channels/greetings/trigger"), "");
    pauses(recorder);
    explanations(recorder);
    guards(recorder);
    recorder.send("GET", &format!("{ADMIN}/cron/occurrences?since=yesterday"), "");
}

fn explanations(recorder: &mut Recorder) {
    let channels = format!("{ADMIN}/channels");
    recorder.send("GET", &format!("{channels}/nightly/why?at=2020-01-01T00:00:00Z"), "");
    recorder.send("GET", &format!("{channels}/greetings/why"), "");
    recorder.send("GET", &format!("{channels}/nothing/why"), "");
    recorder.send("GET", &format!("{channels}/nightly/why?at=yesterday"), "");
}

fn guards(recorder: &mut Recorder) {
    let channels = format!("{ADMIN}/channels");
    let request = r#"{"path": "/api/v1/data/greetings", "body": {"name": "Ada"}}"#;
    recorder.send("POST", &format!("{channels}/greetings/test"), request);
    recorder.send("POST", &format!("{channels}/greetings/test"), r#"{"path": "/api/v1/data/nothing"}"#);
    recorder.send("POST", &format!("{channels}/greetings/test"), r#"{"heders": {}}"#);
    recorder.send("POST", &format!("{channels}/nothing/test"), "{}");
    recorder.read(&format!("{channels}/greetings/stats"), Shown::Outline);
    recorder.send("GET", &format!("{channels}/nothing/stats"), "");
    recorder.send("GET", &format!("{channels}/greetings/quotas"), "");
    recorder.send("GET", &format!("{channels}/nothing/quotas"), "");
    let workflows = format!("{ADMIN}/workflows");
    recorder.read(&format!("{workflows}/greeting/rollout"), Shown::Outline);
    recorder.read(&format!("{workflows}/greeting/stats"), Shown::Outline);
    recorder.send("GET", &format!("{workflows}/greeting/stats?version=99"), "");
    for changed in ["workflows/greeting", "channels/greetings", "connectors/crm"] {
        recorder.read(&format!("{ADMIN}/{changed}/impact"), Shown::Head);
    }
    recorder.send("GET", &format!("{ADMIN}/connectors/nothing/impact"), "");
    recorder.read(&format!("{ADMIN}/connectors/crm/calls"), Shown::Outline);
    recorder.send("GET", &format!("{ADMIN}/connectors/nothing/calls"), "");
}

fn pauses(recorder: &mut Recorder) {
    let channels = format!("{ADMIN}/channels");
    recorder.send("POST", &format!("{channels}/greetings/pause"), r#"{"reason": "the greeter is down"}"#);
    recorder.send("POST", "/api/v1/data/greetings", r#"{"name": "Ada"}"#);
    recorder.send("POST", &format!("{channels}/greetings/pause"), r#"{"until": "2020-01-01T00:00:00Z"}"#);
    recorder.send("POST", &format!("{channels}/nothing/resume"), "");
    recorder.send("POST", &format!("{channels}/greetings/resume"), "");
    let filter = r#"{"filter": {"tag": "none"}, "reason": "the greeter is down"}"#;
    recorder.send("POST", &format!("{channels}/pause"), filter);
    recorder.send("POST", &format!("{channels}/pause"), r#"{"filter": {}, "reason": "x"}"#);
    recorder.send("POST", &format!("{channels}/resume"), r#"{"filter": {"tag": "none"}}"#);
}

fn recordings(recorder: &mut Recorder) {
    let base = format!("{ADMIN}/recordings");
    recorder.send("GET", &format!("{base}?channel=nothing&outcome=failed&limit=5"), "");
    recorder.send("GET", &format!("{base}/{NOBODY}"), "");
    let deletions = ["?run_key=none&dry_run=true", "?run_key=none", ""];
    deletions.iter().for_each(|query| drop(recorder.send("DELETE", &format!("{base}{query}"), "")));
    recorder.send("POST", &format!("{ADMIN}/workflows/nothing/backtest"), r#"{"limit": 0}"#);
    recorder.send("POST", &format!("{ADMIN}/channels/nothing/backtest"), r#"{"version": 1}"#);
    recorder.send("GET", &format!("{ADMIN}/backtests?limit=5"), "");
    recorder.send("GET", &format!("{ADMIN}/backtests/{NOBODY}"), "");
    recorder.send("POST", &format!("{ADMIN}/backtests/{NOBODY}/abort"), "");
}

fn bulk(recorder: &mut Recorder) {
    let runs = format!("{ADMIN}/bulk");
    let purge = r#"{"kind": "dead_letters", "action": "purge", "filter": {"channel": "nothing"}}"#;
    recorder.send("POST", &format!("{runs}?dry_run=true"), purge);
    let begun = recorder.send("POST", &runs, purge).json();
    let path = format!("{runs}/{}", text(&begun["data"], "id"));
    recorder.wait_for(&path, |run| run["data"]["state"] == "completed");
    recorder.send("GET", &path, "");
    recorder.send("POST", &format!("{path}/abort"), "");
    recorder.send("GET", &format!("{runs}?limit=1"), "");
    recorder.send("GET", &format!("{runs}/{NOBODY}"), "");
    recorder.send("POST", &runs, r#"{"kind": "dead_letters", "action": "purge", "filter": {}}"#);
    recorder.send("POST", &runs, r#"{"kind": "dead_letters", "action": "retry", "all": true}"#);
    let backfill = format!("{ADMIN}/channels/nightly/backfill");
    let day = r#"{"from": "2020-01-01T00:00:00Z", "until": "2020-01-02T00:00:00Z", "assume_missed": true}"#;
    recorder.send("POST", &format!("{backfill}?dry_run=true"), day);
    let begun = recorder.send("POST", &backfill, day).json();
    let path = format!("{runs}/{}", text(&begun["data"], "id"));
    recorder.wait_for(&path, |run| run["data"]["state"] == "completed");
    recorder.send("POST", &backfill, r#"{"from": "2020-01-02T00:00:00Z", "until": "2020-01-01T00:00:00Z"}"#);
}

fn consumers(recorder: &mut Recorder) {
    let base = format!("{ADMIN}/consumers");
    let acme = r#"{"name": "acme", "tags": ["gold"], "quota": {"limit": 100, "per": "day"}}"#;
    recorder.send("POST", &format!("{base}?dry_run=true"), acme);
    recorder.send("POST", &base, acme);
    recorder.send("POST", &base, acme);
    recorder.send("POST", &base, r#"{"name": "a/b", "tag": "gold"}"#);
    recorder.send("GET", &format!("{base}?tag=gold&limit=5"), "");
    recorder.send("GET", &format!("{base}/acme"), "");
    recorder.send(
        "PATCH",
        &format!("{base}/acme"),
        r#"{"quota": null, "expires_at": "2999-01-01T00:00:00Z"}"#,
    );
    recorder.send("PATCH", &format!("{base}/acme"), r#"{"quota": {"limit": 1, "per": "week"}}"#);
    let admin = [("x-api-key", KEY)];
    let keys = format!("{base}/acme/keys");
    let key = recorder.send_as("POST", &keys, r#"{"kind": "api_key"}"#, &admin, Shown::Outline).json();
    recorder.send("POST", &keys, r#"{"kind": "api-key"}"#);
    recorder.send("GET", &keys, "");
    recorder.send("DELETE", &format!("{keys}/{}", text(&key["data"], "id")), "");
    recorder.send("DELETE", &format!("{keys}/{NOBODY}"), "");
    recorder.send("DELETE", &format!("{base}/acme"), "");
    recorder.send("GET", &format!("{base}/acme"), "");
}

fn webhooks(recorder: &mut Recorder) {
    let base = format!("{ADMIN}/webhooks");
    let hooks = json!({"id": "hooks", "name": "hooks", "connector_type": "http",
        "config": {"url": "https://hooks.invalid", "allow_urls": ["https"]}});
    recorder.send("POST", &format!("{ADMIN}/connectors"), &hooks.to_string());
    recorder.send("POST", &format!("{ADMIN}/consumers"), r#"{"name": "initech"}"#);
    let admin = [("x-api-key", KEY)];
    let keys = format!("{ADMIN}/consumers/initech/keys");
    let key = recorder.send_as("POST", &keys, r#"{"kind": "api_key"}"#, &admin, Shown::Outline).json();
    // A name that is never resolved: nobody echoes its challenge.
    let new = r#"{"url": "https://hooks.invalid/in", "consumer": "initech", "topics": ["order.paid"], "connector": "hooks"}"#;
    recorder.send("POST", &format!("{base}?dry_run=true"), new);
    let created = recorder.send_as("POST", &base, new, &admin, Shown::Outline).json();
    recorder.send("POST", &base, r#"{"url": "http://a.example", "topics": ["*"], "connector": "hooks"}"#);
    recorder.send("POST", &base, r#"{"url": "https://a.example", "topics": ["*"], "connector": "hook"}"#);
    let one = format!("{base}/{}", text(&created["data"], "id"));
    recorder.send("GET", &format!("{base}?state=unverified&consumer=initech"), "");
    recorder.send("GET", &one, "");
    recorder.send("PATCH", &one, r#"{"topics": ["order.paid", "order.sent"]}"#);
    recorder.send("POST", &format!("{one}/test"), "");
    recorder.send("POST", &format!("{one}/enable"), "");
    recorder.send("POST", &format!("{one}/enable"), r#"{"verify": false}"#);
    recorder.send_as("POST", &format!("{one}/rotate"), r#"{"overlap_secs": 60}"#, &admin, Shown::Outline);
    recorder.send_as("POST", &format!("{one}/test"), "", &admin, Shown::Outline);
    recorder.read(&format!("{one}/attempts"), Shown::Outline);
    recorder.send("GET", &format!("{one}/deliveries?state=failed"), "");
    recorder.send(
        "POST",
        &format!("{one}/replay"),
        r#"{"since": "2026-01-01T00:00:00Z", "failed_only": true}"#,
    );
    own_webhooks(recorder, text(&created["data"], "id"), text(&key["data"], "secret"));
    recorder.send("DELETE", &one, "");
    recorder.send("GET", &one, "");
    recorder.send("DELETE", &format!("{ADMIN}/consumers/initech"), "");
    recorder.send("DELETE", &format!("{ADMIN}/connectors/hooks"), "");
}

/// The requests of a consumer under its own key.
fn own_webhooks(recorder: &mut Recorder, id: &str, key: &str) {
    let base = "/api/v1/data/webhooks";
    let own = [("x-api-key", key)];
    recorder.send_as("GET", base, "", &own, Shown::Body);
    recorder.send_as("GET", base, "", &[], Shown::Body);
    recorder.send_as("GET", &format!("{base}?colour=red"), "", &own, Shown::Body);
    recorder.send_as("GET", &format!("{base}/{id}/attempts"), "", &own, Shown::Outline);
    recorder.send_as("GET", &format!("{base}/{NOBODY}/attempts"), "", &own, Shown::Body);
    recorder.send_as("POST", &format!("{base}/{id}/test"), "", &own, Shown::Outline);
    let since = r#"{"since": "2026-01-01T00:00:00Z"}"#;
    recorder.send_as("POST", &format!("{base}/{id}/replay"), since, &own, Shown::Body);
}

fn engine(recorder: &mut Recorder) {
    recorder.send("GET", &format!("{ADMIN}/engine/status"), "");
    recorder.send("POST", &format!("{ADMIN}/engine/reload"), "");
    recorder.send("POST", &format!("{ADMIN}/engine/reload?dry_run=true"), "");
    recorder.send("POST", &format!("{ADMIN}/cache/invalidate"), r#"{"namespaces": ["catalogue"]}"#);
    recorder.send("POST", &format!("{ADMIN}/cache/invalidate"), r#"{"namespaces": []}"#);
    recorder.read(&format!("{ADMIN}/nodes"), Shown::Head);
    recorder.read(&format!("{ADMIN}/live?once=true"), Shown::Head);
    recorder.read(&format!("{ADMIN}/config"), Shown::Outline);
    recorder.read(&format!("{ADMIN}/errors/recent"), Shown::Head);
    recorder.send("GET", &format!("{ADMIN}/kafka/partitions"), "");
    recorder.send("POST", &format!("{ADMIN}/kafka/partitions/orders/0/skip"), "");
    recorder.read(&format!("{ADMIN}/actors"), Shown::Outline);
    recorder.send_as(
        "POST",
        &format!("{ADMIN}/actors/housekeeping/restart"),
        "",
        &[("x-api-key", KEY)],
        Shown::Outline,
    );
    recorder.send("POST", &format!("{ADMIN}/actors/nothing/restart"), "");
    recorder.send("POST", &format!("{ADMIN}/actors/nothing/restart?node=another"), "");
    recorder.send("POST", &format!("{ADMIN}/nodes/drain"), "");
    recorder.send("POST", &format!("{ADMIN}/nodes/drain?node=another"), "");
    recorder.send("GET", &format!("{ADMIN}/functions"), "");
    recorder.read(&format!("{ADMIN}/functions?all=true"), Shown::Outline);
    recorder.read(&format!("{ADMIN}/functions/operators"), Shown::Outline);
    recorder.read(&format!("{ADMIN}/schemas/workflow"), Shown::Outline);
    recorder.send("GET", &format!("{ADMIN}/schemas/none"), "");
    // Calls that fail open the breaker of the channel.
    for _ in 0..6 {
        recorder.send_as("POST", "/api/v1/data/greetings", r#"{"ask": true}"#, &[], Shown::Head);
    }
    recorder.send("GET", &format!("{ADMIN}/connectors/circuit-breakers"), "");
    recorder.send("POST", &format!("{ADMIN}/connectors/circuit-breakers/greetings:crm"), "");
    recorder.send("POST", &format!("{ADMIN}/connectors/circuit-breakers/no:body"), "");
}

fn lifecycle(recorder: &mut Recorder) {
    for (kind, id) in [("workflows", "greeting"), ("channels", "greetings")] {
        let path = format!("{ADMIN}/{kind}/{id}");
        recorder.send("POST", &format!("{path}/versions?dry_run=true"), "");
        recorder.send("POST", &format!("{path}/versions"), r#"{"from_version": 1}"#);
        recorder.send("POST", &format!("{path}/versions"), "");
        recorder.send("PUT", &path, r#"{"description": "Second"}"#);
        let share = if kind == "workflows" {
            r#"{"status": "active", "rollout_percentage": 20}"#
        } else {
            r#"{"status": "active"}"#
        };
        recorder.send("PATCH", &format!("{path}/status"), share);
        if kind == "workflows" {
            recorder.send("PATCH", &format!("{path}/rollout?dry_run=true"), r#"{"rollout_percentage": 50}"#);
            recorder.send("PATCH", &format!("{path}/rollout"), r#"{"rollout_percentage": 50}"#);
            recorder.send("PATCH", &format!("{path}/rollout"), r#"{"rollout_percentage": "all"}"#);
            recorder.send("PATCH", &format!("{path}/rollout"), r#"{"rollout_percentage": 100}"#);
        }
        recorder.send("POST", &format!("{path}/rollback?dry_run=true"), "");
        recorder.send("POST", &format!("{path}/rollback"), r#"{"to_version": 1}"#);
        recorder.send("POST", &format!("{path}/rollback"), r#"{"to_versoin": 1}"#);
        recorder.send("GET", &format!("{path}/versions"), "");
    }
}

fn refusals(recorder: &mut Recorder) {
    for path in ["workflows/no", "channels/no", "connectors/no"] {
        recorder.send("GET", &format!("{ADMIN}/{path}"), "");
        recorder.send("PUT", &format!("{ADMIN}/{path}"), "{}");
        recorder.send("DELETE", &format!("{ADMIN}/{path}"), "");
        recorder.send("PATCH", &format!("{ADMIN}/{path}/status"), r#"{"status": "active"}"#);
    }
    for path in ["traces", "trace-dlq", "cron/occurrences"] {
        recorder.send("GET", &format!("{ADMIN}/{path}/{NOBODY}"), "");
    }
    recorder.send("PATCH", &format!("{ADMIN}/workflows/greeting/status"), r#"{"status": "draft"}"#);
    recorder.send("GET", &format!("{ADMIN}/workflows?stauts=active"), "");
    recorder.send("POST", &format!("{ADMIN}/workflows?dry_run=maybe"), "{}");
    let old = [("x-api-key", KEY), ("if-match", "\"old\"")];
    recorder.send_as("PUT", &format!("{ADMIN}/connectors/crm"), "{}", &old, Shown::Body);
    let text = [("x-api-key", KEY), ("content-type", "text/plain")];
    recorder.send_as("POST", &format!("{ADMIN}/workflows"), "{}", &text, Shown::Body);
    recorder.send_without_right("POST", &format!("{ADMIN}/engine/reload"));
    recorder.send_as("GET", &format!("{ADMIN}/engine/status"), "", &[], Shown::Body);
    recorder.send_as(
        "GET",
        &format!("{ADMIN}/engine/status"),
        "",
        &[("x-api-key", READ_KEY)],
        Shown::Outline,
    );
}

fn deletions(recorder: &mut Recorder) {
    recorder.send("DELETE", &format!("{ADMIN}/workflows/greeting"), "");
    recorder.send("DELETE", &format!("{ADMIN}/channels/greetings?dry_run=true"), "");
    recorder.send("DELETE", &format!("{ADMIN}/channels/greetings"), "");
    recorder.send("DELETE", &format!("{ADMIN}/workflows/greeting?force=true"), "");
    recorder.send("DELETE", &format!("{ADMIN}/connectors/crm?dry_run=true"), "");
    recorder.send("DELETE", &format!("{ADMIN}/connectors/crm"), "");
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("no {key}: {value}"))
}
