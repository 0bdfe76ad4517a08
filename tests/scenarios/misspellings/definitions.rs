//! Four definitions as applications have them, each with twenty names misspelt, one at a time.

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;

use crate::support::start;

/// A misspelling: the place of the key (`w` of the workflow, `c` of the channel; after `=` the place of a
/// value), what is written, and what was meant.
type Slip = (&'static str, &'static str, &'static str);

pub(super) fn webhook() -> (Value, Value) {
    let workflow = json!({"workflow_id": "payments", "name": "Payments", "priority": 1, "tags": ["money"],
        "condition": {"==": [{"var": "metadata.http_method"}, "POST"]}, "tasks": [
        {"id": "read", "name": "Read", "function": {"name": "parse_json", "input": {"source": "payload", "target": "event"}}},
        {"id": "ignored", "condition": {"!": [{"in": [{"var": "data.event.type"}, ["paid", "refunded"]]}]}, "terminal": true,
            "tasks": [{"id": "skip", "name": "Skip", "function": {"name": "map", "input": {"mappings": [
                {"path": "data.outcome", "logic": "ignored"}]}}}]},
        {"id": "check", "name": "Check", "function": {"name": "validation", "input": {"rules": [
            {"logic": {"and": [{">": [{"var": "data.event.amount"}, 0]}, {"exists": ["data", "event", "id"]}]}, "message": "bad"}]}}},
        {"id": "store", "name": "Store", "continue_on_error": true, "function": {"name": "db_write", "input": {
            "connector": "payments", "query": "INSERT INTO p VALUES (?)", "params": [{"var": "data.event.id"}],
            "output": "data.stored"}}}]});
    let channel = json!({"channel_id": "stripe", "name": "stripe", "channel_type": "sync", "protocol": "rest",
        "methods": ["POST"], "route_pattern": "/stripe", "workflow_id": "payments", "config": {
            "auth": {"mode": "hmac", "preset": "stripe", "secret": "whsec-0123456789"},
            "request": {"body_mode": "payload"},
            "deduplication": {"header": "x-event-id", "window_secs": 60},
            "validation_logic": {"!!": [{"var": "data.id"}]}}});
    (workflow, channel)
}

const WEBHOOK: [Slip; 20] = [
    ("w/condition", "conditon", "condition"),
    ("w/condition/==", "=", "=="),
    ("w/priority", "prioritiy", "priority"),
    ("w/tasks/0/function", "fucntion", "function"),
    ("=w/tasks/0/function/name", "parse_jsn", "parse_json"),
    ("w/tasks/0/function/input/source", "sorce", "source"),
    ("=w/tasks/0/function/input/source", "paylod", "payload"),
    ("w/tasks/1/terminal", "terminl", "terminal"),
    ("w/tasks/1/condition/!/0/in", "inn", "in"),
    ("w/tasks/1/tasks/0/function/input/mappings", "mapings", "mappings"),
    ("=w/tasks/1/tasks/0/function/input/mappings/0/path", "dta.outcome", "data.outcome"),
    ("w/tasks/2/function/input/rules/0/logic/and", "adn", "and"),
    ("w/tasks/2/function/input/rules/0/logic/and/1/exists", "exist", "exists"),
    ("w/tasks/3/continue_on_error", "continueOnError", "continue_on_error"),
    ("w/tasks/3/function/input/params", "parms", "params"),
    ("c/config", "confg", "config"),
    ("c/config/auth", "auht", "auth"),
    ("c/config/auth/secret", "secrt", "secret"),
    ("c/config/deduplication/window_secs", "window", "window_secs"),
    ("c/config/validation_logic/!!", "!!!", "!!"),
];

pub(super) fn rest() -> (Value, Value) {
    let workflow = json!({"workflow_id": "orders", "name": "Orders", "description": "Lists orders", "tasks": [
        {"id": "known", "name": "Known", "function": {"name": "cache_read", "input": {"connector": "cache",
            "key": {"var": "metadata.query.page"}, "output": "temp_data.hit"}}},
        {"id": "miss", "condition": {"==": [{"var": "temp_data.hit"}, null]}, "tasks": [
            {"id": "list", "name": "List", "function": {"name": "data_query", "input": {"connector": "shop",
                "query": {"source": "orders", "filter": {"==": [{"field": "status"}, "open"]}, "limit": 10}, "output": "data.orders"}}},
            {"id": "keep", "name": "Keep", "function": {"name": "cache_write", "input": {"connector": "cache",
                "key": {"var": "metadata.query.page"}, "value": {"var": "data.orders"}, "ttl_secs": 60}}}]},
        {"id": "stop", "name": "Stop", "function": {"name": "filter", "input": {
            "condition": {"or": [{"some": [{"var": "data.orders"}, {">=": [{"var": "total"}, 0]}]}, {"!!": [{"var": "temp_data.hit"}]}]},
            "on_reject": "skip"}}}]});
    let channel = json!({"channel_id": "orders", "name": "orders", "channel_type": "sync", "protocol": "rest",
        "methods": ["GET"], "route_pattern": "/orders", "workflow_id": "orders", "priority": 2, "config": {
            "auth": {"mode": "jwt", "algorithms": ["HS256"], "jwt_keys": [{"algorithm": "HS256",
                "key": "0123456789abcdef0123456789abcdef"}], "authorization_logic": {"in": ["orders", {"var": "claims.scope"}]}},
            "principal_rate_limit": {"requests_per_second": 5, "key_logic": {"cat": [{"var": "auth.claims.sub"}]}},
            "cache": {"enabled": true, "ttl_secs": 30, "per_principal": true},
            "tracing": {"mode": "sync", "errors_only": true}}});
    (workflow, channel)
}

const REST: [Slip; 20] = [
    ("w/description", "descripton", "description"),
    ("w/tasks/0/function/input/connector", "conector", "connector"),
    ("w/tasks/0/function/input/output", "ouput", "output"),
    ("=w/tasks/0/function/input/output", "tmp_data.hit", "temp_data.hit"),
    ("w/tasks/1/tasks", "taks", "tasks"),
    ("w/tasks/1/condition/==", "equals", "=="),
    ("w/tasks/1/tasks/0/function/input/query/source", "souce", "source"),
    ("w/tasks/1/tasks/0/function/input/query/limit", "limt", "limit"),
    ("w/tasks/1/tasks/1/function/input/ttl_secs", "ttl", "ttl_secs"),
    ("w/tasks/2/function/input/on_reject", "on_rejct", "on_reject"),
    ("=w/tasks/2/function/input/on_reject", "skp", "skip"),
    ("w/tasks/2/function/input/condition/or/0/some", "any", "some"),
    ("w/tasks/2/function/input/condition/or/0/some/1/>=", "=>", ">="),
    ("c/methods", "method", "methods"),
    ("=c/protocol", "resst", "rest"),
    ("c/config/auth/authorization_logic", "authorisation_logic", "authorization_logic"),
    ("c/config/auth/authorization_logic/in", "contains", "in"),
    ("c/config/auth/jwt_keys/0/key", "ky", "key"),
    ("c/config/principal_rate_limit/requests_per_second", "request_per_second", "requests_per_second"),
    ("c/config/principal_rate_limit/key_logic/cat", "concat", "cat"),
];

pub(super) fn nightly() -> (Value, Value) {
    let workflow = json!({"workflow_id": "report", "name": "Report", "continue_on_error": true,
        "loop": {"counter": "page", "init": 0, "increment": 1, "max": 3}, "tasks": [
        {"id": "read", "name": "Read", "description": "Sales", "function": {"name": "db_read", "input": {"connector": "warehouse",
            "query": "SELECT 1", "params": [{"var": "temp_data.page"}], "output": "data.rows"}}},
        {"id": "sum", "name": "Sum", "function": {"name": "map", "input": {"mappings": [{"path": "data.total",
            "logic": {"reduce": [{"var": "data.rows"}, {"+": [{"var": "accumulator"}, {"var": "current.amount"}]}, 0]}}]}}},
        {"id": "say", "name": "Say", "function": {"name": "log", "input": {"level": "info", "message": {"cat": ["total ",
            {"var": "data.total"}]}}}},
        {"id": "mail", "name": "Mail", "condition": {">": [{"var": "data.total"}, 0]}, "function": {"name": "send_email", "input": {
            "connector": "mail", "to": "a@example.com", "subject": "Report", "text": "See data", "output": "data.sent"}}}]});
    let channel = json!({"channel_id": "nightly", "name": "nightly", "channel_type": "async", "protocol": "cron",
        "workflow_id": "report", "tags": ["reports"], "transport_config": {"schedule": "0 0 3 * * *",
            "timezone": "Europe/Berlin", "misfire_policy": "latest", "payload": {"span": "day"},
            "concurrency": {"policy": "forbid", "key": "report"}},
        "config": {"timeout_ms": 60000, "backpressure": {"max_concurrent_per_node": 1}, "tracing": {"sample_rate": 1.0}}});
    (workflow, channel)
}

const NIGHTLY: [Slip; 20] = [
    ("w/continue_on_error", "continue_on_errors", "continue_on_error"),
    ("w/loop", "lop", "loop"),
    ("w/loop/counter", "conter", "counter"),
    ("w/loop/increment", "inc", "increment"),
    ("w/tasks/0/description", "desc", "description"),
    ("w/tasks/0/function/name", "nme", "name"),
    ("=w/tasks/0/function/name", "db_reed", "db_read"),
    ("w/tasks/0/function/input/query", "qurey", "query"),
    ("w/tasks/1/function/input", "inputs", "input"),
    ("=w/tasks/1/function/input/mappings/0/path", "total", "data.total"),
    ("w/tasks/1/function/input/mappings/0/logic", "logc", "logic"),
    ("w/tasks/2/function/input/message", "mesage", "message"),
    ("=w/tasks/2/function/input/level", "inf", "info"),
    ("w/tasks/3/condition/>", "gt", ">"),
    ("w/tasks/3/function/input/subject", "subjct", "subject"),
    ("c/transport_config", "transport", "transport_config"),
    ("c/transport_config/schedule", "shedule", "schedule"),
    ("c/transport_config/concurrency/policy", "polcy", "policy"),
    ("c/config/timeout_ms", "timeout", "timeout_ms"),
    ("c/config/backpressure/max_concurrent_per_node", "max_concurrent", "max_concurrent_per_node"),
];

pub(super) fn pipeline() -> (Value, Value) {
    let workflow = json!({"workflow_id": "pipeline", "name": "Pipeline", "tasks": [
        {"id": "sign", "name": "Sign", "function": {"name": "crypto", "input": {"op": "hmac", "data": {"var": "payload.id"},
            "key": "0123456789abcdef", "encoding": "hex", "output": "data.signature"}}},
        {"id": "ask", "name": "Ask", "function": {"name": "channel_call", "input": {"channel": "stock",
            "data_logic": {"id": {"var": "payload.id"}, "lines": {"map": [{"var": "payload.lines"}, {"var": "sku"}]}},
            "response_path": "data.stock", "timeout_ms": 500}}},
        {"id": "sold", "condition": {"and": [{"<=": [{"var": "data.stock.left"}, 0]}, {"!": [{"var": "payload.backorder"}]}]},
            "terminal": true, "tasks": [{"id": "tell", "name": "Tell", "function": {"name": "http_call", "input": {
                "connector": "shop", "method": "POST", "path": "/sold-out", "body_logic": {"var": "data.stock"},
                "response_format": "json", "output": "data.told"}}}]},
        {"id": "emit", "name": "Emit", "terminal": false, "function": {"name": "publish_kafka", "input": {"connector": "events",
            "topic": "orders", "key_logic": {"var": "payload.id"}, "value_logic": {"var": "data"}}}}]});
    let channel = json!({"channel_id": "pipeline", "name": "pipeline", "description": "Orders", "channel_type": "async",
        "protocol": "http", "methods": ["POST"], "route_pattern": "/pipeline", "workflow_id": "pipeline", "config": {
            "rate_limit": {"requests_per_second": 50, "burst": 10, "key_logic": {"var": "client_ip"}, "on_backend_error": "deny"},
            "response": {"mode": "shaped", "error_bodies": {"default": {"body": "{\"error\": \"{code}\"}"}}},
            "validation_logic": {"and": [{"!!": [{"var": "data.id"}]}, {">": [{"length": {"var": "data.lines"}}, 0]}]}}});
    (workflow, channel)
}

const PIPELINE: [Slip; 20] = [
    ("=w/tasks/0/function/input/op", "hmacc", "hmac"),
    ("w/tasks/0/function/input/encoding", "encodng", "encoding"),
    ("=w/tasks/0/function/input/encoding", "hx", "hex"),
    ("=w/tasks/1/function/name", "chanel_call", "channel_call"),
    ("w/tasks/1/function/input/data_logic", "data_logik", "data_logic"),
    ("w/tasks/1/function/input/response_path", "respons_path", "response_path"),
    ("w/tasks/1/function/input/timeout_ms", "timeoutMs", "timeout_ms"),
    ("w/tasks/2/condition/and/0/<=", "lte", "<="),
    ("w/tasks/2/condition/and/1/!", "not", "!"),
    ("w/tasks/2/tasks/0/id", "idd", "id"),
    ("=w/tasks/2/tasks/0/function/input/method", "PSOT", "POST"),
    ("w/tasks/2/tasks/0/function/input/body_logic", "body_logc", "body_logic"),
    ("w/tasks/3/terminal", "termnal", "terminal"),
    ("w/tasks/3/function/input/topic", "topc", "topic"),
    ("w/tasks/3/function/input/value_logic", "val_logic", "value_logic"),
    ("c/route_pattern", "route", "route_pattern"),
    ("c/config/rate_limit/burst", "brust", "burst"),
    ("=c/config/rate_limit/on_backend_error", "deney", "deny"),
    ("c/config/response/error_bodies", "error_body", "error_bodies"),
    ("c/config/validation_logic/and/1/>/0/length", "len", "length"),
];

/// Writes one name another way.
fn slip(workflow: &mut Value, channel: &mut Value, place: &str, wrong: &str) -> &'static str {
    let (value, place) = place.strip_prefix('=').map_or((false, place), |place| (true, place));
    let (document, pointer) = place.split_at(1);
    let (document, kind) = if document == "w" { (workflow, "workflows") } else { (channel, "channels") };
    if value {
        *document.pointer_mut(pointer).unwrap_or_else(|| panic!("{place}")) = json!(wrong);
        return kind;
    }
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let object =
        document.pointer_mut(parent).and_then(Value::as_object_mut).unwrap_or_else(|| panic!("{place}"));
    let value = object.remove(key).unwrap_or_else(|| panic!("{place}"));
    object.insert(wrong.to_owned(), value);
    kind
}

