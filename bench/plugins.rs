//! The own time of a small call of a plugin, by the language of its guest.
//!
//! One workflow makes many calls for each request, one after the other; the same workflow with tasks that only write is
//! taken off.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::plugins::{build_guest, describe_plugin, serve_plugin};
use svc_testkit::server::ServerProcess;

use crate::BenchContext;
use crate::calls::serve;
use crate::figures::Figure;
use crate::population::expect;
use crate::process::processor_time;

/// Calls of one request.
const TASKS: usize = 20;
/// Rounds of each guest; the fastest counts, as what else the machine does only adds.
const ROUNDS: usize = 3;
/// The function of every guest.
const FUNCTION: &str = "slug";
/// The channel whose tasks only write.
const NOTHING: &str = "nothing";

/// A guest: its language, the aim of a call, and the requests of a round, more for what takes less.
struct MeasuredGuest {
    language: &'static str,
    aim: &'static str,
    requests: usize,
}

const GUESTS: [MeasuredGuest; 3] = [
    MeasuredGuest { language: "compiled", aim: "30 µs", requests: 1000 },
    MeasuredGuest { language: "javascript", aim: "1,000 µs", requests: 100 },
    MeasuredGuest { language: "python", aim: "10,000 µs", requests: 20 },
];

/// Measures the guests that can be built.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let server = setting.launch()?.env("SVC_TRACE_STORAGE__MODE", "off").start()?;
    let mut client = server.client().keep_alive();
    serve_many(
        &mut client,
        NOTHING,
        &json!({"name": "map", "input": {"mappings": [
        {"path": "data.slug", "logic": {"var": "payload.text"}}]}}),
    )?;
    println!(
        "Processor time of one call of a plugin, {TASKS} calls in a request, the fastest of {ROUNDS} rounds"
    );
    println!("  {:<16} {:>12} {:>12}", "", "own time", "aim");
    for MeasuredGuest { language, aim, requests } in GUESTS {
        let component = match build_guest(&setting.server, language) {
            Ok(component) => component,
            Err(reason) => {
                println!("  {language:<16} not measured: {reason}");
                continue;
            }
        };
        serve_plugin(&mut client, &describe_plugin(language, FUNCTION, &json!({})), &component)?;
        let input = json!({"text": {"var": "payload.text"}, "output": "data.slug"});
        serve_many(
            &mut client,
            language,
            &json!({"name": format!("{language}.{FUNCTION}"), "input": input}),
        )?;
        let whole = measure_fastest(&server, &mut client, language, requests)?;
        let nothing = measure_fastest(&server, &mut client, NOTHING, requests)?;
        let own = whole.saturating_sub(nothing).as_secs_f64() * 1e6 / (requests * TASKS) as f64;
        println!("  {language:<16} {own:>9.1} µs {aim:>12}");
        let work = format!("own time of a small call of a plugin, {language}");
        setting.note([Figure::new(work, aim, format!("{own:.1} µs"))]);
    }
    Ok(())
}

/// Serves a channel whose workflow does this many times over.
fn serve_many(client: &mut HttpClient, name: &str, function: &Value) -> io::Result<()> {
    let task = |number: usize| {
        let id = format!("t{number}");
        json!({"id": id, "name": id, "function": function})
    };
    serve(client, name, &(0..TASKS).map(task).collect::<Vec<_>>())
}

/// Measures the processor time of the service for the requests of a round, in the fastest of the rounds.
fn measure_fastest(
    server: &ServerProcess,
    client: &mut HttpClient,
    channel: &str,
    requests: usize,
) -> io::Result<Duration> {
    let mut fastest = Duration::MAX;
    for _ in 0..ROUNDS {
        let before = processor_time(server.pid())?;
        for _ in 0..requests {
            let path = format!("/api/v1/data/{channel}");
            expect(client.json("POST", &path, &json!({"text": "Hello World"}))?, 200)?;
        }
        fastest = fastest.min(processor_time(server.pid())?.saturating_sub(before));
    }
    Ok(fastest)
}
