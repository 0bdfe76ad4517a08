//! Tests of the queue, its workers, the dead letters and the recorder on a real database.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod accepting;
mod cancels;
mod crashes;
mod dead_letters;
mod early_start;
mod kit;
mod lost_answers;
mod recording;
mod reports;
mod resuming;
mod running;
mod threads;
mod waiting;
