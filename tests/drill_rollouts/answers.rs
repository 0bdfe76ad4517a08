//! The clients of the drill, at a steady rate, and what the answers show of the versions that gave them.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;
use svc_testkit::http::{HttpClient, HttpResponse};
use svc_testkit::nodes::{now, pause};

use crate::case::{CanaryConduct, CanaryOutcome, NEWER, OLDER, message};

/// Clients, spread evenly over the nodes: enough for a rate of a thousand while each call takes up to 160 ms.
const CLIENTS: usize = 64;
/// Time in which a node that is gone may come back.
const ABSENCE: Duration = Duration::from_millis(50);
/// Problems that are kept as text.
const KEPT: usize = 20;

/// The version that gave an answer, as far as the answer shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnsweringVersion {
    Newer,
    Older,
    /// Both answer so.
    Either,
}

/// The answers to all clients. Times count from the start of the clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CanaryAnswers {
    pub(crate) newer: u64,
    pub(crate) older: u64,
    pub(crate) either: u64,
    /// Those among them that are failures.
    pub(crate) failed: u64,
    /// Requests to a node that is killed, or is starting.
    pub(crate) unanswered: u64,
    /// Begin of the last request that the newer version answered.
    pub(crate) last_newer: Option<Duration>,
    pub(crate) last_older: Option<Duration>,
    /// Answers that neither version gives.
    pub(crate) problems: Vec<String>,
}

/// The running clients.
pub(crate) struct CanaryClients {
    load: Arc<CanaryLoad>,
    threads: Vec<JoinHandle<CanaryAnswers>>,
}

struct CanaryLoad {
    path: String,
    conduct: CanaryConduct,
    /// Requests in a second.
    rate: u64,
    begin: Instant,
    next: AtomicU64,
    stop: AtomicBool,
}

impl CanaryClients {
    /// Starts clients of the channel with this id.
    pub(crate) fn start(addresses: &[SocketAddr], id: &str, conduct: CanaryConduct, rate: u64) -> Self {
        let load = Arc::new(CanaryLoad {
            path: format!("/api/v1/data/{id}"),
            conduct,
            rate,
            begin: now(),
            next: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        });
        let send = |client: usize| {
            let (load, address) = (Arc::clone(&load), addresses[client % addresses.len()]);
            thread::spawn(move || load.send_all(address))
        };
        let threads = (0..CLIENTS).map(send).collect();
        Self { load, threads }
    }

    /// Returns the time since their start.
    pub(crate) fn age(&self) -> Duration {
        self.load.begin.elapsed()
    }

    /// Ends the clients, and returns what all of them were answered.
    pub(crate) fn stop(mut self) -> io::Result<CanaryAnswers> {
        self.load.stop.store(true, Ordering::Relaxed);
        let mut all = CanaryAnswers::default();
        for thread in mem::take(&mut self.threads) {
            all.merge(thread.join().map_err(|_| io::Error::other("a client panicked"))?);
        }
        Ok(all)
    }
}

impl Drop for CanaryClients {
    fn drop(&mut self) {
        // After an error the next case begins without their load.
        self.load.stop.store(true, Ordering::Relaxed);
    }
}

impl CanaryLoad {
    fn send_all(&self, address: SocketAddr) -> CanaryAnswers {
        let mut answers = CanaryAnswers::default();
        let mut client = HttpClient::new(address).keep_alive();
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let due = self.begin + Duration::from_micros(number * 1_000_000 / self.rate);
            pause(due.saturating_duration_since(now()));
            let sent = self.begin.elapsed();
            match client.json("POST", &self.path, &message(number)) {
                Ok(answer) => answers.record(self.conduct, number, sent, &answer),
                Err(_) => {
                    answers.unanswered += 1;
                    pause(ABSENCE);
                }
            }
        }
        answers
    }
}

impl CanaryAnswers {
    /// Returns the number of requests.
    pub(crate) fn count_sent(&self) -> u64 {
        self.newer + self.older + self.either + self.unanswered
    }

    fn record(&mut self, conduct: CanaryConduct, number: u64, sent: Duration, answer: &HttpResponse) {
        if answer.status == 503 {
            self.unanswered += 1;
            return;
        }
        let Some((outcome, version)) = read(answer) else {
            return self.add_problem(format!("{}: {}", answer.status, answer.text()));
        };
        let Some(by) = find_version(conduct, number, outcome, version) else {
            return self.add_problem(format!("message {number} was answered {outcome:?} by {version:?}"));
        };
        self.failed += u64::from(outcome == CanaryOutcome::Failed);
        match by {
            AnsweringVersion::Newer => {
                self.newer += 1;
                self.last_newer = self.last_newer.max(Some(sent));
            }
            AnsweringVersion::Older => {
                self.older += 1;
                self.last_older = self.last_older.max(Some(sent));
            }
            AnsweringVersion::Either => self.either += 1,
        }
    }

