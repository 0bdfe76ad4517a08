//! The `examples` of a channel, for the documents of its callers.

use serde_json::Value;

use super::block::ConfigBlock;
use super::declare::{KeyValue, block};
use crate::field::FieldError;

block! {
    /// A message and its answer.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ChannelExample {
        /// its name in the documents
        pub name: Option<String> => "one order";
        /// the payload
        pub request: Option<Value> => {"id": 7}, kind("any value");
        /// the status of the answer
        pub status: u16 = 200 => 201, by(status);
        /// what `data` of the answer is, or a shaped body
        pub response: Option<Value> => {"state": "new"}, kind("any value");
    }
}

impl ChannelExample {
    /// Returns the name; one made of its place if it has none.
    pub fn label(&self, index: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("example {}", index + 1))
    }
}

impl KeyValue for Vec<ChannelExample> {
    const KIND: &'static str = "list of blocks";

    fn read(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<Option<Self>, FieldError> {
        block.blocks(name, ChannelExample::read)
    }
}

fn status(block: &mut ConfigBlock<'_>, name: &'static str) -> Result<Option<u16>, FieldError> {
    let Some(number) = block.unsigned(name)? else { return Ok(None) };
    match u16::try_from(number) {
        Ok(status) if (200..=599).contains(&status) => Ok(Some(status)),
        _ => Err(block.invalid(name, "must be between 200 and 599")),
    }
}
