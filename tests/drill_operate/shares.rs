//! The flood of one tenant next to ten jobs of each of 99 others, on a channel with shares: the others are timed first
//! without it, then with it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::findings::{DrillVerdict, Findings, percentile};
use svc_testkit::postgres::PostgresDatabase;
use svc_testkit::reporting::{self, name_run, serve_channel, serve_workflow};
use svc_testkit::witness::{RunWitness, WitnessedRun, runs_by_name};

use crate::cluster::{OperateCluster, count, millis, wait_until_none};
use crate::note;
use crate::repetitions::{find_repetitions, find_unseen};
use crate::submissions::{
    AcceptedSubmission, PlannedSubmission, SubmissionPlan, SubmitterRecord, submit_all,
};

/// The channel with shares.
const CHANNEL: &str = "fair";
/// The tenant with the flood.
const FLOOD: &str = "flood";
/// Tenants next to it, and the jobs of each, which it submits one after the other.
const TENANTS: usize = 99;
const JOBS: usize = 10;
/// Jobs of these tenants that are submitted in a second.
const PACE: u64 = 100;
/// Jobs of one tenant that run at the same time.
const SHARE: usize = 2;
/// Time that every run takes.
const RUN: Duration = Duration::from_millis(50);
/// Clients that submit the flood, and those that submit the jobs of the others.
const FLOOD_CLIENTS: usize = 48;
const CLIENTS: usize = 12;
/// Times by which the flood may slow the others down.
const SLOWER: u32 = 2;

/// The jobs of the 99 tenants of one measurement.
struct TenantTimes {
    /// Kind of the names by which their runs report.
    kind: &'static str,
    submitted: SubmitterRecord,
}

/// The evidence to judge.
struct SharesEvidence {
    flood: usize,
    /// Jobs of the flood that still waited after the measurement.
    waiting: usize,
    flooded_in: Duration,
    calm: TenantTimes,
    busy: TenantTimes,
    runs: Vec<WitnessedRun>,
}

/// Carries out the drill with so many jobs of the flood.
pub(crate) fn drill(binary: &Path, database: &PostgresDatabase, flood: usize) -> io::Result<DrillVerdict> {
    let witness = Arc::new(RunWitness::start(|_| RUN)?);
    let room = (flood + TENANTS * JOBS) * 2;
    let most = room.to_string();
    let settings = [("SVC_TRACE_QUEUE__MAX_WAITING", most.as_str())];
    let cluster = OperateCluster::start(binary, database, &witness, &settings)?;
    let mut client = cluster.client(0);
    reporting::connect(&mut client, &witness)?;
    let body = name_run("share", &json!({"var": "payload.name"}));
    serve_workflow(&mut client, CHANNEL, &reporting::report(&body))?;
    let queue =
        json!({"key_logic": {"var": "data.tenant"}, "max_concurrent_per_key": SHARE, "max_waiting": room});
    serve_channel(&mut client, CHANNEL, &json!({"queue": queue}))?;
    cluster.wait_until_served(database)?;

    let calm = measure(&cluster, &witness, "calm")?;
    let begin = witness.now();
    submit_all(&cluster, &witness, plan_flood(flood))?;
    let flooded_in = witness.now() - begin;
    note(&format!("the flood of {flood} jobs was accepted in {flooded_in:?}"));
    let busy = measure(&cluster, &witness, "busy")?;
    let waiting = count(database, "traces", "mode = 'async' AND status <> 'completed'")?;
    Ok(judge(&SharesEvidence { flood, waiting, flooded_in, calm, busy, runs: witness.runs() }))
}

/// Submits the jobs of the 99 tenants, and waits until each has been answered by the witness.
fn measure(
    cluster: &OperateCluster,
    witness: &Arc<RunWitness>,
    kind: &'static str,
) -> io::Result<TenantTimes> {
    let make = move |number: usize| PlannedSubmission {
        body: json!({"tenant": format!("tenant-{}", number / JOBS), "name": format!("{kind}-{number}")}),
        deliver_at: None,
    };
    let count = Some(TENANTS * JOBS);
    let plan = SubmissionPlan { channel: CHANNEL, clients: CLIENTS, rate: PACE, count, make: Box::new(make) };
    let times = TenantTimes { kind, submitted: submit_all(cluster, witness, plan)? };
    wait_until_none(|| {
        let runs = witness.runs();
        Ok(times.find_unseen(&runs_by_name(&runs)).len())
    })?;
    Ok(times)
}

fn plan_flood(flood: usize) -> SubmissionPlan {
    let make = |number: usize| PlannedSubmission {
        body: json!({"tenant": FLOOD, "name": format!("{FLOOD}-{number}")}),
        deliver_at: None,
    };
    SubmissionPlan {
        channel: CHANNEL,
        clients: FLOOD_CLIENTS,
        rate: 0,
        count: Some(flood),
        make: Box::new(make),
    }
}

