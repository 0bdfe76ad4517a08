//! Submissions that begin before their row is on disk, in a process that is killed at every step on their way: what was
//! answered with a 202 is carried out, and nothing runs again once its end is on disk.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use diesel::sql_types::Text;
use diesel::{QueryableByName, RunQueryDsl as _, sql_query};
use parking_lot::Mutex;
use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::server::{ServerProcess, wait_until};
use svc_testkit::upstream::{Upstream, UpstreamReply};

use crate::durability::{RAN, is_settled, logged_runs};
use crate::support::{launch, open_database, serve};

/// Kills, if `SVC_TEST_KILLS` asks for no other number.
const KILLS: usize = 100;
/// Servers that are killed and restarted at the same time, each with its own database.
const CHAINS: usize = 4;
/// Kills of one database.
const LIVES: usize = 25;
/// The steps of `svc_store::KillStep`.
const STEPS: [&str; 9] = [
    "begun",
    "ran",
    "ended-with-row",
    "rows-written",
    "rows-committed",
    "row-stored",
    "accepted",
    "end-due",
    "end-stored",
];
/// A process is killed at latest at that time at its step.
const LATEST: u64 = 40;
const CLIENTS: usize = 8;
/// Submissions of one client within which the step is reached so often.
const MOST: usize = 1_000;
/// One submission in so many fails its workflow.
const FAILING: usize = 9;
/// One whose effect is a line of the log, and one that calls the witness.
const CHANNELS: [&str; 2] = ["logged", "witnessed"];
/// Begin of the credential of a life.
const LIFE: &str = "life-";

/// The responses that the clients received, over all lives of a database.
#[derive(Default)]
struct Submitted {
    next: AtomicUsize,
    /// The numbers of the accepted ones by the ids of their traces.
    accepted: Mutex<BTreeMap<String, usize>>,
}

/// The facts about the runs of a database over its lives.
#[derive(Default)]
struct Lives {
    /// The ids of runs, each with its life.
    runs: Vec<(String, usize)>,
    /// The life at whose end the end of a run was on disk.
    ended: BTreeMap<String, usize>,
    /// The status of each row as the last life left it.
    rows: BTreeMap<String, String>,
}

impl Lives {
    /// Reads what a life has left behind, from its log and its database.
    fn read(&mut self, server: &ServerProcess, life: usize) {
        self.runs.extend(logged_runs(server).into_iter().map(|id| (id, life)));
        let mut database = open_database(&server.directory().join("svc.db"));
        let rows: Vec<StoredRow> =
            sql_query("SELECT id, status FROM traces WHERE mode = 'async'").load(&mut database).unwrap();
        self.rows = rows.into_iter().map(|row| (row.id, row.status)).collect();
        let ended = self.rows.iter().filter(|(_, status)| matches!(&***status, "completed" | "failed"));
        for (id, _) in ended {
            self.ended.entry(id.clone()).or_insert(life);
        }
    }

    /// Returns what breaks a promise.
    fn judge(&self, accepted: &BTreeMap<String, usize>) -> Vec<String> {
        let (mut faults, mut times) = (Vec::new(), BTreeMap::<&str, usize>::new());
        for (id, life) in &self.runs {
            *times.entry(id).or_default() += 1;
            if let Some(end) = self.ended.get(id).filter(|end| *end < life) {
                faults.push(format!("{id} had ended on disk in life {end} and ran in life {life}"));
            }
        }
        for (id, number) in accepted {
            let expected = if number.is_multiple_of(FAILING) { "failed" } else { "completed" };
            let status = self.rows.get(id).map(String::as_str);
            if status != Some(expected) {
                faults.push(format!("{id} was accepted, is to be {expected} and is {status:?}"));
            }
            // The log of a killed process may lack its end.
            if channel_of(*number) == CHANNELS[1] && !times.contains_key(&**id) {
                faults.push(format!("{id} was accepted and never acted"));
            }
        }
        let without_row = times.iter().filter(|(id, times)| **times > 1 && !self.rows.contains_key(**id));
        faults.extend(without_row.map(|(id, times)| format!("{id} has no row and ran {times} times")));
        faults
    }
}

/// A row of accepted work.
#[derive(QueryableByName)]
struct StoredRow {
    #[diesel(sql_type = Text)]
    id: String,
    #[diesel(sql_type = Text)]
    status: String,
}

/// A generator of numbers (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % below
    }
}

const fn channel_of(number: usize) -> &'static str {
    CHANNELS[number % CHANNELS.len()]
}

/// Serves both channels, whose tasks have an effect before they may fail.
fn define(client: &mut HttpClient, witness: &Upstream) {
    let config = json!({"url": witness.url(""), "allow_private_urls": true, "retry": {"max_retries": 0},
        "auth": {"type": "bearer", "token": "env://LIFE"}});
    let connector = json!({"id": "witness", "name": "witness", "connector_type": "http", "config": config});
    let answer = client.json("POST", "/api/v1/admin/connectors", &connector).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
    let said = json!({"message": {"cat": [RAN, {"var": "metadata.run.key"}]}});
    let called = json!({"connector": "witness", "method": "POST", "body_logic": {"var": "metadata.run"}});
    let rule = json!({"rules": [{"logic": {"!": {"var": "payload.bad"}}, "message": "bad"}]});
    let effects = [("log", said), ("http_call", called)];
    for (channel, (function, input)) in CHANNELS.into_iter().zip(effects) {
        let tasks = json!([
            {"id": "act", "name": "Act", "function": {"name": function, "input": input}},
            {"id": "check", "name": "Check", "function": {"name": "validation", "input": rule}},
        ]);
        serve(client, channel, tasks);
    }
}

