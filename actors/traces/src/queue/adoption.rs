//! Takeover of the unfinished work of nodes without a lease.
//!
//! The oldest rows come first, page by page, and no page is larger than the number of free workers: what a node
//! takes over begins at once, and what it has no room for waits in the database for a node that has. Compare-and-set
//! assigns each row to one node, and a node leaves the rows of channels that it does not serve to others. A job that may
//! have crashed more than one node waits a while before it begins, and a node takes over one such job at a time.

use std::sync::Arc;
use std::time::Duration;

use slog::{Logger, error, info, warn};
use svc_cluster::nodes::{NodeHandle, TAKEOVER_PAGE, WHOLE_SCAN_INTERVAL};
use svc_model::ErrorReason;
use svc_store::{AdoptedRun, NewTrace, Ownership, RowKey, StoreError, TraceFailure, UnfinishedRun};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::ambiguity::wait_until_known_as_failed;
use crate::backoff::DATABASE_BACKOFF;
use crate::claim::JobClaim;
use crate::input;
use crate::job::{Job, Runner};
use crate::metrics::TraceMetrics;
use crate::queue::recovery::Recovery;
use crate::queue::{JobQueue, QueueSlot, QueuedJob};
use crate::report::{self, FailureReport};
use crate::settings::Callback;

/// Bounds on the repetitions of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetryLimits {
    /// Retries of a dead letter. After this number the letter is exhausted.
    pub(crate) max_retries: u32,
    /// Restarts of a run whose node died.
    pub(crate) max_recoveries: u32,
}

/// The task that takes over runs. It outlives each instance of the actor, because a run that it has taken
/// over belongs to no other node.
pub(crate) struct Adoption {
    waiting: Arc<JobQueue>,
    store: svc_store::TraceRepository,
    nodes: NodeHandle,
    bounds: RetryLimits,
    /// Semaphore that lets this node have one suspect at a time.
    turn: Arc<Semaphore>,
    /// Locked while room in the queue is awaited, which one caller at a time may do.
    reserving: tokio::sync::Mutex<()>,
    task: parking_lot::Mutex<Option<JoinHandle<()>>>,
    runner: Arc<dyn Runner>,
    metrics: TraceMetrics,
    /// Notified of every dead letter that is written.
    letters_changed: Arc<Notify>,
    errors: Callback<ErrorReason>,
    log: Logger,
}

impl Adoption {
    pub(crate) fn new(
        waiting: Arc<JobQueue>,
        (store, nodes): (svc_store::TraceRepository, NodeHandle),
        bounds: RetryLimits,
        runner: Arc<dyn Runner>,
        (letters_changed, errors): (Arc<Notify>, Callback<ErrorReason>),
        metrics: TraceMetrics,
        log: Logger,
    ) -> Self {
        Self {
            waiting,
            store,
            nodes,
            bounds,
            turn: Arc::new(Semaphore::new(1)),
            reserving: tokio::sync::Mutex::new(()),
            task: parking_lot::Mutex::default(),
            runner,
            metrics,
            letters_changed,
            errors,
            log,
        }
    }

