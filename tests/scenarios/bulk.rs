//! Actions on many rows, driven through kills, aborted and begun again; backfills of schedules.

use diesel::prelude::{QueryableByName, RunQueryDsl as _};
use diesel::sql_query;
use diesel::sql_types::Text;
use serde_json::{Value, json};
use svc_model::Timestamp;
use svc_testkit::http::HttpClient;
use svc_testkit::server::{ServerCommand, ServerProcess};

use crate::cron::{occurrences, schedule, telling};
use crate::support::{echo, error, eventually, launch, open_database, serve, start};

const BULK: &str = "/api/v1/admin/bulk";
const LETTERS: &str = "/api/v1/admin/trace-dlq";
const TRACES: &str = "/api/v1/admin/traces";

/// Starts a server that retries nothing by itself, with a channel that fails whatever comes in.
fn start_failing() -> ServerProcess {
    start_failing_from(launch())
}

fn start_failing_from(command: ServerCommand) -> ServerProcess {
    let server = command
        .env("SVC_TRACE_QUEUE__DLQ_RETRY_ENABLED", "false")
        .env("SVC_TRACE_QUEUE__DLQ_LEASE_SECS", "2")
        .env("SVC_TRACE_QUEUE__DLQ_POLL_INTERVAL_SECS", "1")
        .start()
        .unwrap();
    let tasks = json!([{"id": "boom", "name": "", "function": {"name": "map", "input": {"mappings": [
        {"path": "data.x", "logic": {"throw": "no"}}]}}}]);
    serve(&mut server.client(), "broken", tasks);
    server
}

fn count_letters(client: &mut HttpClient) -> u64 {
    client.get(&format!("{LETTERS}?limit=1")).unwrap().json()["total"].as_u64().unwrap()
}

/// Submits work that fails, and waits until each has its dead letter.
fn make_letters(client: &mut HttpClient, count: u64) {
    for n in 0..count {
        let answer = client.json("POST", "/api/v1/data/broken/async", &json!({"n": n})).unwrap();
        assert_eq!(answer.status, 202, "{}", answer.text());
    }
    eventually(|| count_letters(client) == count);
}

/// Starts a run and returns its id.
fn begin(client: &mut HttpClient, body: &Value) -> String {
    let answer = client.json("POST", BULK, body).unwrap();
    assert_eq!(answer.status, 202, "{}", answer.text());
    answer.json()["data"]["id"].as_str().unwrap().to_owned()
}

fn read_run(client: &mut HttpClient, id: &str) -> Value {
    let answer = client.get(&format!("{BULK}/{id}")).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["data"].clone()
}

fn wait_for_end(client: &mut HttpClient, id: &str) -> Value {
    let mut run = Value::Null;
    eventually(|| {
        run = read_run(client, id);
        ["aborted", "completed", "failed"].contains(&run["state"].as_str().unwrap())
    });
    run
}

/// Returns matched, done, failed and skipped.
fn counts(run: &Value) -> [u64; 4] {
    ["matched", "done", "failed", "skipped"].map(|key| run[key].as_u64().unwrap())
}

