//! The `kafka` block: what a channel does with the records of its topic.

use super::block::ConfigBlock;
use crate::field::FieldError;

/// The treatment of records without a value, which a compacted topic keeps for keys that are deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TombstonePolicy {
    /// They are passed over, and counted.
    #[default]
    Skip,
    /// They run with the payload null.
    Run,
}

/// The `kafka` block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TopicConfig {
    /// The treatment of records without a value.
    pub tombstones: TombstonePolicy,
}

pub(super) fn parse(block: &mut ConfigBlock<'_>) -> Result<TopicConfig, FieldError> {
    let policies = [("skip", TombstonePolicy::Skip), ("run", TombstonePolicy::Run)];
    Ok(TopicConfig { tombstones: block.choice("tombstones", &policies)?.unwrap_or_default() })
}
