//! The submitters of a drill: clients of all nodes, each with one request at a time over one connection.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;
use svc_testkit::http::HttpClient;
use svc_testkit::nodes::{now, pause};
use svc_testkit::witness::RunWitness;

use crate::cluster::OperateCluster;

/// Time after a refusal, or in which a node that is gone may come back.
const ABSENCE: Duration = Duration::from_millis(100);

/// A body, and the instant before which it is not to run.
pub(crate) struct PlannedSubmission {
    pub(crate) body: Value,
    pub(crate) deliver_at: Option<String>,
}

/// The submissions of one load.
pub(crate) struct SubmissionPlan {
    /// The channel that accepts them.
    pub(crate) channel: &'static str,
    /// Clients, spread evenly over the nodes.
    pub(crate) clients: usize,
    /// Submissions in a second; 0 for as many as the nodes answer.
    pub(crate) rate: u64,
    /// Number of the submissions, each of which is repeated until it is accepted; `None` for as many as there is time
    /// for, none of which is repeated.
    pub(crate) count: Option<usize>,
    /// Makes the submission of a number.
    pub(crate) make: Box<dyn Fn(usize) -> PlannedSubmission + Send + Sync>,
}

/// A submission that was answered with a 202. Times count from the start of the witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AcceptedSubmission {
    pub(crate) number: usize,
    pub(crate) trace: String,
    /// Begin of the request.
    pub(crate) sent: Duration,
}

/// The answers to the submitters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SubmitterRecord {
    pub(crate) accepted: Vec<AcceptedSubmission>,
    /// Refusals by their status, 429 or 503.
    pub(crate) refused: BTreeMap<u16, usize>,
    /// Requests whose connection broke.
    pub(crate) unanswered: usize,
    /// Answers that must not be.
    pub(crate) problems: Vec<String>,
}

/// The running submitters.
pub(crate) struct Submitters {
    load: Arc<SubmittedLoad>,
    threads: Vec<JoinHandle<SubmitterRecord>>,
}

struct SubmittedLoad {
    plan: SubmissionPlan,
    path: String,
    witness: Arc<RunWitness>,
    begin: Instant,
    next: AtomicUsize,
    stop: AtomicBool,
}

impl Submitters {
    pub(crate) fn start(cluster: &OperateCluster, witness: &Arc<RunWitness>, plan: SubmissionPlan) -> Self {
        let addresses = cluster.addresses();
        let load = Arc::new(SubmittedLoad {
            path: format!("/api/v1/data/{}/async", plan.channel),
            witness: Arc::clone(witness),
            begin: now(),
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            plan,
        });
        let submit = |client: usize| {
            let (load, address) = (Arc::clone(&load), addresses[client % addresses.len()]);
            thread::spawn(move || load.submit(address))
        };
        let threads = (0..load.plan.clients).map(submit).collect();
        Self { load, threads }
    }

    /// Ends the submitters, and returns what all of them were answered.
    pub(crate) fn stop(self) -> io::Result<SubmitterRecord> {
        self.load.stop.store(true, Ordering::Relaxed);
        self.join()
    }

    /// Waits until every submission of the plan is accepted.
    pub(crate) fn join(self) -> io::Result<SubmitterRecord> {
        let mut all = SubmitterRecord::default();
        for thread in self.threads {
            let one = thread.join().map_err(|_| io::Error::other("a submitter panicked"))?;
            all.accepted.extend(one.accepted);
            one.refused
                .into_iter()
                .for_each(|(status, count)| *all.refused.entry(status).or_default() += count);
            all.unanswered += one.unanswered;
            all.problems.extend(one.problems);
        }
        Ok(all)
    }
}

/// Submits everything of a plan with a count.
///
/// # Errors
/// A node answers anything but a 202, a 429 or a 503.
pub(crate) fn submit_all(
    cluster: &OperateCluster,
    witness: &Arc<RunWitness>,
    plan: SubmissionPlan,
) -> io::Result<SubmitterRecord> {
    let record = Submitters::start(cluster, witness, plan).join()?;
    match record.problems.first() {
        None => Ok(record),
        Some(problem) => Err(io::Error::other(format!("a submission failed: {problem}"))),
    }
}

impl SubmittedLoad {
    /// Sends the share of one client.
    fn submit(&self, address: SocketAddr) -> SubmitterRecord {
        let mut record = SubmitterRecord::default();
        let mut client = HttpClient::new(address).keep_alive();
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if self.plan.count.is_some_and(|count| number >= count) {
                break;
            }
            if let Some(delay) = (number as u64 * 1_000_000).checked_div(self.plan.rate) {
                let due = self.begin + Duration::from_micros(delay);
                pause(due.saturating_duration_since(now()));
            }
            while !self.send(&mut client, number, &mut record) && self.plan.count.is_some() {}
        }
        record
    }

    /// Sends a submission; returns false if it was refused.
    fn send(&self, client: &mut HttpClient, number: usize, record: &mut SubmitterRecord) -> bool {
        let PlannedSubmission { body, deliver_at } = (self.plan.make)(number);
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(deliver_at.as_deref().map(|instant| ("svc-deliver-at", instant)));
        let sent = self.witness.now();
        match client.send("POST", &self.path, &headers, body.to_string().as_bytes()) {
            Ok(answer) if answer.status == 202 => {
                let trace = answer.json()["trace_id"].as_str().unwrap_or_default().to_owned();
                record.accepted.push(AcceptedSubmission { number, trace, sent });
            }
            Ok(answer) if matches!(answer.status, 429 | 503) => {
                *record.refused.entry(answer.status).or_default() += 1;
                pause(ABSENCE);
                return false;
            }
            Ok(answer) => {
                record.problems.push(format!("{} answered {}: {}", self.path, answer.status, answer.text()));
            }
            // It may have been accepted, so it is not sent again.
            Err(error) => {
                record.unanswered += 1;
                if self.plan.count.is_some() {
                    record.problems.push(format!("{}: {error}", self.path));
                }
                pause(ABSENCE);
            }
        }
        true
    }
}
