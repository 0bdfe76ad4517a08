//! Workflows that call other channels.

use serde_json::{Value, json};
use svc_testkit::canary::Canaries;
use svc_testkit::example::create_and_activate;
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::server::ServerProcess;

use crate::support::{channel, echo, error, launch, serve, serve_with, start, wait_until_stable};

const ADMIN: &str = "/api/v1/admin";

/// A task that calls a channel and keeps its data.
fn call(channel: &str) -> Value {
    json!({"id": "call", "name": "Call", "function": {"name": "channel_call",
        "input": {"channel": channel, "output": "data.got"}}})
}

/// A task that copies from the message into the answer.
fn copy(from: &str, to: &str) -> Value {
    json!({"id": to, "name": to, "function": {"name": "map",
        "input": {"mappings": [{"path": to, "logic": {"var": from}}]}}})
}

fn post(client: &mut HttpClient, channel: &str, payload: &Value) -> HttpResponse {
    client.json("POST", &format!("/api/v1/data/{channel}"), payload).unwrap()
}

/// Submits a payload and returns the trace of its run when it has ended.
fn submit(client: &mut HttpClient, channel: &str, payload: &Value) -> Value {
    let accepted = post(client, &format!("{channel}/async"), payload).json();
    let (id, token) = (accepted["trace_id"].as_str().unwrap(), accepted["trace_token"].as_str().unwrap());
    let path = format!("{ADMIN}/traces/{id}");
    wait_until_stable(|| {
        client.send("GET", &path, &[("x-trace-token", token)], b"").unwrap().json()["data"].clone()
    })
}

/// Channels `c1` to the last, each of which calls the next; the last takes the payload.
fn chain(client: &mut HttpClient, last: usize) {
    echo(client, &format!("c{last}"), json!({}));
    for n in (1..last).rev() {
        serve(client, &format!("c{n}"), json!([call(&format!("c{}", n + 1))]));
    }
}

