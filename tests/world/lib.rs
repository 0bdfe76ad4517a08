//! The world of a test of actors: a database with the threads of its connections ([`database`]), a supervision tree
//! with a store and the traces over it ([`actors`]), stored definitions ([`definitions`]) and metrics ([`metrics`]).
//!
//! It links crates of actors. Only integration tests may use it: a unit test would see the crate under test twice, and
//! the types of one are not those of the other.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failed expectation is the finding")]

pub mod actors;
pub mod database;
pub mod definitions;
pub mod metrics;

pub use database::TestWorld;
