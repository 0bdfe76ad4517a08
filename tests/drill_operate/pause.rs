//! Paused channels under load: submissions, schedules and records go on, a node is killed, and the channels are resumed.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::cron::{self, every_second};
use svc_testkit::example::create_and_activate;
use svc_testkit::findings::DrillVerdict;
use svc_testkit::http::HttpClient;
use svc_testkit::nodes::{expect_soon, pause};
use svc_testkit::postgres::PostgresDatabase;
use svc_testkit::reporting::{self, name_run, serve_workflow};
use svc_testkit::witness::RunWitness;

use crate::cluster::{OperateCluster, count, count_open, wait_until_none};
use crate::note;
use crate::partition::{DrillTopic, RECORD, find_order};
use crate::pause_verdict::{JOB, PauseEvidence, PausedTimes, SCHEDULES, judge};
use crate::submissions::{PlannedSubmission, SubmissionPlan, Submitters};

/// The channel of the submissions.
const JOBS: &str = "jobs";
/// The channel of the records.
const RECORDS: &str = "records";
/// The tag by which all channels are paused at once.
const TAG: &str = "drill";
/// Clients that submit.
const CLIENTS: usize = 96;
/// Time under load before the pause and after the resume.
const CALM: Duration = Duration::from_secs(5);
/// Time from the pause to the kill: long enough that everything that had begun has ended, and is written.
const BEFORE_KILL: Duration = Duration::from_secs(7);
/// Time from the restart of the node to the resume.
const AFTER_KILL: Duration = Duration::from_secs(5);
/// The node that is killed.
const VICTIM: usize = 1;
/// The metric that counts the changes of the assignment of a node.
const ASSIGNMENTS: &str = "svc_kafka_rebalances_total";

/// Carries out the drill with so many submissions in a second.
pub(crate) fn drill(binary: &Path, database: &PostgresDatabase, rate: u64) -> io::Result<DrillVerdict> {
    let witness = Arc::new(RunWitness::start(|_| Duration::ZERO)?);
    let topic = DrillTopic::create()?;
    let brokers = topic.addresses();
    let settings = [
        ("SVC_KAFKA__ENABLED", "true"),
        ("SVC_KAFKA__BROKERS", brokers.as_str()),
        ("SVC_KAFKA__SESSION_TIMEOUT_MS", "6000"),
        ("SVC_METRICS__ENABLED", "true"),
    ];
    let mut cluster = OperateCluster::start(binary, database, &witness, &settings)?;
    store(&mut cluster.client(0), &witness)?;
    cluster.wait_until_served(database)?;
    let before = await_readers(&cluster)?;
    let writer = topic.start_writer();
    expect_soon("every schedule and the topic are served", || {
        let rows = cron::rows(database).map_err(io::Error::other)?;
        let fires = |schedule: &str| rows.iter().any(|row| row.channel == schedule);
        let has_record = witness.runs().iter().any(|run| run.occurrence.starts_with(RECORD));
        Ok(has_record && SCHEDULES.iter().all(|(schedule, _)| fires(schedule)))
    })?;
    let first = witness.unix_now().as_secs() as i64 + 1;
    let begin = witness.now();
    let submitters = Submitters::start(&cluster, &witness, plan(rate));
    pause(CALM);
    let times = interrupt(&mut cluster, &witness)?;
    pause(CALM);
    let submitted = submitters.stop()?;
    let length = witness.now() - begin;
    note(&format!("{} submissions accepted in {length:?}", submitted.accepted.len()));
    let written = writer.stop()?;
    let window = first..=witness.unix_now().as_secs() as i64 - 1;
    let calm = witness.now();
    // What does not come to its end is for the judge to see.
    let left = wait_until_none(|| count_open(database))?;
    wait_until_none(|| {
        let is_settled = cron::is_settled(database, &window, SCHEDULES.len()).map_err(io::Error::other)?;
        Ok(usize::from(!is_settled))
    })?;
    wait_until_none(|| Ok(find_order(&witness.runs(), &written).missing.len()))?;
    let rebalances = count_rebalances(&before, &cluster.read_metric(ASSIGNMENTS)?);
    Ok(judge(&PauseEvidence {
        rate,
        length,
        submitted,
        left,
        dead_letters: count(database, "trace_dlq", "TRUE")?,
        settling: witness.now() - calm,
        rows: cron::rows(database).map_err(io::Error::other)?,
        window,
        began_unix: witness.unix(Duration::ZERO),
        times,
        kills: cluster.kills().to_vec(),
        order: find_order(&witness.runs(), &written),
        rebalances,
        records: written.values().sum(),
        runs: witness.runs(),
    }))
}