#[test]
fn chain_of_five_answers_and_counts_each_message() {
    let server = launch().env("SVC_METRICS__ENABLED", "true").start().unwrap();
    let mut client = server.client();
    chain(&mut client, 5);
    let answer = post(&mut client, "c1", &json!({"n": 7}));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["data"], json!({"got": {"got": {"got": {"got": {"input": {"n": 7}}}}}}));
    let page = client.get("/metrics").unwrap().text();
    for n in 1..=5 {
        let series = format!(r#"svc_messages_total{{channel="c{n}",status="ok"}} 1"#);
        assert!(page.contains(&series), "{series}");
    }
    assert!(page.contains(r#"function="channel_call""#));
    let traces = client.get(&format!("{ADMIN}/traces?include_total=true")).unwrap().json();
    assert_eq!(traces["total"], 1, "a call leaves no trace of its own");
}

#[test]
fn a_submission_calls_when_it_runs() {
    let server = start();
    let mut client = server.client();
    chain(&mut client, 2);
    let trace = submit(&mut client, "c1", &json!({"n": 1}));
    assert_eq!(trace["message"]["context"]["data"], json!({"got": {"input": {"n": 1}}}), "{trace}");
}

#[test]
fn long_chains_and_circles_are_refused_by_name() {
    let server = launch().env("SVC_ENGINE__MAX_CHANNEL_CALL_DEPTH", "2").start().unwrap();
    let mut client = server.client();
    chain(&mut client, 4);
    let refused = error(&post(&mut client, "c1", &json!({})), 400, "VALIDATION_ERROR");
    let named = "more than 2 in a row: c1 -> c2 -> c3 -> c4";
    assert!(refused["message"].as_str().unwrap().ends_with(named), "{refused}");
    assert_eq!(post(&mut client, "c2", &json!({})).status, 200, "from the next one it is short enough");
    serve(&mut client, "ping", json!([call("pong")]));
    serve(&mut client, "pong", json!([call("ping")]));
    let refused = error(&post(&mut client, "ping", &json!({})), 400, "VALIDATION_ERROR");
    assert!(refused["message"].as_str().unwrap().ends_with("ping -> pong -> ping"), "{refused}");
}

#[test]
fn call_skips_credentials_but_meets_target_limits() {
    let server = start();
    let mut client = server.client();
    let closed = json!({
        "auth": {"mode": "api_key", "keys": ["k"]},
        "rate_limit": {"requests_per_second": 1, "burst": 2},
        "validation_logic": {"!": {"var": "data.bad"}},
    });
    echo(&mut client, "closed", closed);
    serve(&mut client, "front", json!([call("closed")]));
    serve(&mut client, "side", json!([call("closed")]));
    error(&post(&mut client, "closed", &json!({})), 401, "UNAUTHORIZED");
    assert_eq!(post(&mut client, "front", &json!({})).status, 200);
    let refused = error(&post(&mut client, "front", &json!({"bad": 1})), 400, "VALIDATION_ERROR");
    assert!(refused["message"].as_str().unwrap().contains("'closed'"), "{refused}");
    let mut answers = Vec::new();
    while answers.last().is_none_or(|answer: &HttpResponse| answer.status == 200) {
        assert!(answers.len() < 10_000, "the limit never met a caller");
        answers.push(post(&mut client, "front", &json!({})));
    }
    let limited = answers.pop().unwrap();
    error(&limited, 429, "RATE_LIMITED");
    assert_eq!(limited.header("retry-after"), Some("1"));
    assert_eq!(post(&mut client, "side", &json!({})).status, 200, "another channel is another caller");
}

#[test]
fn failed_call_fails_its_task_unless_tolerated() {
    let server = launch().env("SVC_VERBOSE_ERRORS", "true").start().unwrap();
    let mut client = server.client();
    let rule = json!({"rules": [{"logic": {"var": "payload.ok"}, "message": "not ok"}]});
    let source = json!({"source": "none", "target": "x"});
    serve(
        &mut client,
        "strict",
        json!([{"id": "check", "name": "", "function": {"name": "validation", "input": rule}}]),
    );
    serve(
        &mut client,
        "broken",
        json!([{"id": "write", "name": "", "function": {"name": "publish_json", "input": source}}]),
    );
    for (target, place) in
        [("strict", "task 'check': not ok"), ("broken", "task 'write'"), ("nobody", "'nobody'")]
    {
        serve(&mut client, &format!("hard-{target}"), json!([call(target)]));
        let mut soft = call(target);
        soft["continue_on_error"] = json!(true);
        let tolerant = json!([soft, copy("metadata._svc_errors.0", "data.failed")]);
        serve(&mut client, &format!("soft-{target}"), tolerant);
        let failed = post(&mut client, &format!("hard-{target}"), &json!({}));
        match target {
            "nobody" => drop(error(&failed, 500, "ENGINE_ERROR")),
            _ => {
                assert!(error(&failed, 400, "VALIDATION_ERROR")["message"].as_str().unwrap().contains(place))
            }
        }
        let answer = post(&mut client, &format!("soft-{target}"), &json!({}));
        assert_eq!(answer.status, 200, "{}", answer.text());
        let answer = answer.json();
        assert_eq!(answer["data"]["failed"]["task_id"], "call", "{answer}");
        assert!(answer["errors"][0]["message"].as_str().is_some_and(|text| text.contains(place)), "{answer}");
    }
}

#[test]
fn full_channel_is_unavailable_to_its_callers() {
    let server = start();
    let mut client = server.client();
    let busy = json!([{"id": "hash", "name": "", "function": {"name": "crypto", "input": {"op": "password_hash",
        "password": "p", "output": "data.hash"}}}]);
    serve_with(&mut client, "slow", json!({"backpressure": {"max_concurrent_per_node": 1}}), busy);
    serve(&mut client, "front", json!([call("slow")]));
    let (mut served, mut shed) = (0, 0);
    while served == 0 || shed == 0 {
        let clients: Vec<_> = (0..8)
            .map(|_| {
                let mut client = server.client();
                std::thread::spawn(move || post(&mut client, "front", &json!({})))
            })
            .collect();
        for answer in clients.into_iter().map(|client| client.join().unwrap()) {
            if answer.status == 200 {
                served += 1;
            } else {
                error(&answer, 503, "SERVICE_UNAVAILABLE");
                assert_eq!(answer.header("retry-after"), Some("1"));
                shed += 1;
            }
        }
    }
    assert_eq!(post(&mut client, "front", &json!({})).status, 200, "the permit came back");
}

/// A channel whose workflow goes on for a long time.
fn endless(client: &mut HttpClient, id: &str, config: Value) {
    let mapping = json!({"mappings": [{"path": "data.n", "logic": {"var": "temp_data.i"}}]});
    let looping = json!({"workflow_id": id, "name": id, "loop": {"counter": "i", "max": 1_000_000_000_u64},
        "tasks": [{"id": "count", "name": "", "function": {"name": "map", "input": mapping}}]});
    create_and_activate(client, "workflows", "workflow_id", &looping).unwrap();
    create_and_activate(client, "channels", "channel_id", &channel(id, id, config)).unwrap();
}

#[test]
fn call_ends_at_own_or_caller_deadline() {
    let server = launch().env("SVC_ENGINE__MAX_LOOP_ITERATIONS", "0").start().unwrap();
    let mut client = server.client();
    endless(&mut client, "patient", json!({}));
    endless(&mut client, "hasty", json!({"timeout_ms": 50}));
    let mut limited = call("patient");
    limited["function"]["input"]["timeout_ms"] = json!(50);
    let mut tolerated = call("hasty");
    tolerated["continue_on_error"] = json!(true);
    serve(&mut client, "by-task", json!([limited]));
    serve(&mut client, "by-target", json!([call("hasty")]));
    serve(&mut client, "tolerant", json!([tolerated.clone()]));
    let mut hurried = call("patient");
    hurried["continue_on_error"] = json!(true);
    serve_with(&mut client, "by-caller", json!({"timeout_ms": 50}), json!([hurried]));
    for late in ["by-task", "by-target", "by-caller"] {
        error(&post(&mut client, late, &json!({})), 504, "TIMEOUT");
    }
    let answer = post(&mut client, "tolerant", &json!({}));
    assert_eq!((answer.status, &answer.json()["errors"][0]["code"]), (200, &json!("TIMEOUT_ERROR")));
}

#[test]
fn claims_and_variables_reach_the_called_workflow() {
    let launch = launch();
    let file = launch.directory().join("svc.toml");
    std::fs::write(&file, "[vars]\nregion = \"eu\"\n").unwrap();
    let server = launch.args(&["-c", file.to_str().unwrap()]).start().unwrap();
    let mut client = server.client();
    serve(&mut client, "who", json!([copy("metadata", "data.seen")]));
    serve(&mut client, "front", json!([call("who")]));
    let body =
        br#"{"data": 1, "metadata": {"tenant": "t", "_svc_call_chain": ["who"], "_svc_call_depth": 99}}"#;
    let headers = [("content-type", "application/json"), ("x-tenant-id", "t")];
    let answer = client.send("POST", "/api/v1/data/front", &headers, body).unwrap();
    let view = answer.json()["data"]["got"]["seen"].clone();
    for (pointer, value) in [
        ("/channel", json!("who")),
        ("/vars/region", json!("eu")),
        ("/tenant", json!("t")),
        ("/headers/x-tenant-id", json!("t")),
        ("/_svc_call_chain", json!(["front", "who"])),
        ("/_svc_call_depth", json!(1)),
    ] {
        assert_eq!(view.pointer(pointer), Some(&value), "{pointer}: {view}");
    }
}

#[test]
fn a_call_meets_what_serves_now() {
    let server = start();
    let mut client = server.client();
    serve(&mut client, "front", json!([call("stock")]));
    error(&post(&mut client, "front", &json!({})), 500, "ENGINE_ERROR");
    echo(&mut client, "stock", json!({}));
    assert_eq!(
        post(&mut client, "front", &json!({"n": 1})).json()["data"]["got"],
        json!({"input": {"n": 1}})
    );
    let broken = json!({"auth": {"mode": "api_key", "keys": ["env://SVC_TEST_NOT_SET_ANYWHERE"]}});
    for (config, status) in [(broken, 500), (json!({}), 200)] {
        client.json("POST", &format!("{ADMIN}/channels/stock/versions"), &json!({})).unwrap();
        client.json("PUT", &format!("{ADMIN}/channels/stock"), &json!({"config": config})).unwrap();
        let path = format!("{ADMIN}/channels/stock/status");
        assert_eq!(client.json("PATCH", &path, &json!({"status": "active"})).unwrap().status, 200);
        assert_eq!(post(&mut client, "front", &json!({})).status, status);
    }
    let archived = json!({"status": "archived"});
    client.json("PATCH", &format!("{ADMIN}/channels/stock/status"), &archived).unwrap();
    error(&post(&mut client, "front", &json!({})), 500, "ENGINE_ERROR");
}

#[test]
fn trial_run_calls_and_names_the_obstacle() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "stock", json!({"rate_limit": {"requests_per_second": 1, "burst": 1}}));
    serve(&mut client, "front", json!([call("stock")]));
    let path = format!("{ADMIN}/workflows/front/test");
    let trial = client.json("POST", &path, &json!({"data": {"n": 1}})).unwrap().json()["data"].clone();
    assert_eq!(trial["output"], json!({"got": {"input": {"n": 1}}}), "{trial}");
    let refused = (0..10_000).find_map(|_| {
        let trial = client.json("POST", &path, &json!({})).unwrap().json()["data"].clone();
        trial["error"].is_string().then_some(trial)
    });
    let refused = refused.unwrap();
    assert_eq!(refused["errors"][0]["code"], "channel_rate_limited", "{refused}");
    let dependencies = client.get(&format!("{ADMIN}/workflows/front/dependencies")).unwrap().json();
    assert_eq!(dependencies["data"]["channels"], json!(["stock"]));
}