/// Returns the number of attempts of each work of the channel `broken`.
fn attempts(client: &mut HttpClient) -> Vec<u64> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page =
            client.get(&format!("{TRACES}?channel=broken&mode=async&limit=1000{cursor}")).unwrap().json();
        all.extend(page["data"].as_array().unwrap().iter().map(|row| row["attempt"].as_u64().unwrap()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

fn requeue_all(rate: u64) -> Value {
    json!({"kind": "dead_letters", "action": "requeue", "filter": {"channel": "broken"}, "rate_per_second": rate})
}

#[test]
fn letters_are_requeued_once_over_three_kills() {
    const COUNT: u64 = 2000;
    let mut server = start_failing();
    make_letters(&mut server.client().keep_alive(), COUNT);
    let id = begin(&mut server.client(), &requeue_all(500));
    for kill in 1..=3 {
        let mut client = server.client();
        eventually(|| read_run(&mut client, &id)["done"].as_u64().unwrap() >= kill * 400);
        server = server.crash_and_restart().unwrap();
    }
    let mut client = server.client().keep_alive();
    let run = wait_for_end(&mut client, &id);
    assert_eq!((counts(&run), &run["state"]), ([COUNT, COUNT, 0, 0], &json!("completed")), "{run}");
    eventually(|| attempts(&mut client).iter().filter(|attempt| **attempt == 2).count() as u64 == COUNT);
    assert_eq!(attempts(&mut client).len() as u64, COUNT);
    eventually(|| count_letters(&mut client) == COUNT);
    for action in ["bulk_start", "bulk_end"] {
        let audit = client.get(&format!("/api/v1/admin/audit-logs?action={action}")).unwrap().json();
        assert_eq!((&audit["total"], &audit["data"][0]["resource_id"]), (&json!(1), &json!(id)), "{audit}");
    }
}

#[test]
fn second_command_does_the_rest_of_aborted_run() {
    const COUNT: u64 = 200;
    let server = start_failing();
    let mut client = server.client().keep_alive();
    make_letters(&mut client, COUNT);
    let dry = client.json("POST", &format!("{BULK}?dry_run=true"), &requeue_all(0)).unwrap().json();
    assert_eq!(
        (&dry["data"]["matched"], dry["data"]["samples"].as_array().map(Vec::len)),
        (&json!(COUNT), Some(20))
    );
    let first = begin(&mut client, &requeue_all(40));
    eventually(|| read_run(&mut client, &first)["done"].as_u64().unwrap() > 0);
    let told = client.send("POST", &format!("{BULK}/{first}/abort"), &[], b"").unwrap();
    assert_eq!(told.status, 200, "{}", told.text());
    let run = wait_for_end(&mut client, &first);
    let [_, done, ..] = counts(&run);
    assert!(run["state"] == "aborted" && (1..COUNT).contains(&done), "{run}");
    // Requeued work fails again with letters of its own, which are no rest.
    eventually(|| attempts(&mut client).iter().filter(|attempt| **attempt == 2).count() as u64 == done);
    eventually(|| count_letters(&mut client) == COUNT);
    let since = run["started_at"].clone();
    let mut rest = requeue_all(0);
    rest["filter"]["until"] = since;
    let run = wait_for_end_of(&mut client, &rest);
    assert_eq!(counts(&run), [COUNT - done, COUNT - done, 0, 0], "{run}");
    eventually(|| attempts(&mut client).iter().all(|attempt| *attempt == 2));
    let ended = client.send("POST", &format!("{BULK}/{first}/abort"), &[], b"").unwrap();
    error(&ended, 409, "CONFLICT");
}

fn wait_for_end_of(client: &mut HttpClient, body: &Value) -> Value {
    let id = begin(client, body);
    wait_for_end(client, &id)
}

#[test]
fn two_runs_over_one_row_act_on_it_once() {
    let server = start_failing();
    let mut client = server.client().keep_alive();
    make_letters(&mut client, 40);
    // Requeued work fails again, with letters that neither run is to take.
    let mut body = requeue_all(8);
    body["filter"]["until"] = Timestamp::now().to_string().into();
    let (first, second) = (begin(&mut client, &body), begin(&mut client, &body));
    let third = client.json("POST", BULK, &requeue_all(20)).unwrap();
    let message = error(&third, 409, "CONFLICT")["message"].to_string();
    assert!(message.contains(&first) && message.contains(&second), "{message}");
    let runs = [&first, &second].map(|id| wait_for_end(&mut client, id));
    let done: u64 = runs.iter().map(|run| counts(run)[1]).sum();
    assert_eq!(done, 40, "{runs:?}");
    eventually(|| attempts(&mut client).iter().all(|attempt| *attempt == 2));
    let listed = client.get(BULK).unwrap().json();
    assert_eq!((&listed["total"], &listed["data"][0]["id"]), (&json!(2), &json!(second)), "{listed}");
}

#[test]
fn purge_deletes_what_matches_and_no_more() {
    let server = start_failing();
    let mut client = server.client();
    make_letters(&mut client, 3);
    let none = json!({"kind": "dead_letters", "action": "purge", "filter": {"channel": "other"}});
    assert_eq!(counts(&wait_for_end_of(&mut client, &none)), [0, 0, 0, 0]);
    assert_eq!(count_letters(&mut client), 3);
    let all = json!({"kind": "dead_letters", "action": "purge", "filter": {}, "all": true});
    assert_eq!(counts(&wait_for_end_of(&mut client, &all)), [3, 3, 0, 0]);
    assert_eq!(count_letters(&mut client), 0);
}

#[derive(QueryableByName)]
struct StoredPosition {
    #[diesel(sql_type = Text)]
    position: String,
}

#[test]
fn reruns_beyond_the_bound_wait_for_room() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "orders", json!({"queue": {"max_waiting": 2}}));
    let completed = |client: &mut HttpClient| {
        let page = client.get(&format!("{TRACES}?channel=orders&status=completed")).unwrap().json();
        page["data"].as_array().unwrap().clone()
    };
    for n in 1..=3 {
        let answer = client.json("POST", "/api/v1/data/orders/async", &json!({"n": n})).unwrap();
        assert_eq!(answer.status, 202, "{}", answer.text());
        // What still waits takes room from the next.
        eventually(|| completed(&mut client).len() == n);
    }
    let former = completed(&mut client)[0]["id"].as_str().unwrap().to_owned();
    let channel = "/api/v1/admin/channels/orders";
    client.json("POST", &format!("{channel}/pause"), &json!({"reason": "down"})).unwrap();
    let id =
        begin(&mut client, &json!({"kind": "traces", "action": "rerun", "filter": {"channel": "orders"}}));
    eventually(|| read_run(&mut client, &id)["done"] == 2);
    // A node of an earlier version that takes the run over reads the position as a cursor.
    let query = sql_query("SELECT position FROM bulk_runs WHERE position IS NOT NULL");
    let stored: StoredPosition =
        query.get_result(&mut open_database(&server.directory().join("svc.db"))).unwrap();
    assert!(!stored.position.starts_with('{'), "{}", stored.position);
    let single =
        client.json("POST", &format!("{TRACES}/{former}/rerun"), &json!({"version": "current"})).unwrap();
    error(&single, 503, "SERVICE_UNAVAILABLE");
    assert!(single.header("retry-after").is_some());
    assert_eq!(read_run(&mut client, &id)["state"], "running");
    client.json("POST", &format!("{channel}/resume"), &json!({})).unwrap();
    assert_eq!(counts(&wait_for_end(&mut client, &id)), [3, 3, 0, 0]);
    eventually(|| completed(&mut client).len() == 6);
}

