//! Execution of reads and writes: the pool for reads, the writer for writes, and their latency.

use std::sync::Arc;
use std::time::Duration;

use actix_supervision::{Address, CallError, CallErrorKind};
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use crate::config::Backend;
use crate::conn::Conn;
use crate::connections::listener::ConfigListener;
use crate::connections::pool::{ConnectionPool, TransactionFn};
use crate::error::StoreError;
use crate::group::{
    CallGroup, CallQueue, GroupAnswer, GroupTask, LedgerCall, MOST_GROUPS, REJOIN_DELAY, WaitingCall,
};
use crate::metrics::{Queries, QueryOperation, StoreMetrics};
use crate::repo::{FailureTally, KnownGroups, TraceWrite};
use crate::writer::{RunUnit, StoreWriter, UnitOutcome, UnitWork, WriterQueue, abandoned_batch_error};

/// The executor on which every repository runs its statements. Cheap to clone; survives restarts of the writer.
#[derive(Clone)]
pub(crate) struct Database {
    inner: Arc<DatabaseInner>,
}

struct DatabaseInner {
    backend: Backend,
    pool: ConnectionPool,
    writer: Address<StoreWriter>,
    queue: Arc<WriterQueue>,
    /// Time that a caller waits for a writer that is restarting.
    patience: Duration,
    queries: Queries,
    known_groups: KnownGroups,
    failure_tally: FailureTally,
}

impl Database {
    pub(crate) fn new(
        backend: Backend,
        pool: ConnectionPool,
        (writer, queue): (Address<StoreWriter>, Arc<WriterQueue>),
        patience: Duration,
    ) -> Self {
        let queries = Queries::new();
        let known_groups = KnownGroups::default();
        let failure_tally = FailureTally::default();
        let inner =
            DatabaseInner { backend, pool, writer, queue, patience, queries, known_groups, failure_tally };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the kind of database.
    pub(crate) fn backend(&self) -> Backend {
        self.inner.backend
    }

    /// Returns the error groups that are known to be stored.
    pub(crate) fn known_groups(&self) -> &KnownGroups {
        &self.inner.known_groups
    }

    /// Returns the failures that were stored and are not in the counts of the database yet.
    pub(crate) fn failure_tally(&self) -> &FailureTally {
        &self.inner.failure_tally
    }

    /// Returns the metrics of reads, writes and the pool.
    pub(crate) fn metrics(&self) -> StoreMetrics {
        StoreMetrics { queries: self.inner.queries.clone(), pool: self.inner.pool.clone() }
    }

    /// Listens for announcements of changes; `None` if this database makes none.
    pub(crate) async fn listen(&self) -> Result<Option<ConfigListener>, StoreError> {
        self.inner.pool.listen().await
    }

    /// Runs `work` with a connection from the pool, on the io runtime.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        operation: QueryOperation,
        work: impl for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.measure(operation, self.inner.pool.read(work)).await
    }

