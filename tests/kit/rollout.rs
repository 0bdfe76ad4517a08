//! Clients that call a workflow without a pause while operators change its versions, and the count of answers
//! by version.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::example::create_and_activate;
use crate::http::{HttpClient, HttpResponse};
use crate::server::wait_until;

/// The header that identifies a caller, for the setting `engine.rollout_sticky_header`.
pub const STICKY_HEADER: &str = "x-caller";
/// Longest time of a phase.
const PHASE_LIMIT: Duration = Duration::from_secs(120);
/// Failures that are kept as text.
const KEPT_FAILURES: usize = 5;
const ADMIN: &str = "/api/v1/admin";

/// Answers of one phase, by version.
type Tally = BTreeMap<i64, u64>;

/// A phase between two changes, with the configured and the measured shares.
#[derive(Clone, Debug)]
pub struct RolloutPhase {
    /// The change that began the phase.
    pub name: &'static str,
    /// Configured percentage by version.
    pub expected: BTreeMap<i64, f64>,
    /// Measured percentage by version.
    pub measured: BTreeMap<i64, f64>,
}

impl RolloutPhase {
    /// Returns the largest difference between a measured and a configured share, in percentage points.
    pub fn deviation(&self) -> f64 {
        let versions = self.expected.keys().chain(self.measured.keys());
        let share = |shares: &BTreeMap<i64, f64>, version| shares.get(version).copied().unwrap_or_default();
        versions
            .map(|version| (share(&self.expected, version) - share(&self.measured, version)).abs())
            .fold(0.0, f64::max)
    }
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct RolloutReport {
    /// Requests answered.
    pub answered: u64,
    /// The number of failed requests, and the first failures as text.
    pub failed: (u64, Vec<String>),
    /// Every phase, in order.
    pub phases: Vec<RolloutPhase>,
}

/// The state that clients and the operator share.
#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// Even while nothing changes, odd during a change.
    phase: AtomicUsize,
    rounds: Mutex<BTreeMap<usize, (u64, Tally)>>,
    answered: AtomicU64,
    failed: AtomicU64,
    failures: Mutex<Vec<String>>,
}

/// Runs a canary, a second one in its place, its end, an activation and a rollback while `clients` call
/// without a pause, at least `rounds` rounds of every caller in each phase.
///
/// # Errors
/// The operator is refused, or a phase takes too long.
pub fn run(address: SocketAddr, clients: usize, rounds: u64) -> io::Result<RolloutReport> {
    let mut operator = HttpClient::new(address);
    create_and_activate(&mut operator, "workflows", "workflow_id", &numbered_workflow(1))?;
    let channel = json!({"channel_id": "tier", "name": "tier", "channel_type": "sync", "protocol": "rest",
        "methods": ["POST"], "route_pattern": "/tier", "workflow_id": "tier", "config": {}});
    create_and_activate(&mut operator, "channels", "channel_id", &channel)?;
    let (shared, callers) = (Shared::default(), callers());
    let acts: [Step; 6] = [
        ("start", |_| Ok(()), &[(1, 100.0)]),
        (
            "canary",
            |operator| activate(operator, 2, json!({"rollout_percentage": 10})),
            &[(1, 90.0), (2, 10.0)],
        ),
        (
            "second canary",
            |operator| activate(operator, 3, json!({"rollout_percentage": 20, "replace_canary": true})),
            &[(1, 80.0), (3, 20.0)],
        ),
        ("abort", abort, &[(1, 100.0)]),
        ("activation", |operator| activate(operator, 4, json!({})), &[(4, 100.0)]),
        ("rollback", rollback, &[(1, 100.0)]),
    ];
    let operated = thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| call(address, &callers, &shared));
        }
        let operated = operate(&mut operator, &acts, rounds, &shared);
        shared.stop.store(true, Ordering::Release);
        operated
    });
    operated?;
    let all = shared.rounds.into_inner();
    let phases = acts.iter().enumerate().map(|(index, (name, _, expected))| RolloutPhase {
        name,
        expected: expected.iter().copied().collect(),
        measured: all.get(&(index * 2)).map(|(_, tally)| shares(tally)).unwrap_or_default(),
    });
    Ok(RolloutReport {
        answered: shared.answered.into_inner(),
        failed: (shared.failed.into_inner(), shared.failures.into_inner()),
        phases: phases.collect(),
    })
}

/// The steps of an operator.
type Act = fn(&mut HttpClient) -> io::Result<()>;
/// A change by name, with the percentages by version that it configures.
type Step = (&'static str, Act, &'static [(i64, f64)]);