/// A server that declares the secret `token`, logs everything, and serves `vault`, which keeps its payload
/// wherever a workflow can, and `front`, which gives it the secret.
fn confiding(canary: &str) -> ServerProcess {
    let launch = launch();
    let file = launch.directory().join("svc.toml");
    std::fs::write(&file, "[secrets]\ntoken = \"env://CANARY\"\n").unwrap();
    let server = launch
        .args(&["-c", file.to_str().unwrap()])
        .env("CANARY", canary)
        .env("SVC_LOGGING__LEVEL", "trace")
        .env("SVC_VERBOSE_ERRORS", "true")
        .start()
        .unwrap();
    let mut client = server.client();
    let rule = json!({"rules": [{"logic": {"throw": {"var": "payload.key"}}, "message": "thrown"}]});
    let tasks = json!([
        {"id": "take", "name": "", "function": {"name": "parse_json", "input": {"source": "payload", "target": "kept"}}},
        copy("payload", "metadata.kept"),
        {"id": "say", "name": "", "function": {"name": "log", "input": {"message": {"var": "payload.key"},
            "fields": {"all": {"var": "payload"}}}}},
        {"id": "text", "name": "", "function": {"name": "publish_json", "input": {"source": "kept", "target": "text"}}},
        {"id": "xml", "name": "", "function": {"name": "publish_xml", "input": {"source": "kept", "target": "xml"}}},
        {"id": "twice", "name": "", "function": {"name": "publish_json", "input": {"source": "text", "target": "twice"}}},
        {"id": "encode", "name": "", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.hex", "logic": {"hex_encode": {"var": "payload.key"}}},
            {"path": "data.base64", "logic": {"base64_encode": {"cat": ["x:", {"var": "payload.key"}, "y"]}}},
            {"path": "data.base64url", "logic": {"base64url_encode": {"var": "payload.key"}}},
            {"path": "data.url", "logic": {"url_encode": {"var": "payload.key"}}},
            {"path": "temp_data.split", "logic": {"split": [{"var": "payload.key"}, ""]}}]}}},
        {"id": "apart", "name": "", "function": {"name": "log", "input": {"message": {"var": "temp_data.split"}}}},
        {"id": "throw", "name": "", "condition": {"==": [{"var": "payload.throw"}, true]},
            "function": {"name": "validation", "input": rule}},
    ]);
    let traced = json!({"tracing": {"task_details": true}});
    serve_with(&mut client, "vault", traced.clone(), tasks);
    let payload = json!({"key": {"secret": "token"}, "throw": {"var": "payload.throw"},
        "made": [{"base64_encode": {"secret": "token"}}, {"lower": {"cat": ["Bearer ", {"secret": "token"}]}}]});
    let mut give = call("vault");
    give["function"]["input"] = json!({"channel": "vault", "data_logic": payload, "output": "data.got"});
    give["continue_on_error"] = json!(true);
    serve_with(&mut client, "front", traced, json!([give]));
    server
}

