//! Accepted work is not lost: a 202 survives `kill -9`, and what has completed does not run again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use diesel::sql_types::Text;
use diesel::{QueryableByName, RunQueryDsl as _, sql_query};
use parking_lot::Mutex;
use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::server::{ServerProcess, wait_until};

use crate::support::{launch, open_database, serve};

const SUBMISSIONS: usize = 20_000;
const KILLS: usize = 4;
const CLIENTS: usize = 16;
/// One submission in so many fails its workflow.
const FAILING: usize = 100;
/// Begin of the log message of each run, before the id of its trace.
pub(crate) const RAN: &str = "ran ";

/// The responses that the clients received, from threads that outlive servers.
#[derive(Default)]
struct Told {
    accepted: Mutex<Vec<String>>,
    sent: AtomicUsize,
    stop: AtomicBool,
}

/// Submits until enough was accepted; a connection that breaks is opened again.
fn submit(told: &Told, address: std::net::SocketAddr) {
    let mut client = HttpClient::new(address).keep_alive();
    while !told.stop.load(Ordering::Relaxed) {
        let number = told.sent.fetch_add(1, Ordering::Relaxed);
        let body = json!({"n": number, "bad": number.is_multiple_of(FAILING)});
        match client.json("POST", "/api/v1/data/jobs/async", &body) {
            Ok(answer) if answer.status == 202 => {
                let id = answer.json()["trace_id"].as_str().unwrap().to_owned();
                let mut accepted = told.accepted.lock();
                accepted.push(id);
                if accepted.len() >= SUBMISSIONS {
                    told.stop.store(true, Ordering::Relaxed);
                }
            }
            Ok(answer) => assert_eq!(answer.status, 503, "{}", answer.text()),
            // The server is away: it was killed.
            Err(_) => client = HttpClient::new(address).keep_alive(),
        }
    }
}

/// Every trace by id with its status, page after page.
fn traces(client: &mut HttpClient) -> BTreeMap<String, String> {
    pages(client, "/api/v1/admin/traces?mode=async&limit=1000", |row| {
        (text(&row["id"]), text(&row["status"]))
    })
}

/// The runs that the log of a server shows, by the ids of their traces. The log of a killed server may lack its end.
pub(crate) fn logged_runs(server: &ServerProcess) -> BTreeSet<String> {
    let log = server.log_text();
    log.split(RAN).skip(1).filter_map(|rest| rest.get(..36)).map(str::to_owned).collect()
}

/// A row whose run has completed.
#[derive(QueryableByName)]
struct CompletedRow {
    #[diesel(sql_type = Text)]
    id: String,
}

/// The completed runs in the database of a server that has ended, by the ids of their traces.
fn completed_runs(server: &ServerProcess) -> BTreeSet<String> {
    let mut database = open_database(&server.directory().join("svc.db"));
    let query = sql_query("SELECT id FROM traces WHERE status = 'completed'");
    let rows: Vec<CompletedRow> = query.load(&mut database).unwrap();
    rows.into_iter().map(|row| row.id).collect()
}

