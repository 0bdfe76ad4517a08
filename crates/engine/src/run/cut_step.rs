//! The step of a traced run that is in progress. Cut short, it is in the trace all the same.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use tokio::time::Instant;

use super::Run;
use crate::trace::{OpenStep, StepResult, TraceStep, Tracer};
use crate::workflow::program::{CompiledStep, StepAction};

impl Run<'_> {
    /// Notes that a step begins, and returns the instant, if the run is traced.
    pub(super) fn open_step(&mut self, step: &CompiledStep, began: Instant) -> Option<DateTime<Utc>> {
        let tracer = self.work.tracer.as_mut()?;
        let started_at = (self.engine.clock)();
        // The steps inside one that runs programs of its own are noted themselves.
        if !matches!(step.action, StepAction::Composite(_)) {
            tracer.open_step(OpenStep {
                task_id: Arc::clone(&step.id),
                function: Arc::clone(&step.function),
                connector: step.connector.clone(),
                started_at,
                began,
            });
        }
        Some(started_at)
    }

    /// Adds the step to the trace that was in progress when it was cut short, if there is one.
    pub(super) fn trace_cut_step(&mut self) {
        let Some(open) = self.work.tracer.as_mut().and_then(Tracer::take_open_step) else { return };
        let Some(workflow_id) = self.workflow_id.clone() else { return };
        let mapping_contexts = std::mem::take(&mut self.work.mapping_contexts);
        let changes = self.work.changes.as_mut().map(std::mem::take).unwrap_or_default();
        let target = self.work.target.take().or(open.connector);
        let duration = open.began.elapsed().as_micros();
        if let Some(tracer) = &mut self.work.tracer {
            tracer.push(TraceStep {
                workflow_id,
                task_id: Some(open.task_id),
                result: StepResult::Failed,
                message: None,
                mapping_contexts,
                started_at: Some(open.started_at),
                duration_us: Some(u64::try_from(duration).unwrap_or(u64::MAX)),
                function: Some(open.function),
                target,
                changes,
                loop_counter: self.loop_counter,
                index: None,
            });
        }
    }
}
