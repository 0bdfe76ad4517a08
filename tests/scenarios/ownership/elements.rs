//! A job with a fan-out, and the loss of its node.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use svc_testkit::example::create_and_activate;
use svc_testkit::upstream::{ReceivedRequest, Upstream, UpstreamReply};

use super::{SUBMIT, connect_witness, database, node, runs, settle};
use crate::support::channel;

/// Elements of the list, and those that run at once.
const ELEMENTS: usize = 40;
const AT_ONCE: usize = 8;

/// Answers a request with the number of its element.
fn echo(request: &ReceivedRequest) -> UpstreamReply {
    let number: usize = request.target.trim_start_matches('/').parse().unwrap();
    UpstreamReply::Answer {
        status: 200,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: json!({"n": number}).to_string().into_bytes(),
    }
}

#[test]
fn killed_fan_out_runs_elements_once_more() {
    let Some((_postgres, database)) = database() else { return };
    let count = AtomicUsize::new(0);
    let witness = Upstream::start(move |request| match count.fetch_add(1, Ordering::Relaxed) {
        0..AT_ONCE => UpstreamReply::Held,
        _ => echo(request),
    })
    .unwrap();
    let first = node(&database).start().unwrap();
    let mut client = first.client();
    connect_witness(&mut client, &witness);
    let call = json!({"connector": "witness", "method": "POST", "timeout_ms": 600_000, "output": "temp_data.answer",
        "path_logic": {"cat": ["/", {"var": "temp_data.item"}]}});
    let each = json!({"over": {"var": "payload.list"}, "max_concurrency": AT_ONCE, "into": "data.answers",
        "collect": "temp_data.answer.n"});
    let workflow = json!({"workflow_id": "jobs", "name": "jobs", "tasks": [
        {"id": "ask", "name": "Ask", "for_each": each, "function": {"name": "http_call", "input": call}}]});
    create_and_activate(&mut client, "workflows", "workflow_id", &workflow).unwrap();
    create_and_activate(&mut client, "channels", "channel_id", &channel("jobs", "jobs", json!({}))).unwrap();
    let second = node(&database).start().unwrap();
    let list: Vec<usize> = (0..ELEMENTS).collect();
    let accepted = client.json("POST", SUBMIT, &json!({"list": list})).unwrap();
    assert_eq!(accepted.status, 202, "{}", accepted.text());
    witness.wait_for(AT_ONCE);
    assert_eq!(witness.requests().len(), AT_ONCE, "no element begins before another one has ended");
    first.signal("KILL").unwrap();
    witness.wait_for(AT_ONCE + ELEMENTS);
    settle(&mut second.client());
    let expected: BTreeMap<_, _> =
        (0..ELEMENTS).map(|number| (number, if number < AT_ONCE { 2 } else { 1 })).collect();
    assert_eq!(runs(&witness), expected, "each element once in each attempt");
    let id = accepted.json()["trace_id"].as_str().unwrap().to_owned();
    let rows = database.rows(&format!("SELECT status, result_json FROM traces WHERE id = '{id}'")).unwrap();
    let text = |column: usize| rows[0][column].clone().unwrap_or_default();
    assert_eq!(text(0), "completed");
    let answers = format!("\"answers\":{}", json!(list));
    assert!(text(1).contains(&answers), "in the order of the list: {}", text(1));
}
