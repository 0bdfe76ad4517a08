//! Several processes on one PostgreSQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use svc_testkit::http::HttpClient;
use svc_testkit::postgres::PostgresDatabase;
use svc_testkit::server::ServerProcess;
use svc_testkit::upstream::{Upstream, UpstreamReply};

use super::{
    LEASE_SECS, SUBMIT, database, node, nodes, owner, runs, runs_of, serve_jobs, settle, status, submit,
};
use crate::support::eventually;

/// Waits until the nodes have looked after one another for two leases.
fn renewals_pass(server: &ServerProcess, database: &PostgresDatabase) {
    let ask = || database.rows("SELECT max(renewed_at)::text, now()::text FROM nodes").unwrap().remove(0);
    let begun = ask()[1].clone();
    let due =
        format!("SELECT (now() > timestamptz '{}' + interval '{} s')::text", begun.unwrap(), 2 * LEASE_SECS);
    eventually(|| database.rows(&due).unwrap()[0][0].as_deref() == Some("true"));
    assert_eq!(server.client().get("/readyz").unwrap().status, 200);
}

#[test]
fn second_process_runs_no_work_of_another() {
    let Some((_postgres, database)) = database() else { return };
    let witness = Upstream::start(|_| UpstreamReply::Held).unwrap();
    let first = node(&database).env("SVC_TRACE_QUEUE__WORKERS", "6").start().unwrap();
    serve_jobs(&mut first.client(), &witness);
    let ids: Vec<_> = (0..8).map(|n| submit(&mut first.client(), n)).collect();
    witness.wait_for(6);
    let second = node(&database).start().unwrap();
    renewals_pass(&second, &database);
    assert_eq!(witness.requests().len(), 6, "six run, two wait, and none began again");
    let listed = nodes(&second);
    assert_eq!(listed.iter().filter(|node| node["status"] == "live").count(), 2, "{listed:?}");
    let this: Vec<_> = listed.iter().filter(|node| node["is_this"] == true).collect();
    assert_eq!((this.len(), this[0]["pid"].as_u64()), (1, Some(second.pid().into())));
    witness.open();
    settle(&mut second.client());
    assert!(runs(&witness).values().all(|runs| *runs == 1), "{:?}", runs(&witness));
    assert!(ids.iter().all(|id| status(&mut second.client(), id) == "completed"));
}

#[test]
fn other_node_runs_jobs_of_killed_one() {
    let Some((_postgres, database)) = database() else { return };
    let witness = Upstream::start(|_| UpstreamReply::Held).unwrap();
    let first = node(&database).env("SVC_TRACE_QUEUE__WORKERS", "2").start().unwrap();
    serve_jobs(&mut first.client(), &witness);
    let second = node(&database).env("SVC_TRACE_QUEUE__WORKERS", "2").start().unwrap();
    let ids: Vec<_> = (0..4).map(|n| submit(&mut first.client(), n)).collect();
    witness.wait_for(2);
    first.signal("KILL").unwrap();
    witness.wait_for(4);
    assert_eq!((runs_of(&witness, 0), runs_of(&witness, 1)), (2, 2), "the oldest first");
    witness.open();
    settle(&mut second.client());
    let this = nodes(&second).into_iter().find(|node| node["is_this"] == true).unwrap();
    for id in &ids {
        assert_eq!(status(&mut second.client(), id), "completed");
        assert_eq!(owner(&database, id), (this["id"].as_str().unwrap().to_owned(), "1".to_owned()));
    }
    assert_eq!(runs(&witness).into_values().collect::<Vec<_>>(), [2, 2, 1, 1]);
}

#[test]
fn busy_nodes_take_over_no_more_than_fits() {
    let Some((_postgres, database)) = database() else { return };
    let witness = Upstream::start(|_| UpstreamReply::Held).unwrap();
    let workers = |count: &str| node(&database).env("SVC_TRACE_QUEUE__WORKERS", count).start().unwrap();
    let busy = workers("1");
    serve_jobs(&mut busy.client(), &witness);
    let held = submit(&mut busy.client(), 0);
    witness.wait_for(1);
    let dying = workers("1");
    let ids: Vec<_> = (1..5).map(|n| submit(&mut dying.client(), n)).collect();
    witness.wait_for(2);
    let (busy_node, dead_node) = (owner(&database, &held).0, owner(&database, &ids[0]).0);
    dying.signal("KILL").unwrap();
    renewals_pass(&busy, &database);
    let owners: Vec<_> = ids.iter().map(|id| owner(&database, id).0).collect();
    assert_eq!(owners, vec![dead_node; 4], "the node {busy_node} has room for none of them");
    let free = workers("2");
    witness.wait_for(4);
    let served: Vec<_> = ids.iter().map(|id| owner(&database, id).0).collect();
    assert_eq!(served[..2], [served[0].clone(), served[0].clone()]);
    assert_eq!(served[2..], owners[2..], "a node takes over no more than it has workers for");
    witness.open();
    settle(&mut free.client());
    assert!(ids.iter().all(|id| status(&mut free.client(), id) == "completed"));
    assert_eq!(runs(&witness).into_values().collect::<Vec<_>>(), [1, 2, 1, 1, 1]);
}

