//! Dead letters of a channel that failed: grouped, requeued by one order that is aborted half-way, and by a second one
//! that does the rest, while the node that drives them is killed.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::findings::DrillVerdict;
use svc_testkit::nodes::{PATIENCE, now, pause};
use svc_testkit::postgres::PostgresDatabase;
use svc_testkit::reporting::{self, serve_channel, serve_workflow};
use svc_testkit::witness::RunWitness;

use crate::bulk_verdict::{
    BulkEvidence, BulkOrderRecord, CAUSES, ErrorGroupReading, FilledLetters, RATE, judge,
};
use crate::cluster::{NODES, OperateCluster, count, count_open, wait_until_none};
use crate::note;
use crate::submissions::{PlannedSubmission, SubmissionPlan, submit_all};

/// The channel, and its workflow.
const CHANNEL: &str = "orders";
/// Clients that submit.
const CLIENTS: usize = 48;
/// Readings of the groups by each node.
const READINGS: usize = 2;
/// Time between two looks at an order.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// An intervention, once an order has done so many rows.
#[derive(Clone, Copy, Debug)]
enum Intervention {
    /// The node that drives the order is killed.
    Kill(usize),
    /// The order is aborted.
    Abort(usize),
}

impl Intervention {
    const fn rows(self) -> usize {
        match self {
            Self::Kill(rows) | Self::Abort(rows) => rows,
        }
    }
}

/// Carries out the drill with so many dead letters.
pub(crate) fn drill(binary: &Path, database: &PostgresDatabase, rows: usize) -> io::Result<DrillVerdict> {
    let witness = Arc::new(RunWitness::start(|_| Duration::ZERO)?);
    let mut cluster = OperateCluster::start(binary, database, &witness, &[])?;
    reporting::connect(&mut cluster.client(0), &witness)?;
    serve_workflow(&mut cluster.client(0), CHANNEL, &failing_tasks())?;
    serve_channel(&mut cluster.client(0), CHANNEL, &json!({}))?;
    cluster.wait_until_served(database)?;
    let filled = fill(&cluster, &witness, database, rows)?;
    let groups = read_groups(&cluster, &witness)?;
    note(&format!("their groups were read in {:?}", groups.times));

    mend(&cluster)?;
    cluster.wait_until_served(database)?;
    let share = |percent: usize| rows * percent / 100;
    let first =
        [Intervention::Kill(share(15)), Intervention::Kill(share(30)), Intervention::Abort(share(50))];
    let first = carry_out(&mut cluster, &witness, &first)?;
    note(&format!("the first order is {}: {} of {} rows done", first.state, first.done, first.matched));
    let half = rows.saturating_sub(first.done) / 2;
    let second = carry_out(&mut cluster, &witness, &[Intervention::Kill(half)])?;
    note(&format!("the second order is {}: {} of {} rows done", second.state, second.done, second.matched));
    let requeued_at = witness.now();
    // What does not come to its end is for the judge to see.
    let left = wait_until_none(|| Ok(count(database, "trace_dlq", "TRUE")? + count_open(database)?))?;
    let settling = witness.now() - requeued_at;
    let failed =
        count(database, "traces", "mode = 'async' AND attempt_of IS NULL AND status <> 'completed'")?;
    let audited = |action: &str| -> io::Result<usize> {
        let page = cluster.read(&format!("audit-logs?action={action}"))?;
        Ok(page["total"].as_u64().and_then(|total| usize::try_from(total).ok()).unwrap_or_default())
    };
    let audits = [audited("bulk_start")?, audited("bulk_end")?];
    Ok(judge(&BulkEvidence {
        rows,
        filled,
        groups,
        orders: [first, second],
        runs: witness.runs(),
        kills: cluster.kills().to_vec(),
        left,
        failed,
        settling,
        audits,
    }))
}

/// Submits work that fails, and waits until each has left its dead letter.
fn fill(
    cluster: &OperateCluster,
    witness: &Arc<RunWitness>,
    database: &PostgresDatabase,
    rows: usize,
) -> io::Result<FilledLetters> {
    let begin = witness.now();
    let submitted = submit_all(cluster, witness, plan(rows))?;
    note(&format!("{} submissions accepted after {:?}", submitted.accepted.len(), witness.now() - begin));
    let count_letters = || count(database, "trace_dlq", "retry_count >= max_retries");
    wait_until_none(|| Ok(rows.saturating_sub(count_letters()?)))?;
    let (letters, took) = (count_letters()?, witness.now() - begin);
    note(&format!("{letters} dead letters after {took:?}"));
    Ok(FilledLetters { submitted, letters, took })
}

