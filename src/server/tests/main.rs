//! The whole service in one process: what only planned faults and blocked threads can show.

#![expect(clippy::unwrap_used, reason = "tests")]

mod crashes;
mod faults;
mod hanging;
mod kit;
mod reference;
