//! Values shared by name, each fetched by one caller at a time.
//!
//! A [`SharedMap`] holds one [`SharedEntry`] for each name. All users of a name share the entry; it leaves
//! the map when the last of them drops it. [`SharedEntry::single_flight`] lets one caller at a time fetch;
//! the others wait, and check for its result before they fetch themselves.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU32, Ordering};
//!
//! use svc_credentials::single_flight::SharedMap;
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let map: Arc<SharedMap<AtomicU32>> = Arc::default();
//! let entry = map.get_or_insert("issuer", |_| true, AtomicU32::default);
//! let cached = || Some(entry.load(Ordering::SeqCst)).filter(|value| *value > 0);
//! let fetch = async || {
//!     entry.store(7, Ordering::SeqCst);
//!     7
//! };
//! assert_eq!(entry.single_flight(cached, fetch).await, 7);
//! assert_eq!(entry.single_flight(cached, async || unreachable!()).await, 7);
//! # });
//! ```

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, MutexGuard};
type Entries<V> = HashMap<Arc<str>, Weak<SharedEntry<V>>>;

/// The entries in use, by name.
#[derive(Debug)]
pub struct SharedMap<V> {
    entries: Mutex<Entries<V>>,
}

impl<V> Default for SharedMap<V> {
    fn default() -> Self {
        Self { entries: Mutex::default() }
    }
}

impl<V> SharedMap<V> {
    /// Returns the entry of a name if its value `matches`. Otherwise creates an entry and shares it from now
    /// on; users of the previous one keep it.
    ///
    /// Both closures run under the lock of the map: they must not use the map.
    pub fn get_or_insert(
        self: &Arc<Self>,
        name: &str,
        matches: impl FnOnce(&V) -> bool,
        create: impl FnOnce() -> V,
    ) -> Arc<SharedEntry<V>> {
        // Declared before the guard and therefore dropped after it: the last user of an entry takes the lock
        // in `drop`.
        let current;
        let mut entries = self.lock();
        current = entries.get(name).and_then(Weak::upgrade);
        if let Some(entry) = current.as_ref().filter(|entry| matches(&entry.value)) {
            return Arc::clone(entry);
        }
        let name: Arc<str> = name.into();
        let entry = Arc::new(SharedEntry {
            name: Arc::clone(&name),
            value: create(),
            turn: tokio::sync::Mutex::default(),
            map: Arc::clone(self),
        });
        entries.insert(name, Arc::downgrade(&entry));
        entry
    }

    /// Returns the entry of a name, if one is in use.
    pub fn find(&self, name: &str) -> Option<Arc<SharedEntry<V>>> {
        // The guard ends first: the last user of an entry takes the lock in `drop`.
        let entry = self.lock().get(name).cloned();
        entry.as_ref().and_then(Weak::upgrade)
    }

    /// Removes a name: its entry stays with its users, and the next one who asks gets another.
    pub fn forget(&self, name: &str) {
        self.lock().remove(name);
    }

    /// Returns the number of entries in use.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Returns `true` if no entry is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Entries<V>> {
        self.entries.lock()
    }
}

/// A value that all users of one name share.
#[derive(Debug)]
pub struct SharedEntry<V> {
    name: Arc<str>,
    value: V,
    /// Held by the caller that fetches.
    turn: tokio::sync::Mutex<()>,
    map: Arc<SharedMap<V>>,
}

impl<V> SharedEntry<V> {
    /// Returns the name of the entry.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the `cached` result, or runs `fetch` as the only caller of this entry.
    ///
    /// A caller that had to wait checks `cached` again before it fetches. If the caller that fetches is
    /// dropped, the next one fetches.
    pub async fn single_flight<T>(
        &self,
        cached: impl Fn() -> Option<T>,
        fetch: impl AsyncFnOnce() -> T,
    ) -> T {
        if let Some(result) = cached() {
            return result;
        }
        let _turn = self.turn.lock().await;
        match cached() {
            Some(result) => result,
            None => fetch().await,
        }
    }
}

impl<V> Deref for SharedEntry<V> {
    type Target = V;

    fn deref(&self) -> &V {
        &self.value
    }
}

impl<V> Drop for SharedEntry<V> {
    fn drop(&mut self) {
        let mut entries = self.map.lock();
        // Another entry may have taken the name since the last user left.
        if entries.get(&self.name).is_some_and(|entry| entry.strong_count() == 0) {
            entries.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::sync::Semaphore;
    use tokio::task::JoinSet;

    use super::*;

    #[test]
    fn entry_is_shared_until_its_last_user_leaves() {
        let map: Arc<SharedMap<u32>> = Arc::default();
        let one = map.get_or_insert("a", |_| true, || 1);
        let other = map.get_or_insert("a", |_| true, || 2);
        assert_eq!((**other, map.len()), (1, 1));
        drop((one, other));
        assert!(map.is_empty());
    }

    #[test]
    fn mismatched_entry_is_replaced_without_a_deadlock() {
        let map: Arc<SharedMap<u32>> = Arc::default();
        // The lookup holds the last reference to the entry that it replaces.
        let first = map.get_or_insert("a", |_| true, || 1);
        let second = map.get_or_insert(
            "a",
            move |_| {
                drop(first);
                false
            },
            || 2,
        );
        assert_eq!((**second, map.len()), (2, 1));
    }

    #[test]
    fn replaced_entry_leaves_its_successor_in_the_map() {
        let map: Arc<SharedMap<u32>> = Arc::default();
        let old = map.get_or_insert("a", |_| true, || 1);
        let new = map.get_or_insert("a", |value| *value == 2, || 2);
        drop(old);
        assert!(Arc::ptr_eq(&new, &map.get_or_insert("a", |_| true, || 3)));
        map.forget("a");
        assert_eq!(**map.get_or_insert("a", |_| true, || 4), 4);
    }

    #[tokio::test]
    async fn hundred_callers_make_one_fetch() {
        let map: Arc<SharedMap<AtomicU32>> = Arc::default();
        let (fetches, gate) = (Arc::new(AtomicU32::new(0)), Arc::new(Semaphore::new(0)));
        let mut callers = JoinSet::new();
        for _ in 0..100 {
            let entry = map.get_or_insert("a", |_| true, AtomicU32::default);
            let (fetches, gate) = (Arc::clone(&fetches), Arc::clone(&gate));
            callers.spawn(async move {
                let cached = || Some(entry.load(Ordering::SeqCst)).filter(|value| *value > 0);
                entry
                    .single_flight(cached, async || {
                        fetches.fetch_add(1, Ordering::SeqCst);
                        gate.acquire().await.unwrap().forget();
                        entry.store(7, Ordering::SeqCst);
                        7
                    })
                    .await
            });
        }
        while fetches.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        gate.add_permits(1);
        assert!(callers.join_all().await.into_iter().all(|value| value == 7));
        assert_eq!(fetches.load(Ordering::SeqCst), 1);
        assert!(map.is_empty());
    }

    #[tokio::test]
    async fn dropped_caller_lets_the_next_one_fetch() {
        let map: Arc<SharedMap<()>> = Arc::default();
        let entry = map.get_or_insert("a", |()| true, || ());
        let first = entry.single_flight(|| None, async || std::future::pending::<u32>().await);
        assert!(tokio::time::timeout(std::time::Duration::ZERO, first).await.is_err());
        assert_eq!(entry.single_flight(|| None, async || 2).await, 2);
    }
}
