//! `benchmark`: many callers, one channel, the times of the answers.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::{Args, ValueEnum};
use futures_util::{StreamExt as _, stream};
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use svc_client::{ApiRequest, ClientError};
use tokio::time::Instant;

use super::send::data_path;
use crate::commands::definitions::channels::CHANNELS;
use crate::commands::definitions::workflows::WORKFLOWS;
use crate::commands::entity::EntityGroup;
use crate::context::CommandContext;
use crate::error::{CliError, EXIT_FAILURE};
use crate::input::InputArgs;
use crate::progress::ProgressDisplay;

/// Id of what a benchmark creates for itself.
const OWN_ID: &str = "svc-benchmark";
/// Significant digits of the measured times.
const DIGITS: u8 = 3;
/// Columns of the longest bar.
const BAR: u64 = 40;

/// The options of the command.
#[derive(Args, Debug)]
pub(crate) struct BenchmarkArgs {
    /// Messages in all
    #[arg(short = 'n', long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    requests: u32,
    /// Messages under way at the same time
    #[arg(short, long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    concurrency: u16,
    /// Longest time of one message
    #[arg(long, default_value_t = 30, value_name = "SECS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Workflow to create and measure
    #[arg(long, value_enum, default_value_t = BenchmarkScenario::Simple, conflicts_with_all = ["workflow", "channel"])]
    scenario: BenchmarkScenario,
    /// Measure this workflow, behind a channel that is created
    #[arg(long, value_name = "ID", conflicts_with = "channel")]
    workflow: Option<String>,
    /// Measure this channel; nothing is created
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    #[command(flatten)]
    input: InputArgs,
    /// Only delete what an interrupted benchmark left behind
    #[arg(long)]
    cleanup_only: bool,
}

/// A workflow to measure.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum BenchmarkScenario {
    /// One mapping
    Simple,
    /// Ten mappings, each with a condition
    Chain,
    /// Messages that are accepted and run later
    Async,
}

impl BenchmarkScenario {
    fn tasks(self) -> Vec<Value> {
        let count = if matches!(self, Self::Chain) { 10 } else { 1 };
        let task = |number: u32| {
            let mapping = json!({"path": format!("data.step{number}"), "logic": {"+": [number, 1]}});
            json!({"id": format!("step{number}"), "name": format!("Step {number}"), "condition": true,
                "function": {"name": "map", "input": {"mappings": [mapping]}}})
        };
        (0..count).map(task).collect()
    }
}

/// Creates what is needed, measures, and deletes it again.
pub(crate) async fn run(args: &BenchmarkArgs, context: &CommandContext) -> Result<u8, CliError> {
    if args.cleanup_only {
        delete_own(context).await?;
        context.output.print(&context.output.change(
            None,
            OWN_ID,
            "Deleted what a benchmark left behind.",
        )?)?;
        return Ok(0);
    }
    let payload =
        args.input.read()?.map_or_else(|| Ok(json!({"benchmark": true})), |document| document.json())?;
    if let Some(channel) = &args.channel {
        return measure_and_show(args, channel, &payload, context).await;
    }
    delete_own(context).await?;
    let result = match create_own(args, context).await {
        Ok(()) => tokio::select! {
            result = measure_and_show(args, OWN_ID, &payload, context) => result,
            _ = tokio::signal::ctrl_c() => Err(CliError::Partial("the benchmark was interrupted".to_owned())),
        },
        Err(error) => Err(error),
    };
    let deleted = delete_own(context).await;
    result.and_then(|code| deleted.map(|()| code))
}

async fn create_own(args: &BenchmarkArgs, context: &CommandContext) -> Result<(), CliError> {
    let workflow = match &args.workflow {
        Some(id) => id.clone(),
        None => {
            let body = json!({"workflow_id": OWN_ID, "name": OWN_ID, "tasks": args.scenario.tasks(), "tags": [OWN_ID]});
            create(&WORKFLOWS, &body, context).await?;
            OWN_ID.to_owned()
        }
    };
    let body = json!({"channel_id": OWN_ID, "name": OWN_ID, "channel_type": "sync", "protocol": "rest",
        "methods": ["POST"], "route_pattern": format!("/{OWN_ID}"), "workflow_id": workflow, "tags": [OWN_ID]});
    create(&CHANNELS, &body, context).await
}

