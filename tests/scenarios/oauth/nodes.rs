//! Many callers of two nodes that are killed, and refresh tokens that are good once.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::http::Client;
use svc_testkit::oidc::{Event, Oidc};
use svc_testkit::postgres::{Database, Postgres};
use svc_testkit::server::{Launch, Server, wait_until};
use svc_testkit::upstream::Upstream;

use super::{api, call, change, config, connect};
use crate::support::launch;

/// Callers of each node.
const CALLERS: usize = 100;
/// Times a node is killed.
const KILLS: usize = 6;
/// Refreshes between two kills.
const REFRESHES: usize = 3;
/// Between two calls of a caller.
const PACE: Duration = Duration::from_millis(250);
/// The lease of a node that was killed, and then some.
const RECOVERY: Duration = Duration::from_secs(60);

/// What the callers are told, and tell.
#[derive(Default)]
struct Crowd {
    over: AtomicBool,
    /// Callers wait here for the end, or their next call.
    pace: (Mutex<()>, Condvar),
    answered: [AtomicU64; 2],
}

impl Crowd {
    /// Calls a node until it is over, through every restart of it.
    fn call(&self, node: usize, address: SocketAddr) {
        let mut client = Client::new(address);
        while !self.over.load(Ordering::Relaxed) {
            let answer = client.json("POST", "/api/v1/data/call", &json!({}));
            if answer.is_ok_and(|answer| answer.status == 200) {
                self.answered[node].fetch_add(1, Ordering::Relaxed);
            }
            let turn = self.pace.0.lock().unwrap();
            drop(self.pace.1.wait_timeout(turn, PACE).unwrap());
        }
    }

    fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        self.pace.1.notify_all();
    }

    /// Waits until both nodes answer again.
    fn recovered(&self) -> bool {
        let before = [0, 1].map(|node| self.answered[node].load(Ordering::Relaxed));
        let more = |node: usize| self.answered[node].load(Ordering::Relaxed) > before[node];
        wait_until(RECOVERY, || Ok(more(0) && more(1))).unwrap()
    }
}

fn node(database: &Database) -> Launch {
    launch().env("SVC_STORAGE__URL", database.url()).env("SVC_STORAGE__MAX_CONNECTIONS", "10")
}

/// A margin that leaves two seconds of the shortest life a token is taken for.
fn seeded(provider: &Oidc, api: &Upstream) -> Value {
    let more = json!({"grant": "refresh_token", "refresh_token": provider.seed().unwrap(), "refresh_margin_secs": 28});
    config(provider, api, more)
}

fn count(log: &[Event], event: &str) -> usize {
    log.iter().filter(|entry| entry.event == event).count()
}

/// Whether a refresh token that came twice is explained by a kill: what was given for it never came back, and it was given
/// when the node was killed.
fn is_in_the_window(log: &[Event], shown: &str, kills: &[usize]) -> bool {
    let granted =
        log.iter().position(|entry| entry.event == "granted" && entry.shown.as_deref() == Some(shown));
    let Some(at) = granted else { return false };
    let lost = log.iter().all(|entry| entry.shown.is_none() || entry.shown != log[at].refresh_token);
    lost && kills.iter().any(|kill| at.abs_diff(*kill) <= 1)
}

#[test]
fn two_hundred_callers_of_two_nodes_that_are_killed_show_no_refresh_token_twice() {
    let Some(provider) = Oidc::start(2) else { return };
    let Some(postgres) = Postgres::shared() else { return };
    let database = postgres.database().unwrap();
    let api = api();
    let first = node(&database).start().unwrap();
    connect(&mut first.client(), &seeded(&provider, &api));
    let mut nodes = [Some(first), Some(node(&database).start().unwrap())];
    let addresses = [0, 1].map(|node: usize| nodes[node].as_ref().unwrap().address());
    let (crowd, mut kills, mut ended) = (Crowd::default(), Vec::new(), 0);
    std::thread::scope(|scope| {
        for caller in 0..2 * CALLERS {
            let crowd = &crowd;
            scope.spawn(move || crowd.call(caller % 2, addresses[caller % 2]));
        }
        // Ends the callers also where an expectation fails.
        let rounds = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            assert!(crowd.recovered());
            for kill in 0..KILLS {
                let before = count(&provider.log().unwrap(), "granted");
                let refreshed = || Ok(count(&provider.log().unwrap(), "granted") >= before + REFRESHES);
                assert!(wait_until(RECOVERY, refreshed).unwrap());
                kills.push(provider.log().unwrap().len());
                let node: Server = nodes[kill % 2].take().unwrap();
                nodes[kill % 2] = Some(node.crash_and_restart().unwrap());
                if !crowd.recovered() || count(&provider.log().unwrap(), "revoked") > ended {
                    // The window that is named: a fresh seed is the way out.
                    ended = count(&provider.log().unwrap(), "revoked");
                    let fresh = seeded(&provider, &api);
                    for node in nodes.iter().flatten() {
                        change(&mut node.client(), &fresh);
                    }
                    assert!(crowd.recovered());
                }
            }
        }));
        crowd.end();
        if let Err(failure) = rounds {
            std::panic::resume_unwind(failure);
        }
    });
    let log = provider.log().unwrap();
    let granted = count(&log, "granted");
    let unexplained: Vec<_> = log
        .iter()
        .filter(|entry| entry.event == "revoked")
        .filter(|entry| !is_in_the_window(&log, entry.shown.as_deref().unwrap_or_default(), &kills))
        .collect();
    assert!(unexplained.is_empty(), "{unexplained:?} {kills:?} {log:?}");
    assert!(granted > KILLS * REFRESHES, "{granted}");
    // Whatever an API was shown had been given out.
    let given: HashSet<_> = log.iter().filter_map(|entry| entry.access_token.clone()).collect();
    let asked = api.requests();
    let shown = asked.iter().filter_map(|asked| asked.header("authorization")?.strip_prefix("Bearer "));
    assert!(shown.clone().all(|token| given.contains(token)) && shown.count() > 2 * CALLERS);
    let mut last = nodes[0].as_ref().unwrap().client();
    assert!(call(&mut last).is_ok());
}