#[test]
fn full_channel_leaves_reruns_of_others_alone() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "orders", json!({"queue": {"max_waiting": 1}}));
    echo(&mut client, "refunds", json!({}));
    let count = |client: &mut HttpClient, channel: &str| {
        let page = client.get(&format!("{TRACES}?channel={channel}&status=completed")).unwrap().json();
        page["data"].as_array().unwrap().len()
    };
    for channel in ["orders", "refunds"] {
        for n in 1..=3 {
            let answer =
                client.json("POST", &format!("/api/v1/data/{channel}/async"), &json!({"n": n})).unwrap();
            assert_eq!(answer.status, 202, "{}", answer.text());
            // What still waits takes room from the next.
            eventually(|| count(&mut client, channel) == n);
        }
    }
    let channel = "/api/v1/admin/channels/orders";
    client.json("POST", &format!("{channel}/pause"), &json!({"reason": "down"})).unwrap();
    let filter = json!({"channel": ["orders", "refunds"]});
    let id = begin(&mut client, &json!({"kind": "traces", "action": "rerun", "filter": filter}));
    eventually(|| count(&mut client, "refunds") == 6);
    // One of the full channel has room.
    eventually(|| read_run(&mut client, &id)["done"] == 4);
    assert_eq!(read_run(&mut client, &id)["state"], "running");
    client.json("POST", &format!("{channel}/resume"), &json!({})).unwrap();
    assert_eq!(counts(&wait_for_end(&mut client, &id)), [6, 6, 0, 0]);
    eventually(|| count(&mut client, "orders") == 6);
}

