//! The commit of a client that is on its way.

use std::time::Duration;

use rdkafka::error::KafkaResult;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::commit_queue::DueOffset;

/// A commit on its way.
pub(super) struct PendingCommit {
    pub(super) offsets: Vec<DueOffset>,
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

/// Waits at most `limit` for the answer to a commit. `None` if none is on its way, or if it goes on.
pub(super) async fn await_commit(
    pending: &mut Option<PendingCommit>,
    limit: Duration,
) -> Option<Result<(), String>> {
    pending.as_ref()?;
    timeout(limit, commit_answer(pending)).await.ok()
}

#[cfg(test)]
mod tests {
    use std::future;

    use rdkafka::error::{KafkaError, RDKafkaErrorCode};
    use tokio::runtime::Handle;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(1);

    fn pending(answer: impl Future<Output = KafkaResult<()>> + Send + 'static) -> Option<PendingCommit> {
        Some(PendingCommit { offsets: Vec::new(), answer: Handle::current().spawn(answer) })
    }

    #[tokio::test(start_paused = true)]
    async fn commit_on_its_way_is_awaited() {
        let mut late = pending(async {
            tokio::time::sleep(LIMIT / 2).await;
            Ok(())
        });
        assert_eq!(await_commit(&mut late, LIMIT).await, Some(Ok(())));
        let refusal = KafkaError::ConsumerCommit(RDKafkaErrorCode::IllegalGeneration);
        let mut refused = pending(future::ready(Err(refusal)));
        assert!(matches!(await_commit(&mut refused, LIMIT).await, Some(Err(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn commit_without_answer_is_left_on_its_way() {
        let mut unanswered = pending(future::pending());
        assert_eq!(await_commit(&mut unanswered, LIMIT).await, None);
        assert!(unanswered.is_some());
        assert_eq!(await_commit(&mut None, LIMIT).await, None);
    }
}
