//! The loop that takes jobs and runs them, on one thread.

use std::convert::Infallible;
use std::sync::Arc;

use actix_supervision::HandledCounter;
use tokio::sync::{mpsc, oneshot, watch};

use crate::worker::running::FinishedJob;
use crate::worker::{StopStage, WorkerJobs, WorkerShared, WorkerTurn};

/// Runs jobs one after the other until the worker stops or the thread no longer runs channels. On another thread it
/// ends after one job.
pub(super) struct JobLoop {
    pub(super) shared: Arc<WorkerShared>,
    pub(super) jobs: WorkerJobs,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) handled: HandledCounter,
    /// Id of the thread it runs on, if that one runs channels.
    pub(super) thread: Option<usize>,
    /// Takes the jobs whose outcome cannot be written here.
    pub(super) orphans: mpsc::UnboundedSender<FinishedJob>,
    /// Dropped with the loop, which may end with its thread.
    #[expect(dead_code, reason = "held for its drop")]
    pub(super) alive: oneshot::Sender<Infallible>,
}

impl JobLoop {
    pub(super) async fn run(mut self) {
        loop {
            let (queued, permit) = tokio::select! {
                biased;
                _ = self.stop.wait_for(|stop| *stop) => return,
                () = self.shared.stop.wait_for(StopStage::Closing) => return,
                next = self.jobs.next_job(&self.shared) => next,
            };
            let (turn, turn_is_over) = oneshot::channel::<()>();
            let (shared, thread, orphans) = (Arc::clone(&self.shared), self.thread, self.orphans.clone());
            tokio::task::spawn_local(async move {
                let complete = async {
                    let mut turn = Some(WorkerTurn(turn));
                    let ended = shared.run((queued, permit), thread, orphans, &mut turn).await;
                    drop(turn);
                    if let Some(ended) = ended {
                        ended.write(&shared).await;
                    }
                };
                tokio::select! {
                    biased;
                    () = shared.stop.wait_for(StopStage::Ending) => {}
                    () = complete => {}
                }
            });
            let _dropped = turn_is_over.await;
            self.handled.add(1);
            if !self.thread.is_some_and(|id| self.shared.runner.has_thread(id)) {
                return;
            }
        }
    }
}