#[test]
fn requeues_beyond_the_bound_wait_for_room() {
    let server = start_failing_from(launch().env("SVC_TRACE_QUEUE__MAX_WAITING", "1"));
    let mut client = server.client();
    make_letters(&mut client, 1);
    let later = [("svc-delay", "1h"), ("content-type", "application/json")];
    let delayed = client.send("POST", "/api/v1/data/broken/async", &later, b"{}").unwrap();
    assert_eq!(delayed.status, 202, "{}", delayed.text());
    let letter = client.get(LETTERS).unwrap().json()["data"][0]["id"].as_str().unwrap().to_owned();
    let single = client.send("POST", &format!("{LETTERS}/{letter}/requeue"), &[], b"").unwrap();
    error(&single, 503, "SERVICE_UNAVAILABLE");
    assert!(single.header("retry-after").is_some());
    let id = begin(&mut client, &requeue_all(0));
    let run = read_run(&mut client, &id);
    assert_eq!((counts(&run), &run["state"]), ([1, 0, 0, 0], &json!("running")));
    let delayed = delayed.json()["trace_id"].as_str().unwrap().to_owned();
    let cancelled = client.send("POST", &format!("{TRACES}/{delayed}/cancel"), &[], b"").unwrap();
    assert_eq!(cancelled.status, 200, "{}", cancelled.text());
    assert_eq!(counts(&wait_for_end(&mut client, &id)), [1, 1, 0, 0]);
}

#[test]
fn ended_runs_rerun_and_queued_work_is_cancelled() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "orders", json!({}));
    for n in 0..3 {
        let answer = client.json("POST", "/api/v1/data/orders/async", &json!({"n": n})).unwrap();
        assert_eq!(answer.status, 202, "{}", answer.text());
    }
    let count = |client: &mut HttpClient, status: &str| {
        let page = client.get(&format!("{TRACES}?channel=orders&mode=async&status={status}")).unwrap().json();
        page["data"].as_array().unwrap().len()
    };
    eventually(|| count(&mut client, "completed") == 3);
    let rerun = json!({"kind": "traces", "action": "rerun", "filter": {"channel": "orders"}});
    assert_eq!(counts(&wait_for_end_of(&mut client, &rerun)), [3, 3, 0, 0]);
    eventually(|| count(&mut client, "completed") == 6);
    let later = [("svc-delay", "1h"), ("content-type", "application/json")];
    for _ in 0..2 {
        let answer = client.send("POST", "/api/v1/data/orders/async", &later, b"{}").unwrap();
        assert_eq!(answer.status, 202, "{}", answer.text());
    }
    let cancel = json!({"kind": "traces", "action": "cancel", "filter": {"channel": "orders"}});
    assert_eq!(counts(&wait_for_end_of(&mut client, &cancel)), [2, 2, 0, 0]);
    assert_eq!((count(&mut client, "scheduled"), count(&mut client, "cancelled")), (0, 2));
}

#[test]
fn bulk_request_without_meaning_is_refused() {
    let server = start();
    let mut client = server.client();
    for (body, part) in [
        (json!({"kind": "letters", "action": "requeue", "all": true}), "dead_letters"),
        (json!({"kind": "dead_letters", "action": "retry", "all": true}), "requeue"),
        (json!({"kind": "occurrences", "action": "purge", "all": true}), "retry"),
        (json!({"kind": "traces", "action": "requeue", "all": true}), "rerun"),
        (json!({"kind": "occurrences", "action": "backfill", "all": true}), "action"),
        (json!({"kind": "dead_letters", "action": "requeue", "filter": {}}), "all"),
        (json!({"kind": "dead_letters", "action": "requeue", "filter": {"channel": null}}), "all"),
        (json!({"kind": "dead_letters", "action": "purge", "filter": {"channel": ""}}), "empty"),
        (json!({"kind": "dead_letters", "action": "purge", "filter": {"channel": []}}), "empty"),
        (
            json!({"kind": "dead_letters", "action": "requeue", "filter": {"channel": "a"}, "all": 1}),
            "boolean",
        ),
        (json!({"kind": "dead_letters", "action": "requeue", "filter": {"chanel": "a"}}), "channel"),
        (json!({"kind": "dead_letters", "action": "requeue", "filter": {"cursor": "a"}}), "cursor"),
        (
            json!({"kind": "dead_letters", "action": "requeue", "filter": {"since": "-1h", "until": "-2h"}}),
            "before it begins",
        ),
    ] {
        let refused = client.json("POST", BULK, &body).unwrap();
        let text = error(&refused, 400, "VALIDATION_ERROR").to_string();
        assert!(text.contains(part), "{body}: {text}");
    }
    for (word, value) in
        [("since", json!("yesterday")), ("until", json!("soon")), ("version", json!([1, -2]))]
    {
        let body = json!({"kind": "dead_letters", "action": "requeue", "filter": {(word): value}});
        let refused = error(&client.json("POST", BULK, &body).unwrap(), 400, "VALIDATION_ERROR");
        assert_eq!(refused["details"][0]["path"], format!("body.filter.{word}"), "{refused}");
        assert!(!refused.to_string().contains("query parameter"), "{refused}");
    }
    error(&client.get(&format!("{BULK}/none")).unwrap(), 404, "NOT_FOUND");
    error(&client.send("POST", &format!("{BULK}/none/abort"), &[], b"").unwrap(), 404, "NOT_FOUND");
    assert_eq!(client.get(BULK).unwrap().json()["total"], 0);
}

