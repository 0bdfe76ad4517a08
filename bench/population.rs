//! Many channels, and the change of one.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::example;
use svc_testkit::http::{HttpClient, HttpResponse};

use crate::BenchContext;
use crate::figures::Figure;
use crate::process::{measure_time, resident_mib, restarted_in, started_in};

/// Items of one import request.
pub(crate) const IMPORT_BATCH: usize = 1_000;
/// Changes measured; the median is reported.
const CHANGES: usize = 21;
const FEW: usize = 10;
const MANY: usize = 5_000;
const MOST: usize = 50_000;

/// Measures start time, change time and memory of a service by the number of its channels.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let mut changes = Vec::new();
    for count in [0, FEW, MANY, MOST] {
        let launch = setting.launch()?.env("SVC_TRACE_STORAGE__MODE", "off");
        let (server, empty_start) = started_in(launch)?;
        if count == 0 {
            let memory = resident_mib(server.pid())?;
            println!("An empty service");
            println!("  start until ready            {empty_start:?}");
            println!("  resident memory              {memory:.1} MiB");
            setting.note([
                start_figure("an empty service", "0.1 s", empty_start),
                Figure::new("resident memory of an empty service", "35 MiB", format!("{memory:.0} MiB")),
            ]);
            continue;
        }
        let mut client = server.client().keep_alive();
        example::load(&mut client, &setting.quickstart)?;
        create_channels(&mut client, &(0..count).map(channel).collect::<Vec<_>>())?;
        expect(order(&mut client, count - 1)?, 200)?;
        let change = median_change(&mut client)?;
        setting.note([Figure::new(
            format!("one changed channel live among {count}"),
            "2 ms",
            format!("{:.1} ms", change.as_secs_f64() * 1e3),
        )]);
        changes.push((count, change));
        println!("{count} channels");
        println!("  one changed channel live in  {change:?}");
        println!("  resident memory              {:.1} MiB", resident_mib(server.pid())?);
        let (server, start) = restarted_in(server)?;
        println!("  start until ready            {start:?}");
        let memory = resident_mib(server.pid())?;
        println!("  resident memory after start  {memory:.1} MiB");
        if count == MANY {
            let work = format!("resident memory of {MANY} channels");
            setting.note([Figure::new(work, "70 MiB", format!("{memory:.0} MiB"))]);
        }
        if count == MOST {
            setting.note([start_figure(&format!("{MOST} channels"), "5 s", start)]);
        }
    }
    if let [(few, fast), .., (most, slow)] = changes[..] {
        let ratio = slow.as_secs_f64() / fast.as_secs_f64();
        println!("One changed channel: {most} against {few} channels  {ratio:.2}");
    }
    Ok(())
}

/// The time of a start until the service is ready.
fn start_figure(work: &str, aim: &'static str, start: Duration) -> Figure {
    Figure::new(format!("start until ready, {work}"), aim, format!("{:.2} s", start.as_secs_f64()))
}

/// A channel of the quickstart's workflow.
pub(crate) fn channel(number: usize) -> Value {
    json!({
        "channel_id": format!("bench-{number}"), "name": format!("bench-{number}"), "channel_type": "sync",
        "protocol": "rest", "methods": ["POST"], "route_pattern": format!("/bench/{number}"),
        "workflow_id": "order-intake",
    })
}

/// An answer that has this status.
pub(crate) fn expect(answer: HttpResponse, status: u16) -> io::Result<HttpResponse> {
    if answer.status == status {
        return Ok(answer);
    }
    Err(io::Error::other(format!("answered {} where {status} was due: {}", answer.status, answer.text())))
}

/// Imports and activates channels, with one engine reload at the end.
pub(crate) fn create_channels(client: &mut HttpClient, channels: &[Value]) -> io::Result<()> {
    for batch in channels.chunks(IMPORT_BATCH) {
        expect(client.json("POST", "/api/v1/admin/channels/import", &Value::Array(batch.to_vec()))?, 200)?;
    }
    for channel in channels {
        let id = channel["channel_id"].as_str().unwrap_or_default();
        let path = format!("/api/v1/admin/channels/{id}/status?reload=defer");
        expect(client.json("PATCH", &path, &json!({"status": "active"}))?, 200)?;
    }
    expect(client.json("POST", "/api/v1/admin/engine/reload", &json!({}))?, 200)?;
    Ok(())
}

fn order(client: &mut HttpClient, number: usize) -> io::Result<HttpResponse> {
    let path = format!("/api/v1/data/bench/{number}");
    client.json("POST", &path, &json!({"qty": 3, "price": 50}))
}

/// The median time from asking for a new version's activation until the new version has answered a request.
fn median_change(client: &mut HttpClient) -> io::Result<Duration> {
    let mut times = Vec::new();
    for change in 0..CHANGES {
        let id = format!("/api/v1/admin/channels/bench-{}", change % 10);
        expect(client.json("POST", &format!("{id}/versions"), &json!({}))?, 201)?;
        let limit = json!({"config": {"timeout_ms": 1_000 + change}});
        expect(client.json("PUT", &id, &limit)?, 200)?;
        let (_, time) = measure_time(|| {
            expect(client.json("PATCH", &format!("{id}/status"), &json!({"status": "active"}))?, 200)?;
            expect(order(client, change % 10)?, 200)
        })?;
        times.push(time);
    }
    times.sort();
    Ok(times[times.len() / 2])
}
