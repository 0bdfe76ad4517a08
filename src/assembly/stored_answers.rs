//! The database as the store of the answers that repeats of a request get.

use std::time::Duration;

use svc_channels::{AnswerStore, CacheError, CacheFuture};
use svc_store::{KeptAnswers, StoreError};

/// Longest life of an answer in seconds, a hundred years: of a longer one the database cannot compute the end.
const LONGEST_SECS: u64 = 100 * 365 * 86_400;

/// The kept answers in the database.
#[derive(Clone)]
pub(crate) struct StoredAnswers(pub(crate) KeptAnswers);

impl AnswerStore for StoredAnswers {
    fn read(&self, key: String) -> CacheFuture<'_, Option<String>> {
        Box::pin(async move { self.0.read(key).await.map_err(cache_error) })
    }

    fn claim(&self, key: String, text: String, ttl_secs: u64) -> CacheFuture<'_, bool> {
        Box::pin(async move { self.0.claim(key, text, life(ttl_secs)).await.map_err(cache_error) })
    }

    fn transfer(&self, key: String, text: String, successor: String, ttl_secs: u64) -> CacheFuture<'_, bool> {
        Box::pin(
            async move { self.0.transfer(key, text, successor, life(ttl_secs)).await.map_err(cache_error) },
        )
    }

    fn release(&self, key: String, text: String) -> CacheFuture<'_, ()> {
        Box::pin(async move { self.0.release(key, text).await.map_err(cache_error) })
    }
}

fn life(ttl_secs: u64) -> Duration {
    Duration::from_secs(ttl_secs.min(LONGEST_SECS))
}

fn cache_error(error: StoreError) -> CacheError {
    let reason = error.to_string();
    match error {
        StoreError::Unanswered(_) => CacheError::Unconfirmed(reason),
        _ => CacheError::NotDone(reason),
    }
}