#[test]
fn backfill_runs_missed_instants_of_a_schedule() {
    let server = start();
    let mut client = server.client();
    schedule(&mut client, "hourly", telling(), json!({"schedule": "0 * * * *"}), json!({}));
    let path = "/api/v1/admin/channels/hourly/backfill";
    let mut range = json!({"from": "2020-01-01T00:00:00Z", "until": "2020-01-01T03:30:00Z"});
    let unknown = client.json("POST", path, &range).unwrap();
    let message = error(&unknown, 400, "VALIDATION_ERROR").to_string();
    assert!(message.contains("assume_missed"), "{message}");
    range["assume_missed"] = true.into();
    range["max_parallel"] = 2.into();
    let dry = client.json("POST", &format!("{path}?dry_run=true"), &range).unwrap().json();
    assert_eq!(dry["data"]["planned"], 4, "{dry}");
    let first = dry["data"]["instants"][0].as_str().and_then(Timestamp::parse);
    assert_eq!(first, Timestamp::parse("2020-01-01T00:00:00Z"));
    let begun = client.json("POST", path, &range).unwrap();
    assert_eq!((begun.status, &begun.json()["data"]["planned"]), (202, &json!(4)), "{}", begun.text());
    let run = wait_for_end(&mut client, begun.json()["data"]["id"].as_str().unwrap());
    assert_eq!((counts(&run), &run["action"]), ([4, 4, 0, 0], &json!("backfill")), "{run}");
    let rows = occurrences(&mut client, "hourly");
    let backfilled: Vec<_> = rows.iter().filter(|row| row["trigger"] == "backfill").collect();
    assert!(backfilled.len() == 4 && backfilled.iter().all(|row| row["status"] == "completed"), "{rows:?}");
    let again = client.json("POST", &format!("{path}?dry_run=true"), &range).unwrap().json();
    assert_eq!(again["data"]["planned"], 0, "what ran is not missed: {again}");
}

#[test]
fn backfill_without_meaning_is_refused() {
    let server = start();
    let mut client = server.client();
    echo(&mut client, "orders", json!({}));
    schedule(&mut client, "often", telling(), json!({"schedule": "* * * * *"}), json!({}));
    let day = json!({"from": "2020-01-01T00:00:00Z", "until": "2020-01-02T00:00:00Z", "assume_missed": true});
    for (id, change, part) in [
        ("orders", json!({}), "cron"),
        ("nothing", json!({}), "cron"),
        ("often", json!({"until": "2019-01-01T00:00:00Z"}), "before it begins"),
        ("often", json!({"until": "2020-01-08T00:00:00Z"}), "10081"),
        ("often", json!({"max_parallel": 65}), "max_parallel"),
        ("often", json!({"from": "soon"}), "RFC 3339"),
        ("often", json!({"assume_missed": false}), "assume_missed"),
    ] {
        let mut body = day.clone();
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let refused = client.json("POST", &format!("/api/v1/admin/channels/{id}/backfill"), &body).unwrap();
        let text = error(&refused, 400, "VALIDATION_ERROR").to_string();
        assert!(text.contains(part), "{id} {body}: {text}");
    }
}
