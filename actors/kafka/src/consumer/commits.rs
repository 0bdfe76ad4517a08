//! The commits of a client: one on its way at a time, together for all partitions.
//!
//! The client answers only those who wait for it, so that each commit waits on a thread of the blocking pool.

use std::sync::Arc;
use std::time::Duration;

use rdkafka::consumer::{CommitMode, Consumer};
use slog::warn;
use svc_model::ErrorReason;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout_at};

use super::convert::list_of;
use super::last_commit::LastCommit;
use super::pending_commit::{PendingCommit, await_commit};
use super::session::{Session, is_assigned};
use crate::partition::handle::PartitionHandle;

/// Longest wait for the commit of a partition that is given up.
const LAST_COMMIT: Duration = Duration::from_secs(5);
/// Longest wait for a commit that is on its way when partitions are given up.
const COMMIT_ON_ITS_WAY: Duration = Duration::from_secs(1);
/// Delay before the last commit is sent again.
const LAST_COMMIT_AGAIN: Duration = Duration::from_millis(250);

impl Session {
    /// Sends what is due, unless a commit is on its way or was refused just now: what is done meanwhile goes with the
    /// next one.
    pub(super) fn commit(&mut self) {
        if self.pending_commit.is_some() {
            return;
        }
        let assigned = &self.assigned;
        let offsets = self.commits.take_due(|handle| is_assigned(assigned, handle));
        if offsets.is_empty() {
            return;
        }
        let list = list_of(offsets.iter().map(|(handle, offset)| (&**handle, Some(*offset))));
        let consumer = Arc::clone(&self.consumer);
        let answer = spawn_blocking(move || consumer.commit(&list, CommitMode::Sync));
        self.pending_commit = Some(PendingCommit { offsets, answer });
    }

    /// Notes the answer to the commit on its way. One that was refused is sent again after a delay, or once the group
    /// assigns partitions. Only the first of several refusals is a warning: a group that rebalances refuses all.
    pub(super) fn record_commit(&mut self, answer: Result<(), String>) {
        let offsets = self.pending_commit.take().map(|pending| pending.offsets).unwrap_or_default();
        let Err(error) = answer else {
            self.commits.record_stored(offsets);
            return;
        };
        let is_first = self.commits.record_refused(offsets, Instant::now());
        self.count_failed_commit();
        if is_first {
            self.report_failed_commit(&error);
        }
    }

    /// Sends the commits that were held back after a refusal.
    pub(super) fn release_commits(&mut self) {
        self.commits.release();
        self.commit();
    }

    /// Waits for the commit on its way, for a bounded time, and notes its answer: partitions are given up once it is
    /// known what is stored of them, and no commit of theirs arrives afterwards.
    pub(super) async fn settle_commit(&mut self) {
        if let Some(answer) = await_commit(&mut self.pending_commit, COMMIT_ON_ITS_WAY).await {
            self.record_commit(answer);
        }
    }

    /// Commits what is done and not confirmed, and waits for the brokers. Errors that pass are outlasted: what
    /// stays uncommitted runs again at the next owner.
    pub(super) async fn commit_last(&self, handles: &[Arc<PartitionHandle>], commit: LastCommit) {
        if commit == LastCommit::Skipped {
            return;
        }
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
                Ok(Ok(Err(error)))
                    if commit.outlasts(&error) && Instant::now() + LAST_COMMIT_AGAIN < deadline =>
                {
                    sleep(LAST_COMMIT_AGAIN).await;
                }
                Ok(Ok(Err(error))) => break error.to_string(),
                Ok(Err(error)) => break error.to_string(),
                Err(_) => break "no answer in time".to_owned(),
            }
        };
        self.count_failed_commit();
        self.report_failed_commit(&failed);
    }

    fn count_failed_commit(&self) {
        self.shared.metrics.failed_commits.inc();
        (self.shared.settings.errors)(ErrorReason::KafkaCommit);
    }

    fn report_failed_commit(&self, error: &str) {
        warn!(self.shared.log, "a commit failed"; "group" => &*self.group.name, "error" => error);
    }
}
