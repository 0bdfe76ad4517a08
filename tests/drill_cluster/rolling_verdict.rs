//! Judges a rolling restart: pure arithmetic over the answers of the nodes and the records of the database.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::json;
use svc_testkit::findings::{DrillVerdict, Findings, percentile};

/// A request that was not answered as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FailedRequest {
    /// The node that it was sent to; `None` if there was none to send it to.
    pub(crate) node: Option<usize>,
    pub(crate) reason: String,
}

/// The end of an accepted job as the database has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedJob {
    pub(crate) status: String,
    /// Runs that were begun again because the one before did not end.
    pub(crate) recoveries: i64,
}

/// An orderly restart of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeRestart {
    pub(crate) node: usize,
    /// The reason why the process did not end in good order.
    pub(crate) problem: Option<String>,
}

/// The evidence to judge.
#[derive(Clone, Debug)]
pub(crate) struct RollingEvidence {
    /// Time under load.
    pub(crate) length: Duration,
    /// Requests that were answered as they should be.
    pub(crate) answered: usize,
    /// The traces of accepted jobs.
    pub(crate) accepted: Vec<String>,
    pub(crate) failures: Vec<FailedRequest>,
    /// Times of the answers, in order.
    pub(crate) latencies: Vec<Duration>,
    pub(crate) restarts: Vec<NodeRestart>,
    /// The recorded jobs by their traces.
    pub(crate) jobs: HashMap<String, RecordedJob>,
}

/// Judges. `rate` is the number of requests that clients meant to send in a second; with less than half of it, or with
/// less than `restarts` restarts, a drill proves nothing.
pub(crate) fn judge(evidence: &RollingEvidence, rate: u64, restarts: usize) -> DrillVerdict {
    let mut findings = Findings::default();
    let failed: Vec<_> = evidence.failures.iter().map(FailedRequest::describe).collect();
    findings.expect_none("requests failed", &failed);
    let is_lost = |trace: &&String| evidence.jobs.get(*trace).is_none_or(|job| job.status != "completed");
    let lost: Vec<_> = evidence.accepted.iter().filter(is_lost).cloned().collect();
    findings.expect_none("accepted jobs did not complete", &lost);
    let is_repeated = |trace: &&String| evidence.jobs.get(*trace).is_some_and(|job| job.recoveries > 0);
    let repeated: Vec<_> = evidence.accepted.iter().filter(is_repeated).cloned().collect();
    findings.expect_none("accepted jobs were begun again", &repeated);
    let problems: Vec<_> = evidence
        .restarts
        .iter()
        .filter_map(|restart| Some(format!("node {}: {}", restart.node, restart.problem.as_ref()?)))
        .collect();
    findings.expect_none("nodes did not end in good order", &problems);
    let offered = (rate as f64 * evidence.length.as_secs_f64()) as usize;
    findings.at_least("answered requests", evidence.answered, offered / 2);
    findings.at_least("accepted jobs", evidence.accepted.len(), offered / 5);
    findings.at_least("restarts", evidence.restarts.len(), restarts);
    let millis = |share| percentile(&evidence.latencies, share).map(|time| time.as_millis() as u64);
    let figures = json!({
        "requests": evidence.answered + evidence.failures.len(), "failed": failed.len(),
        "requests_per_second": (evidence.answered as f64 / evidence.length.as_secs_f64()).round(),
        "accepted": evidence.accepted.len(), "lost": lost.len(), "begun_again": repeated.len(),
        "restarts": evidence.restarts.len(),
        "latency_ms": {"p50": millis(50), "p99": millis(99), "max": millis(100)},
    });
    findings.into_verdict(figures)
}

impl FailedRequest {
    fn describe(&self) -> String {
        match self.node {
            Some(node) => format!("node {node}: {}", self.reason),
            None => self.reason.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten seconds at ten requests in a second, half of them accepted jobs; three restarts.
    fn clean() -> RollingEvidence {
        let completed = || RecordedJob { status: "completed".to_owned(), recoveries: 0 };
        let accepted: Vec<String> = (0..50).map(|number| format!("t{number}")).collect();
        RollingEvidence {
            length: Duration::from_secs(10),
            answered: 100,
            jobs: accepted.iter().map(|trace| (trace.clone(), completed())).collect(),
            accepted,
            failures: Vec::new(),
            latencies: vec![Duration::from_millis(3); 100],
            restarts: (0..3).map(|node| NodeRestart { node, problem: None }).collect(),
        }
    }

    /// The only failure of evidence that was changed.
    fn failure(change: impl FnOnce(&mut RollingEvidence)) -> String {
        let mut evidence = clean();
        change(&mut evidence);
        let mut failures = judge(&evidence, 10, 3).failures;
        assert_eq!(failures.len(), 1, "{failures:?}");
        failures.remove(0)
    }

    #[test]
    fn clean_rolling_restart_passes() {
        let verdict = judge(&clean(), 10, 3);
        assert!(verdict.has_passed(), "{:?}", verdict.failures);
        assert_eq!(verdict.json()["figures"]["latency_ms"]["p99"], 3);
    }

    #[test]
    fn failed_request_is_found_with_its_node() {
        let failed = |node| FailedRequest { node, reason: "503".to_owned() };
        assert!(failure(|evidence| evidence.failures.push(failed(Some(1)))).contains("node 1: 503"));
        assert!(failure(|evidence| evidence.failures.push(failed(None))).contains("requests failed: 503"));
    }

    #[test]
    fn missing_open_or_repeated_job_is_found() {
        assert!(failure(|evidence| drop(evidence.jobs.remove("t7"))).contains("did not complete: t7"));
        let open = |evidence: &mut RollingEvidence| {
            evidence.jobs.get_mut("t7").unwrap().status = "running".to_owned();
        };
        assert!(failure(open).contains("did not complete: t7"));
        let again = |evidence: &mut RollingEvidence| evidence.jobs.get_mut("t7").unwrap().recoveries = 1;
        assert!(failure(again).contains("begun again: t7"));
    }

    #[test]
    fn node_with_a_disorderly_end_is_found() {
        let killed =
            |evidence: &mut RollingEvidence| evidence.restarts[1].problem = Some("signal: 9".to_owned());
        assert!(failure(killed).contains("node 1: signal: 9"));
    }

    #[test]
    fn rolling_restart_that_shows_too_little_is_no_proof() {
        assert!(failure(|evidence| evidence.answered = 49).contains("too little"));
        assert!(failure(|evidence| drop(evidence.restarts.pop())).contains("restarts"));
        assert!(failure(|evidence| evidence.accepted.truncate(19)).contains("accepted jobs"));
    }
}
