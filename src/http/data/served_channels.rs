//! The channels in the documents for callers, read once for each generation of the snapshot.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Map, Value};
use svc_contract::DocumentedChannel;
use svc_model::config::value_reference::{ValueScope, replace_value_references};
use svc_model::{ChannelConfig, ChannelContent};
use svc_registry::Snapshot;

/// The channels of a generation of the snapshot, read once for all documents.
#[derive(Default)]
pub(crate) struct ChannelDocuments(Mutex<Option<ReadChannels>>);

struct ReadChannels {
    generation: u64,
    channels: Arc<[DocumentedChannel]>,
}

impl ChannelDocuments {
    /// Returns the serving channels that take requests, with declared values in the places of references.
    pub(crate) fn read_channels(
        &self,
        snapshot: &Snapshot,
        declared: &Map<String, Value>,
    ) -> Arc<[DocumentedChannel]> {
        let generation = snapshot.generation();
        let mut known = self.0.lock();
        if let Some(read) = known.as_ref().filter(|read| read.generation == generation) {
            return Arc::clone(&read.channels);
        }
        let serving = snapshot.channels().filter(|entry| entry.quarantine().is_none());
        let channels: Arc<[_]> =
            serving.filter_map(|entry| read_channel(&entry.row.content, declared)).collect();
        *known = Some(ReadChannels { generation, channels: Arc::clone(&channels) });
        channels
    }
}

fn read_channel(content: &ChannelContent, declared: &Map<String, Value>) -> Option<DocumentedChannel> {
    if !content.protocol.is_http() {
        return None;
    }
    let mut content = content.clone();
    replace_value_references(ValueScope::ChannelConfig, &mut content.config, Some(declared)).ok()?;
    let config = ChannelConfig::parse(&content.config).ok()?;
    Some(DocumentedChannel { content, config })
}
