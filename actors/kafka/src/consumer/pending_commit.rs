//! The commit of a client that is on its way.

use std::sync::Arc;

use rdkafka::error::KafkaResult;
use tokio::task::JoinHandle;

use crate::partition::handle::PartitionHandle;

/// A commit on its way.
pub(super) struct PendingCommit {
    pub(super) offsets: Vec<(Arc<PartitionHandle>, i64)>,
    pub(super) answer: JoinHandle<KafkaResult<()>>,
}

/// Waits for the answer to a commit; for ever if none is on its way.
pub(super) async fn commit_answer(pending: &mut Option<PendingCommit>) -> Result<(), String> {
    match pending {
        Some(pending) => match (&mut pending.answer).await {
            Ok(answer) => answer.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        },
        None => std::future::pending().await,
    }
}
