//! The work of a backtest: its version runs over the recorded runs, the newest first.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use svc_engine::Engine;
use svc_model::{EntityKind, ServiceError};
use svc_project::backtest::{
    BacktestOptions, BacktestReport, IgnoredPath, RecordedLine, RunComparison, backtest_run,
};
use svc_store::{
    BacktestEnd, BacktestPoint, BacktestStep, OperatorRunClaim, RowKey, Store, StoreError, StoredBacktest,
    StoredRunRecording,
};
use tokio::time::Instant;

use super::subject::BacktestSubject;
use super::terms::BacktestTerms;

/// Time for which a backtest is held without a write. Beyond it another node takes it over.
pub(super) const LEASE: Duration = Duration::from_secs(30);
/// Rows of one read.
const PAGE: i64 = 50;
/// The work after which the thread rests for half as long.
const WORK: Duration = Duration::from_millis(20);
/// Time between two writes of the progress.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// Makes a backtest from its position on, until it ends, another node has taken it, or `is_stopped` is set. `engine` is
/// that of the node.
///
/// # Errors
/// [`StoreError`] if the database fails; the backtest goes on from its last write.
pub(super) async fn make_backtest(
    store: &Store,
    engine: &Engine,
    backtest: StoredBacktest,
    holder: &str,
    is_stopped: &AtomicBool,
) -> Result<(), StoreError> {
    let (id, position) = (backtest.id.clone(), backtest.position.clone());
    let claim = OperatorRunClaim { id, holder: holder.to_owned(), position };
    let subject = match load_subject(store, engine, &backtest).await {
        Ok(subject) => subject,
        Err(StoreError::Refused(refused)) => {
            let reason = BacktestEnd::Failed(refused.message().to_owned());
            return store.backtests().end(claim, None, reason).await.map(drop);
        }
        Err(error) => return Err(error),
    };
    let mut work = BacktestWork::new(store, &backtest, subject, claim);
    work.run(is_stopped).await
}

/// Loads what a backtest runs. A draft that has changed since its start would make a report of two versions.
async fn load_subject(
    store: &Store,
    engine: &Engine,
    backtest: &StoredBacktest,
) -> Result<BacktestSubject, StoreError> {
    let is_channel = backtest.kind == EntityKind::Channel.name();
    let kind = if is_channel { EntityKind::Channel } else { EntityKind::Workflow };
    let (definition, version) = (&backtest.definition, Some(backtest.version));
    let subject = BacktestSubject::load(store, engine, kind, definition, version).await?;
    if backtest.position.is_some() && subject.changed_at > backtest.started_at {
        let message = "the version has changed since the start of the backtest; start another one";
        return Err(ServiceError::conflict(message).into());
    }
    Ok(subject)
}

/// A backtest in progress.
struct BacktestWork<'s> {
    store: &'s Store,
    subject: BacktestSubject,
    terms: BacktestTerms,
    options: BacktestOptions,
    report: BacktestReport,
    /// The row as the database has it.
    claim: OperatorRunClaim,
    /// Recorded runs so far, and the place behind the last.
    done: i64,
    limit: i64,
    position: Option<RowKey>,
}

impl<'s> BacktestWork<'s> {
    fn new(
        store: &'s Store,
        backtest: &StoredBacktest,
        subject: BacktestSubject,
        claim: OperatorRunClaim,
    ) -> Self {
        let terms = BacktestTerms::from_words(&backtest.terms);
        // They were checked when the row was written.
        let ignored = terms.ignore.iter().filter_map(|path| IgnoredPath::parse(path).ok());
        let options = BacktestOptions { ignore: ignored.collect(), ..BacktestOptions::default() };
        let report = backtest.report.as_ref();
        Self {
            store,
            subject,
            terms,
            options,
            report: report.map_or_else(BacktestReport::default, BacktestReport::from_document),
            done: backtest.done,
            limit: backtest.limit,
            position: claim.position.as_deref().and_then(RowKey::from_position),
            claim,
        }
    }

    async fn run(&mut self, is_stopped: &AtomicBool) -> Result<(), StoreError> {
        let (mut working_since, mut written_at) = (Instant::now(), Instant::now());
        loop {
            let room = (self.limit - self.done).clamp(0, PAGE);
            let (filter, position) = (self.terms.filter.clone(), self.position.clone());
            let rows = self.store.recordings().read_next(filter, position, room).await?;
            if rows.is_empty() {
                let (claim, point) = (self.claim.clone(), self.point());
                return self
                    .store
                    .backtests()
                    .end(claim, Some(point), BacktestEnd::Completed)
                    .await
                    .map(drop);
            }
            for stored in rows {
                self.compare_run(stored).await?;
                let worked = working_since.elapsed();
                if worked >= WORK {
                    tokio::time::sleep(worked / 2).await;
                    working_since = Instant::now();
                }
                if is_stopped.load(Ordering::Relaxed) {
                    return Ok(());
                }
                if written_at.elapsed() >= WRITE_INTERVAL {
                    if self.write_progress().await? != BacktestStep::Continues {
                        return Ok(());
                    }
                    written_at = Instant::now();
                }
            }
        }
    }

    /// Runs the version over one recorded run.
    async fn compare_run(&mut self, stored: StoredRunRecording) -> Result<(), StoreError> {
        let StoredRunRecording { row, recording } = stored;
        self.subject.meet_channel(self.store, &row.channel).await?;
        let key = RowKey { created_at: row.created_at.naive(), id: row.id.clone() };
        let line = RecordedLine {
            id: row.id,
            run_key: row.run_key,
            workflow_id: row.workflow_id,
            channel: Some(row.channel.clone()),
            source: Some(row.source),
            ..RecordedLine::default()
        };
        match line.clone().with_content(&recording) {
            Ok(line) => {
                let rules = self.subject.rules_for(&row.channel);
                let comparison = backtest_run(&self.subject.workflow, &line, &self.options, rules).await;
                self.report.add(&line, comparison);
            }
            Err(_) => self.report.add(&line, RunComparison::incomparable("the recording cannot be read")),
        }
        self.done += 1;
        self.position = Some(key);
        Ok(())
    }

    async fn write_progress(&mut self) -> Result<BacktestStep, StoreError> {
        let point = self.point();
        let position = point.position.clone();
        let step = self.store.backtests().advance(self.claim.clone(), point, LEASE).await?;
        self.claim.position = position;
        Ok(step)
    }

    fn point(&self) -> BacktestPoint {
        let mut report = self.report.document();
        if let Some(guards) = self.subject.describe_guards() {
            report["guards"] = guards;
        }
        let position = self.position.as_ref().map(RowKey::to_position);
        BacktestPoint { done: self.done, position, report }
    }
}
