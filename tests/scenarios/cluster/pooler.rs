//! Nodes behind a pooler in transaction mode, which gives each transaction another server connection.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::thread;

use serde_json::json;
use svc_testkit::http::HttpClient;
use svc_testkit::pgbouncer::PgBouncer;
use svc_testkit::postgres::Postgres;

use super::{OFTEN, admin, epochs, wait_for_epoch};
use crate::support::{echo, echo_workflow, eventually, launch};

/// Rounds of each client.
const ROUNDS: usize = 15;

/// Creates and reads a workflow, a connector and work of its own over and over, and checks that each answer is about what
/// was asked for.
fn work(address: SocketAddr, client: &str) {
    let mut http = HttpClient::new(address).keep_alive();
    for round in 0..ROUNDS {
        let id = format!("{client}-{round}");
        assert_eq!(admin(&mut http, "POST", "workflows", &echo_workflow(&id))["workflow_id"], id.as_str());
        let config = json!({"url": "https://api.example.com"});
        let connector = json!({"id": id, "name": id, "connector_type": "http", "config": config});
        assert_eq!(admin(&mut http, "POST", "connectors", &connector)["id"], id.as_str());
        for (kind, key) in [("workflows", "workflow_id"), ("connectors", "id")] {
            let read = admin(&mut http, "GET", &format!("{kind}/{id}"), &json!({}));
            assert_eq!(read[key], id.as_str(), "{kind}: {read}");
            let rows = admin(&mut http, "GET", &format!("{kind}?limit=20"), &json!({}));
            let rows = rows.as_array().unwrap();
            assert!(!rows.is_empty() && rows.iter().all(|row| row[key].is_string()), "{kind}: {rows:?}");
        }
        let accepted = http.json("POST", "/api/v1/data/e/async", &json!({"n": round})).unwrap();
        assert_eq!(accepted.status, 202, "{}", accepted.text());
        let accepted = accepted.json();
        let (trace, token) =
            (accepted["trace_id"].as_str().unwrap(), accepted["trace_token"].as_str().unwrap());
        let read = admin(&mut http, "GET", &format!("traces/{trace}?token={token}"), &json!({}));
        assert_eq!(read["id"], trace);
        // The two of this round are there, and those of the other threads.
        let audit = admin(&mut http, "GET", "audit-logs?limit=2", &json!({}));
        let actions: BTreeSet<_> =
            audit.as_array().unwrap().iter().map(|row| row["action"].as_str().unwrap().to_owned()).collect();
        assert_eq!(actions, BTreeSet::from(["create".to_owned()]), "{audit}");
    }
}

#[test]
fn nodes_behind_pooler_share_no_statements() {
    let Some(postgres) = Postgres::own() else { return };
    let Some(pooler) = PgBouncer::own(&postgres) else { return };
    let database = postgres.database().unwrap();
    let url = pooler.through(&database);
    let node = || {
        launch()
            .env("SVC_STORAGE__URL", &url)
            .env("SVC_STORAGE__MAX_CONNECTIONS", "8")
            .env("SVC_CLUSTER__EPOCH_POLL_INTERVAL_MS", OFTEN)
    };
    let refused = node().run_to_end().unwrap();
    let text = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && text.contains("the URL of the server itself"), "{text}");
    let direct = launch().env("SVC_STORAGE__URL", database.url()).args(&["migrate"]).run_to_end().unwrap();
    assert!(direct.status.success(), "{}", String::from_utf8_lossy(&direct.stderr));

    let mut first = node().start().unwrap();
    echo(&mut first.client(), "e", json!({"tracing": {"mode": "sync"}}));
    let second = node().start().unwrap();
    // A restarted process counts its statements from zero, and those of before are still there.
    first = first.crash_and_restart().unwrap();
    thread::scope(|scope| {
        for (server, name) in [(&first, "a"), (&first, "b"), (&second, "c"), (&second, "d")] {
            scope.spawn(move || work(server.address(), name));
        }
    });
    for server in [&first, &second] {
        let mut client = server.client();
        eventually(|| {
            let open = admin(&mut client, "GET", "traces?status=pending&limit=1", &json!({}));
            open.as_array().unwrap().is_empty()
        });
        assert_eq!(client.get("/health").unwrap().json()["status"], "ok");
        let log = server.wait_for_log(&["the storage is behind a pooler"]).unwrap();
        assert!(!log.contains("prepared statement"), "{log}");
    }
    // A change reaches the other node by its polls: nothing is announced.
    let epoch = epochs(&mut first.client()).1;
    echo(&mut first.client(), "later", json!({}));
    wait_for_epoch(&second, epoch + 1);
    let mut client = second.client();
    eventually(|| client.json("POST", "/api/v1/data/later", &json!({})).unwrap().status == 200);
}
