//! The processor time of a connector call: the service's own part next to the bare driver.
//!
//! One workflow makes many calls for each request, one after the other; the same workflow with tasks that
//! only write is taken off. The bare driver makes as many calls from this process. Servers are processes of
//! their own, so neither side pays for them.

mod bare;

use std::fs;
use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::postgres::Postgres;
use svc_testkit::redis::Redis;
use svc_testkit::server::ServerProcess;

use crate::BenchContext;
use crate::figures::Figure;
use crate::population::expect;
use crate::prices::Price;
use crate::process::{Companion, processor_time};

/// Calls of one request.
const TASKS: usize = 20;
/// Requests of one round.
const REQUESTS: usize = 1000;
/// Records go alone, here as in the bare driver: while one waits for others, a process costs what it costs
/// when idle.
const CONFIG: &str = "[kafka.extra_config]\n\"linger.ms\" = \"0\"\n";
/// Rounds of each side; the fastest counts, as what else the machine does only adds.
const ROUNDS: usize = 3;
/// The key that is read.
const KEY: &str = "k";

/// One kind of call, and its bare driver.
struct Side {
    function: &'static str,
    connector: Value,
    input: Value,
    bare: Box<dyn Fn(usize) -> io::Result<()>>,
}

/// Calls of every kind whose server is there.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let api = setting.bare()?;
    let brokers = Companion::start(&setting.binaries.join("brokers"))?;
    let (postgres, redis) = (Postgres::own(), Redis::own());
    let launch = setting.launch()?;
    let config = launch.directory().join("bench.toml");
    fs::write(&config, CONFIG)?;
    let server = launch
        .args(&["-c", &config.to_string_lossy()])
        .env("SVC_TRACE_STORAGE__MODE", "off")
        .env("SVC_KAFKA__ENABLED", "true")
        .env("SVC_KAFKA__BROKERS", brokers.output_text())
        .start()?;
    let mut sides = vec![bare::http(api.address()), bare::kafka(brokers.output_text())];
    if let Some(postgres) = &postgres {
        sides.push(bare::postgres(&postgres.database().map_err(io::Error::other)?)?);
    }
    if let Some(redis) = &redis {
        sides.push(bare::redis(redis.url())?);
    }
    let mut client = server.client().keep_alive();
    serve(&mut client, "nothing", &[write()])?;
    println!("Processor time of one call, {TASKS} calls in a request, the fastest of {ROUNDS} rounds");
    println!("  {:<16} {:>12} {:>12} {:>12}", "", "service", "bare driver", "own part");
    for side in &sides {
        // One that waited while a bare driver was measured may have been closed.
        let mut client = server.client().keep_alive();
        let body = json!({"name": side.function, "connector_type": side.connector["type"], "config": side.connector});
        expect(client.json("POST", "/api/v1/admin/connectors", &body)?, 201)?;
        let mut input = side.input.clone();
        input["connector"] = side.function.into();
        serve(&mut client, side.function, &[json!({"name": side.function, "input": input})])?;
        let nothing = fastest(|| measure_call(&server, &mut client, "nothing"))?;
        let service = fastest(|| measure_call(&server, &mut client, side.function))?.saturating_sub(nothing);
        let bare = fastest(|| own_time(|| (side.bare)(REQUESTS * TASKS)))?;
        let own = service.saturating_sub(bare);
        println!("  {:<16} {} {} {}", side.function, micros(service), micros(bare), micros(own));
        let work = format!("own part of a call, {}", side.function);
        let part = own.as_secs_f64() * 1e6 / (REQUESTS * TASKS) as f64;
        let name = format!("`{}` beside its bare driver", side.function);
        setting.price([Price { kind: "call", name, micros: part, spread: 0.0 }]);
        // A read of PostgreSQL is a transaction, which the bare driver does not begin.
        let aim = if side.function == "db_read" { "15 µs" } else { "10 µs" };
        setting.note([Figure::new(work, aim, micros(own).trim())]);
    }
    Ok(())
}

/// The processor time of one call.
fn micros(whole: Duration) -> String {
    format!("{:>9.1} µs", whole.as_secs_f64() * 1e6 / (REQUESTS * TASKS) as f64)
}

fn fastest(mut round: impl FnMut() -> io::Result<Duration>) -> io::Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        times.push(round()?);
    }
    times.into_iter().min().ok_or_else(|| io::Error::other("no round"))
}

/// Measures the processor time of the service for the requests of a round.
fn measure_call(server: &ServerProcess, client: &mut HttpClient, channel: &str) -> io::Result<Duration> {
    let before = processor_time(server.pid())?;
    for _ in 0..REQUESTS {
        expect(client.json("POST", &format!("/api/v1/data/{channel}"), &json!({}))?, 200)?;
    }
    Ok(processor_time(server.pid())?.saturating_sub(before))
}

/// Measures the processor time of this process for some work.
fn own_time(work: impl FnOnce() -> io::Result<()>) -> io::Result<Duration> {
    let before = processor_time(std::process::id())?;
    work()?;
    Ok(processor_time(std::process::id())?.saturating_sub(before))
}

/// A task without a call.
fn write() -> Value {
    json!({"name": "map", "input": {"mappings": [{"path": "data.r", "logic": KEY}]}})
}

/// A channel whose workflow does this many times over.
fn serve(client: &mut HttpClient, name: &str, functions: &[Value]) -> io::Result<()> {
    let task = |number: usize| {
        let function = &functions[number % functions.len()];
        json!({"id": format!("t{number}"), "name": format!("t{number}"), "function": function})
    };
    let tasks: Vec<_> = (0..TASKS).map(task).collect();
    crate::calls::serve(client, name, &tasks)
}
