//! The whole service in one process, with planned faults and blocked threads.

#![expect(clippy::unwrap_used, reason = "tests")]

mod crashes;
mod decimals;
mod embedding;
mod faults;
mod hanging;
mod kit;
mod project;
mod reference;