async fn create(group: &EntityGroup, body: &Value, context: &CommandContext) -> Result<(), CliError> {
    context.send(&ApiRequest::post(group.path(&[])).json(body)?).await?;
    let active = ApiRequest::patch(group.path(&[OWN_ID, "status"])).json(&json!({"status": "active"}))?;
    context.send(&active).await?;
    Ok(())
}

/// Deletes the channel, then its workflow; absent ones are fine.
async fn delete_own(context: &CommandContext) -> Result<(), CliError> {
    for group in [CHANNELS, WORKFLOWS] {
        match context.send(&ApiRequest::delete(group.path(&[OWN_ID]))).await {
            Err(CliError::Client(error)) if error.status() == Some(404) => {}
            other => drop(other?),
        }
    }
    Ok(())
}

async fn measure_and_show(
    args: &BenchmarkArgs,
    channel: &str,
    payload: &Value,
    context: &CommandContext,
) -> Result<u8, CliError> {
    let is_async = args.channel.is_none() && matches!(args.scenario, BenchmarkScenario::Async);
    let path = format!("{}{}", data_path(channel), if is_async { "/async" } else { "" });
    let request = ApiRequest::post(path).once().timeout(Duration::from_secs(args.timeout));
    let request = request.json(&json!({"data": payload}))?;
    let measured = measure(args, &request, context).await?;
    let report = measured.report();
    let text = if context.output.is_quiet {
        format!("{:.0}\n", measured.rate())
    } else if context.output.is_table() {
        measured.text()
    } else {
        context.output.document(&report)?
    };
    context.output.print(&text)?;
    Ok(if measured.errors.is_empty() { 0 } else { EXIT_FAILURE })
}

/// The times of the answers in microseconds, and the errors by their code.
struct BenchmarkResult {
    latencies: Histogram<u64>,
    errors: BTreeMap<String, u64>,
    elapsed: Duration,
}

async fn measure(
    args: &BenchmarkArgs,
    request: &ApiRequest,
    context: &CommandContext,
) -> Result<BenchmarkResult, CliError> {
    let histogram = Histogram::new(DIGITS).map_err(|error| CliError::Partial(error.to_string()))?;
    let total = usize::try_from(args.requests).unwrap_or(usize::MAX);
    let progress = ProgressDisplay::new(total, !context.output.is_err_terminal || context.output.is_quiet);
    let mut result =
        BenchmarkResult { latencies: histogram, errors: BTreeMap::new(), elapsed: Duration::ZERO };
    let started = Instant::now();
    let exchanges = stream::repeat_with(|| send_timed(request, context)).take(total);
    let mut answers = exchanges.buffer_unordered(usize::from(args.concurrency));
    while let Some((latency, code)) = answers.next().await {
        match code {
            None => record(&mut result.latencies, latency),
            Some(code) => *result.errors.entry(code).or_default() += 1,
        }
        progress.add(1);
    }
    drop(answers);
    result.elapsed = started.elapsed();
    Ok(result)
}

/// Records a time; the bounds of the histogram grow with it.
fn record(latencies: &mut Histogram<u64>, latency: Duration) {
    let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
    if latencies.record(micros).is_err() {
        latencies.saturating_record(micros);
    }
}

/// Sends one message, and returns its time and the code of its error.
async fn send_timed(request: &ApiRequest, context: &CommandContext) -> (Duration, Option<String>) {
    let started = Instant::now();
    let result = context.client.exchange(request).await;
    let latency = started.elapsed();
    let code = match result {
        Ok(response) if response.status.is_success() => None,
        Ok(response) => {
            let body: Value = response.json().unwrap_or_default();
            Some(body["error"]["code"].as_str().map_or_else(|| response.status.to_string(), str::to_owned))
        }
        Err(ClientError::Timeout { .. }) => Some("timeout".to_owned()),
        Err(ClientError::Unreachable { .. }) => Some("no connection".to_owned()),
        Err(_) => Some("broken answer".to_owned()),
    };
    (latency, code)
}

