//! The database as the store of quotas.

use futures_util::future::BoxFuture;
use svc_channels::{CacheError, QuotaKey, QuotaStore, ReservedCalls};
use svc_model::config::QuotaTerms;
use svc_store::{QuotaCounts, QuotaRequest, QuotaSlice, StoreError};

/// The counts of quotas in the database.
#[derive(Clone)]
pub(crate) struct StoredQuotas(pub(crate) QuotaCounts);

impl QuotaStore for StoredQuotas {
    fn reserve(
        &self,
        QuotaKey { channel_id, key }: QuotaKey,
        terms: QuotaTerms,
    ) -> BoxFuture<'_, Result<ReservedCalls, CacheError>> {
        Box::pin(async move {
            let request = QuotaRequest { channel_id: channel_id.to_string(), key, terms };
            let reserved = self.0.reserve(request).await.map_err(cache_error)?;
            Ok(ReservedCalls {
                count: reserved.count,
                slice: reserved.slice,
                slice_left: reserved.slice_left,
                window_left: reserved.window_left,
            })
        })
    }

    fn give_back(
        &self,
        QuotaKey { channel_id, key }: QuotaKey,
        slice: i64,
        count: u64,
    ) -> BoxFuture<'_, Result<(), CacheError>> {
        Box::pin(async move {
            let slice = QuotaSlice { channel_id: channel_id.to_string(), key, slice };
            self.0.give_back(slice, count).await.map_err(cache_error)
        })
    }
}

fn cache_error(error: StoreError) -> CacheError {
    let reason = error.to_string();
    match error {
        StoreError::Unanswered(_) => CacheError::Unconfirmed(reason),
        _ => CacheError::NotDone(reason),
    }
}
