//! Entries in the memory of this process; beyond the bound the least recently used are evicted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::ops::compute::Op;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;

/// The entries of one connector. Cheap to clone; clones share them.
#[derive(Clone)]
pub(super) struct MemoryCache {
    entries: Cache<String, Entry>,
    /// Set by a write, cleared by a sweep.
    written: Arc<AtomicBool>,
}

#[derive(Clone)]
struct Entry {
    text: Arc<str>,
    /// `None` for an entry that lives for ever.
    life: Option<Arc<Life>>,
}

/// The time to live of an entry, and of those that take its place and keep it.
struct Life {
    length: Duration,
    /// The end, which the first write sets; `None` beyond what clocks count.
    end: OnceLock<Option<Instant>>,
}

impl Life {
    fn new(secs: u64) -> Arc<Self> {
        Arc::new(Self { length: Duration::from_secs(secs), end: OnceLock::new() })
    }

    /// Returns what is left of it. A rest that is handed on at each write would grow by the time of the write.
    fn rest(&self, now: Instant) -> Option<Duration> {
        let end = self.end.get_or_init(|| now.checked_add(self.length));
        end.map(|end| end.saturating_duration_since(now))
    }
}

/// Ends each entry with its life.
struct EndOfLife;

impl Expiry<String, Entry> for EndOfLife {
    fn expire_after_create(&self, _: &String, entry: &Entry, now: Instant) -> Option<Duration> {
        entry.life.as_ref()?.rest(now)
    }

    fn expire_after_update(
        &self,
        _: &String,
        entry: &Entry,
        now: Instant,
        _: Option<Duration>,
    ) -> Option<Duration> {
        entry.life.as_ref()?.rest(now)
    }
}

impl MemoryCache {
    /// Makes a cache of at most so many entries; 0 for no bound.
    pub(super) fn new(max_entries: usize) -> Self {
        let cache = Cache::builder().expire_after(EndOfLife).eviction_policy(EvictionPolicy::lru());
        let cache = match u64::try_from(max_entries) {
            Ok(0) | Err(_) => cache,
            Ok(max) => cache.max_capacity(max),
        };
        Self { entries: cache.build(), written: Arc::default() }
    }

    pub(super) fn read(&self, key: &str) -> Option<String> {
        self.entries.get(key).map(|entry| entry.text.as_ref().to_owned())
    }

    /// Stores a text, for ever or for so many seconds. With 0 seconds nothing is stored.
    pub(super) fn write(&self, key: String, text: &str, ttl_secs: Option<u64>) {
        if ttl_secs == Some(0) {
            self.entries.invalidate(&key);
        } else {
            let life = ttl_secs.map(Life::new);
            self.entries.insert(key, Entry { text: text.into(), life });
            self.written.store(true, Ordering::Relaxed);
        }
    }

    /// Removes a key; `false` if there was none.
    pub(super) fn remove(&self, key: &str) -> bool {
        self.entries.remove(key).is_some()
    }

    /// Adds to the number under a key, in one step, and returns the sum. A key that it creates lives for ever or for so
    /// many seconds.
    ///
    /// # Errors
    /// The reason: what is there is no number, or the sum has more than 64 bits.
    pub(super) fn add(&self, key: String, by: i64, ttl_secs: Option<u64>) -> Result<i64, &'static str> {
        let mut sum = by;
        let added = self.entries.entry(key).and_try_compute_with(|present| {
            let life = match present {
                None => ttl_secs.map(Life::new),
                Some(entry) => {
                    let Entry { text, life } = entry.into_value();
                    let number: i64 = text.parse().map_err(|_| "the value of the key is no whole number")?;
                    sum = number.checked_add(by).ok_or("the sum would have more than 64 bits")?;
                    life
                }
            };
            Ok(Op::Put(Entry { text: sum.to_string().into(), life }))
        });
        self.written.store(true, Ordering::Relaxed);
        added.map(|_| sum)
    }

    /// Removes expired entries, and those beyond the bound.
    pub(super) fn sweep(&self) {
        self.written.store(false, Ordering::Relaxed);
        self.entries.run_pending_tasks();
    }

    /// Does a [`sweep`](Self::sweep) if an entry was written since the last one.
    pub(super) fn sweep_writes(&self) {
        if self.written.load(Ordering::Relaxed) {
            self.sweep();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_bound_the_least_recently_used_entries_go() {
        let cache = MemoryCache::new(10);
        for key in 0..10 {
            cache.write(key.to_string(), "x", None);
        }
        cache.sweep();
        assert_eq!(cache.read("0").as_deref(), Some("x"));
        cache.sweep();
        for key in 10..15 {
            cache.write(key.to_string(), "x", None);
        }
        cache.sweep();
        assert_eq!(cache.entries.entry_count(), 10);
        assert!(cache.read("0").is_some(), "it was used after the others");
        assert!(cache.read("1").is_none());
        assert!(cache.read("14").is_some(), "a new entry is always kept");
    }

    #[test]
    fn sum_keeps_the_life_its_first_call_gave() {
        let cache = MemoryCache::new(0);
        assert_eq!(cache.add("k".into(), 2, Some(1)), Ok(2));
        let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
        while cache.add("k".into(), 1, Some(3600)) != Ok(1) {
            assert!(tokio::time::Instant::now() < deadline, "the counter of one second goes on");
            std::thread::yield_now();
        }
        cache.write("max".into(), &i64::MAX.to_string(), None);
        cache.write("text".into(), "x", None);
        assert!(cache.add("max".into(), 1, None).is_err() && cache.add("text".into(), 1, None).is_err());
        assert_eq!(
            (cache.read("text").as_deref(), cache.remove("text"), cache.remove("text")),
            (Some("x"), true, false)
        );
    }

    #[test]
    fn entry_lives_as_its_last_write_says() {
        let cache = MemoryCache::new(0);
        cache.write("k".into(), "short", Some(1));
        cache.write("k".into(), "long", None);
        cache.write("gone".into(), "x", Some(1));
        cache.write("never".into(), "x", Some(0));
        cache.write("k2".into(), "x", None);
        cache.write("k2".into(), "x", Some(0));
        assert!(cache.read("never").is_none() && cache.read("k2").is_none());
        let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
        while cache.read("gone").is_some() || cache.entries.entry_count() > 1 {
            assert!(tokio::time::Instant::now() < deadline, "the entry of one second is still there");
            cache.sweep();
            std::thread::yield_now();
        }
        assert_eq!(cache.read("k").as_deref(), Some("long"));
    }
}
