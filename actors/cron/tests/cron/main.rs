//! Tests of schedules on a real database: nothing is lost, nothing runs twice at once, and nothing ends a
//! schedule.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod failures;
mod kit;
mod lost_answers;
mod runs;
mod schedules;
mod shutdown;
mod witness;
