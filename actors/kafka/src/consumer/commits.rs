//! The commits of a client: one on its way at a time, together for all partitions.
//!
//! The client answers only those who wait for it, so that each commit waits on a thread of the blocking pool.

use std::sync::Arc;
use std::time::Duration;

use rdkafka::consumer::{CommitMode, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use slog::warn;
use svc_model::ErrorReason;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout_at};

use super::AGAIN;
use super::convert::list_of;
use super::pending_commit::PendingCommit;
use super::session::Session;
use crate::partition::handle::{ConsumerOrder, PartitionHandle};

/// Longest wait for the commit of a partition that is given up.
const LAST_COMMIT: Duration = Duration::from_secs(5);
/// Delay before that commit is sent again.
const LAST_COMMIT_AGAIN: Duration = Duration::from_millis(250);

impl Session {
    /// Sends what is due, unless a commit is on its way: what is done meanwhile goes with the next one.
    pub(super) fn commit(&mut self) {
        if self.pending_commit.is_some() {
            return;
        }
        let due = std::mem::take(&mut self.due).into_iter();
        let offsets: Vec<_> = due
            .filter_map(|handle| {
                let offset = handle.take_commit()?;
                Some((handle, offset))
            })
            .collect();
        if offsets.is_empty() {
            return;
        }
        let list = list_of(offsets.iter().map(|(handle, offset)| (&**handle, Some(*offset))));
        let consumer = Arc::clone(&self.consumer);
        let answer = spawn_blocking(move || consumer.commit(&list, CommitMode::Sync));
        self.pending_commit = Some(PendingCommit { offsets, answer });
    }

    /// Notes the answer to the commit on its way. One that failed is sent again.
    pub(super) fn record_commit(&mut self, answer: Result<(), String>) {
        let offsets = self.pending_commit.take().map(|pending| pending.offsets).unwrap_or_default();
        for (handle, offset) in offsets {
            handle.record_commit(offset, answer.is_ok());
            if answer.is_err() {
                self.delayed.push((Instant::now() + AGAIN, ConsumerOrder::Commit(handle)));
            }
        }
        if let Err(error) = answer {
            self.count_failed_commit(&error);
        }
    }

    /// Commits what is done and not confirmed, and waits for the brokers. Errors that pass are outlasted: what
    /// stays uncommitted runs again at the next owner.
    pub(super) async fn commit_last(&self, handles: &[Arc<PartitionHandle>]) {
        let unconfirmed = handles.iter().filter_map(|handle| {
            let offset = handle.read(|state, _| state.unconfirmed_offset())?;
            Some((&**handle, Some(offset)))
        });
        let list = list_of(unconfirmed);
        if list.count() == 0 {
            return;
        }
        let deadline = Instant::now() + LAST_COMMIT;
        let failed = loop {
            let (consumer, list) = (Arc::clone(&self.consumer), list.clone());
            let committing = spawn_blocking(move || consumer.commit(&list, CommitMode::Sync));
            match timeout_at(deadline, committing).await {
                Ok(Ok(Ok(()))) => return,
                Ok(Ok(Err(error))) if !is_fenced(&error) && Instant::now() + LAST_COMMIT_AGAIN < deadline => {
                    sleep(LAST_COMMIT_AGAIN).await;
                }
                Ok(Ok(Err(error))) => break error.to_string(),
                Ok(Err(error)) => break error.to_string(),
                Err(_) => break "no answer in time".to_owned(),
            }
        };
        self.count_failed_commit(&failed);
    }

    fn count_failed_commit(&self, error: &str) {
        self.shared.metrics.failed_commits.inc();
        (self.shared.settings.errors)(ErrorReason::KafkaCommit);
        warn!(self.shared.log, "a commit failed"; "group" => &*self.group.name, "error" => error);
    }
}

/// Returns `true` if the group takes no commit of this member any more.
fn is_fenced(error: &KafkaError) -> bool {
    use RDKafkaErrorCode as Code;
    let code = error.rdkafka_error_code();
    matches!(code, Some(Code::UnknownMemberId | Code::IllegalGeneration | Code::FencedInstanceId))
}
