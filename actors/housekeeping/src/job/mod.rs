//! One recurring job.
//!
//! Owns whether its work is under way. Takes [`Due`]; sends nothing. Runs once when it starts. A `Due` that comes while
//! the work still goes on starts nothing. What the work does is its own to make safe against an end half way: it is
//! dropped when the actor ends. A panic of the work is a failure of that run and no more.

mod msg;
mod state;

use std::any::Any;
use std::panic::AssertUnwindSafe;

use actix::{Actor, ActorFutureExt, AsyncContext, Handler, WrapFuture};
use actix_supervision::{Context, Supervised};
use futures_util::FutureExt;
use slog::{Logger, debug, warn};

use crate::metrics::JobMetrics;
use crate::{Failure, JobSpec};

pub(crate) use msg::Due;
use state::Runs;

/// The actor.
pub(crate) struct Job {
    spec: JobSpec,
    runs: Runs,
    metrics: JobMetrics,
    log: Logger,
}

impl Job {
    pub(crate) fn new(spec: JobSpec, metrics: JobMetrics, log: Logger) -> Self {
        Self { spec, runs: Runs::default(), metrics, log }
    }

    fn run(&mut self, ctx: &mut Context<Self>) {
        if !self.runs.due() {
            debug!(self.log, "a job is due and still runs"; "job" => self.spec.name);
            return;
        }
        let work = self.spec.work.clone();
        let run = AssertUnwindSafe(async move { work().await }).catch_unwind();
        ctx.spawn(run.into_actor(self).map(|outcome, job, _| job.over(outcome)));
    }

    fn over(&mut self, outcome: Result<Result<(), Failure>, Box<dyn Any + Send>>) {
        self.runs.over();
        let reason = match outcome {
            Ok(Ok(())) => return self.metrics.succeeded(self.spec.name),
            Ok(Err(failure)) => failure.to_string(),
            Err(_) => "it panicked".to_owned(),
        };
        self.metrics.failed(self.spec.name);
        warn!(self.log, "a job failed"; "job" => self.spec.name, "reason" => reason);
    }
}

impl Actor for Job {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.run(ctx);
    }
}

impl Supervised for Job {}

impl Handler<Due> for Job {
    type Result = ();

    fn handle(&mut self, _: Due, ctx: &mut Self::Context) {
        self.run(ctx);
    }
}
