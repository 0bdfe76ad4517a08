//! The processor time of a run: the turns in which it held its thread, added up.
//!
//! A run is polled on one thread, and one that is polled inside another counts for both. While it is polled
//! its turn is in a variable of the thread, so that whatever works inside it, an operator deep in an
//! expression included, can ask whether the run may go on. Waiting takes no turn and counts for nothing.
//!
//! A short turn is measured by the clock on the wall, which costs next to nothing. One that lasts is measured
//! by the processor clock of the thread from then on: a thread that the system holds up is not charged for
//! it.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use svc_model::Cancellation;
use tokio::time::Instant;

use crate::error::TaskError;
use crate::error_code::{ErrorCode, Healing};

/// The processor time of a run, unless the engine is built with another.
pub(crate) const DEFAULT: Duration = Duration::from_secs(1);

/// The length of a turn from which on the processor clock is read.
const LONG: Duration = Duration::from_millis(5);

thread_local! {
    static TURN: Cell<Option<Turn>> = const { Cell::new(None) };
    /// The moment until which nothing of the turn can be exceeded; most checks read no more than this.
    static CALM: Cell<Option<Instant>> = const { Cell::new(None) };
    /// The cancellation of the run that is polled now.
    static CANCELLATION: RefCell<Option<Arc<dyn Cancellation>>> = const { RefCell::new(None) };
}

/// The limit that a run has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BudgetExhausted {
    #[error("the deadline of the run passed")]
    Deadline,
    #[error("the run used more processor time than engine.cpu_budget_ms ({}) allows", .0.as_millis())]
    Processor(Duration),
    #[error("the run was cancelled")]
    Cancelled,
}

impl BudgetExhausted {
    /// Returns the error that ends the run. The same message uses the same processor time again, while a
    /// passed deadline may be owed to a slow peer.
    pub(crate) fn into_error(self) -> TaskError {
        let healing = match self {
            Self::Deadline => None,
            Self::Processor(_) | Self::Cancelled => Some(Healing::Permanent),
        };
        TaskError { is_deadline: true, healing, ..TaskError::new(ErrorCode::Timeout, self.to_string()) }
    }
}

/// The turn of the run that is polled now.
#[derive(Debug, Clone, Copy)]
struct Turn {
    limit: Duration,
    deadline: Option<Instant>,
    /// Processor time of the turns before.
    before: Duration,
    started: Instant,
    /// The length of the turn when the processor clock was first read, and what it showed.
    precise: Option<(Duration, Duration)>,
    /// The reason for which work inside the run was cut short.
    cut: Option<BudgetExhausted>,
    /// True if the run can be cancelled, so that it looks every few milliseconds.
    is_cancellable: bool,
    /// True while the deadline is that of a part of the run.
    is_part: bool,
    /// Time that does not count, in this turn and those before. The limit is that much higher.
    uncounted: Duration,
}

impl Turn {
    fn time_used(&mut self, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.started);
        let turn = match self.precise {
            Some((passed, reading)) => passed + processor_time().saturating_sub(reading),
            None => {
                if passed >= LONG {
                    self.precise = Some((passed, processor_time()));
                }
                passed
            }
        };
        self.before + turn
    }

    /// Leaves time that was used out of account.
    fn leave_out(&mut self, time: Duration) {
        self.limit = self.limit.saturating_add(time);
        self.uncounted = self.uncounted.saturating_add(time);
    }

    /// Returns the moment until which the turn need not be looked at again.
    fn calm(&self, now: Instant) -> Instant {
        let passed = now.saturating_duration_since(self.started);
        let remaining = self.limit.saturating_sub(self.before + passed);
        let mut calm = now.checked_add(remaining).unwrap_or(now);
        if self.precise.is_none() {
            calm = calm.min(self.started + LONG);
        }
        if self.is_cancellable {
            calm = calm.min(now + LONG);
        }
        self.deadline.map_or(calm, |deadline| calm.min(deadline))
    }

    fn check(&mut self, now: Instant) -> Result<(), BudgetExhausted> {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            return Err(BudgetExhausted::Deadline);
        }
        if self.is_cancellable && is_cancelled() {
            return Err(BudgetExhausted::Cancelled);
        }
        // Processor time never outruns the clock on the wall.
        if self.before + now.saturating_duration_since(self.started) <= self.limit {
            if self.precise.is_none() {
                self.time_used(now);
            }
            return Ok(());
        }
        if self.time_used(now) <= self.limit {
            return Ok(());
        }
        Err(BudgetExhausted::Processor(self.limit.saturating_sub(self.uncounted)))
    }
}

