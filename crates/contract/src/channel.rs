//! A channel as its callers see it.

use svc_model::{ChannelConfig, ChannelContent, ChannelType, Protocol};

/// A channel of a document for callers.
#[derive(Clone, Debug)]
pub struct DocumentedChannel {
    /// The channel.
    pub content: ChannelContent,
    /// Its config, with declared values in the places of references.
    pub config: ChannelConfig,
}

impl DocumentedChannel {
    /// Returns `true` if the channel is in the documents, and among those with a tag if one is asked for.
    fn is_listed(&self, tag: Option<&str>) -> bool {
        self.config.document && tag.is_none_or(|tag| self.content.tags.iter().any(|own| own == tag))
    }

    /// Returns `true` for a channel of the OpenAPI document.
    pub(crate) fn takes_requests(&self, tag: Option<&str>) -> bool {
        self.is_listed(tag) && self.content.protocol.is_http()
    }

    /// Returns the topic, for a channel of the AsyncAPI document.
    pub(crate) fn documented_topic(&self, tag: Option<&str>) -> Option<&str> {
        let takes_records = match self.content.protocol {
            Protocol::Kafka => true,
            Protocol::Rest | Protocol::Http => self.content.channel_type == ChannelType::Async,
            Protocol::Cron => false,
        };
        self.content.topic.as_deref().filter(|_| takes_records && self.is_listed(tag))
    }
}

/// Returns the channels in the order of their names.
pub(crate) fn sorted(channels: &[DocumentedChannel]) -> Vec<&DocumentedChannel> {
    let mut sorted: Vec<_> = channels.iter().collect();
    sorted.sort_by(|one, other| one.content.name.cmp(&other.content.name));
    sorted
}
