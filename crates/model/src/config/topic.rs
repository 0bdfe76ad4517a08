//! The `kafka` block: what a channel does with the records of its topic.

use super::declare::{block, choice};

choice! {
    /// The treatment of records without a value, which a compacted topic keeps for keys that are deleted.
    pub enum TombstonePolicy {
        /// They are passed over, and counted.
        Skip = "skip",
        /// They run with the payload null.
        Run = "run",
    }
}

block! {
    /// The `kafka` block.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct TopicConfig: Default {
        /// records without a value: passed over and counted, or run with the payload null
        pub tombstones: TombstonePolicy = "skip" => "run";
    }
}
