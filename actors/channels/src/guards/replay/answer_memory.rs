//! Kept answers in the memory of this process, bounded by entries and by bytes. With a full memory those that were not
//! used for the longest time go first.

use std::sync::Arc;
use std::time::Duration;

use moka::ops::compute::{CompResult, Op};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use tokio::time::Instant;

use super::answer_store::AnswerStore;
use crate::guards::local_caches::{AnswerBound, ExpiringCache, LONGEST_LIFE};
use crate::shared_cache::CacheFuture;

/// The answers of one channel. Cheap to clone; clones share the entries.
#[derive(Clone)]
pub(in crate::guards) struct AnswerMemory(Cache<String, MemoryEntry>);

#[derive(Clone)]
struct MemoryEntry {
    text: Arc<str>,
    until: Instant,
}

impl MemoryEntry {
    fn new(text: String, ttl_secs: u64) -> Self {
        let life = Duration::from_secs(ttl_secs).min(LONGEST_LIFE);
        Self { text: text.into(), until: Instant::now() + life }
    }

    fn is_live(&self) -> bool {
        Instant::now() < self.until
    }
}

impl AnswerMemory {
    /// Creates a memory whose entries live no longer than `longest`, at most `max_entries` of them (0 for any number).
    pub(super) fn new(longest: Duration, max_entries: u64) -> Self {
        let bound = AnswerBound::new(max_entries);
        let entries = Cache::builder()
            // The default policy may refuse to keep a newcomer, which would let its repeat run.
            .eviction_policy(EvictionPolicy::lru())
            .max_capacity(bound.capacity)
            .weigher(move |key: &String, entry: &MemoryEntry| bound.weigh(key.len() + entry.text.len()))
            .time_to_live(longest.min(LONGEST_LIFE))
            .build();
        Self(entries)
    }
}

impl ExpiringCache for AnswerMemory {
    fn remove_expired(&self) {
        self.0.run_pending_tasks();
    }
}

impl AnswerStore for AnswerMemory {
    fn read(&self, key: String) -> CacheFuture<'_, Option<String>> {
        let entry = self.0.get(&key).filter(MemoryEntry::is_live);
        Box::pin(async move { Ok(entry.map(|entry| entry.text.to_string())) })
    }

    fn claim(&self, key: String, text: String, ttl_secs: u64) -> CacheFuture<'_, bool> {
        let entry = MemoryEntry::new(text, ttl_secs);
        let outcome = self.0.entry(key).and_compute_with(|held| match held {
            Some(held) if held.value().is_live() && held.value().text != entry.text => Op::Nop,
            _ => Op::Put(entry),
        });
        let is_claimed = matches!(outcome, CompResult::Inserted(_) | CompResult::ReplacedWith(_));
        Box::pin(async move { Ok(is_claimed) })
    }

    fn transfer(&self, key: String, text: String, successor: String, ttl_secs: u64) -> CacheFuture<'_, bool> {
        let outcome = self.0.entry(key).and_compute_with(|held| match held {
            Some(held) if *held.value().text == *text => Op::Put(MemoryEntry::new(successor, ttl_secs)),
            _ => Op::Nop,
        });
        let is_done = matches!(outcome, CompResult::Inserted(_) | CompResult::ReplacedWith(_));
        Box::pin(async move { Ok(is_done) })
    }

    fn release(&self, key: String, text: String) -> CacheFuture<'_, ()> {
        self.0.entry(key).and_compute_with(|held| match held {
            Some(held) if *held.value().text == *text => Op::Remove,
            _ => Op::Nop,
        });
        Box::pin(async { Ok(()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> AnswerMemory {
        AnswerMemory::new(Duration::from_secs(60), 10)
    }

    async fn claim(memory: &AnswerMemory, text: &str) -> bool {
        memory.claim("k".to_owned(), text.to_owned(), 5).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn claim_ends_with_its_time() {
        let memory = memory();
        assert!(claim(&memory, "a").await && claim(&memory, "a").await, "its own claim is renewed");
        assert!(!claim(&memory, "b").await);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(memory.read("k".to_owned()).await, Ok(None));
        assert!(claim(&memory, "b").await);
        assert_eq!(memory.read("k".to_owned()).await, Ok(Some("b".to_owned())));
    }

    #[tokio::test(start_paused = true)]
    async fn texts_are_changed_by_those_who_know_them() {
        let memory = memory();
        assert!(claim(&memory, "a").await);
        let transfer = |from: &str| memory.transfer("k".to_owned(), from.to_owned(), "c".to_owned(), 60);
        assert_eq!(transfer("b").await, Ok(false));
        assert_eq!(transfer("a").await, Ok(true));
        memory.release("k".to_owned(), "a".to_owned()).await.unwrap();
        assert_eq!(memory.read("k".to_owned()).await, Ok(Some("c".to_owned())));
        memory.release("k".to_owned(), "c".to_owned()).await.unwrap();
        assert_eq!(memory.read("k".to_owned()).await, Ok(None));
    }
}