impl BenchmarkResult {
    fn failure_count(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Returns the answers a second.
    fn rate(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        let answers = u32::try_from(self.latencies.len()).unwrap_or(u32::MAX);
        if seconds > 0.0 { f64::from(answers) / seconds } else { 0.0 }
    }

    /// Returns the named times in milliseconds.
    fn times(&self) -> Vec<(&'static str, f64)> {
        let times = &self.latencies;
        let quantiles = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];
        let quantiles = quantiles.map(|(name, quantile)| (name, millis(times.value_at_quantile(quantile))));
        let mut all = vec![("min", millis(times.min())), ("mean", times.mean() / 1_000.0)];
        all.extend(quantiles);
        all.push(("max", millis(times.max())));
        all
    }

    /// Returns the number of answers up to each bound in milliseconds; each bound is twice the one before.
    fn buckets(&self) -> Vec<(f64, u64)> {
        let counts = self.latencies.iter_log(125, 2.0);
        let counts =
            counts.map(|step| (millis(step.value_iterated_to() + 1), step.count_since_last_iteration()));
        let counts: Vec<_> = counts.collect();
        let first = counts.iter().position(|(_, count)| *count > 0).unwrap_or(counts.len());
        counts[first..].to_vec()
    }

    fn report(&self) -> Value {
        let times: serde_json::Map<_, _> =
            self.times().into_iter().map(|(name, ms)| (name.to_owned(), json!(ms))).collect();
        let buckets = self.buckets();
        let buckets: Vec<_> =
            buckets.iter().map(|(bound, count)| json!({"below_ms": bound, "count": count})).collect();
        json!({
            "requests": self.latencies.len() + self.failure_count(),
            "failed": self.failure_count(),
            "errors": self.errors,
            "elapsed_secs": self.elapsed.as_secs_f64(),
            "requests_per_second": self.rate(),
            "latency_ms": times,
            "histogram": buckets,
        })
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{} messages in {:.2} s, {:.0} a second, {} failed\n",
            self.latencies.len() + self.failure_count(),
            self.elapsed.as_secs_f64(),
            self.rate(),
            self.failure_count()
        );
        for (code, count) in &self.errors {
            text.push_str(&format!("  {count:>8}  {code}\n"));
        }
        if self.latencies.is_empty() {
            return text;
        }
        text.push_str("\nlatency in ms\n");
        for (name, ms) in self.times() {
            text.push_str(&format!("  {name:<6}{ms:>10.2}\n"));
        }
        text.push('\n');
        let buckets = self.buckets();
        let most = buckets.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
        for (bound, count) in buckets {
            let bar = "#".repeat(usize::try_from((count * BAR).div_ceil(most)).unwrap_or(0));
            let line = format!("  < {bound:>8.2} ms {count:>8}  {bar}");
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

fn millis(micros: u64) -> f64 {
    Duration::from_micros(micros).as_secs_f64() * 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(micros: &[u64]) -> BenchmarkResult {
        let mut latencies = Histogram::new(DIGITS).unwrap();
        micros.iter().for_each(|micros| record(&mut latencies, Duration::from_micros(*micros)));
        BenchmarkResult { latencies, errors: BTreeMap::new(), elapsed: Duration::from_secs(2) }
    }

    #[test]
    fn buckets_hold_every_answer_once() {
        let result = result(&[100, 900, 1_100, 40_000]);
        let buckets = result.buckets();
        assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), 4);
        assert!(buckets.windows(2).all(|pair| pair[0].0 < pair[1].0), "{buckets:?}");
        assert!(buckets.last().unwrap().0 >= 40.0, "{buckets:?}");
    }

    #[test]
    fn report_has_rate_and_quantiles() {
        let report = result(&[1_000; 10]).report();
        assert_eq!((&report["requests"], &report["requests_per_second"]), (&json!(10), &json!(5.0)));
        assert!((report["latency_ms"]["p99"].as_f64().unwrap() - 1.0).abs() < 0.01, "{report}");
    }
}
