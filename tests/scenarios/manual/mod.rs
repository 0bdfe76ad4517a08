//! The manual: every block of JSON is accepted by the service, and what a page says of a run is what the run
//! does.

mod blocks;
mod functions;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;

use self::blocks::{ManualBlock, blocks, check, page, pages};
use crate::support::{channel, start};
use svc_testkit::example::create_and_activate;

/// Replaces a value that differs from run to run.
const ANY: &str = "…";

/// Compares a value with that of a page.
fn matches(actual: &Value, expected: &Value) -> bool {
    match (actual, expected) {
        (actual, Value::String(any)) if any == ANY => !actual.is_null() && actual != "",
        (Value::Object(actual), Value::Object(expected)) => {
            actual.len() == expected.len()
                && expected.iter().all(|(key, value)| actual.get(key).is_some_and(|own| matches(own, value)))
        }
        (Value::Array(actual), Value::Array(expected)) => {
            actual.len() == expected.len()
                && actual.iter().zip(expected).all(|(own, value)| matches(own, value))
        }
        (actual, expected) => actual == expected,
    }
}

/// Puts a workflow behind a channel of the same id.
fn serve(client: &mut HttpClient, place: &str, id: &str, mut workflow: Value) {
    workflow["workflow_id"] = id.into();
    create_and_activate(client, "workflows", "workflow_id", &workflow)
        .unwrap_or_else(|error| panic!("{place}: {error}"));
    create_and_activate(client, "channels", "channel_id", &channel(id, id, json!({})))
        .unwrap_or_else(|error| panic!("{place}: {error}"));
}

/// Sends the payload of a block to a channel and compares the answer with the rest of the block.
fn run(client: &mut HttpClient, id: &str, block: &ManualBlock) {
    let (place, expected) = (&block.place, &block.value);
    let answer = client.json("POST", &format!("/api/v1/data/{id}"), &expected["payload"]).expect("an answer");
    assert_eq!(answer.status, 200, "{place}: {}", answer.text());
    let answer = answer.json();
    assert!(matches(&answer["data"], &expected["data"]), "{place}: {answer}");
    let errors = |value: &Value| -> Vec<(Value, Value)> {
        let errors = value["errors"].as_array().cloned().unwrap_or_default();
        errors.iter().map(|error| (error["code"].clone(), error["task_id"].clone())).collect()
    };
    assert_eq!(errors(&answer), errors(expected), "{place}: {answer}");
}

/// Tries a workflow with the stubs of a block, which answer every call.
fn try_out(client: &mut HttpClient, id: &str, block: &ManualBlock) {
    let path = format!("/api/v1/admin/workflows/{id}/test");
    let answer = client.json("POST", &path, &block.value).expect("an answer");
    assert_eq!(answer.status, 200, "{}: {}", block.place, answer.text());
    let trial = answer.json()["data"].clone();
    assert_eq!((&trial["live"], &trial["errors"]), (&json!(false), &json!([])), "{}: {trial}", block.place);
    let stubs = block.value["stubs"].as_object().expect("a trial has stubs");
    let stubbed: Vec<_> =
        stubs.values().flat_map(|targets| targets.as_object().expect("targets").values()).collect();
    let output = trial["output"].as_object().expect("an object");
    assert!(
        stubbed.iter().all(|stub| output.values().any(|value| value == *stub)),
        "{}: {trial}",
        block.place
    );
}

#[test]
fn every_json_block_of_the_manual_is_valid() {
    let server = start();
    let mut client = server.client();
    let blocks: Vec<_> = pages().iter().flat_map(|page| blocks(page)).collect();
    assert!(blocks.len() > 50, "the pages are found");
    for block in &blocks {
        check(&mut client, block);
    }
}

#[test]
fn workflows_of_the_manual_answer_as_the_page_says() {
    let server = start();
    let mut client = server.client();
    let mut current = None;
    let (mut runs, mut trials) = (0, 0);
    let pages = ["workflows.md", "fan-out.md"].map(|name| blocks(&page(name)));
    for (number, block) in pages.iter().flatten().enumerate() {
        match block.kind.as_str() {
            "workflow" => {
                let id = format!("page-{number}");
                serve(&mut client, &block.place, &id, block.value.clone());
                current = Some(id);
            }
            "run" => {
                run(&mut client, current.as_ref().expect("a workflow comes first"), block);
                runs += 1;
            }
            "trial" => {
                let id = current.as_ref().expect("a workflow comes first");
                try_out(&mut client, id, block);
                trials += 1;
            }
            _ => {}
        }
    }
    assert_eq!(trials, 1);
    assert!(runs >= 14, "{runs}");
}
