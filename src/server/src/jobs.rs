//! The recurring jobs of the service, which delete expired rows.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use svc_housekeeping::JobSpec;
use svc_store::{Store, StoreError};

use crate::config::Config;

/// Rows deleted in one step; others write between two steps.
const CHUNK: i64 = 500;

/// Returns the configured jobs; rows that are kept for ever need none.
pub(crate) fn housekeeping_jobs(config: &Config, store: &Store) -> Vec<JobSpec> {
    let (traces, audit) = (&config.trace_queue, &config.audit);
    let mut jobs = Vec::new();
    if traces.retention_hours > 0 {
        let (store, hours) = (store.clone(), traces.retention_hours);
        jobs.push(job("trace_cleanup", traces.cleanup_interval_secs, move || {
            let traces = store.traces();
            async move { traces.delete_expired(hours, CHUNK).await }
        }));
    }
    if traces.dlq_retention_hours > 0 {
        let (store, hours) = (store.clone(), traces.dlq_retention_hours);
        jobs.push(job("dlq_cleanup", traces.cleanup_interval_secs, move || {
            let letters = store.dead_letters();
            async move { letters.delete_expired(hours, CHUNK).await }
        }));
    }
    if traces.retention_hours > 0 {
        // Also on a node without schedules: other nodes may have filled the table.
        let (store, hours) = (store.clone(), traces.retention_hours);
        jobs.push(job("cron_cleanup", traces.cleanup_interval_secs, move || {
            let ledger = store.ledger();
            async move { ledger.delete_expired(hours, CHUNK).await }
        }));
    }
    if audit.retention_days > 0 {
        let (store, days) = (store.clone(), audit.retention_days);
        jobs.push(job("audit_cleanup", audit.cleanup_interval_secs, move || {
            let audit = store.audit();
            async move { audit.delete_expired(days, CHUNK).await }
        }));
    }
    jobs
}

fn job<F>(name: &'static str, every_secs: u64, remove: impl Fn() -> F + Send + Sync + 'static) -> JobSpec
where
    F: Future<Output = Result<u64, StoreError>> + Send + 'static,
{
    let work = move || {
        let removed = remove();
        Box::pin(async move { removed.await.map(drop).map_err(Into::into) }) as _
    };
    JobSpec { name, every: Duration::from_secs(every_secs), work: Arc::new(work) }
}
