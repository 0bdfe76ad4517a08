//! Redis that is away, that hangs, and that is back.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::json;
use svc_testkit::gateway::Gateway;
use svc_testkit::http::HttpClient;
use svc_testkit::redis::Redis;

use super::{GuardCluster, cluster_server, deduplicating, post, post_with_key, readiness};
use crate::support::{echo, error, eventually};

/// Channels that use Redis, by what they do while it is away; and one that does not.
fn define(client: &mut HttpClient) {
    for word in ["allow", "deny"] {
        let rate = json!({"requests_per_second": 100_000, "on_backend_error": word});
        echo(client, &format!("rate-{word}"), json!({"rate_limit": rate}));
        echo(client, &format!("keys-{word}"), deduplicating(word));
    }
    echo(client, "answers", json!({"cache": {"enabled": true}}));
    echo(client, "plain", json!({}));
}

#[test]
fn channels_follow_their_policy_during_redis_outage() {
    let Some(cluster) = GuardCluster::new() else { return };
    let servers = cluster.start(define);
    let [one, other, _] = &servers;
    let (mut client, mut other) = (one.client(), other.client());
    let text = post(&mut client, "answers").text();
    assert_eq!(post(&mut other, "answers").text(), text);
    assert_eq!(readiness(&mut client), (200, readiness(&mut other).1));
    assert_eq!(readiness(&mut client).1["cluster_redis"], "ok");

    cluster.redis.stop().unwrap();
    for channel in ["plain", "rate-allow", "keys-allow", "answers"] {
        let answer = post_with_key(&mut client, channel, "k");
        assert!(answer.status == 200 && answer.text() != text, "{channel}: {}", answer.text());
    }
    for channel in ["rate-deny", "keys-deny"] {
        let answer = post_with_key(&mut client, channel, "k");
        error(&answer, 503, "SERVICE_UNAVAILABLE");
        assert_eq!(answer.header("retry-after"), Some("5"));
    }
    let page = client.get("/metrics").unwrap().text();
    for reason in ["rate_limit_backend", "dedup_backend"] {
        let sample = page.lines().find(|line| line.starts_with("svc_errors_total") && line.contains(reason));
        assert!(sample.is_some_and(|line| line.ends_with(" 2")), "{sample:?}");
    }
    let (status, components) = readiness(&mut client);
    assert_eq!((status, &components["cluster_redis"]), (503, &json!("error")));
    assert_eq!(components["database"], "ok");
    let health = client.get("/health").unwrap();
    let report = health.json();
    assert_eq!((health.status, &report["status"]), (200, &json!("degraded")));
    assert_eq!(report["components"]["cluster_redis"], "error");
    assert!(report["cluster_redis"]["reason"].is_string(), "{report}");

    cluster.redis.restart().unwrap();
    for server in &servers {
        let mut client = server.client();
        eventually(|| readiness(&mut client).0 == 200);
        assert_eq!(client.get("/health").unwrap().json()["components"]["cluster_redis"], "ok");
        assert_eq!(post(&mut client, "rate-deny").status, 200);
    }
    assert_eq!(post_with_key(&mut client, "keys-deny", "k").status, 200);
    error(&post_with_key(&mut other, "keys-deny", "k"), 409, "CONFLICT");
}

#[test]
fn hanging_redis_delays_only_its_own_channels() {
    let Some(cluster) = GuardCluster::new() else { return };
    let servers = cluster.start(define);
    let address = servers[0].address();
    let mut client = servers[0].client();
    assert_eq!(post_with_key(&mut client, "keys-deny", "before").status, 200);
    cluster.redis.hang().unwrap();
    let meanwhile =
        thread::spawn(move || post_with_key(&mut HttpClient::new(address), "keys-deny", "meanwhile"));
    for _ in 0..20 {
        assert_eq!(post(&mut client, "plain").status, 200);
    }
    error(&meanwhile.join().unwrap(), 503, "SERVICE_UNAVAILABLE");
    assert_eq!(post(&mut client, "rate-allow").status, 200);
    error(&post(&mut client, "rate-deny"), 503, "SERVICE_UNAVAILABLE");
    let reloaded = client.json("POST", "/api/v1/admin/engine/reload", &json!({})).unwrap();
    assert_eq!(reloaded.status, 200, "{}", reloaded.text());
    assert_eq!(readiness(&mut client).0, 503);
    cluster.redis.resume().unwrap();
    // The server may have stored the claim of the message that was refused.
    eventually(|| post_with_key(&mut client, "keys-deny", "meanwhile").status == 200);
    for (server, key) in servers.iter().zip(["before", "meanwhile", "before"]) {
        error(&post_with_key(&mut server.client(), "keys-deny", key), 409, "CONFLICT");
    }
}