#[test]
fn secret_passed_to_channel_is_recorded_nowhere() {
    const CANARY: &str = "nightingale \"quoted\"\nsecond line 0123456789";
    let server = confiding(CANARY);
    let mut client = server.client();
    let answer = post(&mut client, "front", &json!({}));
    let got = answer.json()["data"]["got"].clone();
    assert_eq!(got["kept"]["key"], "******", "{got}");
    let mut texts = vec![answer.text(), post(&mut client, "front", &json!({"throw": true})).text()];
    let trace = submit(&mut client, "front", &json!({}));
    assert_eq!(trace["message"]["context"]["data"]["got"], got, "{trace}");
    texts.push(trace.to_string());
    let rows = client.get(&format!("{ADMIN}/traces?limit=50")).unwrap().json();
    for row in rows["data"].as_array().unwrap() {
        texts.push(client.get(&format!("{ADMIN}/traces/{}", row["id"].as_str().unwrap())).unwrap().text());
    }
    for throw in [false, true] {
        let trial = json!({"data": {"throw": throw}});
        texts.push(client.json("POST", &format!("{ADMIN}/workflows/front/test"), &trial).unwrap().text());
    }
    // The called workflow logged something.
    texts.push(server.wait_for_log(&["******"]).unwrap());
    let mut canaries = Canaries::default();
    canaries.add("token", CANARY.as_bytes(), &[]);
    for text in &texts {
        assert!(!text.contains("nightingale") && !text.contains("0123456789"), "{text}");
        assert!(!text.contains("bearer"), "what was made of it is hidden too: {text}");
        assert!(!text.contains(r#"["n","i","g""#), "what a run makes of it stays out of its log: {text}");
        assert!(canaries.find_in("what was seen", text).is_empty(), "{text}");
    }
    assert!(texts.len() > 6, "traces were read");
}
