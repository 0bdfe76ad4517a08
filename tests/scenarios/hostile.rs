//! Documents and payloads that are made to hurt: each gets a clear answer in time, the process stays small,
//! and the next request is served.

use serde_json::{Value, json};
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::server::ServerProcess;

use crate::support::{details, echo, error, serve, start};

/// Largest allowed memory of the process.
const MEMORY: usize = 1 << 30;

const WORKFLOWS: &str = "/api/v1/admin/workflows";

/// Sends a body; the client bounds the time for the response.
#[track_caller]
fn post(client: &mut HttpClient, path: &str, body: &[u8]) -> HttpResponse {
    client.send("POST", path, &[("content-type", "application/json")], body).unwrap()
}

#[track_caller]
fn post_json(client: &mut HttpClient, path: &str, body: &Value) -> HttpResponse {
    post(client, path, body.to_string().as_bytes())
}

/// Asserts that a workflow is refused for exactly these `(path, code)`.
#[track_caller]
fn expect_refusal(client: &mut HttpClient, workflow: &Value, expected: &[(&str, &str)]) {
    let refused = error(&post_json(client, WORKFLOWS, workflow), 400, "VALIDATION_ERROR");
    let expected: Vec<_> =
        expected.iter().map(|(path, code)| ((*path).to_owned(), (*code).to_owned())).collect();
    assert_eq!(details(&refused), expected, "{refused}");
}

/// The largest the process ever was, in bytes.
fn peak(server: &ServerProcess) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().unwrap() << 10
}

fn task(id: &str, function: &str, input: Value) -> Value {
    json!({"id": id, "name": "", "function": {"name": function, "input": input}})
}

fn map(path: &str, logic: Value) -> Value {
    task("m", "map", json!({"mappings": [{"path": path, "logic": logic}]}))
}

fn workflow(tasks: Value) -> Value {
    json!({"name": "hostile", "tasks": tasks})
}

fn nest(depth: usize, innermost: Value, wrap: fn(Value) -> Value) -> Value {
    (0..depth).fold(innermost, |inner, _| wrap(inner))
}

#[test]
fn too_deep_nesting_is_refused_at_its_path() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "echo", json!({}));
    let brackets = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    for path in
        ["/api/v1/data/echo", WORKFLOWS, "/api/v1/admin/workflows/validate", "/api/v1/admin/workflows/import"]
    {
        let refused = error(&post(&mut client, path, brackets.as_bytes()), 400, "VALIDATION_ERROR");
        assert!(refused["message"].as_str().unwrap().contains("recursion limit"), "{refused}");
    }
    let deep = nest(60, json!(true), |inner| json!({"!": [inner]}));
    assert_eq!(post_json(&mut client, WORKFLOWS, &workflow(json!([map("data.x", deep)]))).status, 201);
    let group = |inner| json!({"id": "g", "tasks": [inner]});
    let mut groups = nest(9, task("t", "log", json!({})), group);
    let mut level = &mut groups;
    for n in 0..9 {
        level["id"] = json!(format!("g{n}"));
        level = &mut level["tasks"][0];
    }
    let ninth = format!("tasks[0]{}.tasks", ".tasks[0]".repeat(8));
    expect_refusal(&mut client, &workflow(json!([groups])), &[(&ninth, "INVALID")]);
    assert_eq!(post_json(&mut client, "/api/v1/data/echo", &json!({"n": 1})).status, 200);
}

#[test]
fn too_long_text_is_refused_at_its_path() {
    let server = start();
    let mut client = server.client();
    let long = "x".repeat(1 << 20);
    let mut named = workflow(json!([task(&long, "log", json!({})), task("t", &long, json!({}))]));
    named["name"] = json!(long);
    named["workflow_id"] = json!(long);
    named["description"] = json!(long);
    expect_refusal(
        &mut client,
        &named,
        &[
            ("workflow.workflow_id", "TOO_LONG"),
            ("workflow.name", "TOO_LONG"),
            ("workflow.description", "TOO_LONG"),
            ("tasks[0].id", "TOO_LONG"),
            ("tasks[1].function.name", "TOO_LONG"),
        ],
    );
    let calls: Value = (0..100_000).map(|_| json!({"!": 1})).collect();
    expect_refusal(
        &mut client,
        &workflow(json!([map("data.x", json!({"and": calls}))])),
        &[("tasks[0].function.input.mappings[0].logic", "INVALID")],
    );
    // A long list of values is only long.
    let listed: Value = (0..100_000).collect();
    let listed = json!({"in": [{"var": "payload.n"}, listed]});
    serve(&mut client, "listed", json!([map("data.known", listed)]));
    let answer = post_json(&mut client, "/api/v1/data/listed", &json!({"n": 99_999}));
    assert_eq!(answer.json()["data"], json!({"known": true}));
    assert!(peak(&server) < MEMORY, "{} bytes", peak(&server));
}

