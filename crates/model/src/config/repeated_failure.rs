//! The `on_repeated_failure` block: the failures after which a channel pauses itself.

use super::block::ConfigBlock;
use super::declare::block;
use crate::field::FieldError;

/// Largest number of failures: each is a row until the time is over.
const MOST_FAILURES: u32 = 10_000;
/// Longest time, a day.
const LONGEST_SECS: u32 = 86_400;

block! {
    /// The `on_repeated_failure` block.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RepeatedFailureConfig {
        /// failures within the time, on all nodes together, after which the channel pauses itself, 1 to 10000
        pub failures: u64 => 5, by(failures);
        /// the time, in seconds, 1 to 86400
        pub within_secs: u64 => 60, by(within_secs);
    }
}

type Read<T> = Result<Option<T>, FieldError>;

fn failures(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<u64> {
    Ok(block.integer_up_to(name, MOST_FAILURES)?.map(u64::from))
}

fn within_secs(block: &mut ConfigBlock<'_>, name: &'static str) -> Read<u64> {
    Ok(block.integer_up_to(name, LONGEST_SECS)?.map(u64::from))
}
