//! Steps that run programs of their own.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use svc_spans::ActiveSpan;

use super::{End, Run};
use crate::error::TaskError;
use crate::scope::EvaluationScope;
use crate::trace::StepResult;
use crate::workflow::program::{CompiledStep, Composite};

impl Run<'_> {
    /// Runs such a step. Returns the end of the sweep if the step ends it.
    ///
    /// Its future is boxed: the programs of a step may have such steps again.
    pub(super) fn run_composite<'a, 'w>(
        &'a mut self,
        composite: &'w Composite,
        step: &'w CompiledStep,
        id: &'a Arc<str>,
        mut span: ActiveSpan,
        scope: &'a mut EvaluationScope<'w>,
    ) -> LocalBoxFuture<'a, Option<End>> {
        Box::pin(async move {
            let context = span.context().clone();
            let end = match composite {
                Composite::Each(fan_out) => self.fan_out(fan_out, step, id, &context, scope).await,
                Composite::Group(frame) => self.run_group(frame, step, id, &context, scope).await,
            };
            self.last_read = None;
            if let Some(End::Failed(failure) | End::Expired(failure)) = &end {
                span.fail(failure.error.code.name());
            }
            end
        })
    }

    /// Records the failure of a step itself, and decides whether the workflow goes on.
    pub(super) fn fail_step(
        &mut self,
        step: &CompiledStep,
        id: &Arc<str>,
        error: TaskError,
        scope: &mut EvaluationScope<'_>,
    ) -> Option<End> {
        let first_error = self.work.errors.len();
        let started_at = self.work.tracer.is_some().then(|| (self.engine.clock)());
        let end = self.settle(step, id, Err(error), first_error, scope);
        if !matches!(end, Some(End::Cut)) {
            self.trace_step(step, id, StepResult::Failed, started_at, Duration::ZERO, scope);
        }
        end.or_else(|| step.terminal.then_some(End::Stopped))
    }
}
