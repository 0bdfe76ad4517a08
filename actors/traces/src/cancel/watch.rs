//! The watch for orders to cancel the work of this node.

use std::sync::Arc;

use slog::warn;
use svc_model::CANCELLED_WORK;
use svc_store::{CancelEffect, CancelFailure, CancelOrder, CancelStep, OpenCancel, StoreError};
use tokio::time::sleep;

use crate::backoff::DATABASE_BACKOFF;
use crate::cancel::requests::CancelRequests;
use crate::input;
use crate::job::Job;
use crate::report::{self, FailureReport};
use crate::worker::WorkerShared;

/// The watch for orders to cancel the work of this node: reads them on notice, ends the jobs that wait in the
/// queue, and gives those orders again whose run is of no node any more.
pub(crate) struct CancelWatch {
    pub(crate) requests: Arc<CancelRequests>,
    pub(crate) worker: Arc<WorkerShared>,
}

impl CancelWatch {
    /// Reads orders at every notice, until it is cancelled.
    pub(crate) async fn run(&self) {
        let mut backoff = DATABASE_BACKOFF.delays();
        loop {
            match self.look().await {
                Ok(()) => {
                    backoff.reset();
                    self.requests.wait_for_look().await;
                }
                Err(error) => {
                    warn!(self.worker.log, "cannot read orders to cancel"; "error" => %error);
                    // An order that comes meanwhile may be one that can be carried out.
                    tokio::select! {
                        () = sleep(backoff.next_delay()) => {}
                        () = self.requests.wait_for_look() => {}
                    }
                }
            }
        }
    }

    /// Reads the orders, and carries out those that concern no running job. One that fails holds up no other, unless
    /// the database is away.
    async fn look(&self) -> Result<(), StoreError> {
        let known = self.requests.copy_ids();
        let open = self.worker.store.open_cancels(&self.worker.nodes.id()).await?;
        let (own, given_again): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|order| order.step == CancelStep::DropRun);
        self.requests.update(&known, own.into_iter().map(|order| order.id).collect());
        self.end_queued().await;
        let mut failure = None;
        for order in given_again {
            if let Err(error) = self.give_again(order).await {
                let is_outage = error.is_outage();
                failure = failure.or(Some(error));
                if is_outage {
                    break;
                }
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// Ends the jobs that are to be cancelled and wait in the queue.
    async fn end_queued(&self) {
        if self.requests.is_empty() {
            return;
        }
        let queued = self.worker.waiting.remove_jobs(|queued| self.requests.has(queued.job.trace_id));
        for job in queued {
            self.worker.end_unrun(job).await;
        }
    }

    /// Ends work whose run ended otherwise meanwhile, and waits or is to be retried.
    async fn give_again(&self, order: OpenCancel) -> Result<(), StoreError> {
        let OpenCancel { id, principal, reports, .. } = order;
        let id = id.to_string();
        let failure = if reports { Some(self.prepare_failure(&id).await?) } else { None };
        let order = CancelOrder { id, principal, node: self.worker.nodes.id(), failure };
        match self.worker.store.cancel_again(order).await {
            Ok(effect) => {
                self.note_effect(&effect);
                Ok(())
            }
            // It has ended.
            Err(StoreError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Has the run dropped if this node has it.
    pub(crate) fn note_effect(&self, effect: &CancelEffect) {
        match effect {
            CancelEffect::Ended => self.worker.letters_changed.notify_one(),
            CancelEffect::Requested { run, owner } if **owner == *self.worker.nodes.id() => {
                self.requests.insert(*run);
                self.requests.look();
            }
            CancelEffect::Requested { .. } => {}
        }
    }

    /// Prepares the failure that cancelled work leaves: its dead letter, and the report to the receiver that its channel
    /// names. The report belongs to no node, so that it is taken over like the work of a dead one.
    pub(crate) async fn prepare_failure(&self, id: &str) -> Result<CancelFailure, StoreError> {
        let max_retries = i64::from(self.worker.max_retries);
        let none = CancelFailure { max_retries, report: None };
        let Some(source) = self.worker.store.source(id).await? else { return Ok(none) };
        let Ok(input) = input::read(source.input_json.as_deref().unwrap_or_default()) else {
            return Ok(none);
        };
        let job = Job {
            trace_id: source.id.parse().unwrap_or_default(),
            channel_id: source.channel_id.map(Into::into),
            channel: source.channel.into(),
            payload: input.data,
            metadata: input.metadata,
            bucket: input.bucket,
            hold: None,
            attempt: None,
            trace_headers: input.trace_headers,
        };
        let Some(target) = FailureReport::find_target(&job, &*self.worker.runner).await else {
            return Ok(none);
        };
        let report = FailureReport::for_job(&job, None, target).into_job(CANCELLED_WORK);
        Ok(CancelFailure { max_retries, report: report::row(&report, None).ok().map(Box::new) })
    }
}
