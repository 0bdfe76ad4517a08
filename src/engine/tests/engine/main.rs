//! Workflows run as their authors wrote them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod bounds;
mod checks;
mod flow;
mod log;
mod operators;
mod robust;
mod secrets;
mod support;
