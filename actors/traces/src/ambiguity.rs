//! Rows of which nobody knows whether they were written, because the answer was lost.

use slog::{Logger, warn};
use tokio::time::sleep;
use uuid::Uuid;

use crate::backoff::DATABASE_BACKOFF;

/// Looks up a row, again and again until the database answers; returns true if it is stored.
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
