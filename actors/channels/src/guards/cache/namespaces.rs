//! The namespaces of cached answers. Each has a counter next to the answers; an answer is stale once a counter differs
//! from that of its lookup, so that one step makes all answers of a namespace stale, those of runs under way too.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use futures_util::future::{LocalBoxFuture, try_join_all};
use parking_lot::Mutex;
use svc_functions::CacheInvalidation;

use crate::guards::shared_cache::SharedCacheRef;
use crate::shared_cache::{CacheError, ConnectorAccess, SharedCache};

/// The counters of the namespaces of a channel, in the order of its configuration.
pub(crate) type NamespaceCounters = Box<[u64]>;

/// The namespaces of the channels of a process. Cheap to clone; clones share them.
#[derive(Clone, Default)]
pub struct CacheNamespaces(Arc<Mutex<NamespaceTable>>);

#[derive(Default)]
struct NamespaceTable {
    /// The counters of the caches in the memory of this process. Channels name them, so that there are few.
    counters: HashMap<String, Arc<AtomicU64>>,
    /// The caches of channels that have namespaces.
    caches: Vec<Weak<NamespacedCache>>,
}

/// The namespaces of the cache of one channel.
pub(crate) struct NamespacedCache {
    channel: String,
    names: Vec<String>,
    /// Those of this process.
    counters: Vec<Arc<AtomicU64>>,
    shared: Arc<SharedCacheRef>,
    connectors: Option<Arc<dyn ConnectorAccess>>,
}

/// Returns the key of a counter in a shared cache.
fn counter_key(name: &str) -> String {
    format!("svc:rc:ns:{name}")
}

impl NamespacedCache {
    /// Returns the counters of this process.
    pub(crate) fn local_counters(&self) -> NamespaceCounters {
        self.counters.iter().map(|counter| counter.load(Ordering::SeqCst)).collect()
    }

    /// Reads the counters of a shared cache, all at the same time.
    pub(crate) async fn read_counters(
        &self,
        cache: &dyn SharedCache,
    ) -> Result<NamespaceCounters, CacheError> {
        let reads = self.names.iter().map(|name| cache.read(counter_key(name)));
        let texts = try_join_all(reads).await?;
        let counters = texts.into_iter().map(|text| match text {
            None => Ok(0),
            Some(text) => text
                .parse()
                .map_err(|_| CacheError::NotDone("the counter of a namespace is no number".to_owned())),
        });
        counters.collect()
    }

    fn has_one_of(&self, names: &[String]) -> bool {
        self.names.iter().any(|name| names.contains(name))
    }
}

impl CacheNamespaces {
    /// Adds the cache of a channel, for as long as the result is used.
    pub(in crate::guards) fn join(
        &self,
        channel: &str,
        names: &[String],
        shared: &Arc<SharedCacheRef>,
        connectors: Option<&Arc<dyn ConnectorAccess>>,
    ) -> Arc<NamespacedCache> {
        let mut table = self.0.lock();
        let counters = names.iter().map(|name| Arc::clone(table.counters.entry(name.clone()).or_default()));
        let cache = Arc::new(NamespacedCache {
            channel: channel.to_owned(),
            names: names.to_vec(),
            counters: counters.collect(),
            shared: Arc::clone(shared),
            connectors: connectors.cloned(),
        });
        table.caches.retain(|cache| cache.strong_count() > 0);
        table.caches.push(Arc::downgrade(&cache));
        cache
    }

    /// Makes every answer of these namespaces stale. Returns the number of caches that keep answers of them: the memory
    /// of this process counts as one.
    ///
    /// # Errors
    /// A cache that did not confirm it; the others are done.
    pub async fn invalidate_all(&self, names: &[String]) -> Result<usize, CacheError> {
        let caches: Vec<_> = {
            let table = self.0.lock();
            for counter in names.iter().filter_map(|name| table.counters.get(name)) {
                counter.fetch_add(1, Ordering::SeqCst);
            }
            table.caches.iter().filter_map(Weak::upgrade).filter(|cache| cache.has_one_of(names)).collect()
        };
        let (mut is_local, mut failure) = (false, None);
        // Several channels may keep their answers in one place.
        let mut places: BTreeMap<&str, (Arc<dyn SharedCache>, BTreeSet<&String>)> = BTreeMap::new();
        for cache in &caches {
            match cache.shared.cache_of(&cache.channel, cache.connectors.as_ref()) {
                Ok(None) => is_local = true,
                Ok(Some(shared)) => {
                    let (_, used) = places.entry(cache.shared.place()).or_insert((shared, BTreeSet::new()));
                    used.extend(cache.names.iter().filter(|name| names.contains(name)));
                }
                Err(error) => failure = Some(error),
            }
        }
        for (shared, used) in places.values() {
            for name in used {
                if let Err(error) = shared.increment(counter_key(name)).await {
                    failure = Some(error);
                }
            }
        }
        match failure {
            Some(failure) => Err(failure),
            None => Ok(places.len() + usize::from(is_local)),
        }
    }
}

impl CacheInvalidation for CacheNamespaces {
    fn invalidate(&self, namespaces: Vec<String>) -> LocalBoxFuture<'_, Result<usize, String>> {
        Box::pin(async move { self.invalidate_all(&namespaces).await.map_err(|error| error.to_string()) })
    }
}

impl fmt::Debug for CacheNamespaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheNamespaces").finish_non_exhaustive()
    }
}