/// The submissions, whose number decides the cause of their failure.
fn plan(rows: usize) -> SubmissionPlan {
    let make = |number: usize| PlannedSubmission {
        body: json!({"n": number, "shelf": CAUSES[number % CAUSES.len()]}),
        deliver_at: None,
    };
    SubmissionPlan { channel: CHANNEL, clients: CLIENTS, rate: 0, count: Some(rows), make: Box::new(make) }
}

/// Tasks of which one fails for each submission, for good.
fn failing_tasks() -> Value {
    let task = |shelf: &&str| {
        let fail =
            json!({"mappings": [{"path": "data.x", "logic": {"throw": format!("no {shelf} are left")}}]});
        json!({"id": format!("take-{shelf}"), "name": "Take",
            "condition": {"==": [{"var": "payload.shelf"}, shelf]},
            "function": {"name": "map", "input": fail}})
    };
    CAUSES.iter().map(task).collect()
}

/// Activates a version whose runs report the key of their run.
fn mend(cluster: &OperateCluster) -> io::Result<()> {
    let path = format!("/api/v1/admin/workflows/{CHANNEL}");
    let tasks = reporting::report(&json!({"occurrence_id": {"var": "metadata.run.key"}}));
    let mut client = cluster.client(0);
    client.json("POST", &format!("{path}/versions"), &json!({}))?.expect_status(201)?;
    client.json("PUT", &path, &json!({"tasks": tasks}))?.expect_status(200)?;
    client.json("PATCH", &format!("{path}/status"), &json!({"status": "active"}))?.expect_status(200)
}

/// Reads the groups of the errors from every node.
fn read_groups(cluster: &OperateCluster, witness: &RunWitness) -> io::Result<ErrorGroupReading> {
    let mut reading = ErrorGroupReading::default();
    for node in (0..NODES).cycle().take(NODES * READINGS) {
        let mut client = cluster.client(node);
        let begin = witness.now();
        let answer = client.get("/api/v1/admin/errors?limit=100")?;
        reading.times.push(witness.now() - begin);
        answer.expect_status(200)?;
        let page = answer.json();
        let groups = page["data"].as_array().cloned().unwrap_or_default();
        let counts = groups.iter().filter_map(|group| group["count"].as_u64());
        reading.groups = groups.len();
        reading.failures = usize::try_from(counts.sum::<u64>()).map_err(io::Error::other)?;
    }
    reading.times.sort();
    Ok(reading)
}

/// Orders to requeue what is exhausted, and intervenes until the order has ended.
fn carry_out(
    cluster: &mut OperateCluster,
    witness: &RunWitness,
    interventions: &[Intervention],
) -> io::Result<BulkOrderRecord> {
    let body = json!({"kind": "dead_letters", "action": "requeue", "rate_per_second": RATE,
        "filter": {"channel": CHANNEL, "exhausted": true}});
    let id = cluster.order("bulk", &body)?["data"]["id"].as_str().unwrap_or_default().to_owned();
    let mut due = interventions.iter().copied().peekable();
    let mut record = BulkOrderRecord::default();
    let mut progress_at = now();
    loop {
        let run = cluster.read(&format!("bulk/{id}"))?["data"].clone();
        let before = record.done;
        record.note(&run, witness.now());
        if record.has_ended() {
            return Ok(record);
        }
        if record.done > before {
            progress_at = now();
        } else if progress_at.elapsed() > PATIENCE {
            return Err(io::Error::other(format!("bulk run {id} makes no progress: {run}")));
        }
        match due.peek().copied().filter(|intervention| record.done >= intervention.rows()) {
            Some(Intervention::Kill(_)) => {
                // A run without a driver is taken over soon.
                if let Some(node) = cluster.find_node(run["node"].as_str().unwrap_or_default())? {
                    note(&format!("node {node} drives the order and is killed at {} rows", record.done));
                    cluster.kill(node)?;
                    due.next();
                }
            }
            Some(Intervention::Abort(_)) => {
                cluster.order(&format!("bulk/{id}/abort"), &json!({}))?;
                due.next();
            }
            None => {}
        }
        pause(LOOK_EVERY);
    }
}
