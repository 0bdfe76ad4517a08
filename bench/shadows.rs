//! Callers of a channel whose every run has a shadow, at a fixed rate: their latency, and that of a channel without one.

use std::io;
use std::time::Duration;

use serde_json::json;
use svc_testkit::server::ServerProcess;

use crate::figures::Figure;
use crate::load::Round;
use crate::paced::paced;
use crate::process::processor_time;
use crate::{BenchContext, CONNECTIONS};

/// Requests a second.
const RATE: usize = 2_000;
/// Rounds of each side, in turn; the median counts.
const ROUNDS: usize = 9;
/// Length of a round.
const ROUND: Duration = Duration::from_secs(4);
const WORKFLOW: &str = "/api/v1/admin/workflows/order-intake";

/// Measures both sides.
#[expect(clippy::print_stdout, reason = "the report is what a bench is for")]
pub(crate) fn measure(setting: &BenchContext) -> io::Result<()> {
    let (plain, shadowed) = (setting.serve("off")?, setting.serve("off")?);
    begin_shadow(&shadowed)?;
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        without.push(send(setting, &plain)?);
        with.push(send(setting, &shadowed)?);
    }
    let (without, with) = (median(&without), median(&with));
    println!("A shadow behind every run, {RATE}/s over {CONNECTIONS} connections, median of {ROUNDS} rounds");
    println!("  {:<20} {:>10} {:>11} {:>11} processor", "", "requests/s", "p50", "p99");
    println!("  {:<20} {without}", "without a shadow");
    println!("  {:<20} {with}", "with a shadow");
    let counted = shadowed.client().get(&format!("{WORKFLOW}/rollout"))?.json();
    let node = &counted["data"]["canary"]["shadows"]["node"];
    println!("  {} shadows ran, {} dropped", node["runs"], node["dropped"]);
    let more =
        |one: f64, other: f64| format!("{other:.3} to {one:.3} ms, {:+.1} %", (one / other - 1.0) * 100.0);
    setting.note([
        Figure::new("shadow of every run, p50", "+5 %", more(with.p50, without.p50)),
        Figure::new("shadow of every run, p99", "+20 % or 0.5 ms", more(with.p99, without.p99)),
    ]);
    Ok(())
}

/// Activates a second version of the workflow of the orders as a shadow.
fn begin_shadow(server: &ServerProcess) -> io::Result<()> {
    let mut client = server.client();
    client.json("POST", &format!("{WORKFLOW}/versions"), &json!({}))?.expect_status(201)?;
    let body = json!({"status": "active", "shadow": true});
    client.json("PATCH", &format!("{WORKFLOW}/status"), &body)?.expect_status(200)
}

fn send(setting: &BenchContext, server: &ServerProcess) -> io::Result<Round> {
    let before = processor_time(server.pid())?;
    let round = paced(server.address(), &setting.order()?, CONNECTIONS, RATE, ROUND)?.clean()?;
    Ok(round.with_processor_time(processor_time(server.pid())?.saturating_sub(before)))
}

/// Returns a round with the medians of each figure.
fn median(rounds: &[Round]) -> Round {
    let middle = |figure: &dyn Fn(&Round) -> f64| {
        let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures.get(figures.len() / 2).copied().unwrap_or_default()
    };
    Round {
        requests: rounds.iter().map(|round| round.requests).sum(),
        refused: 0,
        requests_per_second: middle(&|round| round.requests_per_second),
        p50: middle(&|round| round.p50),
        p99: middle(&|round| round.p99),
        processor: Some(middle(&|round| round.processor.unwrap_or_default())),
    }
}
