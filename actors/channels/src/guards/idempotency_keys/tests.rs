use std::sync::Barrier;

use super::*;

fn idempotency_keys(seconds: u64) -> IdempotencyKeys {
    IdempotencyKeys::new(Duration::from_secs(seconds), 0)
}

#[tokio::test(start_paused = true)]
async fn key_is_claimed_once_per_window() {
    let keys = idempotency_keys(300);
    assert!(keys.claim("a", None).is_some());
    assert!(keys.claim("a", None).is_none() && keys.claim("b", None).is_some());
    tokio::time::advance(Duration::from_millis(299_999)).await;
    assert!(keys.claim("a", None).is_none(), "a duplicate does not prolong it either");
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(keys.claim("a", None).is_some() && keys.claim("a", None).is_none());
}

#[tokio::test(start_paused = true)]
async fn releasing_gives_back_only_what_is_ones_own() {
    let keys = idempotency_keys(10);
    keys.claim("a", None).unwrap().release();
    let late = keys.claim("a", None).unwrap();
    tokio::time::advance(Duration::from_secs(10)).await;
    let next = keys.claim("a", None).unwrap();
    late.release();
    assert!(keys.claim("a", None).is_none(), "the next owner holds it");
    drop(next);
    assert!(keys.claim("a", None).is_none(), "dropping keeps it");
}

#[test]
fn of_many_at_once_one_wins() {
    const THREADS: usize = 64;
    let (keys, start) = (idempotency_keys(300), Barrier::new(THREADS));
    for round in 0..20 {
        let key = format!("key {round}");
        let won: usize = std::thread::scope(|scope| {
            let attempt = || {
                start.wait();
                usize::from(keys.claim(&key, None).is_some())
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(attempt)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(won, 1, "{key}");
    }
}

#[test]
fn claims_and_releases_at_once_never_make_two_owners() {
    let (keys, owners) = (idempotency_keys(300), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..2_000 {
                    if let Some(claim) = keys.claim("a", None) {
                        assert_eq!(owners.fetch_add(1, Ordering::SeqCst), 0);
                        owners.fetch_sub(1, Ordering::SeqCst);
                        claim.release();
                    }
                }
            });
        }
    });
}

#[test]
fn oldest_claims_are_evicted_above_the_bound() {
    let keys = IdempotencyKeys::new(Duration::from_secs(300), 1_000);
    for n in 0..20_000 {
        let key = n.to_string();
        assert!(keys.claim(&key, None).is_some());
        // The housekeeping of a cache that had a moment to breathe.
        keys.held.run_pending_tasks();
        assert!(keys.claim(&key, None).is_none(), "a newcomer is always kept: {n}");
    }
    keys.held.run_pending_tasks();
    assert_eq!(keys.held.entry_count(), 1_000);
    assert!((19_500..20_000).all(|n| keys.claim(&n.to_string(), None).is_none()));
    assert!(keys.claim("0", None).is_some(), "the oldest is forgotten");
}

#[test]
fn without_a_cap_every_claim_stays() {
    let keys = idempotency_keys(300);
    for _ in 0..2 {
        (0..5_000).for_each(|n| drop(keys.claim(&n.to_string(), None)));
    }
    keys.held.run_pending_tasks();
    assert_eq!(keys.held.entry_count(), 5_000);
}

#[test]
fn the_longest_window_is_no_overflow() {
    let keys = idempotency_keys(u64::MAX);
    assert!(keys.claim("a", None).is_some() && keys.claim("a", None).is_none());
}

#[tokio::test(start_paused = true)]
async fn owner_gets_its_key_again_until_it_is_settled() {
    let keys = IdempotencyKeys::new(Duration::from_secs(10), 0);
    let first = keys.claim("a", Some("record-1")).unwrap();
    assert!(keys.claim("a", Some("record-2")).is_none() && keys.claim("a", None).is_none());
    let again = keys.claim("a", Some("record-1")).unwrap();
    first.release();
    assert!(keys.claim("a", None).is_none(), "an earlier claim of the owner gives nothing back");
    tokio::time::advance(Duration::from_secs(9)).await;
    again.confirm();
    assert!(keys.claim("a", Some("record-1")).is_none(), "it is accounted for");
    tokio::time::advance(Duration::from_secs(9)).await;
    assert!(keys.claim("a", None).is_none(), "the window began anew");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(keys.claim("a", None).is_some());
    let late = keys.claim("b", Some("record-3")).unwrap();
    tokio::time::advance(Duration::from_secs(20)).await;
    let other = keys.claim("b", Some("record-4")).unwrap();
    late.confirm();
    assert!(keys.claim("b", Some("record-4")).is_some(), "it belongs to another by then");
    drop(other);
}

#[test]
fn expired_keys_are_removed_without_another_claim() {
    let keys = idempotency_keys(1);
    assert!(keys.claim("a", None).is_some());
    keys.remove_expired();
    assert_eq!(keys.held.entry_count(), 1);
    let deadline = Instant::now() + Duration::from_secs(30);
    while keys.held.entry_count() > 0 {
        assert!(Instant::now() < deadline, "the key is still there");
        keys.remove_expired();
        std::thread::yield_now();
    }
}
