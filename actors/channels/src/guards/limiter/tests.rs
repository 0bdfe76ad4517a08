use std::sync::Arc;

use governor::clock::FakeRelativeClock;
use governor::middleware::NoOpMiddleware;
use proptest::prelude::*;

use super::*;

type Driven = RateLimiter<u64, Buckets, FakeRelativeClock, NoOpMiddleware<Nanos>>;

fn driven(rps: u64, burst: u64) -> (Driven, FakeRelativeClock) {
    let (quota, clock) = (quota(rps, burst), FakeRelativeClock::default());
    (RateLimiter::new(quota, Buckets::new(quota), clock.clone()), clock)
}

fn sizes(buckets: &Buckets) -> Vec<usize> {
    buckets.shards.iter().map(|shard| shard.lock().own.len()).collect()
}

/// A bucket by the book: credit in nanoseconds, a request costs a period.
struct Book {
    credit: u64,
    capacity: u64,
    period: u64,
}

impl Book {
    fn new(rps: u64, burst: u64) -> Self {
        let period = 1_000_000_000 / rps;
        Self { credit: period * burst, capacity: period * burst, period }
    }

    fn wait(&mut self, nanos: u64) {
        self.credit = (self.credit + nanos).min(self.capacity);
    }

    fn take(&mut self) -> bool {
        let admitted = self.credit >= self.period;
        self.credit -= if admitted { self.period } else { 0 };
        admitted
    }
}

proptest! {
    #[test]
    fn a_limiter_admits_what_a_token_bucket_admits(
        rps in 1u64..2_000,
        burst in 1u64..50,
        steps in prop::collection::vec((0u64..3, 0u64..2_500), 1..300),
    ) {
        let (limiter, clock) = driven(rps, burst);
        let mut books: Vec<Book> = (0..3).map(|_| Book::new(rps, burst)).collect();
        for (key, permille) in steps {
            let pause = 1_000_000 / rps * permille;
            clock.advance(Duration::from_nanos(pause));
            books.iter_mut().for_each(|book| book.wait(pause));
            prop_assert_eq!(limiter.check_key(&key).is_ok(), books[key as usize].take());
        }
    }

    #[test]
    fn no_setting_overflows(rps in any::<u64>(), burst in any::<u64>(), pauses in prop::collection::vec(0u64..u64::from(u32::MAX), 8)) {
        let (limiter, clock) = driven(rps, burst);
        for pause in pauses {
            clock.advance(Duration::from_millis(pause));
            prop_assert!(limiter.check_key(&1).is_ok() || burst < 2 || rps < 2);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn burst_passes_at_once_and_refills_by_rate() {
    let limiter = Limiter::new(2, 3);
    let admitted = |key| (0..10).filter(|_| limiter.check(key)).count();
    assert_eq!((admitted("a"), admitted("b")), (3, 3), "keys do not share");
    tokio::time::advance(Duration::from_millis(499)).await;
    assert_eq!(admitted("a"), 0);
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(admitted("a"), 1);
    tokio::time::advance(Duration::from_secs(3_600)).await;
    assert_eq!(admitted("a"), 3, "never more than the burst");
}

#[tokio::test(start_paused = true)]
async fn taken_token_leaves_the_others() {
    let limiter = Limiter::new(2, 3);
    let left = || limiter.take("a").map(|bucket| bucket.remaining_burst_capacity());
    assert_eq!([left(), left(), left(), left()], [Some(2), Some(1), Some(0), None]);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(left(), Some(1));
}

#[tokio::test(start_paused = true)]
async fn zero_counts_as_one_and_the_largest_numbers_work() {
    let least = Limiter::new(0, 0);
    assert!(least.check("a") && !least.check("a"));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert!(least.check("a"));
    let most = Limiter::new(u64::MAX, u64::MAX);
    assert!((0..100_000).all(|_| most.check("a")));
    let slow = Limiter::new(1, u64::MAX);
    assert!((0..100_000).all(|_| slow.check("a")));
}

#[test]
fn refilled_buckets_are_dropped_as_others_come() {
    let (limiter, clock) = driven(1_000, 1);
    for key in 0..1_000_000u64 {
        clock.advance(Duration::from_micros(10));
        assert!(limiter.check_key(&key).is_ok());
    }
    let state = limiter.into_state_store();
    assert!(sizes(&state).iter().all(|size| *size <= 2 * FIRST_SWEEP), "{:?}", sizes(&state));
}

#[test]
fn key_flood_is_bounded_and_refreshes_no_key() {
    let (limiter, clock) = driven(1, 2);
    let limited = u64::MAX;
    assert!(limiter.check_key(&limited).is_ok() && limiter.check_key(&limited).is_ok());
    let mut admitted = 0;
    for key in 0..400_000u64 {
        admitted += usize::from(limiter.check_key(&key).is_ok());
        if key % 1_000 == 0 {
            assert!(limiter.check_key(&limited).is_err(), "after {key} keys");
        }
    }
    // Every key of the table once, then the shared buckets twice each.
    assert_eq!(admitted, SHARDS * OWN - 1 + 2 * SHARDS * SHARED);
    clock.advance(Duration::from_secs(2));
    assert!(limiter.check_key(&limited).is_ok() && limiter.check_key(&limited).is_ok());
    let newcomer = 400_001;
    assert!(limiter.check_key(&newcomer).is_ok(), "there is room again");
    let state = limiter.into_state_store();
    assert!(sizes(&state).iter().all(|size| *size <= OWN));
    assert!(state.shards[newcomer as usize % SHARDS].lock().own.contains_key(&newcomer));
}

#[test]
fn threads_share_one_bucket() {
    let limiter = Arc::new(Limiter::new(1, 1_000));
    let admitted: usize = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| (0..1_000).filter(|_| limiter.check("a")).count())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    // A slow machine may earn a token or some more while it runs.
    assert!((1_000..1_100).contains(&admitted), "{admitted}");
}
