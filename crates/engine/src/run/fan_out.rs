//! `for_each`: a program runs for each element of a list, several at once on the thread of the run.
//!
//! Each of the places that work at once is a view with a copy of the message; the elements that it takes one after
//! another begin with the same message, as their writes are undone.

use std::cell::{Cell, RefCell};
use std::iter::Enumerate;
use std::sync::Arc;
use std::vec;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use svc_model::FieldError;
use svc_spans::TraceContext;

use super::settle::failure_record;
use super::view::ViewRecord;
use super::{End, MAX_TASKS, Run};
use crate::bounds::extent;
use crate::error::{ElementIndex, RunFailure, TaskError};
use crate::error_code::ErrorCode;
use crate::expression::Expression;
use crate::path::WriteError;
use crate::scope::{Arena, EvaluationScope};
use crate::trace::Tracer;
use crate::workflow::program::{CompiledStep, FanOut};

/// The elements of one step, which its views share.
struct ElementQueue<'f> {
    fan_out: &'f FanOut,
    step: &'f CompiledStep,
    workflow: &'f Arc<str>,
    /// The place of the element around this step, with a dot behind it.
    prefix: String,
    waiting: RefCell<Enumerate<vec::IntoIter<Value>>>,
    elements: RefCell<Vec<ElementResult>>,
    /// The element that each view works on.
    running: Box<[Cell<Option<usize>>]>,
    /// Bytes that results may still take.
    free_bytes: Cell<usize>,
    /// Steps that the trace may still have, tasks that may still run, and tasks that may still have spans.
    free_steps: Cell<usize>,
    free_tasks: Cell<usize>,
    free_spans: Cell<usize>,
    has_failed: Cell<bool>,
    /// The reason for which no further element begins.
    stop: RefCell<Option<FanOutStop>>,
}

/// The result of one element.
#[derive(Default)]
struct ElementResult {
    value: Value,
    record: Option<ViewRecord>,
}

/// The reason for which a fan-out ends early.
enum FanOutStop {
    /// An element failed, or the time of the run is over.
    Element { index: usize, end: End },
    /// A bound of the fan-out itself was reached.
    Bound(TaskError),
}

impl ElementQueue<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.borrow().is_some()
    }

    fn stop(&self, reason: FanOutStop) {
        self.stop.borrow_mut().get_or_insert(reason);
    }

    /// Takes the next element for a view.
    fn take_next(&self, view: usize) -> Option<ElementTurn> {
        if self.is_stopped() {
            return None;
        }
        let (index, value) = self.waiting.borrow_mut().next()?;
        if let Some(running) = self.running.get(view) {
            running.set(Some(index));
        }
        Some(ElementTurn { view, index, value })
    }

    /// Keeps the value of an element, if there is room for it.
    fn keep_value(&self, index: usize, value: Value) {
        match self.free_bytes.get().checked_sub(extent::value_bytes(&value)) {
            Some(left) => {
                self.free_bytes.set(left);
                if let Some(element) = self.elements.borrow_mut().get_mut(index) {
                    element.value = value;
                }
            }
            None => {
                let text = "the collected values take more than a message may";
                self.stop(FanOutStop::Bound(TaskError::new(ErrorCode::LimitExceeded, text)));
            }
        }
    }

    /// Keeps the records of an element.
    fn keep_record(&self, index: usize, record: ViewRecord) {
        let tasks = record.timings.len();
        self.free_steps.set(self.free_steps.get().saturating_sub(record.steps.len()));
        self.free_spans.set(self.free_spans.get().saturating_sub(tasks));
        match self.free_tasks.get().checked_sub(tasks) {
            Some(left) => self.free_tasks.set(left),
            None => {
                let text = format!("the run executed {MAX_TASKS} tasks, which is all it may");
                self.stop(FanOutStop::Bound(TaskError::new(ErrorCode::Task, text)));
            }
        }
        if let Some(element) = self.elements.borrow_mut().get_mut(index) {
            element.record = Some(record);
        }
    }
}

/// An element, and the view that works on it.
struct ElementTurn {
    view: usize,
    index: usize,
    value: Value,
}

