//! A hash map whose copies share everything that did not change.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use foldhash::fast::RandomState;

/// Shards of a map: many enough that copying one is nothing, few enough that copying the table of them is
/// nothing.
const SHARDS: usize = 256;

/// An immutable-by-sharing hash map: a clone copies a table of pointers, a change then copies one shard. With
/// `n` entries a change after a clone costs about `n / 256` copies of an entry.
#[derive(Clone, Debug)]
pub(crate) struct ShardedMap<K, V> {
    shards: Box<[Arc<HashMap<K, V, RandomState>>]>,
    hasher: RandomState,
    len: usize,
}

impl<K, V> Default for ShardedMap<K, V> {
    fn default() -> Self {
        let empty = Arc::new(HashMap::default());
        Self { shards: vec![empty; SHARDS].into(), hasher: RandomState::default(), len: 0 }
    }
}

impl<K: Hash + Eq + Clone, V: Clone> ShardedMap<K, V> {
    fn shard<Q: Hash + ?Sized>(&self, key: &Q) -> usize {
        // The map of a shard has the lower bits. The modulus fits any usize.
        ((self.hasher.hash_one(key) >> 32) % SHARDS as u64) as usize
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.shards[self.shard(key)].get(key)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let shard = self.shard(&key);
        let old = Arc::make_mut(&mut self.shards[shard]).insert(key, value);
        self.len += usize::from(old.is_none());
        old
    }

    pub(crate) fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let shard = self.shard(key);
        // Looking first keeps a miss from copying the shard.
        self.shards[shard].get(key)?;
        let old = Arc::make_mut(&mut self.shards[shard]).remove(key);
        self.len -= usize::from(old.is_some());
        old
    }

    /// Every entry, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.shards.iter().flat_map(|shard| shard.iter())
    }

    /// Returns the keys that are in only one of two maps, or whose values are not the `same`. A shard that
    /// both maps share is skipped; maps that are not copies of one another are compared as a whole.
    pub(crate) fn changed_keys(&self, earlier: &Self, same: impl Fn(&V, &V) -> bool) -> Vec<K> {
        let shards = self.shards.iter().zip(&earlier.shards).filter(|(new, old)| !Arc::ptr_eq(new, old));
        let mut keys = Vec::new();
        for (new, old) in shards {
            let differs =
                |(key, value): &(&K, &V)| !earlier.get(*key).is_some_and(|before| same(value, before));
            keys.extend(new.iter().filter(differs).map(|(key, _)| key.clone()));
            keys.extend(old.keys().filter(|key| self.get(*key).is_none()).cloned());
        }
        keys
    }

    /// Changes the value of a key in place, starting from the default, and removes the key if the value is then empty.
    pub(crate) fn update(&mut self, key: K, change: impl FnOnce(&mut V), is_empty: impl FnOnce(&V) -> bool)
    where
        V: Default,
    {
        let mut value = self.get(&key).cloned().unwrap_or_default();
        change(&mut value);
        if is_empty(&value) {
            self.remove(&key);
        } else {
            self.insert(key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_copy_copies_only_one_shard() {
        let mut first = ShardedMap::default();
        for key in 0..5_000 {
            first.insert(key, key);
        }
        let mut second = first.clone();
        second.insert(1, 100);
        assert_eq!((first.get(&1), second.get(&1)), (Some(&1), Some(&100)));
        let copied = first.shards.iter().zip(&second.shards).filter(|(a, b)| !Arc::ptr_eq(a, b)).count();
        assert_eq!(copied, 1);
    }

    #[test]
    fn changes_are_the_keys_that_came_went_or_changed() {
        let mut first = ShardedMap::default();
        for key in 0..1_000 {
            first.insert(key, key);
        }
        let mut second = first.clone();
        second.remove(&7);
        second.insert(8, 80);
        second.insert(1_000, 1_000);
        let changed_keys = |one: &ShardedMap<i32, i32>, other: &ShardedMap<i32, i32>| {
            let mut keys = one.changed_keys(other, PartialEq::eq);
            keys.sort_unstable();
            keys
        };
        assert_eq!(changed_keys(&second, &first), [7, 8, 1_000]);
        assert_eq!(changed_keys(&first, &second), [7, 8, 1_000]);
        assert!(changed_keys(&first, &first.clone()).is_empty());
        assert_eq!(changed_keys(&first, &ShardedMap::default()).len(), 1_000, "of another origin");
    }

    #[test]
    fn the_length_counts_entries_once() {
        let mut map = ShardedMap::default();
        assert_eq!(map.insert("a", 1), None);
        assert_eq!(map.insert("a", 2), Some(1));
        assert_eq!(map.remove("b"), None);
        assert_eq!((map.len(), map.iter().count()), (1, 1));
        assert_eq!(map.remove("a"), Some(2));
        assert_eq!(map.len(), 0);
    }

    #[test]
    fn update_drops_a_value_that_became_empty() {
        let mut map: ShardedMap<&str, Vec<u8>> = ShardedMap::default();
        map.update("a", |list| list.push(1), Vec::is_empty);
        assert_eq!(map.get("a"), Some(&vec![1]));
        map.update("a", Vec::clear, Vec::is_empty);
        assert_eq!(map.len(), 0);
    }
}
