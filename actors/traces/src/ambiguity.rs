//! Lookup of rows whose write was not answered, so that it may or may not have happened.

use slog::{Logger, warn};
use svc_store::TraceStatus;
use tokio::time::sleep;
use uuid::Uuid;

use crate::backoff::DATABASE_BACKOFF;

/// Returns whether a run ended as failed: its end was written by a commit that got no answer. Retries with a growing pause
/// until the database answers.
pub(crate) async fn wait_until_known_as_failed(
    store: &svc_store::TraceRepository,
    id: Uuid,
    log: &Logger,
) -> bool {
    let mut backoff = DATABASE_BACKOFF.delays();
    loop {
        match store.get(&id.to_string()).await {
            Ok(trace) => return trace.is_some_and(|trace| trace.row.status == TraceStatus::Failed.name()),
            Err(error) => warn!(log, "cannot look for a row"; "trace_id" => %id, "error" => %error),
        }
        sleep(backoff.next_delay()).await;
    }
}

/// Returns whether the row is stored. Retries with a growing pause until the database answers.
pub(crate) async fn wait_until_known(store: &svc_store::TraceRepository, id: Uuid, log: &Logger) -> bool {
    let mut backoff = DATABASE_BACKOFF.delays();
    loop {
        match store.is_stored(id).await {
            Ok(is_stored) => return is_stored,
            Err(error) => warn!(log, "cannot look for a row"; "trace_id" => %id, "error" => %error),
        }
        sleep(backoff.next_delay()).await;
    }
}
