//! The guards of what grows or lasts while an expression is evaluated. Not operators for authors.

use std::cell::Cell;
use std::time::Duration;

use datalogic_rs::bumpalo::Bump;
use datalogic_rs::operator::EvalContext;
use datalogic_rs::{CustomOperator, DataValue, Error};
use tokio::time::Instant;

use crate::extent;

/// Guards the body of a `reduce`. The name no author writes.
pub(crate) const BOUNDED: &str = "#bounded";
/// Guards the body of any other loop whose steps may take long.
pub(crate) const TIMELY: &str = "#timely";

/// The time one evaluation may hold its thread, where a loop may take long.
const LIMIT: Duration = Duration::from_secs(1);

/// Steps between two looks at the clock. One may take as long as a call over the largest value.
const STRIDE: u32 = 16;

thread_local! {
    static END: Cell<Option<Instant>> = const { Cell::new(None) };
    static STEPS: Cell<u32> = const { Cell::new(0) };
}

/// Starts the time of an evaluation.
pub(crate) fn start() {
    END.set(None);
    STEPS.set(0);
}

/// Fails when the time is over; looks at the clock at the first step and at some of those that follow.
pub(super) fn tick() -> datalogic_rs::Result<()> {
    let steps = STEPS.get();
    STEPS.set(steps.wrapping_add(1));
    if steps.is_multiple_of(STRIDE) { in_time() } else { Ok(()) }
}

/// Fails when the time is over. It runs from the first guard that is met.
pub(super) fn in_time() -> datalogic_rs::Result<()> {
    let now = Instant::now();
    match END.get() {
        None => END.set(Some(now + LIMIT)),
        Some(end) if now < end => {}
        Some(_) => return Err(Error::custom_message("the expression takes too long")),
    }
    Ok(())
}

/// Its one argument, unless time is over.
pub(super) struct Timely;

impl CustomOperator for Timely {
    fn evaluate<'a>(
        &self,
        args: &[&'a DataValue<'a>],
        _: &mut EvalContext<'_, 'a>,
        _: &'a Bump,
    ) -> datalogic_rs::Result<&'a DataValue<'a>> {
        tick()?;
        args.first().copied().ok_or_else(|| super::refuse("a guard takes one value"))
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
        tick()?;
        let value = args.first().copied().ok_or_else(|| super::refuse("a guard takes one value"))?;
        match extent::check_arena(value, self.0) {
            Ok(()) => Ok(value),
            Err(excess) => Err(Error::custom_message(format!("the value {excess}"))),
        }
    }
}
