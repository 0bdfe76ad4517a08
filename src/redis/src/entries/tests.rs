//! Entries in a real server.

use std::time::Duration;

use svc_outbound::{Outbound, Trust};
use svc_testkit::redis::Redis;
use tokio::runtime::Handle;

use super::*;
use crate::target::RedisTarget;

fn client_of(server: &Redis) -> RedisClient {
    let target = RedisTarget::new(server.url(), true).unwrap();
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
async fn events_are_counted_by_key_and_second_and_the_counts_end() {
    let Some(server) = Redis::own() else { return };
    let client = client_of(&server);
    // Two events fall into one second at last.
    while client.count_in_second("rate").await.unwrap() < 2 {}
    assert_eq!(client.count_in_second("other").await.unwrap(), 1);
    let keys: Vec<String> = client.run(cmd("KEYS").arg("*").to_owned()).await.unwrap();
    for key in &keys {
        let (_, second) = key.rsplit_once(':').unwrap();
        second.parse::<u64>().unwrap();
        let life: i64 = client.run(cmd("PTTL").arg(key).to_owned()).await.unwrap();
        // -2: it ended meanwhile.
        assert!(life == -2 || (0..=2000).contains(&life), "{key}: {life}");
    }
}
