//! `make drill-backtest`: a draft with a changed rule over stored runs, without load and while the node serves requests at
//! a steady rate. The runs that differ are computed from their messages, by arithmetic of this program; the system that the workflow calls
//! sees if the backtest calls it.
//!
//! The verdict is one JSON document on standard output and in a file; the exit code is 1 if anything was found.

mod load;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::findings::{DrillVerdict, Findings};
use svc_testkit::http::HttpClient;
use svc_testkit::server::{ServerCommand, ServerProcess, wait_until};
use svc_testkit::upstream::{Upstream, UpstreamReply};

use load::{ServedLoad, work_under_load};

/// Bytes of a message.
const MESSAGE_BYTES: usize = 4096;
/// The price without the rebate, and the rebate.
const PRICE: u64 = 20;
const REBATE: u64 = 3;
/// Quantities are counted modulo this number; from the first threshold on the version gives the rebate, from the second
/// one on the draft.
const MODULUS: u64 = 97;
const SERVED_FROM: u64 = 90;
const DRAFT_FROM: u64 = 88;
/// Longest time that a backtest of 10,000 runs may take.
const MOST_SECONDS: u64 = 10;
const MEASURED_RUNS: u64 = 10_000;
/// Longest wait for a state.
const LONG: Duration = Duration::from_secs(120);
/// Rows of a page.
const PAGE: u64 = 200;

/// Share of the rate that the node must serve during the backtest, in percent.
const LEAST_SERVED: u64 = 95;
const USAGE: &str = "usage: drill-backtest SVC_SERVER_BINARY RUNS REQUESTS_PER_SECOND VERDICT_FILE";

fn main() -> io::Result<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let binary = args.next().map(PathBuf::from);
    let mut number = || args.next().and_then(|count| count.to_str()?.parse::<u64>().ok());
    let (runs, rate) = (number(), number().filter(|rate| *rate > 0));
    let (Some(binary), Some(runs), Some(rate), Some(file)) = (binary, runs, rate, args.next()) else {
        return Err(io::Error::other(USAGE));
    };
    drill(&binary, runs, rate)?.publish(&file)
}

/// The definitions, as they are at the server.
const CHANNEL: &str = "/api/v1/data/price";
const WORKFLOW: &str = "/api/v1/admin/workflows/price";

fn drill(binary: &Path, runs: u64, rate: u64) -> io::Result<DrillVerdict> {
    let shop = Upstream::start(|_| UpstreamReply::new(200, json!({"price": PRICE}).to_string()))?;
    let server = ServerCommand::new(binary)?.start()?;
    let mut client = server.client().keep_alive();
    define(&mut client, &shop)?;
    for number in 0..runs {
        client.json("POST", CHANNEL, &message(number))?.expect_status(200)?;
    }
    let is_recorded = wait_until(LONG, || Ok(count_recordings(&mut client)? == runs))?;
    if !is_recorded {
        return Err(io::Error::other(format!("not all of {runs} runs were recorded in time")));
    }
    let expected = find_expected(&mut client, runs)?;
    client.json("POST", &format!("{WORKFLOW}/versions"), &json!({}))?.expect_status(201)?;
    client.json("PUT", WORKFLOW, &json!({"tasks": tasks(DRAFT_FROM)}))?.expect_status(200)?;
    let calls_before = shop.requests().len();
    let quiet = measure(&server, runs)?;
    let (busy, load) = work_under_load(&server, rate, &message(0), || measure(&server, runs))?;
    let calls = shop.requests().len() - calls_before;
    let mut findings = judge_load(rate, &load);
    judge_backtests(&mut findings, runs, &expected, [&quiet, &busy]);
    findings.at_most("calls of the backtests", calls, 0);
    Ok(findings.into_verdict(json!({
        "runs": runs,
        "differing": expected.len(),
        "seconds": {"without_load": quiet.took.as_secs_f64(), "under_load": busy.took.as_secs_f64()},
        "requests_a_second": {"sent": rate, "served": load.rate()},
        "calls_of_backtests": calls,
    })))
}

/// A backtest that has ended.
struct MeasuredBacktest {
    report: Value,
    took: Duration,
}

/// Makes a backtest of the draft over the first recorded runs, and measures it.
#[expect(clippy::disallowed_methods, reason = "the drill measures another process in real time")]
fn measure(server: &ServerProcess, runs: u64) -> io::Result<MeasuredBacktest> {
    let mut client = server.client().keep_alive();
    let started_at = Instant::now();
    let body = json!({"limit": runs, "filter": {"version": 1}});
    let started = client.json("POST", &format!("{WORKFLOW}/backtest"), &body)?;
    started.expect_status(202)?;
    let id = started.json()["data"]["id"].as_str().unwrap_or_default().to_owned();
    let path = format!("/api/v1/admin/backtests/{id}");
    let mut backtest = Value::Null;
    let has_ended = wait_until(LONG, || {
        backtest = client.get(&path)?.json()["data"].take();
        Ok(!["pending", "running"].contains(&backtest["state"].as_str().unwrap_or_default()))
    })?;
    if !has_ended || backtest["state"] != "completed" {
        return Err(io::Error::other(format!("the backtest ended as {backtest}")));
    }
    Ok(MeasuredBacktest { report: backtest["report"].take(), took: started_at.elapsed() })
}

/// Compares the load with the rate at which it was sent: every request must be served, about as fast.
fn judge_load(rate: u64, load: &ServedLoad) -> Findings {
    let mut findings = Findings::default();
    let millis = u64::try_from(load.took.as_millis()).unwrap_or(u64::MAX);
    let due = (rate * LEAST_SERVED).saturating_mul(millis) / 100_000;
    findings.at_least("requests served during the backtest", to_usize(load.served), to_usize(due));
    findings.at_most("requests refused during the backtest", to_usize(load.failed), 0);
    findings
}

