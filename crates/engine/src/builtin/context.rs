//! The run of a task, as a built-in sees it.

use datalogic_rs::DataValue;
use serde_json::Value;
use slog::Logger;

use crate::bounds::evaluation_budget::EvaluationBudget;
use crate::error::TaskError;
use crate::expression::{Evaluator, Expression};
use crate::function::TaskOutcome;
use crate::path::Path;
use crate::run_state::RunState;
use crate::scope::{Arena, EvaluationScope};

/// The context in which a built-in runs.
pub(crate) struct BuiltinCx<'c, 'r> {
    pub(crate) evaluator: &'c Evaluator,
    pub(crate) logger: &'c Logger,
    pub(crate) workflow: &'c str,
    pub(crate) task: &'c str,
    pub(crate) work: &'c mut RunState,
    pub(crate) scope: &'c mut EvaluationScope<'r>,
    pub(crate) pace: &'c mut EvaluationBudget,
}

impl<'r> BuiltinCx<'_, 'r> {
    /// Evaluates an expression over the message. A task that has filled the arena goes on with one of its own
    /// for each expression.
    pub(super) fn evaluate<T>(
        &mut self,
        expression: &'r Expression,
        then: impl FnOnce(&DataValue<'_>) -> T,
    ) -> Result<T, String> {
        if !self.scope.is_full() {
            let context = self.work.context(self.scope, expression.reads());
            return self.evaluator.evaluate(expression, context, self.scope.arena()).map(then);
        }
        let arena = Arena::lease();
        let context =
            self.work.context(&mut EvaluationScope::new(&arena, expression.reads()), expression.reads());
        self.evaluator.evaluate(expression, context, &arena).map(then)
    }

    /// Writes what the task made.
    pub(super) fn put(&mut self, path: &Path, value: Value) -> Result<TaskOutcome, TaskError> {
        self.work.put(self.scope, path, value).map_err(|error| error.into_task_error(path))?;
        Ok(TaskOutcome::Success)
    }
}

/// Only exactly `true` passes.
pub(super) fn is_true(value: &DataValue<'_>) -> bool {
    matches!(value, DataValue::Bool(true))
}
