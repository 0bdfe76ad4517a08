//! One recurring job.
//!
//! The actor knows whether its work is running. It handles [`Due`] and sends nothing. The work runs once when
//! the actor starts. A `Due` that arrives while the work runs is ignored. The work is dropped when the actor
//! ends, so it must tolerate an interruption at any await point. A panic of the work is a failure of that run
//! only.

mod messages;
mod state;

use std::any::Any;
use std::panic::AssertUnwindSafe;

use actix::{Actor, ActorFutureExt, AsyncContext, Handler, WrapFuture};
use actix_supervision::{Context, Supervised};
use futures_util::FutureExt;
use slog::{Logger, debug, warn};

use crate::housekeeping::metrics::JobMetrics;
use crate::housekeeping::spec::{JobError, JobPass, JobSpec};

pub(crate) use messages::Due;
use state::JobRunState;

/// The actor of one recurring job.
pub(crate) struct RecurringJob {
    spec: JobSpec,
    runs: JobRunState,
    metrics: JobMetrics,
    log: Logger,
}

impl RecurringJob {
    pub(crate) fn new(spec: JobSpec, metrics: JobMetrics, log: Logger) -> Self {
        Self { spec, runs: JobRunState::default(), metrics, log }
    }

    fn run(&mut self, ctx: &mut Context<Self>) {
        if !self.runs.try_begin() {
            debug!(self.log, "a job is due and still runs"; "job" => self.spec.name);
            return;
        }
        let work = self.spec.work.clone();
        let run = AssertUnwindSafe(async move { work().await }).catch_unwind();
        ctx.spawn(run.into_actor(self).map(|outcome, job, _| job.record_outcome(outcome)));
    }

    fn record_outcome(&mut self, outcome: Result<Result<JobPass, JobError>, Box<dyn Any + Send>>) {
        self.runs.end();
        let reason = match outcome {
            Ok(Ok(JobPass::Done)) => return self.metrics.record_success(self.spec.name),
            Ok(Ok(JobPass::Skipped)) => return,
            Ok(Err(failure)) => failure.to_string(),
            Err(_) => "it panicked".to_owned(),
        };
        self.metrics.record_failure(self.spec.name);
        warn!(self.log, "a job failed"; "job" => self.spec.name, "reason" => reason);
    }
}

impl Actor for RecurringJob {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.run(ctx);
    }
}

impl Supervised for RecurringJob {}

impl Handler<Due> for RecurringJob {
    type Result = ();

    fn handle(&mut self, _: Due, ctx: &mut Self::Context) {
        self.run(ctx);
    }
}