#[test]
fn numbers_keys_and_characters_at_the_edge_are_answered() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "echo", json!({}));
    for body in [r#"{"n": 1e400}"#, r#"{"s": "\ud800"}"#, "{\"s\": \"\u{0}\"}", "{\"s\": \"\\u12\"}"] {
        error(&post(&mut client, "/api/v1/data/echo", body.as_bytes()), 400, "VALIDATION_ERROR");
        error(&post(&mut client, WORKFLOWS, body.as_bytes()), 400, "VALIDATION_ERROR");
    }
    error(&post(&mut client, "/api/v1/data/echo", b"{\"s\": \"\xff\"}"), 400, "VALIDATION_ERROR");
    // RFC 8259, 8.1: a parser may ignore a byte order mark. One in front of another is a character.
    let marked = post(&mut client, "/api/v1/data/echo", "\u{feff}{\"n\": 1}".as_bytes());
    assert_eq!(
        (marked.status, &marked.json()["data"]["input"]),
        (200, &json!({"n": 1})),
        "{}",
        marked.text()
    );
    error(&post(&mut client, "/api/v1/data/echo", "\u{feff}\u{feff}{}".as_bytes()), 400, "VALIDATION_ERROR");
    let odd = r#"{"big": 18446744073709551615, "a": 1, "a": 2, "nul": "\u0000", "pair": "\ud83d\ude00"}"#;
    let answer = post(&mut client, "/api/v1/data/echo", odd.as_bytes());
    let expected = json!({"big": u64::MAX, "a": 2, "nul": "\u{0}", "pair": "😀"});
    assert_eq!(answer.json()["data"]["input"], expected, "{}", answer.text());

    let mut numbers =
        workflow(json!([map("data.a.4000000000", json!(1)), task("n", "log", json!({"message": "\u{0}"}))]));
    numbers["priority"] = json!(1e300);
    numbers["loop"] = json!({"max": u64::MAX, "counter": "a.4000000000"});
    let refused = error(&post_json(&mut client, WORKFLOWS, &numbers), 400, "VALIDATION_ERROR");
    let mut details = details(&refused);
    details.sort();
    let expected = [
        ("body.priority", "TYPE_MISMATCH"),
        ("loop.counter", "INVALID"),
        ("loop.max", "TYPE_MISMATCH"),
        ("tasks[0].function.input.mappings[0].path", "INVALID"),
        ("tasks[1].function.input.message", "INVALID"),
    ];
    assert_eq!(details, expected.map(|(path, code)| (path.to_owned(), code.to_owned())));
}

#[test]
fn thousands_of_tasks_are_stored_loaded_and_run() {
    let server = start();
    let mut client = server.client();
    let tasks: Value = (0..5000)
        .map(|n| task(&format!("t{n}"), "map", json!({"mappings": [{"path": format!("data.k{n}"), "logic": {"var": format!("data.k{}", n / 2)}}]})))
        .collect();
    assert_eq!(
        post_json(&mut client, "/api/v1/admin/workflows/validate", &workflow(tasks.clone())).status,
        200
    );
    serve(&mut client, "many", tasks);
    assert_eq!(post_json(&mut client, "/api/v1/data/many", &json!({})).status, 200);
    assert!(peak(&server) < MEMORY, "{} bytes", peak(&server));
}

/// Serves one workflow and sends it a payload that makes it fail.
#[track_caller]
fn fails(client: &mut HttpClient, id: &str, mut document: Value, payload: &Value) {
    document["workflow_id"] = json!(id);
    document["name"] = json!(id);
    svc_testkit::example::create_and_activate(client, "workflows", "workflow_id", &document).unwrap();
    let channel = crate::support::channel(id, id, json!({}));
    svc_testkit::example::create_and_activate(client, "channels", "channel_id", &channel).unwrap();
    let answer = post_json(client, &format!("/api/v1/data/{id}"), payload);
    // Memory may run out first, or the processor time.
    let code = if answer.status == 504 { (504, "TIMEOUT") } else { (500, "ENGINE_ERROR") };
    error(&answer, code.0, code.1);
}

#[test]
fn endless_growth_or_run_is_stopped() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "echo", json!({}));
    let ones = || json!(vec![1; 1000]);
    let double = |of: &str| json!({"cat": [{"var": [of, "xx"]}, {"var": [of, "xx"]}]});
    let pair = json!([{"var": "accumulator"}, {"var": "accumulator"}]);
    let inside = |body: Value| json!({"all": [{"val": [[9], "payload"]}, body]});
    let mut looping = workflow(json!([map("data.s", double("data.s"))]));
    looping["loop"] = json!({"max": 10_000});
    fails(&mut client, "doubling", looping, &json!({}));
    for (id, logic, payload) in [
        ("reduced", json!({"reduce": [{"var": "payload"}, double("accumulator"), "x"]}), ones()),
        ("shared", json!({"reduce": [{"var": "payload"}, pair, 1]}), ones()),
        (
            "repeated",
            json!({"map": [{"var": "payload.many"}, {"val": [[2], "payload", "large"]}]}),
            json!({"many": vec![1; 100_000], "large": "x".repeat(500_000)}),
        ),
        (
            "joined",
            json!({"join": [{"var": "payload.many"}, {"var": "payload.large"}]}),
            json!({"many": vec![1; 100_000], "large": "x".repeat(500_000)}),
        ),
        ("nested", inside(inside(inside(json!({">": [{"var": ""}, 0]})))), json!(vec![1; 5000])),
    ] {
        fails(&mut client, id, workflow(json!([map("data.x", logic)])), &payload);
    }
    let tasks: Value = (0..101).map(|n| task(&format!("t{n}"), "map", json!({"mappings": []}))).collect();
    let mut long = workflow(tasks);
    long["loop"] = json!({"max": 10_000});
    fails(&mut client, "long", long, &json!({}));

    let mut padded = workflow(json!([map("data.a.99999", json!(1))]));
    padded["loop"] = json!({"max": 10});
    fails(&mut client, "padded", padded, &json!({}));
    assert_eq!(post_json(&mut client, "/api/v1/data/echo", &json!({"n": 1})).status, 200);
    assert!(peak(&server) < MEMORY, "{} bytes", peak(&server));
    let health = client.get("/health").unwrap();
    assert_eq!(health.json()["status"], "ok", "no channel was quarantined: {}", health.text());
}
