//! Entries in a real server.

use std::time::Duration;

use svc_outbound::{Outbound, Trust};
use svc_testkit::gateway::Gateway;
use svc_testkit::redis::{Redis, RedisCluster};
use svc_testkit::state::eventually;
use tokio::runtime::Handle;

use super::*;
use crate::slots::slot_of;
use crate::target::RedisTarget;

fn client_of(server: &Redis) -> RedisClient {
    client_at(server.url())
}

fn client_at(url: &str) -> RedisClient {
    let target = RedisTarget::new(url, true).unwrap();
    let outbound = Outbound::new(&Trust::System).unwrap();
    RedisClient::new(target, outbound, Handle::current(), Duration::from_secs(10))
}

#[tokio::test]
async fn claim_belongs_to_its_owner_until_released_or_transferred() {
    let Some(server) = Redis::own() else { return };
    let client = client_of(&server);
    assert!(client.claim("k", "one", 60).await.unwrap());
    assert!(!client.claim("k", "other", 60).await.unwrap());
    assert!(client.claim("k", "one", 60).await.unwrap(), "its own claim refuses no owner");
    client.release("k", "other").await.unwrap();
    assert_eq!(client.read("k").await.unwrap().as_deref(), Some("one"));
    assert!(!client.transfer("k", "other", "settled", 60).await.unwrap());
    assert!(client.transfer("k", "one", "settled", 60).await.unwrap());
    assert!(!client.claim("k", "one", 60).await.unwrap());
    client.release("k", "settled").await.unwrap();
    assert!(client.claim("k", "other", u64::MAX).await.unwrap(), "the life is bounded");
    assert!(client.claim("k", "one", 0).await.unwrap(), "with no life everybody gets it");
    assert_eq!(client.read("k").await.unwrap().as_deref(), Some("other"));
}

#[tokio::test]
async fn events_are_counted_by_key_and_second_temporarily() {
    let Some(server) = Redis::own() else { return };
    let client = client_of(&server);
    // Two events fall into one second at last.
    while client.count_in_second("rate").await.unwrap() < 2 {}
    assert_eq!(client.count_in_second("other").await.unwrap(), 1);
    let keys: Vec<String> = client.run("", cmd("KEYS").arg("*").to_owned()).await.unwrap();
    for key in &keys {
        let (_, second) = key.rsplit_once(':').unwrap();
        second.parse::<u64>().unwrap();
        let life: i64 = client.run(key, cmd("PTTL").arg(key).to_owned()).await.unwrap();
        // -2: it ended meanwhile.
        assert!(life == -2 || (0..=2000).contains(&life), "{key}: {life}");
    }
}

#[tokio::test]
async fn cluster_entries_are_kept_by_slot_owner() {
    let Some(cluster) = RedisCluster::own() else { return };
    let client = client_of(&cluster.servers()[0]);
    client.connect().await.unwrap();
    for number in 0..100 {
        let key = format!("dedup:orders:{number}");
        assert!(client.claim(&key, "one", 60).await.unwrap());
        assert!(!client.claim(&key, "other", 60).await.unwrap());
        client.write(&key, "text", Some(60)).await.unwrap();
        assert_eq!(client.read(&key).await.unwrap().as_deref(), Some("text"));
        assert_eq!(client.count_in_second(&format!("svc:rl:orders:a}}{number}{{")).await.unwrap(), 1);
    }
    let mut kept = Vec::new();
    for server in cluster.servers() {
        let direct = client_of(server);
        kept.push(direct.run::<i64>("", cmd("DBSIZE")).await.unwrap());
    }
    assert!(kept.iter().all(|count| *count > 10), "{kept:?}");
}

#[tokio::test]
async fn client_without_slots_follows_redirects_of_the_cluster() {
    let Some(cluster) = RedisCluster::own() else { return };
    // Not connected first, so that it does not know that the server is one of several.
    let client = client_of(&cluster.servers()[1]);
    for number in 0..20 {
        let key = format!("cache:orders:{number}");
        client.write(&key, "text", None).await.unwrap();
        assert_eq!(client.read(&key).await.unwrap().as_deref(), Some("text"));
    }
    assert!(client.is_cluster());
    client.check_writable().await.unwrap();
    cluster.servers()[2].stop().unwrap();
    assert!(client.check_writable().await.is_err(), "a part of the keys is away");
}

#[tokio::test]
async fn connection_to_demoted_server_is_given_up() {
    let (Some(former), Some(primary)) = (Redis::own(), Redis::own()) else { return };
    let gateway = Gateway::start(former.address()).unwrap();
    let url = former.url().replace(former.place(), &gateway.address().to_string());
    let client = client_at(&url);
    client.check_writable().await.unwrap();
    assert!(client.claim("k", "one", 60).await.unwrap());
    let (host, port) = primary.place().rsplit_once(':').unwrap();
    former.command(&["replicaof", host, port]).unwrap();
    let failure = client.check_writable().await.unwrap_err();
    assert!(matches!(failure, RedisFailure::Unreachable(_)), "it may heal: {failure:?}");
    gateway.lead_to(primary.address());
    // A connection that was just opened is kept for a moment.
    eventually("a claim is answered", async || client.claim("after", "two", 60).await.is_ok()).await;
    assert!(!client.claim("after", "one", 60).await.unwrap(), "the primary has it");
    client.check_writable().await.unwrap();
    assert_eq!(primary.command(&["get", "after"]).unwrap(), "two");
}

#[tokio::test]
async fn migrating_key_is_claimed_at_its_target() {
    let Some(cluster) = RedisCluster::own() else { return };
    let (servers, key) = (cluster.servers(), "dedup:orders:moving");
    let client = client_of(&servers[0]);
    client.connect().await.unwrap();
    let at = servers.iter().position(|server| server.command(&["get", key]).is_ok()).unwrap();
    let (from, to) = (&servers[at], &servers[(at + 1) % 3]);
    let id = |server: &Redis| server.command(&["cluster", "myid"]).unwrap();
    let slot = slot_of(key).to_string();
    to.command(&["cluster", "setslot", &slot, "importing", &id(from)]).unwrap();
    from.command(&["cluster", "setslot", &slot, "migrating", &id(to)]).unwrap();
    assert!(client.claim(key, "one", 60).await.unwrap());
    assert!(!client.claim(key, "other", 60).await.unwrap());
    assert!(to.command(&["cluster", "countkeysinslot", &slot]).unwrap().ends_with('1'));
}
