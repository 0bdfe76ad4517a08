//! The price list: microseconds of processor time of the service that one guard, one way of storing traces or one call adds
//! to a request. `make prices` keeps it in `bench/prices.json`, from which the table of the manual is made.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::server::ServerProcess;

use crate::credentials::credentials;
use crate::load::{Load, wrk};
use crate::process::processor_time;
use crate::submissions::drain;
use crate::{BenchContext, CONNECTIONS, ROUNDS};

/// The variable that names the file for the list.
pub(crate) const FILE: &str = "SVC_BENCH_PRICES";
/// Length of one round.
const ROUND: Duration = Duration::from_secs(2);
/// More than a bench sends, in any time.
const PLENTY: u64 = 1_000_000_000;
/// The header with the idempotency key.
const KEY: &str = "idempotency-key";

/// Processor time of the service for one use of something.
#[derive(Debug)]
pub(crate) struct Price {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) micros: f64,
    /// Microseconds by which rounds of the same differ: a lower price is none.
    pub(crate) spread: f64,
}

/// One way of taking a request. The first of all is what the others are compared with.
struct Offer<'s> {
    kind: &'static str,
    name: String,
    server: &'s ServerProcess,
    load: Load,
    /// Processor time of a request in each round, in microseconds.
    rounds: Vec<f64>,
}

/// Measures every offer in alternating rounds, and notes what it costs more than a request without guards and traces.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let order = setting.order()?;
    let (off, sync, batch) = (setting.serve("off")?, setting.serve("sync")?, setting.serve("batch")?);
    let mut submission = order.clone();
    submission.path.push_str("/async");
    let offer = |kind, name: &str, server, load| {
        let (name, rounds) = (name.to_owned(), Vec::with_capacity(ROUNDS));
        Offer { kind, name, server, load, rounds }
    };
    let mut offers = vec![
        offer("", "no guard, no trace", &off, order.clone()),
        offer("trace", "mode `batch`", &batch, order.clone()),
        offer("trace", "mode `sync`", &sync, order.clone()),
        offer("trace", "accepted with a 202, run and on record", &sync, submission),
    ];
    for (name, auth, header, value) in credentials(&order.body)? {
        let load = serve(&off, offers.len(), &json!({"auth": auth}), &order)?.with_header(header, value);
        offers.push(offer("credential", name, &off, load));
    }
    for Guard { name, config, header } in guards() {
        let load = serve(&off, offers.len(), &config, &order)?;
        let load = match header {
            Some((KEY, _)) => load.with_numbered_header(KEY),
            Some((header, value)) => load.with_header(header, value),
            None => load,
        };
        offers.push(offer("guard", name, &off, load));
    }
    for _ in 0..ROUNDS {
        for offer in &mut offers {
            offer.run()?;
        }
    }
    let least: Vec<_> = offers.into_iter().map(Offer::least).collect();
    let Some((base, rest)) = least.split_first() else { return Ok(()) };
    println!("Processor time beside a request with no guard and no trace, {:.1} µs", base.micros);
    let prices = rest.iter().map(|price| {
        let more = price.micros - base.micros;
        println!("  {:<12} {:<41} {more:>+7.1} µs", price.kind, price.name);
        Price { kind: price.kind, name: price.name.clone(), micros: more, spread: base.spread }
    });
    let first = Price { kind: "request", name: base.name.clone(), ..*base };
    setting.price(std::iter::once(first).chain(prices));
    Ok(())
}

