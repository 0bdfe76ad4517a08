//! Repeats of an idempotency key that race on all nodes: one of them runs, and all others get its answer. Then keys whose
//! node is killed while it runs them: the next repeat after the end of the lease runs anew.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use svc_testkit::findings::{DrillVerdict, Findings};
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::nodes::{PATIENCE, expect_soon, pause};
use svc_testkit::postgres::PostgresDatabase;
use svc_testkit::reporting::{self, name_run, serve_channel, serve_workflow};
use svc_testkit::witness::{RunWitness, WitnessedRun, runs_by_name};

use crate::cluster::{NODES, OperateCluster, millis};
use crate::note;

/// The channel, and the kind of the names by which its runs report.
const CHANNEL: &str = "repeat";
/// The key whose run is not disturbed.
const CALM: &str = "calm";
/// Clients that send the repeats, of each node as many as of the others.
const CLIENTS: usize = 48;
/// Time that a run takes, in which repeats meet it.
const RUN: Duration = Duration::from_secs(5);
/// Longest run, in milliseconds. The lease of its key ends a second later.
const TIMEOUT_MS: u64 = 10_000;
/// Longest pause of a client after a refusal.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// Repeats that meet a run before its node is killed.
const MET: usize = CLIENTS;
/// Headers that belong to one exchange. All others are part of the answer.
const OF_EXCHANGE: [&str; 3] = ["date", "x-request-id", "idempotent-replayed"];

/// The answer to one of the requests.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RepeatAnswer {
    sent: Duration,
    received: Duration,
    status: u16,
    /// The error code.
    code: Option<String>,
    /// A time is named after which it may be sent again.
    may_repeat: bool,
    is_replayed: bool,
    /// Headers and body.
    content: String,
}

/// The requests with one key.
#[derive(Clone, Debug, Default)]
struct RepeatedKey {
    name: String,
    answers: Vec<RepeatAnswer>,
}

/// The evidence to judge.
struct RepeatsEvidence {
    requests: usize,
    calm: RepeatedKey,
    /// Keys of which the first run did not survive its node.
    killed: Vec<RepeatedKey>,
    runs: Vec<WitnessedRun>,
}

/// Carries out the drill with so many requests with one key.
pub(crate) fn drill(binary: &Path, database: &PostgresDatabase, requests: usize) -> io::Result<DrillVerdict> {
    let witness = Arc::new(RunWitness::start(|_| RUN)?);
    let mut cluster = OperateCluster::start(binary, database, &witness, &[])?;
    let mut client = cluster.client(0);
    reporting::connect(&mut client, &witness)?;
    let body = name_run(CHANNEL, &json!({"var": "payload.key"}));
    serve_workflow(&mut client, CHANNEL, &reporting::report(&body))?;
    let deduplication = json!({"header": "idempotency-key", "on_duplicate": "replay", "store": "database",
        "on_backend_error": "deny"});
    serve_channel(&mut client, CHANNEL, &json!({"timeout_ms": TIMEOUT_MS, "deduplication": deduplication}))?;
    cluster.wait_until_served(database)?;

    let calm = KeyRace::new(CALM, &cluster, requests, &witness).run(|_| Ok(()))?;
    note(&format!("{} requests with one key were answered", calm.answers.len()));
    let mut killed = Vec::new();
    for node in 0..NODES {
        let race = KeyRace::new(&format!("killed-{node}"), &cluster, requests, &witness);
        killed.push(race.run_over_kill(&mut cluster, node)?);
        note(&format!("node {node} was killed, and its key ran anew"));
    }
    Ok(judge(&RepeatsEvidence { requests, calm, killed, runs: witness.runs() }))
}

/// Requests with one key, sent by all clients until enough have got the answer.
struct KeyRace<'r> {
    name: String,
    addresses: Vec<SocketAddr>,
    requests: usize,
    witness: &'r RunWitness,
    sent: AtomicUsize,
    replayed: AtomicUsize,
    refused: AtomicUsize,
    answers: Mutex<Vec<RepeatAnswer>>,
}

