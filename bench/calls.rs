//! The cost of calls between channels: a chain of calls compared with the same work in one workflow.

use std::io;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;

use crate::figures::{self, Figure};
use crate::load::Load;
use crate::population::expect;
use crate::{BenchContext, compare};

/// Channels of the chain, each of which calls the next.
const LINKS: usize = 5;

/// Compares a chain of calls with one workflow that counts as far, in each release.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let mut measured = vec![compare_chain(setting)?];
    if let Some(earlier) = setting.earlier() {
        println!("The same of the earlier release: calls between channels");
        figures::set_beside(&mut measured, vec![compare_chain(&earlier)?]);
    }
    setting.note(measured);
    Ok(())
}

fn compare_chain(setting: &BenchContext) -> io::Result<Figure> {
    let server = setting.launch()?.env("SVC_TRACE_STORAGE__MODE", "off").start()?;
    let mut client = server.client().keep_alive();
    for link in (1..=LINKS).rev() {
        serve(&mut client, &format!("link-{link}"), &chain_tasks(link))?;
    }
    let single: Vec<_> = (1..=LINKS).map(|n| count(n, if n == 1 { "payload.n" } else { "data.n" })).collect();
    serve(&mut client, "single", &single)?;
    for first in ["single", "link-1"] {
        let answer = client.json("POST", &format!("/api/v1/data/{first}"), &json!({"n": 0}))?;
        let counted = expect(answer, 200)?.json()["data"]["n"].clone();
        if counted != json!(LINKS) {
            return Err(io::Error::other(format!("{first} counted to {counted}, not to {LINKS}")));
        }
    }
    let to = |channel: &str| Load::post(&format!("/api/v1/data/{channel}"), r#"{"n":0}"#);
    let sides = [
        ("5 tasks in one workflow", server.address(), to("single")),
        ("a chain of 5 channels, 1 task each", server.address(), to("link-1")),
    ];
    let rounds = compare("Calls between channels", &sides)?;
    let ratio = rounds[1].requests_per_second / rounds[0].requests_per_second;
    Ok(Figure::new("a chain of 5 channels beside 5 tasks", "0.85", format!("{ratio:.2}")))
}

/// Counts on from the value at a path.
fn count(n: usize, from: &str) -> Value {
    let mapping = json!({"path": "data.n", "logic": {"+": [{"var": from}, 1]}});
    task(&format!("count-{n}"), "map", json!({"mappings": [mapping]}))
}

/// Counts, and lets the next link count on.
fn chain_tasks(link: usize) -> Vec<Value> {
    let count = count(link, "payload.n");
    if link == LINKS {
        return vec![count];
    }
    let input = json!({"channel": format!("link-{}", link + 1), "data_logic": {"var": "data"}});
    vec![count, task("call", "channel_call", input)]
}

fn task(id: &str, function: &str, input: Value) -> Value {
    json!({"id": id, "name": id, "function": {"name": function, "input": input}})
}

/// Creates and activates a workflow and the channel of its name.
pub(crate) fn serve(client: &mut HttpClient, name: &str, tasks: &[Value]) -> io::Result<()> {
    let workflow = json!({"workflow_id": name, "name": name, "tasks": tasks});
    let channel = json!({
        "channel_id": name, "name": name, "channel_type": "sync", "protocol": "rest", "methods": ["POST"],
        "route_pattern": format!("/{name}"), "workflow_id": name,
    });
    for (kind, document) in [("workflows", workflow), ("channels", channel)] {
        expect(client.json("POST", &format!("/api/v1/admin/{kind}"), &document)?, 201)?;
        let status = format!("/api/v1/admin/{kind}/{name}/status");
        expect(client.json("PATCH", &status, &json!({"status": "active"}))?, 200)?;
    }
    Ok(())
}
