//! `svc-cli` as its users meet it: the real binary against the real server.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is the finding"
)]

mod authoring;
mod benchmarks;
mod definitions;
mod dev;
mod errors;
mod help;
mod messages;
mod operations;
mod planted;
mod settings;
mod support;
mod tables;
mod terminal;
