//! Runs of accepted work that go on until they are cancelled.

use std::net::{Ipv4Addr, TcpListener};
use std::thread;

use serde_json::{Value, json};
use svc_testkit::example::create_and_activate;
use svc_testkit::http::HttpClient;
use svc_testkit::mariadb::MariaDb;
use svc_testkit::postgres::{Postgres, PostgresDatabase};
use svc_testkit::server::ServerCommand;
use svc_testkit::upstream::Upstream;

use super::{ADMIN, FLAKY, HELD, LONG_MS, Node, Stage, call, connect, order_cancel};
use crate::support::{channel, error, eventually, serve, serve_with};

/// Statements that last, recognisable at their servers.
const POSTGRES_SLEEP: &str = "SELECT pg_sleep(600)::text AS cancel_matrix";
const MARIADB_SLEEP: &str = "SELECT SLEEP(600) AS cancel_matrix";

/// The sign that a run has come to the part that goes on.
enum Sign {
    /// Its row is marked as running.
    Runs,
    /// It made this request of the witness.
    Asks(&'static str),
    /// The server of this connector runs its statement.
    Queries(&'static str),
    /// It began: it holds its thread from then on, and its row is marked no more.
    Computes,
}

/// A channel whose runs go on until they are cancelled. Those without `waits` in their payload end at once.
struct Case {
    name: &'static str,
    sign: Sign,
}

/// Two nodes, and the servers that their runs wait for.
struct Matrix {
    stage: Stage,
    app: PostgresDatabase,
    cases: Vec<Case>,
    runs: usize,
}

/// Serves a channel with room for one run: it reports its begin to the witness, does `wait`, and reports its end.
fn serve_case(client: &mut HttpClient, name: &str, wait: &Value) {
    let report = |id: &str| {
        json!({"id": id, "name": "", "function": {"name": "http_call", "input": {"connector": "witness",
            "path_logic": {"cat": [format!("/{id}/"), {"var": "payload.n"}]}}}})
    };
    let wait = json!({"id": "wait", "name": "", "condition": {"var": "payload.waits"}, "function": wait});
    serve_with(client, name, one_run(), json!([report("begin"), wait, report("after")]));
}

/// Serves a workflow that repeats its tasks, as [`serve_case`] does.
fn serve_loop(client: &mut HttpClient) {
    let sweep = json!({"var": "temp_data.sweep"});
    let begin = json!({"id": "begin", "name": "", "condition": {"==": [sweep, 0]},
        "function": {"name": "http_call", "input": {"connector": "witness",
            "path_logic": {"cat": ["/begin/", {"var": "payload.n"}]}}}});
    let step = json!({"id": "step", "name": "", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.sweep", "logic": sweep}]}}});
    let workflow = json!({"workflow_id": "loop", "name": "loop", "tasks": [begin, step],
        "loop": {"counter": "sweep", "max": 1_000_000_000_u64},
        "condition": {"or": [{"var": "payload.waits"}, {"<": [sweep, 1]}]}});
    create_and_activate(client, "workflows", "workflow_id", &workflow).unwrap();
    create_and_activate(client, "channels", "channel_id", &channel("loop", "loop", one_run())).unwrap();
}

fn one_run() -> Value {
    json!({"backpressure": {"max_concurrent_per_node": 1}})
}

/// An expression that would take hours: every number with every other, twice.
fn endless() -> Value {
    let numbers = |scope: usize| json!({"val": [[scope], "payload", "numbers"]});
    let inner = json!({"some": [numbers(2), {"===": [{"var": ""}, -1]}]});
    json!({"all": [{"var": "payload.numbers"}, {"none": [numbers(1), inner]}]})
}

/// Serves the cases that wait for the witness, or compute.
fn serve_own(client: &mut HttpClient, witness: &Upstream, cases: &mut Vec<Case>) {
    serve_case(client, "http", &call("", HELD)["function"]);
    cases.push(Case { name: "http", sign: Sign::Asks(HELD) });

    serve(client, "slow", json!([call("held", HELD)]));
    let callee = json!({"name": "channel_call", "input": {"channel": "slow", "timeout_ms": LONG_MS}});
    serve_case(client, "callers", &callee);
    cases.push(Case { name: "callers", sign: Sign::Asks(HELD) });

    let retry = json!({"max_retries": 5, "retry_delay_ms": 60_000});
    connect(client, "patient", "http", &json!({"url": witness.url(""), "retry": retry}));
    serve_case(
        client,
        "retry",
        &json!({"name": "http_call", "input": {
        "connector": "patient", "path": FLAKY, "timeout_ms": LONG_MS}}),
    );
    cases.push(Case { name: "retry", sign: Sign::Asks(FLAKY) });

    serve_loop(client);
    cases.push(Case { name: "loop", sign: Sign::Runs });

    serve_case(
        client,
        "compute",
        &json!({"name": "map", "input": {"mappings": [
        {"path": "data.x", "logic": endless()}]}}),
    );
    cases.push(Case { name: "compute", sign: Sign::Computes });
}

/// Serves the cases that wait for a server that does not answer.
fn serve_silent(client: &mut HttpClient, port: u16, cases: &mut Vec<Case>) {
    connect(client, "bus", "kafka", &json!({"brokers": [format!("127.0.0.1:{port}")], "topic": "t"}));
    serve_case(client, "kafka", &json!({"name": "publish_kafka", "input": {"connector": "bus"}}));
    cases.push(Case { name: "kafka", sign: Sign::Runs });

    let mail = json!({"host": "127.0.0.1", "port": port, "tls": "none", "from": "svc@example.com",
        "timeout_ms": LONG_MS});
    connect(client, "mail", "smtp", &mail);
    serve_case(
        client,
        "smtp",
        &json!({"name": "send_email", "input": {
        "connector": "mail", "to": "a@example.com", "subject": "s", "text": "t"}}),
    );
    cases.push(Case { name: "smtp", sign: Sign::Runs });
}

/// Serves a case that waits for a statement of a database.
fn serve_statement(client: &mut HttpClient, name: &'static str, url: &str, cases: &mut Vec<Case>) {
    let statement = if name == "mariadb" { MARIADB_SLEEP } else { POSTGRES_SLEEP };
    connect(client, name, "db", &json!({"connection_string": url, "query_timeout_ms": LONG_MS}));
    let input = json!({"connector": name, "query": statement, "output": "data.rows"});
    serve_case(client, name, &json!({"name": "db_read", "input": input}));
    cases.push(Case { name, sign: Sign::Queries(name) });
}

/// Serves the number of statements that a MariaDB runs for the cases.
fn serve_process_list(client: &mut HttpClient) {
    let query = format!(
        "SELECT count(*) AS n FROM information_schema.processlist WHERE info LIKE '{MARIADB_SLEEP}%'"
    );
    serve(
        client,
        "processes",
        json!([{"id": "count", "name": "", "function": {"name": "db_read", "input": {
            "connector": "mariadb", "query": query, "output": "data.rows"}}}]),
    );
}

impl Matrix {
    fn submit(&mut self, channel: &str, waits: bool) -> (usize, String) {
        self.runs += 1;
        let numbers: Vec<u32> = if waits { (0..3000).collect() } else { Vec::new() };
        let payload = json!({"n": self.runs, "waits": waits, "numbers": numbers});
        let path = format!("/api/v1/data/{channel}/async");
        let answer = self.stage.client(Node::Holder).json("POST", &path, &payload).unwrap();
        assert_eq!(answer.status, 202, "{channel}: {}", answer.text());
        (self.runs, format!("{ADMIN}/traces/{}", answer.json()["trace_id"].as_str().unwrap()))
    }

    /// Counts the statements of the cases that a server runs.
    fn count_statements(&self, connector: &str) -> u64 {
        if connector == "postgres" {
            let query = format!(
                "SELECT 1::text FROM pg_stat_activity WHERE state = 'active' AND datname = current_database() \
                 AND query LIKE '{POSTGRES_SLEEP}%'"
            );
            return self.app.rows(&query).unwrap().len() as u64;
        }
        let counted =
            self.stage.client(Node::Other).json("POST", "/api/v1/data/processes", &json!({})).unwrap();
        assert_eq!(counted.status, 200, "{}", counted.text());
        counted.json()["data"]["rows"][0]["n"].as_u64().unwrap()
    }

    /// Submits a run, and waits until it has come to the part that goes on. Returns its number and its trace.
    fn begin(&mut self, place: usize) -> (usize, String) {
        let name = self.cases[place].name;
        let before = match self.cases[place].sign {
            Sign::Asks(path) => self.stage.count_requests(path),
            _ => 0,
        };
        let (n, path) = self.submit(name, true);
        let stage = &self.stage;
        stage.wait_for(&format!("/begin/{n}"), 1);
        match self.cases[place].sign {
            Sign::Computes => return (n, path),
            Sign::Runs => {}
            Sign::Asks(held) => stage.wait_for(held, before + 1),
            Sign::Queries(connector) => eventually(|| self.count_statements(connector) == 1),
        }
        stage.wait_for_status(&path, "running");
        (n, path)
    }

    fn cancel(&self, place: usize, node: Node, path: &str) -> Value {
        if !matches!((&self.cases[place].sign, node), (Sign::Computes, Node::Holder)) {
            return self.stage.cancel(node, path);
        }
        // The thread that computes takes some of the connections, and answers them once it has ended.
        let orders: Vec<_> = (0..8)
            .map(|_| {
                let (mut client, path) = (self.stage.client(node), path.to_owned());
                thread::spawn(move || order_cancel(&mut client, &path))
            })
            .collect();
        let answers: Vec<_> = orders.into_iter().map(|order| order.join().unwrap()).collect();
        assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 409)), "{answers:?}");
        assert!(answers.iter().any(|answer| answer.status == 200), "{answers:?}");
        self.stage.read(path)
    }

    /// Cancels a run of a case, and checks that its room is free and that it begins nothing more.
    fn check(&mut self, place: usize, node: Node) -> (usize, String) {
        let name = self.cases[place].name;
        let (n, path) = self.begin(place);
        let trace = self.cancel(place, node, &path);
        assert_eq!(
            (&trace["status"], &trace["attempt"], trace["cancelled_by"].is_string()),
            (&json!("cancelled"), &json!(1), true),
            "{name}, {node:?}: {trace}"
        );
        error(&order_cancel(&mut self.stage.client(node), &path), 409, "CONFLICT");
        if let Sign::Queries(connector) = self.cases[place].sign {
            eventually(|| self.count_statements(connector) == 0);
        }
        let (next, after) = self.submit(name, false);
        self.stage.wait_for_status(&after, "completed");
        assert_eq!(self.stage.count_requests(&format!("/begin/{next}")), 1, "{name}, {node:?}");
        (n, path)
    }
}

#[test]
fn every_kind_of_run_is_cancelled() {
    let Some(postgres) = Postgres::shared() else { return };
    let (app, maria) = (postgres.database().unwrap(), MariaDb::shared());
    // Accepts connections, and stays silent.
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = silent.local_addr().unwrap().port();
    let mut cases = Vec::new();
    let bounds = |launch: ServerCommand| {
        launch
            .env("SVC_KAFKA__ENABLED", "true")
            .env("SVC_ENGINE__CPU_BUDGET_MS", &LONG_MS.to_string())
            .env("SVC_ENGINE__MAX_LOOP_ITERATIONS", "0")
    };
    let stage = Stage::start(bounds, bounds, |client, witness| {
        serve_own(client, witness, &mut cases);
        serve_silent(client, port, &mut cases);
        serve_statement(client, "postgres", app.url(), &mut cases);
        if let Some(maria) = &maria {
            serve_statement(client, "mariadb", maria.url(), &mut cases);
            serve_process_list(client);
        }
    });
    let Some(stage) = stage else { return };
    let mut matrix = Matrix { stage, app, cases, runs: 0 };
    let mut cancelled = Vec::new();
    for place in 0..matrix.cases.len() {
        for node in [Node::Holder, Node::Other] {
            cancelled.push(matrix.check(place, node));
        }
    }
    let stage = &matrix.stage;
    for (n, path) in cancelled {
        let trace = stage.read(&path);
        assert_eq!((&trace["status"], &trace["attempt"]), (&json!("cancelled"), &json!(1)), "{trace}");
        let asked = ["begin", "after"].map(|id| stage.count_requests(&format!("/{id}/{n}")));
        assert_eq!(asked, [1, 0], "nothing begins after a cancel: {trace}");
    }
    assert_eq!(stage.list("trace-dlq"), json!([]));
}

#[test]
fn retrying_work_is_cancelled_by_both_nodes() {
    let stage = Stage::start(
        |launch| launch,
        |launch| launch,
        |client, _| serve(client, "broken", json!([call("boom", FLAKY)])),
    );
    let Some(stage) = stage else { return };
    for node in [Node::Holder, Node::Other] {
        let answer =
            stage.client(Node::Holder).json("POST", "/api/v1/data/broken/async", &json!({})).unwrap();
        assert_eq!(answer.status, 202, "{}", answer.text());
        let path = format!("{ADMIN}/traces/{}", answer.json()["trace_id"].as_str().unwrap());
        stage.wait_for_status(&path, "retrying");
        stage.cancel(node, &path);
        assert_eq!(stage.list("trace-dlq"), json!([]), "its letter goes with it");
        error(&order_cancel(&mut stage.client(node), &path), 409, "CONFLICT");
    }
}
