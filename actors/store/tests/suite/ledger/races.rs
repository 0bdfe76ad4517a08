//! Many nodes at once.

use std::collections::HashSet;

use futures_util::future::join_all;
use svc_ledger::{Settlement, Singleton};
use svc_store::{Ledger, StartResult};

use super::{
    LEASE, MOST, TestDatabase, ago, align, align_cursor, audit, claim_single, expire, facts, order, start,
    statuses, write_occurrences,
};

pub(super) async fn nodes<const N: usize>(db: &TestDatabase) -> [Ledger; N] {
    let mut ledgers = Vec::new();
    for _ in 0..N {
        ledgers.push(db.store().await.ledger());
    }
    ledgers.try_into().ok().unwrap()
}

pub(crate) async fn no_row_is_claimed_twice(db: TestDatabase) {
    let nodes = nodes::<3>(&db).await;
    for channel in ["a", "b", "c", "d"] {
        write_occurrences(&db, &nodes[0], channel, 30).await;
    }
    let holders: Vec<String> = (0..12).map(|n| format!("h{n}")).collect();
    let mut ids = HashSet::new();
    // A claim skips rows that another one has locked, so one round may return fewer than there are.
    for _ in 0..20 {
        let claims = holders
            .iter()
            .enumerate()
            .map(|(n, holder)| nodes[n % 3].claim(holder, LEASE, 4, MOST, Vec::new()));
        for claims in join_all(claims).await {
            for claim in claims.unwrap().claimed {
                assert!(ids.insert(claim.key.id), "{} was claimed before", claim.key.id);
                let row = nodes[0].get(&claim.key.id.to_string()).await.unwrap().unwrap();
                assert_eq!(row.claimed_by, Some(claim.key.holder));
            }
        }
        if ids.len() == 120 {
            return;
        }
    }
    panic!("only {} of 120 rows were claimed", ids.len());
}

pub(crate) async fn a_key_never_has_more_holders_than_slots(db: TestDatabase) {
    let nodes = nodes::<3>(&db).await;
    let singleton = Singleton { key: "shared".into(), slots: 3 };
    for round in 0..4 {
        let channel = format!("c{round}");
        write_occurrences(&db, &nodes[0], &channel, 12).await;
        let claims = nodes[0].claim("n", LEASE, 12, MOST, Vec::new()).await.unwrap().claimed;
        let starts =
            claims.iter().enumerate().map(|(n, claim)| start(&nodes[n % 3], claim, Some(&singleton)));
        let started = join_all(starts).await;
        let mut slots: Vec<_> = started
            .iter()
            .filter_map(|started| match started {
                StartResult::Running { slot, .. } => Some(slot.as_ref().unwrap().slot),
                _ => None,
            })
            .collect();
        slots.sort_unstable();
        assert_eq!(slots, [0, 1, 2], "round {round}");
        assert_eq!(started.iter().filter(|started| **started == StartResult::Saturated).count(), 9);
        let ends = claims.iter().zip(&started).enumerate().map(|(n, (claim, started))| {
            let StartResult::Running { slot, .. } = started else { return None };
            Some(nodes[n % 3].settle(&claim.key, slot.as_ref(), Settlement::completed(), None, None))
        });
        for settled in join_all(ends.flatten()).await {
            assert!(settled.unwrap());
        }
    }
}

pub(crate) async fn abandoned_row_is_taken_over_once(db: TestDatabase) {
    let nodes = nodes::<3>(&db).await;
    write_occurrences(&db, &nodes[0], "c", 1).await;
    let mut attempt = 1;
    let claim = claim_single(&nodes[0], "first").await;
    for _ in 0..4 {
        expire(&db, &claim.key.id.to_string()).await;
        let holders = ["x", "y", "z"];
        let claims =
            holders.iter().zip(&nodes).map(|(holder, node)| node.claim(holder, LEASE, 1, MOST, Vec::new()));
        let got: Vec<_> =
            join_all(claims).await.into_iter().flat_map(|claims| claims.unwrap().claimed).collect();
        attempt += 1;
        assert_eq!(got.len(), 1);
        assert_eq!((got[0].key.attempt, got[0].recovered), (attempt, true));
    }
}

/// All operations at once on few rows and one key: none fails, and every row ends.
pub(crate) async fn in_the_crowd_nothing_fails_and_everything_ends(db: TestDatabase) {
    let nodes = nodes::<3>(&db).await;
    let from = ago(&nodes[0], 500).await;
    for channel in ["a", "b"] {
        align_cursor(&db, &nodes[0], align(channel, from)).await;
    }
    let singleton = Singleton { key: "shared".into(), slots: 2 };
    let (singleton, db) = (&singleton, &db);
    let worker = async |node: &Ledger, number: usize| {
        for step in 0..40_usize {
            let channel = ["a", "b"][(number + step) % 2];
            let cursor = node.cursors().await.unwrap().into_iter().find(|c| c.channel_id == channel).unwrap();
            if step < 10 {
                node.materialise(order(channel, cursor.next_fire_at, 2)).await.unwrap();
            }
            let claims = node.claim(&format!("n{number}"), LEASE, 3, 100, Vec::new()).await.unwrap();
            for (n, claim) in claims.claimed.into_iter().enumerate() {
                if (step + n) % 5 == 0 {
                    node.give_back(&claim, None).await.unwrap();
                    continue;
                }
                let StartResult::Running { slot, .. } = start(node, &claim, Some(singleton)).await else {
                    continue;
                };
                let held = node.slots_held(vec!["shared".into()]).await.unwrap();
                assert!(held.get("shared").is_none_or(|held| *held <= 2), "{held:?}");
                match (step + n) % 4 {
                    // The worker crashes.
                    0 if step < 30 => expire(db, &claim.key.id.to_string()).await,
                    1 => {
                        node.renew(&claim.key, slot.as_ref(), LEASE).await.unwrap();
                        node.give_back(&claim, slot.as_ref()).await.unwrap();
                    }
                    _ => {
                        node.renew(&claim.key, slot.as_ref(), LEASE).await.unwrap();
                        node.settle(&claim.key, slot.as_ref(), Settlement::completed(), None, None)
                            .await
                            .unwrap();
                    }
                }
            }
            if step % 10 == 0 {
                node.trigger(facts(channel), audit("trigger")).await.map(drop).unwrap_or_default();
                node.delete_expired(1, 10).await.unwrap();
            }
        }
    };
    join_all(nodes.iter().enumerate().map(|(number, node)| worker(node, number))).await;
    for _ in 0..1000 {
        let claims = nodes[0].claim("last", LEASE, 1, 100, Vec::new()).await.unwrap().claimed;
        for claim in &claims {
            if let StartResult::Running { slot, .. } = start(&nodes[0], claim, Some(singleton)).await {
                nodes[0]
                    .settle(&claim.key, slot.as_ref(), Settlement::completed(), None, None)
                    .await
                    .unwrap();
            }
        }
        if claims.is_empty() {
            break;
        }
    }
    let ends = statuses(&nodes[0]).await;
    assert!(ends.len() >= 40 && ends.contains(&"completed".into()), "{ends:?}");
    assert!(
        ends.iter().all(|status| ["completed", "skipped_singleton"].contains(&status.as_str())),
        "{ends:?}"
    );
    assert!(nodes[0].slots_held(vec!["shared".into()]).await.unwrap().is_empty());
}