impl Run<'_> {
    /// Runs the program of a step for each element of its list. Returns the end of the sweep if the step ends it.
    pub(super) async fn fan_out<'w>(
        &mut self,
        fan_out: &'w FanOut,
        step: &'w CompiledStep,
        id: &Arc<str>,
        context: &TraceContext,
        scope: &mut EvaluationScope<'w>,
    ) -> Option<End> {
        let first_error = self.work.errors.len();
        let elements = match self.evaluate_elements(fan_out, scope) {
            Ok(elements) => elements,
            Err(error) => return self.fail_step(step, id, error, scope),
        };
        let places = fan_out.max_concurrency.min(elements.len());
        let mut views = match self.open_views(places, context, scope) {
            Ok(views) => views,
            Err(error) => return self.fail_step(step, id, error, scope),
        };
        let queue = self.queue_elements(fan_out, step, id, elements, places);
        {
            let views = views.iter_mut().enumerate();
            let mut running: FuturesUnordered<_> =
                views.map(|(number, view)| view.run_elements(number, &queue)).collect();
            // An element that ends the step cancels those that run: they are dropped here.
            while running.next().await.is_some() && !queue.is_stopped() {}
        }
        for (view, index) in views.iter_mut().zip(queue.running.iter().map(Cell::get)) {
            if let Some(index) = index {
                let record = view.take_record(0);
                queue.keep_record(index, record);
            }
        }
        if self.work.changes.is_some() && !views.is_empty() {
            self.work.change_bytes = views.iter().map(|view| view.work.change_bytes).sum();
        }
        drop(views);
        let has_failed = queue.has_failed.get();
        let stop = queue.stop.into_inner();
        let values = self.add_elements(queue.elements.into_inner(), scope);
        let ends = step.terminal || (has_failed && step.halts_on_failure);
        match stop {
            Some(FanOutStop::Bound(error)) => self.fail_step(step, id, error, scope),
            Some(FanOutStop::Element { index, end }) => self.end_by_element(step, index, end, first_error),
            None => {
                let end = self.finish_fan_out(fan_out, step, id, values, scope);
                end.or_else(|| ends.then_some(End::Stopped))
            }
        }
    }

    /// Evaluates the list of a fan-out.
    fn evaluate_elements<'w>(
        &mut self,
        fan_out: &'w FanOut,
        scope: &mut EvaluationScope<'w>,
    ) -> Result<Vec<Value>, TaskError> {
        let elements = self.evaluate_list("for_each.over", &fan_out.over, scope)?;
        let (count, most) = (elements.len(), self.engine.limits.max_fan_out);
        if most > 0 && count > most {
            let text = format!("for_each has {count} elements, more than engine.max_fan_out ({most})");
            return Err(TaskError::new(ErrorCode::LimitExceeded, text));
        }
        Ok(elements)
    }

    /// Evaluates the list of a fan-out or a loop, which `name` names in errors; null is an empty one.
    ///
    /// # Errors
    /// `LOGIC_ERROR` if the expression fails, `VALIDATION_ERROR` if its value is no list.
    pub(super) fn evaluate_list<'w>(
        &mut self,
        name: &str,
        over: &'w Expression,
        scope: &mut EvaluationScope<'w>,
    ) -> Result<Vec<Value>, TaskError> {
        self.work.stamp_progress(scope);
        // A scope of its own: the list is read once, and others need no copy of it.
        let mut own = EvaluationScope::new(scope.arena(), over.reads());
        let list = match over.copies() {
            Some(path) => self.work.get(&mut own, path),
            None => {
                let context = self.work.context(&mut own, over.reads());
                let value = self.engine.evaluator.evaluate(over, context, scope.arena());
                value
                    .map(|value| value.to_serde_value())
                    .map_err(|reason| TaskError::new(ErrorCode::Logic, format!("{name}: {reason}")))?
            }
        };
        match list {
            Value::Null => Ok(Vec::new()),
            Value::Array(elements) => Ok(elements),
            other => {
                let mismatch = FieldError::type_mismatch(name, "array", &other).message;
                Err(TaskError::validation(format!("{name}: {mismatch}")))
            }
        }
    }

    fn queue_elements<'f>(
        &self,
        fan_out: &'f FanOut,
        step: &'f CompiledStep,
        workflow: &'f Arc<str>,
        elements: Vec<Value>,
        places: usize,
    ) -> ElementQueue<'f> {
        let tasks = self.timings.tasks.len();
        ElementQueue {
            fan_out,
            step,
            workflow,
            prefix: self.work.element_place().map(|place| format!("{place}.")).unwrap_or_default(),
            elements: RefCell::new(elements.iter().map(|_| ElementResult::default()).collect()),
            waiting: RefCell::new(elements.into_iter().enumerate()),
            running: (0..places).map(|_| Cell::default()).collect(),
            free_bytes: Cell::new(self.work.max_bytes),
            free_steps: Cell::new(self.work.tracer.as_ref().map_or(0, Tracer::free_steps)),
            free_tasks: Cell::new(MAX_TASKS.saturating_sub(tasks)),
            free_spans: Cell::new(self.task_spans.saturating_sub(tasks)),
            has_failed: Cell::new(false),
            stop: RefCell::default(),
        }
    }

    /// Runs elements on this view until there is none left, or one ends the step.
    async fn run_elements(&mut self, view: usize, queue: &ElementQueue<'_>) {
        while let Some(turn) = queue.take_next(view) {
            let (view, index) = (turn.view, turn.index);
            self.task_spans = queue.free_spans.get();
            let mut arena = Arena::lease();
            let end = match self.begin_element(turn, queue, &arena) {
                Ok(()) => self.sweep(&queue.fan_out.program, queue.workflow, &mut arena).await,
                Err(error) => {
                    let mut scope = EvaluationScope::new(&arena, &queue.fan_out.program.reads);
                    self.fail_element(error, queue, &mut scope)
                }
            };
            drop(arena);
            self.end_element(index, end, queue);
            if let Some(running) = queue.running.get(view) {
                running.set(None);
            }
        }
    }

    /// Writes an element and its index for the tasks that it runs through.
    fn begin_element(
        &mut self,
        turn: ElementTurn,
        queue: &ElementQueue<'_>,
        arena: &Arena,
    ) -> Result<(), TaskError> {
        let FanOut { element, index, program, .. } = queue.fan_out;
        self.work.set_place(format!("{}{}", queue.prefix, turn.index).into());
        let change_bytes = self.work.change_bytes;
        let mut scope = EvaluationScope::new(arena, &program.reads);
        let index = index.as_ref().map(|path| (path, Value::from(turn.index)));
        for (path, value) in [(element, turn.value)].into_iter().chain(index) {
            self.work.put(&mut scope, path, value).map_err(|error| error.into_task_error(path))?;
        }
        // No task has made these writes.
        self.work.changes.iter_mut().for_each(Vec::clear);
        self.work.change_bytes = change_bytes;
        Ok(())
    }

    /// Records the failure of an element before its first task.
    fn fail_element(
        &mut self,
        mut error: TaskError,
        queue: &ElementQueue<'_>,
        scope: &mut EvaluationScope<'_>,
    ) -> End {
        error.workflow_id = Some(Arc::clone(queue.workflow));
        error.task_id = Some(Arc::clone(&queue.step.id));
        error.timestamp = self.now;
        error.redact(&self.work.redaction);
        self.work.record_failure(scope, failure_record(queue.workflow, queue.step, &error, 500));
        self.work.errors.push(error.clone());
        End::Failed(Box::new(RunFailure::new(error)))
    }

    /// Keeps what an element has left, and undoes its writes.
    fn end_element(&mut self, index: usize, end: End, queue: &ElementQueue<'_>) {
        match end {
            End::Completed | End::Stopped => {
                let value = self.work.message.read_any(&queue.fan_out.collect).unwrap_or_default();
                queue.keep_value(index, value);
            }
            End::Failed(failure) if queue.fan_out.continue_on_error => {
                queue.has_failed.set(true);
                self.tolerate(0, &failure);
                self.work.errors.retain(|error| error.code != ErrorCode::Workflow);
            }
            end => queue.stop(FanOutStop::Element { index, end }),
        }
        let record = self.take_record(queue.free_steps.get());
        queue.keep_record(index, record);
        self.work.roll_back();
    }

    /// Adds the records of the elements in their order, and returns their values.
    fn add_elements(&mut self, elements: Vec<ElementResult>, scope: &mut EvaluationScope<'_>) -> Vec<Value> {
        let mut values = Vec::with_capacity(elements.len());
        for (index, element) in elements.into_iter().enumerate() {
            if let Some(record) = element.record {
                self.add_record(record, Some(index), scope);
            }
            values.push(element.value);
        }
        values
    }

    /// Writes the values of the elements.
    fn finish_fan_out(
        &mut self,
        fan_out: &FanOut,
        step: &CompiledStep,
        id: &Arc<str>,
        values: Vec<Value>,
        scope: &mut EvaluationScope<'_>,
    ) -> Option<End> {
        let has_elements = !values.is_empty();
        if let Err(error) = self.work.put(scope, &fan_out.into, Value::Array(values)) {
            let is_size = matches!(error, WriteError::TooLarge(_));
            let mut error = error.into_task_error(&fan_out.into);
            if is_size {
                error.code = ErrorCode::LimitExceeded;
            }
            return self.fail_step(step, id, error, scope);
        }
        let changes = self.work.changes.as_mut().map(std::mem::take).unwrap_or_default();
        if has_elements {
            if let Some(last) = self.work.audit_trail.last_mut() {
                last.changes.extend_from_slice(&changes);
            }
            let snapshot = self.work.snapshot(scope);
            if let Some(tracer) = &mut self.work.tracer {
                tracer.extend_last(snapshot, &changes);
            }
        }
        None
    }

    /// Ends the step with the failure of an element, unless its task tolerates it.
    fn end_by_element(
        &mut self,
        step: &CompiledStep,
        index: usize,
        end: End,
        first_error: usize,
    ) -> Option<End> {
        match end {
            End::Failed(failure) if step.continue_on_error => {
                self.tolerate(first_error, &failure);
                (step.terminal || step.halts_on_failure).then_some(End::Stopped)
            }
            End::Failed(mut failure) => {
                failure.error.index = failure.error.index.or(ElementIndex::new(index));
                Some(End::Failed(failure))
            }
            end => Some(end),
        }
    }
}
