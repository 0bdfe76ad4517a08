//! The queue of waiting writes and the task that empties it.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

use crate::config::Backend;
use crate::error::StoreError;
use crate::repo::TraceWrite;
use crate::writer::batch::Batch;
use crate::writer::connection::WriterConnection;
use crate::writer::rows::{RowBatch, RowResult};
use crate::writer::state::{Wake, WriteQueue};
use crate::writer::unit::WriteUnit;

/// Commits that take this long are followed by a [`MOMENT`] of waiting for more writes. The time of the rows does not
/// count: it is the same in one transaction as in two.
const SLOW: Duration = Duration::from_millis(2);
/// The resolution of timers.
const MOMENT: Duration = Duration::from_millis(1);
/// Time for which the writing task waits for the next write before it ends.
const LINGER: Duration = Duration::from_millis(50);

/// A waiting row with its caller.
pub(crate) type WaitingRow = (TraceWrite, oneshot::Sender<RowResult>);

/// The waiting writes, shared by the callers that add them and the task that writes them. The task is started by the
/// first write and ends some time after the last one.
pub(crate) struct WriterQueue {
    state: Mutex<WriteQueue<Box<dyn WriteUnit>, WaitingRow>>,
    /// Wakes the writing task of a file, which has a thread to itself.
    thread: Condvar,
    /// Wakes the writing task of a server.
    task: Notify,
    link: Arc<WriterConnection>,
    io: Handle,
}

impl WriterQueue {
    /// Creates an empty queue. `io` runs the writing task.
    pub(crate) fn new(link: Arc<WriterConnection>, io: Handle) -> Self {
        let (state, thread, task) = (Mutex::new(WriteQueue::new()), Condvar::new(), Notify::new());
        Self { state, thread, task, link, io }
    }

    /// Returns `true` if the last transaction succeeded, without a refused row, and moments ago.
    pub(crate) fn has_written_lately(&self) -> bool {
        self.link.has_written_lately()
    }

    /// Adds a row. Its caller is answered after the commit, or at once if too much waits.
    pub(crate) fn push_row(self: &Arc<Self>, row: WaitingRow) {
        self.push_rows(std::iter::once(row));
    }

    /// Adds rows at once, so that they share transactions as far as those reach.
    pub(crate) fn push_rows(self: &Arc<Self>, rows: impl Iterator<Item = WaitingRow>) {
        let mut state = self.lock();
        for (change, caller) in rows {
            let bytes = change.bytes();
            if let Err((_, caller)) = state.push_row((change, caller), bytes) {
                self.link.record_refusal();
                // The caller may be gone.
                let _gone = caller.send(Err(queue_full()));
            }
        }
        let wake = state.wake();
        drop(state);
        self.wake(wake);
    }

    /// Adds a unit.
    pub(super) fn push_unit(self: &Arc<Self>, unit: Box<dyn WriteUnit>) {
        let mut state = self.lock();
        state.push_unit(unit);
        let wake = state.wake();
        drop(state);
        self.wake(wake);
    }

    fn wake(self: &Arc<Self>, wake: Wake) {
        match (wake, self.link.backend()) {
            (Wake::Nothing, _) => {}
            (Wake::Gathered, Backend::Sqlite) => {
                self.thread.notify_one();
            }
            (Wake::Gathered, Backend::Postgres) => self.task.notify_one(),
            (Wake::Start, _) => self.start_task(),
        }
    }

    /// Starts the writing task: on a thread of its own for a file, which blocks, as a task for a server.
    fn start_task(self: &Arc<Self>) {
        let task = WritingTask { queue: Arc::clone(self), has_ended: false };
        let io = self.io.clone();
        match self.link.backend() {
            Backend::Sqlite => drop(self.io.spawn_blocking(move || io.block_on(task.run()))),
            Backend::Postgres => drop(self.io.spawn(task.run())),
        }
    }

    /// Writes batch after batch until nothing has come for a while.
    async fn write_out(&self) {
        loop {
            let next = self.lock().start();
            let Some(waiting) = next else {
                self.wait(LINGER).await;
                if self.lock().end_if_empty() {
                    return;
                }
                continue;
            };
            let ended = self.link.run(batch_of(waiting)).await;
            let commit_time = ended.as_ref().copied().unwrap_or_default();
            if self.lock().finish_batch(commit_time >= SLOW) {
                // The next batch then includes the callers that have returned.
                self.wait(MOMENT).await;
                self.lock().end_gathering();
            }
            if let Err(away) = ended {
                // The connection was retried for as long as a caller may wait, so the waiting writes fail now.
                self.fail_all(away);
            }
        }
    }

    /// Waits until as many writes wait as the writing task waits for, at most for `limit`.
    async fn wait(&self, limit: Duration) {
        match self.link.backend() {
            Backend::Sqlite => {
                // The thread is there to be blocked.
                self.thread.wait_while_for(&mut self.lock(), |state| state.is_gathering(), limit);
            }
            Backend::Postgres => {
                let _late = timeout(limit, self.task.notified()).await;
            }
        }
    }

    /// Fails everything that waits: nothing of it was written.
    fn fail_all(&self, error: StoreError) {
        let waiting = self.lock().take();
        batch_of(waiting).settle(&Err(error.into_collateral()));
    }

    fn lock(&self) -> MutexGuard<'_, WriteQueue<Box<dyn WriteUnit>, WaitingRow>> {
        self.state.lock()
    }
}

/// The writing task. If it dies with its batch, whose callers see their channels dropped, another one goes on with what
/// waits.
struct WritingTask {
    queue: Arc<WriterQueue>,
    has_ended: bool,
}

impl WritingTask {
    async fn run(mut self) {
        self.queue.write_out().await;
        self.has_ended = true;
    }
}

impl Drop for WritingTask {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let mut state = self.queue.lock();
        state.task_died();
        if thread::panicking() {
            let wake = state.wake();
            drop(state);
            self.queue.wake(wake);
        } else {
            drop(state);
            // The runtime has ended: nobody writes any more.
            self.queue.fail_all(StoreError::Unavailable("the database is closed".into()));
        }
    }
}

fn batch_of((units, rows): (Vec<Box<dyn WriteUnit>>, Vec<WaitingRow>)) -> Batch {
    Batch { units, rows: RowBatch::new(rows.into_iter()), trial: None }
}

fn queue_full() -> StoreError {
    StoreError::Unavailable("too many rows or bytes wait to be written; nothing was written".into())
}