/// Stores and serves the definitions; every channel has the tag.
fn store(client: &mut HttpClient, witness: &RunWitness) -> io::Result<()> {
    reporting::connect(client, witness)?;
    for (id, body) in [
        (JOBS, name_run(JOB, &json!({"var": "payload.n"}))),
        ("tick", json!({"var": "metadata.trigger"})),
        (RECORDS, DrillTopic::body()),
    ] {
        serve_workflow(client, id, &reporting::report(&body))?;
    }
    let room = json!({"queue": {"max_waiting": 10_000_000}});
    let mut channels = vec![reporting::rest_channel(JOBS, &room), DrillTopic::channel(RECORDS, RECORDS)];
    channels.extend(SCHEDULES.iter().map(|(id, policy)| {
        let mut transport = json!({"misfire_policy": policy});
        if *policy == "catch_up" {
            transport["max_catch_up"] = json!(100);
        }
        every_second(id, "tick", transport)
    }));
    for mut channel in channels {
        channel["tags"] = json!([TAG]);
        create_and_activate(client, "channels", "channel_id", &channel)?;
    }
    Ok(())
}

/// Waits until every node reads a partition: one that joined later would have records run again. Returns the changes of
/// the assignment of each node so far.
fn await_readers(cluster: &OperateCluster) -> io::Result<Vec<u64>> {
    expect_soon("every node reads a partition", || {
        Ok(cluster.read_metric("svc_kafka_assigned_partitions")?.iter().all(|assigned| *assigned > 0))
    })?;
    cluster.read_metric(ASSIGNMENTS)
}

/// Counts the rebalances between two readings of the assignments of each node. The nodes that are not killed take part in
/// each of them.
fn count_rebalances(before: &[u64], after: &[u64]) -> usize {
    let nodes = before.iter().zip(after).enumerate().filter(|(node, _)| *node != VICTIM);
    let most = nodes.map(|(_, (before, after))| after.saturating_sub(*before)).max();
    most.unwrap_or_default() as usize
}

fn plan(rate: u64) -> SubmissionPlan {
    let make = |number: usize| PlannedSubmission { body: json!({"n": number}), deliver_at: None };
    SubmissionPlan { channel: JOBS, clients: CLIENTS, rate, count: None, make: Box::new(make) }
}

/// Pauses every channel, kills a node, and resumes the channels.
fn interrupt(cluster: &mut OperateCluster, witness: &RunWitness) -> io::Result<PausedTimes> {
    let order = json!({"filter": {"tag": TAG}, "reason": "the drill pauses everything"});
    let count_channels = |answer: &Value| answer["data"].as_array().map_or(0, Vec::len);
    let paused = count_channels(&cluster.order("channels/pause", &order)?);
    let paused_at = witness.now();
    note(&format!("{paused} channels are paused, {} runs have begun", witness.count_runs()));
    pause(BEFORE_KILL);
    let killed_at = witness.now();
    cluster.kill(VICTIM)?;
    pause(AFTER_KILL);
    let resumed_at = witness.now();
    let resumed = count_channels(&cluster.order("channels/resume", &order)?);
    note(&format!("{resumed} channels are resumed, node {VICTIM} was killed at {killed_at:?}"));
    if paused != SCHEDULES.len() + 2 || resumed != paused {
        return Err(io::Error::other(format!("{paused} channels were paused and {resumed} resumed")));
    }
    Ok(PausedTimes { paused_at, resumed_at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_that_lives_counts_rebalances() {
        assert_eq!(count_rebalances(&[2, 9, 2], &[4, 1, 5]), 3);
        assert_eq!(count_rebalances(&[2, 2, 2], &[2, 7, 2]), 0);
    }
}
