//! The promises of the kernel, each with a test.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod actix_address;
mod admission;
mod drain;
mod fairness;
mod faults;
mod groups;
mod needs;
mod quarantine;
mod read_only;
mod replace;
mod restart;
mod soak;
mod support;
mod threads;
mod universe;
mod vitals;