impl Offer<'_> {
    /// Sends for one round, and waits until what was accepted has run.
    fn run(&mut self) -> io::Result<()> {
        let before = processor_time(self.server.pid())?;
        let round = wrk(self.server.address(), &self.load, CONNECTIONS, ROUND)?;
        // A queue that is full refuses; a guard that does is not the one to measure.
        let round = if self.kind == "trace" { round } else { round.clean()? };
        drain(self.server)?;
        let used = processor_time(self.server.pid())?.saturating_sub(before);
        self.rounds.push(used.as_secs_f64() * 1e6 / (round.requests - round.refused).max(1) as f64);
        Ok(())
    }

    /// The cheapest round, since what else the machine does only adds.
    fn least(mut self) -> Price {
        self.rounds.sort_by(f64::total_cmp);
        let micros = self.rounds.first().copied().unwrap_or_default();
        let spread = self.rounds.get(self.rounds.len() / 2).map_or(0.0, |median| median - micros);
        Price { kind: self.kind, name: self.name, micros, spread }
    }
}

/// A guard alone.
struct Guard {
    name: &'static str,
    config: Value,
    /// The header that it looks at.
    header: Option<(&'static str, &'static str)>,
}

fn guards() -> Vec<Guard> {
    let guard = |name, config| Guard { name, config, header: None };
    let keyed = |name, config| Guard { name, config, header: Some((KEY, "")) };
    let kept =
        |store: &str| json!({"deduplication": {"header": KEY, "on_duplicate": "replay", "store": store}});
    let schema = json!({"type": "object", "required": ["order_id", "qty"], "properties": {
        "order_id": {"type": "string"}, "qty": {"type": "integer", "minimum": 1}}});
    vec![
        guard("`rate_limit`", json!({"rate_limit": {"requests_per_second": PLENTY, "burst": PLENTY}})),
        Guard {
            name: "`origin_allow_list`",
            config: json!({"origin_allow_list": ["https://shop.example"]}),
            header: Some(("origin", "https://shop.example")),
        },
        guard(
            "`request.schema`, two members",
            json!({"request": {"body_mode": "payload", "schema": schema}}),
        ),
        guard(
            "`validation_logic`, one comparison",
            json!({"validation_logic": {">": [{"var": "data.qty"}, 0]}}),
        ),
        guard("`backpressure`", json!({"backpressure": {"max_concurrent_per_node": 1000}})),
        guard("`timeout_ms`", json!({"timeout_ms": 5000})),
        guard("`quota`", json!({"quota": {"limit": PLENTY, "per": "month"}})),
        keyed("`deduplication`, answers kept in memory", kept("memory")),
        keyed("`deduplication`, answers kept in the database", kept("database")),
        guard("`cache`, a hit, which saves the run", json!({"cache": {"enabled": true, "ttl_secs": 3600}})),
    ]
}

/// Serves the workflow of the quickstart behind a guard, and returns a request to it.
fn serve(server: &ServerProcess, number: usize, config: &Value, order: &Load) -> io::Result<Load> {
    let id = format!("price-{number}");
    let document = json!({
        "channel_id": id, "name": id, "channel_type": "sync", "protocol": "rest", "methods": ["POST"],
        "route_pattern": format!("/prices/{number}"), "workflow_id": "order-intake", "config": config,
    });
    create_and_activate(&mut server.client(), "channels", "channel_id", &document)?;
    Ok(Load::post(&format!("/api/v1/data/prices/{number}"), order.body.clone()))
}

/// Writes the list, with the day and the machine.
pub(crate) fn write(file: &Path, prices: &[Price]) -> io::Result<()> {
    let date = Command::new("date").args(["-u", "+%-d %B %Y"]).env("LC_ALL", "C").output()?;
    let date = String::from_utf8_lossy(&date.stdout);
    let rows = prices.iter().map(|Price { kind, name, micros, spread }| {
        let [micros, spread] = [micros, spread].map(|value| (value * 10.0).round() / 10.0);
        json!({"kind": kind, "name": name, "micros": micros, "spread": spread, "measured": date.trim()})
    });
    let cores = std::thread::available_parallelism()?;
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let list = json!({
        "machine": format!("{cores} cores, {}", model.map_or("unknown", |(_, model)| model.trim())),
        "prices": rows.collect::<Vec<_>>(),
    });
    std::fs::write(file, format!("{list:#}\n"))
}
