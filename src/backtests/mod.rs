//! Backtests of stored workflows over stored recordings: one at a time on a node.
//!
//! The version is compiled by the engine of the offline commands, with stand-ins for all that reaches outside: no
//! connection is opened and no cache is touched. It runs on a thread of its own, which rests after each piece of work.
//! The state of a backtest is in memory, and lost with the process.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use svc_model::id::new_ordered_id;
use svc_model::{Page, ServiceError, Timestamp};
use svc_project::OfflineWorkflow;
use svc_project::backtest::{BacktestOptions, BacktestReport, RecordedLine, backtest_run};
use svc_store::{RecordingFilter, Recordings, StoreError};
use tokio::time::Instant;

/// Ended backtests that are remembered.
const KEPT: usize = 20;
/// Rows of one read.
const PAGE: i64 = 200;
/// The work after which the thread rests for half as long.
const WORK: Duration = Duration::from_millis(20);

/// The state of a backtest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BacktestState {
    Running,
    Aborted,
    Completed,
    Failed,
}

impl BacktestState {
    /// Returns the name in bodies.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Aborted => "aborted",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// A backtest that is to be made.
pub(crate) struct BacktestOrder {
    pub(crate) workflow_id: String,
    pub(crate) version: i64,
    pub(crate) workflow: OfflineWorkflow,
    pub(crate) filter: RecordingFilter,
    /// Maximum number of recorded runs.
    pub(crate) limit: u64,
    pub(crate) options: BacktestOptions,
    pub(crate) started_by: String,
}

/// The progress of a backtest.
#[derive(Clone, Debug)]
pub(crate) struct BacktestProgress {
    pub(crate) state: BacktestState,
    /// Recorded runs so far.
    pub(crate) done: u64,
    /// The report, once it has ended.
    pub(crate) report: Option<Value>,
    /// The reason for which it failed.
    pub(crate) reason: Option<String>,
    pub(crate) ended_at: Option<Timestamp>,
}

/// A backtest of this node.
pub(crate) struct NodeBacktest {
    pub(crate) id: String,
    pub(crate) workflow_id: String,
    pub(crate) version: i64,
    pub(crate) limit: u64,
    pub(crate) started_by: String,
    pub(crate) started_at: Timestamp,
    is_aborted: AtomicBool,
    progress: Mutex<BacktestProgress>,
}

impl NodeBacktest {
    /// Returns its progress.
    pub(crate) fn progress(&self) -> BacktestProgress {
        self.progress.lock().clone()
    }

    /// Ends it before its next run. An ended one stays as it is.
    pub(crate) fn abort(&self) {
        self.is_aborted.store(true, Ordering::Relaxed);
    }

    fn is_running(&self) -> bool {
        self.progress.lock().state == BacktestState::Running
    }

    fn end(&self, outcome: Result<BacktestReport, String>) {
        let progress = &mut *self.progress.lock();
        progress.ended_at = Some(Timestamp::now());
        match outcome {
            Ok(report) => {
                let is_aborted = self.is_aborted.load(Ordering::Relaxed);
                progress.state = if is_aborted { BacktestState::Aborted } else { BacktestState::Completed };
                progress.report = Some(report.document());
            }
            Err(reason) => {
                progress.state = BacktestState::Failed;
                progress.reason = Some(reason);
            }
        }
    }
}

/// The backtests of this node. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct NodeBacktests(Arc<Mutex<VecDeque<Arc<NodeBacktest>>>>);

impl NodeBacktests {
    /// Returns the backtest with this id.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<NodeBacktest>> {
        self.0.lock().iter().find(|backtest| backtest.id == id).cloned()
    }

    /// Starts a backtest.
    ///
    /// # Errors
    /// 409 while another one runs, which it names; 500 without a thread.
    pub(crate) fn start(
        &self,
        order: BacktestOrder,
        recordings: Recordings,
    ) -> Result<Arc<NodeBacktest>, ServiceError> {
        let backtest = Arc::new(NodeBacktest {
            id: new_ordered_id().to_string(),
            workflow_id: order.workflow_id.clone(),
            version: order.version,
            limit: order.limit,
            started_by: order.started_by.clone(),
            started_at: Timestamp::now(),
            is_aborted: AtomicBool::new(false),
            progress: Mutex::new(BacktestProgress {
                state: BacktestState::Running,
                done: 0,
                report: None,
                reason: None,
                ended_at: None,
            }),
        });
        let kept = &mut *self.0.lock();
        if let Some(running) = kept.iter().find(|backtest| backtest.is_running()) {
            let message =
                format!("backtest '{}' runs on this node; wait for its end, or abort it", running.id);
            return Err(ServiceError::conflict(message));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(ServiceError::internal_error)?;
        let driven = Arc::clone(&backtest);
        let work = move || runtime.block_on(drive(&driven, order, &recordings));
        thread::Builder::new()
            .name("svc-backtest".to_owned())
            .spawn(work)
            .map_err(ServiceError::internal_error)?;
        kept.push_front(Arc::clone(&backtest));
        kept.truncate(KEPT);
        Ok(backtest)
    }
}

/// Makes a backtest and keeps its end.
async fn drive(backtest: &NodeBacktest, order: BacktestOrder, recordings: &Recordings) {
    let outcome = compare_all(backtest, order, recordings).await;
    backtest.end(outcome.map_err(|error| error.to_string()));
}

/// Runs the version over the recorded runs, the newest first.
async fn compare_all(
    backtest: &NodeBacktest,
    order: BacktestOrder,
    recordings: &Recordings,
) -> Result<BacktestReport, StoreError> {
    let BacktestOrder { workflow, filter, limit, options, .. } = order;
    // What is recorded meanwhile would move the pages.
    let filter = RecordingFilter { until: filter.until.or_else(|| Some(Timestamp::now())), ..filter };
    let mut report = BacktestReport::default();
    let (mut offset, mut done) = (0, 0);
    let mut working_since = Instant::now();
    loop {
        let (rows, _) = recordings.list(filter.clone(), Page { limit: PAGE, offset }).await?;
        if rows.is_empty() {
            return Ok(report);
        }
        for row in rows {
            if done >= limit || backtest.is_aborted.load(Ordering::Relaxed) {
                return Ok(report);
            }
            offset += 1;
            let Some(stored) = recordings.get(&row.id).await? else { continue };
            let line = RecordedLine::from_stored(row.id, row.run_key, row.workflow_id, &stored.recording);
            let Ok(line) = line else { continue };
            let comparison = backtest_run(&workflow, &line, &options).await;
            report.add(&line, comparison);
            done += 1;
            backtest.progress.lock().done = done;
            let worked = working_since.elapsed();
            if worked >= WORK {
                tokio::time::sleep(worked / 2).await;
                working_since = Instant::now();
            }
        }
    }
}
