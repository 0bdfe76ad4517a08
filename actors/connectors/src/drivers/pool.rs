//! Connection pools that are opened when first needed, and the bound of those open at once.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::OnceCell;
use tokio::time::Instant;

/// Age below which a pool is kept although its server says that it is the wrong one: while no other server has taken
/// its place, calls open few connections.
#[cfg_attr(
    not(any(test, feature = "mongo", feature = "sql")),
    expect(dead_code, reason = "only databases report that another server serves")
)]
const SETTLED: Duration = Duration::from_millis(250);

/// The pools that are open, the least recently used first. Beyond its capacity the first of them is closed;
/// it opens again when it is needed.
#[derive(Clone)]
pub(crate) struct OpenPools {
    shared: Arc<Mutex<Open>>,
}

struct Open {
    capacity: usize,
    closers: Vec<Weak<dyn Close>>,
}

trait Close: Send + Sync {
    fn close(&self);
}

/// The slot of one pool.
pub(crate) struct PoolSlot<P> {
    held: Arc<Held<P>>,
    open: OpenPools,
}

struct Held<P> {
    pool: Mutex<Arc<OnceCell<Opened<P>>>>,
}

struct Opened<P> {
    pool: P,
    #[cfg_attr(
        not(any(test, feature = "mongo", feature = "sql")),
        expect(dead_code, reason = "only databases report that another server serves")
    )]
    since: Instant,
}

impl<P: Send + Sync + 'static> Close for Held<P> {
    /// Calls that hold the pool finish with it.
    fn close(&self) {
        *self.pool.lock() = Arc::default();
    }
}

impl OpenPools {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { shared: Arc::new(Mutex::new(Open { capacity: capacity.max(1), closers: Vec::new() })) }
    }

    /// Makes the slot of a pool that is not opened yet.
    pub(crate) fn slot<P: Send + Sync + 'static>(&self) -> PoolSlot<P> {
        PoolSlot { held: Arc::new(Held { pool: Mutex::default() }), open: self.clone() }
    }

    /// Marks a pool as the last used, and closes those beyond the capacity.
    fn touch(&self, used: &Arc<dyn Close>) {
        let is_used = |pool: &Weak<dyn Close>| std::ptr::addr_eq(pool.as_ptr(), Arc::as_ptr(used));
        let evicted: Vec<_> = {
            let mut open = self.shared.lock();
            if open.closers.last().is_some_and(is_used) {
                return;
            }
            open.closers.retain(|pool| pool.strong_count() > 0 && !is_used(pool));
            open.closers.push(Arc::downgrade(used));
            let surplus = open.closers.len().saturating_sub(open.capacity);
            open.closers.drain(..surplus).collect()
        };
        for pool in evicted.iter().filter_map(Weak::upgrade) {
            pool.close();
        }
    }
}

impl<P: Clone + Send + Sync + 'static> PoolSlot<P> {
    /// Returns the pool, opened if it is not open. A call that comes while another opens it waits for that
    /// one.
    ///
    /// # Errors
    /// The error of `open`; the next call opens again.
    pub(crate) async fn get<E, F>(&self, open: impl FnOnce() -> F) -> Result<P, E>
    where
        F: Future<Output = Result<P, E>>,
    {
        let cell = Arc::clone(&self.held.pool.lock());
        let opening = async || Ok(Opened { pool: open().await?, since: Instant::now() });
        let pool = cell.get_or_try_init(opening).await?.pool.clone();
        let slot: Arc<dyn Close> = Arc::clone(&self.held) as Arc<dyn Close>;
        self.open.touch(&slot);
        Ok(pool)
    }
}

impl<P> PoolSlot<P> {
    /// Drops the pool if it is open and `useless`; the next call opens another.
    pub(crate) fn discard(&self, useless: impl FnOnce(&P) -> bool) {
        let mut pool = self.held.pool.lock();
        if pool.get().is_some_and(|opened| useless(&opened.pool)) {
            *pool = Arc::default();
        }
    }

    /// Drops the pool whose server said that it is the wrong one, so that no call uses its other connections; the next
    /// call opens another pool. A pool that was just opened stays.
    #[cfg(any(feature = "mongo", feature = "sql"))]
    pub(crate) fn give_up(&self) {
        let mut pool = self.held.pool.lock();
        if pool.get().is_some_and(|opened| opened.since.elapsed() >= SETTLED) {
            *pool = Arc::default();
        }
    }
}

#[cfg(feature = "smtp")]
impl<P: Clone> PoolSlot<P> {
    /// Returns the pool if it is open; this does not count as a use.
    pub(crate) fn get_open(&self) -> Option<P> {
        self.held.pool.lock().get().map(|opened| opened.pool.clone())
    }
}

impl<P> Clone for PoolSlot<P> {
    fn clone(&self) -> Self {
        Self { held: Arc::clone(&self.held), open: self.open.clone() }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    async fn open_pool(slot: &PoolSlot<u32>, value: u32) -> u32 {
        slot.get(async || Ok::<_, Infallible>(value)).await.unwrap()
    }

    #[tokio::test]
    async fn pool_is_opened_once_and_after_failure() {
        let slot = OpenPools::new(3).slot();
        assert_eq!(slot.get(async || Err::<u32, _>("away")).await, Err("away"));
        assert_eq!(open_pool(&slot, 1).await, 1);
        assert_eq!(open_pool(&slot, 2).await, 1);
    }

    #[tokio::test]
    async fn discarded_pool_is_opened_again() {
        let slot = OpenPools::new(3).slot();
        slot.discard(|_: &u32| true);
        assert_eq!(open_pool(&slot, 1).await, 1);
        slot.discard(|held| *held == 7);
        assert_eq!(open_pool(&slot, 2).await, 1);
        slot.discard(|held| *held == 1);
        assert_eq!(open_pool(&slot, 2).await, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn only_settled_pool_is_given_up() {
        let slot = OpenPools::new(3).slot();
        assert_eq!(open_pool(&slot, 1).await, 1);
        slot.give_up();
        assert_eq!(open_pool(&slot, 2).await, 1, "just opened");
        tokio::time::advance(SETTLED).await;
        slot.give_up();
        slot.give_up();
        assert_eq!(open_pool(&slot, 2).await, 2);
    }

    #[tokio::test]
    async fn the_least_recently_used_pool_is_closed() {
        let pools = OpenPools::new(2);
        let (one, two, three) = (pools.slot(), pools.slot(), pools.slot());
        open_pool(&one, 1).await;
        open_pool(&two, 1).await;
        open_pool(&one, 2).await;
        open_pool(&three, 1).await;
        assert_eq!(open_pool(&one, 2).await, 1, "used after the second");
        assert_eq!(open_pool(&two, 2).await, 2, "closed, and opened again");
    }

    #[tokio::test]
    async fn a_pool_that_is_gone_takes_no_place() {
        let pools = OpenPools::new(1);
        let one = pools.slot();
        open_pool(&one, 1).await;
        for value in 0..100 {
            open_pool(&pools.slot(), value).await;
        }
        assert!(pools.shared.lock().closers.len() <= 1);
        assert_eq!(open_pool(&one, 2).await, 2);
    }
}
