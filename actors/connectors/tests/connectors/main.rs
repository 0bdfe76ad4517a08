//! Connectors against real servers on the loopback interface.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod breakers;
mod failures;
mod kit;
mod lifecycle;
mod mongo;
mod mongo_failures;
mod requests;
mod retries;