    /// Runs `work` in the next transaction of the writer; a failure rolls back nothing else. Returns after the commit.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        operation: QueryOperation,
        work: impl for<'c> FnOnce(&'c mut Conn) -> BoxFuture<'c, Result<UnitOutcome<T>, StoreError>>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        self.measure(operation, self.commit(RunUnit { work: Box::new(work) })).await
    }

    /// Deletes rows in steps, each a write of its own, between which others can write, until one deletes fewer than
    /// `chunk`. Returns their number. `step` deletes at most `chunk` rows.
    pub(crate) async fn delete_in_steps(
        &self,
        operation: QueryOperation,
        chunk: i64,
        step: impl for<'c> Fn(&'c mut Conn) -> BoxFuture<'c, Result<u64, StoreError>> + Copy + Send + 'static,
    ) -> Result<u64, StoreError> {
        let mut deleted = 0;
        loop {
            let write = self.write(operation, move |conn| {
                Box::pin(async move { step(conn).await.map(UnitOutcome::Keep) })
            });
            let count = write.await?;
            deleted += count;
            if count < chunk.unsigned_abs() {
                return Ok(deleted);
            }
        }
    }

    /// Runs `step` in a transaction that may wait for locked rows without delaying other writes: on a server a
    /// transaction of its own; on a file, which locks no rows, the next one of the writer. Returns after the
    /// commit.
    pub(crate) async fn transact<I, T>(
        &self,
        operation: QueryOperation,
        input: I,
        step: TransactionFn<I, T>,
    ) -> Result<T, StoreError>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.measure(operation, self.run_transaction(input, step)).await
    }

    /// Makes a call of the ledger in a transaction of its own. Returns after the commit.
    pub(crate) async fn call<C: LedgerCall>(
        &self,
        operation: QueryOperation,
        call: C,
    ) -> Result<C::Answer, StoreError> {
        self.measure(operation, self.call_alone(Arc::new(call))).await
    }

    /// Makes a call of the ledger in the next group of its queue or, if it joins none or a group cannot answer it, in a
    /// transaction of its own. Returns after the commit.
    pub(crate) async fn call_grouped<C: LedgerCall>(
        &self,
        operation: QueryOperation,
        queue: &Arc<CallQueue<C>>,
        call: C,
    ) -> Result<C::Answer, StoreError> {
        if !call.joins_group() {
            return self.call(operation, call).await;
        }
        let call = Arc::new(call);
        let answer = async {
            let (caller, answer) = oneshot::channel();
            self.enqueue(queue, WaitingCall { call: Arc::clone(&call), caller, left_out: 0 });
            match answer.await {
                Ok(Ok(Some(answer))) => Ok(answer),
                Ok(Ok(None)) => self.call_alone(call).await,
                Ok(Err(error)) => Err(error),
                Err(_) => Err(StoreError::Unanswered("the group of the call ended early".into())),
            }
        };
        self.measure(operation, answer).await
    }

    fn enqueue<C: LedgerCall>(&self, queue: &Arc<CallQueue<C>>, call: WaitingCall<C>) {
        if let Some(task) = queue.push(call) {
            self.inner.pool.io().spawn(self.clone().run_groups(task));
        }
    }

    /// Runs groups until no call waits.
    async fn run_groups<C: LedgerCall>(self, mut task: GroupTask<C>) {
        while let Some(calls) = task.next() {
            let group = calls.iter().map(|waiting| Arc::clone(&waiting.call)).collect();
            match self.run_group(CallGroup { calls: group, is_alone: false }).await {
                Ok(answers) => self.answer(&task.queue, calls, answers),
                Err(error) if error.is_outage() && !error.is_contention() => {
                    calls.into_iter().for_each(|call| call.answer(Err(error.clone())));
                    task.fail_waiting(&error);
                }
                // The database refused something: each call is made alone, so that a bad one fails alone.
                Err(_) => calls.into_iter().for_each(|call| call.answer(Ok(None))),
            }
        }
    }

    /// Answers the callers of a committed group. Calls that it left out join a later one, if others may have locked
    /// their rows.
    fn answer<C: LedgerCall>(
        &self,
        queue: &Arc<CallQueue<C>>,
        calls: Vec<WaitingCall<C>>,
        answers: Vec<GroupAnswer<C::Answer>>,
    ) {
        let mut again = Vec::new();
        for (mut call, answer) in calls.into_iter().zip(answers) {
            call.left_out += 1;
            let is_locked = self.inner.backend == Backend::Postgres && call.left_out < MOST_GROUPS;
            match answer {
                GroupAnswer::Done(answer) => call.answer(Ok(Some(answer))),
                GroupAnswer::LeftOut if is_locked => again.push(call),
                GroupAnswer::LeftOut | GroupAnswer::Alone => call.answer(Ok(None)),
            }
        }
        if !again.is_empty() {
            let (database, queue) = (self.clone(), Arc::clone(queue));
            self.inner.pool.io().spawn(async move {
                sleep(REJOIN_DELAY).await;
                again.into_iter().for_each(|call| database.enqueue(&queue, call));
            });
        }
    }

    async fn call_alone<C: LedgerCall>(&self, call: Arc<C>) -> Result<C::Answer, StoreError> {
        let answers = self.run_group(CallGroup { calls: vec![call], is_alone: true }).await?;
        match answers.into_iter().next() {
            Some(GroupAnswer::Done(answer)) => Ok(answer),
            _ => Err(StoreError::Database("a call was not made".into())),
        }
    }

    async fn run_group<C: LedgerCall>(
        &self,
        group: CallGroup<C>,
    ) -> Result<Vec<GroupAnswer<C::Answer>>, StoreError> {
        self.run_transaction(group, |conn, group| Box::pin(C::run(group, conn))).await
    }

    async fn run_transaction<I, T>(&self, input: I, step: TransactionFn<I, T>) -> Result<T, StoreError>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
    {
        match self.inner.backend {
            Backend::Postgres => self.inner.pool.transact(input, step).await,
            Backend::Sqlite => {
                let work: UnitWork<T> = Box::new(move |conn| {
                    Box::pin(async move { step(conn, &input).await.map(UnitOutcome::Keep) })
                });
                self.commit(RunUnit { work }).await
            }
        }
    }

    /// Measures the time that a caller waits.
    async fn measure<T>(&self, operation: QueryOperation, work: impl Future<Output = T>) -> T {
        let started_at = Instant::now();
        let outcome = work.await;
        self.inner.queries.observe(operation, started_at.elapsed());
        outcome
    }

    /// Changes one row in the next transaction, together with those of other callers. The change is handed over at once,
    /// so that the future, which ends after the commit, is small.
    pub(crate) fn change(
        &self,
        operation: QueryOperation,
        change: TraceWrite,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send + '_ {
        let started_at = Instant::now();
        let (caller, answer) = oneshot::channel();
        self.inner.queue.push_row((change, caller));
        async move {
            let outcome = answer.await.unwrap_or_else(|_| Err(abandoned_batch_error()));
            self.inner.queries.observe(operation, started_at.elapsed());
            outcome
        }
    }

    /// Returns `true` if the last transaction succeeded, without a refused row, and moments ago.
    pub(crate) fn has_written_lately(&self) -> bool {
        self.inner.queue.has_written_lately()
    }

    /// Changes many rows as [`change`](Self::change) does each. Returns the results in their order, after the last
    /// commit.
    pub(crate) async fn change_each(
        &self,
        operation: QueryOperation,
        changes: impl Iterator<Item = TraceWrite>,
    ) -> Vec<Result<bool, StoreError>> {
        let started_at = Instant::now();
        let mut answers = Vec::new();
        let rows: Vec<_> = changes
            .map(|change| {
                let (caller, answer) = oneshot::channel();
                answers.push(answer);
                (change, caller)
            })
            .collect();
        self.inner.queue.push_rows(rows.into_iter());
        let mut results = Vec::with_capacity(answers.len());
        // The last is answered last, so that this wakes up for one answer and not for each.
        for answer in answers.into_iter().rev() {
            results.push(answer.await.unwrap_or_else(|_| Err(abandoned_batch_error())));
            self.inner.queries.observe(operation, started_at.elapsed());
        }
        results.reverse();
        results
    }

    async fn commit<T: Send + 'static>(&self, mut message: RunUnit<T>) -> Result<T, StoreError> {
        let deadline = Instant::now() + self.inner.patience;
        loop {
            match self.inner.writer.call(message).await {
                Ok(answer) => return answer,
                Err(error) => message = wait_for_writer(error, deadline).await?,
            }
        }
    }
}

/// Waits while the writer restarts and returns the message: it was never handled, so it may be sent again.
async fn wait_for_writer<M>(error: CallError<M>, deadline: Instant) -> Result<M, StoreError> {
    match error {
        CallError { kind: CallErrorKind::Restarting { retry_after }, message: Some(message) }
            if Instant::now() + retry_after < deadline =>
        {
            sleep(retry_after).await;
            Ok(message)
        }
        error => Err(unanswered_error(&error)),
    }
}

/// Returns the error of a caller whose write was not answered.
fn unanswered_error<M>(error: &CallError<M>) -> StoreError {
    let detail = format!("the writer: {error}");
    if error.message.is_some() {
        StoreError::Unavailable(detail.into())
    } else {
        StoreError::Unanswered(detail.into())
    }
}