/// Submits until the process is gone, or has answered too many.
fn submit(address: SocketAddr, submitted: &Submitted) {
    let mut client = HttpClient::new(address).keep_alive();
    for _ in 0..MOST {
        let number = submitted.next.fetch_add(1, Ordering::Relaxed);
        let path = format!("/api/v1/data/{}/async", channel_of(number));
        match client.json("POST", &path, &json!({"bad": number.is_multiple_of(FAILING)})) {
            Ok(answer) if answer.status == 202 => {
                let id = answer.json()["trace_id"].as_str().unwrap().to_owned();
                submitted.accepted.lock().insert(id, number);
            }
            Ok(answer) => assert_eq!(answer.status, 503, "{}", answer.text()),
            Err(_) => return,
        }
    }
}

/// Starts the next process on the same database and submits until it is killed at the step, maybe during its start.
fn live(mut server: ServerProcess, life: usize, order: &str, submitted: &Submitted) -> ServerProcess {
    server.set_env("LIFE", &format!("{LIFE}{life}"));
    server.set_env("KILL_AT_STEP", order);
    let mut server = server.crash_and_respawn().unwrap();
    let started = server.wait_until_ready();
    if started.is_ok() {
        let address = server.address();
        thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| submit(address, submitted));
            }
        });
    }
    let status = server.wait(Duration::from_secs(60));
    let status = status.unwrap_or_else(|error| panic!("{order}: not reached in life {life}: {error}"));
    assert_eq!(status.signal(), Some(9), "{order}: {status}, {started:?}");
    server
}

/// The runs that the witness saw, each with the life that called it.
fn witnessed_runs(witness: &Upstream) -> impl Iterator<Item = (String, usize)> {
    witness.requests().into_iter().map(|request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let (_, life) = request.header("authorization").unwrap().rsplit_once(LIFE).unwrap();
        (body["key"].as_str().unwrap().to_owned(), life.parse().unwrap())
    })
}

/// Kills the processes of one database so often, then lets one end what is left, and judges.
fn drill(chain: usize, kills: usize) {
    let mut numbers = Numbers(u64::try_from(chain).unwrap());
    let witness = Upstream::start(|_| UpstreamReply::new(200, "{}")).unwrap();
    let mut server = launch()
        .env("SVC_TRACE_QUEUE__DLQ_RETRY_ENABLED", "false")
        .env("SVC_TRACE_QUEUE__MAX_RECOVERIES", "1000")
        .env("LIFE", LIFE)
        .start()
        .unwrap();
    define(&mut server.client(), &witness);
    let (submitted, mut lives) = (Submitted::default(), Lives::default());
    for life in 1..=kills {
        let step = STEPS[(chain * LIVES + life) % STEPS.len()];
        let order = format!("{step}:{}", 1 + numbers.next(LATEST));
        server = live(server, life, &order, &submitted);
        lives.read(&server, life);
    }
    server.set_env("LIFE", &format!("{LIFE}{}", kills + 1));
    server.set_env("KILL_AT_STEP", "");
    let server = server.crash_and_restart().unwrap();
    let mut client = server.client().keep_alive();
    let is_over = wait_until(Duration::from_secs(120), || Ok(is_settled(&mut client)));
    assert!(is_over.unwrap(), "chain {chain}: all runs end");
    lives.read(&server, kills + 1);
    lives.runs.extend(witnessed_runs(&witness));
    let accepted = submitted.accepted.lock();
    assert!(accepted.len() >= kills, "chain {chain}: {} were accepted", accepted.len());
    let faults = lives.judge(&accepted);
    assert!(faults.is_empty(), "chain {chain}: {faults:#?}");
}

/// `SVC_TEST_KILLS` asks for another number.
fn kills() -> usize {
    let kills = std::env::var_os("SVC_TEST_KILLS").and_then(|text| text.to_str()?.parse().ok());
    kills.unwrap_or(KILLS)
}

#[test]
fn accepted_work_survives_kill_at_every_step() {
    let kills = kills();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..CHAINS {
            scope.spawn(|| {
                loop {
                    let chain = next.fetch_add(1, Ordering::Relaxed);
                    let left = kills.saturating_sub(chain * LIVES).min(LIVES);
                    if left == 0 {
                        return;
                    }
                    drill(chain, left);
                }
            });
        }
    });
}

#[test]
fn verdict_names_lost_and_repeated_work() {
    let text = |id: &str| id.to_owned();
    let lives = Lives {
        runs: vec![
            (text("again"), 1),
            (text("again"), 3),
            (text("lost"), 1),
            (text("gone"), 1),
            (text("gone"), 2),
        ],
        ended: BTreeMap::from([(text("again"), 2)]),
        rows: BTreeMap::from([(text("again"), text("completed")), (text("bad"), text("completed"))]),
    };
    let accepted = BTreeMap::from([(text("again"), 1), (text("lost"), 2), (text("bad"), FAILING)]);
    let faults = lives.judge(&accepted).join("\n");
    for fault in [
        "again had ended on disk in life 2 and ran in life 3",
        "lost was accepted, is to be completed and is None",
        "bad was accepted, is to be failed and is Some(\"completed\")",
        "bad was accepted and never acted",
        "gone has no row and ran 2 times",
    ] {
        assert!(faults.contains(fault), "{faults}");
    }
    assert_eq!(faults.lines().count(), 5, "{faults}");
}
