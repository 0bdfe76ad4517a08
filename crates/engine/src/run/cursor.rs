//! The way of a sweep through the tasks of a program.

use std::sync::Arc;

use datalogic_rs::DataValue;

use super::{End, Run};
use crate::expression::Condition;
use crate::scope::EvaluationScope;
use crate::workflow::program::{CompiledStep, Program, StepAction};

/// The position of a sweep.
pub(super) struct SweepCursor {
    /// Index of the next task.
    at: usize,
    /// Index of the first group that the sweep has not reached.
    next_span: usize,
    /// Indexes of the groups that were entered and not left, outermost first.
    open: Vec<usize>,
}

impl SweepCursor {
    /// Returns the position before the first task.
    pub(super) fn at_start(program: &Program) -> Self {
        Self { at: 0, next_span: 0, open: Vec::with_capacity(program.spans.len()) }
    }
}

impl Run<'_> {
    /// Moves the cursor past the next task, and returns the task if its own condition and those of its groups
    /// hold. Returns `None` after a skip: of one task, or of a whole group whose condition does not hold. The
    /// trace records every skipped task.
    ///
    /// # Errors
    /// The normal end of the sweep: [`End::Completed`] after the last task, [`End::Stopped`] after the last
    /// task of a terminal group.
    pub(super) fn advance<'w>(
        &mut self,
        cursor: &mut SweepCursor,
        program: &'w Program,
        id: &Arc<str>,
        scope: &mut EvaluationScope<'w>,
    ) -> Result<Option<&'w CompiledStep>, End> {
        loop {
            // Leave the groups that end here.
            while let Some(span) = cursor.open.last().and_then(|&open| program.spans.get(open)) {
                if span.end > cursor.at {
                    break;
                }
                if span.terminal {
                    return Err(End::Stopped);
                }
                cursor.open.pop();
            }
            // Enter the group that starts here, or skip it with the groups inside it.
            if let Some(span) = program.spans.get(cursor.next_span).filter(|span| span.start == cursor.at) {
                let entered = cursor.next_span;
                cursor.next_span += 1;
                if self.passes(&span.condition, scope, None) {
                    cursor.open.push(entered);
                    continue;
                }
                for member in &program.steps[span.start..span.end] {
                    self.trace_skipped_step(id, member, scope);
                }
                cursor.at = span.end;
                while program.spans.get(cursor.next_span).is_some_and(|inner| inner.start < span.end) {
                    cursor.next_span += 1;
                }
                return Ok(None);
            }
            let Some(step) = program.steps.get(cursor.at) else { return Err(End::Completed) };
            cursor.at += 1;
            if self.passes(&step.condition, scope, Some(&step.id)) {
                return Ok(Some(step));
            }
            self.trace_skipped_step(id, step, scope);
            return Ok(None);
        }
    }

    /// Records in the trace that a step was skipped; of a group that its tasks were.
    fn trace_skipped_step(&mut self, id: &Arc<str>, step: &CompiledStep, scope: &mut EvaluationScope<'_>) {
        let StepAction::Composite(composite) = &step.action else {
            return self.trace_skipped(id, Some(&step.id), scope);
        };
        for member in composite.members().iter().flat_map(|program| program.steps.iter()) {
            self.trace_skipped_step(id, member, scope);
        }
    }

    /// Returns true if the condition of a task, or of the workflow, evaluates to exactly `true`. A failed
    /// evaluation is logged and counts as false.
    pub(super) fn passes<'w>(
        &mut self,
        condition: &'w Condition,
        scope: &mut EvaluationScope<'w>,
        task: Option<&str>,
    ) -> bool {
        let expression = match condition {
            Condition::Always => return true,
            Condition::Never => return false,
            Condition::When(expression) => expression,
        };
        self.last_read = None;
        let context = self.work.context(scope, expression.reads());
        match self.engine.evaluator.evaluate(expression, context, scope.arena()) {
            Ok(DataValue::Bool(passes)) => *passes,
            Ok(_) => false,
            Err(reason) => {
                let reason = self.work.reason_for_log(reason);
                slog::warn!(
                    self.engine.logger, "condition failed";
                    "workflow" => self.workflow_id.as_deref(), "task" => task, "reason" => reason
                );
                false
            }
        }
    }
}