/// Returns the processor time this thread has used.
pub(crate) fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// Returns `true` if the run that is polled now is cancelled.
fn is_cancelled() -> bool {
    CANCELLATION.with_borrow(|cancellation| cancellation.as_ref().is_some_and(|order| order.is_requested()))
}

/// The processor time and the deadline of a run.
#[derive(Debug)]
pub(crate) struct Meter {
    limit: Duration,
    deadline: Option<Instant>,
    cancellation: Option<Arc<dyn Cancellation>>,
    before: Duration,
    cut: Option<BudgetExhausted>,
    uncounted: Duration,
}

impl Meter {
    /// Lets a run use `limit` of processor time until `deadline`, or until it is cancelled.
    pub(crate) fn new(
        limit: Duration,
        deadline: Option<Instant>,
        cancellation: Option<Arc<dyn Cancellation>>,
    ) -> Self {
        Self { limit, deadline, cancellation, before: Duration::ZERO, cut: None, uncounted: Duration::ZERO }
    }

    /// Polls the run for one turn, which has `started`. It is polled in place: runs that call one another share
    /// one stack.
    pub(crate) fn turn<T>(&mut self, started: Instant, poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
        let turn = Turn {
            limit: self.limit,
            deadline: self.deadline,
            before: self.before,
            started,
            precise: None,
            cut: self.cut,
            is_cancellable: self.cancellation.is_some(),
            is_part: false,
            uncounted: self.uncounted,
        };
        CALM.set(Some(turn.calm(started)));
        let mut outer = Outer {
            turn: TURN.replace(Some(turn)),
            cancellation: self.cancellation.as_ref().map(|own| CANCELLATION.replace(Some(Arc::clone(own)))),
        };
        let poll = poll();
        let turn = TURN.take();
        if let (Some(outer), Some(turn)) = (&mut outer.turn, &turn) {
            outer.leave_out(turn.uncounted.saturating_sub(self.uncounted));
        }
        if let (Poll::Pending, Some(mut turn)) = (&poll, turn) {
            (self.before, self.cut) = (turn.time_used(Instant::now()), turn.cut);
            (self.limit, self.uncounted) = (turn.limit, turn.uncounted);
        }
        drop(outer);
        poll
    }
}

/// The turn of the run around this one, which goes on when this one's ends.
struct Outer {
    turn: Option<Turn>,
    /// Its cancellation, if this one's replaced it.
    cancellation: Option<Option<Arc<dyn Cancellation>>>,
}

impl Drop for Outer {
    fn drop(&mut self) {
        TURN.set(self.turn.take());
        CALM.set(None);
        if let Some(outer) = self.cancellation.take() {
            CANCELLATION.set(outer);
        }
    }
}

/// The end of the time of work within a run, which comes before that of the run. Work that is computing then is cut
/// short as it is at the deadline of a run.
#[derive(Debug)]
pub(crate) struct WorkLimit {
    until: Instant,
    is_cut: bool,
}

impl WorkLimit {
    pub(crate) fn new(until: Instant) -> Self {
        Self { until, is_cut: false }
    }

