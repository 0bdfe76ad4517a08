//! Exact limits over all nodes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::json;
use svc_testkit::server::ServerProcess;

use super::{GuardCluster, deduplicating, post, post_with_key};
use crate::support::{echo, error};

/// Messages of one caller in one second.
const LIMIT: usize = 100;

/// Sends messages to a channel from eight clients over all nodes until at least 500 of them are refused; returns how many
/// passed and how many were refused.
fn flood(servers: &[ServerProcess; 3], channel: &str) -> (usize, usize) {
    let (passed, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for client in 0..8 {
            let (passed, refused) = (&passed, &refused);
            let mut client = servers[client % 3].client().keep_alive();
            scope.spawn(move || {
                while refused.load(Ordering::Relaxed) < 500 {
                    let answer = post(&mut client, channel);
                    match answer.status {
                        200 => passed.fetch_add(1, Ordering::Relaxed),
                        429 => refused.fetch_add(1, Ordering::Relaxed),
                        other => panic!("{other}: {}", answer.text()),
                    };
                }
            });
        }
    });
    (passed.into_inner(), refused.into_inner())
}

/// Returns the messages counted in each second under keys of this prefix, as the server lists its commands.
fn counts(lines: &[String], prefix: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for line in lines.iter().filter(|line| line.contains(" lua]") && line.to_uppercase().contains("\"INCR\""))
    {
        let key = line.split('"').nth(3).unwrap();
        if let Some(second) = key.strip_prefix(prefix) {
            *counts.entry(second.to_owned()).or_default() += 1;
        }
    }
    counts
}

#[test]
fn shared_rate_holds_exactly_over_three_nodes() {
    let Some(cluster) = GuardCluster::new() else { return };
    let rate = json!({"requests_per_second": 40, "burst": 60});
    let mut grouped = rate.clone();
    grouped["group"] = json!("api");
    let servers = cluster.start(|client| {
        echo(client, "orders", json!({"rate_limit": rate}));
        echo(client, "carts", json!({"rate_limit": grouped}));
    });
    for (channel, prefix) in
        [("orders", "svc:rl:orders:127.0.0.1:"), ("carts", "svc:rl-group:api:40:60:127.0.0.1:")]
    {
        let monitor = cluster.redis.monitor().unwrap();
        let (passed, refused) = flood(&servers, channel);
        let counted = monitor.wait_for(|lines| {
            let counted = counts(lines, prefix);
            (counted.values().sum::<usize>() == passed + refused).then_some(counted)
        });
        let counted = counted.unwrap_or_else(|error| panic!("{} sent: {}", passed + refused, error.len()));
        let allowed: usize = counted.values().map(|count| *count.min(&LIMIT)).sum();
        assert_eq!(passed, allowed, "{counted:?}");
    }
}

#[test]
fn key_sent_to_three_nodes_runs_once() {
    let Some(cluster) = GuardCluster::new() else { return };
    let servers = cluster.start(|client| echo(client, "orders", deduplicating("deny")));
    let mut statuses: Vec<u16> = thread::scope(|scope| {
        let clients: Vec<_> = (0..64)
            .map(|client| {
                let mut client = servers[client % 3].client();
                scope.spawn(move || post_with_key(&mut client, "orders", "k").status)
            })
            .collect();
        clients.into_iter().map(|sent| sent.join().unwrap()).collect()
    });
    statuses.sort_unstable();
    assert_eq!((statuses[0], &statuses[1..]), (200, &[409; 63][..]));
}

#[test]
fn key_replayed_by_three_nodes_runs_once() {
    let Some(cluster) = GuardCluster::new() else { return };
    for store in ["redis", "database"] {
        let name = format!("orders-{store}");
        let config = json!({"deduplication": {
            "header": "Idempotency-Key", "on_duplicate": "replay", "store": store, "on_backend_error": "deny"}});
        let servers = cluster.start(|client| echo(client, &name, config));
        let answers: Vec<_> = thread::scope(|scope| {
            let clients: Vec<_> = (0..64)
                .map(|client| {
                    let (mut client, name) = (servers[client % 3].client(), &name);
                    scope.spawn(move || post_with_key(&mut client, name, "k"))
                })
                .collect();
            clients.into_iter().map(|sent| sent.join().unwrap()).collect()
        });
        let last = post_with_key(&mut servers[1].client(), &name, "k");
        assert_eq!((last.status, last.header("idempotent-replayed")), (200, Some("true")));
        let first = answers
            .iter()
            .filter(|answer| answer.status == 200 && answer.header("idempotent-replayed").is_none());
        assert_eq!(first.count(), 1, "{store}");
        for answer in &answers {
            match answer.status {
                200 => assert_eq!(answer.text(), last.text()),
                _ => drop(error(answer, 409, "IDEMPOTENCY_IN_PROGRESS")),
            }
        }
    }
}

#[test]
fn quota_of_three_nodes_is_exact() {
    let Some(cluster) = GuardCluster::new() else { return };
    let config = json!({"quota": {"limit": 200, "per": "month"}});
    let servers = cluster.start(|client| echo(client, "orders", config));
    let admitted: usize = thread::scope(|scope| {
        let clients: Vec<_> = (0..6)
            .map(|client| {
                let mut client = servers[client % 3].client();
                scope.spawn(move || (0..100).filter(|_| post(&mut client, "orders").status == 200).count())
            })
            .collect();
        clients.into_iter().map(|sent| sent.join().unwrap()).sum()
    });
    assert_eq!(admitted, 200);
}

#[test]
fn cached_response_of_one_node_answers_at_the_others() {
    let Some(cluster) = GuardCluster::new() else { return };
    let servers = cluster.start(|client| echo(client, "orders", json!({"cache": {"enabled": true}})));
    let [first, others @ ..] = servers.each_ref().map(|server| post(&mut server.client(), "orders").text());
    assert_eq!(others, [first.clone(), first]);
}
