//! Workflows run as their authors wrote them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod bounds;
mod checks;
mod flow;
mod groups;
mod growth;
mod loads;
mod log;
mod operators;
mod paths;
mod processor;
mod redaction;
mod reference;
mod renames;
mod robust;
mod secrets;
mod support;