    /// Returns `true` if the work was cut short in the middle, whatever it made of that.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns `true` if the work was cut short, or refused to go on after its time.
    pub(crate) fn has_stopped<T>(&self, outcome: &Result<T, TaskError>) -> bool {
        let is_refusal = outcome.as_ref().is_err_and(|error| error.is_deadline);
        self.is_cut || (is_refusal && self.until <= Instant::now())
    }

    /// Polls the work in the turn of its run, in place.
    pub(crate) fn turn<T>(&mut self, poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
        let Some(outer) = TURN.get() else { return poll() };
        TURN.set(Some(Turn { deadline: Some(self.until), is_part: true, ..outer }));
        CALM.set(None);
        let poll = poll();
        if let Some(mut turn) = TURN.get() {
            (turn.deadline, turn.is_part) = (outer.deadline, outer.is_part);
            if turn.cut == Some(BudgetExhausted::Deadline) && outer.cut.is_none() {
                (turn.cut, self.is_cut) = (None, true);
            }
            TURN.set(Some(turn));
        }
        CALM.set(None);
        poll
    }
}

/// Runs work that has its own bound, such as code of a plugin: its processor time does not count for the run that is
/// polled now.
pub async fn run_uncounted<F: Future>(work: F) -> F::Output {
    let mut work = pin!(work);
    poll_fn(|cx| {
        let Some(turn) = TURN.get() else { return work.as_mut().poll(cx) };
        // The clock by which the turn is measured.
        let clock = || if turn.precise.is_some() { processor_time() } else { turn.started.elapsed() };
        let began = clock();
        let poll = work.as_mut().poll(cx);
        let used = clock().saturating_sub(began);
        if let Some(mut turn) = TURN.get() {
            turn.leave_out(used);
            TURN.set(Some(turn));
            CALM.set(None);
        }
        poll
    })
    .await
}

/// Returns the start of the turn of the run that is polled now; `None` outside a run.
pub(crate) fn turn_started() -> Option<Instant> {
    TURN.get().map(|turn| turn.started)
}

/// Returns `true` if no limit of the run that is polled now can have been reached.
pub(crate) fn is_calm(now: Instant) -> bool {
    CALM.get().is_some_and(|calm| now < calm)
}

/// Checks whether the run that is polled now may go on; without one there is nothing to exceed.
///
/// # Errors
/// Its deadline passed, or it used up its processor time.
pub(crate) fn check(now: Instant) -> Result<(), BudgetExhausted> {
    if is_calm(now) {
        return Ok(());
    }
    let Some(mut turn) = TURN.get() else { return Ok(()) };
    let result = turn.check(now);
    // A run that has reached a limit is looked at again at once.
    CALM.set(result.is_ok().then(|| turn.calm(now)));
    TURN.set(Some(turn));
    result
}

/// Checks as [`check`] does, and records a limit that is reached: the work stops in the middle. `None` outside a run.
pub(crate) fn check_or_cut(now: Instant) -> Option<Result<(), BudgetExhausted>> {
    if is_calm(now) {
        return Some(Ok(()));
    }
    let mut turn = TURN.get()?;
    let result = turn.check(now);
    // A run that has reached a limit is looked at again at once.
    CALM.set(result.is_ok().then(|| turn.calm(now)));
    turn.cut = turn.cut.or(result.err());
    TURN.set(Some(turn));
    Some(result)
}

/// Returns `true` if the time of the part of the run that is polled now is over: what it does follows from that.
pub(crate) fn is_part_over() -> bool {
    TURN.get().filter(|turn| turn.is_part).is_some_and(|turn| match turn.cut {
        Some(cut) => cut == BudgetExhausted::Deadline,
        None => turn.deadline.is_some_and(|deadline| deadline <= Instant::now()),
    })
}

/// Returns the reason for which work inside the run that is polled now was cut short.
pub(crate) fn cut_reason() -> Option<BudgetExhausted> {
    TURN.get()?.cut
}
