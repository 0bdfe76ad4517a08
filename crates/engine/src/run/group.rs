//! Groups with a frame: members at once, `on_error`, `finally` and a time of their own.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use svc_spans::TraceContext;
use tokio::time::Instant;

use super::cleanup::clean_up_views;
use super::settle::failure_record;
use super::view::run_in_turns;
use super::{End, Run};
use crate::bounds::budget::{self, WorkLimit};
use crate::error::{RunFailure, TaskError};
use crate::error_code::ErrorCode;
use crate::path::Path;
use crate::reads::Reads;
use crate::scope::{Arena, EvaluationScope, WrittenRoots};
use crate::trace::Tracer;
use crate::workflow::program::{CompiledStep, GroupFrame, GroupMembers, Program};

/// A group in progress.
struct GroupRun<'g> {
    frame: &'g GroupFrame,
    step: &'g CompiledStep,
    id: &'g Arc<str>,
    context: &'g TraceContext,
    /// The end of the time of its members, if it comes before that of the run.
    limit: Option<Instant>,
}

/// The views of the members of a parallel group, and the run to which their records are added, also if the group is cut
/// short from outside.
struct MemberWork<'r, 'e> {
    run: &'r mut Run<'e>,
    views: Vec<Run<'e>>,
}

impl MemberWork<'_, '_> {
    fn add_records(&mut self, scope: &mut EvaluationScope<'_>) {
        for view in &mut self.views {
            let free = self.run.work.tracer.as_ref().map_or(0, Tracer::free_steps);
            let record = view.take_record(free);
            self.run.add_record(record, None, scope);
        }
    }
}

impl Drop for MemberWork<'_, '_> {
    fn drop(&mut self) {
        // The scopes of the run forget what they know when a group is cut short.
        let (arena, reads) = (Arena::lease(), Reads::default());
        self.add_records(&mut EvaluationScope::new(&arena, &reads));
        for view in self.views.drain(..) {
            if view.has_open_groups() {
                self.run.keep_cut_view(view, None);
            }
        }
    }
}

impl Run<'_> {
    /// Runs a group. Returns the end of the sweep if the group ends it.
    pub(super) async fn run_group<'w>(
        &mut self,
        frame: &'w GroupFrame,
        step: &'w CompiledStep,
        id: &Arc<str>,
        context: &TraceContext,
        scope: &mut EvaluationScope<'w>,
    ) -> Option<End> {
        let first_error = self.work.errors.len();
        let limit = frame.timeout.map(|timeout| Instant::now() + timeout);
        let limit = limit.filter(|limit| self.pace.deadline().is_none_or(|deadline| *limit < deadline));
        let group = GroupRun { frame, step, id, context, limit };
        if let Some(finally) = &frame.finally {
            self.open_group(finally);
        }
        let mut end = self.run_members(&group, scope).await;
        if let (Some(handler), End::Failed(failure)) = (&frame.on_error, &end) {
            self.catch(first_error, failure);
            let error = describe_failure(&failure.error);
            end = match self.work.put(scope, error_path(), error) {
                Ok(()) => {
                    // No task has made this write.
                    self.work.changes.iter_mut().for_each(Vec::clear);
                    self.run_program(handler, id).await
                }
                Err(refused) => {
                    let error = refused.into_task_error(error_path());
                    self.fail_step(step, id, error, scope).unwrap_or(End::Completed)
                }
            };
            scope.forget(WrittenRoots::ALL);
        }
        end.wait_if_cut().await;
        if let Some(finally) = &frame.finally {
            self.close_group();
            // The time of the run is over for `finally` too.
            if !matches!(end, End::Expired(_)) {
                let last = self.run_program(finally, id).await;
                scope.forget(WrittenRoots::ALL);
                end = match (end, last) {
                    (end, End::Completed) => end,
                    (End::Failed(failure), End::Stopped) => End::Failed(failure),
                    (_, last) => last,
                };
            }
        }
        match end {
            End::Completed => step.terminal.then_some(End::Stopped),
            end => Some(end),
        }
    }

    async fn run_members(&mut self, group: &GroupRun<'_>, scope: &mut EvaluationScope<'_>) -> End {
        let end = match &group.frame.members {
            GroupMembers::InOrder(program) => {
                let depth = self.open_depth();
                let around = self.pace.deadline();
                self.pace.set_deadline(group.limit.or(around));
                let end = run_within(group.limit, self.run_program(program, group.id)).await;
                self.pace.set_deadline(around);
                if end.is_none() {
                    let until = self.grace_end();
                    self.clean_up(depth, group.id, until).await;
                }
                end
            }
            GroupMembers::AtOnce(programs) => self.run_at_once(group, programs, scope).await,
        };
        scope.forget(WrittenRoots::ALL);
        end.unwrap_or_else(|| self.end_by_timeout(group, scope))
    }

    /// Runs a program over the message of this run. The scopes of others must forget what they know of it.
    pub(super) async fn run_program(&mut self, program: &Program, id: &Arc<str>) -> End {
        self.run_member(program, 1, id).await
    }

    /// Runs one of `count` programs that work at once.
    async fn run_member(&mut self, program: &Program, count: usize, id: &Arc<str>) -> End {
        let mut arena = Arena::lease_share(count);
        self.sweep(program, id, &mut arena).await
    }

    /// Runs programs at once, each on its own view, and repeats their writes in the order of the list. A failure cancels
    /// the others. Returns `None` if the time of the group ended first.
    async fn run_at_once(
        &mut self,
        group: &GroupRun<'_>,
        programs: &[Program],
        scope: &mut EvaluationScope<'_>,
    ) -> Option<End> {
        let around = self.pace.deadline();
        self.pace.set_deadline(group.limit.or(around));
        let views = self.open_views(programs.len(), group.context, scope).await;
        self.pace.set_deadline(around);
        let views = match views {
            Ok(views) => views,
            Err(error) => return self.fail_step(group.step, group.id, error, scope),
        };
        let mut work = MemberWork { run: &mut *self, views };
        let members = work.views.iter_mut().zip(programs);
        let running: FuturesUnordered<_> = members
            .map(|(view, program)| run_in_turns(view.run_member(program, programs.len(), group.id)))
            .collect();
        let end = run_within(group.limit, end_of_members(running)).await;
        let has_failed = !matches!(end, Some(End::Completed | End::Stopped));
        if has_failed && !matches!(end, Some(End::Expired(_))) {
            let ends = work.run.clean_up_ends();
            clean_up_views(work.views.iter_mut(), group.id, ends).await;
        }
        work.add_records(scope);
        let mut views = std::mem::take(&mut work.views);
        drop(work);
        if has_failed {
            return end;
        }
        for view in &mut views {
            for (path, value) in view.work.take_changes() {
                let Some(value) = value else {
                    self.work.remove(scope, &path);
                    continue;
                };
                if let Err(refused) = self.work.put(scope, &path, value) {
                    let error = refused.into_task_error(&path);
                    return self.fail_step(group.step, group.id, error, scope);
                }
            }
        }
        // The steps of the members show their writes.
        self.work.changes.iter_mut().for_each(Vec::clear);
        let snapshot = self.work.snapshot(scope);
        if let Some(tracer) = &mut self.work.tracer {
            tracer.extend_last(snapshot, &[]);
        }
        end
    }

    /// Records that the members of a group did not end in time.
    fn end_by_timeout(&mut self, group: &GroupRun<'_>, scope: &mut EvaluationScope<'_>) -> End {
        self.forget_cut_task();
        let timeout = group.frame.timeout.as_ref().map_or(0, Duration::as_millis);
        let text = format!("the group did not end within its timeout_ms ({timeout})");
        let mut error = TaskError::new(ErrorCode::Timeout, text);
        error.workflow_id = Some(Arc::clone(group.id));
        error.task_id = Some(Arc::clone(&group.step.id));
        error.timestamp = self.now;
        self.work.errors.push(error.clone());
        self.work.record_failure(scope, failure_record(group.id, group.step, &error, 500));
        self.abort(group.id, format!("stopped by the group \"{}\"", group.step.id));
        End::Failed(Box::new(RunFailure::new(error)))
    }
}

