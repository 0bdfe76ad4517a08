//! Two processes and a restarted one behind a PgBouncer in transaction mode.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};
use svc_testkit::http::HttpClient;
use svc_testkit::pgbouncer::PgBouncer;
use svc_testkit::postgres::Postgres;

use crate::Attack;
use crate::target::{AttackTarget, serve_echo};
use crate::verdict::{AttackOutcome, Promise};

pub(crate) const ATTACK: Attack = (
    Promise {
        name: "pooler",
        text: "two nodes and a restarted one behind a pooler in transaction mode: every answer is about what was asked for",
        before: "rows of one table answered as those of another, with 200",
    },
    attack,
);

/// The answers of all clients.
#[derive(Default)]
struct Answers {
    right: AtomicUsize,
    /// About something else than what was asked for.
    wrong: AtomicUsize,
    failed: AtomicUsize,
}

fn attack(target: &AttackTarget) -> io::Result<AttackOutcome> {
    let Some(postgres) = Postgres::own() else { return Ok(AttackOutcome::not_run("PostgreSQL is missing")) };
    let Some(pooler) = PgBouncer::own(&postgres) else {
        return Ok(AttackOutcome::not_run("PgBouncer is missing"));
    };
    let database = postgres.database().map_err(io::Error::other)?;
    let migration = target.launch()?.env("SVC_STORAGE__URL", database.url()).args(&["migrate"]);
    let migrated = migration.run_to_end()?;
    if !migrated.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&migrated.stderr).into_owned()));
    }
    let url = pooler.through(&database);
    let node = || Ok::<_, io::Error>(target.launch()?.env("SVC_STORAGE__URL", &url));
    let first = node()?.start()?;
    serve_echo(&mut first.client(), "e", &json!({"tracing": {"mode": "sync"}}))?;
    let second = node()?.start()?;
    let first = first.crash_and_restart()?;
    let answers = Answers::default();
    let rounds = target.pick_size(10, 200);
    thread::scope(|scope| {
        for client in 0..8 {
            let address = if client % 2 == 0 { first.address() } else { second.address() };
            let answers = &answers;
            scope.spawn(move || work(address, client, rounds, answers));
        }
    });
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    let (right, wrong, failed) = (count(&answers.right), count(&answers.wrong), count(&answers.failed));
    let figure = format!("{right} answers right, {wrong} about something else, {failed} failed");
    Ok(AttackOutcome::new(wrong == 0 && failed == 0 && right > 0, figure))
}

/// Creates and reads definitions and accepted work.
fn work(address: SocketAddr, client: usize, rounds: usize, answers: &Answers) {
    let mut http = HttpClient::new(address);
    for round in 0..rounds {
        let id = format!("w{client}-{round}");
        let take = json!({"name": "parse_json", "input": {"source": "payload", "target": "input"}});
        let workflow = json!({"workflow_id": id, "name": id,
            "tasks": [{"id": "take", "name": "Take", "function": take}]});
        let accepted = http.json("POST", "/api/v1/data/e/async", &json!({}));
        let accepted = accepted.ok().map(|answer| answer.json()).unwrap_or_default();
        let trace = accepted["trace_id"].clone();
        let [id_of_trace, token] =
            ["trace_id", "trace_token"].map(|key| accepted[key].as_str().unwrap_or("none"));
        let trace_path = format!("traces/{id_of_trace}?token={token}");
        answers.judge(&mut http, ("POST", "workflows"), &workflow, |body| body["data"]["workflow_id"] == id);
        let path = format!("workflows/{id}");
        answers.judge(&mut http, ("GET", &path), &Value::Null, |body| body["data"]["workflow_id"] == id);
        answers.judge(&mut http, ("GET", &trace_path), &Value::Null, |body| body["data"]["id"] == trace);
        answers.judge(&mut http, ("GET", "channels"), &Value::Null, |body| {
            body["data"][0]["channel_id"] == "e" && body["total"] == 1
        });
        answers.judge(&mut http, ("GET", "audit-logs?limit=1"), &Value::Null, |body| {
            body["data"][0]["action"].is_string()
        });
    }
}

impl Answers {
    fn judge(
        &self,
        http: &mut HttpClient,
        (method, path): (&str, &str),
        body: &Value,
        is_right: impl FnOnce(&Value) -> bool,
    ) {
        let counter = match http.json(method, &format!("/api/v1/admin/{path}"), body) {
            Ok(answer) if answer.status < 300 && is_right(&answer.json()) => &self.right,
            Ok(answer) if answer.status < 300 => &self.wrong,
            _ => &self.failed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
