//! The guards of what grows or lasts while an expression is evaluated. Not operators for authors.

use std::cell::Cell;
use std::time::Duration;

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{CustomOperator, DataValue, Error};
use tokio::time::Instant;

use crate::bounds::budget;
use crate::bounds::extent;

/// Guards the body of a `reduce`. The name no author writes.
pub(crate) const BOUNDED: &str = "#bounded";
/// Guards the body of any other loop whose steps may take a while.
pub(crate) const TIMELY: &str = "#timely";
/// Guards what may take the time of the whole message.
pub(crate) const PACED: &str = "#paced";

/// Units of work between two looks at the clock: values touched, or 64 bytes of text.
const STRIDE: u32 = 4096;

/// Units that a step of a loop counts for.
const STEP: usize = 256;

thread_local! {
    static LIMIT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    static END: Cell<Option<Instant>> = const { Cell::new(None) };
    static UNITS: Cell<u32> = const { Cell::new(STRIDE) };
}

/// Starts the time of an evaluation, which may take `limit` if no run gives it less.
pub(crate) fn start(limit: Duration) {
    LIMIT.set(limit);
    END.set(None);
    // The first unit looks at the clock.
    UNITS.set(STRIDE);
}

/// Counts units of work, and fails when the time is over.
pub(super) fn spend(units: usize) -> datalogic_rs::Result<()> {
    let spent = UNITS.get().saturating_add(u32::try_from(units).unwrap_or(u32::MAX));
    if spent < STRIDE {
        UNITS.set(spent);
        return Ok(());
    }
    UNITS.set(0);
    in_time()
}

/// Units that reading a text counts for.
pub(super) fn text_units(text: &str) -> usize {
    1 + text.len() / 64
}

/// Fails when the time of the run is over; without a run, that of the evaluation, which runs from the first
/// guard met.
fn in_time() -> datalogic_rs::Result<()> {
    let now = Instant::now();
    #[cfg(test)]
    gaps::record();
    if let Some(result) = budget::check_or_cut(now) {
        return result.map_err(|exhausted| Error::custom_message(exhausted.to_string()));
    }
    match END.get() {
        None => END.set(now.checked_add(LIMIT.get())),
        Some(end) if now < end => {}
        Some(_) => return Err(Error::custom_message("the expression takes too long")),
    }
    Ok(())
}

/// Its one argument, unless time is over; so many units of work.
pub(super) struct Timely(usize);

impl Timely {
    /// Returns the guard of a step of a loop.
    pub(super) const fn step() -> Self {
        Self(STEP)
    }

    /// Returns the guard that always looks at the clock.
    pub(super) const fn always_checking() -> Self {
        Self(STRIDE as usize)
    }
}

impl CustomOperator for Timely {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        _: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        spend(self.0)?;
        args.first().copied().ok_or_else(|| super::arguments::refuse("a guard takes one value"))
    }
}

/// Its one argument, unless that is too deep or takes more than so many bytes, or time is over.
pub(super) struct Bounded(pub(super) usize);

impl CustomOperator for Bounded {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        _: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        spend(STRIDE as usize)?;
        let value =
            args.first().copied().ok_or_else(|| super::arguments::refuse("a guard takes one value"))?;
        match extent::check_arena(value, self.0) {
            Ok(()) => Ok(value),
            Err(excess) => Err(Error::custom_message(format!("the value {excess}"))),
        }
    }
}

/// The processor time between two looks at the clock, for the test that bounds it.
#[cfg(test)]
pub(crate) mod gaps {
    use std::cell::Cell;
    use std::time::Duration;

    use crate::bounds::budget::processor_time;

    thread_local! {
        static LAST: Cell<Duration> = const { Cell::new(Duration::ZERO) };
        static LONGEST: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    /// Returns the longest time that `work` takes without a look at the clock.
    pub(crate) fn longest_during(work: impl FnOnce()) -> Duration {
        LAST.set(processor_time());
        LONGEST.set(Duration::ZERO);
        work();
        record();
        LONGEST.get()
    }

    pub(super) fn record() {
        let now = processor_time();
        LONGEST.set(LONGEST.get().max(now.saturating_sub(LAST.replace(now))));
    }
}