/// Applies one change after the other, each once the phase before was measured for long enough.
fn operate(operator: &mut HttpClient, acts: &[Step], rounds: u64, shared: &Shared) -> io::Result<()> {
    for (index, (name, act, _)) in acts.iter().enumerate() {
        shared.phase.store((index * 2).saturating_sub(1), Ordering::Release);
        act(operator)?;
        shared.phase.store(index * 2, Ordering::Release);
        let seen = || {
            let all = shared.rounds.lock();
            Ok(all.get(&(index * 2)).is_some_and(|(seen, _)| *seen >= rounds))
        };
        if !wait_until(PHASE_LIMIT, seen)? {
            return Err(io::Error::other(format!("the phase '{name}' saw too few requests")));
        }
    }
    Ok(())
}

/// Calls for every caller in turn until the order to stop. A round counts if nothing changed meanwhile.
fn call(address: SocketAddr, callers: &[String], shared: &Shared) {
    let mut client = HttpClient::new(address).keep_alive();
    while !shared.stop.load(Ordering::Acquire) {
        let phase = shared.phase.load(Ordering::Acquire);
        let mut tally = Tally::new();
        for caller in callers {
            let headers = [("content-type", "application/json"), (STICKY_HEADER, caller.as_str())];
            let answer = client.send("POST", "/api/v1/data/tier", &headers, b"{}");
            match answer.map_err(|error| error.to_string()).and_then(|answer| version(&answer)) {
                Ok(version) => *tally.entry(version).or_default() += 1,
                Err(failure) => fail(shared, failure),
            }
            shared.answered.fetch_add(1, Ordering::Relaxed);
        }
        if phase.is_multiple_of(2) && shared.phase.load(Ordering::Acquire) == phase {
            let mut all = shared.rounds.lock();
            let (rounds, total) = all.entry(phase).or_default();
            *rounds += 1;
            for (version, count) in tally {
                *total.entry(version).or_default() += count;
            }
        }
    }
}

fn fail(shared: &Shared, failure: String) {
    shared.failed.fetch_add(1, Ordering::Relaxed);
    let mut failures = shared.failures.lock();
    if failures.len() < KEPT_FAILURES {
        failures.push(failure);
    }
}

fn version(answer: &HttpResponse) -> Result<i64, String> {
    let version = (answer.status == 200).then(|| answer.json()["data"]["version"].as_i64()).flatten();
    version.ok_or_else(|| format!("{}: {}", answer.status, answer.text()))
}

#[expect(clippy::cast_precision_loss, reason = "counts of a test")]
fn shares(tally: &Tally) -> BTreeMap<i64, f64> {
    let total: u64 = tally.values().sum();
    tally.iter().map(|(version, count)| (*version, *count as f64 * 100.0 / total as f64)).collect()
}

/// A hundred callers, each in a bucket of its own: a round of them shows a split exactly.
fn callers() -> Vec<String> {
    let mut by_bucket = BTreeMap::new();
    for number in 0_u32.. {
        let name = format!("caller-{number}");
        by_bucket.entry(bucket("tier", &name)).or_insert(name);
        if by_bucket.len() == 100 {
            break;
        }
    }
    by_bucket.into_values().collect()
}

/// Returns the bucket of a caller of a workflow: FNV-1a over the workflow, a byte that no text has, and the caller,
/// finished as SplitMix64 finishes, modulo 100.
pub fn bucket(workflow: &str, caller: &str) -> u64 {
    let joined = workflow.bytes().chain([0xff]).chain(caller.bytes());
    let hash = joined.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (hash ^ (hash >> 31)) % 100
}

fn numbered_workflow(version: i64) -> Value {
    json!({"workflow_id": "tier", "name": "tier", "tasks": [{"id": "v", "name": "", "function":
        {"name": "map", "input": {"mappings": [{"path": "data.version", "logic": version}]}}}]})
}

/// Creates a draft that answers `version`, and activates it with these options.
fn activate(operator: &mut HttpClient, version: i64, mut terms: Value) -> io::Result<()> {
    let path = format!("{ADMIN}/workflows/tier");
    expect(operator.json("POST", &format!("{path}/versions"), &json!({}))?, 201)?;
    expect(operator.json("PUT", &path, &json!({"tasks": numbered_workflow(version)["tasks"]}))?, 200)?;
    terms["status"] = "active".into();
    expect(operator.json("PATCH", &format!("{path}/status"), &terms)?, 200)
}

fn abort(operator: &mut HttpClient) -> io::Result<()> {
    let path = format!("{ADMIN}/workflows/tier/rollout");
    expect(operator.json("PATCH", &path, &json!({"rollout_percentage": 0}))?, 200)
}

fn rollback(operator: &mut HttpClient) -> io::Result<()> {
    expect(operator.json("POST", &format!("{ADMIN}/workflows/tier/rollback"), &json!({}))?, 200)
}

fn expect(answer: HttpResponse, status: u16) -> io::Result<()> {
    if answer.status == status {
        return Ok(());
    }
    Err(io::Error::other(format!("expected {status}, got {}: {}", answer.status, answer.text())))
}
