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

use super::cleanup::clean_up_views;
use super::settle::failure_record;
use super::view::{ViewRecord, run_in_turns};
use super::{End, MAX_TASKS, Run};
use crate::bounds::extent;
use crate::error::{RunFailure, TaskError};
use crate::error_code::ErrorCode;
use crate::expression::Expression;
use crate::path::{Path, WriteError};
use crate::reads::Reads;
use crate::scope::{Arena, EvaluationScope};
use crate::trace::Tracer;
use crate::workflow::program::{CompiledStep, FanOut};

/// Elements whose records are added between two looks at the clock.
const BETWEEN_TURNS: usize = 256;

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
    /// True once an element has failed, or its task has a status of 400 or more.
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

    /// Returns `true` if the step ends early while the time of the run goes on.
    fn cuts_elements(&self) -> bool {
        let stop = self.stop.borrow();
        !matches!(&*stop, None | Some(FanOutStop::Element { end: End::Expired(_), .. }))
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

/// The work of one step: its views, and the run to which their records are added, also if the step is cut short from
/// outside.
struct ElementWork<'r, 'e, 'f> {
    run: &'r mut Run<'e>,
    views: Vec<Run<'e>>,
    queue: ElementQueue<'f>,
}

impl ElementWork<'_, '_, '_> {
    /// Runs the elements until all have ended, or one ends the step, which cancels those that run.
    async fn run_all(&mut self) {
        {
            let queue = &self.queue;
            let views = self.views.iter_mut().enumerate();
            let mut running: FuturesUnordered<_> =
                views.map(|(number, view)| run_in_turns(view.run_elements(number, queue))).collect();
            while running.next().await.is_some() && !queue.is_stopped() {}
        }
        if self.queue.cuts_elements() {
            let ends = self.run.clean_up_ends();
            clean_up_views(self.views.iter_mut(), self.queue.workflow, ends).await;
        }
        self.keep_cancelled();
        if self.run.work.changes.is_some() && !self.views.is_empty() {
            self.run.work.change_bytes = self.views.iter().map(|view| view.work.change_bytes).sum();
        }
        self.views.clear();
    }

    /// Keeps what the elements that were cancelled have recorded.
    fn keep_cancelled(&mut self) {
        for (view, running) in self.views.iter_mut().zip(self.queue.running.iter()) {
            if let Some(index) = running.take() {
                let record = view.take_record(0);
                self.queue.keep_record(index, record);
            }
        }
    }

    /// Adds the records of the elements in their order.
    async fn add_records(&mut self, scope: &mut EvaluationScope<'_>) {
        for index in 0..self.count() {
            if index.is_multiple_of(BETWEEN_TURNS) {
                // If the time of the run is over, what follows ends it.
                let _ = self.run.pace.check().await;
            }
            self.add_record(index, scope);
        }
    }

    fn add_record(&mut self, index: usize, scope: &mut EvaluationScope<'_>) {
        let mut elements = self.queue.elements.borrow_mut();
        if let Some(record) = elements.get_mut(index).and_then(|element| element.record.take()) {
            self.run.add_record(record, Some(index), scope);
        }
    }

    fn count(&self) -> usize {
        self.queue.elements.borrow().len()
    }

    fn take_values(&mut self) -> Vec<Value> {
        self.queue.elements.take().into_iter().map(|element| element.value).collect()
    }
}

impl Drop for ElementWork<'_, '_, '_> {
    fn drop(&mut self) {
        let is_cut = !self.views.is_empty();
        let indexes: Vec<_> = self.queue.running.iter().filter(|_| is_cut).map(Cell::get).collect();
        self.keep_cancelled();
        // The scopes of the run forget what they know when a step is cut short.
        let (arena, reads) = (Arena::lease(), Reads::default());
        let mut scope = EvaluationScope::new(&arena, &reads);
        for index in 0..self.count() {
            self.add_record(index, &mut scope);
        }
        for (view, index) in self.views.drain(..).zip(indexes) {
            if view.has_open_groups() {
                self.run.keep_cut_view(view, index);
            }
        }
    }
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
        let (first_error, first_entry) = (self.work.errors.len(), self.work.audit_trail.len());
        let elements = match self.evaluate_elements(fan_out, scope) {
            Ok(elements) => elements,
            Err(error) => return self.fail_step(step, id, error, scope),
        };
        let places = fan_out.max_concurrency.min(elements.len());
        let views = match self.open_views(places, context, scope).await {
            Ok(views) => views,
            Err(error) => return self.fail_step(step, id, error, scope),
        };
        let queue = self.queue_elements(fan_out, step, id, elements, places);
        let mut work = ElementWork { run: &mut *self, views, queue };
        work.run_all().await;
        work.add_records(scope).await;
        let has_failed = work.queue.has_failed.get();
        let stop = work.queue.stop.take();
        let values = work.take_values();
        drop(work);
        let ends = step.terminal || (has_failed && step.halts_on_failure);
        match stop {
            Some(FanOutStop::Bound(error)) => self.fail_step(step, id, error, scope),
            Some(FanOutStop::Element { index, end }) => self.end_by_element(step, index, end, first_error),
            None => {
                let has_records = self.work.audit_trail.len() > first_entry;
                let end = match self.write_values(fan_out, values, has_records, scope) {
                    Ok(()) => None,
                    Err(error) => self.fail_step(step, id, error, scope),
                };
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
            let mut arena = Arena::lease_share(queue.running.len());
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
            self.work.put(&mut scope, path, value).map_err(|error| describe_refusal(error, path))?;
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
                if queue.step.halts_on_failure
                    && self.work.audit_trail.iter().any(|entry| entry.status >= 400)
                {
                    queue.has_failed.set(true);
                }
                let value = self.work.message.read_any(&queue.fan_out.collect).unwrap_or_default();
                queue.keep_value(index, value);
            }
            End::Failed(failure) if queue.fan_out.continue_on_error => {
                queue.has_failed.set(true);
                self.catch(0, &failure);
            }
            end => queue.stop(FanOutStop::Element { index, end }),
        }
        let record = self.take_record(queue.free_steps.get());
        queue.keep_record(index, record);
        self.work.roll_back();
    }

    /// Writes the values of the elements. The last record of the step, if it `has_records`, shows that.
    fn write_values(
        &mut self,
        fan_out: &FanOut,
        values: Vec<Value>,
        has_records: bool,
        scope: &mut EvaluationScope<'_>,
    ) -> Result<(), TaskError> {
        let into = &fan_out.into;
        self.work.put(scope, into, Value::Array(values)).map_err(|error| describe_refusal(error, into))?;
        let changes = self.work.changes.as_mut().map(std::mem::take).unwrap_or_default();
        if has_records {
            if let Some(last) = self.work.audit_trail.last_mut() {
                last.changes.extend_from_slice(&changes);
            }
            let snapshot = self.work.snapshot(scope);
            if let Some(tracer) = &mut self.work.tracer {
                tracer.extend_last(snapshot, &changes);
            }
        }
        Ok(())
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
                self.catch(first_error, &failure);
                (step.terminal || step.halts_on_failure).then_some(End::Stopped)
            }
            End::Failed(mut failure) => {
                failure.error.add_element(index);
                Some(End::Failed(failure))
            }
            end => Some(end),
        }
    }
}

/// Returns the error of a write of the step itself: one that does not fit is over the bound of the copies.
fn describe_refusal(refusal: WriteError, path: &Path) -> TaskError {
    let is_size = matches!(refusal, WriteError::TooLarge(_));
    let mut error = refusal.into_task_error(path);
    if is_size {
        error.code = ErrorCode::LimitExceeded;
    }
    error
}