impl<'r> KeyRace<'r> {
    fn new(key: &str, cluster: &OperateCluster, requests: usize, witness: &'r RunWitness) -> Self {
        Self {
            name: key.to_owned(),
            addresses: cluster.addresses(),
            requests,
            witness,
            sent: AtomicUsize::new(0),
            replayed: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
            answers: Mutex::default(),
        }
    }

    /// Has the clients send while something happens.
    fn run(&self, meanwhile: impl FnOnce(&Self) -> io::Result<()>) -> io::Result<RepeatedKey> {
        let end = self.witness.now() + PATIENCE;
        let happened = thread::scope(|scope| {
            for client in 0..CLIENTS {
                let address = self.addresses[client % self.addresses.len()];
                scope.spawn(move || self.repeat(address, end));
            }
            meanwhile(self)
        });
        happened?;
        Ok(RepeatedKey { name: self.name.clone(), answers: self.answers.lock().clone() })
    }

    /// Has a node run the key, and kills the node once repeats have met that run.
    fn run_over_kill(&self, cluster: &mut OperateCluster, node: usize) -> io::Result<RepeatedKey> {
        let mut client = cluster.client(node);
        thread::scope(|scope| {
            // Its connection breaks with the node.
            let runner = scope.spawn(move || self.send(&mut client).is_ok());
            expect_soon("the run begins", || Ok(self.count_runs() == 1))?;
            let raced = self.run(|race| {
                expect_soon("repeats meet the run", || Ok(race.count_refused() >= MET))?;
                cluster.kill(node)
            })?;
            match runner.join() {
                Ok(false) => Ok(raced),
                _ => Err(io::Error::other("the run ended before its node was killed")),
            }
        })
    }

    /// Sends one request after the other to a node.
    fn repeat(&self, address: SocketAddr, end: Duration) {
        let mut client = HttpClient::new(address);
        // Half of the requests are spread over the run.
        let spread = RUN * u32::try_from(CLIENTS * 2).unwrap_or(1);
        let pace = (spread / u32::try_from(self.requests).unwrap_or(u32::MAX)).min(LONGEST_PAUSE);
        while !self.is_done() && self.witness.now() < end {
            self.sent.fetch_add(1, Ordering::Relaxed);
            match self.send(&mut client) {
                Ok(answer) => {
                    let is_refused = answer.status != 200;
                    let count = if is_refused { &self.refused } else { &self.replayed };
                    count.fetch_add(1, Ordering::Relaxed);
                    self.answers.lock().push(answer);
                    if is_refused {
                        pause(pace);
                    }
                }
                Err(_) => pause(pace),
            }
        }
    }

    /// Returns `true` once all requests were sent, and half of them were answered after the end of the run.
    fn is_done(&self) -> bool {
        let [sent, replayed] = [&self.sent, &self.replayed].map(|count| count.load(Ordering::Relaxed));
        sent >= self.requests && replayed >= self.requests / 2
    }

    fn send(&self, client: &mut HttpClient) -> io::Result<RepeatAnswer> {
        let headers = [("content-type", "application/json"), ("idempotency-key", self.name.as_str())];
        let body = json!({"key": self.name}).to_string();
        let sent = self.witness.now();
        let answer = client.send("POST", &format!("/api/v1/data/{CHANNEL}"), &headers, body.as_bytes())?;
        Ok(RepeatAnswer::read(&answer, sent, self.witness.now()))
    }

    fn count_refused(&self) -> usize {
        self.refused.load(Ordering::Relaxed)
    }

    fn count_runs(&self) -> usize {
        let name = name_of(&self.name);
        self.witness.runs().iter().filter(|run| run.occurrence == name).count()
    }
}

/// Returns the name by which the runs of a key report.
fn name_of(key: &str) -> String {
    format!("{CHANNEL}-{key}")
}