#[test]
fn node_waking_past_lease_changes_no_row() {
    let Some((_postgres, database)) = database() else { return };
    let is_first = AtomicBool::new(true);
    let witness = Upstream::start(move |_| match is_first.swap(false, Ordering::Relaxed) {
        true => UpstreamReply::Held,
        false => UpstreamReply::new(200, "{}"),
    })
    .unwrap();
    let stopped = node(&database).env("SVC_TRACE_QUEUE__WORKERS", "1").start().unwrap();
    serve_jobs(&mut stopped.client(), &witness);
    let ids: Vec<_> = (0..5).map(|n| submit(&mut stopped.client(), n)).collect();
    witness.wait_for(1);
    let former = owner(&database, &ids[0]).0;
    stopped.signal("STOP").unwrap();
    let other = node(&database).start().unwrap();
    settle(&mut other.client());
    let settled = |id: &String| {
        let sql = format!(
            "SELECT owner, recoveries, status, updated_at, result_json FROM traces WHERE id = '{id}'"
        );
        database.rows(&sql).unwrap()
    };
    let rows: Vec<_> = ids.iter().map(settled).collect();
    assert!(
        rows.iter().all(|row| row[0][2].as_deref() == Some("completed") && row[0][0] != Some(former.clone()))
    );

    stopped.signal("CONT").unwrap();
    witness.open();
    // It has said what it had to say when it has finished something else, under another id.
    eventually(|| nodes(&stopped).iter().any(|node| node["is_this"] == true && node["id"] != *former));
    let next = submit(&mut stopped.client(), 9);
    eventually(|| status(&mut stopped.client(), &next) == "completed");
    assert_ne!(owner(&database, &next).0, former);
    assert_eq!(ids.iter().map(settled).collect::<Vec<_>>(), rows, "no late write counts");
    let begun = runs(&witness);
    assert_eq!((begun[&0], begun[&1], begun[&4]), (2, 1, 1), "nothing began without a lease: {begun:?}");
}

/// The responses that clients received, from threads that outlive one server.
#[derive(Default)]
struct Told {
    accepted: Mutex<Vec<usize>>,
    next: Mutex<usize>,
    stop: AtomicBool,
}

fn keep_submitting(told: &Told, address: std::net::SocketAddr) {
    let mut client = HttpClient::new(address).keep_alive();
    while !told.stop.load(Ordering::Relaxed) {
        let number = {
            let mut next = told.next.lock();
            *next += 1;
            *next
        };
        match client.json("POST", SUBMIT, &json!({"n": number})) {
            Ok(answer) if answer.status == 202 => told.accepted.lock().push(number),
            Ok(answer) => assert_eq!(answer.status, 503, "{}", answer.text()),
            Err(_) => return,
        }
    }
}

#[test]
fn rolling_start_runs_all_work_exactly_once() {
    let Some((_postgres, database)) = database() else { return };
    let witness = Upstream::start(|_| UpstreamReply::new(200, "{}")).unwrap();
    // No lease is to run out here, however busy the machine is.
    let patient = || node(&database).env("SVC_CLUSTER__NODE_LEASE_SECS", "60");
    let mut first = patient().start().unwrap();
    serve_jobs(&mut first.client(), &witness);
    let told = Arc::new(Told::default());
    let load = |server: &ServerProcess| {
        let (told, address) = (Arc::clone(&told), server.address());
        std::thread::spawn(move || keep_submitting(&told, address))
    };
    let accepted = |count: usize| eventually(|| told.accepted.lock().len() >= count);
    let mut clients: Vec<_> = (0..4).map(|_| load(&first)).collect();
    accepted(300);
    let second = patient().start().unwrap();
    clients.extend((0..4).map(|_| load(&second)));
    accepted(900);
    // The first one goes in good order, while both are under load.
    first.signal("TERM").unwrap();
    first.wait(Duration::from_secs(60)).unwrap();
    accepted(1200);
    told.stop.store(true, Ordering::Relaxed);
    clients.into_iter().for_each(|client| client.join().unwrap());
    settle(&mut second.client());
    let begun = runs(&witness);
    assert!(begun.values().all(|runs| *runs == 1), "nothing ran twice");
    let accepted = told.accepted.lock();
    let lost: Vec<_> = accepted.iter().filter(|n| !begun.contains_key(n)).collect();
    assert!(lost.is_empty(), "{lost:?} of {} were lost", accepted.len());
}
