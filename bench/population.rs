//! Many channels, and the change of one.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::http::{Answer, Client};

use crate::process::timed;

/// Items of one import request.
const IMPORT_BATCH: usize = 1_000;
/// Changes measured; the median is reported.
const CHANGES: usize = 21;

fn channel(number: usize) -> Value {
    json!({
        "channel_id": format!("bench-{number}"), "name": format!("bench-{number}"), "channel_type": "sync",
        "protocol": "rest", "methods": ["POST"], "route_pattern": format!("/bench/{number}"),
        "workflow_id": "order-intake",
    })
}

fn expect(answer: Answer, status: u16) -> io::Result<Answer> {
    if answer.status == status {
        return Ok(answer);
    }
    Err(io::Error::other(format!("answered {} where {status} was due: {}", answer.status, answer.text())))
}

/// Imports and activates this many channels, with one engine reload at the end.
pub(crate) fn create_channels(client: &mut Client, count: usize) -> io::Result<()> {
    let numbers: Vec<usize> = (0..count).collect();
    for batch in numbers.chunks(IMPORT_BATCH) {
        let items: Vec<_> = batch.iter().copied().map(channel).collect();
        expect(client.json("POST", "/api/v1/admin/channels/import", &Value::Array(items))?, 200)?;
    }
    for number in 0..count {
        let path = format!("/api/v1/admin/channels/bench-{number}/status?reload=defer");
        expect(client.json("PATCH", &path, &json!({"status": "active"}))?, 200)?;
    }
    expect(client.json("POST", "/api/v1/admin/engine/reload", &json!({}))?, 200)?;
    expect(order(client, count - 1)?, 200)?;
    Ok(())
}

fn order(client: &mut Client, number: usize) -> io::Result<Answer> {
    let path = format!("/api/v1/data/bench/{number}");
    client.json("POST", &path, &json!({"qty": 3, "price": 50}))
}

/// The median time from asking for a new version's activation until the new version has answered a request.
pub(crate) fn median_change(client: &mut Client) -> io::Result<Duration> {
    let mut times = Vec::new();
    for change in 0..CHANGES {
        let id = format!("/api/v1/admin/channels/bench-{}", change % 10);
        expect(client.json("POST", &format!("{id}/versions"), &json!({}))?, 201)?;
        let limit = json!({"config": {"timeout_ms": 1_000 + change}});
        expect(client.json("PUT", &id, &limit)?, 200)?;
        let (_, time) = timed(|| {
            expect(client.json("PATCH", &format!("{id}/status"), &json!({"status": "active"}))?, 200)?;
            expect(order(client, change % 10)?, 200)
        })?;
        times.push(time);
    }
    times.sort();
    Ok(times[times.len() / 2])
}