impl RepeatAnswer {
    fn read(answer: &HttpResponse, sent: Duration, received: Duration) -> Self {
        let belongs = |name: &str| !OF_EXCHANGE.contains(&name);
        let headers = answer.headers.iter().filter(|(name, _)| belongs(name));
        let mut lines: Vec<_> = headers.map(|(name, value)| format!("{name}: {value}")).collect();
        lines.sort_unstable();
        lines.push(answer.text());
        Self {
            sent,
            received,
            status: answer.status,
            code: answer.json()["error"]["code"].as_str().map(str::to_owned),
            may_repeat: answer.header("retry-after").is_some(),
            is_replayed: answer.header("idempotent-replayed") == Some("true"),
            content: lines.join("\n"),
        }
    }

    /// Returns `true` for the refusal of a repeat that met the run.
    fn has_met_run(&self) -> bool {
        self.status == 409 && self.code.as_deref() == Some("IDEMPOTENCY_IN_PROGRESS") && self.may_repeat
    }

    /// Returns the error of an answer that the state of the key does not explain. A node that starts may be away.
    fn find_fault(&self, first: &Self, may_be_away: bool) -> Option<String> {
        match self.status {
            200 if self.is_replayed && self.content == first.content => None,
            200 if self.is_replayed => Some(format!("another answer: {}", self.content)),
            409 if self.has_met_run() && self.sent < first.received => None,
            503 if may_be_away => None,
            status => Some(format!("{status} at {:?}: {}", self.sent, self.content)),
        }
    }
}

impl RepeatedKey {
    /// Judges the answers. Returns the number of those that met the run.
    fn judge(&self, findings: &mut Findings, may_be_away: bool) -> usize {
        let (fresh, repeats): (Vec<_>, Vec<_>) =
            self.answers.iter().partition(|answer| answer.status == 200 && !answer.is_replayed);
        let Some(first) = fresh.first() else {
            findings.expect_none("keys got no answer of their run", std::slice::from_ref(&self.name));
            return 0;
        };
        let more: Vec<_> = fresh[1..].iter().map(|answer| answer.content.clone()).collect();
        findings.expect_none(&format!("further answers of runs of the key {}", self.name), &more);
        let faults: Vec<_> =
            repeats.iter().filter_map(|repeat| repeat.find_fault(first, may_be_away)).collect();
        findings.expect_none(&format!("wrong answers to repeats of the key {}", self.name), &faults);
        repeats.iter().filter(|repeat| repeat.has_met_run()).count()
    }

    fn count_replayed(&self) -> usize {
        self.answers.iter().filter(|answer| answer.is_replayed).count()
    }
}

/// Returns the fault of the runs of a key, of which all but the last were broken off.
fn find_fault_of_runs(key: &str, runs: &[&WitnessedRun], due: usize) -> Option<String> {
    let begins: Vec<_> = runs.iter().map(|run| (run.begin, run.end, run.answered)).collect();
    let is_single =
        runs.windows(2).all(|pair| !pair[0].answered && pair[0].end.is_some_and(|end| end <= pair[1].begin));
    let is_right = runs.len() == due && is_single && runs.last().is_some_and(|run| run.answered);
    (!is_right).then(|| format!("{key}: {begins:?}"))
}

