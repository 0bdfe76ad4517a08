//! Connectors against real servers on the loopback interface.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod breakers;
mod confidence;
mod failures;
mod kit;
mod lifecycle;
mod load;
mod mongo;
mod mongo_failures;
mod requests;
mod retries;