    /// Starts the task that takes over runs, if it is not running.
    pub(crate) fn ensure_running(self: &Arc<Self>) {
        let mut task = self.task.lock();
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            let adoption = Arc::clone(self);
            #[expect(
                clippy::disallowed_methods,
                reason = "outlives the actor: what was taken over must be put in line"
            )]
            let adoption_task = tokio::spawn(async move { adoption.run().await });
            *task = Some(adoption_task);
        }
    }

    /// Scans for runs to take over until it is cancelled.
    async fn run(&self) {
        let mut backoff = DATABASE_BACKOFF.delays();
        let mut whole_look = Instant::now();
        loop {
            self.nodes.wait_until_settled().await;
            let now = Instant::now();
            let pause = match self.adopt_all(now >= whole_look).await {
                Ok(was_whole) => {
                    backoff.reset();
                    if was_whole {
                        whole_look = now + WHOLE_SCAN_INTERVAL;
                    }
                    self.nodes.look_interval()
                }
                Err(error) => {
                    warn!(self.log, "cannot take over what other nodes left"; "error" => %error);
                    backoff.next_delay()
                }
            };
            sleep(pause).await;
        }
    }

    /// Takes over the available runs, if there may be any. Returns whether it scanned all rows.
    async fn adopt_all(&self, is_due: bool) -> Result<bool, StoreError> {
        if !self.waiting.slots.is_open() || !is_due && !self.nodes.leases().has_orphans().await? {
            return Ok(false);
        }
        let (mut after, mut taken) = (None, 0);
        while self.waiting.slots.is_open() {
            let (count, last) = self.adopt_page(after).await?;
            taken += count;
            match last {
                Some(key) => after = Some(key),
                None => break,
            }
        }
        if taken > 0 {
            info!(self.log, "took over what other nodes left"; "jobs" => taken);
        }
        self.nodes.leases().mark_emptied().await?;
        Ok(true)
    }

    /// Takes over the next page. Returns the number of runs, and the key to continue from; `None` after the
    /// last page.
    async fn adopt_page(&self, after: Option<RowKey>) -> Result<(usize, Option<RowKey>), StoreError> {
        let room = self.waiting.wait_for_free_workers().await.min(TAKEOVER_PAGE);
        if !self.waiting.slots.is_open() {
            return Ok((0, after));
        }
        let node = self.nodes.wait_until_settled().await;
        let limit = i64::try_from(room).unwrap_or(i64::MAX);
        let (page, last) = self.store.unfinished_async(&node, after, limit).await?;
        let mut page = self.retain_served(page).await;
        let mut suspects_allowed = self.turn.available_permits();
        page.retain(|row| row.recoveries == 0 || take_one(&mut suspects_allowed));
        if page.is_empty() {
            return Ok((0, last));
        }
        let adopted = self.adopt(&node, &page).await?;
        let mut count = 0;
        for row in page {
            let Some(taken) = adopted.iter().find(|taken| taken.id == row.id) else { continue };
            self.metrics.adopted.inc();
            count += 1;
            let ownership = Ownership { owner: Arc::clone(&node), recoveries: taken.recoveries };
            let has_waited = row.is_shared;
            self.resume(row, *taken, ownership, has_waited).await;
        }
        Ok((count, last))
    }

    /// Leaves the runs of channels that other nodes serve to those nodes.
    async fn retain_served(&self, page: Vec<UnfinishedRun>) -> Vec<UnfinishedRun> {
        let mut served = Vec::with_capacity(page.len());
        for row in page {
            let (id, channel) = (row.channel_id.as_deref(), row.channel.as_str());
            if self.runner.serves(id, channel)
                || self.runner.begins_unserved(id.map(Arc::from), channel.into()).await
            {
                served.push(row);
            }
        }
        served
    }

    /// Claims the runs of a page for this node. Retries until the database says which of them belong to the
    /// node: a claim whose answer was lost may have succeeded.
    async fn adopt(&self, node: &Arc<str>, page: &[UnfinishedRun]) -> Result<Vec<AdoptedRun>, StoreError> {
        let owners: Vec<_> = page.iter().map(|row| (row.id, row.owner.clone())).collect();
        let mut backoff = DATABASE_BACKOFF.delays();
        loop {
            match self.store.adopt(node, owners.clone()).await {
                // While this node holds its lease, no other node takes the rows over, so it must not give up.
                Err(error) if self.nodes.holds(node) => {
                    warn!(self.log, "cannot take over runs of other nodes"; "error" => %error);
                    sleep(backoff.next_delay()).await;
                }
                outcome => return outcome,
            }
        }
    }

    /// Queues a run that waited in the database and now belongs to this node. It had not begun, or was given back before
    /// it began.
    pub(crate) async fn resume_waiting(&self, row: UnfinishedRun, ownership: Ownership) {
        let taken = AdoptedRun { id: row.id, recoveries: row.recoveries, is_handed_back: true };
        self.resume(row, taken, ownership, true).await;
    }

    /// Queues a run that now belongs to this node, or ends it. A run that `has_waited` waits in the database again if its
    /// channel has no permit.
    async fn resume(&self, row: UnfinishedRun, taken: AdoptedRun, ownership: Ownership, has_waited: bool) {
        let AdoptedRun { recoveries, is_handed_back, .. } = taken;
        let is_shared = row.is_shared;
        let recovery = Recovery::decide(recoveries, is_handed_back, self.bounds.max_recoveries);
        let channel_id: Option<Arc<str>> = row.channel_id.map(Into::into);
        let channel: Arc<str> = row.channel.into();
        let text = row.input_json.unwrap_or_default();
        let input = match input::read(&text) {
            Ok(input) => input,
            Err(error) => {
                warn!(self.log, "cannot read an accepted job"; "trace_id" => %row.id, "error" => %error);
                let message = "The stored input cannot be read".to_owned();
                if self.give_up(row.id, ownership, message, None).await {
                    self.runner.note_failure(channel_id, channel, row.id).await;
                }
                return;
            }
        };
        let job = Job {
            trace_id: row.id,
            channel_id,
            channel,
            payload: input.data,
            metadata: input.metadata,
            bucket: input.bucket,
            hold: None,
            attempt: None,
            trace_headers: input.trace_headers,
        };
        if recovery == Recovery::Exhausted {
            error!(self.log, "a run has ended its node too often"; "trace_id" => %row.id);
            let error = exhausted_message(recoveries);
            let target = FailureReport::find_target(&job, &*self.runner).await;
            let report =
                target.map(|target| FailureReport::for_job(&job, row.attempt_of, target).into_job(&error));
            if self.end_exhausted(job.trace_id, ownership, error, report).await {
                self.runner.note_failure(job.channel_id, job.channel, job.trace_id).await;
            }
            return;
        }
        let slot = self.reserve(text.len().max(input::held_bytes(&job))).await;
        let is_recovery = recovery != Recovery::Resume;
        let claim = JobClaim { is_recovery, has_waited, is_shared, ..JobClaim::for_adopted(ownership) };
        let mut queued =
            QueuedJob { attempt_of: row.attempt_of, ..QueuedJob::new(job, slot, input.retry, claim) };
        if let Recovery::Suspect(pause) = recovery {
            queued.claim.turn = Arc::clone(&self.turn).try_acquire_owned().ok();
            self.waiting.push_later(Instant::now() + pause, queued);
        } else {
            self.waiting.push_first(queued);
        }
    }

    /// Waits for room in the queue.
    async fn reserve(&self, bytes: usize) -> QueueSlot {
        let _turn = self.reserving.lock().await;
        self.waiting.slots.reserve_for_earlier(bytes).await
    }

    /// Ends a run that was restarted too often, and reports it if its channel names a channel for failures. Returns whether
    /// it was ended.
    async fn end_exhausted(
        &self,
        id: Uuid,
        ownership: Ownership,
        error: String,
        report: Option<Job>,
    ) -> bool {
        let owner = Some(Arc::clone(&ownership.owner));
        let row = report.as_ref().and_then(|report| report::row(report, owner).ok());
        let (claim, bytes) =
            (JobClaim::for_accepted(Arc::clone(&ownership.owner)), row.as_ref().map(NewTrace::bytes));
        if !self.give_up(id, ownership, error, row).await {
            return false;
        }
        if let (Some(report), Some(bytes)) = (report, bytes) {
            let slot = self.reserve(bytes.max(input::held_bytes(&report))).await;
            self.waiting.push_first(QueuedJob::new(report, slot, 0, claim));
        }
        true
    }

    /// Ends a run that cannot run (again) and needs an operator: its dead letter is exhausted. Returns whether it was
    /// ended.
    async fn give_up(
        &self,
        id: Uuid,
        ownership: Ownership,
        error_message: String,
        report: Option<NewTrace>,
    ) -> bool {
        let failure = TraceFailure {
            id,
            result_json: None,
            error_message,
            error_code: None,
            error_group: None,
            duration_ms: None,
            task_trace_json: None,
            workflow: None,
            retry_count: i64::from(self.bounds.max_retries),
            max_retries: i64::from(self.bounds.max_retries),
            delay: Duration::ZERO,
            retries: false,
            ownership: Some(ownership),
            report: report.map(Box::new),
        };
        let (mut backoff, mut is_unanswered) = (DATABASE_BACKOFF.delays(), false);
        loop {
            let error = match self.store.fail_to_dead_letters(failure.clone()).await {
                Ok(is_news) => {
                    // The commit that got no answer may have written the end.
                    let is_news = is_news
                        || is_unanswered && wait_until_known_as_failed(&self.store, id, &self.log).await;
                    if is_news {
                        self.letters_changed.notify_one();
                        self.errors.tell(ErrorReason::DlqExhausted);
                    }
                    return is_news;
                }
                Err(error) => error,
            };
            warn!(self.log, "cannot write the end of a job"; "trace_id" => %id, "error" => %error);
            if !error.is_outage() {
                return false;
            }
            is_unanswered |= matches!(error, StoreError::Unanswered(_));
            sleep(backoff.next_delay()).await;
        }
    }
}

/// Takes one of what is left; returns `false` if nothing is.
fn take_one(left: &mut usize) -> bool {
    let has_one = *left > 0;
    *left = left.saturating_sub(1);
    has_one
}

fn exhausted_message(recoveries: i64) -> String {
    format!("attempts_exhausted: the process ended each time it was run, {recoveries} times after the first")
}
