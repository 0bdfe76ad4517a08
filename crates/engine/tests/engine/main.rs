//! Workflows run as their authors wrote them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod bounds;
mod checks;
mod closures;
mod declared;
mod dependencies;
mod engine_log;
mod fan_out;
mod flow;
mod frames;
mod groups;
mod growth;
mod literals;
mod loads;
mod log;
mod loops;
mod mappings;
mod operators;
mod paths;
mod processor;
mod recordings;
mod redaction;
mod renames;
mod robust;
mod secrets;
mod stubs;
mod suppliers;
mod support;