/// Waits for members that run at once. Returns the end of the first one that fails; else their common one.
async fn end_of_members<F: Future<Output = End>>(mut running: FuturesUnordered<F>) -> End {
    let mut end = End::Completed;
    while let Some(next) = running.next().await {
        match next {
            End::Completed => {}
            End::Stopped => end = End::Stopped,
            failed => return failed,
        }
    }
    end
}

/// Runs the members of a group until their end; `None` if the time of the group is over before. That cuts short a
/// member in the middle of an expression too.
///
/// The time is looked at before the members: what they make of their own deadline, which is the same, does not count.
async fn run_within(limit: Option<Instant>, members: impl Future<Output = End>) -> Option<End> {
    let Some(until) = limit else { return Some(members.await) };
    let mut limit = WorkLimit::new(until);
    let mut time = pin!(tokio::time::sleep_until(until));
    let mut members = pin!(members);
    let end = poll_fn(|cx| {
        if time.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        let end = limit.turn(|| members.as_mut().poll(cx));
        if limit.is_cut() { Poll::Ready(None) } else { end.map(Some) }
    })
    .await;
    if end.is_none() && budget::is_part_over() {
        // The time of a group around this one is over too.
        End::Cut.wait_if_cut().await;
    }
    end
}

/// Returns the path at which `on_error` finds the failure.
fn error_path() -> &'static Path {
    static PATH: std::sync::LazyLock<Path> = std::sync::LazyLock::new(|| Path::below_temp_data("error"));
    &PATH
}

/// Returns a failure as `on_error` reads it.
fn describe_failure(error: &TaskError) -> Value {
    let mut failure = serde_json::json!({
        "workflow_id": error.workflow_id.as_deref(),
        "task_id": error.task_id.as_deref(),
        "code": error.code.name(),
        "message": error.message,
        "status": error.http_status.unwrap_or(500),
    });
    if let Some(index) = error.index {
        failure["index"] = index.get().into();
    }
    if let Some(indexes) = &error.indexes {
        failure["indexes"] = indexes.as_slice().into();
    }
    if let Some(body) = &error.body {
        failure["body"] = Value::clone(body);
    }
    failure
}
