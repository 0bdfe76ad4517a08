//! The stores of kept answers. A port: the program implements it over its database.

use std::fmt;
use std::sync::Arc;

use svc_secrets::EnvelopeKeys;

use crate::shared_cache::{CacheFuture, SharedCache};

/// A store of texts with an end, each of which is changed by whoever knows it.
///
/// Every operation fails with [`CacheError`](crate::CacheError) when the store did not answer or did not confirm it.
pub trait AnswerStore: Send + Sync {
    /// Reads the text of a key.
    fn read(&self, key: String) -> CacheFuture<'_, Option<String>>;

    /// Puts a text under a key that is free, or that has this text, for `ttl_secs` seconds, a hundred years at most;
    /// `false` if it has another.
    fn claim(&self, key: String, text: String, ttl_secs: u64) -> CacheFuture<'_, bool>;

    /// Replaces the text of a key, for `ttl_secs` seconds from now; `false` if it has another text.
    fn transfer(&self, key: String, text: String, successor: String, ttl_secs: u64) -> CacheFuture<'_, bool>;

    /// Removes the text of a key, if it is this one.
    fn release(&self, key: String, text: String) -> CacheFuture<'_, ()>;
}

/// The parts of the service that keep the answers of runs for their repeats. Cheap to clone.
#[derive(Clone, Default)]
pub struct ReplayServices {
    /// The database; without one the memory of this process takes its place.
    pub database: Option<Arc<dyn AnswerStore>>,
    /// The keys that encrypt answers with the token of accepted work.
    pub keys: Arc<EnvelopeKeys>,
}

impl fmt::Debug for ReplayServices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayServices").finish_non_exhaustive()
    }
}

/// Answers in a cache that other processes reach too.
pub(super) struct SharedAnswers(pub(super) Arc<dyn SharedCache>);

impl AnswerStore for SharedAnswers {
    fn read(&self, key: String) -> CacheFuture<'_, Option<String>> {
        self.0.read(key)
    }

    fn claim(&self, key: String, text: String, ttl_secs: u64) -> CacheFuture<'_, bool> {
        self.0.claim(key, text, ttl_secs)
    }

    fn transfer(&self, key: String, text: String, successor: String, ttl_secs: u64) -> CacheFuture<'_, bool> {
        self.0.transfer(key, text, successor, ttl_secs)
    }

    fn release(&self, key: String, text: String) -> CacheFuture<'_, ()> {
        self.0.release(key, text)
    }
}
