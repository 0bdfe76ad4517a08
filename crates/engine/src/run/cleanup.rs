//! The `finally` of groups that are cut short from outside: by the failure of another element or member, or by the
//! end of the time of a group around them.
//!
//! A future that is cut short is dropped. What its groups still owe is not in it: it is noted in the run, or the view,
//! on which they work, and is run there by the step that cut them short. The views of a step that is dropped itself
//! are left to its run.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;

use super::attempts::run_until;
use super::open_groups::CutView;
use super::view::run_in_turns;
use super::{End, Run};
use crate::reads::Reads;
use crate::scope::{Arena, EvaluationScope};
use crate::trace::Tracer;
use crate::workflow::program::Program;

/// The time that the `finally` of all groups which are cut short at once have together, within that of the run. Enough
/// for a few calls; the step that cuts them short waits for it.
const GRACE: Duration = Duration::from_secs(5);

impl End {
    /// Waits forever if the time of a group around the sweep is over, until the group drops what waits.
    pub(super) async fn wait_if_cut(&self) {
        if matches!(self, Self::Cut) {
            std::future::pending::<()>().await;
        }
    }
}

/// The ends of the time of `finally`.
#[derive(Clone, Copy)]
pub(super) struct CleanUpEnds {
    /// None begins after that, and none goes on.
    grace: Instant,
    /// The deadline of the run that cleans up. A view that was cut short may still have that of a group inside it.
    run: Option<Instant>,
}

impl<'e> Run<'e> {
    /// Notes that a group has begun which has a `finally`.
    pub(super) fn open_group(&mut self, finally: &Arc<Program>) {
        self.open_groups.get_or_insert_default().finally.push(Arc::clone(finally));
    }

    /// Forgets the innermost group: its `finally` begins, or cannot.
    pub(super) fn close_group(&mut self) {
        if let Some(open) = &mut self.open_groups {
            open.finally.pop();
        }
    }

    /// Returns the number of groups that have begun and owe their `finally`.
    pub(super) fn open_depth(&self) -> usize {
        self.open_groups.as_ref().map_or(0, |open| open.finally.len())
    }

    /// Returns `true` if a group of this run, or of a view that was dropped within it, owes its `finally`.
    pub(super) fn has_open_groups(&self) -> bool {
        self.open_groups.as_ref().is_some_and(|open| !open.finally.is_empty() || !open.views.is_empty())
    }

    /// Keeps a view of a step that is dropped, for the step that drops it.
    pub(super) fn keep_cut_view(&mut self, run: Run<'e>, index: Option<usize>) {
        self.open_groups.get_or_insert_default().views.push(CutView { run, index });
    }

    /// Returns the end of the time for groups that are cut short now.
    pub(super) fn grace_end(&self) -> Instant {
        let end = Instant::now() + GRACE;
        self.pace.deadline().map_or(end, |deadline| deadline.min(end))
    }

    /// Returns the ends of the time for views that are cut short now.
    pub(super) fn clean_up_ends(&self) -> CleanUpEnds {
        CleanUpEnds { grace: self.grace_end(), run: self.pace.deadline() }
    }

    /// Runs the `finally` of the groups above a depth, which were cut short: the innermost first, none after `until`.
    /// The scopes of the run must forget what they know.
    ///
    /// Its future is boxed: views may have views of their own.
    pub(super) fn clean_up<'a>(
        &'a mut self,
        depth: usize,
        id: &'a Arc<str>,
        until: Instant,
    ) -> LocalBoxFuture<'a, ()> {
        Box::pin(async move {
            let views = self.open_groups.as_mut().map(|open| std::mem::take(&mut open.views));
            let mut views = views.unwrap_or_default();
            let ends = CleanUpEnds { grace: until, run: self.pace.deadline() };
            clean_up_views(views.iter_mut().map(|view| &mut view.run), id, ends).await;
            self.add_cut_records(views);
            while self.open_depth() > depth {
                let finally = self.open_groups.as_mut().and_then(|open| open.finally.pop());
                if let Some(finally) = finally
                    && Instant::now() < until
                {
                    self.forget_cut_task();
                    // A failure of its own is among the errors; the group ends by what cut it short.
                    let _end = run_until(Some(until), self.run_program(&finally, id)).await;
                    // One that was dropped may have left the deadline of a group inside it.
                    self.pace.set_deadline(ends.run);
                }
            }
            if let Some(open) = &mut self.open_groups {
                open.views.clear();
            }
        })
    }

    /// Forgets what a task that was cut short has begun; the trace shows its step.
    pub(super) fn forget_cut_task(&mut self) {
        self.trace_cut_step();
        self.work.changes.iter_mut().for_each(Vec::clear);
        self.work.mapping_contexts.clear();
        self.work.target = None;
        self.last_read = None;
    }

    /// Adds what views have recorded since they were cut short.
    fn add_cut_records(&mut self, views: Vec<CutView<'e>>) {
        let (arena, reads) = (Arena::lease(), Reads::default());
        let mut scope = EvaluationScope::new(&arena, &reads);
        for CutView { mut run, index } in views {
            let free = self.work.tracer.as_ref().map_or(0, Tracer::free_steps);
            let record = run.take_record(free);
            self.add_record(record, index, &mut scope);
        }
    }
}

/// Runs the `finally` of the open groups of views that were cut short, those of different views at once.
pub(super) async fn clean_up_views<'a, 'e: 'a>(
    views: impl Iterator<Item = &'a mut Run<'e>>,
    id: &'a Arc<str>,
    ends: CleanUpEnds,
) {
    let cut = views.filter_map(|view| {
        // The step of each ended here, whatever time the others take.
        view.trace_cut_step();
        view.has_open_groups().then_some(view)
    });
    let mut running: FuturesUnordered<_> = cut
        .map(|view| {
            view.pace.set_deadline(ends.run);
            run_in_turns(view.clean_up(0, id, ends.grace))
        })
        .collect();
    while running.next().await.is_some() {}
}