impl TenantTimes {
    fn name(&self, job: &AcceptedSubmission) -> String {
        format!("share-{}-{}", self.kind, job.number)
    }

    /// Returns the jobs that the witness has not answered.
    fn find_unseen(&self, runs: &BTreeMap<&str, Vec<&WitnessedRun>>) -> Vec<String> {
        let names: Vec<_> = self.submitted.accepted.iter().map(|job| self.name(job)).collect();
        find_unseen(names.iter().map(String::as_str), runs)
    }

    /// Returns the times from the submission of each job to the end of its run, in order.
    fn list_latencies(&self, runs: &BTreeMap<&str, Vec<&WitnessedRun>>) -> Vec<Duration> {
        let latency = |job: &AcceptedSubmission| {
            let end = runs.get(self.name(job).as_str())?.iter().find(|run| run.answered)?.end?;
            Some(end.saturating_sub(job.sent))
        };
        let mut latencies: Vec<_> = self.submitted.accepted.iter().filter_map(latency).collect();
        latencies.sort();
        latencies
    }
}

fn judge(evidence: &SharesEvidence) -> DrillVerdict {
    let mut findings = Findings::default();
    let runs = runs_by_name(&evidence.runs);
    let [calm, busy] = [&evidence.calm, &evidence.busy].map(|times| {
        let unseen = times.find_unseen(&runs);
        findings.expect_none(&format!("jobs of the 99 tenants ({}) were never run", times.kind), &unseen);
        times.list_latencies(&runs)
    });
    let repetitions = find_repetitions(&runs, &[]);
    findings.expect_none("jobs ran twice", &repetitions.unexplained);
    let (without, with) = (percentile(&calm, 99), percentile(&busy, 99));
    let is_slower = without.zip(with).is_none_or(|(without, with)| with > without * SLOWER);
    let found = is_slower.then(|| format!("{with:?} with it, {without:?} without it"));
    findings.expect_none(
        "percentiles (99th) of the 99 tenants are more than twice those without the flood",
        found.as_slice(),
    );
    findings.at_least("jobs of the flood that wait to the end", evidence.waiting, evidence.flood / 2);
    let shown = |latencies: &[Duration]| -> Value {
        json!({"p50": millis(percentile(latencies, 50)), "p99": millis(percentile(latencies, 99)),
            "max": millis(latencies.last().copied())})
    };
    let figures = json!({
        "flood": evidence.flood, "flooded_in_ms": millis(Some(evidence.flooded_in)),
        "flood_waiting": evidence.waiting, "tenants": TENANTS, "jobs_of_each": JOBS,
        "latency_without_ms": shown(&calm), "latency_with_ms": shown(&busy),
    });
    findings.into_verdict(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repetitions::answered_run;

    /// Ten jobs of a measurement, which took so many milliseconds each.
    fn times(kind: &'static str, took: u64) -> (TenantTimes, Vec<WitnessedRun>) {
        let job = |number: usize| AcceptedSubmission {
            number,
            trace: String::new(),
            sent: Duration::from_secs(number as u64),
        };
        let accepted: Vec<_> = (0..10).map(job).collect();
        let submitted = SubmitterRecord { accepted, ..SubmitterRecord::default() };
        let times = TenantTimes { kind, submitted };
        let run = |job: &AcceptedSubmission| WitnessedRun {
            end: Some(job.sent + Duration::from_millis(took)),
            ..answered_run(&times.name(job), job.sent)
        };
        let runs = times.submitted.accepted.iter().map(run).collect();
        (times, runs)
    }

    fn failures(busy_took: u64, waiting: usize, change: impl FnOnce(&mut Vec<WitnessedRun>)) -> String {
        let ((calm, mut runs), (busy, more)) = (times("calm", 100), times("busy", busy_took));
        runs.extend(more);
        change(&mut runs);
        let flooded_in = Duration::from_secs(1);
        judge(&SharesEvidence { flood: 100, waiting, flooded_in, calm, busy, runs }).failures.join("\n")
    }

    #[test]
    fn slowed_lost_and_repeated_jobs_are_found() {
        assert_eq!(failures(200, 50, |_| {}), "");
        assert!(failures(201, 50, |_| {}).contains("more than twice"));
        assert!(failures(200, 49, |_| {}).contains("too little"));
        assert!(failures(200, 50, |runs| drop(runs.remove(3))).contains("never run: share-calm-3"));
        let again = answered_run("share-flood-1", Duration::ZERO);
        let twice = |runs: &mut Vec<WitnessedRun>| runs.extend([again.clone(), again]);
        assert!(failures(200, 50, twice).contains("ran twice"));
    }
}
