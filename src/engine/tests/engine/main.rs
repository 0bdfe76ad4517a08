//! Workflows run as their authors wrote them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod bounds;
mod checks;
mod concealed;
mod flow;
mod groups;
mod growth;
mod loads;
mod log;
mod operators;
mod paths;
mod processor;
mod reference;
mod renames;
mod robust;
mod secrets;
mod support;
