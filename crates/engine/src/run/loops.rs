//! The sweeps of a workflow that loops.

use std::sync::Arc;
use std::vec;

use serde_json::{Map, Value};

use super::{End, Run};
use crate::error::{RunFailure, TaskError};
use crate::error_code::ErrorCode;
use crate::path::Path;
use crate::reads::Reads;
use crate::scope::{Arena, EvaluationScope};
use crate::workflow::loop_spec::Loop;

/// The sweeps that are left of a loop.
pub(super) struct LoopSweeps {
    /// The counter of the next sweep.
    counter: i64,
    /// The elements of the list that are left; `None` for a loop without one.
    elements: Option<vec::IntoIter<Value>>,
}

/// The failure that ends a run, if one does.
type EndOfRun = Option<Box<RunFailure>>;

impl Run<'_> {
    /// Runs what a loop begins with, and evaluates its list.
    ///
    /// # Errors
    /// The end of the run: its failure, or `None` if it ended normally.
    pub(super) async fn begin_loop(
        &mut self,
        looping: &Loop,
        continue_on_error: bool,
        id: &Arc<str>,
    ) -> Result<LoopSweeps, EndOfRun> {
        let counter = looping.init;
        if let Some(setup) = &looping.setup {
            self.matched = true;
            let first_error = self.work.errors.len();
            let mut arena = Arena::lease();
            match self.sweep(setup, id, &mut arena).await {
                End::Completed | End::Cut => {}
                End::Stopped => return Err(None),
                End::Failed(failure) if continue_on_error => {
                    self.tolerate(first_error, &failure);
                    return Err(None);
                }
                End::Failed(failure) | End::Expired(failure) => return Err(Some(failure)),
            }
        }
        let Some(list) = &looping.list else { return Ok(LoopSweeps { counter, elements: None }) };
        self.last_read = None;
        let arena = Arena::lease();
        let reads = Reads::default();
        let mut scope = EvaluationScope::new(&arena, &reads);
        let elements = self.evaluate_list("loop.over", &list.over, &mut scope);
        let elements = elements.map_err(|error| Some(self.fail_loop(id, error)))?;
        if let Some(most) = list.most.filter(|most| elements.len() > *most) {
            let count = elements.len();
            let text =
                format!("loop.over has {count} elements, more than engine.max_loop_iterations ({most})");
            return Err(Some(self.fail_loop(id, TaskError::new(ErrorCode::LimitExceeded, text))));
        }
        Ok(LoopSweeps { counter, elements: Some(elements.into_iter()) })
    }

    /// Writes what the next sweep finds: its counter, its element and its scratch space. Returns `false` if the loop is
    /// over.
    ///
    /// # Errors
    /// The failure of the run if the element does not fit into the message.
    pub(super) fn begin_sweep(
        &mut self,
        looping: &Loop,
        sweeps: &mut LoopSweeps,
        id: &Arc<str>,
    ) -> Result<bool, Box<RunFailure>> {
        let counter = sweeps.counter;
        sweeps.counter = counter.saturating_add(looping.increment);
        if let Some(path) = &looping.counter {
            self.work.message.put(path, counter.into());
        }
        let element = match (&looping.list, &mut sweeps.elements) {
            (Some(list), Some(elements)) => match elements.next() {
                Some(element) => Some((&list.element, element)),
                None => return Ok(false),
            },
            _ => None,
        };
        if counter >= looping.max {
            slog::warn!(
                self.engine.logger, "loop reached its maximum";
                "workflow" => &**id, "max" => looping.max
            );
            return Ok(false);
        }
        self.loop_counter = Some(counter);
        let scratch = looping.scratch.as_ref().map(|path| (path, Value::Object(Map::new())));
        for (path, value) in element.into_iter().chain(scratch) {
            self.put_for_sweep(path, value).map_err(|error| self.fail_loop(id, error))?;
        }
        Ok(true)
    }

    /// Writes a value between two sweeps, when no scope has copied anything.
    fn put_for_sweep(&mut self, path: &Path, value: Value) -> Result<(), TaskError> {
        let arena = Arena::lease();
        let reads = Reads::default();
        let mut scope = EvaluationScope::new(&arena, &reads);
        self.work.put(&mut scope, path, value).map_err(|error| error.into_task_error(path))?;
        // No task has made the write.
        self.work.changes.iter_mut().for_each(Vec::clear);
        Ok(())
    }

    /// Records the failure of the loop itself, which ends the run.
    fn fail_loop(&mut self, id: &Arc<str>, mut error: TaskError) -> Box<RunFailure> {
        error.redact(&self.work.redaction);
        let reason = "stopped by its loop";
        match self.expire(id, error.clone(), reason) {
            End::Failed(failure) | End::Expired(failure) => failure,
            End::Completed | End::Stopped | End::Cut => Box::new(RunFailure::new(error)),
        }
    }
}
