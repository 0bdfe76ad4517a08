use std::sync::Barrier;

use super::*;

fn idempotency_keys(seconds: u64) -> IdempotencyKeys {
    IdempotencyKeys::new(Duration::from_secs(seconds), 0)
}

#[tokio::test(start_paused = true)]
async fn a_key_is_claimed_once_until_the_window_has_passed() {
    let keys = idempotency_keys(300);
    assert!(keys.claim("a").is_some());
    assert!(keys.claim("a").is_none() && keys.claim("b").is_some());
    tokio::time::advance(Duration::from_millis(299_999)).await;
    assert!(keys.claim("a").is_none(), "a duplicate does not prolong it either");
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(keys.claim("a").is_some() && keys.claim("a").is_none());
}

#[tokio::test(start_paused = true)]
async fn releasing_gives_back_only_what_is_ones_own() {
    let keys = idempotency_keys(10);
    keys.claim("a").unwrap().release();
    let late = keys.claim("a").unwrap();
    tokio::time::advance(Duration::from_secs(10)).await;
    let next = keys.claim("a").unwrap();
    late.release();
    assert!(keys.claim("a").is_none(), "the next owner holds it");
    drop(next);
    assert!(keys.claim("a").is_none(), "dropping keeps it");
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
                usize::from(keys.claim(&key).is_some())
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
                    if let Some(claim) = keys.claim("a") {
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
fn the_newest_claims_stay_and_the_oldest_go_when_there_are_too_many() {
    let keys = IdempotencyKeys::new(Duration::from_secs(300), 1_000);
    for n in 0..20_000 {
        let key = n.to_string();
        assert!(keys.claim(&key).is_some());
        // The housekeeping of a cache that had a moment to breathe.
        keys.held.run_pending_tasks();
        assert!(keys.claim(&key).is_none(), "a newcomer is always kept: {n}");
    }
    keys.held.run_pending_tasks();
    assert_eq!(keys.held.entry_count(), 1_000);
    assert!((19_500..20_000).all(|n| keys.claim(&n.to_string()).is_none()));
    assert!(keys.claim("0").is_some(), "the oldest is forgotten");
}

#[test]
fn without_a_cap_every_claim_stays() {
    let keys = idempotency_keys(300);
    for _ in 0..2 {
        (0..5_000).for_each(|n| drop(keys.claim(&n.to_string())));
    }
    keys.held.run_pending_tasks();
    assert_eq!(keys.held.entry_count(), 5_000);
}

#[test]
fn the_longest_window_is_no_overflow() {
    let keys = idempotency_keys(u64::MAX);
    assert!(keys.claim("a").is_some() && keys.claim("a").is_none());
}
