//! Runs that wait for something.

use diesel::connection::SimpleConnection;
use serde_json::{Value, json};
use svc_testkit::postgres::Postgres;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use super::{connect, cut_short, ends, hurried_command, is_cut, request, running, silent, task, trace};
use crate::cron::{calling, held_upstream, occurrences, schedule};
use crate::support::{eventually, open_database, serve, wait_until_stable};

/// Longer than any test takes.
const LONG_MS: u64 = 600_000;

/// Serves a task that waits for a peer, and cuts its runs.
fn cut_while_it_waits(kind: &str, config: &Value, function: &str, input: Value) {
    let server = hurried_command().env("SVC_KAFKA__ENABLED", "true").start().unwrap();
    let mut client = server.client();
    connect(&mut client, "peer", kind, config);
    serve(&mut client, "waits", task(function, input));
    cut_short(server, "waits", &json!({}));
}

#[test]
fn run_waiting_for_http_is_redone_after_restart() {
    let server = hurried_command().start().unwrap();
    let mut client = server.client();
    let upstream = held_upstream(&mut client);
    serve(&mut client, "waits", calling());
    let (next, id) = cut_short(server, "waits", &json!({}));
    upstream.open();
    assert_eq!(wait_until_stable(|| trace(&mut next.client(), &id))["status"], "completed");
}

#[test]
fn a_run_that_waits_for_another_channel_is_cut() {
    let server = hurried_command().start().unwrap();
    let mut client = server.client();
    let _upstream = held_upstream(&mut client);
    serve(&mut client, "callee", calling());
    serve(&mut client, "waits", task("channel_call", json!({"channel": "callee", "timeout_ms": LONG_MS})));
    cut_short(server, "waits", &json!({}));
}

#[test]
fn a_run_that_pauses_before_a_retry_is_cut() {
    let server = hurried_command().start().unwrap();
    let mut client = server.client();
    let upstream = Upstream::start(|_| UpstreamReply::new(503, "{}")).unwrap();
    let config = json!({"url": upstream.url(""), "allow_private_urls": true, "retry_non_idempotent": true,
        "retry": {"max_retries": 5, "retry_delay_ms": 60_000}});
    connect(&mut client, "api", "http", &config);
    serve(&mut client, "waits", calling());
    cut_short(server, "waits", &json!({}));
}

#[test]
fn a_run_that_waits_for_redis_is_cut() {
    let (_peer, port) = silent();
    let config =
        json!({"backend": "redis", "url": format!("redis://127.0.0.1:{port}"), "allow_private_urls": true});
    cut_while_it_waits(
        "cache",
        &config,
        "cache_read",
        json!({"connector": "peer", "key": "k", "output": "data.v"}),
    );
}

#[test]
fn a_run_that_waits_for_kafka_is_cut() {
    let (_peer, port) = silent();
    let config = json!({"brokers": [format!("127.0.0.1:{port}")], "topic": "t", "allow_private_urls": true});
    cut_while_it_waits("kafka", &config, "publish_kafka", json!({"connector": "peer"}));
}

#[test]
fn run_waiting_for_a_mail_server_is_cut() {
    let (_peer, port) = silent();
    let config = json!({"host": "127.0.0.1", "port": port, "tls": "none", "from": "svc@example.com",
        "allow_private_urls": true, "timeout_ms": LONG_MS});
    let input = json!({"connector": "peer", "to": "a@example.com", "subject": "s", "text": "t"});
    cut_while_it_waits("smtp", &config, "send_email", input);
}

#[test]
fn a_run_that_waits_for_storage_is_cut() {
    let (_peer, port) = silent();
    let config = json!({"endpoint": format!("http://127.0.0.1:{port}"), "region": "eu", "bucket": "b",
        "access_key": "a", "secret_key": "s", "force_path_style": true, "allow_private_urls": true,
        "timeout_ms": LONG_MS});
    cut_while_it_waits(
        "storage",
        &config,
        "storage_head",
        json!({"connector": "peer", "key": "k", "output": "data.o"}),
    );
}