#[test]
fn demoted_redis_is_unready_and_is_left() {
    let (Some(cluster), Some(next)) = (GuardCluster::new(), Redis::own()) else { return };
    let gateway = Gateway::start(cluster.redis.address()).unwrap();
    let url = cluster.redis.url().replace(cluster.redis.place(), &gateway.address().to_string());
    let server = cluster_server(&cluster.database, &url).start().unwrap();
    let mut client = server.client();
    define(&mut client);
    assert_eq!(post_with_key(&mut client, "keys-deny", "before").status, 200);
    let (host, port) = next.place().rsplit_once(':').unwrap();
    cluster.redis.command(&["replicaof", host, port]).unwrap();
    let (status, components) = readiness(&mut client);
    assert_eq!((status, &components["cluster_redis"]), (503, &json!("error")), "a replica takes no writes");
    error(&post_with_key(&mut client, "keys-deny", "meanwhile"), 503, "SERVICE_UNAVAILABLE");
    gateway.lead_to(next.address());
    eventually(|| post_with_key(&mut client, "keys-deny", "after").status == 200);
    error(&post_with_key(&mut client, "keys-deny", "after"), 409, "CONFLICT");
    assert_eq!(post_with_key(&mut client, "keys-allow", "after").status, 200);
    error(&post_with_key(&mut client, "keys-allow", "after"), 409, "CONFLICT");
    assert_eq!(readiness(&mut client).0, 200);
}

/// Sends messages to channels that Redis guards until the order to stop; returns the statuses that came.
fn keep_sending(
    address: SocketAddr,
    stop: &AtomicBool,
    answered: &AtomicUsize,
) -> BTreeSet<(&'static str, u16)> {
    let mut client = HttpClient::new(address).keep_alive();
    let mut statuses = BTreeSet::new();
    for number in 0.. {
        for channel in ["rate-allow", "rate-deny", "keys-allow", "keys-deny", "answers"] {
            let key = format!("{:?}-{number}", thread::current().id());
            statuses.insert((channel, post_with_key(&mut client, channel, &key).status));
        }
        answered.fetch_add(1, Ordering::Relaxed);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    statuses
}

#[test]
fn outage_is_answered_as_configured_without_stampede() {
    let Some(cluster) = GuardCluster::new() else { return };
    let servers = cluster.start(define);
    let (stop, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let more = |rounds: usize| {
        let due = answered.load(Ordering::Relaxed) + rounds;
        eventually(|| answered.load(Ordering::Relaxed) >= due);
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..24)
            .map(|client| {
                let (address, stop, answered) = (servers[client % 3].address(), &stop, &answered);
                scope.spawn(move || keep_sending(address, stop, answered))
            })
            .collect();
        more(100);
        cluster.redis.stop().unwrap();
        more(200);
        cluster.redis.restart().unwrap();
        for server in &servers {
            eventually(|| readiness(&mut server.client()).0 == 200);
        }
        more(100);
        stop.store(true, Ordering::Relaxed);
        let statuses: BTreeSet<_> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
        let expected = [
            ("answers", 200),
            ("keys-allow", 200),
            ("keys-deny", 200),
            ("keys-deny", 503),
            ("rate-allow", 200),
            ("rate-deny", 200),
            ("rate-deny", 503),
        ];
        assert_eq!(statuses, BTreeSet::from(expected));
    });
    // One connection of each node, one of the script that waited for the server, and this one.
    let stats = cluster.redis.command(&["info", "stats"]).unwrap();
    let received = stats.lines().find_map(|line| line.strip_prefix("total_connections_received:"));
    let received: usize = received.unwrap().trim().parse().unwrap();
    assert!(received <= 10, "{received} connections after the return");
}