/// Compares the reports with the expected runs.
fn judge_backtests(
    findings: &mut Findings,
    runs: u64,
    expected: &BTreeSet<String>,
    backtests: [&MeasuredBacktest; 2],
) {
    for (backtest, load) in backtests.into_iter().zip(["without load", "under load"]) {
        let report = &backtest.report;
        let named: BTreeSet<String> = report["differing"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|id| id.as_str().map(str::to_owned))
            .collect();
        let missing: Vec<String> = expected.difference(&named).cloned().collect();
        let surplus: Vec<String> = named.difference(expected).cloned().collect();
        findings.expect_none(&format!("runs differ and are not named {load}"), &missing);
        findings.expect_none(&format!("runs are named and do not differ {load}"), &surplus);
        findings.at_least(&format!("runs {load}"), count(&report["runs"]), to_usize(runs));
        let kinds = &report["kinds"];
        findings.at_least("different answers", count(&kinds["different-answer"]), expected.len());
    }
    findings.at_least("runs that differ", expected.len(), 1);
    let most = Duration::from_secs(MOST_SECONDS * runs.div_ceil(MEASURED_RUNS).max(1));
    let slow: Vec<String> =
        backtests.iter().filter(|one| one.took > most).map(|one| format!("{:?}", one.took)).collect();
    findings.expect_none(&format!("backtests took longer than {most:?}"), &slow);
}

/// Returns the ids of the recordings whose answer the draft changes, by their messages.
fn find_expected(client: &mut HttpClient, runs: u64) -> io::Result<BTreeSet<String>> {
    let mut expected = BTreeMap::new();
    for offset in (0..runs).step_by(to_usize(PAGE)) {
        let page = client.get(&format!("/api/v1/admin/recordings?limit={PAGE}&offset={offset}"))?.json();
        for row in page["data"].as_array().into_iter().flatten() {
            let id = row["id"].as_str().unwrap_or_default().to_owned();
            let stored = client.get(&format!("/api/v1/admin/recordings/{id}"))?.json();
            let quantity = stored["data"]["recording"]["payload"]["quantity"].as_u64();
            let quantity =
                quantity.ok_or_else(|| io::Error::other(format!("recording {id} has no number")))?;
            expected.insert(id, sum(quantity, SERVED_FROM) != sum(quantity, DRAFT_FROM));
        }
    }
    Ok(expected.into_iter().filter(|(_, differs)| *differs).map(|(id, _)| id).collect())
}

/// Computes the answer to a message.
fn sum(quantity: u64, rebate_from: u64) -> u64 {
    let price = if quantity % MODULUS >= rebate_from { PRICE - REBATE } else { PRICE };
    price * quantity
}

fn define(client: &mut HttpClient, shop: &Upstream) -> io::Result<()> {
    let connector = json!({"id": "shop", "name": "shop", "connector_type": "http",
        "config": {"url": shop.url(""), "allow_private_urls": true}});
    client.json("POST", "/api/v1/admin/connectors", &connector)?.expect_status(201)?;
    let plain = json!([{"id": "take", "name": "Take", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.n", "logic": {"var": "payload.quantity"}}]}}}]);
    let recorded = json!({"tracing": {"record": {"share": 1, "max_per_day": 10_000_000}}});
    for (id, tasks, config) in [("price", tasks(SERVED_FROM), recorded), ("plain", plain, json!({}))] {
        let workflow = json!({"workflow_id": id, "name": id, "tasks": tasks});
        create_and_activate(client, "workflows", "workflow_id", &workflow)?;
        let channel = json!({"channel_id": id, "name": id, "channel_type": "sync", "protocol": "rest",
            "methods": ["POST"], "route_pattern": format!("/{id}"), "workflow_id": id, "config": config});
        create_and_activate(client, "channels", "channel_id", &channel)?;
    }
    Ok(())
}

/// Returns the tasks of the workflow: the shop is asked for the price, from which the rebate is taken.
fn tasks(rebate_from: u64) -> Value {
    let rebate = json!({">=": [{"%": [{"var": "payload.quantity"}, MODULUS]}, rebate_from]});
    let price =
        json!({"if": [rebate, {"-": [{"var": "data.shop.price"}, REBATE]}, {"var": "data.shop.price"}]});
    json!([
        {"id": "ask", "name": "Ask", "function": {"name": "http_call", "input": {
            "connector": "shop", "method": "POST", "path": "/price",
            "body_logic": {"quantity": {"var": "payload.quantity"}}, "output": "data.shop"}}},
        {"id": "sum", "name": "Sum", "function": {"name": "map", "input": {"mappings": [
            {"path": "data.sum", "logic": {"*": [price, {"var": "payload.quantity"}]}}]}}},
    ])
}

/// Returns the message of a run.
fn message(number: u64) -> Value {
    json!({"quantity": number + 1, "note": "x".repeat(MESSAGE_BYTES)})
}

fn count_recordings(client: &mut HttpClient) -> io::Result<u64> {
    let page = client.get("/api/v1/admin/recordings?limit=1")?.json();
    Ok(page["total"].as_u64().unwrap_or_default())
}

fn count(value: &Value) -> usize {
    to_usize(value.as_u64().unwrap_or_default())
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_below_its_rate_is_found() {
        let took = Duration::from_secs(4);
        let judge = |served: u64, failed: u64| {
            judge_load(1000, &ServedLoad { served, failed, took }).into_verdict(Value::Null).has_passed()
        };
        assert!(judge(3990, 0));
        assert!(!judge(3600, 0), "900 a second");
        assert!(!judge(3990, 1), "one was refused");
    }
}
