//! Tests of the functions in an engine, as workflows use them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod authoring;
mod caches;
mod claims;
mod hashes;
mod loads;
mod makers;
mod passwords;
mod secrets;
mod support;
mod verify;