#[test]
fn a_run_that_waits_for_a_query_is_cut() {
    let Some(postgres) = Postgres::shared() else { return };
    let database = postgres.database().unwrap();
    let config =
        json!({"connection_string": database.url(), "allow_private_urls": true, "query_timeout_ms": LONG_MS});
    let input =
        json!({"connector": "peer", "query": "SELECT 1 AS n FROM pg_sleep(600)", "output": "data.rows"});
    cut_while_it_waits("db", &config, "db_read", input);
}

#[test]
fn a_run_that_waits_for_a_lock_is_cut() {
    let server = hurried_command().start().unwrap();
    let mut client = server.client();
    let file = server.directory().join("other.db");
    let mut locked = open_database(&file);
    locked.batch_execute("CREATE TABLE t (n INTEGER); BEGIN EXCLUSIVE").unwrap();
    let config =
        json!({"connection_string": format!("sqlite:{}", file.display()), "query_timeout_ms": LONG_MS});
    connect(&mut client, "peer", "db", &config);
    serve(
        &mut client,
        "waits",
        task("db_write", json!({"connector": "peer", "query": "INSERT INTO t VALUES (1)"})),
    );
    cut_short(server, "waits", &json!({}));
}

#[test]
fn a_run_that_computes_is_cut() {
    let mut server = hurried_command().start().unwrap();
    let mut client = server.client();
    let sum = json!({"reduce": [{"var": "payload.n"},
        {"+": [{"var": "accumulator"}, {"reduce": [{"var": "context.payload.n"}, {"+": [1, 2]}, 0]}]}, 0]});
    // A reduction for each element of a list, and one for each element of that.
    let nested = json!({"map": [{"var": "payload.n"}, {"reduce": [{"var": "list"}, sum, 0]}]});
    let mapping = json!({"mappings": [{"path": "data.sum", "logic": nested}]});
    serve(&mut client, "computes", task("map", mapping));
    let numbers: Vec<u32> = (0..3000).collect();
    let caller = request(&server, "computes", json!({"n": numbers.clone()}));
    let accepted = client.json("POST", "/api/v1/data/computes/async", &json!({ "n": numbers })).unwrap();
    assert_eq!(accepted.status, 202, "{}", accepted.text());
    ends(&mut server, "TERM");
    drop(caller.join().unwrap());
}

#[test]
fn stopped_scheduled_run_is_returned_uncounted() {
    let mut server = hurried_command().start().unwrap();
    let mut client = server.client();
    let upstream = held_upstream(&mut client);
    let every_second = json!({"schedule": "* * * * * *", "concurrency": {"policy": "forbid"}});
    schedule(&mut client, "ticks", calling(), every_second, json!({}));
    upstream.wait_for(1);
    ends(&mut server, "TERM");
    upstream.open();
    let next = server.crash_and_restart().unwrap();
    let mut client = next.client();
    eventually(|| occurrences(&mut client, "ticks").iter().any(|row| row["status"] == "completed"));
    let rows = occurrences(&mut client, "ticks");
    assert!(rows.iter().all(|row| row["status"] != "failed"), "{rows:?}");
    let done = rows.iter().find(|row| row["status"] == "completed").unwrap();
    assert_eq!(done["attempt"], 1, "what was given back did not count: {done}");
}

#[test]
fn caller_and_submission_are_cut_together() {
    let mut server = hurried_command().start().unwrap();
    let mut client = server.client();
    let _upstream = held_upstream(&mut client);
    serve(&mut client, "one", calling());
    serve(&mut client, "two", calling());
    let caller = request(&server, "one", json!({}));
    let id = running(&mut client, "two", &json!({}));
    ends(&mut server, "TERM");
    is_cut(caller);
    let next = server.crash_and_restart().unwrap();
    super::is_unfinished(&mut next.client(), &id);
}