/// Returns true if one of the details of a refusal names what was meant.
fn names(refused: &Value, meant: &str) -> bool {
    let details = refused["error"]["details"].as_array().cloned().unwrap_or_default();
    details.iter().any(|detail| {
        let message = detail["message"].as_str().unwrap_or_default();
        let names_it = message.contains(&format!("did you mean '{meant}'?"))
            || message.contains(&format!("\"{meant}\"?"));
        let among = detail["expected"].as_array().is_some_and(|list| list.iter().any(|one| one == meant));
        names_it || detail["expected"] == meant || among || message.contains(&format!(" {meant},"))
    })
}

fn refused_everywhere(client: &mut HttpClient, made: fn() -> (Value, Value), slips: &[Slip]) {
    let mut silent = Vec::new();
    for (place, wrong, meant) in slips {
        let (mut workflow, mut channel) = made();
        let kind = slip(&mut workflow, &mut channel, place, wrong);
        let document = if kind == "workflows" { &workflow } else { &channel };
        let answer = client.json("POST", &format!("/api/v1/admin/{kind}"), document).unwrap();
        if answer.status != 400 || !names(&answer.json(), meant) {
            silent.push(format!("{place} as {wrong}: {} {}", answer.status, answer.text()));
        }
    }
    assert!(silent.is_empty(), "{silent:#?}");
    let (workflow, channel) = made();
    for (kind, document) in [("workflows", workflow), ("channels", channel)] {
        let answer = client.json("POST", &format!("/api/v1/admin/{kind}"), &document).unwrap();
        assert_eq!(answer.status, 201, "{}", answer.text());
    }
}

#[test]
fn misspelt_webhook_is_refused_with_intended_name() {
    refused_everywhere(&mut start().client(), webhook, &WEBHOOK);
}

#[test]
fn misspelt_rest_api_is_refused_with_suggestion() {
    refused_everywhere(&mut start().client(), rest, &REST);
}

#[test]
fn misspelt_nightly_report_is_refused_with_suggestion() {
    refused_everywhere(&mut start().client(), nightly, &NIGHTLY);
}

#[test]
fn misspelt_pipeline_is_refused_with_intended_name() {
    refused_everywhere(&mut start().client(), pipeline, &PIPELINE);
}
