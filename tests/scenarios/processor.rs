//! The cost of a body is bounded: wide objects are refused with their path, and comparing accepted ones
//! delays no other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};
use svc_testkit::http::HttpClient;

use crate::support::{echo, error, eventually, launch, serve, start};

/// Members of each object in a body of 1 MiB.
const WIDE: usize = 30_000;

fn object(members: impl Iterator<Item = usize>) -> Value {
    members.map(|n| (format!("k{n}"), json!(n))).collect::<Map<_, _>>().into()
}

/// Two objects of the same members in opposite order.
fn pair(members: usize) -> Value {
    json!({"a": object(0..members), "b": object((0..members).rev())})
}

/// Compares them in every way that looks at every member.
fn compares() -> Value {
    let (a, b) = (json!({"var": "payload.a"}), json!({"var": "payload.b"}));
    let both = json!([a, b]);
    let result = |name: &str, logic: Value| json!({"path": format!("data.{name}"), "logic": logic});
    json!([{"id": "compare", "name": "", "function": {"name": "map", "input": {"mappings": [
        result("same", json!({"===": [a, b]})),
        result("unlike", json!({"!==": [a, b]})),
        result("among", json!({"in": [a, [b]]})),
        result("distinct", json!({"length": [{"distinct": [both]}]})),
        result("groups", json!({"length": [{"group_by": [both, {"var": ""}]}]})),
    ]}}}])
}

fn expected_output() -> Value {
    json!({"same": true, "unlike": false, "among": true, "distinct": 1, "groups": 1})
}

#[test]
fn too_wide_object_is_refused_at_its_place() {
    let server = start();
    let mut client = server.client();
    serve(&mut client, "compare", compares());
    let refused = client.json("POST", "/api/v1/data/compare", &pair(WIDE)).unwrap();
    let refused = error(&refused, 400, "VALIDATION_ERROR");
    let message = refused["message"].as_str().unwrap();
    assert_eq!(message, "body.a: an object of 30000 members; ingest.max_object_members allows 10000");
    let answer = client.json("POST", "/api/v1/data/compare", &pair(10_000)).unwrap();
    assert_eq!((answer.status, &answer.json()["data"]), (200, &expected_output()), "{}", answer.text());
}

#[test]
fn neighbours_of_a_costly_comparison_are_all_answered() {
    let server = launch().env("SVC_INGEST__MAX_OBJECT_MEMBERS", "100000").start().unwrap();
    let mut client = server.client();
    serve(&mut client, "compare", compares());
    echo(&mut client, "neighbour", json!({}));
    let over = Arc::new(AtomicBool::new(false));
    let attackers: Vec<_> = (0..2)
        .map(|_| {
            let (over, mut client) = (Arc::clone(&over), server.client());
            std::thread::spawn(move || {
                let body = pair(WIDE);
                while !over.load(Ordering::Relaxed) {
                    let answer = client.json("POST", "/api/v1/data/compare", &body).unwrap();
                    assert_eq!((answer.status, &answer.json()["data"]), (200, &expected_output()));
                }
            })
        })
        .collect();
    let mut neighbour = server.client().keep_alive();
    for n in 0..48 {
        let answer = neighbour.json("POST", "/api/v1/data/neighbour", &json!({"n": n})).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    over.store(true, Ordering::Relaxed);
    attackers.into_iter().for_each(|attacker| attacker.join().unwrap());
}

/// Serves a channel whose run compares each number of an array with each other one.
fn serve_square(client: &mut HttpClient) {
    let inner = json!({"none": [{"val": [[1], "payload"]}, {"===": [{"var": ""}, -1]}]});
    let logic = json!({"all": [{"var": "payload"}, inner]});
    let input = json!({"mappings": [{"path": "data.x", "logic": logic}]});
    serve(client, "square", json!([{"id": "m", "name": "", "function": {"name": "map", "input": input}}]));
}

fn numbers() -> Value {
    json!((0..100_000).collect::<Vec<_>>())
}

#[test]
fn submission_exhausting_processor_time_is_not_retried() {
    let server = launch().env("SVC_ENGINE__CPU_BUDGET_MS", "50").start().unwrap();
    let mut client = server.client();
    serve_square(&mut client);
    let accepted = client.json("POST", "/api/v1/data/square/async", &numbers()).unwrap();
    assert_eq!(accepted.status, 202, "{}", accepted.text());
    let mut letters = Vec::new();
    eventually(|| {
        let page = client.get("/api/v1/admin/trace-dlq").unwrap().json();
        letters = page["data"].as_array().unwrap().clone();
        !letters.is_empty()
    });
    let letter = &letters[0];
    assert_eq!(letter["retry_count"], letter["max_retries"], "{letter}");
    let message = letter["error_message"].as_str().unwrap();
    assert!(message.contains("TIMEOUT_ERROR") && message.contains("engine.cpu_budget_ms"), "{message}");
    assert!(message.ends_with("(not retried)"), "{message}");
}

#[test]
fn run_that_exhausts_processor_time_times_out() {
    let server = launch().env("SVC_ENGINE__CPU_BUDGET_MS", "50").start().unwrap();
    let mut client = server.client();
    serve_square(&mut client);
    let answer = client.json("POST", "/api/v1/data/square", &numbers()).unwrap();
    error(&answer, 504, "TIMEOUT");
    let answer = client.json("POST", "/api/v1/data/square", &json!([1, 2, 3])).unwrap();
    assert_eq!((answer.status, &answer.json()["data"]), (200, &json!({"x": true})), "{}", answer.text());
}