fn judge(evidence: &RepeatsEvidence) -> DrillVerdict {
    let mut findings = Findings::default();
    let runs = runs_by_name(&evidence.runs);
    let find = |key: &RepeatedKey, due: usize| {
        let runs = runs.get(name_of(&key.name).as_str()).map(Vec::as_slice).unwrap_or_default();
        find_fault_of_runs(&key.name, runs, due)
    };
    let calm = find(&evidence.calm, 1);
    findings.expect_none("keys did not run exactly once", calm.as_slice());
    let killed: Vec<_> = evidence.killed.iter().filter_map(|key| find(key, 2)).collect();
    findings.expect_none("keys did not run once more after a kill", &killed);
    let met = evidence.calm.judge(&mut findings, false);
    findings.at_least("repeats that met the run", met, evidence.requests / 10);
    findings.at_least(
        "repeats after the run",
        evidence.calm.count_replayed(),
        (evidence.requests / 2).saturating_sub(1),
    );
    let met_again: usize = evidence.killed.iter().map(|key| key.judge(&mut findings, true)).sum();
    findings.at_least("keys whose node was killed", evidence.killed.len(), NODES);
    let anew = evidence.killed.iter().filter_map(|key| {
        let runs = runs.get(name_of(&key.name).as_str())?;
        Some(runs.get(1)?.begin.saturating_sub(runs[0].end?))
    });
    let figures = json!({
        "requests": evidence.calm.answers.len(), "met": met, "replayed": evidence.calm.count_replayed(),
        "killed": {"requests": evidence.killed.iter().map(|key| key.answers.len()).sum::<usize>(), "met": met_again,
            "anew_after_ms": anew.map(|time| millis(Some(time))).collect::<Vec<_>>()},
    });
    findings.into_verdict(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repetitions::answered_run;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn replayed(sent: u64) -> RepeatAnswer {
        RepeatAnswer {
            sent: seconds(sent),
            received: seconds(sent + 1),
            status: 200,
            code: None,
            may_repeat: false,
            is_replayed: true,
            content: "same".to_owned(),
        }
    }

    fn met(sent: u64) -> RepeatAnswer {
        let code = Some("IDEMPOTENCY_IN_PROGRESS".to_owned());
        RepeatAnswer { status: 409, code, may_repeat: true, is_replayed: false, ..replayed(sent) }
    }

    /// A key whose run is answered ten seconds after the start.
    fn key(name: &str) -> RepeatedKey {
        let first = RepeatAnswer { is_replayed: false, received: seconds(10), ..replayed(1) };
        RepeatedKey { name: name.to_owned(), answers: vec![first, met(2), replayed(11), replayed(12)] }
    }

    fn clean() -> RepeatsEvidence {
        let killed: Vec<_> = (0..NODES).map(|node| key(&format!("killed-{node}"))).collect();
        let mut runs = vec![answered_run("repeat-calm", seconds(1))];
        for key in &killed {
            let name = name_of(&key.name);
            runs.push(WitnessedRun { answered: false, ..answered_run(&name, seconds(1)) });
            runs.push(answered_run(&name, seconds(9)));
        }
        RepeatsEvidence { requests: 4, calm: key(CALM), killed, runs }
    }

    fn failures(change: impl FnOnce(&mut RepeatsEvidence)) -> String {
        let mut evidence = clean();
        change(&mut evidence);
        judge(&evidence).failures.join("\n")
    }

    #[test]
    fn second_run_of_key_is_found() {
        assert_eq!(failures(|_| {}), "");
        let again = answered_run("repeat-calm", seconds(2));
        assert!(failures(|evidence| evidence.runs.push(again)).contains("exactly once"));
        let third = answered_run("repeat-killed-1", seconds(30));
        assert!(failures(|evidence| evidence.runs.push(third)).contains("once more after a kill"));
        assert!(failures(|evidence| evidence.runs[2].begin = seconds(1)).contains("once more after a kill"));
        assert!(
            failures(|evidence| evidence.calm.answers[2].is_replayed = false).contains("further answers")
        );
    }

    #[test]
    fn wrong_answers_to_repeats_are_found() {
        let another = |evidence: &mut RepeatsEvidence| evidence.calm.answers[3].content = "other".to_owned();
        assert!(failures(another).contains("another answer"));
        assert!(failures(|evidence| evidence.calm.answers.push(met(10))).contains("wrong answers"));
        assert!(failures(|evidence| evidence.killed[0].answers.push(met(10))).contains("wrong answers"));
        let away = RepeatAnswer { status: 503, is_replayed: false, ..replayed(3) };
        assert_eq!(failures(|evidence| evidence.killed[0].answers.push(away.clone())), "");
        assert!(failures(|evidence| evidence.calm.answers.push(away)).contains("503"));
        let silent = |evidence: &mut RepeatsEvidence| evidence.calm.answers[1].may_repeat = false;
        assert!(failures(silent).contains("wrong answers"));
        assert!(failures(|evidence| evidence.calm.answers.clear()).contains("no answer of their run"));
    }
}