    fn add_problem(&mut self, problem: String) {
        if self.problems.len() < KEPT {
            self.problems.push(problem);
        }
    }

    fn merge(&mut self, other: Self) {
        self.newer += other.newer;
        self.older += other.older;
        self.either += other.either;
        self.failed += other.failed;
        self.unanswered += other.unanswered;
        self.last_newer = self.last_newer.max(other.last_newer);
        self.last_older = self.last_older.max(other.last_older);
        other.problems.into_iter().for_each(|problem| self.add_problem(problem));
    }
}

/// Reads the end of a run, and its version if it is shown; `None` for an answer that no run gives.
fn read(answer: &HttpResponse) -> Option<(CanaryOutcome, Option<i64>)> {
    let body = answer.json();
    match answer.status {
        200 => {
            Some((CanaryOutcome::Answered(body["data"]["total"].as_u64()?), body["data"]["version"].as_i64()))
        }
        500 if is_thrown(&body) => Some((CanaryOutcome::Failed, None)),
        _ => None,
    }
}

/// Returns true for the failure that the workflows of the drill throw.
fn is_thrown(body: &Value) -> bool {
    body["error"]["message"].as_str().is_some_and(|message| message.contains("drill"))
}

/// Returns the version that ends a message so; `None` if neither does.
fn find_version(
    conduct: CanaryConduct,
    number: u64,
    outcome: CanaryOutcome,
    shown: Option<i64>,
) -> Option<AnsweringVersion> {
    let ends_so =
        |version| conduct.outcome(version, number) == outcome && shown.is_none_or(|shown| shown == version);
    match (ends_so(NEWER), ends_so(OLDER)) {
        (true, true) => Some(AnsweringVersion::Either),
        (true, false) => Some(AnsweringVersion::Newer),
        (false, true) => Some(AnsweringVersion::Older),
        (false, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(status: u16, body: &Value) -> HttpResponse {
        HttpResponse { status, headers: Vec::new(), body: body.to_string().into_bytes() }
    }

    /// Returns a message that the newer version ends otherwise than the older one.
    fn telling(conduct: CanaryConduct) -> u64 {
        let is_telling = |number: &u64| conduct.outcome(NEWER, *number) != conduct.outcome(OLDER, *number);
        (0..).find(is_telling).unwrap()
    }

    #[test]
    fn answers_show_their_versions() {
        let mut answers = CanaryAnswers::default();
        let second = Duration::from_secs(1);
        for version in [OLDER, NEWER, NEWER] {
            let body = json!({"data": {"total": 15, "version": version}});
            answers.record(CanaryConduct::Alike, 5, second, &answer(200, &body));
        }
        let failed = answer(500, &json!({"error": {"message": "Thrown: {\"type\":\"drill\"}"}}));
        answers.record(CanaryConduct::Failing, telling(CanaryConduct::Failing), second, &failed);
        let number = telling(CanaryConduct::Differing);
        let differing = answer(200, &json!({"data": {"total": number * 3 + 1}}));
        answers.record(CanaryConduct::Differing, number, second * 2, &differing);
        assert_eq!((answers.newer, answers.older, answers.either, answers.failed), (4, 1, 0, 1));
        assert_eq!((answers.last_newer, answers.last_older), (Some(second * 2), Some(second)));
        assert!(answers.problems.is_empty(), "{:?}", answers.problems);
    }

    #[test]
    fn foreign_answers_are_problems() {
        let mut answers = CanaryAnswers::default();
        let wrong_total = answer(200, &json!({"data": {"total": 16, "version": 1}}));
        let wrong_version = answer(200, &json!({"data": {"total": 15, "version": 3}}));
        let other_failure = answer(500, &json!({"error": {"message": "no"}}));
        for foreign in [wrong_total, wrong_version, other_failure, answer(404, &json!({}))] {
            answers.record(CanaryConduct::Alike, 5, Duration::ZERO, &foreign);
        }
        assert_eq!((answers.problems.len(), answers.count_sent()), (4, 0));
    }
}