fn pages<K: Ord, V>(client: &mut HttpClient, path: &str, of: impl Fn(&Value) -> (K, V)) -> BTreeMap<K, V> {
    let (mut all, mut cursor) = (BTreeMap::new(), String::new());
    loop {
        let page = client.get(&format!("{path}{cursor}")).unwrap();
        assert_eq!(page.status, 200, "{}", page.text());
        let page = page.json();
        all.extend(page["data"].as_array().unwrap().iter().map(&of));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Ids of the traces that have a dead letter.
fn dead_letters(client: &mut HttpClient) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    loop {
        let path = format!("/api/v1/admin/trace-dlq?limit=1000&offset={}", ids.len());
        let page = client.get(&path).unwrap().json();
        let rows = page["data"].as_array().unwrap();
        if rows.is_empty() {
            return ids;
        }
        ids.extend(rows.iter().map(|row| text(&row["trace_id"])));
    }
}

pub(crate) fn is_settled(client: &mut HttpClient) -> bool {
    ["pending", "running"].iter().all(|status| {
        let page = client.get(&format!("/api/v1/admin/traces?status={status}&limit=1")).unwrap();
        page.json()["data"].as_array().is_some_and(Vec::is_empty)
    })
}

/// Checks that a server ran nothing that had completed in an earlier one, and returns the number of its runs.
fn check_runs(server: &ServerProcess, completed: &BTreeSet<String>) -> usize {
    let runs = logged_runs(server);
    let again: Vec<_> = runs.intersection(completed).collect();
    assert!(again.is_empty(), "completed and run again: {again:?}");
    runs.len()
}

#[test]
fn every_202_is_settled_after_kill_9() {
    let mut server: ServerProcess =
        launch().env("SVC_TRACE_QUEUE__DLQ_RETRY_ENABLED", "false").start().unwrap();
    let rule = json!({"rules": [{"logic": {"!": {"var": "payload.bad"}}, "message": "bad"}]});
    let tasks = json!([
        {"id": "say", "name": "Say", "function": {"name": "log",
            "input": {"message": {"cat": [RAN, {"var": "metadata.run.key"}]}}}},
        {"id": "check", "name": "Check", "function": {"name": "validation", "input": rule}},
        {"id": "take", "name": "Take",
            "function": {"name": "parse_json", "input": {"source": "payload", "target": "input"}}},
    ]);
    serve(&mut server.client(), "jobs", tasks);
    let (told, address) = (Arc::new(Told::default()), server.address());
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let told = Arc::clone(&told);
            std::thread::spawn(move || submit(&told, address))
        })
        .collect();
    let (mut completed, mut runs) = (BTreeSet::new(), 0);
    for kill in 1..=KILLS {
        let due = SUBMISSIONS * kill / (KILLS + 1);
        let reached = wait_until(Duration::from_secs(300), || {
            Ok(told.accepted.lock().len() >= due || clients.iter().any(|client| client.is_finished()))
        });
        assert!(reached.unwrap(), "submissions go on");
        server.signal("KILL").unwrap();
        server.wait(Duration::from_secs(30)).unwrap();
        runs += check_runs(&server, &completed);
        completed = completed_runs(&server);
        server = server.crash_and_restart().unwrap();
    }
    clients.into_iter().for_each(|client| client.join().unwrap());

    let mut client = server.client().keep_alive();
    assert!(wait_until(Duration::from_secs(120), || Ok(is_settled(&mut client))).unwrap(), "all runs end");
    runs += check_runs(&server, &completed);
    assert!(runs > SUBMISSIONS / 10, "{runs} runs are logged");
    let accepted = told.accepted.lock();
    let (traces, dead) = (traces(&mut client), dead_letters(&mut client));
    assert!(accepted.len() >= SUBMISSIONS);
    assert_eq!(accepted.iter().collect::<BTreeSet<_>>().len(), accepted.len(), "ids are unique");
    let mut failed = 0;
    for id in accepted.iter() {
        match traces.get(id).map(String::as_str) {
            Some("completed") => {}
            Some("failed") => {
                failed += 1;
                assert!(dead.contains(id), "{id} failed without a dead letter");
            }
            other => panic!("{id} was accepted and is {other:?}"),
        }
    }
    assert!(failed >= SUBMISSIONS / FAILING / 2, "failures were among them: {failed}");
}

#[test]
fn trace_of_answered_request_survives_kill_9() {
    let server = launch().start().unwrap();
    crate::support::echo(&mut server.client(), "kept", json!({}));
    let mut client = server.client().keep_alive();
    let answered: Vec<String> = (0..200)
        .map(|n| {
            let answer = client.json("POST", "/api/v1/data/kept", &json!({"n": n})).unwrap();
            assert_eq!(answer.status, 200, "{}", answer.text());
            text(&answer.json()["id"])
        })
        .collect();
    let server = server.crash_and_restart().unwrap();
    let stored = pages(&mut server.client(), "/api/v1/admin/traces?mode=sync&limit=1000", |row| {
        (text(&row["id"]), text(&row["status"]))
    });
    for id in &answered {
        assert_eq!(stored.get(id).map(String::as_str), Some("completed"), "{id}");
    }
}
