//! The guarantees of a channel to its callers.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod answers;
mod calls;
mod cluster;
mod computed_keys;
mod credentials;
mod definitions;
mod guards;
mod jobs;
mod kit;
mod log_lines;
mod order;
mod quotas;
mod rates;
mod recorded;
mod refusals;
mod repeats;
mod replays;
mod sign_in;
